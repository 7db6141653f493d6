// tests/compiler/passes/donate.cpp: chains of updates and carries of loops work on one buffer.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/compiler/passes/donate.hpp>

#include <tokamax/profile/timeline.hpp>
#include <tokamax/tokamax.hpp>

#include "support/byte_count.hpp"
#include "support/catch.hpp"
#include "support/functions.hpp"

using namespace tokamax;

namespace {

using many = std::vector<array>;

array numbers(const shape& s, int seed) { return random::normal(random::key(seed), s); }
array rows_of(std::initializer_list<std::int32_t> list) { return array::from<std::int32_t>(list); }
array copy_of(const array& x) { return array::from<float>(x.values<float>(), x.shape()); }
bool same(const array& a, const array& b) {
  const auto x = a.values<float>(), y = b.values<float>();
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

struct outcome {
  bool right = true;     ///< the results are those of calling op by op, whether x is given away or not, and x is kept
  bool in_place = true;  ///< the first result lies where x lay
  std::int64_t arena = 0;
};
/// f(x, rest) -> list, called with x moved in and with x kept.
template <class F>
outcome run(const F& f, const array& x, const many& rest) {
  const auto jitted = jit(f, cpu, at_run_time);
  const many expected = f(x, rest);
  outcome o;
  for (int i = 0; i < 2; ++i) {
    const array kept = copy_of(x);
    const many y = jitted(kept, rest);
    o.right = o.right && same(kept, x);
    array given = copy_of(x);
    const float* const place = given.template values<float>().data();
    const many z = jitted(std::move(given), rest);
    o.in_place = o.in_place && z[0].template values<float>().data() == place;
    for (std::size_t k = 0; k < expected.size(); ++k)
      o.right = o.right && same(y[k], expected[k]) && same(z[k], expected[k]);
  }
  o.arena =
      detail::owned_program::make(make_graph(f, x, rest), kernel_table_of<cpu_tag>())->tables.regions[0].arena_bytes;
  return o;
}

}  // namespace

TEST_CASE("a slice of an array that is given away is written in place") {
  const auto write = [](const array& x, const many& r) {
    return many{dynamic_update_slice_in_dim(x, r[0], array(5), 0)};
  };
  const outcome o = run(write, numbers({64, 33}, 1), {numbers({3, 33}, 2)});
  CHECK(o.right);
  CHECK(o.in_place);
  CHECK(o.arena <= 128);  // the places, which are scalars
}

TEST_CASE("chains of updates are one buffer") {
  const many rest{rows_of({3, 0, 3, 60}), numbers({4, 33}, 2)};
  const array x = numbers({64, 33}, 1);
  const auto chain = [](const array& a, const many& r) {
    array y = a;
    for (int i = 0; i < 4; ++i) y = scatter_add(y, r[0], r[1]);
    return many{dynamic_update_slice_in_dim(y, r[1], array(9), 0)};
  };
  outcome o = run(chain, x, rest);
  CHECK(o.right);
  CHECK(o.in_place);
  CHECK(o.arena <= 128);                                         // the places, which are scalars
  const auto read_between = [](const array& a, const many& r) {  // the value between two updates is read later
    const array y = scatter_add(a, r[0], r[1]), z = scatter_add(y, r[0], r[1]);
    return many{scatter_add(z, r[0], r[1]), sum(y * 2.0f), y};
  };
  CHECK(run(read_between, x, rest).right);
  const auto read_first = [](const array& a, const many& r) {  // x itself is a result, or read at the end
    const array y = scatter_add(scatter_add(a, r[0], r[1]), r[0], r[1]);
    return many{y, a * 2.0f, sum(y) + sum(a)};
  };
  o = run(read_first, x, rest);
  CHECK(o.right);
  CHECK(!o.in_place);
  const auto twice = [](const array& a, const many& r) {  // two chains begin with x
    return many{scatter_add(scatter_add(a, r[0], r[1]), r[0], r[1]), dynamic_update_slice_in_dim(a, r[1], array(1), 0)};
  };
  CHECK(run(twice, x, rest).right);
  const auto onto_itself = [](const array& a, const many& r) {  // the update is made of the operand
    const array y = scatter_add(a, r[0], slice_in_dim(a, 1, 5, 0));
    return many{dynamic_update_slice_in_dim(y, slice_in_dim(y, 2, 30, 0), array(20), 0)};
  };
  CHECK(run(onto_itself, x, rest).right);
  const auto from_zeros = [](const array& a, const many& r) {
    const array y = scatter_add(scatter_add(zeros({64, 33}), r[0], r[1]), r[0], r[1]);
    return many{y * a, y};
  };
  CHECK(run(from_zeros, x, rest).right);
}

TEST_CASE("a chain of updates goes on through a loop that ends it") {
  const array x = numbers({64, 33}, 1);
  const many rest{numbers({3, 33}, 2), numbers({64, 33}, 3)};
  const auto change = [](const array& a, const many& r) {
    const array y = dynamic_update_slice_in_dim(a, r[0], array(5), 0);
    return many{y * 0.5f + 1.0f};
  };
  const outcome o = run(change, x, rest);
  CHECK(o.right);
  CHECK(o.in_place);
  CHECK(o.arena <= 128);                                 // the places, which are scalars
  const auto kept = [](const array& a, const many& r) {  // what the loop reads is read again
    const array y = dynamic_update_slice_in_dim(a, r[0], array(5), 0), z = y * 0.5f + r[1];
    return many{z, sum(y), y};
  };
  CHECK(run(kept, x, rest).right);
  const auto without = [](const array& a, const many& r) {  // the chain does not begin with what is given away
    const array y = dynamic_update_slice_in_dim(r[1] * 2.0f, r[0], array(5), 0);
    return many{y + a, a * y};
  };
  CHECK(run(without, x, rest).right);
  const auto two = [](const array& a,
                      const many& r) {  // two loops of one kernel, one of which may write over the other's operand
    const array y = dynamic_update_slice_in_dim(a, r[0], array(5), 0);
    return many{y + r[1], y + r[1] * 2.0f, y * 3.0f};
  };
  CHECK(run(two, x, rest).right);
  const auto sums = [](const array& a, const many& r) {  // the sum of a kernel: set in the first step, then added to
    const auto body = [](const array& c, const std::pair<array, array>& v) {
      const array begun =
          cond(v.first == 0.0f, [](const array& s) { return s * 0.0f; }, [](const array& s) { return s; }, c);
      return std::pair{begun + v.second, nothing{}};
    };
    return many{scan(body, a, std::pair{astype(iota(i32, {2}, 0), f32), stack({r[1], r[1] * 2.0f})}).first};
  };
  CHECK(run(sums, x, rest).right);
}

TEST_CASE("several results of a loop lie where what they are made of lay, if nothing reads it elsewhere") {
  const auto momentum = [](const array& a, const many& r) {  // the gradient is read first
    return many{a - 0.1f * (0.9f * r[1] + r[0]), 0.9f * r[1] + r[0]};
  };
  const auto signs = [](const array& a, const many& r) { return many{0.9f * a + r[0], r[1] - sign(a + 0.5f * r[0])}; };
  for (const shape& s : {shape{64, 33}, shape{1}, shape{1, 1}, shape{}, shape{0, 33}}) {
    const many rest{numbers(s, 2), numbers(s, 3)};
    CAPTURE(s);
    for (const outcome& o : {run(momentum, numbers(s, 1), rest), run(signs, numbers(s, 1), rest)}) {
      CHECK(o.right);
      CHECK(o.in_place);
      CHECK(o.arena == 0);
    }
  }
  const auto turned = [](const array& a, const many& r) { return many{a + r[0], transpose(a) * r[0]}; };
  outcome o = run(turned, numbers({40, 40}, 1), {numbers({40, 40}, 2)});
  CHECK(o.right);
  CHECK(!o.in_place);
  const auto backwards = [](const array& a, const many& r) { return many{a + r[0], flip(a, 0) * r[0], a * r[0]}; };
  CHECK(run(backwards, numbers({40}, 1), {numbers({40}, 2)}).right);
  const auto narrow = [](const array& a, const many& r) {  // of another size, so it has memory of its own
    const array m = 0.9f * a + r[0];
    return many{m, astype(astype(m, bf16) * 0.5f, f32), astype(m, bf16)};
  };
  const array x = numbers({40}, 1);
  const many rest{numbers({40}, 2)}, expected = narrow(x, rest);
  array given = copy_of(x);
  const float* const place = given.values<float>().data();
  const many found = jit(narrow, cpu, at_run_time)(std::move(given), rest);
  CHECK(test::bit_difference(found, expected).empty());
  CHECK(found[0].values<float>().data() == place);
}

TEST_CASE("the carry of a loop that updates it stays in place") {
  const array x = numbers({64, 33}, 1);
  const many rest{astype(iota(i32, {8, 4}, 0) * 4 + iota(i32, {8, 4}, 1), i32), numbers({8, 4, 33}, 2)};
  const auto loop = [](const array& a, const many& r) {
    const auto body = [](const array& c, const std::pair<array, array>& v) {
      const array once = scatter_add(c, v.first, v.second);
      return std::pair{dynamic_update_slice_in_dim(once, v.second, array(2), 0), nothing{}};
    };
    return many{scan(body, a, std::pair{r[0], r[1]}).first};
  };
  outcome o = run(loop, x, rest);
  CHECK(o.right);
  CHECK(o.in_place);
  CHECK(o.arena <= 128);                                // the places, which are scalars
  const auto two = [](const array& a, const many& r) {  // two carries that change places, and a third that does not
    using three = std::array<array, 3>;
    const auto body = [](const three& c, const std::pair<array, array>& v) {
      return std::pair{three{c[1], scatter_add(c[0], v.first, v.second), c[2] * 0.5f + 1.0f}, sum(c[2])};
    };
    const auto [end, sums] = scan(body, three{a, a * 2.0f, a}, std::pair{r[0], r[1]});
    return many{end[0], end[1], end[2], sums};
  };
  CHECK(run(two, x, rest).right);
  const auto stacked = [](const array& a, const many& r) {  // the old carry and the new one are results of each step
    const auto body = [](const array& c, const std::pair<array, array>& v) {
      const array next = scatter_add(c, v.first, v.second);
      return std::pair{next, std::pair{sum(c) + sum(next), next}};
    };
    const auto [end, ys] = scan(body, a, std::pair{r[0], r[1]}, {.reverse = true});
    return many{end, ys.first, ys.second};
  };
  CHECK(run(stacked, x, rest).right);
  const auto closed_over = [](const array& a,
                              const many& r) {  // the body also reads the array that the loop began with
    const auto body = [&](const array& c, const std::pair<array, array>& v) {
      return std::pair{scatter_add(c, v.first, v.second) * 0.5f + a, nothing{}};
    };
    const array end = scan(body, a, std::pair{r[0], r[1]}).first;
    return many{scan(body, end, std::pair{r[0], r[1]}).first, sum(a)};
  };
  CHECK(run(closed_over, x, rest).right);
  const auto nested = [](const array& a, const many& r) {
    const auto outer = [](const array& c, const std::pair<array, array>& v) {
      const auto inner = [&](const array& d, const array& u) {
        return std::pair{scatter_add(d, slice_in_dim(v.first, 0, 1, 0), reshape(u, {1, 33})), nothing{}};
      };
      return std::pair{scan(inner, tanh(c), v.second).first, nothing{}};
    };
    return many{scan(outer, a, std::pair{r[0], r[1]}).first};
  };
  CHECK(run(nested, x, rest).right);
}

namespace {
using large = tensor<f32, 4096, 4096>;  // 64 MiB
using row = tensor<f32, 1, 4096>;
using place = tensor<i32>;
constexpr auto update_once = [](const large& c, const row& r, const place& at) {
  return large(dynamic_update_slice_in_dim(c, r, at, 0));
};
constexpr auto update_twelve_times = [](const large& c, const row& r, const place& at) {
  array y = c;
  for (int i = 0; i < 12; ++i) y = dynamic_update_slice_in_dim(y, r, at + 5 * i, 0);
  return large(y);
};
constexpr auto update_in_loop = [](const large& c, const row& r, const place& at) {
  const auto unfinished = [](const std::pair<array, array>& s) { return s.first < 64; };
  const auto step = [&](const std::pair<array, array>& s) {
    return std::pair{s.first + 1, dynamic_update_slice_in_dim(s.second, r, at + s.first, 0)};
  };
  return large(while_loop(unfinished, step, std::pair{array(0), array(c)}).second);
};

/// Bytes that a second run moves beyond `updates` rows, which are read and written; the array stays where it is.
template <class Time, class F>
double moved_beyond(const F& f, int updates, Time time) {
  const auto run = jit(f, cpu, time);
  large c(zeros({4096, 4096}) + 0);
  const row r(numbers({1, 4096}, 1));
  const place at(array(3, {i32, false, {}}));
  c = run(std::move(c), r, at);
  const std::byte* const data = array(c).storage()->data;
  double bytes = 0;
  {
    const profile::timeline recording;
    c = run(std::move(c), r, at);
    for (const profile::event& e : recording.events()) bytes += e.bytes;
  }
  CHECK(array(c).storage()->data == data);
  CHECK(same(slice_in_dim(c, 3, 4, 0), r));
  return bytes - 2.0 * 4 * 4096 * updates;
}
}  // namespace

TEST_CASE("updates of 64 MiB that are given away move what is updated and no more") {
  constexpr double most = 1 << 20;
  CHECK(moved_beyond(update_once, 1, while_compiling) < 4096);
  CHECK(moved_beyond(update_once, 1, at_run_time) < 4096);
  CHECK(moved_beyond(update_twelve_times, 12, while_compiling) < most);
  CHECK(moved_beyond(update_twelve_times, 12, at_run_time) < most);
  CHECK(moved_beyond(update_in_loop, 64, while_compiling) < most);
  CHECK(moved_beyond(update_in_loop, 64, at_run_time) < most);
}

TEST_CASE("the backward pass of a loop with updates") {
  const auto loss = [](const array& a, const many& r) {
    const auto body = [](const array& c, const std::pair<array, array>& v) {
      return std::pair{tanh(scatter_add(c, v.first, v.second)), nothing{}};
    };
    return sum(square(scan(body, a, std::pair{r[0], r[1]}).first));
  };
  const many rest{astype(iota(i32, {8, 4}, 0), i32), numbers({8, 4, 33}, 2)};
  const auto gradient = [&](const array& a, const many& r) {
    return many{grad([&](const array& b) { return loss(b, r); })(a)};
  };
  CHECK(run(gradient, numbers({64, 33}, 1), rest).right);
}

namespace {
template <class F>
double moved(const F& f, array&& cache, const array& update) {
  const auto jitted = jit(f, cpu, at_run_time);
  array given = jitted(std::move(cache), update);
  test::byte_count count;
  const profile::observed_scope scope(&count);
  given = jitted(std::move(given), update);
  return count.bytes;
}
}  // namespace

TEST_CASE("updates of a cache that is given away move the updates alone: chains, loops, branches") {
  const auto write = [](const array& c, const array& u, const array& at) {
    return dynamic_update_slice_in_dim(c, u, at, 0);
  };
  const array update = numbers({4, 256}, 2);
  const auto chain = [&](const array& c, const array& u) {
    array y = c;
    for (int i = 0; i < 12; ++i) y = write(y, u, array(i * 4));
    return y;
  };
  const auto loop = [&](const array& c, const array& u) {
    using state = std::array<array, 2>;
    return while_loop([](const state& s) { return s[0] < 64; },
                      [&](const state& s) { return state{s[0] + 1, write(s[1], u, s[0] * 4)}; }, state{array(0), c})[1];
  };
  const auto branches = [&](const array& c, const array& u) {
    return fori_loop(
        0, 8,
        [&](const array& i, const array& y) {
          return cond(i < 4, [&](const array& z) { return write(z, u, i); }, [](const array& z) { return z; }, y);
        },
        c);
  };
  const auto small = 2.0 * 64 * 4 * 256 * 4 + (1 << 17);
  CHECK(moved(chain, zeros({1024, 256}) + 1.0f, update) < small);
  CHECK(moved(loop, zeros({1024, 256}) + 1.0f, update) < small);
  CHECK(moved(branches, zeros({1024, 256}) + 1.0f, update) < small);
}
