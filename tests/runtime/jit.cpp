// tests/runtime/jit.cpp: eager, compiled and traced at run time are one meaning; steps allocate nothing.
#include <tokamax/runtime/jit.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__GNUC__) && !defined(__clang__)
  #pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // once inlined, new is malloc and delete is free
#endif

namespace {
std::atomic<std::size_t> news = 0;  // calls of operator new in this program
}
void* operator new(std::size_t n) {
  ++news;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  ++news;
  return std::malloc(n);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace tk = tokamax;
using tk::array;

namespace {

struct network {
  tk::nn::linear first{8, 32}, second{32, 1};
  constexpr array operator()(const array& x) const { return second(tk::tanh(first(x))); }
};
struct batch {
  tk::tensor<tk::f32, 16, 8> x;
  tk::tensor<tk::f32, 16, 1> y;
};
constexpr auto loss = [](const network& m, const batch& b) { return tk::mean(tk::square(m(b.x) - b.y)); };
constexpr auto optimizer = tk::optim::adam({.learning_rate = 1e-2});
struct state {
  network model;
  decltype(optimizer.init(network{})) opt_state = optimizer.init(network{});
};
constexpr auto step = [](state s, const batch& b) {
  auto [value, grads] = tk::value_and_grad(loss)(s.model, b);
  auto [updates, opt_state] = optimizer.update(grads, s.opt_state, s.model);
  return std::pair{state{tk::optim::apply_updates(s.model, updates), opt_state}, value};
};

batch data() {
  const auto [a, b] = tk::random::split(tk::random::key(5));
  return {tk::random::normal(a, {16, 8}), tk::random::normal(b, {16, 1})};
}
state start() {
  const network m = tk::init<network>(tk::random::key(3));
  return {m, optimizer.init(m)};
}
bool same_bits(const array& a, const array& b) {
  return a.type() == b.type() && std::memcmp(a.storage()->data, b.storage()->data,
                                             static_cast<std::size_t>(a.size() * tk::size_of(a.dtype()))) == 0;
}
bool same_bits(const state& a, const state& b) {
  bool same = true;
  tk::for_each_leaf([&](const array& x, const array& y) { same = same && same_bits(x, y); }, a, b);
  return same;
}

}  // namespace

// A type that nothing has used before: g++ 12 makes what a default value needs when it is asked in the right way only.
static_assert(
    tk::detail::known_while_compiling<decltype([](const array& a) { return a; }), tk::tensor<tk::f32, 7, 9>>());
static_assert(!tk::detail::known_while_compiling<decltype([](const array& a) { return a; }), array>());

TEST_CASE("constants are arguments: a literal is filled for the call, and stays what it is") {
  static constexpr tk::tensor<tk::f32, 3> two(array(2.0, {tk::f32, false, {3}}));
  constexpr auto twice = [](const tk::tensor<tk::f32, 3>& x) { return x + x; };
  const auto known = tk::jit(twice, tk::cpu, tk::while_compiling);
  const auto late = tk::jit(twice, tk::cpu, tk::at_run_time);
  for (int i = 0; i < 2; ++i) {
    CHECK(known(two).data<float>()[2] == 4);
    CHECK(late(two).data<float>()[2] == 4);
    CHECK(tk::vmap(twice)(array(2.0, {tk::f32, false, {5, 3}})).data<float>()[14] == 4);
    CHECK(known(tk::tensor<tk::f32, 3>(two)).data<float>()[0] == 4);
    CHECK(late(tk::tensor<tk::f32, 3>(two)).data<float>()[0] == 4);
  }
  CHECK(two.is_literal());
}

TEST_CASE("the copy of a literal becomes the result where an argument could") {
  using numbers = tk::tensor<tk::f32, 1234567>;
  const auto twice = tk::jit([](const numbers& x) { return x * 2.0f; }, tk::cpu, tk::while_compiling);
  (void)array::filled({tk::f32, false, {1}}, 0);  // leaves a small block for the arena
  const std::size_t blocks = tk::buffer_pool::instance().from_system();
  const numbers three(array(3.0, {tk::f32, false, {1234567}}));
  for (int i = 0; i < 2; ++i) CHECK(twice(three).data<float>()[1234566] == 6);
  CHECK(tk::buffer_pool::instance().from_system() == blocks + 1);  // the copy
  CHECK(three.is_literal());
}

TEST_CASE("equal literals share one copy, which no result takes over") {
  using numbers = tk::tensor<tk::f32, 1234567>;
  using more = tk::tensor<tk::f32, 1234568>;
  constexpr auto f = [](const numbers& a, const numbers& b, const more& c, const more& d) {
    return std::tuple{a + 1.0f, b + 2.0f, c + 3.0f, d + 4.0f};
  };
  const auto run = tk::jit(f, tk::cpu, tk::while_compiling);
  const auto check = [](const auto& results) {
    const auto& [a, b, c, d] = results;
    for (const std::int64_t i : {0, 1234566}) {
      CHECK(a.template data<float>()[i] == 1);
      CHECK(b.template data<float>()[i] == 2);
      CHECK(c.template data<float>()[i] == 3);
      CHECK(d.template data<float>()[i] == 9);
    }
    CHECK(c.template data<float>()[1234567] == 3);
  };
  const numbers zero(tk::zeros({1234567}));
  const more zeros(tk::zeros({1234568})), five(array(5.0, {tk::f32, false, {1234568}}));
  for (int i = 0; i < 2; ++i) {
    check(run(zero, zero, zeros, five));
    check(run(numbers(zero), numbers(zero), more(zeros), more(five)));
  }
  check(tk::jit(f, tk::cpu, tk::at_run_time)(zero, zero, zeros, five));
  CHECK(zero.is_literal());
}

TEST_CASE("compiled, traced at run time, and with one thread: the same bits") {
  const auto known = tk::jit(step, tk::cpu, tk::while_compiling);
  const auto late = tk::jit(step, tk::cpu, tk::at_run_time);
  const batch b = data();
  state s = start(), t = start(), u = start();
  for (int i = 0; i < 5; ++i) {
    auto [s1, v1] = known(std::move(s), b);
    auto [t1, v2] = late(std::move(t), b);
    tk::cpu_backend::set_num_threads(1);
    auto [u1, v3] = known(std::move(u), b);
    tk::cpu_backend::set_num_threads(0);
    s = std::move(s1), t = std::move(t1), u = std::move(u1);
    CHECK(v1.item() == v2.item());
    CHECK(v1.item() == v3.item());
  }
  CHECK(same_bits(s, t));
  CHECK(same_bits(s, u));
  CHECK(std::abs(step(start(), b).second.item() - known(start(), b).second.item()) < 1e-6f);
}

TEST_CASE("after the first steps nothing is allocated") {
  const auto run = tk::jit(step, tk::cpu);
  const batch b = data();
  state s = start();
  auto once = [&] {
    auto [next, value] = run(std::move(s), b);
    s = std::move(next);
  };
  once();
  once();
  const std::size_t before = news, blocks = tk::buffer_pool::instance().from_system();
  for (int i = 0; i < 5; ++i) once();
  CHECK(news == before);
  CHECK(tk::buffer_pool::instance().from_system() == blocks);
}

TEST_CASE("arguments that are moved in give their buffers to the results") {
  const auto run = tk::jit(step, tk::cpu);
  const batch b = data();
  state s = start();
  tk::for_each_leaf([](array& a) { a.materialize(); }, s);
  const state kept = s;  // shared, so this call must not write into it
  auto [next, value] = run(std::move(s), b);
  CHECK(!same_bits(kept.model.first.kernel, next.model.first.kernel));
  std::vector<const void*> before, after;
  tk::for_each_leaf([&](const array& a) { before.push_back(a.storage()->data); }, next);
  auto [last, again] = run(std::move(next), b);
  tk::for_each_leaf([&](const array& a) { after.push_back(a.storage()->data); }, last);
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  CHECK(before == after);
}

TEST_CASE("arguments that were moved in are empty, and results share nothing with them") {
  using numbers = tk::tensor<tk::f32, 4>;
  constexpr auto f = [](const std::pair<numbers, numbers>& p) { return p.first * 2.0f; };
  const auto check = [](const auto& run) {
    std::pair<numbers, numbers> p{array::from<float>({1, 2, 3, 4}), array::from<float>({5, 6, 7, 8})};
    const array kept = p.second;
    array y = run(p);
    CHECK(p.first.values<float>()[0] == 1);
    y = run(std::move(p));
    CHECK(y.values<float>()[3] == 8);
    CHECK_THROWS_WITH(p.first.values<float>(), contains("f32[4] (moved from)"));
    CHECK_THROWS_WITH(p.second.values<float>(), contains("f32[4] (moved from)"));
    CHECK_THROWS_WITH(run(p), contains("without data"));
    CHECK(kept.values<float>()[3] == 8);
    array z = y;
    z.mutable_data<float>()[0] = 50;
    CHECK(y.values<float>()[0] == 2);
  };
  check(tk::jit(f, tk::cpu, tk::while_compiling));
  check(tk::jit(f, tk::cpu, tk::at_run_time));
}

TEST_CASE("what a compiled function has captured stays what it was") {
  array w = array::from<float>({1, 2});
  const auto f = tk::jit([w](const array& x) { return x * w; }, tk::cpu);
  const auto g = tk::jit([&w](const array& x) { return x * w; }, tk::cpu);
  const array one = array::from<float>({1, 1});
  CHECK(f(one).values<float>()[0] == 1);
  CHECK(g(one).values<float>()[0] == 1);
  w.mutable_data<float>()[0] = 9;
  CHECK(f(one).values<float>()[0] == 1);
  CHECK(g(one).values<float>()[0] == 1);
}

TEST_CASE("an array that has left a jitted function is refused") {
  array leaked;
  const array x = array::from<float>({1, 2});
  (void)tk::jit(
      [&](const array& v) {
        leaked = v * 2;
        return leaked + 1;
      },
      tk::cpu)(x);
  CHECK_THROWS_WITH(leaked + 1, contains("array of a trace that has ended: found f32[2]"));
  const auto twice = tk::jit([](const array& v) { return v * 2; }, tk::cpu);
  CHECK_THROWS_WITH(twice(leaked), contains("array of a trace that has ended"));
  const auto known = tk::jit([](const tk::tensor<tk::f32, 2>& v) { return v * 2; }, tk::cpu, tk::while_compiling);
  CHECK_THROWS_WITH(known(tk::tensor<tk::f32, 2>(leaked)), contains("array of a trace that has ended"));
}

namespace {
constexpr auto sum_of_squares = [](const array& v) { return tk::sum(v * v); };
constexpr auto add_up = [](const array& c, const array& v) { return std::pair{c + v, c}; };
const network in_the_program = tk::init<network>(tk::random::key(3));
const array slope = tk::grad(sum_of_squares)(3.0f);
const auto sums = tk::scan(add_up, array(0.0f), tk::arange(4, tk::f32));
}  // namespace

TEST_CASE("static variables made by transformations have data") {
  static const network in_a_function = tk::init<network>(tk::random::key(3));
  static const network by_a_lambda = [] { return tk::init<network>(tk::random::key(3)); }();
  static const array here = tk::vmap(sum_of_squares)(tk::arange(4, tk::f32));
  const network expected = start().model;
  for (const network* n : {&in_the_program, &in_a_function, &by_a_lambda}) {
    CHECK(same_bits(n->first.kernel, expected.first.kernel));
    CHECK(same_bits(n->second.kernel, expected.second.kernel));
  }
  CHECK(slope.item() == 6);
  CHECK(sums.first.item() == 6);
  CHECK(sums.second.values<float>()[3] == 3);
  CHECK(here.values<float>()[3] == 9);
}

TEST_CASE("functions of constants are transformed in static functions as anywhere") {
  using numbers = tk::tensor<tk::f32, 3>;
  constexpr auto f = [](const numbers& x) {
    const auto v = tk::ones({3});
    const array a = tk::vmap([](const array& i) { return i * i; })(tk::arange(3));
    const array b = tk::vmap([&](const array& i) { return x * i; })(tk::arange(3));
    const array c = tk::grad([&](const array& p) { return tk::sum(p * p * x); })(v);
    const auto d = tk::jvp([&](const array& p) { return p * p * x; }, v, tk::full({3}, 2.0));
    const array e = tk::vjp([&](const array& p) { return p * p * x; }, v).second(tk::full({3}, 2.0));
    const array g = tk::remat([&](const array& p) { return p * x; })(v);
    const auto h = tk::scan([&](const array& s, const array& i) { return std::pair{s + x * i, s * x}; }, tk::zeros({3}),
                            tk::arange(3));
    const auto i = tk::scan(add_up, tk::zeros({}), tk::arange(3));
    // inside each other, with values of both functions around
    const array j = tk::grad([&](const array& p) {
      return tk::sum(tk::vmap([&](const array& k) { return p * p * k * x; })(tk::arange(3)));
    })(v);
    const array k = tk::vmap([&](const array& n) {
      return tk::grad([&](const array& p) { return tk::sum(p * p * x * n); })(tk::ones({3}));
    })(tk::arange(2, tk::f32));
    const array l = tk::grad([&](const array& p) {
      return tk::scan([&](const array& s, const array& w) { return std::pair{s * p + w, s}; }, tk::ones({}), x).first;
    })(1.5f);
    const array m =
        tk::scan(
            [&](const array& s, const array& w) {
              return std::pair{s + tk::grad([&](const array& p) { return tk::sum(p * w * s * x); })(2.0f), s};
            },
            tk::ones({}), x)
            .first;
    return std::tuple{a, b, c, d, e, g, h, i, std::tuple{j, k, l, m}};
  };
  const numbers x(array::from<float>({1, 2, 3}));
  const auto known = tk::leaves(tk::jit(f, tk::cpu, tk::while_compiling)(x));
  const auto late = tk::leaves(tk::jit(f, tk::cpu, tk::at_run_time)(x));
  const auto eager = tk::leaves(f(x));
  REQUIRE(known.count() == late.count());
  for (int k = 0; k < known.count(); ++k) {
    CHECK(same_bits(known[k], late[k]));
    CHECK(same_bits(known[k], eager[k]));
  }
}

TEST_CASE("samples of a constant key in a static function have the bits they have anywhere") {
  using numbers = tk::tensor<tk::f32, 4, 6>;
  constexpr auto f = [](const numbers& x) {
    const auto k = tk::random::key(1);
    return std::tuple{tk::random::categorical(k, x),
                      tk::random::categorical(k, tk::arange(5, tk::f32), -1, {3}),
                      tk::random::randint(k, {4, 6}, -3, 50),
                      tk::random::bernoulli(k, 0.3f, {7}),
                      tk::random::gumbel(k, {4, 6}) + x,
                      tk::random::gumbel(k, {5}),
                      tk::random::exponential(k, {5}),
                      tk::random::permutation(k, 10),
                      tk::random::permutation(tk::random::fold_in(k, 2), x, 1),
                      tk::random::truncated_normal(k, -2, 2, {5})};
  };
  const numbers x(tk::random::normal(tk::random::key(9), {4, 6}));
  const auto known = tk::leaves(tk::jit(f, tk::cpu, tk::while_compiling)(x));
  const auto late = tk::leaves(tk::jit(f, tk::cpu, tk::at_run_time)(x));
  const auto eager = tk::leaves(f(x));
  REQUIRE(known.count() == 10);
  for (int k = 0; k < known.count(); ++k) {
    CAPTURE(k);
    CHECK(same_bits(known[k], late[k]));
    CHECK(same_bits(known[k], eager[k]));
  }
}

namespace {
array weights = array::from<float>({1, 2, 3});
array scaled(const array& x) { return x * 2.0f; }  // not constexpr
}  // namespace

TEST_CASE("what cannot be traced while compiling is traced when it is first called") {
  using numbers = tk::tensor<tk::f32, 3>;
  const numbers x(tk::arange(3, tk::f32));
  const auto reads = tk::jit([](const numbers& v) { return v * weights; }, tk::cpu);
  CHECK(reads(x).values<float>()[2] == 6);
  const auto calls = tk::jit([](const numbers& v) { return scaled(v) + 1.0f; }, tk::cpu);
  CHECK(calls(x).values<float>()[2] == 5);
  const auto makes = tk::jit([](const numbers& v) { return v + array::from<float>({1, 2, 3}); }, tk::cpu);
  CHECK(makes(x).values<float>()[2] == 5);
  CHECK_THROWS_WITH(tk::jit([](const numbers& v) { return scaled(v) + tk::ones({4}); }, tk::cpu)(x),
                    contains("f32[4]"));
}

TEST_CASE("the memory of a program is a constant") {
  using program = decltype(tk::jit(step, tk::cpu))::for_types<state, batch>;
  static_assert(program::peak_bytes > 0 && program::peak_bytes <= 16384);
  static_assert(2 * program::peak_bytes <= program::total_bytes);
}

TEST_CASE("arguments that do not fit are named") {
  const auto run = tk::jit(loss, tk::cpu);
  network m = start().model;
  m.second.kernel = tk::zeros({31, 1});
  CHECK_THROWS_WITH(run(m, data()),
                    contains("argument 0.second.kernel") && contains("f32[31,1]") && contains("f32[32,1]"));
  network n = start().model;
  n.first.use_bias = false;
  CHECK_THROWS_WITH(run(n, data()), contains("argument 0.first.use_bias"));
  CHECK_THROWS_WITH(run(network{}, data()), contains("without data"));
  // An array in the place of a tensor
  const auto product = tk::jit([](const array& a, const tk::tensor<tk::f32, 4>& b) { return a * b; }, tk::cpu);
  CHECK_THROWS_WITH(product(array(2.0f), array(tk::ones({5}))),
                    contains("f32[5]") && contains("f32[4]") && contains("(argument 1)"));
  CHECK(product(array(2.0f), array(tk::ones({4}))).size() == 4);
}

TEST_CASE("a compiled function may be called while another one is traced") {
  const auto inner = tk::jit([](const array& x) { return x * 3.0f; }, tk::cpu);
  const auto outer = tk::jit([&](const array& x) { return inner(x) + 1.0f; }, tk::cpu);
  CHECK(outer(array::from<float>({2})).item() == 7.0f);
}

TEST_CASE("data that a function closes over is part of its program") {
  const array w = array::from<float>({1, 2, 3});
  const auto f = tk::jit([w](const array& x) { return tk::sum(w * x); }, tk::cpu);
  CHECK(f(array::from<float>({1, 1, 2})).item() == 9.0f);
  CHECK(f(array::from<float>({0, 0, 1})).item() == 3.0f);
}
