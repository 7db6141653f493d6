// examples/20_flash_attention.cpp: attention as a kernel of your own. New here: scratch memory of several kinds, rooflines.
#include <tokamax/backend/systolic/device.hpp>
#include <tokamax/kernel.hpp>
#include <tokamax/kernel/check/check_kernel.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
using tk::array;

// softmax(q k^T) v needs a row of scores for each query. A kernel that sees the keys in blocks never has all of the row, so it
// keeps three things: the largest score so far, the sum of exponentials under it, and the sum of values with these weights.
// When a block brings a larger score, what was summed before is scaled down to it. At the end the sums are divided.
array flash_attention(const array& q, const array& k, const array& v, std::int64_t rows, std::int64_t keys) {
  const std::int64_t heads = q.extent(0), t = q.extent(1), d = q.extent(2);
  const auto body = [=](auto& p, auto& queries, auto& key, auto& value, auto& out, auto& most, auto& total,
                        auto& sums) {
    const array step = p.program_id(2);
    p.when(step == 0, [&] {  // scratch memory holds NaN until it is written
      most.set(-1e30f);
      total.set(0.0f);
      sums.set(0.0f);
    });
    const array scores = tk::matmul(queries.get() * 0.125f, tk::swapaxes(key.get(), 0, 1));  // [rows, keys]
    const array larger = tk::maximum(most.get(), tk::max(scores, {.axis = {1}, .keepdims = true}));
    const array weights = tk::exp(scores - larger), kept = tk::exp(most.get() - larger);
    total.set(total.get() * kept + tk::sum(weights, {.axis = {1}, .keepdims = true}));
    sums.set(sums.get() * kept + tk::matmul(weights, value.get()));
    most.set(larger);
    p.when(step == p.num_programs(2) - 1, [&] { out.set(sums.get() / total.get()); });
  };
  // Step (h, i, j) sees block i of the queries of head h, and block j of its keys. Heads and queries are independent.
  const tk::block_spec of_queries{{tk::squeezed, rows, d}, {0, 1, tk::first_block}};
  const tk::block_spec of_keys{{tk::squeezed, keys, d}, {0, 2, tk::first_block}};
  using enum tk::dimension_semantics;
  return tk::kernel_call(
      body, {.grid = {heads, t / rows, k.extent(1) / keys},
             .in = {of_queries, of_keys, of_keys},
             .out = {{q.type(), of_queries}},
             .scratch = {{{tk::f32, false, {rows, 1}}}, {{tk::f32, false, {rows, 1}}}, {{tk::f32, false, {rows, d}}}},
             .semantics = {parallel, parallel}})(q, k, v);
}
array plain_attention(const array& q, const array& k, const array& v) {
  return tk::matmul(tk::softmax(tk::matmul(q * 0.125f, tk::swapaxes(k, 1, 2))), v);
}

int main() {
  const auto normal = [](int seed) { return tk::random::normal(tk::random::key(seed), {4, 512, 64}); };
  const array q = normal(1), k = normal(2), v = normal(3);
  const auto flash = [](std::int64_t rows, std::int64_t keys) {
    return [=](const array& a, const array& b, const array& c) { return flash_attention(a, b, c, rows, keys); };
  };

  // The same values for all blocks, and no mistake that the checker knows.
  const array expected = plain_attention(q, k, v);
  for (const std::int64_t rows : {64, 128, 256}) {
    const array found = tk::jit(flash(rows, 128), tk::cpu)(q, k, v);
    fmt::print("{:>3} rows: {}\n", rows, tk::max(tk::abs(found - expected)).item() < 1e-5f ? "agrees" : "differs");
  }
  const array part = tk::slice_in_dim(tk::slice_in_dim(q, 0, 64, 1), 0, 1, 0);
  fmt::print("{} problems\n", tk::check_kernel(flash(32, 16), part, part, part).problems.size());

  // What the kernel is for: scores of [512, 512] in four heads never leave the chip.
  const auto on = [&](const auto& f) { return tk::systolic_report(tk::systolic(tk::v5e), f, q, k, v); };
  const auto plain = on(plain_attention);
  fmt::print("plain:       {:>4.1f} MB of HBM, {:>5.0f} us\n", plain.hbm_bytes() * 1e-6, plain.microseconds());
  for (const std::int64_t rows : {64, 128, 256, 512}) {
    const auto r = on(flash(rows, 512));
    fmt::print("{:>3} x 512:   {:>4.1f} MB of HBM, {:>5.0f} us, most is {}\n", rows, r.hbm_bytes() * 1e-6,
               r.microseconds(), name_of(r.stalls().worst()));
  }
}
