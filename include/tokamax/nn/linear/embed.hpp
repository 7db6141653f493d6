// tokamax/nn/linear/embed.hpp: a learned vector for each of a number of ids.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>        // layer_scope
#include <tokamax/lax/dot_general.hpp>               // dot_general
#include <tokamax/lax/indexing/gather.hpp>           // gather
#include <tokamax/nn/initializers/initializers.hpp>  // embedding_normal

namespace tokamax::nn {

/// A table with a row for each id: `embed token{vocabulary, width}`. A call looks rows up by id.
///
/// shapes  ids [...] -> [..., width]; table [count, width]
/// dtypes  ids i32; an id outside [0, count) gives NaN (Flax counts negative ones from the end); rows have compute_dtype, if there is one
/// init    normal with variance 1 / width
/// source  flax.nnx.Embed
struct embed {
  int count = 0, width = 0;
  initializer table_init = initializers::embedding_normal;
  dtype compute_dtype = dtype::none, param_dtype = f32;
  array table = parameter({count, width}, param_dtype);

  constexpr embed init(const random::key& key) const {
    embed filled = *this;
    filled.table = detail::first_value(table_init, key, table);
    return filled;
  }
  constexpr array operator()(const array& ids, source_line l = source_line::current()) const {
    const layer_scope scope(*this, ids);
    return in_dtype(gather(table, ids, l), l);
  }

  /// The product of each vector with each row: the logits of an output layer that shares the table.
  /// shapes  x [..., width] -> [..., count]
  /// source  flax.nnx.Embed.attend
  constexpr array logits(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    return dot_general(in_dtype(x, l), in_dtype(table, l), {{x.rank() - 1}, {1}, {}, {}}, l);
  }

 private:
  constexpr array in_dtype(const array& a, source_line l) const {
    if (compute_dtype == dtype::none) return a;
    return astype(a, compute_dtype, l);
  }
};

}  // namespace tokamax::nn
