// tokamax/checkpoint/array_source.hpp: arrays by name in files of any format.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/checkpoint/safetensors.cpp
#pragma once

#include <tokamax/checkpoint/stored_array.hpp>  // stored_array
#include <tokamax/core/array.hpp>               // array

#include <filesystem>  // path
#include <map>         // map

namespace tokamax::checkpoint {

/// A file or folder that is open for reading.
class array_source {
 public:
  virtual ~array_source() = default;
  virtual const std::filesystem::path& path() const = 0;
  /// Dtypes and shapes by name.
  virtual const std::map<std::string, stored_array>& arrays() const = 0;
  /// errors  tokamax::error if there is no array of this name, its dtype or rank is unknown here, or it is damaged
  virtual array read(const std::string& name) const = 0;
  /// The CRC-32C of the elements that `read` would give.
  virtual std::uint32_t checksum(const std::string& name) const = 0;
};

}  // namespace tokamax::checkpoint
