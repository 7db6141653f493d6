// tokamax/kernel/semaphore.hpp: counts that one part of a kernel raises and another one waits for.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/semaphore.cpp
#pragma once

#include <tokamax/kernel/ref.hpp>  // ref

#include <optional>  // optional

namespace tokamax {

namespace detail {
constexpr array_type type_after_count(const call& c) {
  const array_type semaphores{c[0].dtype(), false, c[0].shape()};
  if (!box_fits(c, c.attrs<box_options>(), 2, 0)) return semaphores;
  if (c[1].dtype() != i32 || c[1].rank() != 0)
    return c.fail(message(c.self->name) << ": count", c[1].type(), "an i32 scalar");
  return semaphores;
}
/// What semaphores hold after a count has been added to one of them, or taken from it.
constexpr arrays semaphore_after(const call& c, bool adds) {
  const auto o = c.attrs<box_options>();
  const arrays starts = starts_of(c, 2);
  const array held = read_box(c[0], o, starts);
  return {write_box(c[0], adds ? held + c[1] : held - c[1], o, starts)};
}
}  // namespace detail

/// Operands: semaphores, a count, and the starts of the box of one of them. The result is what they hold then.
inline constexpr op semaphore_signal_p{
    .name = "semaphore_signal",
    .attributes = schema<box_options>,
    .infer = detail::type_after_count,
    .compose = [](const call& c) -> arrays { return detail::semaphore_after(c, true); },
};

/// The same for a wait, which takes the count away.
inline constexpr op semaphore_wait_p{
    .name = "semaphore_wait",
    .attributes = schema<box_options>,
    .infer = detail::type_after_count,
    .compose = [](const call& c) -> arrays { return detail::semaphore_after(c, false); },
};

namespace detail {

/// What a semaphore holds after the node `id`, if all that was added and taken is known while tracing: one of `run_scoped`, in
/// the same branch or step of a loop.
constexpr std::optional<std::int64_t> known_count(const graph& g, int id) {
  std::int64_t count = 0;
  for (const node* n = &g[id];; n = &g[g.operand(*n, 0)]) {
    if (n->op == &ref_empty_p && n->type.shape.rank() == 0) return count;
    if ((n->op != &semaphore_signal_p && n->op != &semaphore_wait_p) || n->operand_count != 2) return std::nullopt;
    const node& by = g[g.operand(*n, 1)];
    if (by.op != &constant_p) return std::nullopt;
    const auto amount = static_cast<std::int32_t>(constant_bits(g, by).value);
    count += n->op == &semaphore_signal_p ? amount : -amount;
  }
}

constexpr void count_on(const op& what, const ref& semaphore, const array& count, location where) {
  kernel_trace& t = semaphore.trace();
  const message name(what.name);
  if (t.spaces[semaphore.number()] != memory_space::semaphore || semaphore.rank() != 0)
    return reject(t.now, where, message(name) << ": semaphore", semaphore.type(), "one semaphore");
  const array by = lift(*t.now, convert_element_type(count, i32), where);
  if (const node& n = (*t.now)[by.id()]; n.op == &constant_p) {
    const auto amount = static_cast<std::int32_t>(constant_bits(*t.now, n).value);
    if (amount < 1) return reject(t.now, where, message(name) << ": count", message() << amount, "at least 1");
    const array held = lift(*t.now, semaphore.state(), where);
    const std::optional<std::int64_t> known = known_count(*t.now, held.id());
    if (&what == &semaphore_wait_p && known && *known < amount)
      return reject(t.now, where, "semaphore_wait: count", message() << *known << ", and nothing adds to it",
                    message("at least ") << amount);
  }
  arrays in{semaphore.state(), by};
  semaphore.add_starts(in);
  t.states[semaphore.number()] = bind_all(what, in.data(), in.count(), pack(semaphore.box()), where)[0];
}

}  // namespace detail

/// Adds to the count of a semaphore:  count += n
///
/// shapes  `semaphore` is one of `semaphores(...)`, by `at` if these are several; `n` is an integer scalar
/// errors  "semaphore_signal: semaphore", "semaphore_signal: count" below 1
/// source  jax.experimental.pallas.semaphore_signal on the own device
constexpr void semaphore_signal(const ref& semaphore, const array& n = array(1),
                                source_line l = source_line::current()) {
  detail::count_on(semaphore_signal_p, semaphore, n, l);
}

/// Waits until the count of a semaphore is at least n, and takes n away:  count -= n
///
/// The steps of a core follow each other, and parallel steps have semaphores of their own. So what a wait needs is there when
/// it begins, or never comes. The tracer refuses a wait of the second kind if all counts are constants in one branch; check_kernel
/// finds the others, and semaphores that are not zero at the end. Copies count their bytes on semaphores of their own.
///
/// shapes  those of semaphore_signal
/// errors  "semaphore_wait: semaphore", "semaphore_wait: count" below 1, or more than anything ever adds
/// source  jax.experimental.pallas.semaphore_wait
constexpr void semaphore_wait(const ref& semaphore, const array& n = array(1), source_line l = source_line::current()) {
  detail::count_on(semaphore_wait_p, semaphore, n, l);
}

/// The count of a semaphore, an i32 scalar.
///
/// errors  those of `ref::get`
/// source  jax.experimental.pallas.semaphore_read
constexpr array semaphore_read(const ref& semaphore, source_line l = source_line::current()) {
  return semaphore.get({}, l);
}

}  // namespace tokamax
