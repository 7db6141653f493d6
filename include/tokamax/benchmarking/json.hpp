// tokamax/benchmarking/json.hpp: measurements as JSON, and back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/benchmarking/benchmark_data.hpp>  // benchmark_data
#include <tokamax/checkpoint/json_value.hpp>        // json_value

namespace tokamax {

/// Measurements as a JSON object with the names of the fields, and with the median. With `indent` at least 0 the text has
/// a line for each field. The program needs the target tokamax::checkpoint.
/// source  tokamax's BenchmarkData.asdict
inline std::string to_json(const benchmark_data& d, int indent = -1) {
  checkpoint::json_value json = checkpoint::json_value::of(d);
  json.set("median_evaluation_time_ms", d.median_evaluation_time_ms());
  return json.text(indent);
}

/// The measurements in a text that `to_json` has written. `where` is what errors name, such as a file.
/// errors  tokamax::error for a text that is no JSON, and for a field that is missing or of another type
inline benchmark_data benchmark_data_from_json(std::string_view text, const std::string& where = "benchmark_data") {
  return checkpoint::json_value::parse(text, where).as<benchmark_data>("benchmark_data");
}

}  // namespace tokamax
