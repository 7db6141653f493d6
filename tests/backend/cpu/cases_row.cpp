// tests/backend/cpu/cases_row.cpp: softmax, normalisations, cross entropy, rotations and attention, and their gradients.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy/arange.hpp>
#include <tokamax/ops/attention.hpp>
#include <tokamax/ops/cross_entropy.hpp>
#include <tokamax/ops/layer_norm.hpp>
#include <tokamax/ops/linear_cross_entropy.hpp>
#include <tokamax/ops/rms_norm.hpp>
#include <tokamax/ops/rotary_embedding.hpp>
#include <tokamax/ops/softmax.hpp>

#include "cases.hpp"

namespace tokamax::test {

namespace {

using case_list = std::vector<adversarial_case>;

/// What of `special` takes the place of `x`, operand `k` of attention, if each query sees it: the first key, the last query.
array where_seen(const array& special, const array& x, std::size_t k) {
  const std::int64_t n = x.extent(1);
  const bool query = k == 0 || k == 3;
  const array there = iota(i32, x.shape(), 1) == array(static_cast<double>(query ? n - 1 : 0), {i32, false, {}});
  return select(there, special, x);
}

/// f of `in`, and the gradient of its first result, special values of up to `most` in one operand at a time; `causal`:
/// where each query of attention sees them.
void add(case_list& cases, const std::string& name, const function& f, const std::vector<array>& in, double tolerance,
         double most, bool causal = false) {
  const dtype t = in[0].dtype();
  const adversarial_options o{.tolerance = t == bf16 ? 1e-2 : tolerance, .floor = 1};
  const function first = [f](const arrays& x) -> arrays { return f(x)[0]; };
  std::vector<array> with_ct = in;
  const graph g = trace(first, types_of(in));
  with_ct.push_back(noise(g[g.outputs[0]].type, 9));
  for (std::size_t k = 0; k < with_ct.size(); ++k) {
    if (!is_floating(with_ct[k].dtype())) continue;
    std::vector<array> special = with_ct;
    const std::string where = name + ", operand " + std::to_string(k);
    const auto specials_up_to = [&](double limit) {
      const array s = sprinkled(with_ct[k].shape(), 3, with_ct[k].dtype(), limit);
      return causal ? where_seen(s, with_ct[k], k) : s;
    };
    special[k] = specials_up_to(10);  // larger ones cancel out in the differences of gradients
    cases.push_back({"vjp of " + where, vjp_of(first, static_cast<int>(in.size())), special, o});
    if (k == in.size()) continue;
    special[k] = specials_up_to(most);
    special.pop_back();
    cases.push_back({where, f, special, o});
  }
}

array labels(std::int64_t n, std::int64_t classes) {
  array a = array::uninitialized({i32, false, {n}});
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t label = i % 11 == 3 ? -1 : i % 11 == 5 ? classes : i % 11 == 7 ? -classes - 1 : i * 5 % classes;
    a.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(label);
  }
  return a;
}

}  // namespace

case_list row_cases() {
  case_list cases;
  for (const dtype t : {f32, bf16}) {
    for (const shape& s : {shape{83, 37}, {83, 1}, {83, 131}, {3, 2053}, {0, 7}}) {
      const array x = noise(s, 4, t), one = noise({s[1]}, 5, t), two = noise({s[1]}, 6, t);
      add(cases, named("softmax", t), [](const arrays& v) -> arrays { return softmax(v[0]); }, {x}, 5e-6, 1e30);
      add(
          cases, named("layer_norm", t), [](const arrays& v) -> arrays { return layer_norm(v[0], v[1], v[2]); },
          {x, one, two}, 5e-5, 1e30);
      add(
          cases, named("rms_norm", t), [](const arrays& v) -> arrays { return rms_norm(v[0], v[1]); }, {x, one}, 2e-5,
          1e30);
      add(
          cases, named("cross_entropy", t), [](const arrays& v) -> arrays { return softmax_cross_entropy(v[0], v[1]); },
          {x, labels(s[0], s[1])}, 5e-6, 1e30);
      for (const bool transposed : {false, true}) {
        const linear_cross_entropy_options o{.transposed = transposed};
        add(
            cases, named("linear_cross_entropy", t),
            [=](const arrays& v) -> arrays { return linear_cross_entropy(v[0], v[1], v[2], o); },
            {noise({s[0], 19}, 4, t), noise(transposed ? shape{s[1], 19} : shape{19, s[1]}, 5, t), labels(s[0], s[1])},
            5e-6, 1e30);
      }
    }
    for (const bool interleaved : {false, true})
      for (const shape& s : {shape{83, 3, 2}, {2, 31, 5, 38}, {3, 7, 1, 66}}) {
        const rotary_embedding_options o{.interleaved = interleaved};
        const array positions = arange(s[-3]) * 1000 - 5000;
        add(
            cases, named("rotary_embedding", t),
            [=](const arrays& v) -> arrays { return rotary_embedding(v[0], v[1], o); }, {noise(s, 4, t), positions},
            5e-6, 1e30);
      }
    for (const bool causal : {false, true})
      for (const auto algorithm : {dot_algorithm::unspecified, dot_algorithm::bf16_bf16_f32}) {
        const attention_attributes o{.causal = causal, .algorithm = algorithm};
        add(
            cases, named("attention", t), [=](const arrays& v) { return attention({v[0], v[1], v[2]}, o); },
            {noise({2, 37, 6, 16}, 1, t), noise({2, 37, 3, 16}, 2, t), noise({2, 37, 3, 16}, 3, t)},
            algorithm == dot_algorithm::unspecified ? 2e-5 : 1e-2, 10, causal);
      }
    add(
        cases, named("attention", t), [=](const arrays& v) { return attention({v[0], v[1], v[2]}, {}); },
        {noise({1, 5, 1, 7}, 1, t), noise({1, 131, 1, 7}, 2, t), noise({1, 131, 1, 7}, 3, t)}, 2e-5, 10);
  }
  return cases;
}

}  // namespace tokamax::test
