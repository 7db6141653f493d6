// tokamax/backend/xbyak/element_code.hpp: the instructions of short elementwise ops on registers of eight 32-bit elements.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/xbyak/loop.cpp
// umbrella: no (the library of kernels includes it, where Xbyak is found)
// needs <xbyak/xbyak.h>
#pragma once

#include <tokamax/backend/cpu/loop/operation_of_dtype.hpp>  // the functions of the CPU whose bits these have
#include <tokamax/backend/xbyak/vector_code.hpp>            // vector_code

namespace tokamax::xbyak {

/// The operands of a line. Operand 0 is in a register, and so are those of `element_code::in_registers`.
struct element_operands {
  const Operand &a, &b, &c;
};
using write_element = void (*)(vector_code& w, const Ymm& to, const element_operands& x);

/// How an op on operands of a dtype is written. The bits are those of `cpu_backend::apply_element`.
struct element_code {
  const op* function;
  dtype type;  ///< none: any
  write_element write;
  bool is_one = true;         ///< one instruction: the result may take the register of an operand
  unsigned in_registers = 1;  ///< bit k: operand k
};

namespace detail {

inline constexpr std::uint32_t sign_bit = 0x80000000u, ones = 0xffffffffu, one_f32 = 0x3f800000u;

inline Ymm reg(const Operand& o) { return Ymm(o.getIdx()); }

inline void invert(vector_code& w, const Ymm& v) { w.vxorps(v, v, w.literal(ones)); }

/// See `cpu_backend::maximum`, and `minimum`.
template <bool Larger>
void write_extreme(vector_code& w, const Ymm& to, const element_operands& x) {
  const Ymm a = reg(x.a), chosen = w.temporary(), t = w.temporary();
  w.compare_floats(chosen, a, x.b, Larger ? compare::gt : compare::lt);
  w.compare_floats(t, a, a, compare::unordered);
  w.vorps(chosen, chosen, t);
  Larger ? w.vandps(to, a, x.b) : w.vorps(to, a, x.b);
  w.compare_floats(t, a, x.b, compare::eq);
  const Ymm b = reg(x.b);
  w.vblendvps(to, b, to, t);
  w.vblendvps(to, to, a, chosen);
}
inline void write_sign(vector_code& w, const Ymm& to, const element_operands& x) {
  const Ymm a = reg(x.a), t = w.temporary();
  w.compare_floats(t, a, w.literal(0), compare::lt);
  w.vblendvps(to, a, w.literal(one_f32 | sign_bit), t);
  w.compare_floats(t, a, w.literal(0), compare::gt);
  w.vblendvps(to, to, w.literal(one_f32), t);
}
inline void write_rsqrt(vector_code& w, const Ymm& to, const element_operands& x) {
  const Ymm t = w.temporary();
  w.vsqrtps(to, x.a);
  w.vmovups(t, w.literal(one_f32));
  w.vdivps(to, t, to);
}
inline void write_relu(vector_code& w, const Ymm& to, const element_operands& x) {  // NaN passes, -0 does not
  const Ymm a = reg(x.a);
  w.compare_floats(to, a, w.literal(0), compare::not_less_equal);
  w.vandps(to, to, a);
}
inline void write_fma(vector_code& w, const Ymm& to, const element_operands& x) {
  w.vmovaps(to, x.a);
  w.vfmadd213ps(to, reg(x.b), x.c);
}
template <compare How>
void write_comparison(vector_code& w, const Ymm& to, const element_operands& x) {
  w.compare_floats(to, reg(x.a), x.b, How);
}
/// Comparisons of integers: a > b, perhaps of exchanged operands, and perhaps inverted.
template <bool Unsigned, bool Exchanged, bool Inverted>
void write_order(vector_code& w, const Ymm& to, const element_operands& x) {
  Ymm a = reg(x.a), b = reg(x.b);
  if constexpr (Unsigned) {
    const Ymm t = w.temporary();
    w.vpxor(to, a, w.literal(sign_bit));
    w.vpxor(t, b, w.literal(sign_bit));
    a = to, b = t;
  }
  Exchanged ? w.vpcmpgtd(to, b, a) : w.vpcmpgtd(to, a, b);
  if constexpr (Inverted) invert(w, to);
}
inline void write_unequal_integers(vector_code& w, const Ymm& to, const element_operands& x) {
  w.vpcmpeqd(to, reg(x.a), x.b);
  invert(w, to);
}
inline void write_equal_bools(vector_code& w, const Ymm& to, const element_operands& x) {
  w.vxorps(to, reg(x.a), x.b);
  invert(w, to);
}
inline void write_negated_integer(vector_code& w, const Ymm& to, const element_operands& x) {
  w.vpxor(to, to, to);
  w.vpsubd(to, to, x.a);
}

// One instruction of two operands, or of one.
#define TOKAMAX_TWO(name) +[](vector_code& w, const Ymm& to, const element_operands& x) { w.name(to, reg(x.a), x.b); }
#define TOKAMAX_ONE(...) +[](vector_code& w, const Ymm& to, const element_operands& x) { w.__VA_ARGS__; }
inline constexpr element_code element_codes[] = {
    {&add_p, f32, TOKAMAX_TWO(vaddps)},
    {&sub_p, f32, TOKAMAX_TWO(vsubps)},
    {&mul_p, f32, TOKAMAX_TWO(vmulps)},
    {&div_p, f32, TOKAMAX_TWO(vdivps)},
    {&neg_p, f32, TOKAMAX_ONE(vxorps(to, reg(x.a), w.literal(sign_bit)))},
    {&abs_p, f32, TOKAMAX_ONE(vandps(to, reg(x.a), w.literal(~sign_bit)))},
    {&max_p, f32, write_extreme<true>, false, 3},
    {&min_p, f32, write_extreme<false>, false, 3},
    {&sign_p, f32, write_sign, false},
    {&sqrt_p, f32, TOKAMAX_ONE(vsqrtps(to, x.a))},
    {&rsqrt_p, f32, write_rsqrt, false},
    {&floor_p, f32, TOKAMAX_ONE(vroundps(to, x.a, 1))},
    {&ceil_p, f32, TOKAMAX_ONE(vroundps(to, x.a, 2))},
    {&round_p, f32, TOKAMAX_ONE(vroundps(to, x.a, 0))},
    {&relu_p, f32, write_relu, false},
    {&fma_p, f32, write_fma, false, 3},
    {&eq_p, f32, write_comparison<compare::eq>},
    {&ne_p, f32, write_comparison<compare::unequal>},
    {&lt_p, f32, write_comparison<compare::lt>},
    {&le_p, f32, write_comparison<compare::le>},
    {&gt_p, f32, write_comparison<compare::gt>},
    {&ge_p, f32, write_comparison<compare::ge>},

    {&add_p, i32, TOKAMAX_TWO(vpaddd)},
    {&sub_p, i32, TOKAMAX_TWO(vpsubd)},
    {&mul_p, i32, TOKAMAX_TWO(vpmulld)},
    {&neg_p, i32, write_negated_integer, false},
    {&abs_p, i32, TOKAMAX_ONE(vpabsd(to, x.a))},
    {&max_p, i32, TOKAMAX_TWO(vpmaxsd)},
    {&min_p, i32, TOKAMAX_TWO(vpminsd)},
    {&relu_p, i32, TOKAMAX_ONE(vpmaxsd(to, reg(x.a), w.literal(0)))},
    {&eq_p, i32, TOKAMAX_TWO(vpcmpeqd)},
    {&ne_p, i32, write_unequal_integers, false},
    {&lt_p, i32, write_order<false, true, false>, false, 3},
    {&le_p, i32, write_order<false, false, true>, false, 3},
    {&gt_p, i32, write_order<false, false, false>, false, 3},
    {&ge_p, i32, write_order<false, true, true>, false, 3},
    {&bitwise_and_p, i32, TOKAMAX_TWO(vpand)},
    {&bitwise_or_p, i32, TOKAMAX_TWO(vpor)},
    {&bitwise_xor_p, i32, TOKAMAX_TWO(vpxor)},
    {&bitwise_not_p, i32, TOKAMAX_ONE(vpxor(to, reg(x.a), w.literal(ones)))},
    {&shift_left_p, i32, TOKAMAX_TWO(vpsllvd)},
    {&shift_right_arithmetic_p, i32, TOKAMAX_TWO(vpsravd)},

    {&add_p, u32, TOKAMAX_TWO(vpaddd)},
    {&sub_p, u32, TOKAMAX_TWO(vpsubd)},
    {&mul_p, u32, TOKAMAX_TWO(vpmulld)},
    {&neg_p, u32, write_negated_integer, false},
    {&abs_p, u32, TOKAMAX_ONE(vmovaps(to, x.a))},
    {&max_p, u32, TOKAMAX_TWO(vpmaxud)},
    {&min_p, u32, TOKAMAX_TWO(vpminud)},
    {&relu_p, u32, TOKAMAX_ONE(vmovaps(to, x.a))},
    {&eq_p, u32, TOKAMAX_TWO(vpcmpeqd)},
    {&ne_p, u32, write_unequal_integers, false},
    {&lt_p, u32, write_order<true, true, false>, false, 3},
    {&le_p, u32, write_order<true, false, true>, false, 3},
    {&gt_p, u32, write_order<true, false, false>, false, 3},
    {&ge_p, u32, write_order<true, true, true>, false, 3},
    {&bitwise_and_p, u32, TOKAMAX_TWO(vpand)},
    {&bitwise_or_p, u32, TOKAMAX_TWO(vpor)},
    {&bitwise_xor_p, u32, TOKAMAX_TWO(vpxor)},
    {&bitwise_not_p, u32, TOKAMAX_ONE(vpxor(to, reg(x.a), w.literal(ones)))},
    {&shift_left_p, u32, TOKAMAX_TWO(vpsllvd)},
    {&shift_right_logical_p, u32, TOKAMAX_TWO(vpsrlvd)},

    {&logical_and_p, bool_, TOKAMAX_TWO(vandps)},
    {&logical_or_p, bool_, TOKAMAX_TWO(vorps)},
    {&logical_not_p, bool_, TOKAMAX_ONE(vxorps(to, reg(x.a), w.literal(ones)))},
    {&eq_p, bool_, write_equal_bools, false},
    {&ne_p, bool_, TOKAMAX_TWO(vxorps)},

    {&select_p, dtype::none, TOKAMAX_ONE(vblendvps(to, reg(x.c), x.b, reg(x.a))), true, 5},
};

// Where operand 1 is a constant that is not NaN. The instruction gives its second operand where one is NaN or both are zeros,
// which is right unless the constant is the zero that loses against the other.
inline constexpr element_code max_of_zero{&max_p, f32, write_relu, false};
inline constexpr element_code max_of_constant{&max_p, f32, TOKAMAX_ONE(vmaxps(to, reg(x.b), x.a)), true, 3};
inline constexpr element_code min_of_constant{&min_p, f32, TOKAMAX_ONE(vminps(to, reg(x.b), x.a)), true, 3};
#undef TOKAMAX_TWO
#undef TOKAMAX_ONE

}  // namespace detail

/// The code of an op on operands of a dtype that is computed in; null if it is not short.
inline const element_code* element_code_of(const op* function, dtype operand) {
  for (const element_code& c : detail::element_codes)
    if (c.function == function && (c.type == operand || c.type == dtype::none)) return &c;
  return nullptr;
}
/// That of max or min where one operand is a constant with these bits; null if it is none of them.
inline const element_code* with_constant(const element_code& c, std::uint32_t bits) {
  if (c.type != f32 || (bits & ~detail::sign_bit) > 0x7f800000u) return nullptr;  // NaN
  if (c.function == &max_p) return bits == 0 ? &detail::max_of_zero : &detail::max_of_constant;
  if (c.function == &min_p && bits != detail::sign_bit) return &detail::min_of_constant;
  return nullptr;
}

}  // namespace tokamax::xbyak
