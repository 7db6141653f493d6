// tests/train/hostile_arguments.cpp: every public function with arguments that make no sense. A call throws an error that
// names what it found and what it expected, or gives what JAX gives; each table says which.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data.hpp>
#include <tokamax/ops/ragged_dot.hpp>
#include <tokamax/ops/ragged_gather.hpp>
#include <tokamax/optim/wrappers/multi_steps.hpp>
#include <tokamax/tokamax.hpp>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/memory_limit.hpp"

namespace tk = tokamax;
using tk::array;
using tk::shape;

// As without sanitizers.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1:max_allocation_size_mb=65536"; }
#elif defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1:max_allocation_size_mb=65536"; }
#endif

namespace {

constexpr std::int64_t large = std::int64_t{1} << 40, most = std::numeric_limits<std::int64_t>::max(),
                       least = std::numeric_limits<std::int64_t>::min();
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

/// A type, or nothing: the call must be refused.
using documented = std::optional<tk::array_type>;
documented of(tk::dtype type, const shape& s) { return tk::array_type{type, false, s}; }

std::string described(const tk::array_type& t) { return std::string(tk::message(t).view()); }
std::string described(const shape& s) { return std::string((tk::message() << s).view()); }

struct tally {
  int calls = 0;
  std::vector<std::string> wrong;
  tk::test::memory_limit limit{std::size_t{16} << 30};  ///< some machines promise terabytes, and end who uses them

  /// `call` gives `expected`, or is refused by name if nothing is expected.
  template <class Call>
  void attempt(const std::string& what, const documented& expected, const Call& call) {
    run(what, expected ? 1 : -1, [&] {
      const array y = call();
      if (expected && !(y.type() == *expected)) wrong.push_back(what + ": gives " + described(y.type()));
    });
  }
  /// `call` may do either.
  template <class Call>
  void survive(const std::string& what, const Call& call) {
    run(what, 0, call);
  }
  template <class Call>
  void refuse(const std::string& what, const Call& call) {
    run(what, -1, call);
  }

 private:
  template <class Call>
  void run(const std::string& what, int wanted, const Call& call) {
    ++calls;
    try {
      call();
      if (wanted < 0) wrong.push_back(what + ": is accepted");
    } catch (const tk::error& e) {
      if (e.kind == tk::error_kind::resource) {  // a shape that is right, and that this machine cannot hold
        if (wanted < 0) wrong.push_back(what + ": asks for memory");
      } else if (e.subject.empty() || e.found.empty() || e.expected.empty())
        wrong.push_back(what + ": says only " + e.what());
      else if (wanted > 0)
        wrong.push_back(what + ": " + e.what());
    } catch (const std::bad_alloc&) {
      if (wanted < 0) wrong.push_back(what + ": asks for memory");
    } catch (const std::exception& e) {
      wrong.push_back(what + ": throws " + e.what());
    }
  }
};

void report(const tally& t, int least_calls) {
  std::string all;
  for (const std::string& w : t.wrong) all += w + "\n";
  CHECK(all == "");
  CHECK(t.calls >= least_calls);
}

/// Numbers 0, 1, ... as data: literals take other paths.
array data(const shape& s, tk::dtype type = tk::f32) {
  array x = array::uninitialized({tk::f32, false, s});
  for (std::int64_t i = 0; i < x.size(); ++i) x.mutable_data<float>()[i] = static_cast<float>(i % 5);
  return type == tk::f32 ? x : tk::convert_element_type(x, type);
}
array ids(const shape& s) { return data(s, tk::i32); }

shape without(shape s, int axis) {
  shape r;
  for (int i = 0; i < s.rank(); ++i)
    if (i != axis) r.push_back(s[i]);
  return r;
}
shape with(shape s, int axis, std::int64_t n) {
  s[axis] = n;
  return s;
}
shape inserted(const shape& s, int axis, std::int64_t n) {
  shape r;
  for (int i = 0; i <= s.rank(); ++i) {
    if (i == axis) r.push_back(n);
    if (i < s.rank()) r.push_back(s[i]);
  }
  return r;
}

/// What a function of an axis makes of a shape and that axis, which counts from the front.
struct axis_row {
  const char* name;
  array (*call)(const array& x, int axis);
  documented (*result)(const shape& s, int axis);
  int more = 0;  ///< axes that count beside those of x
};
documented same(const shape& s, int) { return of(tk::f32, s); }
documented reduced(const shape& s, int axis) { return of(tk::f32, without(s, axis)); }
documented index_of(const shape& s, int axis) { return of(tk::i32, without(s, axis)); }
documented one_there(const shape& s, int axis) { return of(tk::f32, with(s, axis, 1)); }

const axis_row axis_rows[] = {
    {"sum", [](const array& x, int a) { return tk::sum(x, {{a}}); }, reduced},
    {"max", [](const array& x, int a) { return tk::max(x, {{a}}); }, reduced},
    {"min", [](const array& x, int a) { return tk::min(x, {{a}}); }, reduced},
    {"mean", [](const array& x, int a) { return tk::mean(x, {{a}}); }, reduced},
    {"var", [](const array& x, int a) { return tk::var(x, {{a}}); }, reduced},
    {"all", [](const array& x, int a) { return tk::all(x, {{a}}); },
     [](const shape& s, int a) { return of(tk::bool_, without(s, a)); }},
    {"any, kept", [](const array& x, int a) { return tk::any(x, {{a}, true}); },
     [](const shape& s, int a) { return of(tk::bool_, with(s, a, 1)); }},
    {"logsumexp", [](const array& x, int a) { return tk::logsumexp(x, {{a}}); }, reduced},
    {"argmax", [](const array& x, int a) { return tk::argmax(x, a); }, index_of},
    {"argmin", [](const array& x, int a) { return tk::argmin(x, a); }, index_of},
    {"cumsum", [](const array& x, int a) { return tk::cumsum(x, a); }, same},
    {"sort", [](const array& x, int a) { return tk::sort(x, a); }, same},
    {"argsort", [](const array& x, int a) { return tk::argsort(x, a); },
     [](const shape& s, int) { return of(tk::i32, s); }},
    {"reverse", [](const array& x, int a) { return tk::reverse(x, {a}); }, same},
    {"softmax", [](const array& x, int a) { return tk::softmax(x, a); }, same},
    {"log_softmax", [](const array& x, int a) { return tk::log_softmax(x, a); }, same},
    {"expand_dims", [](const array& x, int a) { return tk::expand_dims(x, a); },
     [](const shape& s, int a) { return s.rank() == 16 ? documented() : of(tk::f32, inserted(s, a, 1)); }, 1},
    {"squeeze", [](const array& x, int a) { return tk::squeeze(x, a); },
     [](const shape& s, int a) { return s[a] == 1 ? of(tk::f32, without(s, a)) : documented(); }},
    {"concatenate", [](const array& x, int a) { return tk::concatenate({x, x}, a); },
     [](const shape& s, int a) { return of(tk::f32, with(s, a, 2 * s[a])); }},
    {"stack", [](const array& x, int a) { return tk::stack({x, x}, a); },
     [](const shape& s, int a) { return s.rank() == 16 ? documented() : of(tk::f32, inserted(s, a, 2)); }, 1},
    {"split", [](const array& x, int a) { return tk::split(x, 1, a)[0]; }, same},
    {"split by sizes", [](const array& x, int a) { return tk::split(x, tk::words{1, 0}, a)[1]; },
     [](const shape& s, int a) { return s[a] == 1 ? of(tk::f32, with(s, a, 0)) : documented(); }},
    {"slice_in_dim", [](const array& x, int a) { return tk::slice_in_dim(x, 0, 1, a); }, one_there},
    {"dynamic_slice_in_dim", [](const array& x, int a) { return tk::dynamic_slice_in_dim(x, 0, 1, a); }, one_there},
    {"dynamic_update_slice_in_dim", [](const array& x, int a) { return tk::dynamic_update_slice_in_dim(x, x, 0, a); },
     same},
    {"dynamic_index_in_dim", [](const array& x, int a) { return tk::dynamic_index_in_dim(x, 0, a, false); }, reduced},
    {"take", [](const array& x, int a) { return tk::take(x, ids({2, 2}), a); },
     [](const shape& s, int a) { return s.rank() == 16 ? documented() : of(tk::f32, inserted(with(s, a, 2), a, 2)); }},
    {"take one", [](const array& x, int a) { return tk::take(x, 0, a); }, reduced},
    {"take_along_axis", [](const array& x, int a) { return tk::take_along_axis(x, tk::astype(x, tk::i32), a); }, same},
    {"swapaxes", [](const array& x, int a) { return tk::swapaxes(x, a, 0); },
     [](const shape& s, int a) {
       shape r = s;
       r[a] = s[0], r[0] = s[a];
       return of(tk::f32, r);
     }},
    {"swapaxes, second", [](const array& x, int a) { return tk::swapaxes(x, -1, a); },
     [](const shape& s, int a) {
       shape r = s;
       r[a] = s[-1], r[-1] = s[a];
       return of(tk::f32, r);
     }},
    {"permutation", [](const array& x, int a) { return tk::random::permutation(tk::random::key(1), x, a); }, same},
    {"categorical", [](const array& x, int a) { return tk::random::categorical(tk::random::key(1), x, a); }, index_of},
    {"vmap in_axes", [](const array& x, int a) { return tk::vmap([](const array& v) { return v * 2; }, {{a}})(x); },
     [](const shape& s, int a) { return of(tk::f32, inserted(without(s, a), 0, s[a])); }},
    {"vmap out_axes",
     [](const array& x, int a) { return tk::vmap([](const array& v) { return v * 2; }, {.out_axes = {a}})(x); },
     [](const shape& s, int a) { return of(tk::f32, inserted(without(s, 0), a, s[0])); }},
};

TEST_CASE("functions of an axis take those that there are") {
  tally t;
  std::vector<int> axes = {1 << 30, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
  for (int a = -18; a <= 18; ++a) axes.push_back(a);
  std::vector<shape> shapes = {{}, {2}, {2, 1, 3}};
  shapes.push_back({1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3});
  for (const axis_row& row : axis_rows)
    for (const shape& s : shapes) {
      const array x = data(s);
      const int rank = s.rank() + row.more;
      for (const int a : axes) {
        const bool inside = a >= -rank && a < rank && (s.rank() > 0 || row.more > 0);
        t.attempt(std::string(row.name) + " of " + described(s) + " on axis " + std::to_string(a),
                  inside ? row.result(s, a < 0 ? a + rank : a) : documented(), [&] { return row.call(x, a); });
      }
    }
  report(t, 4000);
}

/// Functions that make an array of a shape.
struct shape_row {
  const char* name;
  tk::dtype type;
  array (*call)(const shape& s);
};
tk::random::key seed() { return tk::random::key(7); }
const shape_row shape_rows[] = {
    {"zeros", tk::f32, [](const shape& s) { return tk::zeros(s); }},
    {"ones", tk::i8, [](const shape& s) { return tk::ones(s, tk::i8); }},
    {"full", tk::bf16, [](const shape& s) { return tk::full(s, nan, tk::bf16); }},
    {"uninitialized", tk::f32, [](const shape& s) { return array::uninitialized({tk::f32, false, s}); }},
    {"filled", tk::u32, [](const shape& s) { return array::filled({tk::u32, false, s}, 1); }},
    {"broadcast_to", tk::f32, [](const shape& s) { return tk::broadcast_to(1.5f, s); }},
    {"broadcast_to of data", tk::f32, [](const shape& s) { return tk::broadcast_to(data({}), s); }},
    {"broadcast_in_dim", tk::f32, [](const shape& s) { return tk::broadcast_in_dim(data({}), s, {}); }},
    {"bits", tk::u32, [](const shape& s) { return tk::random::bits(seed(), s); }},
    {"uniform", tk::f32, [](const shape& s) { return tk::random::uniform(seed(), s); }},
    {"normal", tk::bf16, [](const shape& s) { return tk::random::normal(seed(), s, tk::bf16); }},
    {"truncated_normal", tk::f32, [](const shape& s) { return tk::random::truncated_normal(seed(), -2, 2, s); }},
    {"bernoulli", tk::bool_, [](const shape& s) { return tk::random::bernoulli(seed(), 0.5, s); }},
    {"gumbel", tk::f32, [](const shape& s) { return tk::random::gumbel(seed(), s); }},
    {"exponential", tk::f32, [](const shape& s) { return tk::random::exponential(seed(), s); }},
    {"randint", tk::i32, [](const shape& s) { return tk::random::randint(seed(), s, 0, 9); }},
    {"initializers::zeros", tk::f32, [](const shape& s) { return tk::nn::initializers::zeros(seed(), s); }},
    {"initializers::ones", tk::f32, [](const shape& s) { return tk::nn::initializers::ones(seed(), s); }},
    {"initializers::constant", tk::f32, [](const shape& s) { return tk::nn::initializers::constant<2.0>(seed(), s); }},
    {"initializers::normal", tk::f32, [](const shape& s) { return tk::nn::initializers::normal<0.1>(seed(), s); }},
    {"initializers::truncated_normal", tk::f32,
     [](const shape& s) { return tk::nn::initializers::truncated_normal<0.1>(seed(), s); }},
    {"initializers::uniform", tk::f32, [](const shape& s) { return tk::nn::initializers::uniform<0.1>(seed(), s); }},
    {"parameter", tk::f32, [](const shape& s) { return tk::nn::parameter(s); }},
};
const shape hostile_shapes[] = {{},
                                {0},
                                {3},
                                {2, 0, 3},
                                {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2},
                                {-1},
                                {-3},
                                {-8},
                                {-9},
                                {-17, 2},
                                {2, -2},
                                {-2, -3},
                                {0, -1},
                                {least},
                                {least, 2},
                                {least / 2},
                                {-large, -large},
                                {large},
                                {large, large},
                                {0, large, large},
                                {most},
                                {most, 2},
                                {most / 2, 3, 0}};

TEST_CASE("functions of a shape take those that an array can have") {
  tally t;
  for (const shape_row& row : shape_rows) {
    const std::string name = row.name;
    for (const shape& s : hostile_shapes) {
      bool fits = true;
      long double bytes = tk::size_of(row.type);
      for (const std::int64_t e : s) {
        fits = fits && e >= 0;
        if (e > 0) bytes *= static_cast<long double>(e);
      }
      if (name == "parameter" && fits) bytes = 0;  // a type alone: no sizes
      const bool too_large = bytes > 9.2e18L;
      t.attempt(name + " " + described(s), fits && !too_large ? of(row.type, s) : documented(),
                [&] { return row.call(s); });
    }
    t.refuse(name + " of rank 17", [&] { row.call({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}); });
  }
  const array x = data({2, 3});
  for (const shape& s : hostile_shapes) {
    if (!(s == shape{-1})) t.refuse("reshape to " + described(s), [&] { tk::reshape(x, s); });
    t.refuse("from " + described(s), [&] { array::from<float>({1, 2, 3, 4, 5}, s); });
    t.refuse("dynamic_slice " + described(s), [&] { tk::dynamic_slice(x, {0, 0}, s); });
    t.refuse("slice from " + described(s), [&] { tk::slice(x, s, {2, -1}); });
    t.refuse("slice to " + described(s), [&] { tk::slice(x, {0, 4}, s); });
    t.refuse("slice by " + described(s), [&] { tk::slice(x, {0, 0}, {2, 4}, s); });
    t.refuse("pad by " + described(s), [&] { tk::pad(x, 0, s, {0, 0, 0}); });
    t.survive("pad " + described(s), [&] { tk::pad(x, 0, {0, 0}, s); });
    t.survive("pad inside " + described(s), [&] { tk::pad(x, 0, {0, 0}, {0, 0}, s); });
    t.refuse("transpose " + described(s), [&] { tk::transpose(x, s); });
    t.refuse("sum over " + described(s) + ", -5", [&] { tk::sum(x, {{s.rank() ? s[0] : 9, -5}}); });
    t.survive("keys " + described(s), [&] { tk::random::split(seed(), s); });
    t.survive("iota " + described(s), [&] { tk::iota(tk::i32, s.rank() ? s : shape{-1}, 0); });
    t.survive("draws " + described(s), [&] { tk::random::categorical(seed(), x, -1, s); });
    for (const shape& two : {shape{1, 1}, shape{2, 3}, shape{0, 0}}) {
      t.survive("max_pool " + described(s), [&] { tk::max_pool(data({1, 4, 4, 1}), s, {.strides = two}); });
      t.survive("max_pool strides " + described(s), [&] { tk::max_pool(data({1, 4, 4, 1}), two, {.strides = s}); });
      t.survive("avg_pool, same, " + described(s),
                [&] { tk::avg_pool(data({1, 4, 4, 1}), s, {.strides = two, .padding = tk::padding::same}); });
      t.survive("conv2d strides " + described(s),
                [&] { tk::conv2d(data({1, 4, 4, 1}), data({2, 2, 1, 1}), {.strides = s, .dilation = two}); });
      t.survive("conv2d dilation " + described(s), [&] {
        tk::conv2d(data({1, 4, 4, 1}), data({2, 2, 1, 1}),
                   {.strides = two, .padding = tk::padding::valid, .dilation = s});
      });
      const shape one{1, 1}, zero{0, 0};
      auto conv = [&](const shape& strides, const shape& low, const shape& high, const shape& lhs, const shape& rhs) {
        tk::conv_general_dilated(data({1, 4, 4, 1}), data({2, 2, 1, 1}), {strides, low, high, lhs, rhs});
      };
      t.survive("conv strides " + described(s), [&] { conv(s, zero, zero, one, two); });
      t.survive("conv low " + described(s), [&] { conv(two, s, zero, one, one); });
      t.survive("conv high " + described(s), [&] { conv(one, zero, s, one, two); });
      t.survive("conv lhs dilation " + described(s), [&] { conv(one, zero, two, s, one); });
      t.survive("conv rhs dilation " + described(s), [&] { conv(two, zero, zero, one, s); });
    }
  }
  report(t, 1400);
}

/// Functions of a number: which numbers they take, and what they give.
struct count_row {
  const char* name;
  array (*call)(std::int64_t n);
  documented (*result)(std::int64_t n);
};
documented never(std::int64_t) { return {}; }
const auto five = [] { return data({5, 2}); };
array image() { return data({1, 4, 4, 2}); }
array kernel() { return data({2, 2, 2, 2}); }
using carry = std::pair<array, array>;
carry count_up(const array& c, const tk::nothing&) { return {c + 1.0f, c}; }
const count_row count_rows[] = {
    {"arange", [](std::int64_t n) { return tk::arange(n); },
     [](std::int64_t n) { return n > 100 || n < -2 * large ? documented() : of(tk::i32, {n < 0 ? 0 : n}); }},
    {"eye", [](std::int64_t n) { return tk::eye(n); },
     [](std::int64_t n) { return n < 0 || n > 100 ? documented() : of(tk::f32, {n, n}); }},
    {"one_hot", [](std::int64_t n) { return tk::one_hot(ids({3}), n); },
     [](std::int64_t n) { return n < 0 || n > 100 ? documented() : of(tk::f32, {3, n}); }},
    {"random permutation", [](std::int64_t n) { return tk::random::permutation(seed(), n); },
     [](std::int64_t n) { return n > 100 || n < -2 * large ? documented() : of(tk::i32, {n < 0 ? 0 : n}); }},
    {"top_k", [](std::int64_t n) { return tk::top_k(five(), n).values; },
     [](std::int64_t n) { return n < 0 || n > 2 ? documented() : of(tk::f32, {5, n}); }},
    {"scatter_add rows", [](std::int64_t n) { return tk::scatter_add(ids({5}), five(), n); },
     [](std::int64_t n) { return n < 0 || n >= 1LL << 31 ? documented() : of(tk::f32, {n, 2}); }},
    {"split parts",
     [](std::int64_t n) {
       return tk::split(five(), static_cast<int>(n > 99 ? 99 : n < -9 ? -9 : n), 0)[0];
     },
     [](std::int64_t n) { return n == 1 || n == 5 ? of(tk::f32, {5 / n, 2}) : documented(); }},
    {"split size", [](std::int64_t n) { return tk::split(five(), tk::words{n}, 0)[0]; },
     [](std::int64_t n) { return n == 5 ? of(tk::f32, {5, 2}) : documented(); }},
    {"split sizes", [](std::int64_t n) { return tk::split(five(), tk::words{n, n}, 0)[0]; }, never},
    {"slice_in_dim limit", [](std::int64_t n) { return tk::slice_in_dim(five(), 0, n, 0); },
     [](std::int64_t n) { return n < 0 || n > 5 ? documented() : of(tk::f32, {n, 2}); }},
    {"slice_in_dim start", [](std::int64_t n) { return tk::slice_in_dim(five(), n, 5, 0); },
     [](std::int64_t n) { return n < 0 || n > 5 ? documented() : of(tk::f32, {5 - n, 2}); }},
    {"slice stride", [](std::int64_t n) { return tk::slice(five(), {0, 0}, {5, 2}, {n, 1}); },
     [](std::int64_t n) { return n < 1 ? documented() : of(tk::f32, {4 / n + 1, 2}); }},
    {"dynamic_slice_in_dim", [](std::int64_t n) { return tk::dynamic_slice_in_dim(five(), 0, n, 0); },
     [](std::int64_t n) { return n < 0 || n > 5 ? documented() : of(tk::f32, {n, 2}); }},
    {"pad low", [](std::int64_t n) { return tk::pad(five(), 0, {n, 0}, {0, 0}); },
     [](std::int64_t n) { return n < -5 || n > large ? documented() : of(tk::f32, {5 + n, 2}); }},
    {"pad interior", [](std::int64_t n) { return tk::pad(five(), 0, {0, 0}, {0, 0}, {n, 0}); },
     [](std::int64_t n) { return n < 0 || n > large ? documented() : of(tk::f32, {5 + 4 * n, 2}); }},
    {"conv2d groups",
     [](std::int64_t n) {
       return tk::conv2d(image(), kernel(), {.groups = static_cast<int>(n > 99 ? 99 : n < -9 ? -9 : n)});
     },
     [](std::int64_t n) { return n == 1 ? of(tk::f32, {1, 4, 4, 2}) : documented(); }},
    {"max_pool window", [](std::int64_t n) { return tk::max_pool(image(), {n, 1}); },
     [](std::int64_t n) { return n < 1 || n > 4 ? documented() : of(tk::f32, {1, 4 / n, 4, 2}); }},
    {"max_pool stride", [](std::int64_t n) { return tk::max_pool(image(), {2, 2}, {.strides = {n, 1}}); },
     [](std::int64_t n) { return n < 1 || n > 100 ? documented() : of(tk::f32, {1, 2 / n + 1, 3, 2}); }},
    {"sum_pool window", [](std::int64_t n) { return tk::sum_pool(image(), {n, 1}); },
     [](std::int64_t n) { return n < 1 || n > 4 ? documented() : of(tk::f32, {1, 4 / n, 4, 2}); }},
    {"avg_pool stride", [](std::int64_t n) { return tk::avg_pool(image(), {2, 2}, {.strides = {n, 1}}); },
     [](std::int64_t n) { return n < 1 || n > 100 ? documented() : of(tk::f32, {1, 2 / n + 1, 3, 2}); }},
    {"scan length",
     [](std::int64_t n) {
       return n > 100 ? array() : tk::scan(count_up, data({}), tk::nothing{}, {.length = n}).second;
     },
     [](std::int64_t n) { return n < 0     ? documented()
                                 : n > 100 ? array().type()
                                           : of(tk::f32, {n}); }},
    {"randint high", [](std::int64_t n) { return tk::random::randint(seed(), {3}, 0, static_cast<double>(n)); },
     [](std::int64_t n) { return n > 2147483647 || n < -2147483648LL ? documented() : of(tk::i32, {3}); }},
    {"key", [](std::int64_t n) { return array(tk::random::key(n)); }, [](std::int64_t) { return of(tk::u32, {2}); }},
    {"attention heads",
     [](std::int64_t n) {
       const tk::nn::attention layer{.width = 4, .heads = static_cast<int>(n > 99 ? 99 : n < -9 ? -9 : n)};
       return tk::init(layer, seed())(data({1, 3, 4}));
     },
     [](std::int64_t n) { return n == 1 || n == 2 || n == 4 ? of(tk::f32, {1, 3, 4}) : documented(); }},
    {"attention kv_heads",
     [](std::int64_t n) {
       const tk::nn::attention layer{.width = 4,
                                     .heads = 4,
                                     .kv_heads = static_cast<int>(n > 99   ? 99
                                                                  : n < -9 ? -9
                                                                           : n)};
       return tk::init(layer, seed())(data({1, 3, 4}));
     },
     [](std::int64_t n) { return n == 1 || n == 2 || n == 4 ? of(tk::f32, {1, 3, 4}) : documented(); }},
    {"linear out",
     [](std::int64_t n) {
       return tk::init(tk::nn::linear{2, static_cast<int>(n > 99 ? 99 : n < -9 ? -9 : n)}, seed())(five());
     },
     [](std::int64_t n) { return n < 0 ? documented() : of(tk::f32, {5, n > 99 ? 99 : n}); }},
    {"embed width",
     [](std::int64_t n) {
       return tk::init(tk::nn::embed{3, static_cast<int>(n > 99 ? 99 : n < -9 ? -9 : n)}, seed())(ids({2}));
     },
     [](std::int64_t n) { return n < 0 ? documented() : of(tk::f32, {2, n > 99 ? 99 : n}); }},
    {"multi_steps",
     [](std::int64_t n) {
       const tk::optim::multi_steps steps{tk::optim::scale{1}, static_cast<int>(n > 99 ? 99 : n < -9 ? -9 : n)};
       return steps.update(five(), steps.init(five()), five()).first;
     },
     [](std::int64_t n) { return n < 1 ? documented() : of(tk::f32, {5, 2}); }},
};

TEST_CASE("functions of a count take those that mean something") {
  tally t;
  for (const count_row& row : count_rows)
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4},
                                 std::int64_t{5}, std::int64_t{-1}, std::int64_t{-3}, std::int64_t{-9},
                                 std::int64_t{-17}, -large, large, most / 2, most, least, least / 2})
      t.attempt(std::string(row.name) + " " + std::to_string(n), row.result(n), [&] { return row.call(n); });
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{-1}, large, most, least}) {
    const std::string count = " " + std::to_string(n);
    const int small = static_cast<int>(n > 99 ? 99 : n < -9 ? -9 : n);
    t.refuse("make_gpt" + count, [&] { tk::models::make_gpt({.width = 8, .heads = n == 0 ? 0 : 3 * small}); });
    t.refuse("data::permutation" + count, [&] {
      if (n > 0) throw tk::error("a", "b", "c");
      tk::data::permutation(n, 1);
    });
    t.survive("data::windows" + count, [&] { tk::data::tokens({1, 2, 3}, "t") | tk::data::windows(n, {.stride = n}); });
    t.survive("data::batch" + count,
              [&] { tk::data::tokens({1, 2, 3}, "t") | tk::data::windows(2) | tk::data::batch<array>(n); });
  }
  report(t, 440);
}

struct dtype_row {
  const char* name;
  array (*call)(const array& x);
};
const dtype_row dtype_rows[] = {
    {"exp", [](const array& x) { return tk::exp(x); }},
    {"expm1", [](const array& x) { return tk::expm1(x); }},
    {"log", [](const array& x) { return tk::log(x); }},
    {"log1p", [](const array& x) { return tk::log1p(x); }},
    {"sqrt", [](const array& x) { return tk::sqrt(x); }},
    {"rsqrt", [](const array& x) { return tk::rsqrt(x); }},
    {"tanh", [](const array& x) { return tk::tanh(x); }},
    {"logistic", [](const array& x) { return tk::logistic(x); }},
    {"sin", [](const array& x) { return tk::sin(x); }},
    {"cos", [](const array& x) { return tk::cos(x); }},
    {"erf", [](const array& x) { return tk::erf(x); }},
    {"erf_inv", [](const array& x) { return tk::erf_inv(x); }},
    {"floor", [](const array& x) { return tk::floor(x); }},
    {"ceil", [](const array& x) { return tk::ceil(x); }},
    {"round", [](const array& x) { return tk::round(x); }},
    {"abs", [](const array& x) { return tk::abs(x); }},
    {"sign", [](const array& x) { return tk::sign(x); }},
    {"square", [](const array& x) { return tk::square(x); }},
    {"negative", [](const array& x) { return -x; }},
    {"isfinite", [](const array& x) { return tk::isfinite(x); }},
    {"logical_not", [](const array& x) { return tk::logical_not(x); }},
    {"bitwise_not", [](const array& x) { return tk::bitwise_not(x); }},
    {"population_count", [](const array& x) { return tk::population_count(x); }},
    {"clz", [](const array& x) { return tk::clz(x); }},
    {"relu", [](const array& x) { return tk::relu(x); }},
    {"relu6", [](const array& x) { return tk::relu6(x); }},
    {"silu", [](const array& x) { return tk::silu(x); }},
    {"gelu", [](const array& x) { return tk::gelu(x); }},
    {"gelu exact", [](const array& x) { return tk::gelu(x, {.approximate = false}); }},
    {"softplus", [](const array& x) { return tk::softplus(x); }},
    {"log_sigmoid", [](const array& x) { return tk::log_sigmoid(x); }},
    {"leaky_relu", [](const array& x) { return tk::leaky_relu(x, nan); }},
    {"elu", [](const array& x) { return tk::elu(x, nan); }},
    {"selu", [](const array& x) { return tk::selu(x); }},
    {"clip", [](const array& x) { return tk::clip(x, nan, -inf); }},
    {"clamp", [](const array& x) { return tk::clamp(1, x, 0); }},
    {"stop_gradient", [](const array& x) { return tk::stop_gradient(x); }},
    {"cumsum", [](const array& x) { return tk::cumsum(x, 0); }},
};

TEST_CASE("elementwise functions keep the shape, whatever the dtype and the numbers") {
  tally t;
  const tk::dtype types[] = {tk::bool_, tk::i8, tk::i32, tk::u32, tk::bf16, tk::f32};
  for (const dtype_row& row : dtype_rows)
    for (const tk::dtype type : types)
      for (const shape& s :
           {shape{}, shape{0}, shape{2, 0, 3}, shape{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}}) {
        if (s.rank() == 0 && std::string(row.name) == "cumsum") continue;
        const std::string what = std::string(row.name) + " of " + described({type, false, s});
        t.survive(what, [&] {
          const array y = row.call(data(s, type));
          if (!(y.shape() == s)) t.wrong.push_back(what + ": gives " + described(y.type()));
        });
      }
  using binary = array (*)(const array&, const array&);
  const std::pair<const char*, binary> binaries[] = {
      {"add", [](const array& a, const array& b) { return a + b; }},
      {"div", [](const array& a, const array& b) { return a / b; }},
      {"power", [](const array& a, const array& b) { return tk::power(a, b); }},
      {"rem", [](const array& a, const array& b) { return tk::rem(a, b); }},
      {"quotient", [](const array& a, const array& b) { return tk::quotient(a, b); }},
      {"remainder", [](const array& a, const array& b) { return tk::remainder(a, b); }},
      {"floor_divide", [](const array& a, const array& b) { return tk::floor_divide(a, b); }},
      {"less", [](const array& a, const array& b) { return a < b; }},
      {"logical_and", [](const array& a, const array& b) { return tk::logical_and(a, b); }},
      {"bitwise_xor", [](const array& a, const array& b) { return tk::bitwise_xor(a, b); }},
      {"shift_left", [](const array& a, const array& b) { return tk::shift_left(a, b); }},
      {"logaddexp", [](const array& a, const array& b) { return tk::logaddexp(a, b); }},
      {"select", [](const array& a, const array& b) { return tk::select(a, b, b); }},
      {"matmul", [](const array& a, const array& b) { return tk::matmul(a, b); }},
      {"gather", [](const array& a, const array& b) { return tk::gather(a, b); }},
      {"take_along_axis", [](const array& a, const array& b) { return tk::take_along_axis(a, b, 0); }},
      {"scatter_add", [](const array& a, const array& b) { return tk::scatter_add(a, b, 3); }},
      {"rms_norm", [](const array& a, const array& b) { return tk::rms_norm(a, b, {.epsilon = nan}); }},
      {"softmax_vjp", [](const array& a, const array& b) { return tk::softmax_vjp(a, b); }},
      {"softmax_cross_entropy", [](const array& a, const array& b) { return tk::softmax_cross_entropy(a, b); }},
      {"rotary_embedding", [](const array& a, const array& b) { return tk::rotary_embedding(a, b, {.base = nan}); }},
      {"ragged_dot", [](const array& a, const array& b) { return tk::ragged_dot(a, b, ids({2})); }},
      {"ragged_gather", [](const array& a, const array& b) { return tk::ragged_gather(a, b, ids({1}), ids({1})); }},
      {"gated_linear_unit", [](const array& a, const array& b) { return tk::gated_linear_unit(a, b); }},
      {"layer_norm of the first axis",
       [](const array& a, const array& b) { return tk::layer_norm(a, b, b, {.axis = 0, .scale_offset = inf}); }},
      {"linear_softmax_cross_entropy_loss",
       [](const array& a, const array& b) { return tk::linear_softmax_cross_entropy_loss(a, ids({2}), b); }},
      {"dynamic_slice", [](const array& a, const array& b) { return tk::dynamic_slice(a, {b}, {1}); }},
      {"sort together", [](const array& a, const array& b) { return tk::sort(tk::arrays{a, b})[1]; }},
      {"uniform bounds",
       [](const array& a, const array& b) { return tk::random::uniform(seed(), {2}, tk::f32, a, b); }},
      {"fold_in", [](const array& a, const array& b) { return array(tk::random::fold_in(tk::random::key(a), b)); }},
      {"jvp", [](const array& a,
                 const array& b) { return tk::jvp([](const array& x) { return tk::sum(x * x); }, a, b).second; }},
      {"vjp",
       [](const array& a, const array& b) { return tk::vjp([](const array& x) { return tk::sin(x); }, a).second(b); }},
      {"grad",
       [](const array& a, const array& b) { return tk::grad([&](const array& x) { return tk::sum(x * b); })(a); }},
  };
  for (const auto& [name, call] : binaries)
    for (const tk::dtype a : types)
      for (const tk::dtype b : types)
        for (const auto& [sa, sb] :
             {std::pair{shape{2}, shape{3}}, std::pair{shape{}, shape{}}, std::pair{shape{2, 0}, shape{0}}})
          t.survive(std::string(name) + " of " + described({a, false, sa}) + ", " + described({b, false, sb}),
                    [&] { call(data(sa, a), data(sb, b)); });
  report(t, 3000);
}

TEST_CASE("what makes no sense is refused") {
  tally t;
  const array x = data({2, 3}), s = data({}), v = data({3}), i = ids({3});
  t.refuse("matmul of scalars", [&] { tk::matmul(s, s); });
  t.refuse("matmul by a scalar", [&] { tk::matmul(x, s); });
  t.refuse("matmul literals", [&] { tk::matmul(2, 3); });
  t.refuse("concatenate nothing", [&] { tk::concatenate({}); });
  t.refuse("stack nothing", [&] { tk::stack({}); });
  t.refuse("stack of two shapes", [&] { tk::stack({v, x}); });
  t.refuse("sort nothing", [&] { tk::sort(tk::arrays{}); });
  t.refuse("einsum nothing", [&] { tk::einsum("ij", tk::arrays{}); });
  t.refuse("split into nothing", [&] { tk::split(x, tk::words{}, 0); });
  t.refuse("dynamic_slice without starts", [&] { tk::dynamic_slice(x, {}, {1, 1}); });
  t.refuse("dynamic_slice with floats", [&] { tk::dynamic_slice(x, {0.5f, 1.5f}, {1, 1}); });
  t.refuse("take of a float", [&] { tk::take(x, 1.7f); });
  t.refuse("take of floats", [&] { tk::take(x, v); });
  t.refuse("gather of a scalar", [&] { tk::gather(s, i); });
  t.refuse("reverse twice", [&] { tk::reverse(x, {0, 0}); });
  t.refuse("sum twice", [&] { tk::sum(x, {{0, -2}}); });
  t.refuse("max of nothing", [&] { tk::max(data({3, 0}), {{1}}); });
  t.refuse("min of nothing", [&] { tk::min(data({0})); });
  t.refuse("argmax of nothing", [&] { tk::argmax(data({3, 0})); });
  t.refuse("argmin of nothing", [&] { tk::argmin(data({0, 3}), 0); });
  t.attempt("max of no rows", of(tk::f32, {0}), [&] { return tk::max(data({0, 3}), {{1}}); });
  t.attempt("softmax of nothing", of(tk::f32, {3, 0}), [&] { return tk::softmax(data({3, 0})); });
  t.attempt("logsumexp of nothing", of(tk::f32, {}), [&] { return tk::logsumexp(data({0})); });
  t.attempt("mean of nothing", of(tk::f32, {}), [&] { return tk::mean(data({0})); });
  t.attempt("var of nothing", of(tk::f32, {}), [&] { return tk::var(data({0})); });
  t.attempt("any of nothing", of(tk::bool_, {}), [&] { return tk::any(data({0})); });
  t.refuse("reshape with two unknown", [&] { tk::reshape(x, {-1, -1}); });
  t.refuse("reshape of nothing", [&] { tk::reshape(data({0, 3}), {0, -1}); });
  t.refuse("zeros of no dtype", [&] { tk::zeros({3}, tk::dtype::none); });
  t.refuse("iota of bool", [&] { tk::iota(tk::bool_, {3}, 0); });
  t.refuse("uniform integers", [&] { tk::random::uniform(seed(), {3}, tk::i32); });
  t.refuse("normal integers", [&] { tk::random::normal(seed(), {3}, tk::u32); });
  t.refuse("randint to nan", [&] { tk::random::randint(seed(), {3}, 0, nan); });
  t.refuse("randint to 3e9", [&] { tk::random::randint(seed(), {3}, 0, 3e9); });
  t.refuse("a key of floats", [&] { tk::random::bits(tk::random::key(v)); });
  for (const double rate : {-0.5, 1.5, nan, inf, -inf})
    t.refuse("dropout " + std::to_string(rate), [&] { tk::nn::dropout{rate}(x, seed()); });
  t.attempt("dropout 1", of(tk::f32, {2, 3}), [&] { return tk::nn::dropout{1}(x, seed()); });
  t.attempt("seed 2^40 is its low word", of(tk::bool_, {}), [&] {
    const array same = tk::all(array(tk::random::key(large)) == array(tk::random::key(0)));
    if (!same.item<bool>()) throw tk::error("key", "another", "that of the low 32 bits");
    return same;
  });
  const auto twice = [](const array& a) { return a * 2; };
  const auto both = [](const array& a, const array& b) { return a + b; };
  t.refuse("vmap of nothing mapped", [&] { tk::vmap(twice, {{tk::not_mapped}})(x); });
  t.refuse("vmap with too few axes", [&] { tk::vmap(both, {{0}})(x, x); });
  t.refuse("vmap with too many axes", [&] { tk::vmap(twice, {{0, 0}})(x); });
  t.refuse("vmap of a scalar", [&] { tk::vmap(twice)(s); });
  t.refuse("vmap of unequal batches", [&] { tk::vmap(both)(x, v); });
  t.refuse("vmap to the 17th axis", [&] {
    tk::vmap([](const array& a) { return tk::reshape(a, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}); })(v);
  });
  t.refuse("scan without a length", [&] { tk::scan(count_up, s, tk::nothing{}); });
  t.refuse("scan of a negative length beside xs",
           [&] { tk::scan([](const array& c, const array& e) { return carry{c + e, c}; }, s, v, {.length = -3}); });
  t.refuse("scan of another length",
           [&] { tk::scan([](const array& c, const array& e) { return carry{c + e, c}; }, s, v, {.length = 4}); });
  t.refuse("grad of integers", [&] { tk::grad([](const array& a) { return tk::sum(tk::astype(a, tk::f32)); })(i); });
  t.refuse("grad of a vector", [&] { tk::grad(twice)(v); });
  t.refuse("jvp along another shape", [&] { tk::jvp(twice, x, v); });
  t.refuse("vjp of another shape", [&] { tk::vjp(twice, x).second(v); });
  const array q = data({1, 2, 2, 4});
  t.refuse("attention of another rank", [&] { tk::dot_product_attention(x, x, x); });
  t.refuse("attention of no key heads", [&] { tk::dot_product_attention(q, data({1, 2, 0, 4}), data({1, 2, 0, 4})); });
  t.refuse("attention masks", [&] { tk::dot_product_attention(q, q, q, tk::ones({3, 3}, tk::bool_)); });
  t.attempt("attention scale nan", of(tk::f32, {1, 2, 2, 4}),
            [&] { return tk::dot_product_attention(q, q, q, {.scale = nan}); });
  t.refuse("attention width", [&] { tk::init(tk::nn::attention{.width = 30, .heads = 4}, seed())(data({1, 2, 30})); });
  t.refuse("layer_norm scale", [&] { tk::layer_norm(x, data({2}), v); });
  t.attempt("layer_norm nan", of(tk::f32, {2, 3}), [&] { return tk::layer_norm(x, v, v, {.epsilon = nan}); });
  t.refuse("layer_norm_vjp", [&] { tk::layer_norm_vjp(x, v, v); });
  t.refuse("layer_norm_vjp of a scalar", [&] { tk::layer_norm_vjp(s, v, v); });
  t.refuse("rms_norm_vjp", [&] { tk::rms_norm_vjp(x, data({2}), x, {}); });
  t.refuse("cross_entropy_vjp", [&] { tk::cross_entropy_vjp(x, ids({2}), v, v, v); });
  t.refuse("linear_cross_entropy_vjp", [&] { tk::linear_cross_entropy_vjp(x, data({3, 4}), ids({2}), v, v, v, {}); });
  t.refuse("attention_vjp", [&] { tk::attention_vjp({q, q, q, q, q, q, q}, {}); });
  for (const double bad : {nan, -1.0, 0.0, inf}) {
    t.attempt("clip_by_global_norm " + std::to_string(bad), of(tk::f32, {3}),
              [&] { return tk::optim::clip_by_global_norm(bad).update(v, {}, v).first; });
    const bool is_number = bad == bad;
    t.attempt("adam " + std::to_string(bad), is_number ? of(tk::f32, {3}) : documented(), [&] {
      const auto adam = tk::optim::adam({.learning_rate = bad});
      return adam.update(v, adam.init(v), v).first;
    });
  }
  for (const char* equation : {"",          "->",     ",",
                               "ij",        "ij->",   "ij->ijk",
                               "ij->ii",    "i->i",   "ii->i",
                               "ii",        "ijk->i", "ij,jk->ik",
                               "...",       "...->",  "...i->i...",
                               "....ij",    ".ij",    "i.j",
                               "ij...k",    "1j->j",  "i j -> j i",
                               "-",         ">",      "ij-",
                               "->ij",      "ij->k",  "aaaaaaaaaaaaaaaaaa",
                               "ij,",       ",ij",    "...ij->ij...",
                               "i...j->..."})
    t.survive(std::string("einsum ") + equation, [&] { tk::einsum(equation, x); });
  for (const char* equation :
       {"ij,ij->ij", "ij,jk->ik", "i,j->ij", "ij,ji", "...,...", "ij,k->ijk", "ij->ij", "ij,ij,ij->i"})
    t.survive(std::string("einsum ") + equation, [&] { tk::einsum(equation, x, x); });
  t.refuse("einsum of an uneven diagonal", [&] { tk::einsum("ii->i", x); });
  report(t, 110);
}

TEST_CASE("dot_general with any lists of axes") {
  tally t;
  std::uint32_t state = 1;
  auto draw = [&](std::uint32_t n) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
  };
  const array a = data({2, 3, 2}), b = data({3, 2, 2});
  for (int k = 0; k < 600; ++k) {
    tk::dot_dimensions d;
    for (tk::axes* list : {&d.lhs_contracting, &d.rhs_contracting, &d.lhs_batch, &d.rhs_batch})
      for (std::uint32_t n = draw(3); n > 0; --n) list->push_back(static_cast<std::int64_t>(draw(6)) - 1);
    // independently: pairs of axes that exist, each once, with one extent
    bool ok = d.lhs_contracting.rank() == d.rhs_contracting.rank() && d.lhs_batch.rank() == d.rhs_batch.rank();
    auto seen = [&](const tk::axes& one, const tk::axes& two) {
      std::map<std::int64_t, int> times;
      for (const tk::axes* list : {&one, &two})
        for (const std::int64_t axis : *list) ok = ok && axis >= 0 && axis < 3 && ++times[axis] == 1;
    };
    seen(d.lhs_contracting, d.lhs_batch);
    seen(d.rhs_contracting, d.rhs_batch);
    shape result;
    for (int i = 0; ok && i < d.lhs_contracting.rank(); ++i)
      ok = a.extent(static_cast<int>(d.lhs_contracting[i])) == b.extent(static_cast<int>(d.rhs_contracting[i]));
    for (int i = 0; ok && i < d.lhs_batch.rank(); ++i) {
      ok = a.extent(static_cast<int>(d.lhs_batch[i])) == b.extent(static_cast<int>(d.rhs_batch[i]));
      result.push_back(a.extent(static_cast<int>(d.lhs_batch[i])));
    }
    for (int i = 0; i < 3; ++i)
      if (!d.lhs_contracting.contains(i) && !d.lhs_batch.contains(i)) result.push_back(a.extent(i));
    for (int i = 0; i < 3; ++i)
      if (!d.rhs_contracting.contains(i) && !d.rhs_batch.contains(i)) result.push_back(b.extent(i));
    t.attempt("dot_general " + described(d.lhs_contracting) + described(d.rhs_contracting) + described(d.lhs_batch) +
                  described(d.rhs_batch),
              ok ? of(tk::f32, result) : documented(), [&] { return tk::dot_general(a, b, d); });
  }
  t.refuse("an outer product of rank 20",
           [&] { tk::dot_general(data({1, 1, 1, 1, 1, 1, 1, 1, 1, 1}), data({1, 1, 1, 1, 1, 1, 1, 1, 1, 1}), {}); });
  t.refuse("an outer product beyond 2^63", [&] { tk::dot_general(tk::zeros({large}), tk::zeros({large}), {}); });
  report(t, 600);
}

TEST_CASE("arrays of 16 axes hold what they held with two") {
  const array x = data({2, 3}), y = tk::reshape(x, {2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3});
  const auto equal = [](const array& a, const array& b) {
    return tk::all(tk::reshape(a, b.shape()) == b).item<bool>();
  };
  CHECK(equal(tk::transpose(y), tk::transpose(x)));
  CHECK(equal(tk::sum(y, {{0}}), tk::sum(x, {{0}})));
  CHECK(equal(y + tk::sum(y, {{-1}, true}), x + tk::sum(x, {{-1}, true})));
  CHECK(equal(tk::concatenate({y, y}, 15), tk::concatenate({x, x}, 1)));
  CHECK(equal(tk::slice_in_dim(y, 1, 3, -1), tk::slice_in_dim(x, 1, 3, -1)));
  CHECK(equal(tk::sort(tk::reverse(y, {0, 15}), 15), tk::sort(tk::reverse(x, {0, 1}), 1)));
}

}  // namespace
