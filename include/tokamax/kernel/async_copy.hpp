// tokamax/kernel/async_copy.hpp: copies between refs that run while the kernel goes on, and the semaphores that tell their end.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/async_copy.cpp
#pragma once

#include <tokamax/kernel/block_spec.hpp>      // kernel_scratch
#include <tokamax/kernel/kernel_program.hpp>  // kernel_program
#include <tokamax/kernel/ref.hpp>             // ref

namespace tokamax {

/// Attributes of the ops of copies. The starts of the boxes are the last operands, those of the source first.
struct copy_options {
  shape from_sizes;
  axes from_kept;
  shape to_sizes;
  axes to_kept;
  shape semaphore_sizes;
  int from_starts = 0, to_starts = 0;
};

namespace detail {
constexpr double bytes_of_copy(const call& c, int to) {
  const auto o = c.attrs<copy_options>();
  return tokamax::bytes_of(array_type{c[to].dtype(), false, o.to_sizes});
}
constexpr arrays starts_in(const call& c, int first, int count) {
  arrays s;
  for (int k = first; k < first + count; ++k) s.push_back(c[k]);
  return s;
}
/// The counter of bytes after a copy has added to it, or a wait has taken from it.
constexpr array counted(const array& semaphore, const copy_options& o, const arrays& starts, double bytes) {
  const box_options box{o.semaphore_sizes, {}};
  return write_box(semaphore, read_box(semaphore, box, starts) + static_cast<std::int32_t>(bytes), box, starts);
}
constexpr types types_of_copy(const call& c, int to) {
  return {{c[to].dtype(), false, c[to].shape()}, {c[to + 1].dtype(), false, c[to + 1].shape()}};
}
}  // namespace detail

/// Operands: the source, the destination, the semaphore, and the starts of their boxes. The results are what the last two
/// hold then. The destination may be read after a wait only: until then its value is that of this node, not of a wait.
inline constexpr op copy_start_p{
    .name = "copy_start",
    .cost = {.bytes = [](const call& c) { return 2 * detail::bytes_of_copy(c, 1); }},
    .attributes = schema<copy_options>,
    .infer_all = [](const call& c) -> types { return detail::types_of_copy(c, 1); },
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<copy_options>();
      const int to = 3 + o.from_starts, semaphore = to + o.to_starts;
      const array value = detail::read_box(c[0], {o.from_sizes, o.from_kept}, detail::starts_in(c, 3, o.from_starts));
      return {detail::write_box(c[1], value, {o.to_sizes, o.to_kept}, detail::starts_in(c, to, o.to_starts)),
              detail::counted(c[2], o, detail::starts_of(c, semaphore), detail::bytes_of_copy(c, 1))};
    },
};

/// Operands: the destination, the semaphore, and the starts of their boxes. The results are what they hold when the copy has
/// arrived.
inline constexpr op copy_wait_p{
    .name = "copy_wait",
    .cost = {.bytes = [](const call&) { return 0.0; }},
    .attributes = schema<copy_options>,
    .infer_all = [](const call& c) -> types { return detail::types_of_copy(c, 0); },
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<copy_options>();
      return {c[0], detail::counted(c[1], o, detail::starts_of(c, 2 + o.to_starts), -detail::bytes_of_copy(c, 0))};
    },
};

/// Scratch memory for semaphores, each of which counts the bytes that have arrived.
constexpr kernel_scratch semaphores(const shape& extents = {}) {
  return {{i32, false, extents}, memory_space::semaphore};
}

/// A copy from one ref to another. `start` and `wait` may be in different steps of a loop or grid, so a copy is described
/// again where it is waited for.
///
/// shapes  both refs have one shape and dtype; the semaphore is one of an array of them, by `at`
/// errors  "async_copy: types", "async_copy: semaphore", "ref_set: read-only"
/// source  jax.experimental.pallas.tpu.make_async_copy
class async_copy {
 public:
  constexpr async_copy(const ref& from, const ref& to, const ref& semaphore, source_line l)
      : from_(from), to_(to), semaphore_(semaphore) {
    detail::kernel_trace& t = to.trace();
    if (!(from.type() == to.type())) reject(t.now, l, "async_copy: types", from.type(), to.type());
    if (t.spaces[semaphore.number()] != memory_space::semaphore || semaphore.rank() != 0)
      reject(t.now, l, "async_copy: semaphore", semaphore.type(), "one semaphore");
    if (!t.writable[to.number()])
      reject(t.now, l, "ref_set: read-only", "a ref of an input", "a ref of an output or of scratch memory");
  }
  constexpr void start(source_line l = source_line::current()) const {
    arrays in{from_.state(), to_.state(), semaphore_.state()};
    copy_options o = options();
    from_.add_starts(in);
    o.from_starts = in.count() - 3;
    finish(copy_start_p, o, in, l);
  }
  constexpr void wait(source_line l = source_line::current()) const {
    finish(copy_wait_p, options(), {to_.state(), semaphore_.state()}, l);
  }

 private:
  constexpr copy_options options() const {
    const box_options from = from_.box(), to = to_.box();
    return {from.sizes, from.kept, to.sizes, to.kept, semaphore_.box().sizes};
  }
  constexpr void finish(const op& what, copy_options o, arrays in, source_line l) const {
    const int before = in.count();
    to_.add_starts(in);
    o.to_starts = in.count() - before;
    semaphore_.add_starts(in);
    const arrays now = bind_all(what, in.data(), in.count(), pack(o), l);
    to_.trace().states[to_.number()] = now[0];
    semaphore_.trace().states[semaphore_.number()] = now[1];
  }
  ref from_, to_, semaphore_;
};

/// A copy that is to be started.
constexpr async_copy make_async_copy(const ref& from, const ref& to, const ref& semaphore,
                                     source_line l = source_line::current()) {
  return {from, to, semaphore, l};
}

/// Copies one ref to another, and goes on when all is there.
///
/// errors  "async_copy: types", "ref_set: read-only"
/// source  jax.experimental.pallas.tpu.sync_copy
constexpr void sync_copy(const kernel_program& p, const ref& from, const ref& to,
                         source_line l = source_line::current()) {
  const int arrived = p.allocate({semaphores()}, l);
  const async_copy copy(from, to, ref(p.trace(), arrived), l);
  copy.start(l);
  copy.wait(l);
  p.release(arrived);
}

}  // namespace tokamax
