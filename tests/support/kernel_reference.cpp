// tests/support/kernel_reference.cpp: the meaning of kernels: each step on copies of its blocks, in double precision.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel/kernel_rules.hpp>

#include <limits>

#include "support/reference.hpp"

namespace tokamax::test {

namespace {
double unwritten_number(const block_info& b) {
  if (b.space == memory_space::semaphore) return 0;
  return is_floating(b.array.dtype) ? std::numeric_limits<double>::quiet_NaN() : lowest_of(b.array.dtype);
}
/// Calls f(place in the array, place in the block) for the elements of the block at `start` that are inside of the array.
template <class F>
void for_each_inside(const block_info& b, const shape& start, F f) {
  for_each_place(b.block, [&](const shape& at, std::size_t k) {
    std::size_t place = 0;
    for (int i = 0; i < at.rank(); ++i) {
      if (start[i] + at[i] >= b.array.shape[i]) return;
      place = place * static_cast<std::size_t>(b.array.shape[i]) + static_cast<std::size_t>(start[i] + at[i]);
    }
    f(place, k);
  });
}
value filled(const array_type& t, double x) {
  value v = zeros_of(t);
  for (double& e : v.data) e = x;
  return v;
}
}  // namespace

values kernel_call_by_steps(const asked& a) {
  const auto k = unpack<kernel_attributes>(a.g.words_of(a.n));
  const graph &body = a.g.bodies[k.body], &maps = a.g.bodies[k.maps];
  values out, scratch;
  for (int o = 0; o < k.outputs; ++o) {
    const block_info& b = k.output(o);
    out.push_back(b.alias >= 0 ? a.in[static_cast<std::size_t>(b.alias)] : filled(b.array, unwritten_number(b)));
  }
  for (std::int64_t s = 0; s < size(k.grid); ++s) {
    values indices;
    bool first = true;  // of the steps that share scratch memory
    std::int64_t left = s;
    for (int i = k.grid.rank() - 1; i >= 0; left /= k.grid[i--]) {
      indices.insert(indices.begin(), filled({i32, false, {}}, static_cast<double>(left % k.grid[i])));
      first = first && (i < k.parallel || left % k.grid[i] == 0);
    }
    if (first) {
      scratch.clear();
      for (int r = k.inputs + k.outputs; r < k.refs.count(); ++r)
        scratch.push_back(filled(k.refs[r].type(), unwritten_number(k.refs[r])));
    }
    for (int i = 0; i < k.prefetch; ++i) indices.push_back(a.in[static_cast<std::size_t>(i)]);
    const values numbers = evaluate(maps, indices);
    values in = indices;
    std::vector<shape> starts;
    std::size_t mapped = 0;
    for (int r = 0; r < k.inputs + k.outputs; ++r) {
      const block_info& b = k.refs[r];
      shape start;
      for (int i = 0; i < b.block.rank(); ++i) {
        const std::int64_t index = b.index[i];
        const double number = index == block_info::by_map ? numbers[mapped++].data[0]
                              : index < 0                 ? 0
                                                          : indices[static_cast<std::size_t>(index)].data[0];
        start.push_back(static_cast<std::int64_t>(number) * b.unit(i));
      }
      starts.push_back(start);
      const value& from =
          r < k.inputs ? a.in[static_cast<std::size_t>(k.prefetch + r)] : out[static_cast<std::size_t>(r - k.inputs)];
      value block = filled(b.type(), unwritten_number(b));
      for_each_inside(b, start, [&](std::size_t place, std::size_t e) { block.data[e] = from.data[place]; });
      in.push_back(block);
    }
    in.insert(in.end(), scratch.begin(), scratch.end());
    const values results = evaluate(body, in);
    for (int o = 0; o < k.outputs; ++o) {
      const auto at = static_cast<std::size_t>(o);
      for_each_inside(k.output(o), starts[static_cast<std::size_t>(k.inputs + o)],
                      [&](std::size_t place, std::size_t e) { out[at].data[place] = results[at].data[e]; });
    }
    scratch.assign(results.begin() + k.outputs, results.end());
  }
  return out;
}

}  // namespace tokamax::test
