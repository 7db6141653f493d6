// tests/runtime/versioned.cpp: readers keep the version that they have borrowed, while a step that donates makes the next.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/runtime/versioned.hpp>

#include <tokamax/tokamax.hpp>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support/catch.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

struct weights {
  array w, b;
};
struct state {
  weights model;
  array moment;
};
weights of(float value) { return {tk::full({400}, value) + 0.0f, tk::full({3, 50}, value) + 0.0f}; }
constexpr auto next = [](const state& s) { return state{{s.model.w + 1.0f, s.model.b + 1.0f}, s.moment * 0.5f}; };

/// The value that all elements of a version have, or -1.
float value_of(const weights& m) {
  const float value = m.w.values<float>()[0];
  bool same = true;
  for (const array& a : {m.w, m.b})
    for (const float v : a.values<float>()) same = same && v == value;
  return same ? value : -1;
}

}  // namespace

TEST_CASE("a borrowed version stays as it is, and what nobody shares is donated") {
  const auto step = tk::jit(next, tk::cpu, tk::at_run_time);
  state s{of(0), tk::ones({1000}) + 0.0f};
  tk::versioned<weights> versions(s.model);
  CHECK(versions.published() == 0);
  const auto first = versions.borrow();
  const float* const shared = s.model.w.values<float>().data();
  const float* const own = s.moment.values<float>().data();
  s = step(std::move(s));
  CHECK(s.model.w.values<float>().data() != shared);
  CHECK(s.moment.values<float>().data() == own);
  CHECK(first->w.values<float>().data() == shared);
  CHECK(value_of(*first) == 0);
  CHECK(versions.borrow() == first);
  versions.publish(s.model);
  CHECK(versions.published() == 1);
  CHECK(value_of(*first) == 0);
  CHECK(value_of(*versions.borrow()) == 1);
}

TEST_CASE("a version that everybody has left gives its memory back, and the next steps take it") {
  const auto step = tk::jit(next, tk::cpu, tk::at_run_time);
  state s{of(0), tk::ones({1000}) + 0.0f};
  tk::versioned<weights> versions(s.model);
  const auto used = [] { return tk::buffer_pool::instance().used_bytes(); };
  std::size_t before = 0, blocks = 0;
  for (int i = 0; i < 20; ++i) {
    if (i == 3) before = used(), blocks = tk::buffer_pool::instance().from_system();
    s = step(std::move(s));
    versions.publish(s.model);
  }
  CHECK(used() == before);
  CHECK(tk::buffer_pool::instance().from_system() == blocks);
  CHECK(value_of(*versions.borrow()) == 20);
}

TEST_CASE("readers on other threads see whole versions, in order") {
  const auto step = tk::jit(next, tk::cpu, tk::at_run_time);
  const auto serve = tk::jit([](const weights& m) { return tk::sum(m.w) / 400.0f - tk::sum(m.b) / 150.0f; }, tk::cpu);
  state s{of(0), tk::ones({1000}) + 0.0f};
  tk::versioned<weights> versions(s.model);
  constexpr int rounds = 300;
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0, reads = 0;
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t)
    readers.emplace_back([&] {
      float last = 0;
      while (!done || reads < 30) {
        const std::shared_ptr<const weights> mine = versions.borrow();
        const float value = value_of(*mine);
        const float served = serve(*mine).item();
        wrong += value < last || served != 0 || value_of(*mine) != value;
        last = value;
        ++reads;
      }
    });
  for (int i = 0; i < rounds; ++i) {
    s = step(std::move(s));
    versions.publish(s.model);
  }
  done = true;
  for (std::thread& t : readers) t.join();
  CHECK(wrong == 0);
  CHECK(versions.published() == rounds);
  CHECK(value_of(*versions.borrow()) == rounds);
}

TEST_CASE("trees that cannot be copied have versions too") {
  tk::versioned<std::unique_ptr<array>> versions(std::make_unique<array>(tk::ones({2})));
  const auto first = versions.borrow();
  versions.publish(std::make_unique<array>(tk::zeros({2})));
  CHECK((**first).values<float>()[1] == 1);
  CHECK((**versions.borrow()).values<float>()[1] == 0);
}
