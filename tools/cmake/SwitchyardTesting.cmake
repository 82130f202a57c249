# Tests: one executable per component, one ctest entry per GoogleTest case, labels cpu, memory, sanitize, slow.
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# Emulators and sanitizers are slow: every TIMEOUT is multiplied by this.
set(SWITCHYARD_TEST_TIMEOUT_FACTOR 1 CACHE STRING "Factor, an integer, for the timeouts of tests")

# What a sanitizer build makes, and nothing more: programs labelled `sanitize` under every sanitizer, those labelled
# `memory`, in which no two threads meet, under every one but ThreadSanitizer.
add_custom_target(sanitize_tests)
function(switchyard_sanitize target)
  set(labels sanitize)
  if(NOT SWITCHYARD_SANITIZE STREQUAL "thread")
    list(APPEND labels memory)
  endif()
  foreach(label ${ARGN})
    if(label IN_LIST labels)
      add_dependencies(sanitize_tests ${target})
    endif()
  endforeach()
endfunction()

# GoogleTest's headers are most of what a test file costs to compile: they are compiled once.
function(switchyard_share_test_headers target)
  if(NOT TARGET switchyard_test_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cpp CONTENT "" @ONLY)
    add_library(switchyard_test_headers OBJECT ${PROJECT_BINARY_DIR}/test_headers.cpp)
    target_link_libraries(switchyard_test_headers PRIVATE GTest::gtest Threads::Threads switchyard_build_options)
    target_compile_features(switchyard_test_headers PRIVATE cxx_std_20)
    # As the programs are compiled that use them, or the compiler takes the headers anew.
    target_compile_options(switchyard_test_headers PRIVATE $<$<CONFIG:Release>:-O1> -fPIE)
    set_target_properties(switchyard_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_precompile_headers(switchyard_test_headers PRIVATE <gtest/gtest.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM switchyard_test_headers)
  # ccache looks at preprocessed sources, in which the compiled headers must still be named.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()

# switchyard_add_test(NAME target SOURCES a.cpp ... LIBRARIES lib ... [LABELS cpu ...] [TIMEOUT seconds])
function(switchyard_add_test)
  cmake_parse_arguments(arg "" "NAME;TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS cpu)
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${SWITCHYARD_TEST_TIMEOUT_FACTOR}")
  # One word, cpu+sanitize: gtest_discover_tests takes lists apart. ctest -L looks for a pattern, so it finds each.
  string(REPLACE ";" "+" labels "${arg_LABELS}")
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} GTest::gtest GTest::gtest_main switchyard_build_options)
  # What is tested is built as users get it; the tests themselves are built once and run once.
  target_compile_options(${arg_NAME} PRIVATE $<$<CONFIG:Release>:-O1>)
  switchyard_share_test_headers(${arg_NAME})
  set(alone)
  if(labels MATCHES "gpu")
    set(alone RESOURCE_LOCK gpu)  # tests that share a GPU would measure each other's waits
  endif()
  # PRE_TEST: the binary is asked for its cases when ctest runs, which a cross-build can only do under its emulator.
  gtest_discover_tests(${arg_NAME} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} ${alone})
  switchyard_sanitize(${arg_NAME} ${arg_LABELS})
endfunction()

# switchyard_add_header_tests(target include_dir header ...): each public header compiles when it is included alone.
function(switchyard_add_header_tests target include_dir)
  if(NOT BUILD_TESTING)
    return()
  endif()
  set(sources)
  foreach(header ${ARGN})
    string(MAKE_C_IDENTIFIER ${header} id)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/header_tests/${id}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@header@\"\n#include \"@header@\"\n" @ONLY)
    list(APPEND sources ${source})
  endforeach()
  add_library(${target}_header_tests OBJECT ${sources})
  target_link_libraries(${target}_header_tests PRIVATE ${target} switchyard_build_options)
  target_compile_options(${target}_header_tests PRIVATE $<$<CXX_COMPILER_ID:GNU,Clang>:-O0>)  # nothing of it runs
  set_target_properties(${target}_header_tests PROPERTIES UNITY_BUILD OFF)
endfunction()
