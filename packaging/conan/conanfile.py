import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rmdir

required_conan_version = ">=2.0"


class TallyConan(ConanFile):
    name = "tally"
    description = "Reductions and prefix scans at the speed of memory, and exact on request, on CPUs and NVIDIA GPUs"
    license = "Apache-2.0"
    url = "https://github.com/conan-io/conan-center-index"
    homepage = "@HOMEPAGE@"
    topics = ("reduction", "prefix-sum", "scan", "exact-summation", "cuda")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}  # no fPIC: the static library's code is always position-independent
    default_options = {"shared": False}

    def configure(self):
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def layout(self):
        cmake_layout(self, src_folder="src")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"{self.ref} is for Linux")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.22 <5]")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["TALLY_BUILD_CLI"] = False
        toolchain.cache_variables["TALLY_BUILD_TESTS"] = False
        toolchain.cache_variables["TALLY_VULKAN"] = False  # it takes glslc
        toolchain.cache_variables["TALLY_INSTALL"] = self._kind
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        for folder in ("lib/cmake", "lib/pkgconfig", "share"):
            rmdir(self, os.path.join(self.package_folder, folder))

    def package_info(self):
        self.cpp_info.libs = ["tally"]
        self.cpp_info.system_libs = ["dl", "m", "pthread"]
        self.cpp_info.set_property("cmake_file_name", "tally")
        self.cpp_info.set_property("cmake_target_name", f"tally::{self._kind}")
        self.cpp_info.set_property("pkg_config_name", "tally")
        if self._kind == "static":
            self.cpp_info.defines = ["TALLY_STATIC"]

    @property
    def _kind(self):
        return "shared" if self.options.shared else "static"
