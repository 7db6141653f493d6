// tests/backend/far/device.cpp: what must hold on any device, on one whose memory the host cannot touch.
#include <tokamax/backend/far/device.hpp>

#include <tokamax/backend/far.hpp>
#include <tokamax/profile/timeline.hpp>
#include <tokamax/tokamax.hpp>

#include <thread>

#include <unistd.h>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/kernel_sources.hpp"
#include "support/used_at_rest.hpp"

namespace tk = tokamax;
using tk::array;
using tokamax::test::used_at_rest;

namespace {

using vector = tk::tensor<tk::f32, 100>;
using matrix = tk::tensor<tk::f32, 8, 8>;

array ramp(const tk::shape& s) { return tk::reshape(tk::iota(tk::f32, {tk::size(s)}, 0) * 0.25f - 3.0f, s); }
bool same_bits(const array& a, const array& b) {
  return a.type() == b.type() &&
         std::memcmp(a.bytes(), b.bytes(), static_cast<std::size_t>(a.size() * tk::size_of(a.dtype()))) == 0;
}
/// Can the host read there? The kernel says so without a trap.
bool readable(const void* p) {
  int ends[2];
  if (::pipe(ends) != 0) return true;
  const bool read = ::write(ends[1], p, 1) == 1;
  ::close(ends[0]);
  ::close(ends[1]);
  return read;
}

constexpr auto layer = [](const matrix& w, const vector& x) {
  const array y = tk::tanh(tk::matmul(tk::slice_in_dim(tk::reshape(x, {10, 10}), 0, 8, 1), w));
  return tk::sum(y * y, {{1}}) + tk::iota(tk::f32, {10}, 0);
};
constexpr auto total = [](const matrix& w, const vector& x) { return tk::sum(layer(w, x)); };

/// Each of four devices waits here until the others have come.
std::atomic<int> arrived = 0;
inline constexpr tk::op meet_p{.name = "meet",
                               .effect = tk::effect_kind::ordered,
                               .infer_all = [](const tk::call& c) -> tk::types { return {c[0].type()}; },
                               .run =
                                   [](const tk::kernel_arguments& a) {
                                     ++arrived;
                                     for (int i = 0; arrived < 4 && i < 20000; ++i)
                                       std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                     for (std::int64_t i = 0; i < a.out[0].size(); ++i)
                                       a.out[0].as<float>()[i] = a.in[0].as<float>()[i] + static_cast<float>(arrived);
                                   }};
/// Waits here until a test opens the gate.
std::atomic<bool> is_open = false;
inline constexpr tk::op gate_p{.name = "gate",
                               .effect = tk::effect_kind::ordered,
                               .infer_all = [](const tk::call& c) -> tk::types { return {c[0].type()}; },
                               .run =
                                   [](const tk::kernel_arguments& a) {
                                     for (int i = 0; !is_open && i < 20000; ++i)
                                       std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                     for (std::int64_t i = 0; i < a.out[0].size(); ++i)
                                       a.out[0].as<float>()[i] = a.in[0].as<float>()[i] + 1.0f;
                                   }};
constexpr auto gated = [](const vector& x) {
  return tk::bind_all(gate_p, &x, 1, tk::words{}, tk::location{})[0] * 2.0f;
};

constexpr auto meeting = [](const vector& x) {
  const array y = x * 2.0f;
  return tk::bind_all(meet_p, &y, 1, tk::words{}, tk::location{})[0] * 10.0f;
};

}  // namespace

TEST_CASE("a far device's memory is closed to the host, and data comes home") {
  const tk::far_device far(1);
  const array x = ramp({100}), there = tk::device_put(x, far);
  CHECK(&x.device() == &tk::cpu.get());
  CHECK(there.device().name() == "far:1");
  CHECK(readable(x.storage()->data));
  CHECK(!readable(there.storage()->data));
  CHECK(same_bits(there, x));
  CHECK(tk::sum(there).item() == tk::sum(x).item());
  array written = there;
  written.mutable_data<float>()[0] = 7;
  CHECK(&written.device() == &tk::cpu.get());
  CHECK(there.data<float>()[0] == -3.0f);
  const array back = tk::device_put(there, tk::cpu), empty = tk::device_put(array::from<float>({}), far);
  CHECK(&back.device() == &tk::cpu.get());
  CHECK(same_bits(back, x));
  CHECK(empty.values<float>().empty());
}

TEST_CASE("programs and eager calls run where their arguments lie, with the same bits") {
  const tk::far_device far(1);
  far.delay(3, 200);
  const matrix w(ramp({8, 8}));
  const vector x(ramp({100}));
  const auto [far_w, far_x] = tk::device_put(std::pair(w, x), far);
  const array expected = layer(w, x);
  const auto gradient = tk::grad(total);
  for (int round = 0; round < 3; ++round) {
    const array eager = layer(far_w, far_x);
    CHECK(eager.device().name() == "far:1");
    CHECK(same_bits(eager, expected));
    CHECK(same_bits(tk::jit(layer, far, tk::while_compiling)(far_w, far_x), expected));
    CHECK(same_bits(tk::jit(layer, far, tk::at_run_time)(far_w, far_x), expected));
    CHECK(same_bits(tk::jit(layer, far)(w, x), expected));  // data of the host follows
    CHECK(same_bits(gradient(far_w, far_x), gradient(w, x)));
    CHECK(same_bits(far_x + x, x + x));
  }
  const array captured = ramp({100}), scale(2.0f);
  const auto closed = tk::jit([&](const array& a) { return a * captured; }, far, tk::at_run_time);
  for (int round = 0; round < 2; ++round) CHECK(same_bits(closed(far_x), x * captured));
  CHECK(same_bits(closed(scale), captured * 2.0f));  // a literal
  far.delay(0, 0);
}

TEST_CASE("kernels that are written once run where their arguments lie, with the same bits") {
  const tk::far_device far(11);
  for (const auto& s : tk::test::sources::all([](const tk::shape& e) { return tk::sin(ramp(e)); })) {
    CAPTURE(s.name);
    tk::arrays there;
    for (const array& x : s.in) there.push_back(tk::device_put(x, far));
    CHECK(same_bits(tk::device_put(s.kernel(there), tk::cpu), s.kernel(s.in)));
  }
}

TEST_CASE("loops and donation on a far device") {
  const tk::far_device far(1);
  const auto steps = tk::jit(
      [](const array& x) {
        const auto body = [](const array& c, const array& v) { return std::pair(c * 0.5f + v, c); };
        const auto [last, all] = tk::scan(body, tk::zeros({4}), tk::reshape(x, {25, 4}));
        return last + tk::sum(all, {{0}});
      },
      far);
  const array x = ramp({100});
  const auto here = tk::jit(
      [](const array& v) {
        const auto body = [](const array& c, const array& u) { return std::pair(c * 0.5f + u, c); };
        const auto [last, all] = tk::scan(body, tk::zeros({4}), tk::reshape(v, {25, 4}));
        return last + tk::sum(all, {{0}});
      },
      tk::cpu);
  CHECK(same_bits(steps(tk::device_put(x, far)), here(x)));
  const auto next = tk::jit([](const vector& v) { return v + 1.0f; }, far);
  array state = tk::device_put(x, far);
  for (int i = 0; i < 5; ++i) {
    state = next(vector(std::move(state)));
    const float first = state.data<float>()[0];  // and its copy here does not stay when the buffer is written over
    CHECK(first == -2.0f + static_cast<float>(i));
  }
}

TEST_CASE("a recording has the steps of a queue, with the device and its time") {
  const tk::far_device far(1);
  far.delay(5, 300);
  const auto [w, x] = tk::device_put(std::pair(matrix(ramp({8, 8})), vector(ramp({100}))), far);
  const auto known = tk::jit(layer, far, tk::while_compiling);
  tk::block_until_ready(known(w, x));
  array unfinished;
  {
    const tk::profile::timeline recording;
    tk::block_until_ready(known(w, x));
    const std::size_t steps = recording.events().size();
    CHECK(steps >= 3);
    tk::block_until_ready(x + x);  // an eager op
    REQUIRE(recording.events().size() == steps + 1);
    CHECK(recording.events().back().name == "loop [100] add");
    std::int64_t last = 0;
    for (const auto& e : recording.events()) {
      CHECK(e.device == "far:1");
      CHECK(e.begin >= last);
      last = e.begin + e.duration;
    }
    unfinished = known(w, x);
  }
  tk::block_until_ready(unfinished);  // its steps may end after the recording
  far.delay(0, 0);
}

TEST_CASE("arrays of several devices do not mix") {
  const tk::far_device one(1), two(2);
  const vector a(tk::device_put(ramp({100}), one)), b(tk::device_put(ramp({100}), two));
  CHECK_THROWS_WITH(a + b, contains("device: operands of add: found far:1 and far:2"));
  CHECK_THROWS_WITH(tk::jit([](const vector& x) { return x * 2.0f; }, two)(a),
                    contains("jit: device of an argument: found far:1, expected far:2"));
  CHECK_THROWS_WITH(tk::jit([](const vector& x) { return x * 2.0f; }, tk::cpu)(a), contains("expected cpu"));
  CHECK(same_bits(a + tk::device_put(b, one), a + a));
}

TEST_CASE("four devices run one program at the same time") {
  for (const auto when : {0, 1}) {
    arrived = 0;
    const vector x(ramp({100}));
    std::vector<array> results;
    for (int n = 3; n < 7; ++n) {
      const tk::far_device far(n);
      far.delay(static_cast<unsigned>(n), 100);
      if (when == 0)
        results.push_back(tk::jit(meeting, far, tk::while_compiling)(x));
      else
        results.push_back(tk::jit(meeting, far, tk::at_run_time)(x));
    }
    for (const array& y : tk::block_until_ready(results)) CHECK(same_bits(y, (x * 2.0f + 4.0f) * 10.0f));
  }
}

TEST_CASE("arrays go from one far device to another while the host and both queues do other work") {
  const tk::far_device one(20), two(21);
  one.delay(20, 300);
  two.delay(21, 300);
  const vector x(ramp({100}));
  const auto twice = [](const vector& v) { return v * 2.0f; };
  array there, further, back;
  is_open = false;
  {
    vector made(tk::jit(gated, one)(x));
    there = tk::device_put(made, two);
    const auto* const memory = made.storage()->data;
    const array next = tk::jit(twice, one)(std::move(made));  // it may not be written over what the copy will read
    CHECK(next.storage()->data != memory);
    further = tk::jit(twice, two)(vector(there));
    back = tk::device_put(further, one);
  }
  const tk::far_device three(22);  // its queue has no copy to wait for
  const array unrelated = tk::device_put(tk::device_put(x, three), three);
  CHECK(same_bits(unrelated, x));
  CHECK(!there.storage()->ready->is_done());
  is_open = true;
  const array expected = (x + 1.0f) * 2.0f;
  CHECK(there.device().name() == "far:21");
  CHECK(same_bits(there, expected));
  CHECK(same_bits(further, expected * 2.0f));
  CHECK(same_bits(back, expected * 2.0f));

  // Copies have a queue of their own: while one waits, the device runs programs.
  is_open = false;
  const array waits = tk::device_put(tk::jit(gated, one)(x), two);
  CHECK(same_bits(tk::jit(twice, two)(vector(tk::device_put(x, two))), x * 2.0f));
  CHECK(!waits.storage()->ready->is_done());
  is_open = true;
  CHECK(same_bits(waits, expected));
}

TEST_CASE("a queue waits for the event of another one, and the host does not") {
  const tk::far_device one(20), two(21);
  const vector x(ramp({100})), there(tk::device_put(x, two));
  const auto twice = tk::jit([](const vector& v) { return v * 2.0f; }, two);
  is_open = false;
  const array made = tk::jit(gated, one)(x), before = twice(there);
  made.storage()->ready->precede(two.get());
  const array after = twice(there);
  tk::block_until_ready(before);
  CHECK(!after.storage()->ready->is_done());
  CHECK(!made.storage()->ready->is_done());
  is_open = true;
  CHECK(same_bits(after, x * 2.0f));
  CHECK(made.storage()->ready->is_done());
}

TEST_CASE("parts of blocks go to places of others") {
  const tk::far_device one(20), two(21);
  const array x = ramp({100}), on_one = tk::device_put(x, one);
  const auto device_of = [](const array& a) -> tk::device& { return a.device(); };
  const array on_two = tk::device_put(x, two);
  array to[] = {array::uninitialized({tk::f32, false, {60}}, one.get()), array::uninitialized({tk::f32, false, {60}})};
  for (const array& from : {on_one, on_two, x})
    for (array& target : to) {
      for (std::size_t k = 0; k < 3; ++k)
        device_of(target).copy_from(target.storage(), from.storage(), {80, 320 - 160 * k, 80 * k});
      device_of(target).copy_from(target.storage(), from.storage(), {0, 400, 240});
      const array found = tk::device_put(target, tk::cpu);
      for (std::size_t i = 0; i < 60; ++i)
        CHECK(found.values<float>()[i] == x.values<float>()[80 - 40 * (i / 20) + i % 20]);
    }
  CHECK_THROWS_WITH(
      one.get().copy_from(to[0].storage(), on_two.storage(), {8, 396, 0}),
      contains("device: copy: found 8 bytes from byte 396 on, expected 400 bytes, which the block has that is read"));
  CHECK_THROWS_WITH(one.get().copy_from(to[0].storage(), x.storage(), {8, 0, 236}), contains("that is written"));
  CHECK_THROWS_WITH(one.get().copy_from(to[0].storage(), on_two.storage(), {std::size_t(-8), 16, 0}),
                    contains("that is read"));
}

TEST_CASE("a part is written after the work that the device was given before") {
  const tk::far_device one(20), two(21);
  const vector x(ramp({100})), there(tk::device_put(x, two));
  const array from = tk::device_put(x, one);
  is_open = false;
  const array reads = tk::jit(gated, two)(there);
  two.get().copy_from(there.storage(), from.storage(), {200, 200, 0});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(!there.storage()->ready->is_done());
  is_open = true;
  CHECK(same_bits(reads, (x + 1.0f) * 2.0f));
  CHECK(there.data<float>()[0] == x.data<float>()[50]);
  CHECK(there.data<float>()[99] == x.data<float>()[99]);
}

TEST_CASE("four devices copy in a ring and cross, with seeded delays, and values arrive as they were") {
  constexpr int devices = 4;
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::vector<vector> ring;
    for (int n = 0; n < devices; ++n) {
      const tk::far_device far(23 + n);
      far.delay(seed + static_cast<unsigned>(n), 400);
      ring.push_back(tk::device_put(vector(ramp({100}) + static_cast<float>(n)), far));
    }
    const auto sum = [](const vector& a, const vector& b) { return a + b; };
    std::vector<vector> sums = ring;
    for (int round = 1; round < devices; ++round) {  // each adds what its neighbour had
      std::vector<vector> next;
      for (int n = 0; n < devices; ++n)
        next.push_back(tk::device_put(ring[static_cast<std::size_t>((n + 1) % devices)], tk::far_device(23 + n)));
      for (int n = 0; n < devices; ++n) {
        const auto at = static_cast<std::size_t>(n);
        sums[at] = tk::jit(sum, tk::far_device(23 + n))(std::move(sums[at]), next[at]);
      }
      ring = std::move(next);
    }
    for (const vector& s : sums) CHECK(s.values<float>()[7] == 4 * (7 * 0.25f - 3.0f) + 6);
  }
}

TEST_CASE("a copy of what failed is an error for who reads it, and other copies go on") {
  const tk::far_device source(30), target(31);
  const vector x(ramp({100})), there(tk::device_put(x, source));
  const auto twice = tk::jit([](const vector& v) { return v * 2.0f; }, source);
  source.fail_step(1);
  const array made = tk::device_put(twice(there), target), sum = made + 1.0f;
  CHECK_THROWS_WITH(tk::block_until_ready(made), contains("device: step: found far:30 failed"));
  CHECK_THROWS_WITH(sum.values<float>(), contains("far:30 failed"));
  CHECK(same_bits(tk::device_put(there, target), x));
  target.fail_step(1);
  CHECK_THROWS_WITH(tk::block_until_ready(tk::device_put(there, target)),
                    contains("device: step: found far:31 failed"));
  CHECK(same_bits(tk::device_put(there, target), x));
  source.lose();
  CHECK_THROWS_WITH(tk::block_until_ready(tk::device_put(there, target)), contains("device: lost: found far:30"));
  CHECK(same_bits(tk::device_put(x, target), x));
}

TEST_CASE("host copies end with their reader") {
  const tk::far_device far(32), other(33);
  tk::buffer_pool& pool = tk::buffer_pool::instance();
  array large = tk::device_put(tk::iota(tk::f32, {std::int64_t{3} << 20}, 0), far);  // 12 MiB
  const array one = tk::device_put(array(3.5f), far);
  far.get().synchronize();
  const std::size_t before = used_at_rest();
  CHECK(one.item() == 3.5f);
  CHECK(tk::sum(large).item() > 0);
  CHECK(tk::device_put(large, tk::cpu).values<float>()[5] == 5.0f);
  CHECK(tk::device_put(large, other).device().name() == "far:33");
  const auto closed = tk::jit([&](const array& a) { return a + large; }, other);
  CHECK(tk::sum(closed(tk::device_put(array(1.0f), other))).item() > 0);
  other.get().synchronize();
  CHECK(used_at_rest() == before);
  array own = large;
  own.mutable_data<float>()[0] = 1;
  CHECK(pool.used_bytes() - before < std::size_t{20} << 20);
  own = {};
  CHECK(used_at_rest() == before);
  CHECK(large.data<float>()[7] == 7.0f);  // a pointer is good as long as the array
  CHECK(pool.used_bytes() > before);
  large = {};
}

TEST_CASE("a failed step and a lost device are named, and others go on") {
  const tk::far_device good(7), bad(8);
  const auto f = [](const tk::far_device& d) {
    return tk::jit([](const vector& x) { return tk::exp(x) + tk::sum(x); }, d);
  };
  const vector x(ramp({100})), there(tk::device_put(x, bad));
  const array expected = f(good)(x);
  bad.fail_step(2);
  const array failed = f(bad)(there), of_failed = failed * 2.0f, later = f(bad)(there);
  CHECK_THROWS_WITH(failed.data<float>(), contains("device: step: found far:8 failed"));
  CHECK_THROWS_WITH(tk::block_until_ready(of_failed), contains("far:8 failed"));
  CHECK(same_bits(later, expected));
  CHECK(same_bits(f(bad)(there), expected));
  bad.delay(1, 3000);
  const array waiting = f(bad)(there);
  bad.lose();
  CHECK_THROWS_WITH(waiting.data<float>(), contains("device: lost: found far:8"));
  CHECK_THROWS_WITH(f(bad)(there), contains("device: lost"));
  CHECK_THROWS_WITH(tk::device_put(x, bad), contains("device: lost"));
  CHECK(same_bits(f(good)(x), expected));
}

TEST_CASE("threads share a far device, and its memory comes back") {
  const tk::far_device far(9);
  far.delay(5, 50);
  const auto f = tk::jit([](const array& x) { return tk::sum(x * x); }, far);
  {
    std::vector<std::thread> threads;
    std::vector<float> sums(4);
    for (std::size_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; ++i)
          sums[t] = f(tk::device_put(tk::ones({static_cast<std::int64_t>(t) + 1}), far)).item();
      });
    for (std::thread& t : threads) t.join();
    for (std::size_t t = 0; t < 4; ++t) CHECK(sums[t] == static_cast<float>(t + 1));
  }
  far.get().synchronize();
  CHECK(far.used_bytes() == 0);
}
