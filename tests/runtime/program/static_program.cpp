// tests/runtime/program/static_program.cpp: programs known while compiling check their arguments and join other traces.
#include <tokamax/runtime/program/static_program.hpp>

#include <tokamax/tokamax.hpp>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/memory_limit.hpp"

namespace tk = tokamax;
using tk::array;
using vector = tk::tensor<tk::f32, 3>;

namespace {
struct scaled {
  bool twice = true;
  array scale = tk::ones({3});
  std::array<array, 2> offsets{tk::zeros({3}), tk::zeros({3})};
};
constexpr auto f = [](const scaled& m, const vector& x) {
  const array y = m.scale * x + m.offsets[0] - m.offsets[1];
  if (m.twice) return tk::sum(y * y);
  return tk::sum(y);
};
constexpr auto known = [](const scaled& m, const vector& x) { return std::pair{f(m, x), m}; };
}  // namespace

TEST_CASE("a layout lists leaves and static values where they lie") {
  const scaled m, other{false};
  const tk::tree_layout l = tk::tree_layout::of<scaled>(&m, "m");
  REQUIRE(l.leaves.size() == 3);
  REQUIRE(l.constants.size() == 1);
  CHECK(l.paths[2] == "m.offsets[1]");
  CHECK(l.paths[3] == "m.twice");
  CHECK(&l.leaves[2].leaf(&other) == &other.offsets[1]);
  CHECK(l.constants[0].at.in(&other) == &other.twice);
  CHECK(l.constants[0].equal(&m.twice, &m.twice));
  CHECK(!l.constants[0].equal(&m.twice, &other.twice));
}

TEST_CASE("a compiled program is a part of the trace around it") {
  const auto run = tk::jit(known, tk::cpu);
  const scaled m{true, array::from<float>({1, 2, 3}), {tk::ones({3}), tk::zeros({3})}};
  const vector x(array::from<float>({4, 5, 6}));
  const auto around = [&](const scaled& a, const vector& b) { return run(a, b).first * 2.0f; };
  CHECK(tk::jit(around, tk::cpu)(m, x).item() == 2 * f(m, x).item());
  const auto [value, grads] = tk::value_and_grad(around)(m, x);
  const auto [plain, expected] = tk::value_and_grad(f)(m, x);
  CHECK(value.item() == 2 * plain.item());
  for (int i = 0; i < 3; ++i) CHECK(grads.scale.values<float>()[i] == 2 * expected.scale.values<float>()[i]);
}

TEST_CASE("arguments that do not fit are named inside a trace too") {
  const auto run = tk::jit(known, tk::cpu);
  const auto around = [&](const scaled& a, const vector& b) { return run(a, b).first; };
  const vector x(tk::ones({3}));
  CHECK_THROWS_WITH(tk::jit(around, tk::cpu, tk::at_run_time)(scaled{true, tk::ones({1})}, x),
                    contains("argument 0.scale") && contains("f32[1]") && contains("f32[3]"));
  CHECK_THROWS_WITH(tk::jit(around, tk::cpu, tk::at_run_time)(scaled{false}, x), contains("argument 0.twice"));
}

namespace {
using tk::dyn, tk::tensor, tk::f32;

struct rows {
  tensor<f32, dyn(), 4> x;
  tensor<f32, dyn()> y;
};
rows some_rows(std::int64_t n) {
  const auto [a, b] = tk::random::split(tk::random::key(static_cast<std::uint32_t>(n)));
  return {tk::random::normal(a, {n, 4}), tk::random::normal(b, {n})};
}
struct regression {
  tk::nn::linear first{4, 16}, second{16, 1};
  tk::nn::layer_norm norm{16};
};
constexpr auto mean_square = [](const regression& m, const rows& r) {
  const array y = tk::squeeze(m.second(m.norm(tk::gelu(m.first(r.x)))), 1);
  return tk::mean(tk::square(y - r.y));
};
constexpr auto descend = [](const regression& m, const rows& r) { return tk::value_and_grad(mean_square)(m, r); };
}  // namespace

TEST_CASE("one program serves every number of rows") {
  const regression m = tk::init<regression>(tk::random::key(3));
  const auto run = tk::jit(descend, tk::cpu);
  const auto late = tk::jit(descend, tk::cpu, tk::at_run_time);
  static_assert(decltype(run)::for_types<regression, rows>::dynamic);
  for (const std::int64_t n : {5, 64, 1, 5, 300}) {
    const auto [loss, grads] = run(m, some_rows(n));
    const auto [expected, expected_grads] = late(m, some_rows(n));
    CAPTURE(n);
    CHECK(loss.item() == Approx(expected.item()).epsilon(1e-5));
    const tk::arrays got = tk::leaves(grads), want = tk::leaves(expected_grads);
    for (int i = 0; i < got.count(); ++i) CHECK(tk::max(tk::abs(got[i] - want[i])).item() < 1e-5);
  }
}

TEST_CASE("results have the extents of the arguments, also multiples of them") {
  const auto run = tk::jit(
      [](const tensor<f32, dyn(), 4>& x, const tensor<f32, 4, dyn(1)>& w) {
        const array halves = tk::reshape(x, {-1, 2});
        return std::tuple{tk::matmul(x, w), tk::transpose(halves), tk::mean(w, {.axis = {1}}),
                          tk::max(x, {.axis = {0}})};
      },
      tk::cpu);
  const array x = tk::random::normal(tk::random::key(1), {3, 4}), w = tk::random::normal(tk::random::key(2), {4, 6});
  const auto [product, halves, means, most] = run(tensor<f32, dyn(), 4>(x), tensor<f32, 4, dyn(1)>(w));
  CHECK(product.shape() == tk::shape{3, 6});
  CHECK(halves.shape() == tk::shape{2, 6});
  CHECK(tk::max(tk::abs(product - tk::matmul(x, w))).item() < 1e-6);
  CHECK(halves.values<float>()[7] == x.values<float>()[3]);
  CHECK(tk::max(tk::abs(means - tk::mean(w, {.axis = {1}}))).item() < 1e-6);
  CHECK(tk::max(tk::abs(most - tk::max(x, {.axis = {0}}))).item() == 0);
}

TEST_CASE("a dynamic extent has one value in a call") {
  const auto run = tk::jit(mean_square, tk::cpu);
  const regression m = tk::init<regression>(tk::random::key(3));
  const rows bad{tk::ones({3, 4}), tk::ones({2})};
  CHECK_THROWS_WITH(run(m, bad), contains("argument 1.y") && contains("f32[2]") && contains("f32[n]"));
  CHECK_THROWS_WITH((tensor<f32, dyn(), 4>(tk::ones({3, 5}))), contains("f32[3,5]") && contains("f32[n,4]"));
}

TEST_CASE("a program with dynamic extents takes those of the trace around it") {
  const auto run = tk::jit(mean_square, tk::cpu);
  const regression m = tk::init<regression>(tk::random::key(3));
  const rows r = some_rows(7);
  const auto around = [&](const regression& a) { return run(a, r) * 2.0f; };
  CHECK(tk::jit(around, tk::cpu)(m).item() == Approx(2 * run(m, r).item()).epsilon(1e-5));
}

TEST_CASE("a scan and a transformer block run on any number of sequences") {
  struct stack {
    tk::models::gpt_block block{16, 2};
    tensor<f32, dyn(), 8, 16> x;
  };
  constexpr auto all_layers = [](const stack& s) {
    const auto layer = [&](const array& h, const array&) { return std::pair{s.block(h), tk::mean(h)}; };
    return tk::scan(layer, s.x, tk::arange(3));
  };
  stack s;
  s.block = tk::init(tk::models::gpt_block{16, 2}, tk::random::key(4));
  const auto run = tk::jit(all_layers, tk::cpu);
  const auto late = tk::jit(all_layers, tk::cpu, tk::at_run_time);
  for (const std::int64_t n : {2, 5, 2}) {
    s.x = tk::random::normal(tk::random::key(5), {n, 8, 16});
    const auto [h, means] = run(s);
    const auto [expected, expected_means] = late(s);
    CHECK(h.shape() == tk::shape{n, 8, 16});
    CHECK(tk::max(tk::abs(h - expected)).item() < 1e-5);
    CHECK(tk::max(tk::abs(means - expected_means)).item() < 1e-6);
  }
}

TEST_CASE("products of two dynamic extents, and a loop over one") {
  constexpr auto f = [](const tensor<f32, dyn(), dyn(1), 8>& x) {
    const array h = tk::tanh(x), flat = tk::reshape(h, {-1, 8}), rows = tk::sum(h, {.axis = {1}});
    const array heads = tk::reshape(h, {h.extent(0), h.extent(1), 2, 4});
    const auto step = [](const array& s, const array& v) { return std::pair{s * 0.5f + tk::sum(v), tk::mean(v)}; };
    const auto [end, means] = tk::scan(step, array(0.0f), h);
    return std::tuple{tk::dot_product_attention(heads, heads, heads),
                      tk::sum(tk::square(tk::matmul(rows, tk::transpose(rows)))), tk::concatenate({flat, flat}), end,
                      means};
  };
  const auto run = tk::jit(f, tk::cpu);
  const auto late = tk::jit(f, tk::cpu, tk::at_run_time);
  for (const auto& [n, m] : {std::pair{2, 3}, {1, 1}, {17, 2}, {0, 3}}) {
    CAPTURE(n, m);
    const tensor<f32, dyn(), dyn(1), 8> x = tk::random::normal(tk::random::key(8), {n, m, 8});
    const tk::arrays found = tk::leaves(run(x)), expected = tk::leaves(late(x));
    for (int k = 0; k < found.count(); ++k) {
      REQUIRE(found[k].type() == expected[k].type());
      for (std::int64_t i = 0; i < found[k].size(); ++i)
        CHECK(found[k].values<float>()[static_cast<std::size_t>(i)] ==
              Approx(expected[k].values<float>()[static_cast<std::size_t>(i)]).epsilon(1e-5).margin(1e-6));
    }
  }
}

namespace {
bool same_bits(const std::pair<array, regression>& a, const std::pair<array, regression>& b) {
  const tk::arrays x = tk::leaves(a), y = tk::leaves(b);
  for (int i = 0; i < x.count(); ++i)
    for (std::size_t k = 0; k < x[i].values<float>().size(); ++k)
      if (x[i].values<float>()[k] != y[i].values<float>()[k]) return false;
  return true;
}
// ThreadSanitizer ends a child that makes threads; AddressSanitizer needs all addresses.
#if !defined(__SANITIZE_THREAD__)
  #define TOKAMAX_TEST_FORKS
  #if !defined(__SANITIZE_ADDRESS__)
    #define TOKAMAX_TEST_LIMITS
  #endif
#endif

#if defined(TOKAMAX_TEST_FORKS)
/// The status of a child process that returns work() as its status; a child that hangs is ended.
template <class Work>
int status_of_child(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(work());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}
#endif
}  // namespace

#if defined(TOKAMAX_TEST_LIMITS)
TEST_CASE("a program with dynamic extents works again after it has found no memory") {
  const regression m = tk::init<regression>(tk::random::key(3));
  const auto run = tk::jit(descend, tk::cpu);
  const auto late = tk::jit(descend, tk::cpu, tk::at_run_time);
  const rows many = some_rows(100000), few = some_rows(7);
  const auto expected = run(m, few);
  const auto check = [&](auto f) {
    return status_of_child([&] {
      const auto before = f(m, few);
      tk::buffer_pool::instance().trim();
      int thrown = 0;
      for (int i = 0; i < 3; ++i) {
        const tk::test::memory_limit limit(std::size_t{4} << 20);
        try {
          f(m, many);
        } catch (const tk::error& e) {
          thrown += e.kind == tk::error_kind::resource && e.subject.starts_with("memory of ");
        }
      }
      const auto [loss, grads] = f(m, many);
      if (thrown != 3) return 1;
      if (!(loss.item() > 0)) return 2;
      return same_bits(f(m, few), before) ? 0 : 3;
    });
  };
  CHECK(check(run) == 0);
  CHECK(check(late) == 0);
  CHECK(same_bits(run(m, few), expected));
}
#endif

TEST_CASE("threads share a program, also when the process forks and when it ends") {
  const regression m = tk::init<regression>(tk::random::key(3));
  const auto run = tk::jit(descend, tk::cpu);
  const auto late = tk::jit(descend, tk::cpu, tk::at_run_time);
  std::vector<rows> given;
  std::vector<std::pair<array, regression>> expected, expected_late;
  for (const std::int64_t n : {3, 40, 600}) {
    given.push_back(some_rows(n));
    expected.push_back(run(m, given.back()));
    expected_late.push_back(late(m, given.back()));
  }
  std::atomic<int> wrong = 0;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = t; !stop; ++i) {
        wrong += !same_bits(run(m, given[i % 3]), expected[i % 3]);
        wrong += !same_bits(late(m, given[i % 3]), expected_late[i % 3]);
      }
    });
  for (int i = 0; i < 20; ++i) wrong += !same_bits(run(m, given[0]), expected[0]);
#if defined(TOKAMAX_TEST_FORKS)
  for (int i = 0; i < 10; ++i)
    CHECK(status_of_child([&] {
            return same_bits(run(m, given[1]), expected[1]) && same_bits(late(m, given[1]), expected_late[1]) ? 0 : 1;
          }) == 0);
#endif
  stop = true;
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
#if defined(TOKAMAX_TEST_FORKS)
  for (int i = 0; i < 20; ++i)
    CHECK(status_of_child([&]() -> int {
            std::atomic<int> runs = 0;
            std::thread([&] {
              for (;; ++runs) run(m, given[1]);
            }).detach();
            while (runs < 2) std::this_thread::yield();
            std::exit(0);  // static objects are destroyed while it runs
          }) == 0);
#endif
}
