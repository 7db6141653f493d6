// tokamax/backend/systolic/scalesim.hpp: the cycles and counts that SCALE-Sim v3 reports for a product.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/array_shape.hpp>  // array_shape, product_shape

namespace tokamax::systolic_backend {

/// What stays in the cells: weights, inputs, or outputs.
enum class dataflow { weight_stationary, input_stationary, output_stationary };

/// The report of SCALE-Sim v3 for one layer without stalls of memory.
struct scalesim_report {
  long long folds = 0;            ///< tiles, one after the other: nothing is loaded in the shadow of another
  long long cycles = 0;           ///< SCALE-Sim prints one less: the index of the last cycle
  double mapping_efficiency = 0;  ///< the share of cells that have something to keep
  double utilisation = 0;         ///< M K N / (printed cycles * cells)
  long long a_reads = 0, b_reads = 0, out_writes = 0;  ///< words of SRAM: ifmap, filter, ofmap
};

/// SCALE-Sim's numbers for a [m, k] x b [k, n] on R x C cells, with `s`, `t` the sizes that lie on rows and columns:
///
///   keeps     s, t    folds                   cycles of a fold   SRAM words of a, b, out
///   weights   K, N    ceil(K/R) ceil(N/C)     2R + C + M - 2     MK ceil(N/C), KN, MN ceil(K/R)
///   inputs    K, M    ceil(K/R) ceil(M/C)     2R + C + N - 2     MK, KN ceil(M/C), MN ceil(K/R)
///   outputs   M, N    ceil(M/R) ceil(N/C)     R + C + K - 2      MK ceil(N/C), KN ceil(M/R), MN + folds (R + C)
///
/// A TPU is faster: it loads weights while it multiplies (`pipelined_cycles`), and SCALE-Sim pays for loading, filling and
/// draining the array in every fold. The last term of the outputs' SRAM words is a mistake of SCALE-Sim, kept here.
///
/// errors  tokamax::error for sizes below 1
/// source  Samajdar et al. 2020, arXiv:1811.02883; the forms were checked on runs of SCALE-Sim v3
constexpr scalesim_report scalesim(dataflow flow, const array_shape& a, const product_shape& p) {
  detail::check_sizes(a, p);
  const bool weights = flow == dataflow::weight_stationary, outputs = flow == dataflow::output_stationary;
  const long long s = outputs ? p.m : p.k, t = weights || outputs ? p.n : p.m;
  const long long streamed = outputs ? p.k : weights ? p.m : p.n;
  const long long row_folds = divide_up(s, a.rows), column_folds = divide_up(t, a.columns);
  scalesim_report r;
  r.folds = row_folds * column_folds;
  r.cycles = r.folds * ((outputs ? 1 : 2) * a.rows + a.columns + streamed - 2);
  r.mapping_efficiency =
      static_cast<double>(s * t) / static_cast<double>(row_folds * a.rows * column_folds * a.columns);
  r.utilisation = p.macs() / (static_cast<double>(r.cycles - 1) * static_cast<double>(a.cells()));
  r.a_reads = p.m * p.k * (weights || outputs ? column_folds : 1);
  r.b_reads = p.k * p.n * (weights ? 1 : outputs ? row_folds : column_folds);
  r.out_writes = p.m * p.n * (outputs ? 1 : row_folds) + (outputs ? r.folds * (a.rows + a.columns) : 0);
  return r;
}

}  // namespace tokamax::systolic_backend
