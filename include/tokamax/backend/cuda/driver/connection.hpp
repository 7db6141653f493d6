// tokamax/backend/cuda/driver/connection.hpp: the libraries that GPUs are reached through, and where their compiled code comes from.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/driver/code_cache.cpp
#pragma once

#include <tokamax/backend/cuda/driver/code_cache.hpp>  // code_cache
#include <tokamax/backend/cuda/driver/driver.hpp>      // driver
#include <tokamax/backend/cuda/driver/nvrtc.hpp>       // compiled

#include <vector>  // vector

namespace tokamax::cuda_backend {

/// The libraries that a GPU is reached through, and the folders of its code: `cache` is the user's and grows, `shipped` came
/// with the program and is only read.
struct connection {
  const driver& gpus = driver::loaded();
  const nvrtc& compiler = nvrtc::loaded();
  code_cache cache = code_cache();
  code_cache shipped = code_cache(code_cache::shipped_folder());
  std::vector<std::string> precompiles = {};  ///< for these architectures `shipped` is written, and nothing runs

  /// What is missing of the compiler; empty if nothing is, or if code was shipped: where that lacks something, the compiler is
  /// asked for then.
  std::string missing_compiler() const {
    return shipped.exists() && precompiles.empty() ? std::string() : compiler.missing();
  }
  /// Code that was shipped or kept; empty if there is none.
  std::optional<std::string> find(std::string_view text, const std::string& architecture, contraction contracts) const {
    if (shipped.exists())
      if (std::optional<std::string> code = shipped.find(key_of(text, architecture, contracts))) return code;
    if (!compiler.missing().empty()) return {};
    return cache.find(versioned_key(text, architecture, contracts));
  }
  /// Compiles a text and keeps the code.
  /// errors  those of `compiled`
  std::string compile(std::string_view text, const std::string& architecture, contraction contracts) const {
    std::string code = compiled(text, architecture, compiler, contracts);
    cache.keep(versioned_key(text, architecture, contracts), code);
    return code;
  }
  /// Writes the code of a text for all of `precompiles`.
  /// errors  those of `compiled`; tokamax::error "cuda: folder of code" if it cannot be written
  void precompile(std::string_view text, contraction contracts) const {
    if (const std::string missing = compiler.missing(); !missing.empty())
      throw error(error_kind::device, "cuda: NVRTC", missing, "CUDA 12.4 or newer");
    for (const std::string& architecture : precompiles) {
      const std::string key = key_of(text, architecture, contracts);
      if (shipped.find(key)) continue;
      const std::optional<std::string> kept = cache.find(versioned_key(text, architecture, contracts));
      shipped.keep(key, kept ? *kept : compile(text, architecture, contracts));
      if (!shipped.find(key))
        throw error(error_kind::file, "cuda: folder of code", shipped.folder(), "a folder that can be written");
    }
  }

 private:
  /// Flags are part of a key. Shipped code is right whichever version of NVRTC the machine has, or if it has none.
  static std::string key_of(std::string_view text, const std::string& architecture, contraction contracts) {
    std::string key = architecture;
    for (const char* flag : compile_flags) key.append(" ").append(flag);
    if (contracts == contraction::on) key += " contracted";
    return key.append("\n").append(text);
  }
  std::string versioned_key(std::string_view text, const std::string& architecture, contraction contracts) const {
    return "NVRTC " + compiler.version_text() + " " + key_of(text, architecture, contracts);
  }
};

/// Why there is no such GPU; empty if there is one.
inline std::string missing_device(int number, const connection& to = {}) {
  const driver& d = to.gpus;
  if (const std::string missing = d.missing(); !missing.empty()) return missing;
  if (const int result = d.initialize(0)) return d.text_of(result);
  int count = 0, device = 0, major = 0, pools = 0, version = 0;
  if (const int result = d.device_count(&count)) return d.text_of(result);
  if (number < 0 || number >= count) return std::to_string(count) + " GPUs";
  int result = d.version(&version);
  if (result == 0 && version < 12000) return "a driver for CUDA " + std::to_string(version / 1000) + ", older than 12";
  if (result == 0) result = d.device_get(&device, number);
  if (result == 0) result = d.device_attribute(&major, attribute_major, device);
  if (result == 0) result = d.device_attribute(&pools, attribute_memory_pools, device);
  if (result != 0) return d.text_of(result);
  if (major < 8) return "a GPU of compute capability " + std::to_string(major) + ", older than 8.0";
  if (!pools) return "a GPU without memory pools";
  return to.missing_compiler();
}

}  // namespace tokamax::cuda_backend
