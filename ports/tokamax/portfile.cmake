# An overlay port of this checkout: vcpkg install tokamax --overlay-ports=ports
cmake_path(SET SOURCE_PATH NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../..)
set(VCPKG_BUILD_TYPE release)  # headers only

vcpkg_cmake_configure(SOURCE_PATH ${SOURCE_PATH} OPTIONS -DTOKAMAX_BUILD_TESTS=OFF -DTOKAMAX_BUILD_EXAMPLES=OFF
                      -DTOKAMAX_BUILD_BENCH=OFF -DTOKAMAX_BUILD_APPS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup()
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib)
vcpkg_install_copyright(FILE_LIST ${SOURCE_PATH}/LICENSE)
