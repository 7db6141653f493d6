// tokamax/backend/cpu/gemm/choose/key.hpp: the properties of a product on which the fastest implementation depends, as text.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/choose/choice.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/choose/implementation.hpp>  // gemm_product
#include <tokamax/base/error.hpp>                              // error

#include <fmt/format.h>

#include <algorithm>     // min
#include <array>         // array
#include <charconv>      // from_chars
#include <compare>       // operator<=>
#include <cstddef>       // size_t
#include <cstdint>       // int64_t, uint64_t
#include <optional>      // optional
#include <string>        // string
#include <string_view>   // string_view
#include <system_error>  // errc
#include <utility>       // move

namespace tokamax::cpu_backend {

/// Products with equal keys get the same implementation.
struct gemm_key {
  std::int64_t m, n, k;
  int a, b;  ///< indices in detail::gemm_layouts
  gemm_precision precision;
  gemm_mode mode;
  std::int64_t threads;

  friend auto operator<=>(const gemm_key&, const gemm_key&) = default;

  std::size_t hash() const noexcept {
    std::uint64_t h = 0;
    const auto kinds = ((a * 8 + b) * 4 + static_cast<int>(precision)) * 2 + static_cast<int>(mode);
    const auto last = static_cast<std::uint64_t>(threads) * 1024 + static_cast<std::uint64_t>(kinds);
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(m), static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(k), last}) {
      h = (h ^ part) * 0x9e3779b97f4a7c15u;
      h ^= h >> 32;
    }
    return static_cast<std::size_t>(h);
  }
};

namespace detail {

inline constexpr std::array<std::string_view, 6> gemm_layouts{"f32", "f32^T", "bf16", "bf16^T", "i8", "i8^T"};
inline constexpr std::array<std::string_view, 4> gemm_precisions{"f32", "bf16", "bf16_x3", "bf16_x6"};
inline constexpr std::array<std::string_view, 2> gemm_modes{"assign", "accumulate"};

inline int layout_of(const matrix_view& v) noexcept { return 2 * static_cast<int>(v.element) + is_transposed(v); }

inline gemm_key key_of(const gemm_product& p, int threads) noexcept {
  return {p.m, p.n, p.k, layout_of(p.a), layout_of(p.b), p.precision, p.mode, threads};
}

inline constexpr std::string_view gemm_key_columns = "m n k a b precision mode threads";

inline std::string text(const gemm_key& k) {
  return fmt::format("{} {} {} {} {} {} {} {}", k.m, k.n, k.k, gemm_layouts[static_cast<std::size_t>(k.a)],
                     gemm_layouts[static_cast<std::size_t>(k.b)],
                     gemm_precisions[static_cast<std::size_t>(k.precision)],
                     gemm_modes[static_cast<std::size_t>(k.mode)], k.threads);
}

// Reads the words of a line from the left. Errors give the name of the word and the line.
class line_reader {
 public:
  line_reader(std::string_view line, std::string where) : rest_(line), where_(std::move(where)) {}

  std::optional<std::string_view> word() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
    if (rest_.empty()) return {};
    const std::string_view found = rest_.substr(0, rest_.find_first_of(" \t\r"));
    rest_.remove_prefix(found.size());
    return found;
  }
  std::string_view word(const char* name, std::string_view expected) {
    const auto found = word();
    if (!found) refuse(name, "the end of the line", expected);
    return *found;
  }
  std::int64_t count(const char* name) {
    const std::string_view found = word(name, "a number from 1 on");
    std::int64_t n = 0;
    const auto [end, problem] = std::from_chars(found.data(), found.data() + found.size(), n);
    if (problem != std::errc{} || end != found.data() + found.size() || n < 1)
      refuse(name, found, "a number from 1 on");
    return n;
  }
  template <std::size_t N>
  int place(const char* name, const std::array<std::string_view, N>& names) {
    const std::string expected = fmt::format("one of {}", fmt::join(names, ", "));
    const std::string_view found = word(name, expected);
    for (std::size_t i = 0; i < N; ++i)
      if (names[i] == found) return static_cast<int>(i);
    refuse(name, found, expected);
  }
  [[noreturn]] void refuse(std::string_view name, std::string_view found, std::string_view expected) const {
    throw error(error_kind::file, fmt::format("gemm_choice: {}", name), std::string(found), std::string(expected),
                where_);
  }

 private:
  std::string_view rest_;
  std::string where_;
};

inline gemm_key read_key(line_reader& line) {
  gemm_key k{};
  k.m = line.count("m"), k.n = line.count("n"), k.k = line.count("k");
  k.a = line.place("a", gemm_layouts), k.b = line.place("b", gemm_layouts);
  k.precision = static_cast<gemm_precision>(line.place("precision", gemm_precisions));
  k.mode = static_cast<gemm_mode>(line.place("mode", gemm_modes));
  k.threads = line.count("threads");
  return k;
}

}  // namespace detail
}  // namespace tokamax::cpu_backend
