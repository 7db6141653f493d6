# install.cmake: headers, targets, version and the package file that find_package(tokamax) reads. The package brings the
# libraries of kernels, too, if `cmake --build build --target tokamax_libraries` has compiled them before the installation.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_DATADIR}/cmake/tokamax)
install(TARGETS tokamax_headers tokamax_core tokamax_checkpoint tokamax_tokamax tokamax_cuda tokamax_linalg EXPORT tokamax-targets
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tokamax-targets NAMESPACE tokamax:: DESTINATION ${package_folder})
install(DIRECTORY include/tokamax DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
configure_package_config_file(cmake/tokamax-config.cmake.in tokamax-config.cmake INSTALL_DESTINATION ${package_folder}
                              PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(tokamax-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
configure_file(cmake/compiled.cmake.in compiled.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tokamax-config.cmake ${PROJECT_BINARY_DIR}/tokamax-config-version.cmake
              ${PROJECT_BINARY_DIR}/compiled.cmake cmake/flags.cmake cmake/kernels.cmake cmake/onednn.cmake cmake/xbyak.cmake
              cmake/optional.cmake cmake/text.cmake cmake/zstd.cmake cmake/zlib.cmake cmake/images.cmake cmake/http.cmake
              cmake/stablehlo.cmake
              cmake/cuda_precompile.cmake DESTINATION ${package_folder})
if(NOT TOKAMAX_HEADER_ONLY AND NOT TOKAMAX_SANITIZE)
  set(libraries tokamax_kernels tokamax_files tokamax_linalg_functions tokamax_cuda_backend)
  add_custom_target(tokamax_libraries DEPENDS ${libraries})
  foreach(name IN LISTS libraries)
    install(FILES $<TARGET_FILE:${name}> DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
  endforeach()
endif()
install(FILES cmake/gdb/tokamax.py DESTINATION ${CMAKE_INSTALL_DATADIR}/tokamax/gdb)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/tokamax)
