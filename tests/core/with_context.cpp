// tests/core/with_context.cpp: what a thread has around its work goes along to other threads, and ends where its scopes end.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/with_context.hpp>

#include <tokamax/backend/far.hpp>
#include <tokamax/profile/timeline.hpp>
#include <tokamax/tokamax.hpp>

#include <thread>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

void on_thread(std::function<void()> f) { std::thread(std::move(f)).join(); }
/// What a softmax runs when it is called on this thread.
std::string steps_of_softmax() {
  const tk::profile::timeline recording;
  tk::block_until_ready(tk::softmax(array::from<float>({1, 2, 3})));
  std::string all;
  for (const tk::profile::event& e : recording.events()) all += e.name + ";";
  return all;
}
bool is_empty(const tk::context& c) {
  return !c.trace && !c.index_observer && !c.observer && !c.shared_observer && !c.choices && !c.implementations &&
         !c.keys && c.threads == 0;
}
std::shared_ptr<const tk::choice_table> composed_softmax() {
  return std::make_shared<const tk::choice_table>(
      tk::choice_table{tk::cpu.get().kind(), {{"softmax(f32[3])", "compose"}}});
}

}  // namespace

TEST_CASE("a thread has an empty context, and scopes set it back") {
  on_thread([] {
    CHECK(is_empty(tk::current_context));
    {
      const tk::profile::timeline recording;
      const tk::choice_scope choices(composed_softmax());
      const tk::use_implementation asked("softmax", "compose");
      const tk::use_implementation inner("attention", "kernel");
      const tk::random::key_reuse_check check;
      const tk::cpu_backend::thread_team team(3);
      const tk::context& c = tk::current_context;
      CHECK((c.observer == &recording && c.choices && c.implementations && c.keys && c.threads == 3));
      CHECK(std::string(c.implementations->begin(), c.implementations->end()) == "attention=kernel;softmax=compose");
      CHECK(is_empty(tk::context_of_helpers()) == false);
      CHECK(tk::context_of_helpers().threads == 0);
    }
    CHECK(is_empty(tk::current_context));
    CHECK_THROWS([] {
      const tk::choice_scope choices(composed_softmax());
      throw 1;
    }());
    CHECK(is_empty(tk::current_context));
  });
}

TEST_CASE("choices, by a table and by name, go along to a thread, and stay there after their scopes") {
  REQUIRE_THAT(steps_of_softmax(), contains("softmax") && !contains("exp"));
  std::function<void()> later, named;
  std::string first, second, third, plain;
  {
    const tk::choice_scope choices(composed_softmax());
    later = tk::with_context([&] { second = steps_of_softmax(); });
    on_thread(tk::with_context([&] { first = steps_of_softmax(); }));
    on_thread([&] { plain = steps_of_softmax(); });
  }
  {
    const tk::use_implementation asked("softmax", "compose");
    named = tk::with_context([&] { third = steps_of_softmax(); });
  }
  on_thread(later);
  CHECK_THAT(first, contains("by compose"));
  CHECK_THAT(second, contains("by compose"));
  CHECK_THAT(plain, !contains("by compose"));
  on_thread(named);
  CHECK_THAT(third, contains("by compose"));
  on_thread([&] {
    named();
    CHECK(is_empty(tk::current_context));
  });
  CHECK_THAT(steps_of_softmax(), !contains("by compose"));
}

TEST_CASE("a recording hears the threads that work for its own") {
  std::function<void()> late;
  {
    const tk::profile::timeline recording;
    const auto work = [] { (void)(array::from<float>({1, 2}) + array::from<float>({3, 4})); };
    late = tk::with_context(work);
    on_thread(work);
    CHECK(recording.events().empty());
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) threads.emplace_back(tk::with_context(work));
    for (std::thread& t : threads) t.join();
    CHECK(recording.events().size() == 8);
    on_thread(late);
    CHECK(recording.events().size() == 9);
  }
  CHECK_NOTHROW(late());  // nobody listens any more
}

TEST_CASE("a key that two threads use is found while the check lives") {
  const tk::random::key k(9);
  std::function<void()> use;
  std::string found;
  {
    const tk::random::key_reuse_check check;
    use = tk::with_context([&] {
      try {
        (void)tk::random::bits(k, {2});
      } catch (const tk::error& e) {
        found = e.what();
      }
    });
    on_thread(use);
    CHECK(found == "");
    on_thread(use);
    CHECK_THAT(found, contains("key reuse"));
    CHECK_THROWS_WITH(tk::random::bits(k, {2}), contains("key reuse"));
  }
  found = "";
  on_thread(use);
  CHECK(found == "");
}

TEST_CASE("a thread joins the trace of the thread that waits for it, and no trace that has ended") {
  std::function<array()> leaked;
  const auto f = [&](const array& x) {
    array sum;
    on_thread([] { CHECK(tk::iota(tk::f32, {3}, 0).is_concrete()); });
    on_thread(tk::with_context([&] {
      CHECK(tk::iota(tk::f32, {3}, 0).is_traced());
      sum = x + tk::exp(tk::iota(tk::f32, {3}, 0));
    }));
    leaked = tk::with_context([] { return tk::iota(tk::f32, {3}, 0); });
    return sum;
  };
  const array x = array::from<float>({1, 2, 3}), y = tk::jit(f, tk::cpu)(x);
  CHECK(y.values<float>()[1] == 2 + std::exp(1.0f));
  CHECK_THROWS_WITH(leaked(), contains("with_context: trace: found one that has ended"));
  CHECK(is_empty(tk::current_context));
}

TEST_CASE("arguments and results pass through, and an exception leaves the context as it was") {
  auto twice = tk::with_context([calls = 0](int& a, std::unique_ptr<int> b) mutable -> int& {
    a += *b + ++calls;
    if (a > 100) throw tk::error("a", "b", "c");
    return a;
  });
  int a = 1;
  CHECK(&twice(a, std::make_unique<int>(2)) == &a);
  CHECK(a == 4);
  a = 100;
  const tk::profile::timeline recording;
  CHECK_THROWS_WITH(twice(a, std::make_unique<int>(3)), contains("found b"));
  CHECK(tk::current_context.observer == &recording);
}

TEST_CASE("workers of a loop have the context of its caller, and lose it") {
  if (tk::cpu_backend::num_threads() < 2) return;  // perhaps built without threads
  const tk::cpu_backend::thread_team team(3);
  std::atomic<int> right = 0, come = 0;
  const auto loop = [&](auto fits) {
    come = right = 0;
    tk::cpu_backend::parallel_for(3, [&](std::int64_t) {
      for (++come; come < 3;) std::this_thread::yield();  // so that each chunk has a thread of its own
      right += fits(tk::current_context);
    });
    return right.load();
  };
  {
    const tk::choice_scope choices(composed_softmax());
    const tk::profile::timeline recording;
    const auto* const layer = tk::current_context.choices;
    CHECK(loop([&](const tk::context& c) { return c.choices == layer && c.observer && c.shared_observer; }) == 3);
    CHECK(loop([&](const tk::context& c) { return c.observer == &recording; }) == 1);  // it is not for several threads
  }
  CHECK(loop([](const tk::context& c) { return !c.choices && !c.observer; }) == 3);
}

TEST_CASE("the queue of a device has the context of the thread that asks for a run") {
  static std::string names;
  struct note {
    tk::arrays operator()(const tk::arrays& in) const {
      if (const tk::vec<char>* const n = tk::current_context.implementations) names.assign(n->begin(), n->end());
      return in;
    }
  };
  const auto f =
      tk::jit([](const array& x) { return tk::pure_callback(note(), {x.type()}, {x})[0]; }, tk::far_device(1));
  const array x = tk::device_put(array::from<float>({1, 2}), tk::far_device(1));
  tk::block_until_ready(f(x));
  CHECK(names == "");
  array y;
  tk::far_device(1).delay(1, 20000);
  {
    const tk::use_implementation asked("softmax", "compose");
    y = f(x);
  }
  tk::block_until_ready(y);
  tk::far_device(1).delay(1, 0);
  CHECK(names == "softmax=compose");
}
