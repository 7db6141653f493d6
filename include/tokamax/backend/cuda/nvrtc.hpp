// tokamax/backend/cuda/nvrtc.hpp: compiles device text into code for one architecture, by NVIDIA's library NVRTC.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/backend/cuda/library.hpp>  // library

#include <cstddef>      // size_t
#include <string_view>  // string_view

namespace tokamax::cuda_backend {

/// NVRTC, found once. Its functions are facts of its documentation (NVRTC 12.4 and 13.0).
struct nvrtc {
  library file{"TOKAMAX_CUDA_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}};
  using program = struct program_record*;
  int (*version)(int*, int*);
  const char* (*error_text)(int);
  int (*create)(program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy)(program*);
  int (*compile)(program, int, const char* const*);
  int (*log_size)(program, std::size_t*);
  int (*log)(program, char*);
  int (*code_size)(program, std::size_t*);
  int (*code)(program, char*);

  static const nvrtc& loaded() {
    static const nvrtc& one = *new nvrtc;
    return one;
  }
  bool is_complete() const { return code != nullptr; }
  /// "13.0"
  std::string version_text() const {
    int major = 0, minor = 0;
    if (version) version(&major, &minor);
    return std::to_string(major) + "." + std::to_string(minor);
  }

 private:
  nvrtc() {
    file.get(version, "nvrtcVersion");
    file.get(error_text, "nvrtcGetErrorString");
    file.get(create, "nvrtcCreateProgram");
    file.get(destroy, "nvrtcDestroyProgram");
    file.get(compile, "nvrtcCompileProgram");
    file.get(log_size, "nvrtcGetProgramLogSize");
    file.get(log, "nvrtcGetProgramLog");
    file.get(code_size, "nvrtcGetCUBINSize");
    file.get(code, "nvrtcGetCUBIN");
  }
};

/// The flags of every compilation. Products and sums are not contracted, so that results do not depend on what a compiler
/// joins: the CPU's loops are compiled so too. Subnormals are kept, and division and square root are exact.
inline constexpr const char* compile_flags[] = {"--std=c++20",     "--device-as-default-execution-space",
                                                "--fmad=false",    "--ftz=false",
                                                "--prec-div=true", "--prec-sqrt=true"};

/// The code (cubin) of a text for an architecture such as "sm_90a".
/// errors  tokamax::error "cuda: NVRTC" if it is missing, "cuda: device text" with the messages of the compiler
inline std::string compiled(std::string_view text, const std::string& architecture) {
  const nvrtc& n = nvrtc::loaded();
  if (!n.is_complete()) throw error("cuda: NVRTC", "no " + n.file.missing(), "CUDA 12.4 or newer");
  nvrtc::program p = nullptr;
  const std::string source(text), target = "--gpu-architecture=" + architecture;
  int result = n.create(&p, source.c_str(), "tokamax.cu", 0, nullptr, nullptr);
  const char* flags[std::size(compile_flags) + 1];
  std::copy(std::begin(compile_flags), std::end(compile_flags), flags);
  flags[std::size(compile_flags)] = target.c_str();
  if (result == 0) result = n.compile(p, static_cast<int>(std::size(flags)), flags);
  std::size_t size = 0;
  if (result != 0) {
    std::string messages;
    if (p && n.log_size(p, &size) == 0) n.log(p, messages.assign(size, '\0').data());
    throw error("cuda: device text", std::string(n.error_text(result)) + "\n" + messages,
                "text that NVRTC " + n.version_text() + " compiles for " + architecture);
  }
  std::string code;
  if (n.code_size(p, &size) == 0) n.code(p, code.assign(size, '\0').data());
  n.destroy(&p);
  return code;
}

}  // namespace tokamax::cuda_backend
