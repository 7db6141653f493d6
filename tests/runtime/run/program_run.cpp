// tests/runtime/run/program_run.cpp: programs that run at the same time, each on threads of its own, with memory for as long as they run.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/runtime/run/program_run.hpp>

#include <tokamax/tokamax.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

/// What the kernel of `observed` does, and how often it has been called since that was set.
std::function<void(int call)> within_kernel;
std::atomic<int> calls = 0;
void set_kernel(std::function<void(int call)> f) {
  within_kernel = std::move(f);
  calls = 0;
}

inline constexpr tk::op observed_p{.name = "observed_threads",
                                   .infer = [](const tk::call& c) { return c[0].type(); },
                                   .compose = [](const tk::call& c) -> tk::arrays { return c[0] * 1.0f; },
                                   .kernels = tk::kernels_of<observed_p>};
array observed(const array& x) { return tk::bind(observed_p, {x}, tk::words{}, tk::source_line::current()); }

std::vector<float> values(const array& x) { return {x.values<float>().begin(), x.values<float>().end()}; }

}  // namespace
namespace tokamax {
inline void kernel(op_c<observed_p>, cpu_tag, const kernel_arguments& a) {
  within_kernel(++calls);
  std::copy_n(a.in[0].as<float>(), a.out[0].size(), a.out[0].as<float>());
}
}  // namespace tokamax

TEST_CASE("so many threads of the processor are a device, whose arrays are the host's") {
  CHECK(tk::cpu(2).get().name() == "cpu(2)");
  CHECK_THAT(tk::cpu(2).get().kind(), contains(", 2 threads"));
  CHECK_THAT(tk::cpu(1).get().kind(), contains(", 1 thread"));
  CHECK(&tk::cpu(2).get() == &tk::cpu(2).get());
  CHECK(&tk::cpu(2).get() != &tk::cpu(3).get());
  for (const int threads : {0, -1, 257})
    CHECK_THROWS_WITH(tk::cpu(threads),
                      contains("cpu: threads") && contains(std::to_string(threads)) && contains("1 to 256"));
  const auto f = tk::jit([](const array& x) { return x + 1.0f; }, tk::cpu(2));
  const array y = f(tk::ones({3}));
  CHECK(&y.device() == &tk::cpu.get());
  CHECK(values(f(y)) == std::vector<float>{3, 3, 3});
  CHECK(&tk::device_put(y, tk::cpu(2)).device() == &tk::cpu.get());
}

TEST_CASE("programs of any number of threads have the same bits") {
  const auto f = [](const array& x, const array& w) {
    const array y = tk::softmax(tk::matmul(x, w));
    return std::vector{y, tk::sum(y * x, {.axis = {0}}), tk::sort(tk::tanh(x)), tk::cumsum(x, 1)};
  };
  const array x = tk::random::normal(tk::random::key(1), {300, 257}),
              w = tk::random::normal(tk::random::key(2), {257, 257});
  const std::vector<array> expected = tk::jit(f, tk::cpu(1))(x, w);
  for (const int threads : {2, 3, 5}) {
    const std::vector<array> found = tk::jit(f, tk::cpu(threads))(x, w), shared = tk::jit(f, tk::cpu)(x, w);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      CHECK(values(found[k]) == values(expected[k]));
      CHECK(values(shared[k]) == values(expected[k]));
    }
  }
}

TEST_CASE("kernels of a program have its number of threads, and what comes next has that from before") {
  const auto threads = [] { return tk::cpu_backend::num_threads(); };
  const int most = threads();
  const array x = tk::ones({4});
  const auto run = [&](const auto& where) {
    int found = 0;
    set_kernel([&](int) { found = threads(); });
    (void)tk::jit([](const array& a) { return observed(a); }, where)(x);
    CHECK(threads() == most);
    return found;
  };
  CHECK(run(tk::cpu) == most);
  CHECK(run(tk::cpu(1)) == 1);
  if (most == 1) return;  // perhaps built without threads
  CHECK(run(tk::cpu(7)) == 7);
  set_kernel([&](int call) {
    CHECK(threads() == (call == 1 ? 3 : most));
    if (call == 2) return;
    (void)tk::jit([](const array& a) { return observed(a) * 2.0f; }, tk::cpu)(x);
    CHECK(threads() == 3);
    throw tk::error("kernel", "a failure", "success");
  });
  CHECK_THROWS_WITH(tk::jit([](const array& a) { return observed(a); }, tk::cpu(3))(x), contains("a failure"));
  CHECK(threads() == most);
}

TEST_CASE("two programs have two threads each at the same time") {
  if (tk::cpu_backend::num_threads() == 1) return;  // perhaps built without threads
  std::atomic<int> at_once = 0, right = 0;
  set_kernel([&](int) {
    tk::cpu_backend::parallel_for(2, [&](std::int64_t) {
      for (++at_once; at_once < 4;) std::this_thread::yield();  // for ever, if one program waits for the other
    });
  });
  const auto f = tk::jit([](const array& a) { return observed(a); }, tk::cpu(2));
  std::vector<std::thread> callers;
  for (int t = 0; t < 2; ++t) callers.emplace_back([&] { right += f(tk::ones({4})).values<float>()[3] == 1; });
  for (std::thread& t : callers) t.join();
  CHECK(at_once == 4);
  CHECK(right == 2);
}

TEST_CASE("scratch memory of kernels is borrowed from the pool until the step ends") {
  const auto used = [] { return tk::buffer_pool::instance().used_bytes(); };
  constexpr std::size_t mib = std::size_t{1} << 20;
  const array x = tk::ones({4});
  const std::size_t before = used();
  std::size_t at[3] = {};
  set_kernel([&](int call) {
    at[call] = used();
    tk::cpu_backend::scratch<struct of_first, char>(3 << 20)[3] = 1;
    tk::cpu_backend::scratch<struct of_second, char>(2 << 20)[3] = 1;
    CHECK(used() >= at[call] + 5 * mib);
    if (call == 2) throw tk::error("kernel", "a failure", "success");
  });
  const auto f = tk::jit([](const array& a) { return observed(observed(a)); }, tk::cpu(1));
  CHECK_THROWS_WITH(f(x), contains("a failure"));
  CHECK(calls == 2);
  CHECK(at[2] < at[1] + mib);
  CHECK(used() < before + mib);
  const auto sorted = tk::jit([](const array& a) { return tk::sort(a)[0]; }, tk::cpu(1));
  const array many = tk::random::normal(tk::random::key(0), {200000});
  const std::size_t with_many = used();
  (void)sorted(many);
  CHECK(used() < with_many + mib / 2);
}
