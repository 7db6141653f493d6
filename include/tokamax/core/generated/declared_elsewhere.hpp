// tokamax/core/generated/declared_elsewhere.hpp: functions that tokamax.hpp leaves to further headers, so that a call names the header.
// SPDX-License-Identifier: Apache-2.0
//
// Written by cmake/umbrellas.cmake. What a further header declares in tokamax itself hides what is here.
#pragma once

#include <tokamax/base/requirements.hpp>

namespace tokamax {
// clang-format off
namespace declared_in_complex_hpp {
template <int = 0> void as_complex(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void bilinear(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void complex_grad(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void conjugate(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void convolve(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void correlate(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void cumprod(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void dot(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void fft(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void fft2(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void fftfreq(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void fftn(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void fftshift(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void hfft(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void holomorphic_grad(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void ifft(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void ifft2(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void ifftn(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void ifftshift(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void ihfft(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void inner(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void irfft(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void irfft2(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void irfftn(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void kron(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void map_parts(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void outer(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void polar(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void rfft(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void rfft2(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void rfftfreq(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void rfftn(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void sort_complex(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void tensordot(...) = delete;  // #include <tokamax/complex.hpp>
template <int = 0> void vdot(...) = delete;  // #include <tokamax/complex.hpp>
}  // namespace declared_in_complex_hpp
using namespace declared_in_complex_hpp;
namespace declared_in_linalg_hpp {
template <int = 0> void polyfit(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void polyfit_covariance(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void polyfit_full(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
}  // namespace declared_in_linalg_hpp
using namespace declared_in_linalg_hpp;
namespace declared_in_numpy_hpp {
template <int = 0> void argwhere(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void bartlett(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void bincount(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void blackman(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void compress(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void corrcoef(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void cov(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void cross(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void extract(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void flatnonzero(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void gradient(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void hamming(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void hanning(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void histogram(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void histogram2d(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void histogram_bin_edges(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void histogramdd(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void interp(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void intersect1d(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void isin(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void matvec(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void median(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void nanargmax(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void nanargmin(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void nanmax(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void nanmean(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void nanmedian(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void nanmin(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void nanpercentile(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void nanprod(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void nanquantile(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void nanstd(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void nansum(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void nanvar(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void nonzero(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void percentile(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void poly(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void polyadd(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void polyder(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void polydiv(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void polyint(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void polymul(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void polysub(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void polyval(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void quantile(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void setdiff1d(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void setxor1d(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void trapezoid(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void union1d(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void unique(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void unique_all(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void vecdot(...) = delete;  // #include <tokamax/numpy.hpp>
template <int = 0> void vecmat(...) = delete;  // #include <tokamax/numpy.hpp>
}  // namespace declared_in_numpy_hpp
using namespace declared_in_numpy_hpp;
namespace declared_in_ops_hpp {
template <int = 0> void causal_conv1d(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void causal_conv1d_gated_delta_rule(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void dequantize(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void fake_quantize(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void flex_attention(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void gated_delta_rule(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void grouped_matmul(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void low_rank_update(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void multi_head_latent_attention(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void packed_dot(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void packed_ragged_dot(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void paged_attention(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void paged_positions(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void quantize(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void ragged_dot(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void ragged_dot_general(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void ragged_gather(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void ragged_gather_reduce(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void ragged_gather_reduce_vjp(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void ragged_paged_attention(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void ragged_scatter(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void scaled_dot_general(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void scaled_dot_general_config(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void scaled_matmul(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void triangle_multiplication(...) = delete;  // #include <tokamax/ops.hpp>
template <int = 0> void update_paged_cache(...) = delete;  // #include <tokamax/ops.hpp>
}  // namespace declared_in_ops_hpp
using namespace declared_in_ops_hpp;
namespace declared_in_scipy_hpp {
template <int = 0> void bessel_i0e(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
template <int = 0> void bessel_i1e(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
template <int = 0> void betainc(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
template <int = 0> void digamma(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
template <int = 0> void erfc(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
template <int = 0> void igamma(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
template <int = 0> void igamma_grad_a(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
template <int = 0> void igammac(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
template <int = 0> void kaiser(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
template <int = 0> void lgamma(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
template <int = 0> void polygamma(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
template <int = 0> void random_gamma(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
template <int = 0> void random_gamma_grad(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
template <int = 0> void zeta(...) = delete;  // #include <tokamax/scipy.hpp>, link tokamax::linalg
}  // namespace declared_in_scipy_hpp
using namespace declared_in_scipy_hpp;
namespace checkpoint {
namespace declared_in_checkpoint_hpp {
template <int = 0> void about(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void check(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void check_json(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void chunk_shape(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void crc32c(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void dtype_stored_as(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void ggml_format_of(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void got_signal(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void remove_checkpoint(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void restore(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void restore_orbax(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void save(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void save_after(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void save_any(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void save_at(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void save_every(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void save_first(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void save_on_signal(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void stored_bytes(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void stored_name(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void write_safetensors(...) = delete;  // #include <tokamax/checkpoint.hpp>
template <int = 0> void write_safetensors_folder(...) = delete;  // #include <tokamax/checkpoint.hpp>
}  // namespace declared_in_checkpoint_hpp
using namespace declared_in_checkpoint_hpp;
}  // namespace checkpoint
namespace linalg {
namespace declared_in_linalg_hpp {
template <int = 0> void cho_factor(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void cho_solve(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void cholesky(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void cond(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void cross(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void det(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void diagonal(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void eig(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void eigh(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void eigvals(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void eigvalsh(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void expm(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void inv(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void lstsq(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void lu(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void lu_factor(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void lu_solve(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void matrix_norm(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void matrix_power(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void matrix_rank(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void multi_dot(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void norm(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void outer(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void pinv(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void qr(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void schur(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void slogdet(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void solve(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void svd(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void svdvals(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void tensorinv(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void tensorsolve(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void trace(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void triangular_solve(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void vecdot(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
template <int = 0> void vector_norm(...) = delete;  // #include <tokamax/linalg.hpp>, link tokamax::linalg
}  // namespace declared_in_linalg_hpp
using namespace declared_in_linalg_hpp;
}  // namespace linalg
// clang-format on
}  // namespace tokamax
