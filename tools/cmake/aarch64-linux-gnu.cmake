# Cross-build for 64-bit Arm, the architecture of GB200 hosts, with Debian's cross compiler; tests run under qemu-user.
# tools/aarch64_dependencies fills build/aarch64-deps.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

# Packages, headers and libraries come from the target's roots alone, programs from this machine.
cmake_path(SET _switchyard_deps NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../build/aarch64-deps)
set(CMAKE_FIND_ROOT_PATH ${_switchyard_deps} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
