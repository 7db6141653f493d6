// examples/21_broken_kernels.cpp: kernels with a mistake each, and what a check says. New here: kernel_mistake, text().
#include <tokamax/kernel.hpp>
#include <tokamax/kernel/check/check_kernel.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

#include <string_view>

namespace tk = tokamax;
using tk::array;

// A product in blocks of 4 x 4, as in lesson 18. `break_it` makes one mistake. On a machine each of them may go well for
// months: memory that nobody wrote may hold zeros, and a copy may be in time.
enum class mistake { none, no_zero, early_result, shared_sum, wrong_block };

array product(const array& x, const array& w, mistake break_it) {
  const auto m = x.extent(0), n = w.extent(1), k = x.extent(1), b = std::int64_t{4};
  const auto body = [=](auto& p, auto& xb, auto& wb, auto& out, auto& sum) {
    const array step = p.program_id(2);
    if (break_it != mistake::no_zero) p.when(step == 0, [&] { sum.set(0.0f); });
    sum += tk::matmul(xb.get(), wb.get());
    const int last = static_cast<int>(k / b) - (break_it == mistake::early_result ? 0 : 1);
    p.when(step == last, [&] { out.set(sum.get()); });
  };
  const tk::block_spec left{{b, b}, {0, 2}}, beyond{{b, b}, {}, [](const tk::arrays& i) -> tk::arrays {
                                                      return {i[0], i[2] + 1};  // one too far
                                                    }};
  using enum tk::dimension_semantics;
  tk::kernel_options options{.grid = {m / b, n / b, k / b},
                             .in = {break_it == mistake::wrong_block ? beyond : left, {{b, b}, {2, 1}}},
                             .out = {{{tk::f32, false, {m, n}}, {{b, b}, {0, 1}}}},
                             .scratch = {{{tk::f32, false, {b, b}}}},
                             .semantics = {parallel, parallel}};
  if (break_it == mistake::shared_sum) options.semantics = {parallel, parallel, parallel};
  return tk::kernel_call(body, options)(x, w);
}

// Copies that a kernel makes itself: rows come in while the ones before are doubled.
enum class slip { none, no_wait, same_buffer, lost_copy };

array doubled(const array& x, slip make) {
  const auto parts = static_cast<int>(x.extent(0) / 4);
  const auto body = [=](auto& p, auto& in, auto& out) {
    p.run_scoped({{{tk::f32, false, {2, 4, 8}}}, tk::semaphores({2})}, [&](auto& buffer, auto& arrived) {
      const auto fetch = [&](const array& i) {
        const array slot = tk::rem(i, 2);
        return tk::make_async_copy(in.at({tk::ds(i * 4, 4)}), buffer.at({make == slip::same_buffer ? array(0) : slot}),
                                   arrived.at({slot}));
      };
      fetch(array(0)).start();
      p.fori_loop(0, parts, [&](const array& i) {
        p.when(i + 1 < parts, [&] { fetch(i + 1).start(); });
        if (make != slip::no_wait) fetch(i).wait();
        const array slot = make == slip::same_buffer ? array(0) : tk::rem(i, 2);
        out.set(tk::reshape(buffer.get({slot}), {4, 8}) * 2.0f, {tk::ds(i * 4, 4)});
      });
      if (make == slip::lost_copy) fetch(array(0)).start();
    });
  };
  return tk::kernel_call(body, {.in = {{.space = tk::memory_space::any}}, .out = {{x.type()}}})(x);
}

// The first line of a check: the kind of mistake, the line that notices it, and the other line that takes part.
void show(std::string_view name, const tk::kernel_report& r) {
  const std::string text = r.text();
  fmt::print("{:<13} {}\n", name, text.empty() ? "nothing to say" : text.substr(0, text.find('\n')));
}

int main() {
  const auto noise = [](int seed, const tk::shape& s) { return tk::random::normal(tk::random::key(seed), s); };
  const array x = noise(1, {8, 8}), w = noise(2, {8, 8}), rows = noise(3, {16, 8});
  const auto check = [&](mistake m) {
    return tk::check_kernel([m](const array& a, const array& b) { return product(a, b, m); }, x, w);
  };
  show("right:", check(mistake::none));
  show("no zero:", check(mistake::no_zero));
  show("no result:", check(mistake::early_result));
  show("shared sum:", check(mistake::shared_sum));
  show("wrong block:", check(mistake::wrong_block));
  const auto copies = [&](slip s) { return tk::check_kernel([s](const array& a) { return doubled(a, s); }, rows); };
  show("right:", copies(slip::none));
  show("no wait:", copies(slip::no_wait));
  show("same buffer:", copies(slip::same_buffer));
  show("lost copy:", copies(slip::lost_copy));
}
