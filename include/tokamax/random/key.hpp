// tokamax/random/key.hpp: the state of random numbers as a value, and how new ones are made of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/random/key_reuse.hpp>    // key_reuse_check
#include <tokamax/random/threefry.hpp>     // threefry2x32

#include <array>        // std::array: the keys of a split
#include <string_view>  // the name of a generator

namespace tokamax::random {

/// A key: two words that determine a sample completely. Never use a key twice; split it. key_reuse_check finds who does.
///
/// A key is an array u32[2] (with leading axes under vmap) and a leaf of trees. Only the low 32 bits of a seed count, as in
/// JAX without 64-bit numbers. `key(42)` is a value in constant expressions too. A default-made key is abstract, so that
/// records of keys have a shape.
struct key : array {
  constexpr key() : array(array_type{u32, false, {2}}) {}
  constexpr explicit key(const array& words) : array(words) {}
  template <std::integral Index>
  constexpr explicit key(Index seed) : array(from_seed(static_cast<std::uint32_t>(seed))) {}

 private:
  static constexpr array from_seed(std::uint32_t seed) {
    if (!std::is_constant_evaluated() && !current_context.trace) return concrete(seed);
    return iota(u32, {2}, 0) * array(static_cast<double>(seed), {u32, false, {}});  // 0, seed
  }
  static array concrete(std::uint32_t seed);
};
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE array key::concrete(std::uint32_t seed) { return array::from<std::uint32_t>({0, seed}); }
#endif

/// Keys with leading axes. An entry of them, such as `scan` and `vmap` give to a function, may be used as a key.
struct keys : array {
  constexpr keys() = default;
  constexpr explicit keys(const array& words) : array(words) {}
  constexpr operator key() const { return key(static_cast<const array&>(*this)); }
};

/// The keys of all positions of `extents`: [extents, 2], to be mapped over.
/// source  jax.random.split with a shape
constexpr keys split(const key& k, const shape& extents, source_line l = source_line::current()) {
  key_reuse_check::use(k, l);
  return keys(threefry2x32(k, zeros({}, u32), extents, true, l));
}

/// N new keys: `auto [now, later] = split(k)`.
/// source  jax.random.split
template <int N = 2>
constexpr std::array<key, static_cast<std::size_t>(N)> split(const key& k, source_line l = source_line::current()) {
  const array all = split(k, {N}, l);
  // made in place: g++ 12 releases a constant key twice that is assigned to one of an array
  return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::array<key, static_cast<std::size_t>(N)>{
        key(squeeze(slice_in_dim(all, static_cast<int>(Index), static_cast<int>(Index) + 1, 0, l), 0, l))...};
  }(std::make_index_sequence<static_cast<std::size_t>(N)>{});
}

/// A new key for a number, such as that of a step or of a layer.
///
/// dtypes  data i32 or u32, one number
/// source  jax.random.fold_in
constexpr key fold_in(const key& k, const array& data, source_line l = source_line::current()) {
  return key(threefry2x32(k, data, {}, true, l));
}

/// 32 random bits for each element. Element i does not depend on the shape.
/// source  jax.random.bits
constexpr array bits(const key& k, const shape& s = {}, source_line l = source_line::current()) {
  key_reuse_check::use(k, l);
  return threefry2x32(k, zeros({}, u32), s, false, l);
}

/// The generator that a key is for: threefry is the only one.
/// source  jax.random.key_impl
constexpr std::string_view key_impl(const key&) { return "threefry2x32"; }

}  // namespace tokamax::random
