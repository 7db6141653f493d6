// tests/lax/dtypes.cpp: every dtype has JAX's promotions, conversions, arithmetic and reductions, to the bit.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

using namespace tokamax;

namespace {

dtype dtype_named(std::string_view text) {
  for (int i = 1; i < dtype_count; ++i)
    if (text == name(static_cast<dtype>(i))) return static_cast<dtype>(i);
  return dtype::none;
}

/// A row of the file: words, then parts behind colons.
struct row {
  std::string line;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> parts;
  const std::string& operator[](std::size_t i) const { return head[i]; }
};
const std::vector<row>& rows(const std::string& kind) {
  static std::map<std::string, std::vector<row>> all = [] {
    std::map<std::string, std::vector<row>> kinds;
    std::ifstream in(TOKAMAX_ROOT "/tests/golden/dtypes.txt");
    for (std::string line; std::getline(in, line);) {
      if (line[0] == '#') continue;
      row r{line.substr(0, 60), {}, {}};
      std::istringstream words(line);
      std::vector<std::string>* to = &r.head;
      for (std::string word; words >> word;) {
        if (word == ":")
          to = &r.parts.emplace_back();
        else
          to->push_back(word);
      }
      kinds[r.head[0]].push_back(r);
    }
    return kinds;
  }();
  return all[kind];
}

/// Elements as the file spells them.
array parsed(dtype type, const std::vector<std::string>& words, std::size_t first = 0) {
  array a = array::uninitialized({type, false, {static_cast<std::int64_t>(words.size() - first)}});
  dispatch(type, [&]<dtype T>() {
    auto* to = a.mutable_data<element_t<T>>();
    for (std::size_t i = first; i < words.size(); ++i)
      *to++ = element_bits{std::stoull(words[i], nullptr, 16)}.as<element_t<T>>();
  });
  return a;
}
/// How many numbers of the dtype lie between the elements; NaN beside NaN counts as none.
double apart(const array& a, const array& b) {
  double most = 0;
  dispatch(a.dtype(), [&]<dtype T>() {
    using E = element_t<T>;
    for (std::int64_t i = 0; i < a.size(); ++i) {
      const E x = a.data<E>()[i], y = b.data<E>()[i];
      const auto order = [](E v) {
        const element_bits bits = element_bits::of(v);
        const auto n = static_cast<double>(bits.value & (~std::uint64_t{0} >> (65 - bits_of(T))));
        return is_floating(T) && (bits.value >> (bits_of(T) - 1) & 1) ? -n - 0.5 : n;
      };
      if (x != x && y != y) continue;
      if (!(element_bits::of(x) == element_bits::of(y)))
        most = std::max(most, !is_floating(T) || x != x || y != y ? 1e9 : std::abs(order(x) - order(y)));
    }
  });
  return most;
}
void check(const array& found, const array& expected, double tolerance = 0) {
  REQUIRE(name(found.dtype()) == name(expected.dtype()));
  REQUIRE(found.shape() == expected.shape());
  if (apart(found, expected) > tolerance) {
    INFO("found\n" + to_string(found) + "\nexpected\n" + to_string(expected));
    CHECK(apart(found, expected) <= tolerance);
  }
}

const std::map<std::string, array (*)(const array&)>& unary() {
  static const std::map<std::string, array (*)(const array&)> table{
      {"neg", [](const array& x) { return -x; }},
      {"abs", [](const array& x) { return abs(x); }},
      {"sign", [](const array& x) { return sign(x); }},
      {"not", [](const array& x) { return bitwise_not(x); }},
      {"population_count", [](const array& x) { return population_count(x); }},
      {"clz", [](const array& x) { return clz(x); }},
      {"floor", [](const array& x) { return floor(x); }},
      {"ceil", [](const array& x) { return ceil(x); }},
      {"round", [](const array& x) { return round(x); }},
      {"exp", [](const array& x) { return exp(x); }},
      {"log", [](const array& x) { return log(x); }},
      {"log1p", [](const array& x) { return log1p(x); }},
      {"tanh", [](const array& x) { return tanh(x); }},
      {"sin", [](const array& x) { return sin(x); }},
      {"sqrt", [](const array& x) { return sqrt(x); }},
      {"sum", [](const array& x) { return sum(x); }},
      {"max", [](const array& x) { return max(x); }},
      {"min", [](const array& x) { return min(x); }},
      {"mean", [](const array& x) { return mean(x); }},
      {"sort", [](const array& x) { return sort(x); }},
      {"cumsum", [](const array& x) { return cumsum(abs(x)); }},
      {"argmax", [](const array& x) { return argmax(x); }},
      {"argsort", [](const array& x) { return argsort(x); }}};
  return table;
}
using binary_function = array (*)(const array&, const array&);
const std::map<std::string, binary_function>& binary() {
  static const std::map<std::string, binary_function> table{
      {"add", [](const array& a, const array& b) { return a + b; }},
      {"sub", [](const array& a, const array& b) { return a - b; }},
      {"mul", [](const array& a, const array& b) { return a * b; }},
      {"div", [](const array& a, const array& b) { return a / b; }},
      {"max", [](const array& a, const array& b) { return maximum(a, b); }},
      {"min", [](const array& a, const array& b) { return minimum(a, b); }},
      {"lt", [](const array& a, const array& b) { return a < b; }},
      {"ge", [](const array& a, const array& b) { return a >= b; }},
      {"eq", [](const array& a, const array& b) { return a == b; }},
      {"quotient", [](const array& a, const array& b) { return quotient(a, b); }},
      {"rem", [](const array& a, const array& b) { return rem(a, b); }},
      {"and", [](const array& a, const array& b) { return bitwise_and(a, b); }},
      {"xor", [](const array& a, const array& b) { return bitwise_xor(a, b); }},
      {"shift_left", [](const array& a, const array& b) { return shift_left(a, b); }},
      {"shift_right_logical", [](const array& a, const array& b) { return shift_right_logical(a, b); }},
      {"shift_right_arithmetic", [](const array& a, const array& b) { return shift_right_arithmetic(a, b); }}};
  return table;
}

/// The elements as literals, which a trace folds.
std::vector<array> literals_of(const array& a) {
  std::vector<array> all;
  dispatch(a.dtype(), [&]<dtype T>() {
    for (const auto v : a.values<element_t<T>>()) all.push_back(array(element_bits::of(v), {T, false, {}}));
  });
  return all;
}

}  // namespace

TEST_CASE("promotion of all pairs") {
  REQUIRE(rows("promote").size() >= 17 * 17);
  const auto operand = [](const std::string& s) {
    return s == "i*" ? promoted{i32, true} : s == "f*" ? promoted{f32, true} : promoted{dtype_named(s), false};
  };
  for (const row& r : rows("promote")) {
    INFO(r.line);
    const promoted result = promote(operand(r[1]), operand(r[2]));
    CHECK(name(result.type) == (r.parts[0][0] == "-" ? "none" : r.parts[0][0]));
    CHECK(result.weak == (r.parts[0][1] == "1"));
  }
}

TEST_CASE("conversions between all pairs, of data and of literals") {
  REQUIRE(rows("cast").size() >= 15 * 15);
  for (const row& r : rows("cast")) {
    INFO(r.line);
    const dtype to = dtype_named(r[2]);
    const array x = parsed(dtype_named(r[1]), r.parts[0]), y = parsed(to, r.parts[1]);
    check(astype(x, to), y);
    const std::vector<array> known = literals_of(x);
    for (std::size_t i = 0; i < known.size(); ++i) {
      array one = astype(known[i], to);
      one.materialize();
      check(reshape(one, {1}), parsed(to, {r.parts[1][i]}));
    }
  }
}

TEST_CASE("arithmetic on edge values, also of constants in a trace") {
  REQUIRE(rows("apply").size() > 100);
  for (const row& r : rows("apply")) {
    INFO(r.line);
    const dtype type = dtype_named(r[2]);
    const double tolerance = std::stod(r[3]);
    const std::vector<std::string>& result = r.parts.back();
    const array y = parsed(dtype_named(result[0]), result, 1), x = parsed(type, r.parts[0]);
    if (r.parts.size() == 2) {
      check(unary().at(r[1])(x), y, tolerance);
      continue;
    }
    const array z = parsed(type, r.parts[1]);
    const binary_function f = binary().at(r[1]);
    check(reshape(f(x, expand_dims(z, 1)), {y.size()}), y, tolerance);
    if (is_floating(type)) continue;
    const std::vector<array> a = literals_of(x), b = literals_of(z);
    const auto folded = jit(
        [&](const array&) {
          std::vector<array> all;
          for (const array& second : b)
            for (const array& first : a) all.push_back(f(first, second));
          return all;
        },
        cpu, at_run_time)(array(1.0f));
    for (std::size_t i = 0; i < folded.size(); ++i) check(reshape(folded[i], {1}), parsed(y.dtype(), {result[i + 1]}));
  }
}

TEST_CASE("reductions, sorting and running sums") {
  REQUIRE(rows("reduce").size() > 80);
  for (const row& r : rows("reduce")) {
    INFO(r.line);
    const array x = parsed(dtype_named(r[2]), r.parts[0]);
    const array found = unary().at(r[1])(x);
    check(reshape(found, {found.size()}), parsed(dtype_named(r.parts[1][0]), r.parts[1], 1), std::stod(r[3]));
  }
}

TEST_CASE("products of integers") {
  REQUIRE(rows("dot").size() == 10);
  for (const row& r : rows("dot")) {
    INFO(r.line);
    const dtype t = dtype_named(r[1]), result = dtype_named(r[2]);
    const array a = reshape(parsed(t, r.parts[0]), {5, 67}), b = reshape(parsed(t, r.parts[1]), {67, 3});
    const dot_dimensions d{{1}, {0}, {}, {}, result};
    const array c = reshape(parsed(result, r.parts[2]), {5, 3});
    check(dot_general(a, b, d), c);
    check(dot_general(transpose(a), b, {{0}, {0}, {}, {}, result}), c);
  }
}

TEST_CASE("moves, gathers, products and printing of every dtype") {
  for (int k = 1; k < dtype_count; ++k) {
    const auto t = static_cast<dtype>(k);
    INFO(name(t));
    const array x = reshape(astype(arange(12), t), {3, 4});
    check(transpose(transpose(x)), x);
    check(concatenate({x, x}, 0)[{range{3, 6}}], x);
    check(reverse(reverse(x, {1}), {1}), x);
    check(where(x == x, x, zeros_like(x)), x);
    for (const dtype index : {i32, i64}) {
      const array at = astype(array{2, 0}, index);
      check(take(x, at), reshape(concatenate({x[2], x[0]}, 0), {2, 4}));
      check(dynamic_slice(x, {at[0], at[1]}, {1, 4}), x[{range{2, 3}}]);
      if (t != bool_) check(scatter_add(at, x[{range{0, 2}}], 3)[2], x[0]);
    }
    if (t == bool_) continue;
    const array small = reshape(array{0, 1, 2, 1, 2, 3}, {2, 3}), left = astype(small, t);
    const dtype wide = is_integer(t) ? i32 : f32;
    const array expected = astype(matmul(astype(small, wide), astype(x, wide)), t);
    check(matmul(left, x), expected);
    CHECK(to_string(astype(array{1, 2}, t)) == (is_floating(t) ? "[1. 2.]" : "[1 2]"));
  }
}

TEST_CASE("constants of 64 bits are exact, also while compiling") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::uint64_t all = ~std::uint64_t{0};
  constexpr auto f = [](const tensor<i64, 2>& x, const tensor<f64, 2>& y) {
    const array a(most - 1, {i64, false, {}}), b(all, {u64, false, {}}), three(3, {u64, false, {}});
    return std::array<array, 5>{x + a, astype(b * three, i64) + x, lift(*x.trace(), b > three), y * 0.1,
                                astype(astype(x, u64) + b, f64)};
  };
  const tensor<i64, 2> x = array::from<std::int64_t>({1, -5});
  const tensor<f64, 2> y = array::from<double>({1, 3});
  for (const auto& results : {jit(f, cpu, while_compiling)(x, y), jit(f, cpu, at_run_time)(x, y)}) {
    CHECK(results[0].values<std::int64_t>()[0] == most);
    CHECK(results[0].values<std::int64_t>()[1] == most - 6);
    CHECK(results[1].values<std::int64_t>()[1] == -8);
    CHECK(results[2].item() == 1);
    CHECK(results[3].values<double>()[1] == 3 * 0.1);
    CHECK(results[4].values<double>()[0] == 0);
  }
}

TEST_CASE("ops of rows and products take every narrow float: their results are those in f32, rounded") {
  const array x = sin(reshape(arange(32), {1, 2, 4, 4}) * 0.7f), q = transpose(x, {0, 2, 1, 3});
  for (const dtype t : {f16, f8e5m2, bf16}) {
    INFO(name(t));
    const array given = astype(x, t), rounded = astype(given, f32), queries = astype(q, t);
    const auto same = [&](const array& found, const array& in_f32) { check(found, astype(in_f32, t)); };
    same(softmax(given), softmax(rounded));
    same(rms_norm(given, ones({4}, t)), rms_norm(rounded, ones({4})));
    same(rotary_embedding(given, arange(2)), rotary_embedding(rounded, arange(2)));
    if (t != bf16)
      same(dot_product_attention(queries, queries, queries),
           dot_product_attention(astype(queries, f32), astype(queries, f32), astype(queries, f32)));
    same(max_pool(given, {2, 2}), max_pool(rounded, {2, 2}));
  }
}

TEST_CASE("a dynamic extent is no number of any dtype, and -inf is one of all floats") {
  constexpr std::int64_t rows = dyn();
  constexpr auto refused = [](auto number, dtype t) {
    graph g;
    g.dynamic = true;
    lift(g, convert_element_type(array(number), t));
    return g.error.failed;
  };
  static_assert(refused(rows, f16) && refused(rows, f8e5m2) && refused(rows, f8e4m3fn) && refused(rows, f32));
  constexpr auto number = static_cast<double>(rows);
  static_assert(refused(number, f16) && refused(1 / number, f16) && refused(1 / number, f8e5m2) &&
                refused(number, bf16));
  static_assert([] {
    graph g;
    g.dynamic = true;
    for (const dtype t : {f16, f8e5m2, bf16, f32, f64})
      lift(g, array(-std::numeric_limits<double>::infinity(), {t, false, {}}));
    for (const dtype t : {f16, f8e5m2, bf16}) lift(g, array(std::numeric_limits<double>::quiet_NaN(), {t, false, {}}));
    return !g.error.failed;
  }());
}

TEST_CASE("derivatives of f64 have its digits") {
  const array x = array::from<double>({0.1, 0.7, -2.0});
  const auto f = [](const array& v) { return sum(sin(v) * 0.3 + erf(v)); };
  const array found = grad(f)(x), at_run = jit(grad(f), cpu, at_run_time)(x);
  for (int i = 0; i < 3; ++i) {
    const double v = x.values<double>()[i], exact = std::cos(v) * 0.3 + std::exp(-v * v) * 1.1283791670955126;
    CHECK(std::abs(found.values<double>()[i] - exact) < 1e-15);
    CHECK(at_run.values<double>()[i] == found.values<double>()[i]);
  }
}
