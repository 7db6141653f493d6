// tests/support/adversarial.cpp: the checks behind check_adversarial.
// SPDX-License-Identifier: Apache-2.0
#include "support/adversarial.hpp"

#include <tokamax/lax/indexing/slice.hpp>
#include <tokamax/lax/shapes/transpose.hpp>

#include "support/threads.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <sstream>

namespace tokamax::test {

std::vector<float> special_floats() {
  using limits = std::numeric_limits<float>;
  const float nan = limits::quiet_NaN(), inf = limits::infinity(), tiny = limits::denorm_min(), small = limits::min();
  return {nan,    inf,  -inf,      0.0f, -0.0f,  tiny,   -tiny,         3e-39f,           small,
          -small, 1.0f, -1.0f,     0.5f, -2.75f, 1e-20f, limits::max(), limits::lowest(), 88.9f,
          -104.f, 1e4f, 16777217.f};
}

std::vector<std::int32_t> special_integers() {
  return {0,         1,        -1, 2, -2, 7, 8, 31, 32, 33, 127, -128, -129, 46341, -46341, 0x7fffffff, -0x7fffffff - 1,
          0x1000001, 0x1000003};
}

array specials(dtype t, std::int64_t n, std::int64_t stretch) {
  const std::vector<float> floats = special_floats();
  const std::vector<std::int32_t> integers = special_integers();
  const auto fill = [&]<class T>(const std::vector<T>& from) {
    array a = array::uninitialized({dtype_of<T>, false, {n}});
    for (std::int64_t i = 0; i < n; ++i)
      a.mutable_data<T>()[i] = from[static_cast<std::size_t>(i / stretch) % from.size()];
    return astype(a, t);
  };
  return is_floating(t) ? fill(floats) : fill(integers);
}

array sprinkled(const shape& s, unsigned seed, dtype t, double most) {
  array a = noise(s, seed);
  const std::vector<float> special = special_floats();
  if (a.size() == 0) return astype(a, t);
  const std::int64_t n = s[-1], rows = a.size() / n;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto k = static_cast<std::size_t>(r + seed) % (2 * special.size());  // every other stretch of rows has none
    if (k >= special.size() || (std::isfinite(special[k]) && std::fabs(special[k]) > most)) continue;
    a.mutable_data<float>()[r * n + (r * 7 + seed) % n] = special[k];
  }
  return astype(a, t);
}

array adversarial(const shape& s, unsigned seed, dtype t) {
  if (is_floating(t)) return sprinkled(s, seed, t);
  return reshape(specials(t, size(s), 1 + seed % 3), s);
}

namespace {

/// The results when every operand and result begins one element behind an alignment boundary and ends where its memory
/// ends. So a kernel that reads too far, or needs alignment, shows.
std::vector<array> execute_unaligned(const graph& g, const std::vector<array>& inputs) {
  const auto program = tokamax::detail::owned_program::make(g, kernel_table_of<cpu_tag>());
  std::vector<std::unique_ptr<std::byte[]>> memory;
  const auto bytes_of = [](const array& a) { return static_cast<std::size_t>(a.size() * size_of(a.dtype())); };
  const auto place_for = [&](const array& a) {
    const auto skip = static_cast<std::size_t>(size_of(a.dtype()));
    memory.push_back(std::make_unique<std::byte[]>(skip + bytes_of(a)));
    return memory.back().get() + skip;
  };
  std::vector<std::byte*> in, out;
  for (const array& a : inputs) {
    in.push_back(place_for(a));
    std::memcpy(in.back(), a.storage()->data, bytes_of(a));
  }
  for (const handle& h : program->captured) in.push_back(h->data);
  std::vector<array> results;
  for (int id : g.outputs) {
    results.push_back(array::uninitialized({g[id].type.dtype, g[id].type.weak, g[id].type.shape}));
    out.push_back(place_for(results.back()));
  }
  program->code.run(in.data(), out.data());
  for (std::size_t k = 0; k < out.size(); ++k) std::memcpy(results[k].storage()->data, out[k], bytes_of(results[k]));
  return results;
}

/// Describes where and how `found` differs from the reference; empty if it does not.
std::string deviation(const values& found, const values& expected, const adversarial_options& o) {
  std::ostringstream s;
  if (found.size() != expected.size()) return "number of arrays";
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (!(found[k].type == expected[k].type)) return "type of result " + std::to_string(k);
    const value rounded = to_value(to_array(expected[k]));
    for (std::size_t i = 0; i < found[k].data.size(); ++i) {
      const double a = found[k].data[i], e = rounded.data[i];
      const bool near = std::isnan(e)       ? std::isnan(a)
                        : !std::isfinite(e) ? a == e
                        : o.tolerance == 0  ? a == e && std::signbit(a) == std::signbit(e)
                        : !std::isfinite(a) ? false
                                            : std::fabs(a - e) <= o.tolerance * std::fmax(std::fabs(e), o.floor);
      if (near) continue;
      s << "result " << k << " [" << i << "]: " << a << ", expected " << e << "\n";
      if (s.str().size() > 400) return s.str();
    }
  }
  return s.str();
}

/// A larger array that contains `a` transposed, with one element before it and two after it on every axis.
array around(const array& a) {
  shape low, high;
  for (int i = 0; i < a.rank(); ++i) low.push_back(1), high.push_back(2);
  return transpose(pad(a, array(0.0, {a.dtype(), false, {}}), low, high));
}
array inside(const array& v, const shape& s) {
  shape start, limit;
  for (std::int64_t e : s) start.push_back(1), limit.push_back(e + 1);
  return slice(transpose(v), start, limit);
}

}  // namespace

void check_adversarial(const function& f, const std::vector<array>& inputs, const adversarial_options& o) {
  const auto check = [&](const function& g, const std::vector<array>& in) {
    check_same_bits(g, in);
    const graph traced = trace(g, types_of(in));
    const std::vector<array> found = listed(execute_graph(traced, listed(in)));
    CHECK(deviation(to_values(found), evaluate(traced, to_values(in)), o) == "");
    INFO("one element behind a boundary");
    CHECK(bit_difference(execute_unaligned(traced, in), found) == "");
  };
  std::string types;
  for (const array& a : inputs) types.append(message(a.type()).view()).append(" ");
  INFO(types);
  check(f, inputs);
  if (!o.views) return;
  INFO("operands that are views");
  std::vector<array> wider;
  for (const array& a : inputs) wider.push_back(around(a));
  check(
      [&](const arrays& x) {
        arrays in;
        for (int k = 0; k < x.count(); ++k) in.push_back(inside(x[k], inputs[static_cast<std::size_t>(k)].shape()));
        return f(in);
      },
      wider);
}

void check_adversarial(const std::vector<adversarial_case>& cases) {
  for (const adversarial_case& c : cases) {
    INFO(c.name);
    check_adversarial(c.f, c.inputs, c.options);
  }
}

}  // namespace tokamax::test
