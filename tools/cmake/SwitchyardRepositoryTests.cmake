# Tests of the repository itself: the checks find what is planted, and what is installed can be used.
if(NOT BUILD_TESTING OR NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

find_package(Python3 3.8 COMPONENTS Interpreter)
if(Python3_FOUND)
  foreach(check check_includes check_sources compare_benchmarks make_trace plot_bench ptxas_report same_results)
    add_test(NAME tools.${check}
      COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
        ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/tests/test_${check}.py)
    set_tests_properties(tools.${check} PROPERTIES LABELS cpu TIMEOUT 60)
  endforeach()
else()
  message(STATUS "switchyard: Python 3 not found; the tests of tools/*.py are left out")
endif()

set(_program)
if(TARGET switchyard_program)
  set(_program ${CMAKE_INSTALL_BINDIR}/switchyard)
endif()
math(EXPR _timeout "180 * ${SWITCHYARD_TEST_TIMEOUT_FACTOR}")
add_test(NAME install.consumer
  COMMAND ${CMAKE_COMMAND}
    -DBUILD_DIR=${PROJECT_BINARY_DIR} -DWORK_DIR=${PROJECT_BINARY_DIR}/install_test
    -DSOURCE_DIR=${PROJECT_SOURCE_DIR}
    -DTOOLCHAIN=${CMAKE_TOOLCHAIN_FILE} "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}" -DPROGRAM=${_program}
    -P ${PROJECT_SOURCE_DIR}/tools/cmake/SwitchyardInstallTest.cmake)
set_tests_properties(install.consumer PROPERTIES LABELS cpu TIMEOUT ${_timeout})
