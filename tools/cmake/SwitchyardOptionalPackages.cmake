# CUDA, NCCL and MPI are found, not required. What is built on them is off without them, and says so.
find_package(CUDAToolkit 13.0 QUIET)
find_path(SWITCHYARD_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(SWITCHYARD_NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
option(SWITCHYARD_MPI "Build the comm backend over MPI where MPI is found" ON)
set(SWITCHYARD_HAS_MPI OFF)
if(SWITCHYARD_MPI AND NOT SWITCHYARD_SANITIZE AND NOT CMAKE_CROSSCOMPILING)  # MPI's own leaks are not ours to mend
  find_package(MPI QUIET COMPONENTS CXX)
  set(SWITCHYARD_HAS_MPI ${MPI_CXX_FOUND})
endif()
mark_as_advanced(SWITCHYARD_NCCL_INCLUDE_DIR SWITCHYARD_NCCL_LIBRARY)

function(_switchyard_report name found detail use)
  if(found)
    message(STATUS "switchyard: ${name} found (${detail}); ${use}")
  else()
    message(STATUS "switchyard: ${name} not found; not needed by the host fabric")
  endif()
endfunction()
_switchyard_report("NCCL" "${SWITCHYARD_NCCL_INCLUDE_DIR}" "${SWITCHYARD_NCCL_INCLUDE_DIR}"
  "switchyard bench measures it where the CUDA fabric is on, loaded at run time")
_switchyard_report("MPI" "${SWITCHYARD_HAS_MPI}" "${MPI_CXX_VERSION}" "switchyard_mpi is built on it")
