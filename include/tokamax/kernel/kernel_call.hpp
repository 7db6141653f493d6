// tokamax/kernel/kernel_call.hpp: functions on blocks of arrays, written once for all devices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/kernel/kernel_program.hpp>  // kernel_program, ref
#include <tokamax/kernel/kernel_rules.hpp>    // kernel_call_p

#include <array>    // array
#include <utility>  // index_sequence

namespace tokamax {

namespace detail {

/// The spec of one ref as a record, after what can be checked without its index map.
constexpr block_info block_of(graph& g, const block_spec& s, const array_type& array, const shape& grid,
                              location where) {
  block_info b{.space = s.space, .array = {array.dtype, false, array.shape}, .buffers = s.buffers};
  const int rank = array.shape.rank();
  const bool whole = s.block.rank() == 0 && (rank == 0 || s.space == memory_space::any || !s.index_map);
  if (!whole && s.block.rank() != rank)
    reject(&g, where, "block_spec: block", message() << s.block, message("one extent for each axis of ") << array);
  if (s.index.rank() != 0 && s.index.rank() != rank)
    reject(&g, where, "block_spec: index", message() << s.index, message("one grid axis for each axis of ") << array);
  if (s.buffers < 1) reject(&g, where, "block_spec: buffers", message() << s.buffers, "at least 1");
  for (int i = 0; i < rank; ++i) {
    const std::int64_t given = whole || i >= s.block.rank() ? array.shape[i] : s.block[i];
    const bool one = given == squeezed;
    if (!one && !is_dyn(array.shape[i]) && given < (array.shape[i] > 0))
      reject(&g, where, "block_spec: block", message() << s.block, "extents from 1 on, or squeezed");
    b.block.push_back(one ? 1 : given);
    b.kinds.push_back(one ? block_axis::entry : s.elements.contains(i) ? block_axis::element : block_axis::block);
    const std::int64_t axis = s.index_map ? block_info::by_map : i < s.index.rank() ? s.index[i] : first_block;
    if (axis >= grid.rank() || (axis < first_block && !s.index_map))
      reject(&g, where, "block_spec: index", message() << axis, message("an axis of the grid ") << grid);
    b.index.push_back(s.space == memory_space::any ? first_block : axis);
  }
  if (is_dynamic(b.block) || is_dynamic(grid)) reject(&g, where, "kernel_call: extent", array, "one that is known");
  return b;
}

/// Rejects blocks that no step can reach, and blocks that do not fit the memory.
constexpr void check_blocks(graph& g, const kernel_attributes& k, location where) {
  std::int64_t bytes = 0;
  for (int r = 0; r < k.refs.count(); ++r) {
    const block_info& b = k.refs[r];
    for (int i = 0; i < b.index.rank(); ++i) {
      if (b.index[i] < 0 || k.grid[static_cast<int>(b.index[i])] == 0) continue;
      const std::int64_t last = k.grid[static_cast<int>(b.index[i])] - 1, at = mul_extent(last, b.unit(i));
      if (!is_dyn(b.array.shape[i]) && at >= b.array.shape[i])
        reject(&g, where, "block_spec: index", message("block ") << last << " of axis " << i << ", " << b.type(),
               message("a block of ") << b.array);
    }
    if (b.space == memory_space::vmem) {
      const std::int64_t one = mul_extent(size(b.block), size_of(b.array.dtype));
      bytes = add_extent(bytes, r < k.inputs + k.outputs ? mul_extent(b.buffers, one) : one);
    }
  }
  if (k.vmem_limit > 0 && bytes > k.vmem_limit)
    reject(&g, where, "kernel_call: vmem", message() << bytes << " bytes of blocks and scratch memory",
           message("at most ") << k.vmem_limit);
}

/// Rejects blocks of inputs and outputs that are cut within a tile.
constexpr void check_tiles(graph& g, const kernel_attributes& k, const shape& tile, location where) {
  for (const std::int64_t extent : tile)
    if (extent < 1) reject(&g, where, "kernel_call: tile", message() << tile, "extents from 1 on");
  for (int r = 0; r < k.inputs + k.outputs; ++r) {
    const block_info& b = k.refs[r];
    bool fits = true;
    for (int t = 1; t <= tile.rank() && t <= b.block.rank(); ++t) {
      const std::int64_t extent = b.block[b.block.rank() - t], most = tile[tile.rank() - t];
      fits = fits && (most < 1 || extent % most == 0 || extent == b.array.shape[b.block.rank() - t]);
    }
    if (!fits && b.space == memory_space::vmem)
      reject(&g, where, "block_spec: block", message() << b.block,
             message("multiples of ") << tile << ", or whole axes of " << b.array);
  }
}

/// The layout of a kernel on these arguments.
constexpr kernel_attributes layout_for(graph& g, const kernel_options& o, const arrays& in, location where) {
  kernel_attributes k;
  const shape& grid = o.grid.extents();
  k.grid = grid;
  for (const std::int64_t e : grid)
    if (e < 0) reject(&g, where, "kernel_call: grid", message() << grid, "extents from 0 on");
  if (const message twice = o.grid.twice_named(); twice.length)
    reject(&g, where, "kernel_call: grid", message("two axes ") << twice.view(), "axes of different names");
  k.set_estimate(o.cost_estimate);
  k.prefetch = o.prefetch;
  k.inputs = in.count() - o.prefetch;
  k.outputs = o.out.count();
  k.scratch = o.scratch.count();
  k.vmem_limit = o.vmem_limit;
  if (k.inputs < 0 || (!o.in.empty() && o.in.count() != k.inputs)) {
    reject(&g, where, "kernel_call: arguments", message() << k.inputs, message() << o.in.count() << " block_specs");
    return k;
  }
  for (int i = 0; i < k.prefetch; ++i)
    if (!is_integer(in[i].dtype())) reject(&g, where, "kernel_call: prefetch", in[i].type(), "integers");
  for (int i = 0; i < grid.rank(); ++i) {
    const int by = o.grid[i].counted_by;
    if (by >= 0 && (by >= k.prefetch || in[by].rank() != 0))
      reject(&g, where, "kernel_call: grid", message("argument ") << by << " of " << k.prefetch << " prefetched ones",
             message("an integer scalar that is prefetched, for axis ") << i);
  }
  for (const dimension_semantics s : o.semantics) {
    if (s == dimension_semantics::parallel && k.parallel < grid.rank())
      ++k.parallel;
    else
      break;
  }
  for (int i = k.parallel; i < o.semantics.count(); ++i)
    if (o.semantics[i] == dimension_semantics::parallel || i >= grid.rank())
      reject(&g, where, "kernel_call: semantics", message("a parallel axis ") << i,
             "parallel axes before arbitrary ones");
  for (int i = 0; i < k.inputs; ++i)
    k.refs.push_back(block_of(g, o.in.empty() ? block_spec{} : o.in[i], in[k.prefetch + i].type(), grid, where));
  for (const kernel_output& out : o.out) {
    k.refs.push_back(block_of(g, out.spec, out.type, grid, where));
    k.refs.back().alias = out.alias;
    if (out.alias >= 0 && (out.alias < k.prefetch || out.alias >= in.count()))
      reject(&g, where, "kernel_call: alias", message() << out.alias, "the number of an input");
    else if (out.alias >= 0 && !(in[out.alias].type() == out.type))
      reject(&g, where, "kernel_call: alias", in[out.alias].type(), out.type);
  }
  for (const kernel_scratch& s : o.scratch) k.refs.push_back(block_of(g, {.space = s.space}, s.type, grid, where));
  check_blocks(g, k, where);
  check_tiles(g, k, o.tile, where);
  return k;
}

/// The number of steps along each axis, where `prefetched` are the values of the prefetched arguments.
constexpr arrays counts_of_steps(const kernel_grid& grid, const arrays& prefetched) {
  arrays counts;
  for (int i = 0; i < grid.rank(); ++i) {
    array most(static_cast<double>(grid[i].extent), {i32, false, {}});
    const int by = grid[i].counted_by;
    counts.push_back(by < 0 ? most : minimum(maximum(convert_element_type(prefetched[by], i32), 0), most));
  }
  return counts;
}

/// Traces the index maps. A number that is the index of a grid axis, or zero, needs no map.
constexpr graph trace_maps(graph& g, kernel_attributes& k, const kernel_options& o, const arrays& in, location where) {
  graph maps;
  maps.become_body_of(g);
  const ambient_trace scope(maps);
  arrays indices;
  for (int i = 0; i < k.grid.rank(); ++i) indices.push_back(body_input(maps, {i32, false, {}}));
  arrays prefetched;
  for (int i = 0; i < k.prefetch; ++i) prefetched.push_back(body_input(maps, in[i].type()));
  // Steps that do not run keep the block of the last one that does, so nothing is copied for them.
  const arrays counts = counts_of_steps(o.grid, prefetched);
  for (int i = 0; i < k.grid.rank(); ++i)
    if (o.grid[i].counted_by >= 0) indices[i] = maximum(minimum(indices[i], counts[i] - 1), 0);
  for (const array& p : prefetched) indices.push_back(p);
  for (int r = 0; r < k.inputs + k.outputs; ++r) {
    block_info& b = k.refs[r];
    if (!b.index.contains(block_info::by_map)) continue;
    const arrays numbers = (r < k.inputs ? o.in[r] : o.out[r - k.inputs].spec).index_map(indices);
    if (numbers.count() != b.block.rank()) {
      reject(&g, where, "block_spec: index_map", message() << numbers.count() << " numbers",
             message("one for each axis of ") << b.array);
      continue;
    }
    for (int i = 0; i < numbers.count(); ++i) {
      if (!is_integer(numbers[i].dtype()) || numbers[i].rank() != 0) {
        reject(&g, where, "block_spec: index_map", numbers[i].type(), "integer scalars");
        continue;
      }
      const array number = lift(maps, convert_element_type(numbers[i], i32), where);
      for (int axis = 0; axis < k.grid.rank(); ++axis)
        if (maps.inputs[axis] == number.id()) b.index[i] = axis;
      const node& n = maps[number.id()];
      if (n.op == &constant_p && constant_bits(maps, n).value == 0) b.index[i] = first_block;
      if (b.index[i] == block_info::by_map) maps.outputs.push_back(number.id());
    }
  }
  if (maps.captures.count() || maps.captured.count())
    reject(&g, where, "block_spec: index_map", "a value that it closes over", "indices and prefetched arguments");
  return maps;
}

/// Traces the body of a kernel: f(program, refs) on refs for prefetched arguments, inputs, outputs and scratch memory.
template <class F>
constexpr graph trace_kernel(graph& g, const kernel_attributes& k, const kernel_grid& grid, const arrays& in,
                             location where, const F& f) {
  graph body;
  body.become_body_of(g);
  kernel_trace t{.now = &body, .grid = grid};
  {
    const ambient_trace scope(body);
    for (int i = 0; i < k.grid.rank(); ++i) t.ids.push_back(body_input(body, {i32, false, {}}));
    for (int i = 0; i < k.prefetch; ++i) t.states.push_back(body_input(body, in[i].type()));
    for (const block_info& b : k.refs) t.states.push_back(body_input(body, b.type()));
    for (int r = 0; r < t.states.count(); ++r) {
      t.writable.push_back(r >= k.prefetch + k.inputs);
      t.spaces.push_back(r < k.prefetch ? memory_space::smem : k.refs[r - k.prefetch].space);
    }
    t.counts = counts_of_steps(grid, t.states);
    const kernel_program p(t);
    array runs;  // is the step one of those that a run asks for?
    for (int i = 0; i < grid.rank(); ++i)
      if (grid[i].counted_by >= 0) {
        const array inside = t.ids[i] < t.counts[i];
        runs = runs.exists() ? logical_and(runs, inside) : inside;
      }
    if (runs.exists())
      p.when(runs, where, [&] { f(p, t); });
    else
      f(p, t);
    for (int r = k.prefetch + k.inputs; r < t.states.count(); ++r)
      body.outputs.push_back(lift(body, t.states[r], where).id());
  }
  if (body.captures.count() || body.captured.count())
    reject(&g, where, "kernel_call: body", "a value that it closes over", "arguments of the kernel");
  return body;
}

/// Adds a kernel to `g`.
template <class F>
constexpr arrays add_kernel(graph& g, const kernel_options& o, const arrays& in, location where, const F& f) {
  kernel_attributes k = layout_for(g, o, in, where);
  arrays none;
  for (const kernel_output& out : o.out) none.push_back(lift(g, array(0.0, out.type)));
  if (g.error.failed) return none;
  graph body = trace_kernel(g, k, o.grid, in, where, f), maps = trace_maps(g, k, o, in, where);
  check_blocks(g, k, where);
  close_body(body);
  close_body(maps);
  if (g.error.failed) return none;
  k.body = add_body(g, std::move(body));
  k.maps = add_body(g, std::move(maps));
  return bind_all(kernel_call_p, in.data(), in.count(), pack(k), where);
}

}  // namespace detail

/// A kernel, for kernel_call to make.
template <int Outputs, class Body>
class blocked_kernel {
 public:
  constexpr blocked_kernel(const Body& body, const kernel_options& options, location where)
      : body_(body), options_(options), where_(where) {}

  template <class... Args>
  constexpr auto operator()(const Args&... args) const {
    const std::array<array, sizeof...(Args)> given{array(args)...};
    auto out = in_trace([&](graph& g, const auto& in) { return call_in(g, in); }, given);
    if constexpr (Outputs == 1)
      return array(out[0]);
    else
      return out;
  }

 private:
  template <std::size_t Count>
  constexpr std::array<array, static_cast<std::size_t>(Outputs)> call_in(graph& g,
                                                                         const std::array<array, Count>& in) const {
    constexpr int others = static_cast<int>(Count) + Outputs, scratch = detail::scratch_refs<Body, others, true>();
    static_assert(
        scratch >= 0,
        "tokamax: kernel_call: the body takes a kernel_program, and a ref for each argument, output and scratch");
    constexpr int hidden =
        Outputs == 0;  // an op without results is no op: a kernel for its effects has one that nobody sees
    std::array<array, static_cast<std::size_t>(Outputs)> out;
    if (options_.out.count() != Outputs || options_.scratch.count() != scratch) {
      reject(&g, where_, "kernel_call: refs of the body", message() << Outputs << " outputs, " << scratch << " scratch",
             message() << options_.out.count() << " outputs, " << options_.scratch.count() << " scratch");
      for (array& a : out) a = lift(g, array(0.0f));
      return out;
    }
    const auto call = [&](const kernel_program& p, detail::kernel_trace& t) {
      [&]<std::size_t... Index>(std::index_sequence<Index...>) {
        const ref refs[]{ref(t, static_cast<int>(Index) + (Index < Count ? 0 : hidden))...};
        body_(p, refs[Index]...);
      }(std::make_index_sequence<static_cast<std::size_t>(others + scratch)>{});
    };
    kernel_options options = options_;
    if (hidden) options.out.push_back({{i32, false, {}}});
    const arrays results = detail::add_kernel(g, options, arrays(in.data(), Count), where_, call);
    for (int k = 0; k < Outputs; ++k) out[static_cast<std::size_t>(k)] = results[k];
    return out;
  }

  Body body_;
  kernel_options options_;
  location where_;
};

/// A function that runs `body` for each step of a grid, on blocks of its arguments and results:
///
///   body(program, refs of the arguments, refs of the results, refs of scratch memory)
///
/// The body is traced once, so it may use all ops that work on arrays, and `when` and `fori_loop` of the program around
/// reads and writes of refs. Steps run in the order of the grid, the last axis first; those along parallel axes run at the
/// same time, with the same bits for any number of threads. Scratch memory keeps its values from step to step, but not along
/// parallel axes. What was never written is NaN, or the least integer. A kernel is an op: jit, vmap (an axis of the grid) and
/// jvp know it, and grad knows it if steps are independent; otherwise give it a rule by custom_vjp.
///
/// One source runs on all devices, which do this with its parts:
///
///                     CPU                            simulated TPU                     GPU
///   grid              threads share the steps along  cores share them; a core          the host queues the work of
///                     parallel axes; a thread does   does its steps in order           all steps, in order
///                     the other steps in order
///   block_spec        the array itself where blocks  a copy from HBM to VMEM when      as on the CPU, with copies
///                     tile it, else a copy           the block changes, and back       that the GPU makes
///   scratch           memory of the thread           VMEM, which must suffice          memory of the GPU
///   get, set          nothing, or an update in       loads and stores                  as on the CPU
///                     place
///   matmul in steps   the kernels of dot_general     the arrays, in bf16               the kernels of dot_general
///   other ops         fused loops                    vector units                      fused loops
///   when, fori_loop   cond, scan, while_loop         the same, at their cost           the host reads the predicate
///   index_map         a program before the step      the scalar core                   the host reads the numbers
///   copies            at once                        DMAs, which steps wait for        at once
///
///   const auto add = kernel_call([](const auto&, const auto& x, const auto& y, const auto& o) { o.set(x.get() + y.get()); },
///                                {.grid = {8}, .in = {{{128}, {0}}, {{128}, {0}}}, .out = {{{f32, false, {1024}}, {{128}, {0}}}}});
///
/// Not here: `core_map` and copies to other devices, because a kernel has one device with cores that share nothing but arrays;
/// and blocks whose size is known in a run only, which `ref::at` with masks, or copies of parts, stand for.
///
/// shapes  `options.out` has those of the results; `Outputs` results are an array, or a std::array if they are several or none
/// errors  "block_spec: block", "block_spec: index", "block_spec: index_map", "block_spec: buffers", "kernel_call: grid",
///         "kernel_call: arguments", "kernel_call: semantics", "kernel_call: alias", "kernel_call: vmem", "kernel_call: body" for a
///         value that it closes over, "kernel_call: refs of the body", "kernel_call: reverse mode"
/// source  jax.experimental.pallas.pallas_call; its program_id, num_programs and when are members of the first argument
template <int Outputs = 1, class Body>
constexpr auto kernel_call(const Body& body, const kernel_options& options, source_line l = source_line::current()) {
  return blocked_kernel<Outputs, Body>(body, options, l);
}

}  // namespace tokamax
