# install.cmake: headers, targets, version and the package file that find_package(tokamax) reads.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_DATADIR}/cmake/tokamax)
install(TARGETS tokamax_headers tokamax_core tokamax_checkpoint tokamax_tokamax tokamax_cuda tokamax_linalg EXPORT tokamax-targets
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tokamax-targets NAMESPACE tokamax:: DESTINATION ${package_folder})
install(DIRECTORY include/tokamax DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
configure_package_config_file(cmake/tokamax-config.cmake.in tokamax-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(tokamax-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/tokamax-config.cmake ${PROJECT_BINARY_DIR}/tokamax-config-version.cmake
              cmake/flags.cmake cmake/kernels.cmake cmake/onednn.cmake cmake/text.cmake cmake/cuda_precompile.cmake DESTINATION ${package_folder})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/tokamax)
