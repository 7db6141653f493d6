// tokamax/backend/cpu/generated/kernels.hpp: the kernels of all ops, compiled here or in a linked library.
// SPDX-License-Identifier: Apache-2.0
//
// Written by cmake/library_lists.cmake, read at the end of execute.hpp. base/compiled_once.hpp says which file compiles what.
#pragma once

#include <tokamax/backend/cpu/kernels_of.hpp>
#include <tokamax/compiler.hpp>
#include <tokamax/core.hpp>
#include <tokamax/lax.hpp>
#include <tokamax/random.hpp>
#include <tokamax/runtime.hpp>
#include <tokamax/transforms.hpp>

#if defined(TOKAMAX_INSTANTIATE_KERNELS) || !defined(TOKAMAX_SEPARATE_KERNELS)
  #include <tokamax/kernel.hpp>
  #include <tokamax/ops.hpp>
#else  // their headers are included where they are used
namespace tokamax {
struct arg_attributes;
struct attention_attributes;
struct axis_attributes;
struct bitcast_options;
struct box_options;
struct broadcast_options;
struct checkpoint_name_attributes;
struct concatenate_options;
struct cond_attributes;
struct conv_options;
struct conv_rhs_vjp_options;
struct convert_options;
struct copy_options;
struct cumulative_options;
struct custom_jvp_attributes;
struct custom_vjp_attributes;
struct debug_print_attributes;
namespace detail {
struct split_attributes;
}  // namespace detail
struct dot_dimensions;
struct dynamic_slice_options;
struct gated_delta_rule_attributes;
struct get_attributes;
struct iota_attributes;
struct kernel_attributes;
struct linear_cross_entropy_options;
struct linear_solve_attributes;
struct low_rank_attributes;
struct max_pool_attributes;
struct norm_attributes;
struct packed_dot_options;
struct pad_options;
struct paged_attention_attributes;
struct ragged_dot_attributes;
struct ragged_gather_reduce_attributes;
struct reduce_attributes;
struct ref_empty_attributes;
struct remat_attributes;
struct reshape_options;
struct reverse_options;
struct root_attributes;
struct rotary_embedding_options;
struct scan_attributes;
struct scatter_attributes;
struct scatter_options;
struct search_sorted_options;
struct slice_options;
struct sort_options;
struct take_along_options;
struct threefry_options;
struct top_k_options;
struct transpose_options;
struct true_positions_options;
struct unpack_int4_options;
struct while_attributes;
}  // namespace tokamax
#endif

#if TOKAMAX_COMPILES(REDUCE)
  #include <tokamax/backend/cpu/kernels/argmax.hpp>
  #include <tokamax/backend/cpu/kernels/cumulative.hpp>
  #include <tokamax/backend/cpu/kernels/reduce.hpp>
#else
namespace tokamax {
template <>
inline constexpr linkage linked_kernel<argmax_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<argmin_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<cumsum_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<reduce_and_p, cpu_tag>{true, {.producer = true}};
template <>
inline constexpr linkage linked_kernel<reduce_max_p, cpu_tag>{true, {.producer = true}};
template <>
inline constexpr linkage linked_kernel<reduce_min_p, cpu_tag>{true, {.producer = true}};
template <>
inline constexpr linkage linked_kernel<reduce_or_p, cpu_tag>{true, {.producer = true}};
template <>
inline constexpr linkage linked_kernel<reduce_sum_p, cpu_tag>{true, {.producer = true}};
template <>
inline constexpr linkage linked_kernel<sum_in_32_bits_p, cpu_tag>{true, {.producer = true}};
}  // namespace tokamax
#endif

#if TOKAMAX_COMPILES(ROWS)
  #include <tokamax/backend/cpu/kernels/attention/attention.hpp>
  #include <tokamax/backend/cpu/kernels/cross_entropy.hpp>
  #include <tokamax/backend/cpu/kernels/norm.hpp>
  #include <tokamax/backend/cpu/kernels/norm_across.hpp>
  #include <tokamax/backend/cpu/kernels/recurrence/conv1d_sums.hpp>
  #include <tokamax/backend/cpu/kernels/rotary_embedding.hpp>
  #include <tokamax/backend/cpu/kernels/softmax.hpp>
#else
namespace tokamax {
template <>
inline constexpr linkage linked_kernel<attention_p, cpu_tag>{true, {.views = true}};
template <>
inline constexpr linkage linked_kernel<attention_vjp_p, cpu_tag>{true, {.views = true}};
template <>
inline constexpr linkage linked_kernel<causal_conv1d_sums_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<cross_entropy_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<cross_entropy_vjp_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<layer_norm_across_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<layer_norm_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<layer_norm_vjp_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<rms_norm_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<rms_norm_vjp_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<rotary_embedding_p, cpu_tag>{true, {.views = true}};
template <>
inline constexpr linkage linked_kernel<softmax_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<softmax_vjp_p, cpu_tag>{true, {}};
}  // namespace tokamax
#endif

#if TOKAMAX_COMPILES(MOVEMENT)
  #include <tokamax/backend/cpu/kernels/attention/paged_attention.hpp>
  #include <tokamax/backend/cpu/kernels/concatenate.hpp>
  #include <tokamax/backend/cpu/kernels/dynamic_slice.hpp>
  #include <tokamax/backend/cpu/kernels/fft.hpp>
  #include <tokamax/backend/cpu/kernels/gather.hpp>
  #include <tokamax/backend/cpu/kernels/grid_loop.hpp>
  #include <tokamax/backend/cpu/kernels/index/search_sorted.hpp>
  #include <tokamax/backend/cpu/kernels/index/take_along.hpp>
  #include <tokamax/backend/cpu/kernels/index/true_positions.hpp>
  #include <tokamax/backend/cpu/kernels/max_pool.hpp>
  #include <tokamax/backend/cpu/kernels/pack_int4.hpp>
  #include <tokamax/backend/cpu/kernels/pad.hpp>
  #include <tokamax/backend/cpu/kernels/ragged/ragged_gather.hpp>
  #include <tokamax/backend/cpu/kernels/ragged/ragged_gather_reduce.hpp>
  #include <tokamax/backend/cpu/kernels/reverse.hpp>
  #include <tokamax/backend/cpu/kernels/scatter.hpp>
  #include <tokamax/backend/cpu/kernels/sort.hpp>
  #include <tokamax/backend/cpu/kernels/threefry.hpp>
  #include <tokamax/backend/cpu/kernels/top_k.hpp>
#else
namespace tokamax {
template <>
inline constexpr linkage linked_kernel<concatenate_p, cpu_tag>{true, {.views = true}};
template <>
inline constexpr linkage linked_kernel<dynamic_slice_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<dynamic_update_slice_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<fft_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<gather_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<grid_loop_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<max_pool_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<max_pool_vjp_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<pack_int4_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<pad_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<paged_attention_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<ragged_gather_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<ragged_gather_reduce_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<ragged_gather_reduce_vjp_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<reverse_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<rfft_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<scatter_add_onto_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<scatter_add_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<scatter_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<search_sorted_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<sort_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<take_along_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<threefry2x32_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<top_k_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<true_positions_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<unpack_int4_p, cpu_tag>{true, {}};
}  // namespace tokamax
#endif

#if TOKAMAX_COMPILES(PRODUCTS)
  #include <tokamax/backend/cpu/kernels/conv.hpp>
  #include <tokamax/backend/cpu/kernels/dot_general.hpp>
  #include <tokamax/backend/cpu/kernels/gemm_precision.hpp>
  #include <tokamax/backend/cpu/kernels/linear_cross_entropy.hpp>
  #include <tokamax/backend/cpu/kernels/mixed_dot.hpp>
  #include <tokamax/backend/cpu/kernels/packed_dot.hpp>
  #include <tokamax/backend/cpu/kernels/ragged/ragged_dot.hpp>
  #include <tokamax/backend/cpu/kernels/recurrence/gated_delta_rule.hpp>
  #include <tokamax/backend/cpu/kernels/scaled_dot.hpp>
#else
namespace tokamax {
template <>
inline constexpr linkage linked_kernel<conv_general_dilated_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<conv_rhs_vjp_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<dot_general_p, cpu_tag>{true, {.views = true}};
template <>
inline constexpr linkage linked_kernel<gated_delta_rule_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<linear_cross_entropy_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<linear_cross_entropy_vjp_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<mixed_dot_p, cpu_tag>{true, {.views = true}};
template <>
inline constexpr linkage linked_kernel<packed_dot_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<packed_ragged_dot_p, cpu_tag>{true, {}};
template <>
inline constexpr linkage linked_kernel<ragged_dot_p, cpu_tag>{true, {.views = true}};
template <>
inline constexpr linkage linked_kernel<ragged_scaled_dot_p, cpu_tag>{true, {.views = true}};
template <>
inline constexpr linkage linked_kernel<scaled_dot_p, cpu_tag>{true, {.views = true}};
}  // namespace tokamax
#endif

#if defined(TOKAMAX_INSTANTIATE_KERNELS) && TOKAMAX_COMPILES(ELEMENTWISE)
  #define TOKAMAX_KERNELS template
#elif !TOKAMAX_COMPILES(ELEMENTWISE)
  #define TOKAMAX_KERNELS extern template
#endif
#if defined(TOKAMAX_KERNELS)
namespace tokamax {
TOKAMAX_KERNELS kernel_set find_kernels<abs_p>();
TOKAMAX_KERNELS kernel_set find_kernels<add_p>();
TOKAMAX_KERNELS kernel_set find_kernels<bitwise_and_p>();
TOKAMAX_KERNELS kernel_set find_kernels<bitwise_not_p>();
TOKAMAX_KERNELS kernel_set find_kernels<bitwise_or_p>();
TOKAMAX_KERNELS kernel_set find_kernels<bitwise_xor_p>();
TOKAMAX_KERNELS kernel_set find_kernels<ceil_p>();
TOKAMAX_KERNELS kernel_set find_kernels<convert_element_type_p>();
TOKAMAX_KERNELS kernel_set find_kernels<cos_p>();
TOKAMAX_KERNELS kernel_set find_kernels<div_p>();
TOKAMAX_KERNELS kernel_set find_kernels<eq_p>();
TOKAMAX_KERNELS kernel_set find_kernels<erf_inv_p>();
TOKAMAX_KERNELS kernel_set find_kernels<erf_p>();
TOKAMAX_KERNELS kernel_set find_kernels<exp_p>();
TOKAMAX_KERNELS kernel_set find_kernels<expm1_p>();
TOKAMAX_KERNELS kernel_set find_kernels<floor_p>();
TOKAMAX_KERNELS kernel_set find_kernels<fma_p>();
TOKAMAX_KERNELS kernel_set find_kernels<ge_p>();
TOKAMAX_KERNELS kernel_set find_kernels<gelu_p>();
TOKAMAX_KERNELS kernel_set find_kernels<gt_p>();
TOKAMAX_KERNELS kernel_set find_kernels<le_p>();
TOKAMAX_KERNELS kernel_set find_kernels<log1p_p>();
TOKAMAX_KERNELS kernel_set find_kernels<log_p>();
TOKAMAX_KERNELS kernel_set find_kernels<logaddexp_p>();
TOKAMAX_KERNELS kernel_set find_kernels<logical_and_p>();
TOKAMAX_KERNELS kernel_set find_kernels<logical_not_p>();
TOKAMAX_KERNELS kernel_set find_kernels<logical_or_p>();
TOKAMAX_KERNELS kernel_set find_kernels<logistic_p>();
TOKAMAX_KERNELS kernel_set find_kernels<lt_p>();
TOKAMAX_KERNELS kernel_set find_kernels<max_p>();
TOKAMAX_KERNELS kernel_set find_kernels<min_p>();
TOKAMAX_KERNELS kernel_set find_kernels<mul_p>();
TOKAMAX_KERNELS kernel_set find_kernels<ne_p>();
TOKAMAX_KERNELS kernel_set find_kernels<neg_p>();
TOKAMAX_KERNELS kernel_set find_kernels<normal_cdf_p>();
TOKAMAX_KERNELS kernel_set find_kernels<pow_p>();
TOKAMAX_KERNELS kernel_set find_kernels<quotient_p>();
TOKAMAX_KERNELS kernel_set find_kernels<relu_p>();
TOKAMAX_KERNELS kernel_set find_kernels<rem_p>();
TOKAMAX_KERNELS kernel_set find_kernels<round_p>();
TOKAMAX_KERNELS kernel_set find_kernels<rsqrt_p>();
TOKAMAX_KERNELS kernel_set find_kernels<select_p>();
TOKAMAX_KERNELS kernel_set find_kernels<shift_left_p>();
TOKAMAX_KERNELS kernel_set find_kernels<shift_right_arithmetic_p>();
TOKAMAX_KERNELS kernel_set find_kernels<shift_right_logical_p>();
TOKAMAX_KERNELS kernel_set find_kernels<sign_p>();
TOKAMAX_KERNELS kernel_set find_kernels<sin_p>();
TOKAMAX_KERNELS kernel_set find_kernels<sqrt_p>();
TOKAMAX_KERNELS kernel_set find_kernels<sub_p>();
TOKAMAX_KERNELS kernel_set find_kernels<tanh_p>();
}  // namespace tokamax
  #undef TOKAMAX_KERNELS
#endif

#if defined(TOKAMAX_INSTANTIATE_KERNELS) && TOKAMAX_COMPILES(REDUCE)
  #define TOKAMAX_KERNELS template
#elif !TOKAMAX_COMPILES(REDUCE)
  #define TOKAMAX_KERNELS extern template
#endif
#if defined(TOKAMAX_KERNELS)
namespace tokamax {
TOKAMAX_KERNELS kernel_set find_kernels<argmax_p>();
TOKAMAX_KERNELS kernel_set find_kernels<argmin_p>();
TOKAMAX_KERNELS kernel_set find_kernels<cumsum_p>();
TOKAMAX_KERNELS kernel_set find_kernels<reduce_and_p>();
TOKAMAX_KERNELS kernel_set find_kernels<reduce_max_p>();
TOKAMAX_KERNELS kernel_set find_kernels<reduce_min_p>();
TOKAMAX_KERNELS kernel_set find_kernels<reduce_or_p>();
TOKAMAX_KERNELS kernel_set find_kernels<reduce_sum_p>();
TOKAMAX_KERNELS kernel_set find_kernels<sum_in_32_bits_p>();
}  // namespace tokamax
  #undef TOKAMAX_KERNELS
#endif

#if defined(TOKAMAX_INSTANTIATE_KERNELS) && TOKAMAX_COMPILES(ROWS)
  #define TOKAMAX_KERNELS template
#elif !TOKAMAX_COMPILES(ROWS)
  #define TOKAMAX_KERNELS extern template
#endif
#if defined(TOKAMAX_KERNELS)
namespace tokamax {
TOKAMAX_KERNELS kernel_set find_kernels<attention_p>();
TOKAMAX_KERNELS kernel_set find_kernels<attention_vjp_p>();
TOKAMAX_KERNELS kernel_set find_kernels<causal_conv1d_sums_p>();
TOKAMAX_KERNELS kernel_set find_kernels<cross_entropy_p>();
TOKAMAX_KERNELS kernel_set find_kernels<cross_entropy_vjp_p>();
TOKAMAX_KERNELS kernel_set find_kernels<layer_norm_across_p>();
TOKAMAX_KERNELS kernel_set find_kernels<layer_norm_p>();
TOKAMAX_KERNELS kernel_set find_kernels<layer_norm_vjp_p>();
TOKAMAX_KERNELS kernel_set find_kernels<rms_norm_p>();
TOKAMAX_KERNELS kernel_set find_kernels<rms_norm_vjp_p>();
TOKAMAX_KERNELS kernel_set find_kernels<rotary_embedding_p>();
TOKAMAX_KERNELS kernel_set find_kernels<softmax_p>();
TOKAMAX_KERNELS kernel_set find_kernels<softmax_vjp_p>();
}  // namespace tokamax
  #undef TOKAMAX_KERNELS
#endif

#if defined(TOKAMAX_INSTANTIATE_KERNELS) && TOKAMAX_COMPILES(MOVEMENT)
  #define TOKAMAX_KERNELS template
#elif !TOKAMAX_COMPILES(MOVEMENT)
  #define TOKAMAX_KERNELS extern template
#endif
#if defined(TOKAMAX_KERNELS)
namespace tokamax {
TOKAMAX_KERNELS kernel_set find_kernels<concatenate_p>();
TOKAMAX_KERNELS kernel_set find_kernels<dynamic_slice_p>();
TOKAMAX_KERNELS kernel_set find_kernels<dynamic_update_slice_p>();
TOKAMAX_KERNELS kernel_set find_kernels<fft_p>();
TOKAMAX_KERNELS kernel_set find_kernels<gather_p>();
TOKAMAX_KERNELS kernel_set find_kernels<grid_loop_p>();
TOKAMAX_KERNELS kernel_set find_kernels<max_pool_p>();
TOKAMAX_KERNELS kernel_set find_kernels<max_pool_vjp_p>();
TOKAMAX_KERNELS kernel_set find_kernels<pack_int4_p>();
TOKAMAX_KERNELS kernel_set find_kernels<pad_p>();
TOKAMAX_KERNELS kernel_set find_kernels<paged_attention_p>();
TOKAMAX_KERNELS kernel_set find_kernels<ragged_gather_p>();
TOKAMAX_KERNELS kernel_set find_kernels<ragged_gather_reduce_p>();
TOKAMAX_KERNELS kernel_set find_kernels<ragged_gather_reduce_vjp_p>();
TOKAMAX_KERNELS kernel_set find_kernels<reverse_p>();
TOKAMAX_KERNELS kernel_set find_kernels<rfft_p>();
TOKAMAX_KERNELS kernel_set find_kernels<scatter_add_onto_p>();
TOKAMAX_KERNELS kernel_set find_kernels<scatter_add_p>();
TOKAMAX_KERNELS kernel_set find_kernels<scatter_p>();
TOKAMAX_KERNELS kernel_set find_kernels<search_sorted_p>();
TOKAMAX_KERNELS kernel_set find_kernels<sort_p>();
TOKAMAX_KERNELS kernel_set find_kernels<take_along_p>();
TOKAMAX_KERNELS kernel_set find_kernels<threefry2x32_p>();
TOKAMAX_KERNELS kernel_set find_kernels<top_k_p>();
TOKAMAX_KERNELS kernel_set find_kernels<true_positions_p>();
TOKAMAX_KERNELS kernel_set find_kernels<unpack_int4_p>();
}  // namespace tokamax
  #undef TOKAMAX_KERNELS
#endif

#if defined(TOKAMAX_INSTANTIATE_KERNELS) && TOKAMAX_COMPILES(PRODUCTS)
  #define TOKAMAX_KERNELS template
#elif !TOKAMAX_COMPILES(PRODUCTS)
  #define TOKAMAX_KERNELS extern template
#endif
#if defined(TOKAMAX_KERNELS)
namespace tokamax {
TOKAMAX_KERNELS kernel_set find_kernels<conv_general_dilated_p>();
TOKAMAX_KERNELS kernel_set find_kernels<conv_rhs_vjp_p>();
TOKAMAX_KERNELS kernel_set find_kernels<dot_general_p>();
TOKAMAX_KERNELS kernel_set find_kernels<gated_delta_rule_p>();
TOKAMAX_KERNELS kernel_set find_kernels<linear_cross_entropy_p>();
TOKAMAX_KERNELS kernel_set find_kernels<linear_cross_entropy_vjp_p>();
TOKAMAX_KERNELS kernel_set find_kernels<mixed_dot_p>();
TOKAMAX_KERNELS kernel_set find_kernels<packed_dot_p>();
TOKAMAX_KERNELS kernel_set find_kernels<packed_ragged_dot_p>();
TOKAMAX_KERNELS kernel_set find_kernels<ragged_dot_p>();
TOKAMAX_KERNELS kernel_set find_kernels<ragged_scaled_dot_p>();
TOKAMAX_KERNELS kernel_set find_kernels<scaled_dot_p>();
}  // namespace tokamax
  #undef TOKAMAX_KERNELS
#endif

#if defined(TOKAMAX_INSTANTIATE_KERNELS) && TOKAMAX_COMPILES(RULES)
  #define TOKAMAX_KERNELS template
#elif !TOKAMAX_COMPILES(RULES)
  #define TOKAMAX_KERNELS extern template
#endif
#if defined(TOKAMAX_KERNELS)
namespace tokamax {
TOKAMAX_KERNELS const op* descriptor_of<abs_p>();
TOKAMAX_KERNELS const op* descriptor_of<acos_p>();
TOKAMAX_KERNELS const op* descriptor_of<acosh_p>();
TOKAMAX_KERNELS const op* descriptor_of<add_p>();
TOKAMAX_KERNELS const op* descriptor_of<all_gather_p>();
TOKAMAX_KERNELS const op* descriptor_of<argmax_p>();
TOKAMAX_KERNELS const op* descriptor_of<argmin_p>();
TOKAMAX_KERNELS const op* descriptor_of<asin_p>();
TOKAMAX_KERNELS const op* descriptor_of<asinh_p>();
TOKAMAX_KERNELS const op* descriptor_of<atan2_p>();
TOKAMAX_KERNELS const op* descriptor_of<atan_p>();
TOKAMAX_KERNELS const op* descriptor_of<atanh_p>();
TOKAMAX_KERNELS const op* descriptor_of<attention_p>();
TOKAMAX_KERNELS const op* descriptor_of<attention_vjp_p>();
TOKAMAX_KERNELS const op* descriptor_of<axis_index_p>();
TOKAMAX_KERNELS const op* descriptor_of<bitcast_convert_type_p>();
TOKAMAX_KERNELS const op* descriptor_of<bitwise_and_p>();
TOKAMAX_KERNELS const op* descriptor_of<bitwise_not_p>();
TOKAMAX_KERNELS const op* descriptor_of<bitwise_or_p>();
TOKAMAX_KERNELS const op* descriptor_of<bitwise_xor_p>();
TOKAMAX_KERNELS const op* descriptor_of<broadcast_in_dim_p>();
TOKAMAX_KERNELS const op* descriptor_of<captured_p>();
TOKAMAX_KERNELS const op* descriptor_of<causal_conv1d_sums_p>();
TOKAMAX_KERNELS const op* descriptor_of<cbrt_p>();
TOKAMAX_KERNELS const op* descriptor_of<ceil_p>();
TOKAMAX_KERNELS const op* descriptor_of<checkpoint_name_p>();
TOKAMAX_KERNELS const op* descriptor_of<concatenate_p>();
TOKAMAX_KERNELS const op* descriptor_of<cond_p>();
TOKAMAX_KERNELS const op* descriptor_of<constant_p>();
TOKAMAX_KERNELS const op* descriptor_of<conv_general_dilated_p>();
TOKAMAX_KERNELS const op* descriptor_of<conv_rhs_vjp_p>();
TOKAMAX_KERNELS const op* descriptor_of<convert_element_type_p>();
TOKAMAX_KERNELS const op* descriptor_of<copy_start_p>();
TOKAMAX_KERNELS const op* descriptor_of<copy_wait_p>();
TOKAMAX_KERNELS const op* descriptor_of<cos_p>();
TOKAMAX_KERNELS const op* descriptor_of<cosh_p>();
TOKAMAX_KERNELS const op* descriptor_of<cross_entropy_p>();
TOKAMAX_KERNELS const op* descriptor_of<cross_entropy_vjp_p>();
TOKAMAX_KERNELS const op* descriptor_of<cumsum_p>();
TOKAMAX_KERNELS const op* descriptor_of<custom_jvp_p>();
TOKAMAX_KERNELS const op* descriptor_of<custom_linear_solve_p>();
TOKAMAX_KERNELS const op* descriptor_of<custom_root_p>();
TOKAMAX_KERNELS const op* descriptor_of<custom_vjp_p>();
TOKAMAX_KERNELS const op* descriptor_of<debug_print_p>();
TOKAMAX_KERNELS const op* descriptor_of<dense_p>();
TOKAMAX_KERNELS const op* descriptor_of<differentiated_custom_vjp_p>();
TOKAMAX_KERNELS const op* descriptor_of<div_p>();
TOKAMAX_KERNELS const op* descriptor_of<dot_general_p>();
TOKAMAX_KERNELS const op* descriptor_of<dynamic_slice_p>();
TOKAMAX_KERNELS const op* descriptor_of<dynamic_update_slice_p>();
TOKAMAX_KERNELS const op* descriptor_of<eq_p>();
TOKAMAX_KERNELS const op* descriptor_of<erf_inv_p>();
TOKAMAX_KERNELS const op* descriptor_of<erf_p>();
TOKAMAX_KERNELS const op* descriptor_of<exp2_p>();
TOKAMAX_KERNELS const op* descriptor_of<exp_p>();
TOKAMAX_KERNELS const op* descriptor_of<expm1_p>();
TOKAMAX_KERNELS const op* descriptor_of<fft_p>();
TOKAMAX_KERNELS const op* descriptor_of<floor_p>();
TOKAMAX_KERNELS const op* descriptor_of<fma_p>();
TOKAMAX_KERNELS const op* descriptor_of<gated_delta_rule_p>();
TOKAMAX_KERNELS const op* descriptor_of<gather_p>();
TOKAMAX_KERNELS const op* descriptor_of<ge_p>();
TOKAMAX_KERNELS const op* descriptor_of<gelu_p>();
TOKAMAX_KERNELS const op* descriptor_of<get_p>();
TOKAMAX_KERNELS const op* descriptor_of<grid_loop_p>();
TOKAMAX_KERNELS const op* descriptor_of<gt_p>();
TOKAMAX_KERNELS const op* descriptor_of<iota_p>();
TOKAMAX_KERNELS const op* descriptor_of<kernel_call_p>();
TOKAMAX_KERNELS const op* descriptor_of<layer_norm_across_p>();
TOKAMAX_KERNELS const op* descriptor_of<layer_norm_p>();
TOKAMAX_KERNELS const op* descriptor_of<layer_norm_vjp_p>();
TOKAMAX_KERNELS const op* descriptor_of<le_p>();
TOKAMAX_KERNELS const op* descriptor_of<linear_cross_entropy_p>();
TOKAMAX_KERNELS const op* descriptor_of<linear_cross_entropy_vjp_p>();
TOKAMAX_KERNELS const op* descriptor_of<log1p_p>();
TOKAMAX_KERNELS const op* descriptor_of<log_p>();
TOKAMAX_KERNELS const op* descriptor_of<logaddexp_p>();
TOKAMAX_KERNELS const op* descriptor_of<logical_and_p>();
TOKAMAX_KERNELS const op* descriptor_of<logical_not_p>();
TOKAMAX_KERNELS const op* descriptor_of<logical_or_p>();
TOKAMAX_KERNELS const op* descriptor_of<logistic_p>();
TOKAMAX_KERNELS const op* descriptor_of<low_rank_update_p>();
TOKAMAX_KERNELS const op* descriptor_of<lt_p>();
TOKAMAX_KERNELS const op* descriptor_of<max_p>();
TOKAMAX_KERNELS const op* descriptor_of<max_pool_p>();
TOKAMAX_KERNELS const op* descriptor_of<max_pool_vjp_p>();
TOKAMAX_KERNELS const op* descriptor_of<min_p>();
TOKAMAX_KERNELS const op* descriptor_of<mixed_dot_p>();
TOKAMAX_KERNELS const op* descriptor_of<mul_p>();
TOKAMAX_KERNELS const op* descriptor_of<ne_p>();
TOKAMAX_KERNELS const op* descriptor_of<neg_p>();
TOKAMAX_KERNELS const op* descriptor_of<normal_cdf_p>();
TOKAMAX_KERNELS const op* descriptor_of<optimization_barrier_p>();
TOKAMAX_KERNELS const op* descriptor_of<pack_int4_p>();
TOKAMAX_KERNELS const op* descriptor_of<packed_dot_p>();
TOKAMAX_KERNELS const op* descriptor_of<packed_ragged_dot_p>();
TOKAMAX_KERNELS const op* descriptor_of<pad_p>();
TOKAMAX_KERNELS const op* descriptor_of<paged_attention_p>();
TOKAMAX_KERNELS const op* descriptor_of<placeholder_p>();
TOKAMAX_KERNELS const op* descriptor_of<pow_p>();
TOKAMAX_KERNELS const op* descriptor_of<quantized_scale_p>();
TOKAMAX_KERNELS const op* descriptor_of<quotient_p>();
TOKAMAX_KERNELS const op* descriptor_of<ragged_dot_p>();
TOKAMAX_KERNELS const op* descriptor_of<ragged_gather_p>();
TOKAMAX_KERNELS const op* descriptor_of<ragged_gather_reduce_p>();
TOKAMAX_KERNELS const op* descriptor_of<ragged_gather_reduce_vjp_p>();
TOKAMAX_KERNELS const op* descriptor_of<ragged_scaled_dot_p>();
TOKAMAX_KERNELS const op* descriptor_of<reduce_and_p>();
TOKAMAX_KERNELS const op* descriptor_of<reduce_max_p>();
TOKAMAX_KERNELS const op* descriptor_of<reduce_min_p>();
TOKAMAX_KERNELS const op* descriptor_of<reduce_or_p>();
TOKAMAX_KERNELS const op* descriptor_of<reduce_sum_p>();
TOKAMAX_KERNELS const op* descriptor_of<ref_empty_p>();
TOKAMAX_KERNELS const op* descriptor_of<ref_get_p>();
TOKAMAX_KERNELS const op* descriptor_of<ref_set_p>();
TOKAMAX_KERNELS const op* descriptor_of<relu_p>();
TOKAMAX_KERNELS const op* descriptor_of<rem_p>();
TOKAMAX_KERNELS const op* descriptor_of<remat_p>();
TOKAMAX_KERNELS const op* descriptor_of<reshape_p>();
TOKAMAX_KERNELS const op* descriptor_of<reverse_p>();
TOKAMAX_KERNELS const op* descriptor_of<rfft_p>();
TOKAMAX_KERNELS const op* descriptor_of<rms_norm_p>();
TOKAMAX_KERNELS const op* descriptor_of<rms_norm_vjp_p>();
TOKAMAX_KERNELS const op* descriptor_of<rotary_embedding_p>();
TOKAMAX_KERNELS const op* descriptor_of<round_p>();
TOKAMAX_KERNELS const op* descriptor_of<rsqrt_p>();
TOKAMAX_KERNELS const op* descriptor_of<scaled_dot_p>();
TOKAMAX_KERNELS const op* descriptor_of<scan_p>();
TOKAMAX_KERNELS const op* descriptor_of<scatter_add_onto_p>();
TOKAMAX_KERNELS const op* descriptor_of<scatter_add_p>();
TOKAMAX_KERNELS const op* descriptor_of<scatter_p>();
TOKAMAX_KERNELS const op* descriptor_of<search_sorted_p>();
TOKAMAX_KERNELS const op* descriptor_of<select_p>();
TOKAMAX_KERNELS const op* descriptor_of<semaphore_signal_p>();
TOKAMAX_KERNELS const op* descriptor_of<semaphore_wait_p>();
TOKAMAX_KERNELS const op* descriptor_of<shift_left_p>();
TOKAMAX_KERNELS const op* descriptor_of<shift_right_arithmetic_p>();
TOKAMAX_KERNELS const op* descriptor_of<shift_right_logical_p>();
TOKAMAX_KERNELS const op* descriptor_of<sign_p>();
TOKAMAX_KERNELS const op* descriptor_of<sin_p>();
TOKAMAX_KERNELS const op* descriptor_of<sinh_p>();
TOKAMAX_KERNELS const op* descriptor_of<slice_p>();
TOKAMAX_KERNELS const op* descriptor_of<softmax_p>();
TOKAMAX_KERNELS const op* descriptor_of<softmax_vjp_p>();
TOKAMAX_KERNELS const op* descriptor_of<sort_p>();
TOKAMAX_KERNELS const op* descriptor_of<split_p>();
TOKAMAX_KERNELS const op* descriptor_of<sqrt_p>();
TOKAMAX_KERNELS const op* descriptor_of<stand_in_p>();
TOKAMAX_KERNELS const op* descriptor_of<stop_gradient_p>();
TOKAMAX_KERNELS const op* descriptor_of<sub_p>();
TOKAMAX_KERNELS const op* descriptor_of<sum_in_32_bits_p>();
TOKAMAX_KERNELS const op* descriptor_of<take_along_p>();
TOKAMAX_KERNELS const op* descriptor_of<tan_p>();
TOKAMAX_KERNELS const op* descriptor_of<tanh_p>();
TOKAMAX_KERNELS const op* descriptor_of<threefry2x32_p>();
TOKAMAX_KERNELS const op* descriptor_of<top_k_p>();
TOKAMAX_KERNELS const op* descriptor_of<transpose_p>();
TOKAMAX_KERNELS const op* descriptor_of<true_positions_p>();
TOKAMAX_KERNELS const op* descriptor_of<unpack_int4_p>();
TOKAMAX_KERNELS const op* descriptor_of<variable_p>();
TOKAMAX_KERNELS const op* descriptor_of<while_loop_p>();
TOKAMAX_KERNELS attribute_list describe_attributes<arg_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<attention_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<axis_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<bitcast_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<box_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<broadcast_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<checkpoint_name_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<concatenate_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<cond_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<conv_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<conv_rhs_vjp_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<convert_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<copy_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<cumulative_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<custom_jvp_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<custom_vjp_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<debug_print_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<detail::split_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<dot_dimensions>();
TOKAMAX_KERNELS attribute_list describe_attributes<dynamic_slice_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<gated_delta_rule_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<get_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<iota_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<kernel_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<linear_cross_entropy_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<linear_solve_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<low_rank_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<max_pool_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<norm_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<packed_dot_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<pad_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<paged_attention_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<ragged_dot_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<ragged_gather_reduce_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<reduce_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<ref_empty_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<remat_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<reshape_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<reverse_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<root_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<rotary_embedding_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<scan_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<scatter_attributes>();
TOKAMAX_KERNELS attribute_list describe_attributes<scatter_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<search_sorted_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<slice_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<sort_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<take_along_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<threefry_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<top_k_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<transpose_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<true_positions_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<unpack_int4_options>();
TOKAMAX_KERNELS attribute_list describe_attributes<while_attributes>();
TOKAMAX_KERNELS struct linked_function<backward_here>;
TOKAMAX_KERNELS struct linked_function<batch_all_here>;
TOKAMAX_KERNELS struct linked_function<bind_all_here>;
TOKAMAX_KERNELS struct linked_function<broadcast_to_here>;
TOKAMAX_KERNELS struct linked_function<detail::binary_here>;
TOKAMAX_KERNELS struct linked_function<detail::bind_unrolled_here>;
TOKAMAX_KERNELS struct linked_function<detail::compute_in_here>;
TOKAMAX_KERNELS struct linked_function<detail::cond_batch_here>;
TOKAMAX_KERNELS struct linked_function<detail::cond_jvp_here>;
TOKAMAX_KERNELS struct linked_function<detail::cond_vjp_here>;
TOKAMAX_KERNELS struct linked_function<detail::cut_linear_here>;
TOKAMAX_KERNELS struct linked_function<detail::elementwise_batch_here>;
TOKAMAX_KERNELS struct linked_function<detail::emit_here>;
TOKAMAX_KERNELS struct linked_function<detail::float_unary_here>;
TOKAMAX_KERNELS struct linked_function<detail::gelu_here>;
TOKAMAX_KERNELS struct linked_function<detail::never_entered_here>;
TOKAMAX_KERNELS struct linked_function<detail::remat_vjp_here>;
TOKAMAX_KERNELS struct linked_function<detail::scan_batch_here>;
TOKAMAX_KERNELS struct linked_function<detail::scan_jvp_here>;
TOKAMAX_KERNELS struct linked_function<detail::scan_vjp_here>;
TOKAMAX_KERNELS struct linked_function<detail::while_batch_here>;
TOKAMAX_KERNELS struct linked_function<detail::while_jvp_here>;
TOKAMAX_KERNELS struct linked_function<forward_here>;
TOKAMAX_KERNELS struct linked_function<inline_graph_here>;
TOKAMAX_KERNELS struct linked_function<lift_here>;
TOKAMAX_KERNELS struct linked_function<random::detail::normal_here>;
TOKAMAX_KERNELS struct linked_function<random::detail::times_here>;
TOKAMAX_KERNELS struct linked_function<random::detail::truncated_normal_here>;
TOKAMAX_KERNELS struct linked_function<random::detail::uniform_here>;
TOKAMAX_KERNELS struct linked_function<thaw>;
}  // namespace tokamax
  #undef TOKAMAX_KERNELS
#endif

#if TOKAMAX_COMPILES(RULES)
namespace tokamax {
TOKAMAX_BODY vec<const op*> library_ops() {
  return {&abs_p,
          &acos_p,
          &acosh_p,
          &add_p,
          &all_gather_p,
          &argmax_p,
          &argmin_p,
          &asin_p,
          &asinh_p,
          &atan2_p,
          &atan_p,
          &atanh_p,
          &attention_p,
          &attention_vjp_p,
          &axis_index_p,
          &bitcast_convert_type_p,
          &bitwise_and_p,
          &bitwise_not_p,
          &bitwise_or_p,
          &bitwise_xor_p,
          &broadcast_in_dim_p,
          &captured_p,
          &causal_conv1d_sums_p,
          &cbrt_p,
          &ceil_p,
          &checkpoint_name_p,
          &concatenate_p,
          &cond_p,
          &constant_p,
          &conv_general_dilated_p,
          &conv_rhs_vjp_p,
          &convert_element_type_p,
          &copy_start_p,
          &copy_wait_p,
          &cos_p,
          &cosh_p,
          &cross_entropy_p,
          &cross_entropy_vjp_p,
          &cumsum_p,
          &custom_jvp_p,
          &custom_linear_solve_p,
          &custom_root_p,
          &custom_vjp_p,
          &debug_print_p,
          &dense_p,
          &differentiated_custom_vjp_p,
          &div_p,
          &dot_general_p,
          &dynamic_slice_p,
          &dynamic_update_slice_p,
          &eq_p,
          &erf_inv_p,
          &erf_p,
          &exp2_p,
          &exp_p,
          &expm1_p,
          &fft_p,
          &floor_p,
          &fma_p,
          &gated_delta_rule_p,
          &gather_p,
          &ge_p,
          &gelu_p,
          &get_p,
          &grid_loop_p,
          &gt_p,
          &iota_p,
          &kernel_call_p,
          &layer_norm_across_p,
          &layer_norm_p,
          &layer_norm_vjp_p,
          &le_p,
          &linear_cross_entropy_p,
          &linear_cross_entropy_vjp_p,
          &log1p_p,
          &log_p,
          &logaddexp_p,
          &logical_and_p,
          &logical_not_p,
          &logical_or_p,
          &logistic_p,
          &low_rank_update_p,
          &lt_p,
          &max_p,
          &max_pool_p,
          &max_pool_vjp_p,
          &min_p,
          &mixed_dot_p,
          &mul_p,
          &ne_p,
          &neg_p,
          &normal_cdf_p,
          &optimization_barrier_p,
          &pack_int4_p,
          &packed_dot_p,
          &packed_ragged_dot_p,
          &pad_p,
          &paged_attention_p,
          &placeholder_p,
          &pow_p,
          &quantized_scale_p,
          &quotient_p,
          &ragged_dot_p,
          &ragged_gather_p,
          &ragged_gather_reduce_p,
          &ragged_gather_reduce_vjp_p,
          &ragged_scaled_dot_p,
          &reduce_and_p,
          &reduce_max_p,
          &reduce_min_p,
          &reduce_or_p,
          &reduce_sum_p,
          &ref_empty_p,
          &ref_get_p,
          &ref_set_p,
          &relu_p,
          &rem_p,
          &remat_p,
          &reshape_p,
          &reverse_p,
          &rfft_p,
          &rms_norm_p,
          &rms_norm_vjp_p,
          &rotary_embedding_p,
          &round_p,
          &rsqrt_p,
          &scaled_dot_p,
          &scan_p,
          &scatter_add_onto_p,
          &scatter_add_p,
          &scatter_p,
          &search_sorted_p,
          &select_p,
          &semaphore_signal_p,
          &semaphore_wait_p,
          &shift_left_p,
          &shift_right_arithmetic_p,
          &shift_right_logical_p,
          &sign_p,
          &sin_p,
          &sinh_p,
          &slice_p,
          &softmax_p,
          &softmax_vjp_p,
          &sort_p,
          &split_p,
          &sqrt_p,
          &stand_in_p,
          &stop_gradient_p,
          &sub_p,
          &sum_in_32_bits_p,
          &take_along_p,
          &tan_p,
          &tanh_p,
          &threefry2x32_p,
          &top_k_p,
          &transpose_p,
          &true_positions_p,
          &unpack_int4_p,
          &variable_p,
          &while_loop_p};
}
}  // namespace tokamax
#endif
