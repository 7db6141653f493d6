# SPDX-License-Identifier: Apache-2.0
"""Conan 2 recipe, whose own CMake package file is the one that consumers find. With `compiled` it brings its kernels."""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import load


class Tokamax(ConanFile):
    name = "tokamax"
    license = "Apache-2.0"
    description = "Arrays, gradients, fusion and memory plans made by the C++ compiler"
    settings = "os", "arch", "compiler", "build_type"
    options = {"compiled": [True, False], "text": [True, False], "zstd": [True, False],
               "zlib": [True, False], "images": [True, False]}  # kernels; tokenizers; compressed files; JPEG and PNG
    default_options = {"compiled": True, "text": False, "zstd": False, "zlib": False, "images": False}
    exports_sources = "CMakeLists.txt", "cmake/*", "include/*", "LICENSE"
    no_copy_source = True

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include/tokamax/base/version.hpp"))
        self.version = re.search(r'version = "([0-9.]+)"', header).group(1)

    def requirements(self):
        self.requires("xsimd/13.0.0")
        self.requires("eigen/3.4.0")
        self.requires("boost/1.84.0", options={"header_only": True})
        self.requires("fmt/10.2.1", options={"header_only": True})
        self.requires("nlohmann_json/3.11.3")
        if self.options.text:
            self.requires("pcre2/10.42")
            self.requires("utf8proc/2.8.0")
        if self.options.zstd:
            self.requires("zstd/1.5.5")
        if self.options.zlib:
            self.requires("zlib/1.3.1")
        if self.options.images:
            self.requires("libjpeg-turbo/3.0.2")
            self.requires("libpng/1.6.43")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCH", "APPS"):
            toolchain.cache_variables[f"TOKAMAX_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        if self.options.compiled:
            cmake.build(target="tokamax_libraries")

    def package(self):
        CMake(self).install()

    def package_id(self):
        if not self.info.options.compiled:
            self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake/tokamax"]
