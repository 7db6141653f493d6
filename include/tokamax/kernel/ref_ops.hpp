// tokamax/kernel/ref_ops.hpp: reads, writes and copies of refs as nodes of a graph.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
#pragma once

#include <tokamax/kernel/memory_space.hpp>         // memory_space
#include <tokamax/lax/elementwise/arithmetic.hpp>  // +
#include <tokamax/lax/indexing/dynamic_slice.hpp>  // dynamic_slice, dynamic_update_slice

#include <cstdint>  // uint64_t
#include <limits>   // quiet_NaN

namespace tokamax {

// What a ref holds at some point of a kernel is a value of the graph, and a write makes the next value. So the order of
// reads and writes is in the operands, where passes see it, and no node has an effect. A ref is found again by following
// first operands back to an input of the body. On the CPU the chain of values of one ref is one buffer.

/// Attributes of the ops below: the box of a ref that they touch. Without starts among the operands it is all of the ref.
struct box_options {
  shape sizes;  ///< along the axes of the ref
  axes kept;    ///< the axes that the value has; the others have extent 1
};

namespace detail {
constexpr shape kept_extents(const box_options& o) {
  shape s;
  for (const std::int64_t axis : o.kept) s.push_back(o.sizes[static_cast<int>(axis)]);
  return s;
}
/// Rejects a box outside of the ref, as far as that is known while tracing.
constexpr bool box_fits(const call& c, const box_options& o, int first, int ref) {
  const shape& all = c[ref].shape();
  const int starts = c.count - first;
  if (o.sizes.rank() != all.rank() || (starts != 0 && starts != all.rank())) {
    c.fail(message(c.self->name) << ": indices", message() << o.sizes.rank(),
           message("one for each axis of ") << c[ref].type());
    return false;
  }
  for (int i = 0; i < all.rank(); ++i) {
    std::int64_t start = 0;
    bool known = starts == 0;
    if (starts != 0 && c.trace && c[first + i].trace() == c.trace) {
      const node& n = (*c.trace)[c[first + i].id()];
      known = n.op == &constant_p;
      if (known) start = static_cast<std::int32_t>(constant_bits(*c.trace, n).value);
    }
    const bool fits = starts == 0 ? o.sizes[i] == all[i] : o.sizes[i] >= 0 && o.sizes[i] <= all[i];
    if (!fits || start < 0 || (known && start > all[i] - o.sizes[i])) {
      c.fail(message(c.self->name) << ": box",
             message() << "[" << start << ", " << start + o.sizes[i] << ") of axis " << i,
             message("inside of ") << c[ref].type());
      return false;
    }
  }
  return true;
}
constexpr arrays starts_of(const call& c, int first) {
  arrays s;
  for (int k = first; k < c.count; ++k) s.push_back(c[k]);
  return s;
}
constexpr array read_box(const array& ref, const box_options& o, const arrays& starts) {
  const array box = starts.empty() ? ref : dynamic_slice(ref, starts, o.sizes);
  return reshape(box, kept_extents(o));
}
constexpr array write_box(const array& ref, const array& value, const box_options& o, const arrays& starts) {
  const array box = reshape(value, o.sizes);
  return starts.empty() ? box : dynamic_update_slice(ref, box, starts);
}
/// What memory holds that was never written: NaN, the least integer, or 0 of a semaphore.
constexpr array unwritten(const array_type& t, memory_space space) {
  const bool negative = is_signed(t.dtype) && space != memory_space::semaphore;
  const double least = negative ? -static_cast<double>(std::uint64_t{1} << (bits_of(t.dtype) - 1)) : 0.0;
  return array(is_floating(t.dtype) ? std::numeric_limits<double>::quiet_NaN() : least, {t.dtype, false, t.shape});
}
}  // namespace detail

/// Operands: a ref, and for each of its axes the start of the box. The result is what the ref holds there.
inline constexpr op ref_get_p{
    .name = "ref_get",
    .attributes = schema<box_options>,
    .infer = [](const call& c) -> array_type {
      const auto o = c.attrs<box_options>();
      if (!detail::box_fits(c, o, 1, 0)) return c[0].type();
      return {c[0].dtype(), false, detail::kept_extents(o)};
    },
    .compose = [](const call& c) -> arrays {
      return detail::read_box(c[0], c.attrs<box_options>(), detail::starts_of(c, 1));
    },
};

/// Operands: a ref, a value, and the starts of the box. The result is what the ref holds then.
inline constexpr op ref_set_p{
    .name = "ref_set",
    .attributes = schema<box_options>,
    .infer = [](const call& c) -> array_type {
      const auto o = c.attrs<box_options>();
      const array_type ref{c[0].dtype(), false, c[0].shape()};
      if (!detail::box_fits(c, o, 2, 0)) return ref;
      const array_type wanted{ref.dtype, false, detail::kept_extents(o)};
      return c[1].type() == wanted ? ref : c.fail("ref_set: value", c[1].type(), wanted);
    },
    .compose = [](const call& c) -> arrays {
      return detail::write_box(c[0], c[1], c.attrs<box_options>(), detail::starts_of(c, 2));
    },
};

/// Attributes of ref_empty.
struct ref_empty_attributes {
  array_type type = {};
  memory_space space = memory_space::vmem;
};

/// What a ref of scratch memory holds that has not been written. It is an op so that each ref begins with a node of its own.
inline constexpr op ref_empty_p{
    .name = "ref_empty",
    .unique = true,
    .attributes = schema<ref_empty_attributes>,
    .infer = [](const call& c) -> array_type { return c.attrs<ref_empty_attributes>().type; },
    .compose = [](const call& c) -> arrays {
      return detail::unwritten(c.self->infer(c), c.attrs<ref_empty_attributes>().space);
    },
};

}  // namespace tokamax
