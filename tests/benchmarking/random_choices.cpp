// tests/benchmarking/random_choices.cpp: whatever a tuned cache says is the fastest, the result is the same within rounding.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/benchmarking/autotune.hpp>
#include <tokamax/benchmarking/autotuning_file.hpp>
#include <tokamax/benchmarking/diff_summary.hpp>
#include <tokamax/tokamax.hpp>

#include <random>
#include <set>

#include "support/catch.hpp"
#include "support/steps_of.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::steps_of;

namespace {

struct inputs {
  array x;              // [B, T, 2 H], the heads 2 and H
  array square, gated;  // [2 H, 2 H] and [2 H, 2, 2 H]
};

// A function of inputs by `length` random ops that have implementations to choose among. Each value has the shape of x, and
// values of one size, so that rounding stays small.
struct random_model {
  unsigned seed = 0;
  int length = 6;

  array operator()(const inputs& in) const {
    std::mt19937 random(seed);
    array y = in.x;
    for (int i = 0; i < length; ++i) y = y + next(random() % 12, y, in);
    return tk::tanh(y);  // a norm here would leave no gradient, because the cotangent is the result
  }

 private:
  static array next(unsigned which, const array& y, const inputs& in) {
    const std::int64_t b = y.extent(0), t = y.extent(1), h = y.extent(2) / 2;
    const array heads = tk::reshape(y, {b, t, 2, h});
    const auto joined = [&](const array& a) { return tk::reshape(a, {b, t, 2 * h}); };
    switch (which) {
      case 0:
        return tk::layer_norm(y);
      case 1:
        return tk::rms_norm(y);
      case 2:
        return tk::softmax(y);
      case 3:
        return joined(tk::dot_product_attention(heads, heads, heads, {.is_causal = true}));
      case 4:
        return joined(
            tk::dot_product_attention(heads, heads, heads, {.local_window_size = {1, 2}, .logits_soft_cap = 5}));
      case 5:
        return tk::matmul(y, in.square) * 0.2f;
      case 6:
        return tk::cumsum(y, 1) * 0.1f;
      case 7:
        return joined(tk::rotary_embedding(heads, tk::arange(t)));
      case 8:
        return tk::gated_linear_unit(tk::rms_norm(y), in.gated, [](const array& v) { return tk::silu(v); }) * 0.1f;
      case 9:
        return y - tk::max(y, {{1}, true});
      case 10:
        return tk::mean(tk::softmax_cross_entropy(y, tk::zeros({b, t}, tk::i32))) * y * 0.1f;
      default:
        return tk::matmul(tk::softmax(tk::matmul(y, tk::swapaxes(y, 1, 2)) * 0.1f), y);
    }
  }
};

inputs random_inputs(unsigned seed) {
  std::mt19937 random(seed);
  const auto upto = [&](unsigned n) { return static_cast<std::int64_t>(1 + random() % n); };
  const std::int64_t b = upto(3), t = upto(20), c = 4 * upto(10);
  const auto [a, rest] = tk::random::split(tk::random::key(seed));
  const auto [k, l] = tk::random::split(rest);
  const double scale = 1 / std::sqrt(static_cast<double>(c));
  return {tk::random::normal(a, {b, t, c}), tk::random::normal(k, {c, c}) * scale,
          tk::random::normal(l, {c, 2, c}) * scale};
}

// A cache that names an arbitrary implementation of each call the fastest. Counts those that are not the kernel.
tk::autotuning_result random_cache(tk::autotuning_result r, std::mt19937& random, int& others) {
  for (tk::tuned_call& c : r.calls) {
    for (tk::implementation_times& i : c.implementations)
      if (i.failure.empty()) i.evaluation_times_ms = {static_cast<double>(10 + random() % 100)};
    others += c.fastest() != "kernel";
  }
  return tk::autotuning_result_from_json(tk::to_json(r));  // as a file would hold it
}

// The largest difference of two trees, beside the largest element of each array.
template <class Tree>
double difference(const Tree& found, const Tree& expected) {
  double most = 0;
  const tk::arrays a = tk::leaves(found), b = tk::leaves(expected);
  for (int i = 0; i < a.count(); ++i) {
    const auto summary = tk::array_diff_summary(b[i], a[i]);
    const auto [wanted, other] = summary.max_absolute_diff_values;
    const double size = tk::max(tk::abs(b[i])).item();
    most = std::max(most, std::abs(wanted - other) / std::max(1e-3, size));
  }
  return most;
}

}  // namespace

TEST_CASE("random choices of implementations change what runs, and no result, of random programs and their gradients") {
  std::set<std::string> tried;
  for (unsigned seed = 1; seed <= 24; ++seed) {
    INFO("seed " << seed);
    const inputs in = random_inputs(seed);
    const auto s = tk::standardize_function<tk::benchmark_mode::forward_and_vjp>(random_model{seed}, in);
    const auto run = tk::jit(s.function, tk::cpu, tk::at_run_time);
    const auto expected = run(in);
    const tk::autotuning_result tuned = tk::autotune(run, {.iterations = 1, .sample_ms = 0}, in);
    REQUIRE(!tuned.calls.empty());
    std::mt19937 random(seed);
    for (int draw = 0; draw < 4; ++draw) {
      int others = 0;
      const tk::autotuning_result cache = random_cache(tuned, random, others);
      const tk::autotuning_scope scope(cache);
      CHECK(difference(run(in), expected) < 2e-4);
      CHECK((steps_of(run, in).find("by compose") != std::string::npos) == (others > 0));
      for (const tk::tuned_call& c : cache.calls)
        tried.insert(c.call.substr(0, c.call.find('(')) + " by " + std::string(c.fastest()));
    }
    CHECK(difference(run(in), expected) == 0);  // nothing is left of the scopes
  }
  for (const char* op : {"layer_norm", "layer_norm_vjp", "rms_norm", "rms_norm_vjp", "softmax", "softmax_vjp",
                         "attention", "attention_vjp", "rotary_embedding", "cross_entropy"})
    for (const char* by : {" by kernel", " by compose"}) {
      INFO(op << by);
      CHECK(tried.count(std::string(op) + by) == 1);
    }
}
