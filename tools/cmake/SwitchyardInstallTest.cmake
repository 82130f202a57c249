# Run by ctest with cmake -P: installs a build tree into a temporary prefix, then configures, builds and runs a project
# that knows nothing but that prefix.
#   BUILD_DIR      the build tree to install
#   WORK_DIR       emptied and used for the prefix and the consumer's build
#   SOURCE_DIR     the repository
#   TOOLCHAIN      optional, the toolchain file of a cross-build
#   PROGRAM        optional, the program's path below the prefix, which must then list the installed scenarios
#   EMULATOR       optional, what runs the target's programs
cmake_minimum_required(VERSION 3.25)

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what} failed (${result}):\n${output}")
  endif()
  message(STATUS "${what}: ok")
endfunction()

set(prefix ${WORK_DIR}/prefix)
file(REMOVE_RECURSE ${WORK_DIR})
run("install" ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})

# The installed package must stand alone: no path of the sources or of the build tree in what CMake reads.
file(GLOB_RECURSE package_files ${prefix}/*.cmake)
foreach(file ${package_files})
  file(READ ${file} text)
  foreach(path ${BUILD_DIR} ${SOURCE_DIR})
    string(FIND "${text}" "${path}" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} mentions ${path}")
    endif()
  endforeach()
endforeach()

set(where -Dswitchyard_ROOT=${prefix})
if(TOOLCHAIN)
  # A toolchain file that looks in the target's roots alone would not see the prefix.
  file(GLOB_RECURSE config ${prefix}/switchyardConfig.cmake)
  cmake_path(GET config PARENT_PATH config_dir)
  set(where -Dswitchyard_DIR=${config_dir} -DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN})
endif()
run("configure" ${CMAKE_COMMAND} -S ${SOURCE_DIR}/lib/tests/consumer -B ${WORK_DIR}/build -G Ninja -DCMAKE_BUILD_TYPE=Release ${where})
run("build" ${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run("run the consumer" ${EMULATOR} ${WORK_DIR}/build/consumer)
run("run the consumer of the words" ${EMULATOR} ${WORK_DIR}/build/spec_consumer)
if(PROGRAM)
  run("the installed program finds its scenarios" ${EMULATOR} ${prefix}/${PROGRAM} list smoke)
endif()
