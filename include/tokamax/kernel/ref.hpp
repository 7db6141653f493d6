// tokamax/kernel/ref.hpp: memory that a kernel reads and writes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
#pragma once

#include <tokamax/kernel/kernel_grid.hpp>           // kernel_grid
#include <tokamax/kernel/ref_ops.hpp>               // ref_get_p, ref_set_p
#include <tokamax/lax/convert.hpp>                  // convert_element_type
#include <tokamax/lax/shapes/broadcast_in_dim.hpp>  // broadcast_in_dim

namespace tokamax {

/// The whole extent of an axis, as an index of a ref.
struct all_t {};
inline constexpr all_t all_of_axis{};

/// What an index of a ref takes along one axis: one entry, which leaves no axis; `size` entries from `start` on; or all.
struct ref_index {
  array start = array(0);
  std::int64_t size = -1;  ///< -1: all
  bool squeezed = false;
  constexpr ref_index(all_t) {}
  constexpr ref_index(const array& i) : start(i), size(1), squeezed(true) {}
  template <class T>
    requires std::is_integral_v<T>
  constexpr ref_index(T i) : start(static_cast<double>(i), {i32, false, {}}), size(1), squeezed(true) {}
  constexpr ref_index(const array& i, std::int64_t n) : start(i), size(n) {}
};
/// `size` entries from `start` on.
/// source  jax.experimental.pallas.ds
constexpr ref_index ds(const array& start, std::int64_t size) { return {start, size}; }

namespace detail {
/// The refs of a kernel while its body is traced, with the values that they hold now.
struct kernel_trace {
  graph* now = nullptr;  ///< the innermost graph: the body, or that of a loop or branch in it
  arrays states = {};
  vec<memory_space> spaces = {};
  vec<char> writable = {};
  arrays ids = {};     ///< indices of the step
  arrays counts = {};  ///< the numbers of steps along the axes, i32 scalars
  kernel_grid grid = {};
};
}  // namespace detail

/// Memory of a kernel: a block of an argument or of a result, or scratch memory. A ref is a name, so copies of it are the
/// same memory. Indices are written as a list with one entry for each axis: `x.get({i, ds(8 * j, 8), all_of_axis})`.
class ref {
 public:
  constexpr ref(detail::kernel_trace& t, int number) : trace_(&t), number_(number) {}

  constexpr array_type type() const { return {dtype(), false, shape()}; }
  constexpr tokamax::dtype dtype() const { return state().dtype(); }
  constexpr tokamax::shape shape() const { return detail::kept_extents(box(window_)); }
  constexpr int rank() const { return shape().rank(); }
  constexpr std::int64_t extent(int axis) const { return shape()[axis]; }

  /// What the ref holds.
  /// errors  "ref_get: indices", "ref_get: box"
  constexpr array get(const vec<ref_index>& at = {}, source_line l = source_line::current()) const {
    return read(at, l);
  }
  /// Writes a value. A scalar fills the box, and a number takes the dtype of the ref.
  /// errors  "ref_set: value" for another shape or dtype, "ref_set: box", "ref_set: read-only" for an input
  constexpr void set(const array& value, const vec<ref_index>& at = {}, source_line l = source_line::current()) const {
    write(value, at, l);
  }
  /// A ref of a part of the memory.
  constexpr ref at(const vec<ref_index>& part, source_line l = source_line::current()) const {
    ref r(*this);
    r.window_ = within(part, l);
    return r;
  }
  constexpr const ref& operator+=(const located& value) const {
    write(read({}, value.where) + value, {}, value.where);
    return *this;
  }

  constexpr detail::kernel_trace& trace() const { return *trace_; }
  constexpr int number() const { return number_; }
  constexpr const array& state() const { return trace_->states[number_]; }
  /// The box of the memory that the ref is: attributes, and the operands that are its starts.
  constexpr box_options box() const { return box(window_); }
  constexpr void add_starts(arrays& to) const { add_starts(to, window_); }

 private:
  constexpr array read(const vec<ref_index>& at, location l) const {
    const vec<ref_index> where = within(at, l);
    arrays in{state()};
    add_starts(in, where);
    return bind_all(ref_get_p, in.data(), in.count(), pack(box(where)), l)[0];
  }
  constexpr void write(const array& value, const vec<ref_index>& at, location l) const {
    const vec<ref_index> where = within(at, l);
    const box_options o = box(where);
    if (!trace_->writable[number_])
      reject(trace_->now, l, "ref_set: read-only", "a ref of an input", "a ref of an output or of scratch memory");
    array v = value;
    if (v.type().weak || v.is_literal()) v = convert_element_type(v, dtype());
    if (const tokamax::shape to = detail::kept_extents(o); v.rank() == 0 && to.rank() != 0)
      v = broadcast_in_dim(v, to, {});
    arrays in{state(), v};
    add_starts(in, where);
    trace_->states[number_] = bind_all(ref_set_p, in.data(), in.count(), pack(o), l)[0];
  }
  /// Indices of the part as indices of all memory.
  constexpr vec<ref_index> within(const vec<ref_index>& at, location l) const {
    if (window_.empty()) return at;
    vec<ref_index> all = window_;
    if (at.empty()) return all;
    int k = 0;
    for (ref_index& i : all) {
      if (i.squeezed) continue;
      if (k == at.count()) break;
      const ref_index& inner = at[k++];
      i.start = i.start + inner.start;
      if (inner.size >= 0) i.size = inner.size;
      i.squeezed = inner.squeezed;
    }
    if (at.count() != rank()) reject(trace_->now, l, "ref: indices", message() << at.count(), message() << rank());
    return all;
  }
  constexpr box_options box(const vec<ref_index>& at) const {
    const tokamax::shape& extents = state().shape();
    box_options o;
    for (int i = 0; i < extents.rank() || i < at.count(); ++i) {
      const bool full = i >= at.count() || at[i].size < 0;
      o.sizes.push_back(!full ? at[i].size : i < extents.rank() ? extents[i] : 1);
      if (i >= at.count() || !at[i].squeezed) o.kept.push_back(i);
    }
    return o;
  }
  constexpr void add_starts(arrays& to, const vec<ref_index>& at) const {
    if (at.empty()) return;
    for (int i = 0; i < at.count(); ++i) to.push_back(convert_element_type(at[i].start, i32));
    for (int i = at.count(); i < state().rank(); ++i) to.push_back(array(0.0, {i32, false, {}}));
  }

  detail::kernel_trace* trace_;
  int number_;
  vec<ref_index> window_;
};

}  // namespace tokamax
