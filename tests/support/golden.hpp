// tests/support/golden.hpp: the reference values in tests/golden, and how far an array is from one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/array.hpp>  // array

#include <cmath>    // fabs, isnan, isinf
#include <fstream>  // ifstream
#include <map>      // map
#include <sstream>  // istringstream
#include <string>   // string
#include <vector>   // vector

namespace tokamax::test {

/// The array of these values.
inline array array_of(const std::string& type, const shape& s, const std::vector<double>& numbers) {
  const auto of = [&]<class T>(T*) {
    array a = array::uninitialized({dtype_of<T>, false, s});
    for (std::size_t i = 0; i < numbers.size(); ++i) a.mutable_data<T>()[i] = static_cast<T>(numbers[i]);
    return a;
  };
  if (type == "bool") return of(static_cast<bool*>(nullptr));
  if (type == "i8") return of(static_cast<std::int8_t*>(nullptr));
  if (type == "i32") return of(static_cast<std::int32_t*>(nullptr));
  if (type == "u32") return of(static_cast<std::uint32_t*>(nullptr));
  return of(static_cast<float*>(nullptr));
}

/// Row `name` of tests/golden/`file`: "name dtype rank extents... : values...".
inline array golden(const std::string& file, const std::string& name) {
  static std::map<std::string, std::map<std::string, std::string>> files;
  auto& rows = files[file];
  if (rows.empty()) {
    std::ifstream in(TOKAMAX_ROOT "/tests/golden/" + file);
    for (std::string line; std::getline(in, line);)
      if (!line.empty() && line[0] != '#') rows[line.substr(0, line.find(' '))] = line;
  }
  if (!rows.count(name)) throw error("golden", name, "a row of " + file);
  std::istringstream in(rows[name]);
  std::string word, type;
  int rank = 0;
  in >> word >> type >> rank;
  shape s;
  for (int i = 0; i < rank; ++i) {
    std::int64_t n = 0;
    in >> n;
    s.push_back(n);
  }
  in >> word;  // the colon
  std::vector<double> numbers;
  while (in >> word)
    numbers.push_back(word[0] == '0' && word[1] == 'x' ? static_cast<double>(std::stoul(word, nullptr, 16))
                                                       : std::stod(word));
  return array_of(type, s, numbers);
}

/// The largest difference, relative to the largest finite value. It is infinite if types, NaN or infinities differ.
inline double distance(const array& found, const array& expected) {
  const double wrong = std::numeric_limits<double>::infinity();
  if (!(found.shape() == expected.shape())) return wrong;
  double most = 0, scale = 1e-30;
  const auto a = found.values<float>(), b = expected.values<float>();
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (std::isnan(y) || std::isinf(y)) {
      if (std::isnan(y) ? !std::isnan(x) : x != y) return wrong;
      continue;
    }
    if (!(std::fabs(x) <= 3.5e38)) return wrong;
    most = std::fmax(most, std::fabs(x - y));
    scale = std::fmax(scale, std::fabs(y));
  }
  return most / scale;
}

}  // namespace tokamax::test
