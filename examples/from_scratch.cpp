// examples/from_scratch.cpp: the core of tokamax, rebuilt in one file that includes nothing of it. Read it from top to bottom.
//
// We want to write a function of arrays once, then run it, differentiate it, and have the C++ compiler turn it into a short
// list of loops with a fixed place in memory for each value. Seven parts do that:
//
//   1 arrays    2 graphs    3 ops    4 tracing    5 derivatives    6 fusion and memory    7 running it
//
// Each part ends with a note on what tokamax does beyond it, after the example of JAX's "autodidax". To run it:
//
//   g++ -std=c++20 -O2 examples/from_scratch.cpp && ./a.out
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

// ---- 1. Arrays ------------------------------------------------------------------------------------------------------

constexpr int count(const auto& list) { return static_cast<int>(list.size()); }

/// The extents of an array. A list of fixed capacity, because a finished plan must lie in constant memory.
struct shape {
  int rank = 0;
  std::array<int, 4> extents{};

  constexpr shape() = default;
  constexpr shape(std::initializer_list<int> list) {
    for (int e : list) extents.at(rank++) = e;
  }
  constexpr int operator[](int axis) const { return extents[axis]; }
  constexpr bool operator==(const shape&) const = default;
  constexpr int size() const {
    int n = 1;
    for (int i = 0; i < rank; ++i) n *= (*this)[i];
    return n;
  }
  constexpr shape with(int axis, int extent) const {  // [a, b] with an axis 1 of extent e is [a, e, b]
    shape s = *this;
    std::copy_backward(&s.extents[axis], &s.extents.at(rank), &s.extents[rank] + 1);
    s.extents[axis] = extent;
    ++s.rank;
    return s;
  }
  constexpr shape without(int axis) const {
    shape s = *this;
    std::copy(&s.extents[axis] + 1, &s.extents[rank - 1] + 1, &s.extents[axis]);
    s.extents[--s.rank] = 0;
    return s;
  }
};

struct graph;

/// One type for three things: data, a node of a graph that is being traced, or nothing. An array of nothing stands for
/// zero, so that derivatives do not compute with zeros: sums leave it out, and products with it are nothing again.
struct array {
  shape extents;
  std::vector<double> data;  // in row-major order
  graph* trace = nullptr;    // or: the graph
  int id = -1;               //     and the node in it

  constexpr array() = default;
  constexpr array(double number) : data{number} {}
  constexpr array(shape s, std::vector<double> elements) : extents(s), data(std::move(elements)) {}
  constexpr array(shape s, graph* g, int node) : extents(s), trace(g), id(node) {}
  constexpr bool exists() const { return trace || !data.empty(); }
};

/// Functions take a list of arrays and return a list of arrays. In this file nothing else has arguments.
struct arrays : std::vector<array> {
  using vector::vector;
  constexpr arrays(const array& a) : vector{a} {}
};

constexpr array fill(double number, shape s) { return {s, std::vector<double>(s.size(), number)}; }

// In tokamax this is core/array.hpp: arrays have dtypes too, and share their memory instead of copying it. Structs of
// arrays are arguments there (base/tree.hpp), and a tensor (core/tensor.hpp) tells its shape by its type.

// ---- 2. Graphs ------------------------------------------------------------------------------------------------------

/// The options of an op: the axis that it works on, and the extent of an axis that it makes.
struct attributes {
  int axis = 0, extent = 0;
  constexpr bool operator==(const attributes&) const = default;
};

struct op;

/// One use of an op. Nodes name their operands by number, and an operand always has a smaller number than its user.
struct node {
  const op* kind = nullptr;  // nothing: an input
  std::array<int, 2> in{-1, -1};
  attributes at = {};
  shape extents = {};
  double number = 0;  // of a constant
};

struct graph {
  std::vector<node> nodes;
  std::vector<int> inputs, outputs;

  /// The node that is like `n`: the one that is there already, or a new one. So equal work is written down once.
  constexpr int find_or_add(const node& n) {
    for (int i = 0; n.kind && i < count(); ++i) {
      const node& o = (*this)[i];
      if (o.kind == n.kind && o.in == n.in && o.at == n.at && o.extents == n.extents && o.number == n.number) return i;
    }
    nodes.push_back(n);
    return count() - 1;
  }
  constexpr array input(shape s) {
    inputs.push_back(find_or_add({.extents = s}));
    return {s, this, inputs.back()};
  }
  constexpr int count() const { return static_cast<int>(nodes.size()); }
  constexpr const node& operator[](int id) const { return nodes[id]; }
};

// In tokamax this is core/graph.hpp. Equal nodes are found there in constant time, nodes know the line of the user's
// program, and control flow has graphs of its own for bodies.

// ---- 3. Ops ---------------------------------------------------------------------------------------------------------

/// What a rule sees.
struct call {
  const op* self = nullptr;
  arrays in = {};  // the operands
  attributes at = {};
  array out = {};  // for derivatives: the result
  array ct = {};   //     and its cotangent, the derivative of the final number with respect to it
};

/// What a kernel gets: memory, and the shapes in it.
struct kernel_call {
  std::array<const double*, 2> in;
  std::array<shape, 2> in_extents;
  attributes at;
  shape extents;
  double* out;
};

/// A rule is a function, or a lambda without captures. A plain pointer would do, but g++ 14 refuses to call lambdas through
/// pointers while it compiles. This one leads to a function that calls the lambda.
template <class Result>
struct rule {
  Result (*function)(const call&) = nullptr;

  constexpr rule() = default;
  constexpr rule(Result (*f)(const call&)) : function(f) {}
  template <class Lambda>
  constexpr rule(Lambda) : function(&call_to<Lambda>) {}
  template <class Lambda>
  static constexpr Result call_to(const call& c) {
    return Lambda{}(c);
  }
  constexpr Result operator()(const call& c) const { return function(c); }
  constexpr explicit operator bool() const { return function != nullptr; }
};

/// All that is known about an operation. The rest of the file never asks which op it has: it reads these rules.
struct op {
  std::string_view name;
  shape (*infer)(const call&);                   // the shape of the result; rejects wrong operands
  double (*element)(double, double) = nullptr;   // elementwise ops: one element of the result
  void (*kernel)(const kernel_call&) = nullptr;  // the others: all of the result
  rule<array> compose = {};                      // the meaning in smaller ops, from which missing rules follow
  rule<arrays> vjp = {};                         // cotangents of the operands
  double neutral = std::numeric_limits<double>::quiet_NaN();  // op(x, neutral) is x
};

constexpr array bind(const op& o, const arrays& in, attributes at = {});  // part 4: applies an op
constexpr array operator+(const array& a, const array& b);
constexpr array operator*(const array& a, const array& b);
constexpr array expand(const array& x, int axis, int extent);
constexpr array sum(const array& x, int axis);
constexpr array matmul(const array& a, const array& b);

constexpr shape same_shape(const call& c) {
  if (c.in.size() == 2 && !(c.in[0].extents == c.in[1].extents))
    throw std::invalid_argument("elementwise: shapes differ");
  return c.in[0].extents;
}

inline constexpr op constant_p{
    .name = "constant", .infer = same_shape, .element = [](double number, double) { return number; }};

inline constexpr op add_p{
    .name = "add",
    .infer = same_shape,
    .element = [](double a, double b) { return a + b; },
    .vjp = [](const call& c) -> arrays { return {c.ct, c.ct}; },
    .neutral = 0,
};

inline constexpr op mul_p{
    .name = "mul",
    .infer = same_shape,
    .element = [](double a, double b) { return a * b; },
    .vjp = [](const call& c) -> arrays { return {c.ct * c.in[1], c.ct * c.in[0]}; },
    .neutral = 1,
};

inline constexpr op tanh_p{
    .name = "tanh",
    .infer = same_shape,
    .element = [](double x, double) { return std::tanh(x); },
    .vjp = [](const call& c) -> arrays { return c.ct * (1.0 + -1.0 * (c.out * c.out)); },
};

/// Repeats x along a new axis. Its derivative is the sum along that axis, and the other way round.
constexpr void run_expand(const kernel_call& k) {
  int inner = 1;  // elements behind the new axis
  for (int i = k.at.axis + 1; i < k.extents.rank; ++i) inner *= k.extents[i];
  const int from = inner * k.at.extent;
  for (int i = 0; i < k.extents.size(); ++i) k.out[i] = k.in[0][i / from * inner + i % inner];
}
inline constexpr op expand_p{
    .name = "expand",
    .infer = [](const call& c) { return c.in[0].extents.with(c.at.axis, c.at.extent); },
    .kernel = run_expand,
    .vjp = [](const call& c) -> arrays { return sum(c.ct, c.at.axis); },
};

/// Adds up along an axis, which goes away.
constexpr void run_sum(const kernel_call& k) {
  const int extent = k.in_extents[0][k.at.axis];
  int inner = 1;
  for (int i = k.at.axis; i < k.extents.rank; ++i) inner *= k.extents[i];
  for (int i = 0; i < k.extents.size(); ++i) {
    k.out[i] = 0;
    for (int j = 0; j < extent; ++j) k.out[i] += k.in[0][(i / inner * extent + j) * inner + i % inner];
  }
}
inline constexpr op sum_p{
    .name = "sum",
    .infer = [](const call& c) { return c.in[0].extents.without(c.at.axis); },
    .kernel = run_sum,
    .vjp = [](const call& c) -> arrays { return expand(c.ct, c.at.axis, c.in[0].extents[c.at.axis]); },
};

/// The product of matrices. It has a kernel because that is faster, and a meaning in smaller ops. All other rules are
/// derived from the meaning.
constexpr shape matmul_shape(const call& c) {  // [m, k], [k, n] -> [m, n]
  const shape a = c.in[0].extents, b = c.in[1].extents;
  if (a.rank != 2 || b.rank != 2 || a[1] != b[0]) throw std::invalid_argument("matmul: inner extents differ");
  return {a[0], b[1]};
}
constexpr array matmul_meaning(const call& c) {  // a [m, k, 1] * b [1, k, n], summed over k
  return sum(expand(c.in[0], 2, c.in[1].extents[1]) * expand(c.in[1], 0, c.in[0].extents[0]), 1);
}
constexpr void run_matmul(const kernel_call& k) {
  const int inner = k.in_extents[0][1], cols = k.extents[1];
  for (int i = 0; i < k.extents.size(); ++i) {
    k.out[i] = 0;
    for (int j = 0; j < inner; ++j) k.out[i] += k.in[0][i / cols * inner + j] * k.in[1][j * cols + i % cols];
  }
}
inline constexpr op matmul_p{.name = "matmul", .infer = matmul_shape, .kernel = run_matmul, .compose = matmul_meaning};

// In tokamax this is core/op.hpp, and each op lives in a header of its own in lax/ and ops/. Kernels belong to devices
// there.

constexpr bool is_constant(const node& n) { return n.kind && n.kind == &constant_p; }

// ---- 4. Tracing -----------------------------------------------------------------------------------------------------

constexpr bool is_number(const array& a) { return a.data.size() == 1 && a.extents.rank == 0; }

/// The node of `g` for an array. A number becomes a constant of the graph.
constexpr int lift(graph& g, const array& a) {
  if (a.trace == &g) return a.id;
  if (a.trace || !std::all_of(a.data.begin(), a.data.end(), [&](double v) { return v == a.data[0]; }))
    throw std::invalid_argument("trace: pass arrays as arguments");
  return g.find_or_add({.kind = &constant_p, .extents = a.extents, .number = a.data[0]});
}

/// Applies an op. On data it computes at once; on nodes it adds a node. This is the only way to apply one, so the same
/// function runs, is traced, and is differentiated.
constexpr array bind(const op& o, const arrays& in, attributes at) {
  for (const array& a : in)
    if (!a.exists()) return {};
  const shape s = o.infer({.self = &o, .in = in, .at = at});
  const auto traced = std::find_if(in.begin(), in.end(), [](const array& a) { return a.trace; });
  if (traced == in.end()) {
    array out = fill(0, s);
    if (o.element)
      for (int i = 0; i < count(out.data); ++i) out.data[i] = o.element(in[0].data[i], in.back().data[i]);
    else
      o.kernel(
          {{in[0].data.data(), in.back().data.data()}, {in[0].extents, in.back().extents}, at, s, out.data.data()});
    return out;
  }
  graph& g = *traced->trace;
  node n{.kind = &o, .at = at, .extents = s};
  for (int i = 0; i < count(in); ++i) n.in[i] = lift(g, in[i]);
  for (int i = 0; i < 2 && in.size() == 2; ++i)  // x + 0 and x * 1 are x
    if (const node& other = g[n.in[1 - i]]; is_constant(other) && other.number == o.neutral) return in[i];
  return {s, &g, g.find_or_add(n)};
}

/// A number takes the shape of what it meets.
constexpr array beside(const array& a, const array& b) {
  if (is_number(a)) return fill(a.data[0], b.extents);
  return a;
}

constexpr array operator+(const array& a, const array& b) {
  if (!a.exists()) return b;
  if (!b.exists()) return a;
  return bind(add_p, {beside(a, b), beside(b, a)});
}
constexpr array operator*(const array& a, const array& b) {
  if (!a.exists() || !b.exists()) return {};
  return bind(mul_p, {beside(a, b), beside(b, a)});
}
constexpr array tanh(const array& x) { return bind(tanh_p, {x}); }
constexpr array expand(const array& x, int axis, int extent) { return bind(expand_p, {x}, {axis, extent}); }
constexpr array sum(const array& x, int axis) { return bind(sum_p, {x}, {axis}); }
constexpr array matmul(const array& a, const array& b) { return bind(matmul_p, {a, b}); }

/// Calls f on nodes without data, and returns what it wrote down.
template <class F>
constexpr graph trace(const F& f, const std::vector<shape>& types) {
  graph g;
  arrays in;
  for (const shape& s : types) in.push_back(g.input(s));
  const arrays out = f(in);
  for (const array& a : out) g.outputs.push_back(lift(g, a));
  return g;
}
constexpr std::vector<shape> types_of(const arrays& in) {
  std::vector<shape> types;
  for (const array& a : in) types.push_back(a.extents);
  return types;
}

// In tokamax this is core/bind.hpp and core/trace.hpp. A function may also use arrays from around it there, and the
// first mistake is kept as a value, so that the compiler can print it with the user's line.

// ---- 5. Derivatives -------------------------------------------------------------------------------------------------

// A transformation traces a function, then goes through its nodes and applies rules to other arrays. Those may be data,
// or nodes of another trace: this is why transformations can be applied to each other.

/// What an op does, said with smaller ops.
struct meaning {
  const op* of;
  attributes at;
  constexpr arrays operator()(const arrays& in) const { return of->compose({.self = of, .in = in, .at = at}); }
};

/// Reverse mode: the cotangents of the inputs of f from that of its first result. One walk forwards computes the
/// values; one walk backwards asks each node how its cotangent is shared out among its operands, and adds the shares
/// up.
template <class F>
constexpr arrays vjp(const F& f, const arrays& in, const array& ct) {
  const graph g = trace(f, types_of(in));
  std::vector<call> calls(g.nodes.size());
  for (int i = 0; i < count(in); ++i) calls[g.inputs[i]].out = in[i];
  for (int id = 0; id < g.count(); ++id) {
    const node& n = g[id];
    call& c = calls[id];
    c.self = n.kind, c.at = n.at;
    for (int i : n.in)
      if (i >= 0) c.in.push_back(calls[i].out);
    if (is_constant(n))
      c.out = fill(n.number, n.extents);
    else if (n.kind)
      c.out = bind(*n.kind, c.in, n.at);
  }
  calls[g.outputs[0]].ct = ct;
  for (int id = g.count() - 1; id >= 0; --id) {
    const call& c = calls[id];
    if (!c.self || is_constant(g[id]) || !c.ct.exists()) continue;
    arrays shares;
    if (c.self->vjp)
      shares = c.self->vjp(c);
    else
      shares = vjp(meaning{c.self, c.at}, c.in, c.ct);
    for (int i = 0; i < count(shares); ++i) {
      array& sum_of_shares = calls[g[id].in[i]].ct;
      sum_of_shares = sum_of_shares + shares[i];
    }
  }
  arrays result;
  for (int i = 0; i < count(in); ++i) {
    result.push_back(calls[g.inputs[i]].ct);
    if (!result[i].exists()) result[i] = fill(0, in[i].extents);
  }
  return result;
}

/// The gradient of a function with one number as its result.
template <class F>
constexpr auto grad(const F& f) {
  return [f](const arrays& in) { return vjp(f, in, 1.0); };
}

// In tokamax this is transforms/passes/backward.hpp. Its neighbours forward.hpp and batch.hpp are walks of the same form:
// derivatives along a direction, and functions of one example as functions of a batch.

// ---- 6. Fusion and memory -------------------------------------------------------------------------------------------

// Elementwise ops of one shape can share a loop: values pass from one to the next in registers. But a loop and the
// kernels that it waits for must not wait for each other. So each node gets a phase, one more than that of any kernel
// on its way from the inputs (and kernels one more than the loops they read). Ops of one shape in one phase depend on
// each other alone: they are one loop.

constexpr bool in_loops(const node& n) { return n.kind && n.kind->element; }

/// The phase of each node. It is -1 for nodes that no result needs, and for constants that loops alone read: they are
/// numbers in the code of the loops.
constexpr std::vector<int> phases_of(const graph& g) {
  std::vector<int> phase(g.nodes.size(), -1);
  for (int id : g.outputs) phase[id] = 0;
  for (int id = g.count() - 1; id >= 0; --id)
    for (int i : g[id].in)
      if (i >= 0 && phase[id] == 0 && !(is_constant(g[i]) && in_loops(g[id]))) phase[i] = 0;
  for (int id = 0; id < g.count(); ++id)
    for (int i : g[id].in)
      if (i >= 0 && phase[id] >= 0 && g[i].kind)
        phase[id] = std::max(phase[id], phase[i] + (in_loops(g[id]) && in_loops(g[i]) ? 0 : 1));
  return phase;
}

/// An operand of a line: a number, the result of an earlier line of the same loop, or memory.
struct operand {
  enum { number, line, memory } from = number;
  int index = 0;  // of the line, or the offset in memory
  double value = 0;
  shape extents;
};
/// One op of a loop, or a kernel.
struct line {
  const op* kind = nullptr;
  attributes at = {};
  std::array<operand, 2> in{};
  int out = -1;  // its offset in memory; -1: only other lines of the loop need it
};
struct step {
  int first = 0, lines = 0;  // one line if it is a kernel
  shape extents;
};

/// A finished program: numbers in a table and no more. It has a fixed capacity because a result of the C++ compiler
/// cannot own memory; `at` throws for what is larger, which stops the compiler.
struct plan {
  std::array<line, 64> lines{};
  std::array<step, 32> steps{};
  std::array<operand, 4> inputs{}, outputs{};  // all of them in memory
  int step_count = 0, line_count = 0, input_count = 0, output_count = 0;
  int memory = 0;      // how many numbers of memory the program needs
  int all_values = 0;  // how many it would need if values did not share memory
};

struct planner {
  const graph& g;
  plan p = {};
  std::vector<int> phase = phases_of(g), none = std::vector<int>(phase.size(), -1);
  std::vector<int> step_of = none;   // the step that computes a node; -1: an input
  std::vector<int> last_use = none;  // the last step that reads it from memory; -1: none
  std::vector<int> offset = none;    // its place in memory
  std::vector<int> line_of = none;   // its line in its step

  /// Makes steps, phase by phase, and finds out until when values are needed.
  constexpr void find_steps() {
    for (int now = 0; now <= *std::max_element(phase.begin(), phase.end()); ++now)
      for (int id = 0; id < g.count(); ++id) {
        if (!g[id].kind || phase[id] != now || step_of[id] >= 0) continue;
        for (int k = id; k < g.count(); ++k)
          if (k == id || (phase[k] == now && in_loops(g[id]) && in_loops(g[k]) && g[k].extents == g[id].extents))
            step_of[k] = p.step_count;
        p.steps.at(p.step_count++).extents = g[id].extents;
      }
    for (int id = 0; id < g.count(); ++id)
      for (int i : g[id].in)
        if (i >= 0 && phase[i] >= 0 && step_of[i] != step_of[id]) last_use[i] = std::max(last_use[i], step_of[id]);
    for (int id : g.inputs) last_use[id] = std::max(last_use[id], 0);  // one that nobody reads is copied too
    for (int id : g.outputs) last_use[id] = p.step_count;
  }

  /// The lowest offset at which a result of step s overlaps nothing that is still needed. A loop may write over an operand
  /// that nobody reads later, because it reads each element before it writes it.
  constexpr int first_fit(int id, int s) const {
    const int size = g[id].extents.size();
    int at = 0;
    for (int v = 0; v < g.count(); ++v) {
      const int end = offset[v] + g[v].extents.size();
      const bool overwrites = in_loops(g[id]) && last_use[v] == s && offset[v] == at && end == at + size;
      if (offset[v] < 0 || last_use[v] < s || overwrites || end <= at || offset[v] >= at + size) continue;
      at = end;
      v = -1;  // look at all again
    }
    return at;
  }

  /// Gives each value that a step reads from memory its place: first the inputs, then the results of one step after
  /// another.
  constexpr void find_places() {
    for (int s = -1; s < p.step_count; ++s)
      for (int id = 0; id < g.count(); ++id) {
        if (step_of[id] != s || last_use[id] < 0) continue;
        offset[id] = first_fit(id, s);
        p.memory = std::max(p.memory, offset[id] + g[id].extents.size());
        p.all_values += g[id].extents.size();
      }
  }

  constexpr operand in_memory(int id) const { return {operand::memory, offset[id], 0, g[id].extents}; }
  constexpr operand find(int id, int user) const {
    if (is_constant(g[id]) && in_loops(g[user])) return {operand::number, 0, g[id].number, {}};
    if (step_of[id] == step_of[user]) return {operand::line, line_of[id], 0, {}};
    return in_memory(id);
  }

  constexpr plan write() {
    for (int s = 0; s < p.step_count; ++s) {
      p.steps[s].first = p.line_count;
      for (int id = 0; id < g.count(); ++id) {
        if (step_of[id] != s) continue;
        line& l = p.lines.at(p.line_count++);
        line_of[id] = p.steps[s].lines++;
        l = {.kind = g[id].kind, .at = g[id].at, .out = offset[id]};
        if (is_constant(g[id])) l.in[0].value = g[id].number;
        for (int i = 0; i < 2 && g[id].in[i] >= 0; ++i) l.in[i] = find(g[id].in[i], id);
      }
    }
    for (int id : g.inputs) p.inputs.at(p.input_count++) = in_memory(id);
    for (int id : g.outputs) p.outputs.at(p.output_count++) = in_memory(id);
    return p;
  }
};

constexpr plan make_plan(const graph& g) {
  planner made{g};
  made.find_steps();
  made.find_places();
  return made.write();
}

// In tokamax this is compiler/passes/fuse.hpp, schedule.hpp, memory.hpp and plan.hpp. Loops there also read transposed and repeated
// operands as they lie, a cheap value may be computed twice rather than stored, and large groups are cut.

// ---- 7. Running it --------------------------------------------------------------------------------------------------

/// An operand of a loop for element i.
inline double element_of(const operand& o, const double* memory, const double* results, int i) {
  if (o.from == operand::memory) return memory[o.index + i];
  return o.from == operand::line ? results[o.index] : o.value;
}

/// Runs step S of a plan that the C++ compiler knows. The lines of a loop are constants, so the compiler writes them one
/// after another, with the functions of the ops in place and the results in registers. All lines are computed before the
/// first one is stored, which may be in the place of an operand.
template <const plan& P, int S, int... K>
void run_step(double* memory, std::integer_sequence<int, K...>) {
  constexpr const line* lines = &P.lines[P.steps[S].first];
  constexpr shape extents = P.steps[S].extents;
  const auto operand_of = [&](int k, int which, const double* results, int i) {
    return element_of(lines[k].in[which], memory, results, i);
  };
  if constexpr (lines->kind->kernel != nullptr) {
    const auto [a, b] = lines->in;
    lines->kind->kernel(
        {{memory + a.index, memory + b.index}, {a.extents, b.extents}, lines->at, extents, memory + lines->out});
  } else {
    double results[sizeof...(K)] = {};
    for (int i = 0; i < extents.size(); ++i) {
      ((results[K] = lines[K].kind->element(operand_of(K, 0, results, i), operand_of(K, 1, results, i))), ...);
      ((lines[K].out >= 0 ? void(memory[lines[K].out + i] = results[K]) : void()), ...);
    }
  }
}

template <const plan& P>
arrays run(const arrays& inputs) {
  std::vector<double> memory(P.memory);
  for (int i = 0; i < P.input_count; ++i) std::ranges::copy(inputs[i].data, &memory[P.inputs[i].index]);
  [&]<int... S>(std::integer_sequence<int, S...>) {
    (run_step<P, S>(memory.data(), std::make_integer_sequence<int, P.steps[S].lines>{}), ...);
  }(std::make_integer_sequence<int, P.step_count>{});
  arrays out;
  for (int i = 0; i < P.output_count; ++i) {
    const double* from = &memory[P.outputs[i].index];
    out.push_back({P.outputs[i].extents, std::vector<double>(from, from + P.outputs[i].extents.size())});
  }
  return out;
}

// In tokamax this is runtime/run/executable.hpp, and the loops are backend/cpu/loop/: one type a loop and SIMD vectors
// instead of numbers; or, for programs traced at run time, an interpreter of the same table.

// ---- All of it together ---------------------------------------------------------------------------------------------

/// A network of two layers: the mean square of its error on 4 points. {w1 [2, 8], w2 [8, 1], x [4, 2], y [4, 1]} -> [].
constexpr auto loss = [](const arrays& in) -> arrays {
  const array error = matmul(tanh(matmul(in[2], in[0])), in[1]) + -1.0 * in[3];  // [4, 1]
  return 0.25 * sum(sum(error * error, 0), 0);
};
constexpr auto train = [](const arrays& in) -> arrays {  // new weights, and the loss of the old ones
  const arrays slope = grad(loss)(in);
  return {in[0] + -0.2 * slope[0], in[1] + -0.2 * slope[1], loss(in)[0]};
};

// Here the C++ compiler traces, differentiates, fuses and plans. What is left in the binary is this table.
static constexpr plan program = make_plan(trace(train, {{2, 8}, {8, 1}, {4, 2}, {4, 1}}));
static_assert(program.memory < program.all_values);

array random(shape s, unsigned seed) {
  array a = fill(0, s);
  for (double& v : a.data) v = (seed = seed * 1664525u + 1013904223u) / 4294967296.0 - 0.5;
  return a;
}
void check(const char* claim, bool holds) { std::printf("%-62s %s\n", claim, holds ? "yes" : "NO"); }

void print(const plan& p) {
  for (int s = 0; s < p.step_count; ++s) {
    std::printf("  %s", p.lines[p.steps[s].first].kind->kernel ? "kernel" : "loop  ");
    for (int k = 0; k < p.steps[s].lines; ++k) std::printf(" %s", p.lines[p.steps[s].first + k].kind->name.data());
    std::printf("\n");
  }
}

int main() {
  arrays in{
      random({2, 8}, 1), random({8, 1}, 2), {{4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}}, {{4, 1}, {0, 1, 1, 0}}};  // x, y: xor

  // Data: each op computes at once. Nodes: the same function writes a graph, and equal work is written once.
  std::printf("loss of the first weights: %.4f\n", loss(in)[0].data[0]);
  const auto twice = [](const arrays& x) -> arrays { return tanh(x[0]) * 1.0 + (tanh(x[0]) + 0.0); };
  std::printf("tanh(x) * 1 + (tanh(x) + 0): %d nodes, x tanh 1 0 add\n", trace(twice, {{3}}).count());

  // Derivatives: each gradient against a finite difference, and the gradient of a gradient.
  const arrays slope = grad(loss)(in);
  double worst = 0;
  for (int a = 0; a < 2; ++a)
    for (int i = 0; i < count(in[a].data); ++i) {
      const double h = 1e-5;
      arrays above = in, below = in;
      above[a].data[i] += h, below[a].data[i] -= h;
      const double difference = (loss(above)[0].data[0] - loss(below)[0].data[0]) / (2 * h);
      worst = std::max(worst, std::abs(difference - slope[a].data[i]));
    }
  check("gradients agree with finite differences", worst < 1e-8);
  const auto f = [](const arrays& x) -> arrays { return tanh(x[0]); };
  const double t = std::tanh(0.3), second = grad(grad(f))(arrays{0.3})[0].data[0];
  check("the second derivative of tanh is -2 tanh (1 - tanh^2)", std::abs(second + 2 * t * (1 - t * t)) < 1e-12);

  // The program that the compiler made.
  std::printf("a step of training has %d steps, and memory of %d numbers for %d\n", program.step_count, program.memory,
              program.all_values);
  print(program);
  const arrays eager = train(in), planned = run<program>(in);
  bool same_bits = true;
  for (int i = 0; i < 3; ++i) same_bits = same_bits && eager[i].data == planned[i].data;
  check("the program and plain calls give the same bits", same_bits);
  for (int i = 0; i <= 400; ++i) {
    const arrays next = run<program>(in);
    in[0] = next[0], in[1] = next[1];
    if (i % 200 == 0) std::printf("step %3d  loss %.4f\n", i, next[2].data[0]);
  }
}
