// tokamax/stablehlo/writer/module_of.hpp: traced programs as modules of StableHLO.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of write)
// tested by tests/stablehlo/write.cpp
#pragma once

#include <tokamax/compiler/passes/lower.hpp>                // lower
#include <tokamax/lax/elementwise/logaddexp.hpp>            // logaddexp_p
#include <tokamax/lax/elementwise/special.hpp>              // normal_cdf_p
#include <tokamax/lax/fourier/transform.hpp>                // fft_p, rfft_p
#include <tokamax/lax/sort.hpp>                             // sort_options
#include <tokamax/linalg/cholesky.hpp>                      // cholesky_p, triangular_solve_p
#include <tokamax/ops/activations.hpp>                      // gelu_p
#include <tokamax/stablehlo/writer/lapack_writer.hpp>       // written_decomposition
#include <tokamax/stablehlo/writer/write_rules.hpp>         // write_rule_of
#include <tokamax/transforms/control_flow/cond_rules.hpp>   // cond_p
#include <tokamax/transforms/control_flow/scan_rules.hpp>   // scan_p
#include <tokamax/transforms/control_flow/while_rules.hpp>  // while_loop_p

namespace tokamax::stablehlo::detail {

/// What an op means that StableHLO has no operation for and that no `compose` describes; nothing for others.
inline arrays spelled_out(const call& c) {
  // The error function is computed in f32 at least.
  const auto wide = [](const array& x) { return astype(x, carrying(x.dtype())); };
  if (c.self == &normal_cdf_p) return astype(0.5 * (1.0 + erf(wide(c[0]) * 0.70710678118654752440)), c[0].dtype());
  if (c.self == &gelu_p)
    return astype(wide(c[0]) * (0.5 * (1.0 + erf(wide(c[0]) * 0.70710678118654752440))), c[0].dtype());
  if (c.self == &logaddexp_p) {
    const array largest = maximum(c[0], c[1]), d = c[0] - c[1];
    return select(d != d, c[0] + c[1], largest + log1p(exp(-abs(d))));
  }
  if (c.self == &argmax_p || c.self == &argmin_p) {  // the first one that is NaN or the extreme
    const int axis = c.attrs<arg_attributes>().axis;
    const array m = c.self == &argmax_p ? max(c[0], {.axis = {axis}, .keepdims = true})
                                        : min(c[0], {.axis = {axis}, .keepdims = true});
    const array chosen = logical_or(c[0] == m, c[0] != c[0]);
    const array place = iota(i32, c[0].shape(), axis), none(static_cast<double>(c[0].extent(axis)), {i32, false, {}});
    return min(select(chosen, place, none), axis);
  }
  return arrays();
}

/// Is there a form for an op? Others are replaced by what they are composed of.
inline bool written_as_it_is(const op& o) {
  return write_rule_of(o) || o.bodies.branches || o.bodies.carries || &o == &sort_p || &o == &fft_p || &o == &rfft_p ||
         &o == &linalg::cholesky_p || &o == &linalg::triangular_solve_p || !o.compose;
}

/// Writes graphs into a function.
class graph_writer {
 public:
  /// The values of the outputs of g, for values of its inputs.
  std::vector<written> write(const graph& g, const std::vector<written>& inputs, operation_builder to) {
    // The values of each node: several, of which get picks one, or one.
    std::vector<std::vector<written>> known(static_cast<std::size_t>(g.count()));
    for (int k = 0; k < g.inputs.count(); ++k)
      known[static_cast<std::size_t>(g.inputs[k])] = {inputs[static_cast<std::size_t>(k)]};
    for (int id = 0; id < g.count(); ++id) {
      const node& n = g[id];
      if (!n.op) continue;
      // A result of several is one of those that are known already.
      std::vector<written> in;
      if (n.op == &get_p) {
        const auto& all = known[static_cast<std::size_t>(g.operand(n, 0))];
        known[static_cast<std::size_t>(id)] = {
            all[static_cast<std::size_t>(unpack<get_attributes>(g.words_of(n)).output)]};
        continue;
      }
      for (int k = 0; k < n.operand_count; ++k) in.push_back(known[static_cast<std::size_t>(g.operand(n, k))][0]);
      known[static_cast<std::size_t>(id)] = write_node(g, n, in, to);
    }
    std::vector<written> out;
    for (int id : g.outputs) out.push_back(known[static_cast<std::size_t>(id)][0]);
    return out;
  }

 private:
  /// The values of one node.
  std::vector<written> write_node(const graph& g, const node& n, const std::vector<written>& in,
                                  operation_builder& to) {
    if (n.op == &constant_p)
      return {to.elements({array(constant_bits(g, n), {n.type.dtype, false, n.type.shape}), {}}, n.type)};
    if (n.op == &dense_p || n.op == &captured_p) return {to.elements({data_of(g, n), {}}, n.type)};
    // Rules see operands as types.
    arrays operands;
    for (const written& w : in) operands.push_back(array(w.type));
    // Operands have types only.
    graph copy(g);  // rules take a graph that they may change, of which bodies are read
    call c = call_of(copy, n, operands, &copy);
    if (n.op == &while_loop_p) return write_while(g, c, in, to);
    if (n.op == &cond_p) return write_cond(g, c, in, to);
    if (n.op == &scan_p) return write_scan(g, c, in, to);
    if (n.op == &sort_p) return write_sort(c, in, to);
    if (n.op == &fft_p || n.op == &rfft_p) return write_fft(c, in, to);
    if (n.op == &linalg::cholesky_p || n.op == &linalg::triangular_solve_p) return write_linalg(c, in, to);
    if (is_decomposition(*n.op))
      return written_decomposition(c, in[0], to, [&](const std::vector<written>& values, const auto& f) {
        return write_described(values, f, to);
      });
    if (n.op == &optimization_barrier_p) return {to.add("stablehlo.optimization_barrier", in, n.type)};
    if (const write_rule form = write_rule_of(*n.op)) return {form({c, in, to})};
    // An op that is described by others is written as these.
    return write_described(
        in,
        [&](const arrays& inside) {
          c.inputs = inside.data();
          c.trace = current_context.trace;
          const arrays out = spelled_out(c);
          if (out.empty())
            throw error("to_stablehlo: op", std::string(n.op->name), "an op that has a form in StableHLO",
                        tokamax::detail::place_text("", n.where));
          return out;
        },
        to);
  }
  /// What a function of arrays computes of some values.
  template <class F>
  std::vector<written> write_described(const std::vector<written>& in, const F& f, operation_builder& to) {
    graph meaning, lowered;
    arrays inside;
    for (const written& w : in) inside.push_back(array(&meaning, meaning.input(w.type), w.type));
    {
      const ambient_trace scope(meaning);
      for (const array& a : f(inside)) meaning.outputs.push_back(lift(meaning, a).id());
    }
    lower(lowered, meaning, written_as_it_is);
    return write(lowered, in, to);
  }
  /// The data of a table or of a captured array.
  array data_of(const graph& g, const node& n) const {
    if (n.op == &captured_p) return array(captured_data_of(g, n), {n.type.dtype, false, n.type.shape});
    array a = array::uninitialized({n.type.dtype, false, n.type.shape});
    std::memcpy(a.mutable_bytes(), g.words_of(n), static_cast<std::size_t>(a.size() * size_of(a.dtype())));
    return a;
  }
  /// A region for a body whose first inputs are its arguments, and whose others are values around it.
  region body_of(const graph& body, const std::vector<written>& arguments, const std::vector<written>& others,
                 operation_builder& to) {
    region r;
    std::vector<written> in;
    for (const written& w : arguments) {
      r.arguments.push_back(to.of_function().value_count);
      r.types.push_back(value_of(w.type));
      in.push_back({to.of_function().value_count++, w.type});
    }
    in.insert(in.end(), others.begin(), others.end());
    operation_builder inside = to.into(r.operations);
    const std::vector<written> out = write(body, in, inside);
    inside.give_back(out);
    return r;
  }
  /// The types of some values.
  static std::vector<array_type> types_of(const std::vector<written>& list) {
    std::vector<array_type> t;
    for (const written& w : list) t.push_back(w.type);
    return t;
  }
  /// Both bodies take the carries, and use what they close over where it is.
  std::vector<written> write_while(const graph& g, const call& c, const std::vector<written>& in,
                                   operation_builder& to) {
    const auto w = c.attrs<while_attributes>();
    const std::vector<written> carries(in.begin(), in.begin() + w.carries), others(in.begin() + w.carries, in.end());
    std::vector<region> regions;
    // The predicate comes first.
    for (const std::int64_t b : {std::int64_t(w.predicate), std::int64_t(w.body)})
      regions.push_back(body_of(g.bodies[static_cast<int>(b)], carries, others, to));
    return to.add_all("stablehlo.while", carries, types_of(carries), {}, std::move(regions));
  }
  /// Each branch uses its operands where they are.
  std::vector<written> write_cond(const graph& g, const call& c, const std::vector<written>& in,
                                  operation_builder& to) {
    const auto w = c.attrs<cond_attributes>();
    const std::vector<written> others(in.begin() + 1, in.end());
    std::vector<region> regions;
    // All branches have the same results.
    std::vector<array_type> types;
    for (const body_index b : w.branches) {
      const graph& body = g.bodies[static_cast<int>(std::int64_t(b))];
      types.clear();
      for (int id : body.outputs) types.push_back(body[id].type);
      regions.push_back(body_of(body, {}, others, to));
    }
    return to.add_all("stablehlo.case", {in[0]}, types, {}, std::move(regions));
  }
  /// New arguments of a region, like some values.
  static std::vector<written> arguments_of(region& r, const std::vector<written>& like, operation_builder& to) {
    std::vector<written> list;
    for (const written& v : like) {
      r.arguments.push_back(to.of_function().value_count);
      r.types.push_back(value_of(v.type));
      list.push_back({to.of_function().value_count++, v.type});
    }
    return list;
  }
  /// One step of a scan: entries of the sequences are taken out, and entries of what is stacked are put in.
  std::vector<written> step_of_scan(const graph& body, const scan_attributes& w, const std::vector<written>& in,
                                    const std::vector<written>& now, operation_builder& b) {
    const array_type number{i32, false, {}};
    written at = now[0];
    const written zero = b.constant(0, number);
    if (w.reverse)
      at = b.add("stablehlo.subtract", {b.constant(static_cast<double>(w.length - 1), number), at}, number);
    std::vector<written> inputs(now.begin() + 1, now.begin() + 1 + w.carries);
    const auto starts = [&](const written& x, int rank) {
      std::vector<written> list{x, at};
      for (int i = 1; i < rank; ++i) list.push_back(zero);
      return list;
    };
    for (int k = 0; k < w.sequences; ++k) {
      const written& x = in[static_cast<std::size_t>(w.carries + k)];
      shape entry = x.type.shape, rest;
      entry[0] = 1;
      for (int i = 1; i < entry.rank(); ++i) rest.push_back(entry[i]);
      inputs.push_back(b.reshape(b.add("stablehlo.dynamic_slice", starts(x, entry.rank()), with_shape(x.type, entry),
                                       {{"slice_sizes", list_of(entry)}}),
                                 rest));
    }
    inputs.insert(inputs.end(), in.begin() + w.carries + w.sequences, in.end());
    const std::vector<written> out = write(body, inputs, b);
    std::vector<written> next{b.add("stablehlo.add", {now[0], b.constant(1, number)}, number)};
    next.insert(next.end(), out.begin(), out.begin() + w.carries);
    for (int k = 0; k < w.stacked; ++k) {
      const written &y = out[static_cast<std::size_t>(w.carries + k)],
                    &all = now[static_cast<std::size_t>(1 + w.carries + k)];
      shape entry = all.type.shape;
      entry[0] = 1;
      std::vector<written> list = starts(all, entry.rank());
      list.insert(list.begin() + 1, b.reshape(y, entry));
      next.push_back(b.add("stablehlo.dynamic_update_slice", list, all.type));
    }
    return next;
  }
  /// A loop that counts: the carries are the number of the step, those of the scan, and what it stacks.
  std::vector<written> write_scan(const graph& g, const call& c, const std::vector<written>& in,
                                  operation_builder& to) {
    const auto w = c.attrs<scan_attributes>();
    const graph& body = g.bodies[static_cast<int>(std::int64_t(w.body))];
    const array_type number{i32, false, {}};
    // The loop begins with zeros where results are stacked.
    std::vector<written> init{to.constant(0, number)};
    init.insert(init.end(), in.begin(), in.begin() + w.carries);
    for (int k = 0; k < w.stacked; ++k) {
      array_type t = body[body.outputs[w.carries + k]].type;
      shape s{w.length};
      for (const std::int64_t e : t.shape) s.push_back(e);
      init.push_back(to.constant(0, {t.dtype, false, s}));
    }
    region predicate, step;
    {
      const std::vector<written> now = arguments_of(predicate, init, to);
      operation_builder b = to.into(predicate.operations);
      b.give_back({b.compare(now[0], b.constant(static_cast<double>(w.length), number), "LT")});
    }
    {
      const std::vector<written> now = arguments_of(step, init, to);
      operation_builder b = to.into(step.operations);
      b.give_back(step_of_scan(body, w, in, now, b));
    }
    std::vector<region> regions;
    regions.push_back(std::move(predicate));
    regions.push_back(std::move(step));
    std::vector<written> all = to.add_all("stablehlo.while", init, types_of(init), {}, std::move(regions));
    // Nobody asks for the number of the step.
    all.erase(all.begin());
    return all;
  }
  /// A sort by its first operand.
  static std::vector<written> write_sort(const call& c, const std::vector<written>& in, operation_builder& to) {
    const auto o = c.attrs<sort_options>();
    std::vector<region> regions;
    regions.push_back(key_comparator({c, in, to}, o.descending));
    return to.add_all("stablehlo.sort", in, types_of(in), {{"dimension", whole(o.axis)}, {"is_stable", truth(true)}},
                      std::move(regions));
  }
  /// A transform of complex numbers, which our ops have as two arrays.
  static std::vector<written> write_fft(const call& c, const std::vector<written>& in, operation_builder& to) {
    // Real numbers have half of the results, because the others are their conjugates.
    const bool real = c.self == &rfft_p;
    const std::int64_t n = in[0].type.shape[-1];
    array_type out = in[0].type;
    if (real) out.shape[-1] = n / 2 + 1;
    const auto as_complex = [&](const written& w) {
      operation& o = to.last();
      o.types[0].complex = true;
      return w;
    };
    const written z = real ? in[0] : as_complex(to.add("stablehlo.complex", in, in[0].type));
    const written y = as_complex(to.add(
        "stablehlo.fft", {z}, out, {{"fft_type", word(real ? "RFFT" : "FFT")}, {"fft_length", list_of(shape{n})}}));
    return {to.add("stablehlo.real", {y}, out), to.add("stablehlo.imag", {y}, out)};
  }
  /// Triangular systems and Cholesky factors.
  static std::vector<written> write_linalg(const call& c, const std::vector<written>& in, operation_builder& to) {
    if (c.self == &linalg::triangular_solve_p) {
      const auto o = c.attrs<linalg::triangular_solve_options>();
      return {to.add("stablehlo.triangular_solve", in, c.type,
                     {{"left_side", truth(o.left_side)},
                      {"lower", truth(o.lower)},
                      {"unit_diagonal", truth(o.unit_diagonal)},
                      {"transpose_a", word(o.transpose_a ? "TRANSPOSE" : "NO_TRANSPOSE")}})};
    }
    // The other triangle of the factor is not defined there, and zero here.
    const shape& s = c.type.shape;
    // Rows and columns change places.
    axes turned = iota_axes(s.rank());
    std::swap(turned.values[s.rank() - 2], turned.values[s.rank() - 1]);
    // The symmetric part of the matrix.
    const written half = to.constant(0.5, c.type);
    const written other = to.add("stablehlo.transpose", {in[0]}, c.type, {{"permutation", list_of(turned)}});
    const written both = to.add("stablehlo.multiply", {to.add("stablehlo.add", {in[0], other}, c.type), half}, c.type);
    const written l = to.add("stablehlo.cholesky", {both}, c.type, {{"lower", truth(true)}});
    const array_type places{i32, false, s};
    const written row = to.add("stablehlo.iota", {}, places, {{"iota_dimension", whole(s.rank() - 2)}});
    const written column = to.add("stablehlo.iota", {}, places, {{"iota_dimension", whole(s.rank() - 1)}});
    return {to.select(to.compare(row, column, "GE"), l, to.constant(0, c.type))};
  }
};

/// The module of a traced program, with its one function @main.
inline program_module module_of(const graph& traced) {
  // Ops without a form are replaced by what they are composed of.
  graph lowered;
  lower(lowered, traced, written_as_it_is);
  program_module m;
  m.name = "tokamax";
  // The inputs are the first values.
  function f;
  f.name = "main";
  f.has_body = true;
  std::vector<written> inputs;
  for (int id : lowered.inputs) {
    const array_type t{lowered[id].type.dtype, false, lowered[id].type.shape};
    inputs.push_back({f.value_count++, t});
    f.body.arguments.push_back(inputs.back().number);
    f.body.types.push_back(value_of(t));
  }
  // Arguments have no names and no attributes.
  f.argument_names.resize(inputs.size());
  f.argument_attributes.resize(inputs.size());
  operation_builder to(f, f.body.operations);
  const std::vector<written> results = graph_writer().write(lowered, inputs, to);
  to.give_back(results, "func.return");
  for (const written& w : results) f.results.push_back(value_of(w.type));
  f.result_attributes.resize(results.size());
  m.functions.push_back(std::move(f));
  return m;
}

}  // namespace tokamax::stablehlo::detail
