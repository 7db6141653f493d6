// tokamax/benchmarking/autotuning_file.hpp: results of autotuning as JSON and as files that several processes share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/system/file_lock.hpp>           // file_lock
#include <tokamax/benchmarking/autotuning_result.hpp>  // autotuning_result
#include <tokamax/checkpoint/json_value.hpp>           // json_value

namespace tokamax {

namespace detail {
inline constexpr std::string_view autotuning_format = "tokamax autotuning 1";

/// The fields of a file.
struct autotuning_text {
  std::string format{autotuning_format}, device_kind{}, version{};
  std::vector<tuned_call> calls{};
};
}  // namespace detail

/// A result as a JSON object with the names of its fields. The program needs the target tokamax::checkpoint.
inline std::string to_json(const autotuning_result& r, int indent = -1) {
  const detail::autotuning_text all{.device_kind = r.device_kind, .version = r.version, .calls = r.calls};
  return checkpoint::json_value::of(all).text(indent);
}

/// The result in a text that `to_json` has written. `where` is what errors name, such as a file.
/// errors  tokamax::error for a text that is no JSON or has another format, and for a field that is missing or of another type
inline autotuning_result autotuning_result_from_json(std::string_view text, const std::string& where = "autotuning") {
  auto all = checkpoint::json_value::parse(text, where).as<detail::autotuning_text>("autotuning", where);
  if (all.format != detail::autotuning_format)
    throw error(error_kind::file, "autotuning: format", "'" + all.format + "'",
                "'" + std::string(detail::autotuning_format) + "'", where);
  autotuning_result r{.device_kind = all.device_kind, .version = all.version};
  for (tuned_call& c : all.calls) {
    for (const implementation_times& i : c.implementations)
      for (const double t : i.evaluation_times_ms)
        if (!(t >= 0)) throw error(error_kind::file, "autotuning: time", std::to_string(t), "0 or more", where);
    r.set(std::move(c));
  }
  return r;
}

/// Reads the result that a file holds for this device and this version of the library.
///
/// errors  tokamax::error for a file that cannot be read or is of another format; "autotuning: device kind" and "autotuning: version"
///         for measurements of another machine or of another version, which would mislead
inline autotuning_result load_autotuning(const std::filesystem::path& path, const device& where = host_device()) {
  autotuning_result r = autotuning_result_from_json(read_file(path), path.string());
  if (r.version != version)
    throw error(error_kind::file, "autotuning: version", "'" + r.version + "'",
                "'" + std::string(version) + "': tune again", path.string());
  if (r.device_kind != where.kind())
    throw error(error_kind::device, "autotuning: device kind", "'" + r.device_kind + "'",
                "'" + where.kind() + "': tune on this machine", path.string());
  return r;
}

/// Merges a result into a file, which is made if it is missing. Of calls that the file has too, those of `r` stay. Processes may
/// do so at the same time: each waits for the lock of `path`.lock. Whenever one ends, the file is as before or as afterwards.
///
/// errors  tokamax::error for a file that cannot be written, or that holds something else, another device kind or another
///         version. The file stays as it is then
inline void save_autotuning(const std::filesystem::path& path, const autotuning_result& r) {
  std::filesystem::path lock = path;
  const file_lock held(lock += ".lock", when_locked::wait);
  autotuning_result all;
  if (std::filesystem::exists(path)) all = autotuning_result_from_json(read_file(path), path.string());
  replace_file(path, to_json(merged(std::move(all), r, path.string()), 1) + "\n");
}

}  // namespace tokamax
