// tokamax/backend/cuda/driver/nvrtc.hpp: compiles device text into code for one architecture, by NVIDIA's library NVRTC.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/backend/cuda/driver/library.hpp>  // library

#include <cstddef>      // size_t
#include <string_view>  // string_view

namespace tokamax::cuda_backend {

/// The functions of NVRTC, which are facts of its documentation (NVRTC 12.4 and 13.0); one that is not there is null.
/// `loaded()` are those of the system.
struct nvrtc {
  using program = struct program_record*;
  std::string absent_library = {};  ///< what was not found, and why

  int (*version)(int*, int*) = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*create)(program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy)(program*) = nullptr;
  int (*compile)(program, int, const char* const*) = nullptr;
  int (*log_size)(program, std::size_t*) = nullptr;
  int (*log)(program, char*) = nullptr;
  int (*code_size)(program, std::size_t*) = nullptr;
  int (*code)(program, char*) = nullptr;

  static const nvrtc& loaded() {
    static const nvrtc& one =
        *new nvrtc(found_in({"TOKAMAX_CUDA_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}}));
    return one;
  }
  /// Calls f(pointer, name in the library) for each function.
  template <class Nvrtc, class F>
  static void each_function(Nvrtc& n, const F& f) {
    f(n.version, "nvrtcVersion");
    f(n.error_text, "nvrtcGetErrorString");
    f(n.create, "nvrtcCreateProgram");
    f(n.destroy, "nvrtcDestroyProgram");
    f(n.compile, "nvrtcCompileProgram");
    f(n.log_size, "nvrtcGetProgramLogSize");
    f(n.log, "nvrtcGetProgramLog");
    f(n.code_size, "nvrtcGetCUBINSize");
    f(n.code, "nvrtcGetCUBIN");
  }
  /// What is missing: the library, or a function of one that is too old. Empty if nothing is.
  std::string missing() const {
    if (!absent_library.empty()) return "no " + absent_library;
    std::string absent;
    each_function(*this, [&](auto* function, const char* name) {
      if (!function && absent.empty()) absent = std::string("an NVRTC without ") + name;
    });
    return absent;
  }
  /// "13.0"
  std::string version_text() const {
    int major = 0, minor = 0;
    version(&major, &minor);
    return std::to_string(major) + "." + std::to_string(minor);
  }

 private:
  static nvrtc found_in(const library& file) {
    nvrtc n{.absent_library = file.missing()};
    each_function(n, [&](auto*& function, const char* name) { file.get(function, name); });
    return n;
  }
};

/// The flags of every compilation. Products and sums are not contracted, so that results do not depend on what a compiler
/// joins: the CPU's loops are compiled so too. Subnormals are kept, and division and square root are exact.
inline constexpr const char* compile_flags[] = {"--std=c++20",     "--device-as-default-execution-space",
                                                "--fmad=false",    "--ftz=false",
                                                "--prec-div=true", "--prec-sqrt=true"};
inline constexpr int contraction_flag = 2;

/// May the compiler contract products and sums of a text all the same? That is for loops whose results have so few digits
/// that it makes no difference to them.
enum class contraction : bool { off, on };

/// The code (cubin) of a text for an architecture such as "sm_90a".
/// errors  tokamax::error "cuda: NVRTC" if it is missing, "cuda: device text" with the messages of the compiler
inline std::string compiled(std::string_view text, const std::string& architecture, const nvrtc& n = nvrtc::loaded(),
                            contraction contracts = contraction::off) {
  if (const std::string missing = n.missing(); !missing.empty())
    throw error(error_kind::device, "cuda: NVRTC", missing, "CUDA 12.4 or newer");
  const std::string source(text), target = "--gpu-architecture=" + architecture;
  const char* flags[std::size(compile_flags) + 1];
  std::copy(std::begin(compile_flags), std::end(compile_flags), flags);
  if (contracts == contraction::on) flags[contraction_flag] = "--fmad=true";
  flags[std::size(compile_flags)] = target.c_str();
  nvrtc::program p = nullptr;
  std::size_t size = 0;
  std::string code, messages;
  int result = n.create(&p, source.c_str(), "tokamax.cu", 0, nullptr, nullptr);
  if (result == 0) result = n.compile(p, static_cast<int>(std::size(flags)), flags);
  if (result == 0) result = n.code_size(p, &size);
  if (result == 0) result = n.code(p, code.assign(size, '\0').data());
  if (result != 0 && p && n.log_size(p, &size) == 0) n.log(p, messages.assign(size, '\0').data());
  if (p) n.destroy(&p);
  if (result != 0)
    throw error(error_kind::device, "cuda: device text", std::string(n.error_text(result)) + "\n" + messages,
                "text that NVRTC " + n.version_text() + " compiles for " + architecture);
  return code;
}

}  // namespace tokamax::cuda_backend
