# The package users find with find_package(switchyard): headers, library, targets switchyard::spec and
# switchyard::switchyard; switchyard::mpi for those who ask for COMPONENTS mpi; the program where it is built.
include(CMakePackageConfigHelpers)
set(_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/switchyard)

install(DIRECTORY lib/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS switchyard_spec switchyard_lib EXPORT switchyardTargets)
install(EXPORT switchyardTargets NAMESPACE switchyard:: DESTINATION ${_package_dir})
if(SWITCHYARD_HAS_MPI)
  install(TARGETS switchyard_mpi EXPORT switchyardMpiTargets)
  install(EXPORT switchyardMpiTargets NAMESPACE switchyard:: DESTINATION ${_package_dir})
endif()
configure_package_config_file(tools/cmake/switchyardConfig.cmake.in
  ${PROJECT_BINARY_DIR}/switchyardConfig.cmake INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/switchyardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/switchyardConfig.cmake ${PROJECT_BINARY_DIR}/switchyardConfigVersion.cmake
  DESTINATION ${_package_dir})

include(SwitchyardRepositoryTests)
