// tests/backend/xbyak/loop.cpp: machine code of loops gives the bits of the interpreter, or leaves the loop to it.
// SPDX-License-Identifier: Apache-2.0
#if __has_include(<xbyak/xbyak.h>)
  #include <tokamax/backend/xbyak/loop.hpp>

  #include <tokamax/tokamax.hpp>

  #include <cmath>
  #include <cstdlib>
  #include <cstring>
  #include <limits>
  #include <thread>

  #include "../../../bench/support/loops.hpp"
  #include "support/adversarial.hpp"
  #include "support/catch.hpp"
  #include "support/every_loop.hpp"

  #if defined(__linux__)
    #include <sys/prctl.h>
    #include <sys/wait.h>
  #endif

namespace tk = tokamax;
using tk::array;
using tk::cpu_backend::set_loop_code_limit;

namespace {

constexpr std::int64_t plenty = std::int64_t{64} << 20;

/// Loops become code when they run first; for the lifetime of this object.
struct code_at_once {
  std::int64_t before = tk::cpu_backend::detail::work_before_code.exchange(0);
  ~code_at_once() {
    tk::cpu_backend::detail::work_before_code = before;
    set_loop_code_limit(plenty);
  }
};
std::int64_t code_bytes() { return tk::xbyak::code_memory::in_use().load(); }

/// The number of the first element with other bits, or -1. All NaN are one.
std::int64_t difference(array a, array b) {
  if (!(a.type() == b.type())) return 0;
  a.materialize(), b.materialize();
  const std::int64_t bytes = tk::size_of(a.dtype());
  const auto *const p = static_cast<const std::byte*>(a.bytes()), *const q = static_cast<const std::byte*>(b.bytes());
  for (std::int64_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(p + i * bytes, q + i * bytes, static_cast<std::size_t>(bytes)) == 0) continue;
    const auto is_nan = [&](const std::byte* at) {
      return tk::dispatch(a.dtype(), [&]<tk::dtype T>() {
        if constexpr (!tk::is_floating(T)) return false;
        tk::element_t<T> v;
        std::memcpy(static_cast<void*>(&v), at, sizeof v);
        return std::isnan(static_cast<double>(v));
      });
    };
    if (!(is_nan(p + i * bytes) && is_nan(q + i * bytes))) return i;
  }
  return -1;
}
void check_same(const std::vector<array>& found, const std::vector<array>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    CAPTURE(k);
    CHECK(difference(found[k], expected[k]) == -1);
  }
}
std::vector<array> listed(const tk::arrays& all) { return {all.begin(), all.end()}; }
template <class Result>
std::vector<array> listed(const Result& r) {
  return listed(tk::leaves(r));
}
/// Compares runs of a program with those of the interpreter.
template <class Run>
void check_run(const Run& run) {
  set_loop_code_limit(0);
  const std::vector<array> expected = listed(run());
  set_loop_code_limit(plenty);
  check_same(listed(run()), expected);
}

}  // namespace

TEST_CASE("every op of every dtype") {
  const code_at_once setting;
  for (const tk::dtype t : {tk::f32, tk::i32, tk::u32, tk::bool_, tk::bf16, tk::f16, tk::i8, tk::u8, tk::i16, tk::u16,
                            tk::i4, tk::u4, tk::f8e4m3fn, tk::f8e5m2, tk::i64, tk::f64})
    for (const auto& [rows, columns] :
         {std::pair<std::int64_t, std::int64_t>{7, 9}, {3, 1}, {2, 64}, {2, 65}, {1, 1000}, {0, 8}}) {
      CAPTURE(tk::name(t), rows, columns);
      const tk::graph g = tk::test::every_loop_of(
          t, {tk::bool_, tk::i8, tk::u8, tk::i16, tk::u16, tk::i32, tk::u32, tk::bf16, tk::f16, tk::f8e5m2, tk::f32}, 4,
          {rows, columns});
      tk::arrays in{tk::test::adversarial({rows, columns}, 1, t), tk::test::adversarial({columns, rows}, 2, t),
                    tk::test::adversarial({1, columns}, 3, t)};
      if (rows == 1) {  // all pairs of special values
        const auto kinds =
            static_cast<std::int64_t>(std::max(tk::test::special_floats().size(), tk::test::special_integers().size()));
        in = {tk::reshape(tk::test::specials(t, columns), {1, columns}),
              tk::reshape(tk::test::specials(t, columns, kinds), {columns, 1}),
              tk::reshape(tk::test::specials(t, columns, 3), {1, columns})};
      }
      check_run([&] { return tk::cpu.get().execute(g, in); });
    }
}

TEST_CASE("constants that the code knows, and the ends of integers") {
  const code_at_once setting;
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto extremes = [](const array& x) {
    std::vector<array> all;
    for (const float c : {0.0f, -0.0f, nan, -nan, inf, -inf, 1.0f, -1.0f})
      for (const array& y : {tk::maximum(x, c), tk::maximum(c, x), tk::minimum(x, c), tk::minimum(c, x)})
        all.push_back(y * 1.0f);
    return all;
  };
  const auto run = tk::jit(extremes, tk::cpu, tk::at_run_time);
  check_run([&] { return run(tk::test::specials(tk::f32, 100)); });
  const auto integers = [](const array& x) {
    std::vector<array> all;
    for (const tk::dtype t : {tk::i32, tk::u32, tk::i16, tk::u16, tk::i8, tk::u8, tk::bool_})
      all.push_back(tk::astype(x * 1.0f, t));
    return all;
  };
  const array ends =
      array::from<float>({0x1p31f, -0x1p31f, 2147483520.0f, 0x1p32f, 4294967040.0f, -0.75f, 0.75f, 127.5f, 128, -128.5f,
                          -129, 255.5f, 256, 32767.5f, 32768, 65536, nan, inf, -inf});
  const auto to_integers = tk::jit(integers, tk::cpu, tk::at_run_time);
  check_run([&] { return to_integers(ends); });
}

TEST_CASE("code: counts of every dtype") {
  const code_at_once setting;
  for (const tk::dtype t :
       {tk::f32, tk::i32, tk::u32, tk::bf16, tk::f16, tk::i8, tk::u8, tk::u16, tk::f8e4m3fn, tk::i64})
    for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{300, 9}, {3, 700}}) {
      CAPTURE(tk::name(t), rows, columns);
      const tk::graph g = tk::test::trace(
          [&, r = rows, c = columns](const tk::arrays& in) {
            const array across = tk::iota(t, {r, c}, 1), down = tk::iota(t, {r, c}, 0);
            return tk::arrays{in[0] + across, down * in[0], across - down, across < down};
          },
          {{t, false, {rows, columns}}});
      check_run([&] { return tk::cpu.get().execute(g, {tk::test::adversarial({rows, columns}, 1, t)}); });
    }
}

TEST_CASE("code: results that lie over operands of other results") {
  const code_at_once setting;
  using enum tk::instruction_kind;
  const auto slot_line = [](tk::instruction_kind kind, short value, short slot) {
    tk::instruction l{kind, tk::instruction::step::unit, tk::f32, tk::f32, nullptr, value, slot};
    return l;
  };
  const tk::instruction lines[] = {slot_line(load, 0, -1), slot_line(load, 1, -1), slot_line(store, 0, 2),
                                   slot_line(store, 1, 3)};
  const tk::loop_kernel kernel{0, 4, 4, 2, 0, 12345};
  for (const std::int64_t n : {5, 8, 100}) {
    std::vector<float> a(static_cast<std::size_t>(n), 1), b(static_cast<std::size_t>(n), 2);
    auto *const p = reinterpret_cast<std::byte*>(a.data()), *const q = reinterpret_cast<std::byte*>(b.data());
    std::byte* const pointers[] = {p, q, q, p};
    const std::int64_t strides[] = {1, 1, 1, 1}, bytes[] = {4, 4, 4, 4};
    const tk::interpreted_op* const ops[4] = {};
    tk::kept_loop kept;
    tk::loop_arguments loop{1, 4, &n, pointers, strides, bytes, nullptr, &kernel, lines, ops};
    loop.kept = &kept;
    tk::cpu_backend::run_interpreted(loop);
    CHECK(kept.owner);
    CHECK(a == std::vector<float>(static_cast<std::size_t>(n), 2));
    CHECK(b == std::vector<float>(static_cast<std::size_t>(n), 1));
  }
}

namespace {

bench::loop_operands<tk::dyn(), tk::dyn(1)> operands_of(std::int64_t rows, std::int64_t columns) {
  const tk::shape s{rows, columns};
  using tk::test::sprinkled;
  return {sprinkled(s, 1),
          sprinkled(s, 2),
          sprinkled(s, 3),
          tk::abs(sprinkled(s, 4)),
          tk::test::adversarial(s, 5, tk::u32),
          sprinkled({1, columns}, 6),
          sprinkled({rows, 1}, 7)};
}
template <const auto& List>
void check_loops() {
  const code_at_once setting;
  bench::for_loops<List, tk::dyn(), tk::dyn(1)>([](std::string_view name, auto f) {
    CAPTURE(name);
    const auto run = tk::jit(f, tk::cpu, tk::at_run_time);
    for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 1},
                                        {3, 7},
                                        {7, 61},
                                        {5, 64},
                                        {2, 515},
                                        {33, 768},
                                        {1, 40001},
                                        {0, 5},
                                        {5, 0}}) {
      CAPTURE(rows, columns);
      const auto o = operands_of(rows, columns);
      for (const int threads : {1, 2, 8}) {
        tk::cpu_backend::set_num_threads(threads);
        check_run([&] { return run(o); });
      }
      tk::cpu_backend::set_num_threads(0);
    }
  });
}

}  // namespace

TEST_CASE("loops of optimisers become code") {
  check_loops<bench::optimiser_loops>();
  const code_at_once setting;
  const std::int64_t before = code_bytes();
  const auto run = tk::jit([](const array& x) { return (x * 3.0f - 1.5f) / (x + 7.25f); }, tk::cpu, tk::at_run_time);
  run(tk::test::noise({100}, 1));
  CHECK(code_bytes() > before);
}
TEST_CASE("loops of activations become code") { check_loops<bench::activation_loops>(); }
TEST_CASE("loops of gradients become code") { check_loops<bench::gradient_loops>(); }
TEST_CASE("loops of norms, positions, dropout, losses and number formats become code") {
  check_loops<bench::other_loops>();
}

TEST_CASE("code: results over operands") {
  const code_at_once setting;
  const auto f = [](const array& a, const array& b, const array& c) {
    return std::array{b + 0.0f * c, a + 1.0f, tk::exp(a) - b, a * b};
  };
  const auto run = tk::jit(f, tk::cpu, tk::at_run_time);
  const auto swap =
      tk::jit([](const array& a, const array& b) { return std::pair{b + 1.0f, a - b}; }, tk::cpu, tk::at_run_time);
  for (const std::int64_t n : {1, 63, 64, 1000, 40000}) {
    CAPTURE(n);
    using tk::test::noise;
    check_run([&] { return run(noise({n}, 1), noise({n}, 2), noise({n}, 3)); });  // all arguments are given away
    check_run([&] { return swap(noise({n}, 1), noise({n}, 2)); });
  }
}

TEST_CASE("code: more values than registers, and more than 16 operands") {
  const code_at_once setting;
  const auto many = [](const array& x) {
    std::vector<array> all{x};
    for (int i = 0; i < 60; ++i) all.push_back(all.back() * 0.99f + 0.01f * static_cast<float>(i % 3));
    array sum = tk::tanh(all[0]);
    for (std::size_t i = 1; i < all.size(); ++i) sum = sum + all[all.size() - i] * tk::select(sum > 0.5f, all[i], x);
    return std::pair{sum, tk::exp(sum) * all[7]};
  };
  const auto wide = [](const std::vector<array>& in) {
    array sum = in[0];
    for (const array& x : in) sum = sum * 0.5f + x * tk::astype(x > 0.0f, tk::f32);
    std::vector<array> results{sum};
    for (const array& x : in) results.push_back(x - sum);
    return results;
  };
  const auto run = tk::jit(many, tk::cpu, tk::at_run_time);
  const auto run_wide = tk::jit(wide, tk::cpu, tk::at_run_time);
  for (const std::int64_t n : {7, 777}) {
    check_run([&] { return run(tk::test::noise({n}, 1)); });
    std::vector<array> in;
    for (unsigned k = 0; k < 24; ++k) in.push_back(tk::test::noise({n}, k));
    check_run([&] { return run_wide(in); });
  }
}

TEST_CASE("code: views, rows of any length, and loops without code") {
  const code_at_once setting;
  const auto f = [](const array& x, const array& y) {
    const array turned = tk::transpose(y), part = tk::slice(y, {0, 0}, {y.extent(0), y.extent(1)}, {1, 1});
    return std::pair{turned * 2.0f + x, tk::sin(x) + tk::transpose(part)};
  };
  const auto run = tk::jit(f, tk::cpu, tk::at_run_time);
  const auto doubles = tk::jit([](const array& x) { return tk::astype(tk::astype(x, tk::f64) / 3.0, tk::f32) + x; },
                               tk::cpu, tk::at_run_time);
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{3, 7}, {70, 61}, {130, 520}}) {
    const array x = tk::test::noise({rows, columns}, 1), y = tk::test::noise({columns, rows}, 2);
    check_run([&] { return run(x, y); });
    check_run([&] { return doubles(x); });
  }
}

TEST_CASE("code: many threads ask for it at once") {
  const code_at_once setting;
  const auto f = [](const array& x) { return tk::tanh(x * 1.25f) + tk::maximum(x, -0.125f) * 3.0f; };
  const array x = tk::test::noise({5000}, 1);
  set_loop_code_limit(0);
  const array expected = tk::jit(f, tk::cpu, tk::at_run_time)(x);
  set_loop_code_limit(plenty);
  const auto run = tk::jit(f, tk::cpu, tk::at_run_time);
  std::vector<array> found(8);
  std::vector<std::thread> all;
  for (array& one : found)
    all.emplace_back([&] {
      for (int i = 0; i < 20; ++i) one = run(x);
    });
  for (std::thread& t : all) t.join();
  for (const array& one : found) CHECK(difference(one, expected) == -1);
}

TEST_CASE("code: equal loops share it, it goes with the last of them, and its limit holds") {
  const code_at_once setting;
  const array x = tk::test::noise({64}, 1);
  const std::int64_t before = code_bytes();
  const auto graph_of = [&](float c) {
    return tk::test::trace([&](const tk::arrays& in) { return tk::arrays{(in[0] + c) * (in[0] - 2.0f * c)}; },
                           {x.type()});
  };
  {
    const auto one = tk::detail::owned_program::make(graph_of(7), tk::kernel_table_of<tk::cpu_tag>()),
               two = tk::detail::owned_program::make(graph_of(7), tk::kernel_table_of<tk::cpu_tag>());
    std::byte* in[] = {x.storage()->data};
    array y = array::uninitialized(x.type());
    std::byte* out[] = {reinterpret_cast<std::byte*>(y.mutable_data<float>())};
    one->code.run(in, out);
    const std::int64_t with_one = code_bytes();
    CHECK(with_one > before);
    two->code.run(in, out);
    CHECK(code_bytes() == with_one);
  }
  CHECK(code_bytes() == before);
  set_loop_code_limit(before + 1);
  for (int k = 0; k < 3; ++k) {
    const array y = tk::cpu.get().execute(graph_of(9), {x})[0];
    CHECK(y.values<float>()[0] == (x.values<float>()[0] + 9) * (x.values<float>()[0] - 18));
  }
  CHECK(code_bytes() == before);
}

  #if defined(__linux__)
TEST_CASE("code: a system that refuses executable memory") {
  const std::int64_t before = code_bytes();
  const pid_t child = fork();
  if (child == 0) {
    constexpr int set_mdwe = 65;  // PR_SET_MDWE, which older headers lack
    if (prctl(set_mdwe, 1L, 0L, 0L, 0L) != 0) _exit(77);
    const code_at_once setting;
    tk::cpu_backend::set_num_threads(1);
    const tk::graph g = tk::test::trace([](const tk::arrays& in) { return tk::arrays{in[0] * 2.0f + 0.5f}; },
                                        {{tk::f32, false, {100}}});
    const array y = tk::cpu.get().execute(g, {tk::full({100}, 3.0f)})[0];
    _exit(y.values<float>()[99] == 6.5f && code_bytes() == before ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    WARN("skipped: this system does not know PR_SET_MDWE");
  else
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}
  #endif

#endif
