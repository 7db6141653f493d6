// tokamax/base/modular.hpp: integers whose arithmetic wraps around, as that of registers does.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/base/element.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstddef>      // size_t
#include <type_traits>  // make_unsigned_t

namespace tokamax {

/// An integer modulo 2^bits, which acts as a register of one lane. An element function that is written for registers
/// also works on it, in constant expressions too.
template <class T>
struct modular {
  using value_type = T;
  using bits = std::make_unsigned_t<T>;
  static constexpr std::size_t size = 1;
  T value{};

  constexpr explicit modular(T v) : value(v) {}
  static constexpr modular of(bits v) { return modular(static_cast<T>(v)); }
  constexpr bits low() const { return static_cast<bits>(value); }
  constexpr void store_aligned(T* to) const { *to = value; }
  static constexpr modular load_aligned(const T* from) { return modular(*from); }

  friend constexpr modular operator+(modular a, modular b) { return of(a.low() + b.low()); }
  friend constexpr modular operator-(modular a, modular b) { return of(a.low() - b.low()); }
  friend constexpr modular operator*(modular a, modular b) { return of(a.low() * b.low()); }
  friend constexpr modular operator-(modular a) { return of(bits{} - a.low()); }
  friend constexpr modular operator&(modular a, modular b) { return of(a.low() & b.low()); }
  friend constexpr modular operator|(modular a, modular b) { return of(a.low() | b.low()); }
  friend constexpr modular operator^(modular a, modular b) { return of(a.low() ^ b.low()); }
  friend constexpr modular operator~(modular a) { return of(~a.low()); }
  friend constexpr modular operator<<(modular a, modular b) { return of(a.low() << b.low()); }
  friend constexpr modular operator>>(modular a, modular b) { return modular(static_cast<T>(a.value >> b.low())); }
  friend constexpr modular operator!(modular a) { return modular(a.value == T{}); }
  friend constexpr bool operator==(modular a, modular b) { return a.value == b.value; }
  friend constexpr bool operator<(modular a, modular b) { return a.value < b.value; }
  friend constexpr bool operator>(modular a, modular b) { return a.value > b.value; }
  friend constexpr bool operator<=(modular a, modular b) { return a.value <= b.value; }
  friend constexpr bool operator>=(modular a, modular b) { return a.value >= b.value; }
  friend constexpr modular abs(modular a) { return a.value < T{} ? -a : a; }
  template <class C>
    requires std::is_arithmetic_v<C>
  friend constexpr modular select(C condition, modular a, modular b) {
    return condition ? a : b;
  }
};

}  // namespace tokamax
