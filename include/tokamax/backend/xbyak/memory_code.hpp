// tokamax/backend/xbyak/memory_code.hpp: the instructions that read, write, convert and round vectors.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/xbyak/loop.cpp
// umbrella: no (the library of kernels includes it, where Xbyak is found)
// needs <xbyak/xbyak.h>
#pragma once

#include <tokamax/backend/xbyak/element_code.hpp>  // sign_bit

namespace tokamax::xbyak {

namespace detail {

inline void write_u32_to_f32(vector_code& w, const Ymm& to, const Ymm& v) {  // exact halves, then one rounding
  const Ymm low = w.temporary();
  w.vpand(low, v, w.literal(0xffffu));
  w.vcvtdq2ps(low, low);
  w.vpsrld(to, v, 16);
  w.vcvtdq2ps(to, to);
  w.vmulps(to, to, w.literal(0x47800000u));  // 65536
  w.vaddps(to, to, low);
}
/// Toward zero; NaN is 0, and out of range is the nearest end. The instruction gives 0x80000000 for all of these.
inline void write_f32_to_i32(vector_code& w, const Ymm& to, const Ymm& v) {
  const Ymm t = w.temporary();
  w.compare_floats(t, v, w.literal(0x4f000000u), compare::ge);  // 2^31
  w.vcvttps2dq(to, v);
  w.vpxor(to, to, t);
  w.compare_floats(t, v, v, compare::ordered);
  w.vpand(to, to, t);
}
inline void write_bf16_rounding(vector_code& w, const Ymm& v) {  // see cpu_backend::round_to_bfloat16
  const Ymm nan = w.temporary(), t = w.temporary();
  w.compare_floats(nan, v, v, compare::unordered);
  w.vpsrld(t, v, 16);
  w.vpand(t, t, w.literal(1));
  w.vpaddd(t, t, w.literal(0x7fff));
  w.vpaddd(t, t, v);
  w.vpand(v, v, w.literal(sign_bit));
  w.vpor(v, v, w.literal(0x7fc00000u));
  w.vpand(t, t, w.literal(0xffff0000u));
  w.vblendvps(v, t, v, nan);
}
/// Packs the low halves of 32-bit lanes, which have no more bits, into the lower half of `v`.
inline void pack_halves(vector_code& w, const Ymm& v) {
  const Ymm t = w.temporary();
  w.vextracti128(Xmm(t.getIdx()), v, 1);
  w.vpackusdw(Xmm(v.getIdx()), Xmm(v.getIdx()), Xmm(t.getIdx()));
}
constexpr std::uint32_t low_bits(dtype t) { return (1u << bits_of(t)) - 1u; }

}  // namespace detail

/// Are values of a dtype read and written by a few instructions? Others go through functions on tiles.
constexpr bool loads_inline(dtype t) {
  return t == compute_dtype(t) || (is_integer(t) && bits_of(t) <= 16) || t == bf16 || t == f16;
}
constexpr bool stores_inline(dtype t) { return loads_inline(t); }
/// Is that so of rounding and wrapping to a dtype?
constexpr bool narrows_inline(dtype t) { return loads_inline(t); }

/// Are values converted by a few instructions?
constexpr bool has_conversion(dtype to, dtype from) {
  if (to == f16 || from == f16 || size_of(to) > 4 || size_of(from) > 4) return false;
  return to != u32 || from != f32;
}
inline void write_conversion(vector_code& w, const Ymm& to, const Ymm& v, dtype type, dtype from) {
  if (type == from || (is_integer(type) && is_integer(from)))
    w.vmovaps(to, v);
  else if (from == bool_)
    w.vpand(to, v, w.literal(type == f32 ? detail::one_f32 : 1));
  else if (type == bool_ && from == f32)
    w.compare_floats(to, v, w.literal(0), compare::unequal);
  else if (type == bool_)
    w.vpcmpeqd(to, v, w.literal(0)), detail::invert(w, to);
  else if (from == i32)
    w.vcvtdq2ps(to, v);
  else if (from == u32)
    detail::write_u32_to_f32(w, to, v);
  else
    detail::write_f32_to_i32(w, to, v);
}

/// Rounds or wraps values that are in the dtype in which `type` is computed, or limits them to its range.
inline void write_narrowing(vector_code& w, const Ymm& v, dtype type, bool saturates) {
  const auto shift = static_cast<std::uint8_t>(32 - bits_of(type));
  if (type == bf16) {
    detail::write_bf16_rounding(w, v);
  } else if (type == f16) {
    const Xmm half(v.getIdx());
    w.vcvtps2ph(half, v, 0);
    w.vcvtph2ps(v, half);
  } else if (is_signed(type) && saturates) {
    w.vpminsd(v, v, w.literal(detail::low_bits(type) >> 1));
    w.vpmaxsd(v, v, w.literal(~(detail::low_bits(type) >> 1)));
  } else if (is_signed(type)) {
    w.vpslld(v, v, shift);
    w.vpsrad(v, v, shift);
  } else if (saturates) {
    w.vpminud(v, v, w.literal(detail::low_bits(type)));
  } else {
    w.vpand(v, v, w.literal(detail::low_bits(type)));
  }
}

/// Reads a vector of elements of a dtype from memory, or from the low bytes of a register.
inline void write_load(vector_code& w, const Ymm& to, const Operand& from, dtype type) {
  if (type == bool_) {
    const Ymm zero = w.temporary();
    w.vpmovzxbd(to, from);
    w.vpxor(zero, zero, zero);
    w.vpcmpgtd(to, to, zero);
  } else if (type == bf16) {
    w.vpmovzxwd(to, from);
    w.vpslld(to, to, 16);
  } else if (type == f16) {
    w.vcvtph2ps(to, from);
  } else if (size_of(type) == 1) {
    is_signed(type) ? w.vpmovsxbd(to, from) : w.vpmovzxbd(to, from);
  } else if (size_of(type) == 2) {
    is_signed(type) ? w.vpmovsxwd(to, from) : w.vpmovzxwd(to, from);
  } else {
    w.vmovups(to, from);
  }
}
/// Writes a vector of elements of a dtype, which have been rounded to it.
inline void write_store(vector_code& w, const Address& to, const Ymm& v, dtype type) {
  if (size_of(type) == 4) return w.vmovups(to, v);
  if (type == f16) return w.vcvtps2ph(to, v, 0);
  const Ymm t = w.temporary();
  const Xmm half(t.getIdx());
  if (type == bf16)
    w.vpsrld(t, v, 16);
  else
    w.vpand(t, v, w.literal(type == bool_ ? 1u : size_of(type) == 1 ? 0xffu : 0xffffu));
  detail::pack_halves(w, t);
  if (size_of(type) == 2) return w.vmovups(to, half);
  w.vpackuswb(half, half, half);
  w.vmovq(to, half);
}

}  // namespace tokamax::xbyak
