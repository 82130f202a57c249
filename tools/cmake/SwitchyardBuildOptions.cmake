# One target carries warnings, sanitizers and the floating-point rules; every target of the project links it PRIVATE,
# so nothing of it reaches users of the installed package.
option(SWITCHYARD_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)
set(SWITCHYARD_SANITIZE "" CACHE STRING "Sanitizers, comma separated, as for -fsanitize=; empty for none")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_package(Threads REQUIRED)

add_library(switchyard_build_options INTERFACE)
# The order and rounding of sums are part of the contract, so the compiler may not fuse a multiply and an add.
target_compile_options(switchyard_build_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wsign-conversion;-Wshadow;-Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast;-ffp-contract=off>
  # Sources that are compiled together share neither their names nor a main file; see the presets.
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-shadow>
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>
  # GCC 12 sees overlaps in std::string's operator+ that are not there (its bug 105651).
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${SWITCHYARD_WARNINGS_AS_ERRORS}>>:-Werror>)
if(SWITCHYARD_SANITIZE)
  target_compile_options(switchyard_build_options INTERFACE
    -fsanitize=${SWITCHYARD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(switchyard_build_options INTERFACE -fsanitize=${SWITCHYARD_SANITIZE})
endif()
