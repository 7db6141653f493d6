// tokamax/backend/cuda/libraries/cudnn_attention.hpp: attention and its gradients as graphs for cuDNN, which keeps no scores.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/backend/cuda/libraries/cudnn_graph.hpp>  // cudnn_graph

namespace tokamax::cuda_backend {

/// What the library must know of a call: extents, strides of q, k, v (and of out, ct and the gradients backward) in the order
/// [B, N, T, H], and the scores that are hidden.
struct attention_problem {
  using extents = cudnn_graph::extents;
  cudnn::data_type type = cudnn::bf16;
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, size = 1;
  extents q{}, k{}, v{}, out{}, ct{}, dq{}, dk{}, dv{};  ///< strides
  bool causal = false;
  bool deterministic = true;  ///< backward: keep the score cotangents, so that no sums depend on the order of threads
  auto operator<=>(const attention_problem&) const = default;
  /// All numbers of the problem as text, the same for equal problems only: a key of jobs.
  std::string text() const {
    std::string s = "attention";
    for (const std::int64_t n : {std::int64_t{type}, batch, heads, kv_heads, queries, keys, size, std::int64_t{causal},
                                 std::int64_t{deterministic}})
      s.append(" ").append(std::to_string(n));
    for (const extents& e : {q, k, v, out, ct, dq, dk, dv})
      for (const std::int64_t n : e) s.append(" ").append(std::to_string(n));
    return s;
  }

  extents query() const { return {batch, heads, queries, size}; }
  extents key() const { return {batch, kv_heads, keys, size}; }
  extents scores() const { return {batch, heads, queries, keys}; }
  extents row() const { return {batch, heads, queries, 1}; }
};

/// The numbers of the arrays of a graph, and the graph.
struct attention_graph {
  cudnn_graph graph;
  int q = 0, k = 0, v = 0, out = 0, lse = 0, ct = 0, dq = 0, dk = 0, dv = 0, row_sums = 0, dq_sums = 0;
  int scale = 0, one = 0, hidden = 0;  ///< numbers on the host

  /// x [B, N, S, H] as [B, N, H, S]
  int transposed(const attention_problem& p, const cudnn_graph::extents& strides) {
    return graph.array(p.type, {p.batch, p.kv_heads, p.size, p.keys}, {strides[0], strides[1], strides[3], strides[2]},
                       cudnn_graph::in_memory);
  }
  int scores(const attention_problem& p) { return graph.value(cudnn::f32, p.scores()); }
  /// Scores of keys after their query become -infinity.
  int causal(const attention_problem& p, int s) {
    if (!p.causal) return s;
    const int row = graph.value(cudnn::i32, p.scores()), column = graph.value(cudnn::i32, p.scores());
    const int seen = graph.value(cudnn::boolean, p.scores());
    graph.pointwise(cudnn::positions, s, 0, row, 0, 2);
    graph.pointwise(cudnn::positions, s, 0, column, 0, 3);
    graph.pointwise(cudnn::greater_or_equal, row, column, seen, 0, -1, cudnn::boolean);
    hidden = graph.number();
    return graph.pointwise(cudnn::select, s, hidden, scores(p), seen);
  }
};

/// out = softmax(mask(scale q k^T)) v, and lse = log(sum(exp(scores))).
inline attention_graph forward_attention(const attention_problem& p, const cudnn& library = cudnn::loaded()) {
  attention_graph r{.graph = cudnn_graph(library)};
  cudnn_graph& g = r.graph;
  r.q = g.array(p.type, p.query(), p.q, cudnn_graph::in_memory);
  r.k = r.transposed(p, p.k);
  r.v = g.array(p.type, p.key(), p.v, cudnn_graph::in_memory);
  r.scale = g.number();
  int s = g.product(r.q, r.k, r.scores(p));
  s = r.causal(p, g.pointwise(cudnn::multiply, s, r.scale, r.scores(p)));
  const int high = g.reduce(cudnn::maximum, s, g.value(cudnn::f32, p.row()));
  const int shifted = g.pointwise(cudnn::subtract, s, high, r.scores(p));
  const int e = g.pointwise(cudnn::exponential, shifted, 0, r.scores(p));
  const int total = g.reduce(cudnn::sum, e, g.value(cudnn::f32, p.row()));
  const int log_total = g.pointwise(cudnn::logarithm, total, 0, g.value(cudnn::f32, p.row()));
  r.lse = g.array(cudnn::f32, p.row(), cudnn_graph::dense(p.row()), cudnn_graph::in_memory);
  g.pointwise(cudnn::add, high, log_total, r.lse);
  const int weights = g.pointwise(cudnn::divide, e, total, g.value(p.type, p.scores()));
  r.out = g.array(p.type, p.query(), p.out, cudnn_graph::in_memory);
  g.product(weights, r.v, r.out);
  return r;
}

/// p = exp(scores - lse); dv = p^T ct; ds = p * (ct v^T - sum(ct * out)) * scale; dq = ds k; dk = ds^T q
inline attention_graph backward_attention(const attention_problem& p, const cudnn& library = cudnn::loaded()) {
  attention_graph r{.graph = cudnn_graph(library)};
  cudnn_graph& g = r.graph;
  const cudnn_graph::extents transposed{p.batch, p.heads, p.keys, p.queries},
      transposed_strides{p.heads * p.queries * p.keys, p.queries * p.keys, 1, p.keys};
  r.q = g.array(p.type, p.query(), p.q, cudnn_graph::in_memory);
  r.k = r.transposed(p, p.k);
  r.v = r.transposed(p, p.v);
  r.out = g.array(p.type, p.query(), p.out, cudnn_graph::in_memory);
  r.ct = g.array(p.type, p.query(), p.ct, cudnn_graph::in_memory);
  r.lse = g.array(cudnn::f32, p.row(), cudnn_graph::dense(p.row()), cudnn_graph::in_memory);
  r.scale = g.number();
  r.one = g.number();
  const cudnn_graph::extents by_position{p.heads * p.queries * p.size, p.queries * p.size, p.heads * p.size, 1};
  const int products = g.array(cudnn::f32, p.query(), by_position, cudnn_graph::within);
  g.pointwise(cudnn::multiply, r.ct, r.out, products);
  const int sums = g.reduce(cudnn::sum, products, g.value(cudnn::f32, p.row()));
  r.row_sums = g.array(cudnn::f32, p.row(), cudnn_graph::dense(p.row()), cudnn_graph::in_memory);
  g.pointwise(cudnn::multiply, sums, r.one, r.row_sums);

  int s = g.product(r.q, r.k, r.scores(p));
  s = g.pointwise(cudnn::multiply, s, r.scale, r.scores(p));
  s = r.causal(p, g.pointwise(cudnn::subtract, s, r.lse, r.scores(p)));
  const int weights = g.pointwise(cudnn::exponential, s, 0, r.scores(p));
  const int transposed_weights =
      g.reshape(weights, g.array(p.type, transposed, transposed_strides, cudnn_graph::within));
  r.dv = g.array(p.type, p.key(), p.dv, cudnn_graph::in_memory);
  g.product(transposed_weights, r.ct, r.dv);

  int ds = g.product(r.ct, r.v, r.scores(p));
  ds = g.pointwise(cudnn::subtract, ds, r.row_sums, r.scores(p));
  ds = g.pointwise(cudnn::multiply, ds, weights, r.scores(p));
  ds = g.pointwise(cudnn::multiply, ds, r.scale, r.scores(p));
  const int transposed_ds = g.reshape(ds, g.array(p.type, transposed, transposed_strides, cudnn_graph::within));
  r.dk = g.array(p.type, p.key(), p.dk, cudnn_graph::in_memory);
  g.product(transposed_ds, r.q, r.dk);

  const int k = g.reshape(r.k, g.array(p.type, p.key(), p.k, cudnn_graph::within));
  r.dq = g.array(p.type, p.query(), p.dq, cudnn_graph::in_memory);
  if (p.deterministic) {
    g.product(ds, k, r.dq);
  } else {
    r.dq_sums = g.array(cudnn::f32, p.query(), cudnn_graph::dense(p.query()), cudnn_graph::in_memory);
    g.product(ds, k, r.dq_sums);
    g.pointwise(cudnn::identity, r.dq_sums, 0, r.dq);
  }
  return r;
}

}  // namespace tokamax::cuda_backend
