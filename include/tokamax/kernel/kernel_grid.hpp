// tokamax/kernel/kernel_grid.hpp: the axes along which a kernel has steps.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_grid.cpp
#pragma once

#include <tokamax/base/vec.hpp>   // vec
#include <tokamax/core/type.hpp>  // message, shape

#include <initializer_list>  // initializer_list
#include <string_view>       // string_view
#include <type_traits>       // is_integral_v

namespace tokamax {

/// One axis of a grid. A number is an axis of so many steps.
struct grid_axis {
  std::int64_t extent = 1;     ///< the number of steps; of `up_to`, the most
  std::string_view name = {};  ///< for `program_id(name)`; empty: it has none
  int counted_by = -1;         ///< the prefetched argument that says how many steps there are; -1: `extent` says it

  template <class T>
    requires std::is_integral_v<T>
  constexpr grid_axis(T along) : extent(along) {}
  constexpr grid_axis(std::string_view n, std::int64_t steps) : extent(steps), name(n) {}
};

/// An axis with as many steps as a prefetched argument says in a run, which is an integer scalar: none if it is negative, and
/// `most` if it is more.
/// source  a grid with a traced size in jax.experimental.pallas
constexpr grid_axis up_to(std::int64_t most, int prefetched, std::string_view name = {}) {
  grid_axis a(name, most);
  a.counted_by = prefetched;
  return a;
}

/// The axes of a grid, the first of which is the slowest.
///
///   {4, 8}                              4 x 8 steps
///   {{"rows", 4}, {"columns", 8}}       the same, with names
///   {up_to(16, 0), 8}                   at most 16 x 8 steps; prefetched argument 0 says how many
class kernel_grid {
 public:
  constexpr kernel_grid() = default;
  constexpr kernel_grid(std::initializer_list<grid_axis> all) {
    for (const grid_axis& a : all) axes_.push_back(a), extents_.push_back(a.extent);
  }
  constexpr kernel_grid(const shape& extents) : extents_(extents) {
    for (const std::int64_t e : extents) axes_.push_back(grid_axis(e));
  }

  constexpr const shape& extents() const { return extents_; }
  constexpr int rank() const { return extents_.rank(); }
  constexpr const grid_axis& operator[](int axis) const { return axes_[axis]; }
  /// The number of the axis with this name; -1: there is none.
  constexpr int axis_of(std::string_view name) const {
    for (int i = 0; i < rank(); ++i)
      if (!name.empty() && axes_[i].name == name) return i;
    return -1;
  }
  /// What is wrong with the names; empty: nothing.
  constexpr message twice_named() const {
    for (int i = 0; i < rank(); ++i)
      if (const int first = axis_of(axes_[i].name); first >= 0 && first != i) return message() << axes_[i].name;
    return {};
  }

 private:
  vec<grid_axis> axes_;
  shape extents_;
};

}  // namespace tokamax
