// tokamax/core/graph/open_graph.hpp: functions of constants that are traced while compiling, inside other traces or outside.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/trace.cpp
#pragma once

#include <tokamax/core/graph.hpp>  // graph

namespace tokamax::detail {

// At run time a thread knows which function it is tracing. A constant expression knows its arguments only. It cannot tell
// from `grad(f)(2.0f)` whether the call is inside of a function that is being traced, whose values f may use.
//
// So f is traced into a floating graph, which is called open during that time. If f uses a value of another graph, the
// meeting of the two graphs is recorded, and a node without meaning stands for the value. When f has returned, it is
// traced again, this time into the graph that it met.

constexpr graph& root_of(graph& g) { return g.parent ? root_of(*g.parent) : g; }

/// Decides which graph gets an operation on values of several graphs: the innermost one.
constexpr int precedence(const graph& g) { return g.floating ? g.open ? 1 : 0 : 2 + g.depth; }

constexpr void forget(graph& host, const graph* guest) {
  for (graph*& other : host.guests)
    if (other == guest) other = nullptr;
}

/// Records that a function that is being traced into `own` uses a value of `other`. If it has met several graphs, an open
/// one is preferred to a trace around both: when the function is traced there, the trace is met again.
constexpr void note_meeting(graph& own, graph& other) {
  if (own.met) {
    const bool opened = root_of(other).open, known_opened = root_of(*own.met).open;
    if (opened == known_opened ? other.depth <= own.met->depth : known_opened) return;
    forget(*own.met, &own);
  }
  own.met = &other;
  other.guests.push_back(&own);
}
/// The same for two graphs of which either may be inside of the other. False if neither is open.
constexpr bool meet(graph& a, graph& b) {
  graph &root_a = root_of(a), &root_b = root_of(b);
  if (&root_a == &root_b) return false;
  if (root_a.open) note_meeting(root_a, b);
  if (root_b.open) note_meeting(root_b, a);
  return root_a.open || root_b.open;
}

/// Called when a graph is finished. Open graphs that met it and are still open are around it, so they meet its parent.
constexpr void send_guests_on(graph& g) {
  for (graph* guest : g.guests) {
    if (!guest) continue;
    guest->met = g.parent;
    if (g.parent) g.parent->guests.push_back(guest);
  }
  g.guests.clear();
}
/// Ends the tracing of a function into `own`. Returns the graph into which it must be traced again, or null.
constexpr graph* close(graph& own) {
  own.open = false;
  send_guests_on(own);
  if (own.met) forget(*own.met, &own);
  return own.met;
}
/// Ends the tracing of the body of a loop or of a function.
constexpr void close_body(graph& body) {
  send_guests_on(body);
  if (body.error.failed && !body.parent->error.failed) body.parent->error = body.error;
  body.parent = nullptr;
}

}  // namespace tokamax::detail
