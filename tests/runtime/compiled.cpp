// tests/runtime/compiled.cpp: compiled functions whose type is that of a call.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/runtime/compiled.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

#include <thread>
#include <vector>

namespace tk = tokamax;
using tk::array;

namespace {

struct service {
  tk::compiled<array(const array&, const array&)> scale;
  service();
};
service::service() : scale(tk::jit([](const array& x, const array& y) { return x * y; }, tk::cpu)) {}

TEST_CASE("a compiled function has the type of its calls, and copies share it") {
  const service s, copy = s;
  CHECK(s.scale(array::from<float>({2, 3}), 2.0f).values<float>()[1] == 6);
  CHECK(copy.scale(array::from<float>({2, 3}), 3.0f).values<float>()[0] == 6);
  CHECK(s.scale);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([copy, t] {
      for (int i = 0; i < 50; ++i)
        if (copy.scale(array::from<float>({1, 2}), static_cast<float>(t)).values<float>()[1] !=
            2 * static_cast<float>(t))
          std::abort();
    });
  for (std::thread& t : threads) t.join();
}

TEST_CASE("an empty one says so, and other functions will do") {
  tk::compiled<array(const array&)> f;
  CHECK(!f);
  CHECK_THROWS_WITH(f(1.0f), contains("compiled: function: found none, expected a function: assign jit(f, device)"));
  f = [](const array& x) { return x + 1.0f; };
  CHECK(f(1.0f).item() == 2);
}

TEST_CASE("arguments that are moved in give their memory to results") {
  const tk::compiled<array(array&&)> f = tk::jit([](const array& x) { return x + 1.0f; }, tk::cpu);
  array x = array::from<float>({1, 2});
  const void* const before = x.data<float>();
  const array y = f(std::move(x));
  CHECK(y.data<float>() == before);
  CHECK(x.is_moved_from());
}

}  // namespace
