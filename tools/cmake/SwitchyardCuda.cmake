# The CUDA fabric is built where CUDA 13.0 or newer is found, and is off without it; SWITCHYARD_HAS_CUDA says which.
# No GPU and no driver is needed to build, nor to start what was built.
option(SWITCHYARD_CUDA "Build the CUDA fabric where CUDA 13.0 or newer is found" ON)

set(SWITCHYARD_HAS_CUDA OFF)
set(_why_off)
if(NOT SWITCHYARD_CUDA)
  set(_why_off "SWITCHYARD_CUDA is OFF")
elseif(CMAKE_CROSSCOMPILING)
  set(_why_off "cross-builds take no CUDA compiler")
elseif(SWITCHYARD_SANITIZE)
  set(_why_off "sanitizers watch the host fabric")
elseif(NOT CUDAToolkit_FOUND OR NOT CUDAToolkit_NVCC_EXECUTABLE)
  set(_why_off "CUDA 13.0 or newer was not found")
endif()
if(_why_off)
  message(STATUS "switchyard: CUDA fabric off: ${_why_off}")
  return()
endif()

set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE} CACHE FILEPATH "nvcc")
# 9.0: H100, H200. 10.0: B200, GB200; its PTX also serves what comes after it.
set(CMAKE_CUDA_ARCHITECTURES 90-real 100-real 100-virtual CACHE STRING "GPU architectures")
enable_language(CUDA)
# CMake 3.25 does not know that nvcc has C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(SWITCHYARD_HAS_CUDA ON)
message(STATUS "switchyard: CUDA fabric on (CUDA ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES})")
