// tokamax/backend/systolic/graph_cost.hpp: what a traced program costs on a chip, op by op.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/systolic/device.cpp
// umbrella: no (what only simulates instructions needs no graphs)
#pragma once

#include <tokamax/backend/systolic/chip_kernels.hpp>           // chip_kernel
#include <tokamax/backend/systolic/fastest_blocks.hpp>         // fastest_stream, fastest_product
#include <tokamax/backend/systolic/kernel_grid.hpp>            // kernel_program
#include <tokamax/backend/systolic/report/program_report.hpp>  // program_report
#include <tokamax/compiler/passes/fuse.hpp>                    // fusion
#include <tokamax/compiler/passes/lower.hpp>                   // lower

#include <map>      // map
#include <string>   // string
#include <utility>  // exchange
#include <vector>   // vector

namespace tokamax::systolic_backend {

namespace detail {

/// Adds the ops of a program to a report. Each runs alone: it reads its operands from HBM and writes its results there, in
/// blocks that are copied while others are computed.
class graph_coster {
 public:
  explicit graph_coster(const chip& c) : chip_(c), cores_(cores_of(c)), report_{c, cores_, {}} {}

  program_report run(const graph& traced) {
    add(lowered(traced), 1);
    return std::move(report_);
  }

 private:
  static graph lowered(const graph& traced) {
    graph g;
    lower(g, traced, [](const op& o) {
      return !o.compose || &o == &kernel_call_p || is_product(o) || is_reduction(o) || has_chip_kernel(o);
    });
    return g;
  }
  static bool is_product(const op& o) { return o.precision.product_operands == 2 && o.cost.operations; }
  static bool is_reduction(const op& o) { return o.reduction.combines != combiner::none; }
  /// A call, and what it needs to live.
  struct use {
    tokamax::arrays operands;
    call c;
  };

  /// Adds the ops of a graph that runs `times` times. Elementwise ops are added as the loops that the compiler makes of them.
  void add(const graph& g, double times) {
    const fusion groups(g);
    const vec<char> live = live_nodes(g);
    std::map<int, std::vector<int>> members;
    for (int i = 0; i < g.count(); ++i)
      if (live[i] && groups.root[i] >= 0) members[groups.root[i]].push_back(i);
    for (const int i : groups.order) {
      const node& n = g[i];
      if (!live[i] || !n.op || n.op == &constant_p || n.op == &dense_p || n.op == &captured_p || n.op == &get_p)
        continue;
      if (groups.root[i] >= 0) {
        if (groups.root[i] == i) add_group(g, members[i], live, times);
      } else if (n.op == &kernel_call_p) {
        add_kernel(g, n, times);
      } else if (has_chip_kernel(*n.op)) {
        add_chip_kernel(g, n, times);
      } else if (n.op->attributes.has_bodies()) {
        add_bodies(g, n, times);
      } else if (n.op->memory.kind == op_kind::general) {
        add_op(g, n, times);
      }  // views, counted values and markers are parts of what uses them
    }
  }

  /// The call of a node, on operands without data.
  use use_of(const graph& g, const node& n) const {
    use u;
    for (int k = 0; k < n.operand_count; ++k) u.operands.push_back(array(g[g.operand(n, k)].type));
    u.c = call_of(*n.op, nullptr, u.operands.count(), g.words_of(n), n.word_count, const_cast<graph*>(&g), n.where);
    u.c.type = n.type;
    if (n.op->infer_all) {
      u.c.inputs = u.operands.data();
      if (const types all = n.op->infer_all(u.c); !all.empty()) u.c.type = all[0];
    }
    return u;
  }
  /// The name of a line: the op and the types of its operands, so that like ops share it.
  static std::string text_of(const graph& g, const node& n) {
    std::string s(n.op->name);
    for (int k = 0; k < n.operand_count; ++k) s.append(" ").append(message(g[g.operand(n, k)].type).view());
    return s;
  }
  /// The bytes that a reader of a value reads: those of the array that it is a view of, if these are fewer.
  static double bytes_read(const graph& g, int id) {
    double bytes = tokamax::bytes_of(g[id].type);
    for (const node* n = &g[id]; n->op; n = &g[id]) {
      if (is_free(*n)) return 0;
      if (!is_view(*n) || n->operand_count == 0) break;
      id = g.operand(*n, 0);
      bytes = std::min(bytes, tokamax::bytes_of(g[id].type));
    }
    return bytes;
  }

  /// Counts what blocks at the edges multiply beyond the operands as padding.
  static void count_padding(timeline& t, double macs) {
    for (stall_cycles& s : t.stalls) {
      const double more = s[bucket::useful] * (1 - macs / t.useful_macs);
      s[bucket::useful] -= more, s[bucket::padding] += more;
    }
    t.useful_macs = macs;
  }
  /// The line of ops with this name; `make` simulates them once. `macs` are the multiplications that were asked for; 0: all
  /// that the run does.
  template <class Make>
  void add_line(const std::string& name, cost_source source, double times, const Make& make, double macs = 0) {
    const auto [at, is_new] = known_.try_emplace(name, report_.lines.size());
    if (is_new) {
      report_.lines.push_back({.name = name, .source = source});
      timelines_.push_back(make());
      if (macs > 0) count_padding(timelines_.back(), macs);
    }
    report_.lines[at->second].add(timelines_[at->second], cores_, times);
  }

  static double sum(const std::vector<double>& bytes) {
    double all = 0;
    for (const double b : bytes) all += b;
    return all;
  }

  /// The fastest pipeline over blocks of what an op reads and writes.
  template <class Compute>
  timeline streamed(const std::vector<double>& reads, double written, double most, const Compute& compute) const {
    return fastest_stream(chip_, cores_, reads, written, most, compute);
  }
  static constexpr double many_parts = 1e5;

  /// Elementwise ops that share a loop: registers in, registers out.
  void add_group(const graph& g, const std::vector<int>& nodes, const vec<char>& live, double times) {
    std::vector<char> inside(static_cast<std::size_t>(g.count()), 0), leaves(inside);
    for (const int i : nodes) inside[static_cast<std::size_t>(i)] = 1;
    for (int i = 0; i < g.count(); ++i)
      for (int k = 0; live[i] && !inside[static_cast<std::size_t>(i)] && k < g[i].operand_count; ++k)
        leaves[static_cast<std::size_t>(g.operand(g[i], k))] = 1;
    for (const int o : g.outputs) leaves[static_cast<std::size_t>(o)] = 1;
    std::map<int, double> read;
    double written = 0;
    std::string name = "loop";
    for (const int i : nodes) {
      name += (name.size() < 60 ? " " + std::string(g[i].op->name) : name.ends_with("...") ? "" : " ...");
      if (leaves[static_cast<std::size_t>(i)]) written += tokamax::bytes_of(g[i].type);
      for (int k = 0; k < g[i].operand_count; ++k)
        if (const int o = g.operand(g[i], k); !inside[static_cast<std::size_t>(o)]) read[o] = bytes_read(g, o);
    }
    std::vector<double> reads;
    for (const auto& [id, bytes] : read) reads.push_back(bytes);
    name += fmt::format(" {} of {} ops, {:.0f} bytes in, {:.0f} out", std::string(message(g[nodes[0]].type).view()),
                        nodes.size(), sum(reads), written);
    add_line(name, cost_source::model, times, [&] {
      return streamed(reads, written, many_parts, [&](program& p, double, double parts, event_id ready) {
        graph_appender appender(p, chip_, 1 / parts);
        std::map<int, event_id> done;
        event_id last = ready;
        for (const int i : nodes) {
          use u = use_of(g, g[i]);
          u.c.inputs = u.operands.data();
          std::vector<event_id> after{ready};
          for (int k = 0; k < g[i].operand_count; ++k)
            if (const auto d = done.find(g.operand(g[i], k)); d != done.end()) after.push_back(d->second);
          last = done[i] = appender.append(u.c, after);
        }
        return last;
      });
    });
  }

  /// An op that is no loop: a product, a reduction, or one that the chip has no kernel for.
  void add_op(const graph& g, const node& n, double times) {
    use u = use_of(g, n);
    u.c.inputs = u.operands.data();
    const std::string name = text_of(g, n);
    if (is_product(*n.op)) return add_product(name, u.c, times);
    std::vector<double> reads;
    double written = tokamax::bytes_of(u.c.type);
    for (int k = 0; k < n.operand_count; ++k) reads.push_back(bytes_read(g, g.operand(n, k)));
    const bool reduces = is_reduction(*n.op);
    if (n.op->cost.bytes)
      reads.assign(1, std::max(0.0, n.op->cost.bytes(u.c) - written));  // of large operands only a part
    const op_cost cost = reduces ? op_cost{} : operations_of(u.c);
    add_line(name, reduces ? cost_source::model : cost_source::descriptor, times, [&] {
      return streamed(reads, written, many_parts, [&](program& p, double, double parts, event_id ready) {
        if (reduces) return graph_appender(p, chip_, 1 / parts).append(u.c, {ready});
        const double words = chip_.sublanes * chip_.lanes * parts;
        const double moved = std::max(tokamax::detail::elements(u.c.type), cost.flops);
        event_id done = p.vector("select", moved / words, {ready});
        if (cost.transcendentals > 0) done = p.vector("exp", cost.transcendentals / words, {done});
        return done;
      });
    });
  }

  /// How blocks of a product lie in memory: as the widest of its arrays, unless the arrays have a rate for narrow ones.
  static element element_of_product(const call& c) {
    const element e = element_of(c[0].dtype());
    if (e == element::int8 || e == element::fp8) return e;
    return e == element::f32 || element_of(c[1].dtype()) == element::f32 || element_of(c.type.dtype) == element::f32
               ? element::f32
               : element::bf16;
  }
  /// One large product is cut into blocks; of a batch of small ones each step computes several.
  void add_product(const std::string& name, const call& c, double times) {
    using tokamax::detail::elements;
    const double a = elements(c[0].type()), b = elements(c[1].type()), out = elements(c.type);
    const double macs = c.self->cost.operations(c).flops / 2;
    if (macs <= 0) return;
    const product_shape p = shape_of_product(a, b, out, macs);
    const double count = std::max(1.0, std::round(macs / p.macs()));
    const element e = element_of_product(c);
    const std::vector<double> reads{tokamax::bytes_of(c[0].type()), tokamax::bytes_of(c[1].type())};
    const double written = tokamax::bytes_of(c.type), of_one = (sum(reads) + written) / count;
    if (count == 1 || of_one > chip_.vmem / 8)
      return add_line(
          name, cost_source::model, times * count, [&] { return fastest_product(chip_, cores_, p, e); }, p.macs());
    add_line(name, cost_source::model, times, [&] {
      return streamed(reads, written, count, [&](program& to, double part, double parts, event_id ready) {
        const double first = std::floor(part * count / parts), last = std::floor((part + 1) * count / parts);
        event_id done = ready;
        for (double n = first; n < last; ++n) done = to.product(p, e, {ready});
        return done;
      });
    });
  }
  void add_kernel(const graph& g, const node& n, double times) {
    const auto k = unpack<kernel_attributes>(g.words_of(n));
    const std::string name = kernel_of_ + text_of(g, n) + " grid " + std::string((message() << k.grid).view()) +
                             " body " + std::to_string(g.bodies[k.body].count());
    if (k.estimated && (k.prefetch || has_node(g.bodies[k.body], is_open_loop))) {
      assume("kernels that depend on numbers of a run cost what their cost_estimate says");
      return add_estimate(name, g, k, times);
    }
    if (k.prefetch) assume("prefetched numbers of kernels are taken to be zeros");
    add_line(name, cost_source::kernel, times, [&] { return simulate(chip_, kernel_program(chip_, g, n)); });
  }
  static bool is_open_loop(const node& n) { return n.op->bodies.carries && !n.op->bodies.repeats; }
  /// Is any node of a graph or of its bodies like that?
  static bool has_node(const graph& g, bool (*like)(const node&)) {
    for (const node& n : g.nodes)
      if (n.op && like(n)) return true;
    for (const graph& b : g.bodies)
      if (has_node(b, like)) return true;
    return false;
  }
  /// A kernel by its estimate. The arrays do the operations if the body has a product, and else the vector unit does.
  void add_estimate(const std::string& name, const graph& g, const kernel_attributes& k, double times) {
    const op_cost cost = k.estimate();
    double results = 0;
    for (int o = 0; o < k.outputs; ++o) results += tokamax::bytes_of(k.output(o).array);
    const double written = std::min(results, cost.bytes_accessed);
    const bool multiplies =
        cost.flops > 0 && has_node(g.bodies[k.body], [](const node& n) { return is_product(*n.op); });
    const element e = k.bfloat16_flops > 0 || k.inputs == 0 ? element::bf16 : element_of(k.refs[0].array.dtype);
    const auto compute = [&](program& p, double, double parts, event_id ready) {
      const double words = chip_.sublanes * chip_.lanes * parts;
      const long long lanes = count_of(chip_.lanes);
      event_id done = ready;
      if (multiplies) {
        const double rows = cost.flops / 2 / parts / static_cast<double>(lanes * lanes);
        done = p.product({std::max(1LL, std::llround(rows)), lanes, lanes}, e, {ready});
      } else if (cost.flops > 0) {
        done = p.vector("add", cost.flops / words, {ready});
      }
      return cost.transcendentals > 0 ? p.vector("exp", cost.transcendentals / words, {done}) : done;
    };
    add_line(
        name, cost_source::estimate, times,
        [&] { return streamed({cost.bytes_accessed - written}, written, many_parts, compute); },
        multiplies ? cost.flops / 2 : 0);
  }

  /// Do the blocks of a kernel fit into VMEM?
  bool fits(const graph& g) const {
    for (const node& n : g.nodes) {
      if (n.op != &kernel_call_p) continue;
      const auto k = unpack<kernel_attributes>(g.words_of(n));
      double bytes = 0;
      for (int r = 0; r < k.refs.count(); ++r)
        bytes += padded_bytes(chip_, k.refs[r].type()) * (r < k.inputs + k.outputs ? k.refs[r].buffers : 1);
      if (bytes > chip_.vmem) return false;
    }
    return true;
  }
  /// An op that the chip has a kernel for, with the name of the op before that of the kernel, or else its meaning.
  void add_chip_kernel(const graph& g, const node& n, double times) {
    use u = use_of(g, n);
    u.c.inputs = u.operands.data();
    std::optional<graph> kernel = chip_kernel(u.c);
    if (kernel && !fits(*kernel)) kernel.reset();
    const std::string around = std::exchange(kernel_of_, kernel ? std::string(n.op->name) + ": " : "");
    add(lowered(kernel ? *kernel : composed(u.c)), times);
    kernel_of_ = around;
  }

  /// Loops repeat as often as is known; of branches the one with the most operations runs.
  void add_bodies(const graph& g, const node& n, double times) {
    const body_facts& facts = n.op->bodies;
    const int count = body_count(g, n);
    if (facts.branches) {
      int most = 0;
      for (int b = 1; b < count; ++b)
        if (cost_of(body_of(g, n, b)).flops > cost_of(body_of(g, n, most)).flops) most = b;
      assume("of branches the one with the most operations runs");
      return add(body_of(g, n, most), times);
    }
    if (!facts.repeats) assume("loops of unknown length run once");
    for (int b = 0; b < count; ++b)
      add(body_of(g, n, b), times * (facts.repeats ? static_cast<double>(facts.repeats(g.words_of(n))) : 1));
  }
  void assume(const std::string& text) {
    if (std::ranges::find(report_.assumptions, text) == report_.assumptions.end()) report_.assumptions.push_back(text);
  }

  const chip& chip_;
  int cores_;
  program_report report_;
  std::string kernel_of_ = {};  // the op whose kernels are added
  std::map<std::string, std::size_t> known_;
  std::vector<timeline> timelines_;
};

}  // namespace detail

/// The cycles of a traced program, as XLA would run it: ops with a meaning in smaller ops are written out, elementwise ops that
/// follow each other share a loop, and each loop, product, reduction and kernel is simulated once for all that are alike.
///
///   kernel_call            its grid, from the traced body (see kernel_program); or its cost_estimate, if it has one and its
///                          steps depend on prefetched numbers or loops of unknown length
///   attention, norms and   the kernels of kernel_ops, where these take the call (see chip_kernel)
///   cross entropy
///   products               in equal blocks of at most 512 x 1024 x 1024, or several of a batch in each step
///   reductions and loops   as many registers as their values have, in blocks of up to 2 MiB
///   other ops              the bytes and operations of their descriptors; the report names them
///   scan, while, cond      their bodies, as often as is known; the report says what was assumed
///
/// Views cost nothing, as if all layouts fitted. What a host does between runs is not counted.
///
/// errors  tokamax::error for a kernel whose blocks do not fit into VMEM, and for an element type that the chip does not multiply
inline program_report cost_on(const chip& c, const graph& traced) { return detail::graph_coster(c).run(traced); }

}  // namespace tokamax::systolic_backend
