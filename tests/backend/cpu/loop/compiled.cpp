// tests/backend/cpu/loop/compiled.cpp: loops compiled from expression types and loops that are interpreted give the same bits.
#include <tokamax/tokamax.hpp>

#include "support/adversarial.hpp"
#include "support/catch.hpp"

#include <cstring>

namespace tk = tokamax;
using tk::array;

namespace {

array ramp(const tk::shape& s, float from, float step) {
  array a = array::uninitialized({tk::f32, false, s});
  for (std::int64_t i = 0; i < a.size(); ++i) a.mutable_data<float>()[i] = from + step * static_cast<float>(i);
  return a;
}
bool same_bits(const array& a, const array& b) {
  return a.type() == b.type() && std::memcmp(a.storage()->data, b.storage()->data,
                                             static_cast<std::size_t>(a.size() * tk::size_of(a.dtype()))) == 0;
}
/// Both ways of running f, and with one thread.
template <class F, class... Args>
array check_both(F f, const Args&... args) {
  const array known = tk::jit(f, tk::cpu)(args...), late = tk::jit(f, tk::cpu, tk::at_run_time)(args...);
  CHECK(same_bits(known, late));
  tk::cpu_backend::set_num_threads(1);
  CHECK(same_bits(known, tk::jit(f, tk::cpu)(args...)));
  CHECK(same_bits(known, tk::jit(f, tk::cpu, tk::at_run_time)(args...)));
  tk::cpu_backend::set_num_threads(0);
  return known;
}

template <std::int64_t N>
using vector = tk::tensor<tk::f32, N>;

constexpr auto mixed = [](const auto& x) {
  const array y = tk::tanh(x * 1.5f + 0.25f) / (tk::exp(-x) + 1.0f);
  return tk::select(y > 0.3f, tk::sqrt(tk::abs(y)), tk::log1p(y * y)) - tk::astype(tk::astype(x, tk::i32), tk::f32);
};

}  // namespace

TEST_CASE("elementwise expressions, with every length of tail") {
  check_both([](const vector<1>& x) { return mixed(x); }, vector<1>(ramp({1}, -1, 1)));
  check_both([](const vector<7>& x) { return mixed(x); }, vector<7>(ramp({7}, -3, 1)));
  check_both([](const vector<16>& x) { return mixed(x); }, vector<16>(ramp({16}, -3, 0.4f)));
  check_both([](const vector<523>& x) { return mixed(x); }, vector<523>(ramp({523}, -3, 0.01f)));
  check_both([](const vector<70001>& x) { return mixed(x); }, vector<70001>(ramp({70001}, -3, 1e-4f)));
  check_both([](const vector<0>& x) { return mixed(x); }, vector<0>(ramp({0}, 0, 0)));
}

TEST_CASE("operands with strides: transposed, broadcast, sliced, counted") {
  using matrix = tk::tensor<tk::f32, 37, 29>;
  const matrix m(ramp({37, 29}, -5, 0.01f));
  const array y = check_both(
      [](const matrix& a) {
        const array row = tk::slice_in_dim(a, 3, 4, 0);  // [1, 29]
        return tk::transpose(a) * 2.0f + tk::transpose(row) - tk::astype(tk::iota(tk::i32, {29, 37}, 1), tk::f32);
      },
      m);
  for (std::int64_t i : {0, 5, 28})
    for (std::int64_t j : {0, 17, 36}) {
      const float* p = m.data<float>();
      CHECK(y.data<float>()[i * 37 + j] == p[j * 29 + i] * 2.0f + p[3 * 29 + i] - static_cast<float>(j));
    }
  check_both([](const matrix& a) { return tk::exp(tk::slice(a, {1, 2}, {30, 27}, {3, 5})); }, m);
}

TEST_CASE("a single element stands beside all blocks of a part, of which the first may be the shortest") {
  const array x = ramp({400, 100}, -1, 1e-4f), one = array::from<float>({3}, {1, 1});  // parts begin within rows
  const array y = tk::jit([](const array& a, const array& b) { return a * b + b; }, tk::cpu, tk::at_run_time)(x, one);
  const auto in = x.values<float>(), out = y.values<float>();
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < out.size(); ++i) wrong += out[i] != in[i] * 3.0f + 3.0f;
  CHECK(wrong == 0);
}

TEST_CASE("every dtype is read, converted and written") {
  const vector<100> x(ramp({100}, -50, 1.03f));
  check_both([](const vector<100>& v) { return tk::astype(v, tk::bf16) * 1.1f; }, x);
  check_both([](const vector<100>& v) { return tk::astype(tk::astype(v, tk::bf16), tk::f32) + 1; }, x);
  check_both([](const vector<100>& v) { return tk::astype(v, tk::i32) * 3 - 7; }, x);
  check_both([](const vector<100>& v) { return tk::astype(tk::abs(v), tk::u32) + 1; }, x);
  check_both([](const vector<100>& v) { return tk::astype(v, tk::i8) * 3 - 7; }, x);
  const array b = check_both([](const vector<100>& v) { return tk::logical_not(v > 0.0f); }, x);
  CHECK(b.data<bool>()[0]);
  CHECK(!b.data<bool>()[99]);
  check_both([](const vector<100>& v) { return tk::astype(v > 0.0f, tk::i32) + tk::astype(v < 1.0f, tk::i32); }, x);
}

TEST_CASE("conversion to integers truncates, saturates and takes NaN to zero") {
  const array x = array::from<float>({-1.9f, 2.9f, 3e10f, -3e10f, std::nanf(""), 4294967040.0f});
  const array i = tk::astype(x, tk::i32), u = tk::astype(x, tk::u32);
  const std::int32_t want[] = {-1, 2, 2147483647, -2147483647 - 1, 0, 2147483647};
  for (std::size_t k = 0; k < 6; ++k) CHECK(i.values<std::int32_t>()[k] == want[k]);
  CHECK(u.values<std::uint32_t>()[1] == 2u);
  CHECK(u.values<std::uint32_t>()[2] == 4294967295u);
  CHECK(u.values<std::uint32_t>()[5] == 4294967040u);
}

TEST_CASE("i8 wraps after each op of a loop") {
  const vector<100> x(ramp({100}, -50, 1));
  const array y = check_both(
      [](const vector<100>& v) {
        const array small = tk::astype(v, tk::i8);
        const array many = small * 5 + tk::iota(tk::i8, {100}, 0);
        return tk::astype(tk::select(many > small, many, -many), tk::i32) + 1000;
      },
      x);
  for (int i = 0; i < 100; ++i) {
    const auto many = static_cast<std::int8_t>(static_cast<std::int8_t>((i - 50) * 5) + i);
    CHECK(y.values<std::int32_t>()[i] == 1000 + (many > i - 50 ? many : static_cast<std::int8_t>(-many)));
  }
}

TEST_CASE("what kernels_of finds") {
  CHECK(tk::kernels_of<tk::dot_general_p>().run != nullptr);
  CHECK(tk::kernels_of<tk::dot_general_p>().takes.views);
  CHECK(tk::kernels_of<tk::exp_p>().interpreted(tk::f32) != nullptr);
  CHECK(tk::kernels_of<tk::exp_p>().interpreted(tk::i32) == nullptr);
}

namespace {

constexpr auto float_ops = [](const auto& v, const auto& w) {
  const array x = v, y = w;
  return std::array{x + y,
                    x - y,
                    x * y,
                    x / y,
                    tk::maximum(x, y),
                    tk::minimum(x, y),
                    tk::rem(x, y),
                    -x,
                    tk::abs(x),
                    tk::sqrt(x),
                    tk::floor(x),
                    tk::ceil(x),
                    tk::round(x),
                    tk::sign(x),
                    tk::relu(x),
                    tk::exp(x),
                    tk::expm1(x),
                    tk::log(x),
                    tk::log1p(x),
                    tk::rsqrt(x),
                    tk::tanh(x),
                    tk::logistic(x),
                    tk::sin(x),
                    tk::cos(x),
                    tk::erf(x),
                    tk::power(x, y),
                    tk::logaddexp(x, y),
                    tk::fma(x, y, x),
                    tk::select(x < y, x, y),
                    tk::astype(x, tk::i8),
                    tk::astype(x, tk::i32),
                    tk::astype(x, tk::u32),
                    tk::astype(x, tk::bool_),
                    tk::astype(x, tk::bf16),
                    x == y,
                    x != y,
                    x <= y,
                    tk::astype(x, tk::f32)};
};
constexpr auto integer_ops = [](const auto& v, const auto& w) {
  const array x = v, y = w;
  return std::array{x + y,
                    x - y,
                    x * y,
                    tk::quotient(x, y),
                    tk::rem(x, y),
                    tk::maximum(x, y),
                    -x,
                    tk::abs(x),
                    tk::sign(x),
                    tk::bitwise_and(x, y),
                    tk::bitwise_xor(x, y),
                    tk::bitwise_not(x),
                    tk::shift_left(x, y),
                    x < y,
                    x >= y,
                    tk::astype(x, tk::i8),
                    tk::astype(x, tk::i32),
                    tk::astype(x, tk::u32),
                    tk::astype(x, tk::bf16),
                    tk::astype(x, tk::f32),
                    tk::astype(x, tk::bool_)};
};

/// Every result of f has the same bits compiled and interpreted, for all pairs of special values.
template <tk::dtype Type, class F>
void check_specials(F f) {
  using operand = tk::tensor<Type, 443>;  // more than 21 * 21, and a tail for every width
  const std::int64_t values = tk::is_floating(Type) ? 21 : 19;
  const operand x(tk::test::specials(Type, 443)), y(tk::test::specials(Type, 443, values));
  const auto known = tk::jit(f, tk::cpu)(x, y), late = tk::jit(f, tk::cpu, tk::at_run_time)(x, y);
  for (std::size_t k = 0; k < known.size(); ++k) {
    CAPTURE(k);
    CHECK(same_bits(known[k], late[k]));
  }
}

}  // namespace

TEST_CASE("special values have the same bits in loops compiled and interpreted") {
  check_specials<tk::f32>(float_ops);
  check_specials<tk::bf16>(float_ops);
  check_specials<tk::i8>(integer_ops);
  check_specials<tk::i32>(integer_ops);
}
