// tests/kernel/semaphore.cpp: signals and waits, their counts, and what check_kernel finds.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel.hpp>
#include <tokamax/kernel/check/check_kernel.hpp>
#include <tokamax/lax/reduce.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/threads.hpp"

#include "checked_kernels.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
enum class signal_bug { none, no_signal, one_too_few, one_too_many, other_semaphore, next_step };

/// Each step signals semaphore `i % 2` i + 1 times in a loop, and then waits for all of them and adds what is left to its block.
arrays handed_on(const arrays& a, signal_bug bug = signal_bug::none, bool parallel_steps = false) {
  using enum signal_bug;
  const std::int64_t n = a[0].extent(0);
  const auto body = [=](const auto& p, const auto& x, const auto& o, const auto& ready) {
    const array i = p.program_id(0), slot = rem(i, 2);
    if (bug == next_step) p.when(i > 0, [&] { semaphore_wait(ready.at({rem(i + 1, 2)})); });
    if (bug != no_signal)
      p.fori_loop(0,
                  i + (bug == one_too_few    ? 0
                       : bug == one_too_many ? 2
                                             : 1),
                  [&](const array&) { semaphore_signal(ready.at({bug == other_semaphore ? rem(i + 1, 2) : slot})); });
    if (bug == next_step)
      p.when(i > 0, [&] { semaphore_wait(ready.at({slot}), i); });
    else
      semaphore_wait(ready.at({slot}), i + 1);
    o.set(x.get() + astype(semaphore_read(ready.at({slot})), f32));
    if (bug == next_step) p.when(i == static_cast<std::int32_t>(n - 1), [&] { semaphore_wait(ready.at({slot})); });
  };
  kernel_options options{
      .grid = {n}, .in = {{{squeezed}, {0}}}, .out = {{a[0].type(), {{squeezed}, {0}}}}, .scratch = {semaphores({2})}};
  if (parallel_steps) options.semantics = {parallel};
  return kernel_call(body, options)(a[0]);
}
kernel_report report_of(const array& x, signal_bug bug, copy_mode mode, bool parallel_steps = false) {
  return check_kernel(
      kernel_check_options{.copies = mode, .seed = 1},
      [=](const array& v) { return array(handed_on({v}, bug, parallel_steps)[0]); }, x);
}
/// A kernel of one step on semaphores of its own.
template <class F>
array one_step(const F& f) {
  return kernel_call(
      [=](const auto& p, const auto& o) {
        p.run_scoped({semaphores(), semaphores({3})}, [&](auto& one, auto& several) { f(p, one, several, o); });
      },
      {.out = {{{i32, false, {}}}}})();
}
constexpr copy_mode modes[] = {copy_mode::eager, copy_mode::on_wait, copy_mode::torn};
}  // namespace

TEST_CASE("signals add up, and waits take from them") {
  const auto read = [](int signals, int first_wait, int second_wait) {
    return one_step([=](const auto&, auto& one, auto& several, const auto& o) {
             for (int i = 0; i < signals; ++i) semaphore_signal(several.at({1}));
             semaphore_signal(one, array(3));
             semaphore_wait(one, array(first_wait));
             semaphore_wait(several.at({1}), array(second_wait));
             o.set(semaphore_read(one) * 100 + semaphore_read(several.at({1})) * 10 + semaphore_read(several.at({0})));
           })
        .item<std::int32_t>();
  };
  CHECK(read(2, 1, 1) == 210);
  CHECK(read(2, 3, 2) == 0);
  CHECK(read(5, 2, 1) == 140);
  const array x = noise({5}, 1);
  CHECK(bit_difference(listed(handed_on({x})), {x}) == "");
  check_function([](const arrays& a) { return handed_on(a); }, {x}, {.differentiate = false});
  check_same_bits([](const arrays& a) { return handed_on(a, signal_bug::none, true); }, {x});
}

TEST_CASE("semaphore_signal and semaphore_wait leave special values alone") {
  for (const array& x : {adversarial({7}, 3, f32), specials(f32, 21)})
    check_adversarial([](const arrays& a) { return handed_on(a); }, {x});
}

TEST_CASE("a wait for more than anything adds is refused where the counts are known") {
  const auto run = [](int signals, int wait) {
    return one_step([=](const auto&, auto& one, auto&, const auto& o) {
      for (int i = 0; i < signals; ++i) semaphore_signal(one);
      semaphore_wait(one, array(wait));
      o.set(semaphore_read(one));
    });
  };
  CHECK(run(3, 2).item<std::int32_t>() == 1);
  CHECK_THROWS_WITH(run(0, 1), contains("semaphore_wait: count: found 0, and nothing adds to it, expected at least 1"));
  CHECK_THROWS_WITH(run(3, 4), contains("semaphore_wait: count: found 3, and nothing adds to it, expected at least 4"));
  CHECK_THROWS_WITH(run(1, 0), contains("semaphore_wait: count: found 0, expected at least 1"));
  const auto signal = [](std::int32_t n, bool several) {
    return one_step([=](const auto&, auto& one, auto& all, const auto& o) {
      semaphore_signal(several ? all : one, array(n));
      o.set(0);
    });
  };
  CHECK_THROWS_WITH(signal(-1, false), contains("semaphore_signal: count: found -1, expected at least 1"));
  CHECK_THROWS_WITH(signal(1, true), contains("semaphore_signal: semaphore: found i32[3], expected one semaphore"));
  CHECK_THROWS_WITH(
      kernel_call([](const auto&, const auto& o) { semaphore_signal(o); }, {.out = {{{i32, false, {}}}}})(),
      contains("semaphore_signal: semaphore: found i32[]"));
}
TEST_CASE("check_kernel finds waits that nothing ends, and semaphores that are not zero at the end", "[check]") {
  const array x = noise({5}, 1);
  struct row {
    signal_bug bug;
    bool parallel_steps;
    const char* expected;
  };
  using enum signal_bug;
  for (const row& r : {row{none, false, ""},
                       {none, true, ""},
                       {next_step, false, ""},
                       {no_signal, false, "wait without start"},
                       {one_too_few, false, "wait without start"},
                       {other_semaphore, false, "wait without start"},
                       {one_too_many, false, "semaphore not zero"},
                       {next_step, true, "wait without start"}})  // parallel steps share no semaphores
    for (const copy_mode mode : modes) {
      INFO(static_cast<int>(r.bug) << ", mode " << static_cast<int>(mode));
      const kernel_report found = report_of(x, r.bug, mode, r.parallel_steps);
      if (*r.expected)
        CHECK_THAT(found.text(), contains(r.expected));
      else
        CHECK(found.text() == "");
      if (r.bug == none) CHECK(bit_difference({found.results[0]}, {x}) == "");
    }
  const std::string text = report_of(x, one_too_few, copy_mode::torn).text();
  CHECK_THAT(text, contains("semaphore.cpp:") &&
                       contains("scratch memory 0 i32[2] [0:1] for 1, and nothing adds to 0") &&
                       contains("in step (0)"));
}
TEST_CASE("a signal on the semaphore of a copy proves nothing about the copy", "[check]") {
  const auto copied = [](const array& x, bool signals) {
    const auto body = [=](const auto& p, const auto& in, const auto& out) {
      p.run_scoped({{{f32, false, {4}}}, semaphores()}, [&](auto& here, auto& arrived) {
        const auto copy = make_async_copy(in, here, arrived);
        if (signals) semaphore_signal(arrived, array(16));
        copy.start();
        copy.wait();
        out.set(here.get());
        if (signals) semaphore_wait(arrived, array(16));
      });
    };
    return kernel_call(body, {.in = {outside}, .out = {{x.type()}}})(x);
  };
  for (const copy_mode mode : modes) {
    const auto run = [&](bool signals) {
      return check_kernel(
                 kernel_check_options{.copies = mode}, [=](const array& x) { return copied(x, signals); },
                 noise({4}, 1))
          .text();
    };
    CHECK(run(false) == "");
    CHECK_THAT(run(true), contains("read before wait"));
  }
}
