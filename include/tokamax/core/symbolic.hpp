// tokamax/core/symbolic.hpp: arguments with extents that are symbols, so that one trace at run time serves all values.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/symbolic.cpp
#pragma once

#include <tokamax/core/array.hpp>  // array

#include <utility>  // move

namespace tokamax {

/// An array whose program, if it is traced at run time, is also used for other extents; see `symbolic`. Everywhere else
/// it is an ordinary array.
class symbolic_array : public array {
 public:
  constexpr symbolic_array() = default;
  symbolic_array(array x, array_type declared) : array(std::move(x)), declared_(declared) {}
  /// The type for which programs are traced: its dynamic extents are the symbols.
  constexpr const array_type& declared() const { return declared_; }

 private:
  array_type declared_;
};

namespace detail {
/// The type of an argument for which a program is traced at run time.
template <class Leaf>
constexpr const array_type& declared_type(const Leaf& a) {
  if constexpr (std::is_same_v<Leaf, symbolic_array>) return a.declared();
  if constexpr (requires { Leaf::static_type; })
    if constexpr (is_dynamic(Leaf::static_type.shape)) return Leaf::static_type;
  return a.type();
}

[[noreturn]] void no_such_symbol(int symbol);
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void no_such_symbol(int symbol) {
  throw error("symbolic: symbol", std::to_string(symbol), "a symbol from 0 to " + std::to_string(max_symbols - 1));
}
#endif
}  // namespace detail

/// `x` as an argument whose extent along `axis` is the symbol `symbol`. `run(model, symbolic(x))` traces once and serves
/// batches of every size. A tensor states the same by its type, `tensor<f32, dyn(), 784>`, also within structs.
///
/// shapes  any. While f is traced, arrays that depend on the extent have the symbol instead. A symbol that occurs more
///         than once has one value in a call. All other extents are fixed in the program. `x.extent(0)` is then a number that
///         only stands for the extent: add_extent, sub_extent, mul_extent, div_extent and ceil_extent compute with it, and
///         extent_as_array is its value in the program. What + - * / make of it is refused.
/// errors  "axis", "symbolic: symbol"; "dynamic extent: ..." for an op that needs to know the extent
/// source  jax.export.symbolic_shape, here by the axis instead of a name
inline symbolic_array symbolic(symbolic_array x, int axis = 0, int symbol = 0) {
  if (symbol < 0 || symbol >= max_symbols) detail::no_such_symbol(symbol);
  array_type t = x.declared();
  t.shape[axis] = detail::dynamic_extent(1, 1u << 2 * symbol);
  return {static_cast<array&&>(x), t};
}
inline symbolic_array symbolic(array x, int axis = 0, int symbol = 0) {
  const array_type t = x.type();
  return symbolic(symbolic_array(std::move(x), t), axis, symbol);
}

}  // namespace tokamax
