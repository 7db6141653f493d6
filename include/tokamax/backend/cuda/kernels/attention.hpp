// tokamax/backend/cuda/kernels/attention.hpp: attention and its gradients by cuDNN, and by compose where it refuses.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/backend/cuda/device.hpp>                       // cuda_tag
#include <tokamax/backend/cuda/kernels/composed.hpp>             // run_composed
#include <tokamax/backend/cuda/kernels/copy.hpp>                 // copy
#include <tokamax/backend/cuda/libraries/attention_library.hpp>  // attention_of
#include <tokamax/ops/attention.hpp>                             // attention_p

#include <span>  // span

namespace tokamax {

namespace cuda_backend {

/// The strides of an operand [B, T, N, H] in the order [B, N, T, H]. False if its features or its address are not aligned.
inline bool head_strides(const array_view& x, cudnn_graph::extents& strides) {
  strides = {x.stride(0), x.stride(2), x.stride(1), x.stride(3)};
  bool fits = x.extent(3) == 1 || x.stride(3) == 1;
  for (int i = 0; i < 3; ++i) fits = fits && (x.extent(i) == 1 || (x.stride(i) > 0 && x.stride(i) % 8 == 0));
  return fits && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

/// The call as the library sees it. False if it does not take such calls: it takes bf16 with heads of 8 to 128 numbers,
/// without bias, mask, ranges, segments, window, soft cap or a cotangent of lse, and backward as many heads of keys as of
/// queries. Results are the same bits in each run, unless TOKAMAX_CUDA_NONDETERMINISTIC is set.
inline bool attention_problem_of(const kernel_arguments& a, bool backward, attention_problem& p) {
  const array_view &q = a.in[0], &k = a.in[1], &v = a.in[2];
  const auto o = a.attrs<attention_attributes>();
  if (q.type != bf16) return false;
  if (o.has_bias || o.has_mask || o.ranges > 0 || o.has_segments || o.has_lse_cotangent) return false;
  if (o.left >= 0 || o.right >= 0 || o.soft_cap != 0) return false;
  p.batch = q.extent(0), p.queries = q.extent(1), p.heads = q.extent(2), p.size = q.extent(3);
  p.keys = k.extent(1), p.kv_heads = k.extent(2);
  p.causal = o.causal;
  p.deterministic = std::getenv("TOKAMAX_CUDA_NONDETERMINISTIC") == nullptr;
  if (q.size() == 0 || k.size() == 0 || p.size % 8 != 0 || p.size > 128) return false;
  if (backward && p.heads != p.kv_heads) return false;
  const auto is_dense = [](const array_view& x) { return is_row_major(x.extents, x.strides); };
  if (!backward && !(is_dense(a.out[1]) && is_dense(a.out[2]))) return false;
  return head_strides(q, p.q) && head_strides(k, p.k) && head_strides(v, p.v) &&
         head_strides(backward ? a.in[3] : a.out[0], p.out) &&
         (!backward || (head_strides(a.in[6], p.ct) && head_strides(a.out[0], p.dq) && head_strides(a.out[1], p.dk) &&
                        head_strides(a.out[2], p.dv)));
}

/// The results by the library. False if it refuses.
inline bool attention_by_library(const kernel_arguments& a) {
  attention_problem p;
  const float scale = static_cast<float>(a.attrs<attention_attributes>().scale),
              hidden = -std::numeric_limits<float>::infinity();
  instance& gpu = instance_of(a);
  const auto arguments = [&](const attention_graph& g, const auto& add) {
    add(g.q, a.in[0].data), add(g.k, a.in[1].data), add(g.v, a.in[2].data);
    add(g.out, a.out[0].data), add(g.lse, a.out[1].data), add(g.scale, &scale), add(g.hidden, &hidden);
  };
  if (!attention_problem_of(a, false, p) || !attention_of(gpu).run(gpu, p, false, forward_attention, arguments))
    return false;
  if (a.unread >> 2 & 1) return true;  // no gradient follows
  kernel_record r;
  r.add(a.out[2].size()).add(0x3f800000).add(a.out[2].data);  // 1.0f
  launch_template(gpu, cuda_text::copy, "fill_with", "fill_with_data", {"u32"},
                  ceil_div(a.out[2].size(), block_threads), r);
  return true;
}

/// The gradients by the library. False if it refuses.
inline bool attention_vjp_by_library(const kernel_arguments& a) {
  attention_problem p;
  const float scale = static_cast<float>(a.attrs<attention_attributes>().scale), one = 1,
              hidden = -std::numeric_limits<float>::infinity();
  instance& gpu = instance_of(a);
  handle row_sums, dq_sums;
  const auto arguments = [&](const attention_graph& g, const auto& add) {
    row_sums = gpu.allocate(static_cast<std::size_t>(a.in[4].size()) * sizeof(float));
    if (g.dq_sums) dq_sums = gpu.allocate(static_cast<std::size_t>(a.in[0].size()) * sizeof(float));
    add(g.q, a.in[0].data), add(g.k, a.in[1].data), add(g.v, a.in[2].data), add(g.out, a.in[3].data);
    add(g.lse, a.in[4].data), add(g.ct, a.in[6].data);
    add(g.dq, a.out[0].data), add(g.dk, a.out[1].data), add(g.dv, a.out[2].data);
    add(g.scale, &scale), add(g.one, &one), add(g.hidden, &hidden);
    add(g.row_sums, row_sums->data), add(g.dq_sums, dq_sums ? dq_sums->data : nullptr);
  };
  return attention_problem_of(a, true, p) && a.in[4].stride(2) == 1 && a.in[4].stride(1) == p.queries &&
         attention_of(gpu).run(gpu, p, true, backward_attention, arguments);
}

/// Runs f(a) with results that are dense, and copies those that have a place with other strides.
template <class F>
void with_dense_results(const kernel_arguments& a, const F& f) {
  instance& gpu = instance_of(a);
  std::vector<array_view> all(a.in, a.in + a.in_count);  // results follow operands, as in a plan
  all.insert(all.end(), a.out, a.out + a.out_count);
  const std::span<array_view> results(all.data() + a.in_count, static_cast<std::size_t>(a.out_count));
  std::vector<handle> memory;
  for (array_view& r : results) {
    if (is_row_major(r.extents, r.strides)) continue;
    memory.push_back(gpu.allocate(static_cast<std::size_t>(r.size() * size_of(r.type))));
    r.data = memory.back()->data;
    r.strides = row_major(r.extents);
  }
  kernel_arguments dense = a;
  dense.in = all.data();
  dense.out = results.data();
  f(dense, !memory.empty());
  for (int k = 0; k < a.out_count; ++k) {
    const array_view &from = results[static_cast<std::size_t>(k)], &to = a.out[k];
    if (from.data == to.data) continue;
    copy(gpu, to.type, to.extents, from.as<std::byte>(), from.strides, to.as<std::byte>(), to.strides);
  }
}

/// By the library, by the library with dense results, or else as it is composed.
template <const op& Op, bool (*ByLibrary)(const kernel_arguments&)>
void run_attention(const kernel_arguments& a) {
  if (ByLibrary(a)) return;
  with_dense_results(a, [](const kernel_arguments& dense, bool changed) {
    if (!changed || !ByLibrary(dense)) run_composed(Op, dense);
  });
}

}  // namespace cuda_backend

/// {out, lse, correction}; the library's lse needs no correction. The result may have the axes of tokens and heads in any order.
TOKAMAX_BODY void kernel(op_c<attention_p>, cuda_tag, const kernel_arguments& a) {
  using namespace cuda_backend;
  run_attention<attention_p, attention_by_library>(a);
}

/// {dq, dk, dv} from q, k, v, out, lse, correction and the cotangent of out. The gradients may be parts of one array.
TOKAMAX_BODY void kernel(op_c<attention_vjp_p>, cuda_tag, const kernel_arguments& a) {
  using namespace cuda_backend;
  run_attention<attention_vjp_p, attention_vjp_by_library>(a);
}

}  // namespace tokamax
