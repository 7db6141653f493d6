// tests/runtime/any_device.cpp: programs for devices that are chosen at run time.
#include <tokamax/runtime/any_device.hpp>

#include <tokamax/backend/far.hpp>
#include <tokamax/tokamax.hpp>

#include <thread>
#include <type_traits>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

using vector = tk::tensor<tk::f32, 12>;
constexpr auto smooth = [](const vector& x) { return tk::sum(tk::tanh(x) * x) + tk::max(x); };
array ramp(std::int64_t n) { return tk::astype(tk::arange(n), tk::f32) * 0.25f; }

}  // namespace

TEST_CASE("one function runs on devices that a list names, with the same bits") {
  const vector x(ramp(12));
  const float expected = tk::jit(smooth, tk::cpu, tk::while_compiling)(x).item();
  for (tk::device* const where : {&tk::cpu.get(), &tk::far_device(0).get(), &tk::far_device(1).get()}) {
    CAPTURE(where->name());
    const auto f = tk::jit(smooth, *where);
    STATIC_REQUIRE(std::is_same_v<std::remove_cvref_t<decltype(f.device())>, tk::any_device>);
    const vector there = tk::device_put(x, *where);
    const array y = f(there);
    CHECK(&y.device() == where);
    CHECK(y.item() == expected);
    CHECK(tk::jit(smooth, *where, tk::at_run_time)(there).item() == expected);
    CHECK(tk::jit(smooth, tk::any_device(*where))(there).item() == expected);
    CHECK(tk::jit(smooth, there.device())(there).item() == expected);
    CHECK(tk::jit(tk::grad(smooth), *where)(there).values<float>()[11] == tk::grad(smooth)(x).values<float>()[11]);
  }
}

TEST_CASE("a value that names a device is any device") {
  for (const tk::any_device& d : {tk::any_device(tk::cpu), tk::any_device(tk::far_device(1))}) {
    CHECK(&tk::device_put(ramp(3), d).device() == &d.get());
    CHECK(&d.table() == &d.get().kernels());
  }
  STATIC_REQUIRE(!std::is_constructible_v<tk::any_device, int>);
  STATIC_REQUIRE(!std::is_constructible_v<tk::any_device, std::unique_ptr<int>>);
}

TEST_CASE("devices with the same kernels share the programs of a function") {
  int traces = 0;
  const auto f = tk::jit(
      [&](const array& x) {
        ++traces;
        return x * 2.0f;
      },
      tk::cpu.get());
  const auto on_far = f.on(tk::far_device(0));
  const array x = ramp(5);
  for (int round = 0; round < 3; ++round) {
    CHECK(f(x).values<float>()[4] == 2.0f);
    CHECK(on_far(x).device().name() == "far:0");
    CHECK(f.on(tk::far_device(1).get())(x).values<float>()[4] == 2.0f);
  }
  CHECK(traces == 1);
  on_far.clear();
  f(x);
  CHECK(traces == 2);
  const auto of_type = tk::jit(
      [&](const array& v) {
        ++traces;
        return v + 1.0f;
      },
      tk::cpu);
  of_type(x);
  CHECK(of_type.on(tk::far_device(0))(x).values<float>()[4] == 2.0f);
  CHECK(traces == 3);
}

TEST_CASE("a function that is called in a trace becomes part of it, whatever its device") {
  const auto inner = tk::jit([](const array& x) { return x * 3.0f; }, tk::far_device(0).get());
  const auto outer = tk::jit([&](const array& x) { return inner(x) + 1.0f; }, tk::cpu);
  const array y = outer(ramp(5));
  CHECK(y.device().name() == "cpu");
  CHECK(y.values<float>()[4] == 4.0f);
}

TEST_CASE("arguments of another device are refused by name") {
  const auto f = tk::jit([](const array& x) { return x * 2.0f; }, tk::far_device(1).get());
  CHECK_THROWS_WITH(f(tk::device_put(ramp(3), tk::far_device(0))),
                    contains("jit: device of an argument: found far:0, expected far:1"));
}

TEST_CASE("threads run one function on devices of their own") {
  const auto f = tk::jit([](const array& x) { return tk::sum(x * x); }, tk::cpu.get());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      tk::device& where = t < 2 ? tk::cpu.get() : tk::far_device(t).get();
      for (std::int64_t n = 1; n < 20; ++n) {
        const array x = tk::ones({n});
        wrong += f.on(where)(x).item() != static_cast<float>(n);
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}
