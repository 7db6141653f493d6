// tokamax/runtime/composed_kernel.hpp: the meaning of an op as a kernel: a program of the smaller ops that compose names.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/choice.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>              // slice
#include <tokamax/lax/shapes/broadcast_in_dim.hpp>     // broadcast_in_dim
#include <tokamax/lax/shapes/transpose.hpp>            // transpose
#include <tokamax/runtime/choice.hpp>                  // chosen_implementation
#include <tokamax/runtime/program/traced_program.hpp>  // owned_program

#include <algorithm>  // find, lower_bound, sort
#include <numeric>    // gcd
#include <vector>     // vector

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/compiler/text/attribute_text.hpp>  // attributes_text

namespace tokamax::detail {

/// An operand of a kernel as the expression of an input: the memory in the order of its strides, then cut, permuted and
/// repeated. These are views, so nothing is copied unless an op needs it dense.
class strided_operand {
 public:
  explicit strided_operand(const array_view& v) : v_(v) {
    for (int i = 0; i < v.rank(); ++i)
      if (v.size() == 0 || (v.extent(i) > 1 && v.stride(i) != 0)) order_.push_back(i);
    if (v.size() != 0)
      std::sort(order_.begin(), order_.end(),
                [&](int a, int b) { return v.stride(a) != v.stride(b) ? v.stride(a) > v.stride(b) : a < b; });
    std::int64_t around = 0;  // the distance of elements that follow one another along the axis before, in memory
    for (const int i : order_) {
      const std::int64_t extent = v.extent(i), stride = v.size() == 0 ? 1 : v.stride(i);
      possible_ = possible_ && stride > 0;
      if (around == 0 || v.size() == 0 || !possible_) {
        physical_.push_back(extent);
        steps_.push_back(1);
        around = stride;
        continue;
      }
      const std::int64_t unit = std::gcd(around, stride), most = around / unit, step = stride / unit;
      possible_ = (extent - 1) * step < most;
      physical_.push_back(most);
      steps_.push_back(step);
      around = unit;
    }
    if (around > 1 && possible_) {  // of the last axis, every element of a few counts
      const int last = physical_.rank() - 1;
      physical_[last] *= around;
      steps_[last] *= around;
    }
  }
  bool possible() const { return possible_; }
  array_type input_type() const { return {v_.type, false, physical_}; }
  /// The operand from its input.
  array operator()(array x) const {
    shape begin, end;
    bool whole = true;
    for (int k = 0; k < physical_.rank(); ++k) {
      begin.push_back(0);
      const std::int64_t extent = v_.extent(order_[static_cast<std::size_t>(k)]);
      end.push_back(extent > 0 ? (extent - 1) * steps_[k] + 1 : 0);
      whole = whole && end[k] == physical_[k] && steps_[k] == 1;
    }
    if (!whole) x = slice(x, begin, end, steps_);
    std::vector<int> sorted = order_;
    std::sort(sorted.begin(), sorted.end());
    axes permutation, logical;
    for (const int axis : sorted) {
      logical.push_back(axis);
      permutation.push_back(std::find(order_.begin(), order_.end(), axis) - order_.begin());
    }
    if (sorted != order_) x = transpose(x, permutation);
    return logical.rank() == v_.rank() ? x : broadcast_in_dim(x, v_.extents, logical);
  }

 private:
  const array_view& v_;
  shape physical_, steps_;
  std::vector<int> order_;  // the axes along which elements differ, from the longest stride to the shortest
  bool possible_ = true;
};

/// A program that computes a call by the `compose` rule of its op.
class composed_kernel {
 public:
  /// errors  tokamax::error that says why the call has no such program
  composed_kernel(const op& o, const kernel_arguments& like, scope_view scope) {
    for (int k = 0; k < like.out_count; ++k)
      if (!is_row_major(like.out[k].extents, like.out[k].strides))
        throw error(error_kind::internal, "compose", "results that are parts of an array", "dense results");
    if (!make(o, like, scope, 0) && !make(o, like, scope, o.precision.product_operands))
      throw error(error_kind::internal, "compose", "results of other dtypes", "those of the kernel");
  }
  void run(const kernel_arguments& a) {
    pointers_.clear();
    for (int k = 0; k < a.in_count + a.out_count; ++k) pointers_.push_back(static_cast<std::byte*>(a.in[k].data));
    device& where = a.context->where;
    // The kernel may write the first result over an operand, and so the plan may give both the same memory. The smaller ops
    // read operands after they have begun to write results, so theirs is apart until the end.
    const bool over_operand = shares_memory(a);
    const std::size_t bytes = over_operand ? dense_bytes(a.out[0]) : 0;
    if (over_operand) pointers_[static_cast<std::size_t>(a.in_count)] = a.context->scratch(bytes);
    handle arena;
    if (const std::size_t needed = program_->code.arena_bytes()) arena = where.allocate(needed);
    execution inner(where);
    inner.group = a.context->group;
    program_->code.run(pointers_.data(), pointers_.data() + a.in_count,
                       arena ? where.kernel_address(arena->data) : nullptr, inner);
    if (over_operand)
      where.copy_in_step(a.out[0].as<std::byte>(), pointers_[static_cast<std::size_t>(a.in_count)], bytes);
  }

 private:
  static std::size_t dense_bytes(const array_view& v) {
    return static_cast<std::size_t>(v.size()) * static_cast<std::size_t>(size_of(v.type));
  }
  /// Is the first result the memory of an operand? Plans let them share all of it or nothing.
  static bool shares_memory(const kernel_arguments& a) {
    if (a.out_count == 0 || a.out[0].size() == 0) return false;
    for (int k = 0; k < a.in_count; ++k)
      if (a.in[k].data == a.out[0].data) return true;
    return false;
  }
  /// Traces the program. The first `widened` operands become f32: a program of bfloat16 products rounds them beforehand. False
  /// if its results are others than those of the kernel.
  bool make(const op& o, const kernel_arguments& like, scope_view scope, int widened) {
    graph g;
    g.scope = {g.names.read(0, scope.name), g.decided.find_or_add(scope.implementations)};
    const ambient_trace tracing(g);
    arrays in;
    for (int k = 0; k < like.in_count; ++k) {
      const strided_operand operand(like.in[k]);
      if (!operand.possible())
        throw error(error_kind::internal, "compose", "operands that overlap", "views of separate elements");
      const array_type t = operand.input_type();
      array x = operand(array(&g, g.input(t), t));
      if (k < widened && x.dtype() == bf16) x = convert_element_type(x, f32);
      in.push_back(x);
    }
    call c = call_of(o, in.data(), in.count(), like.attributes, like.attribute_count, &g);
    if (!o.infer_all) c.type = {like.out[0].type, false, like.out[0].extents};
    const arrays results = o.compose(c);
    bool same = static_cast<int>(results.size()) == like.out_count;
    for (int k = 0; same && k < like.out_count; ++k) {
      same = results[k].exists() && results[k].dtype() == like.out[k].type && results[k].shape() == like.out[k].extents;
      if (same) g.outputs.push_back(lift(g, results[k]).id());
    }
    if (same) program_ = owned_program::make(g, like.context->where.kernels());
    return same;
  }

  std::unique_ptr<owned_program> program_;
  std::vector<std::byte*> pointers_;
};

/// The names that a list of decisions has for an op or, if it is a gradient, for the op that it belongs to:
/// "onednn|kernel".
inline std::string_view names_in(std::string_view list, std::string_view op) {
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(';'));
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view asked = entry.substr(0, equals);
    if (op == asked || (op.starts_with(asked) && op.substr(asked.size()) == "_vjp")) return entry.substr(equals + 1);
  }
  return {};
}

/// The name that a table has for a call; empty if there is none.
inline std::string_view tuned_name(const execution& where, const std::string& key) {
  const std::string kind = where.where.kind();
  const auto in = [&](const choice_layer& layer) -> std::string_view {
    if (!layer.table || layer.table->device_kind != kind) return {};
    const std::vector<choice_table::choice>& all = layer.table->choices;
    const auto at =
        std::lower_bound(all.begin(), all.end(), key, [](const auto& c, const auto& k) { return c.call < k; });
    return at == all.end() || at->call != key ? std::string_view() : at->implementation;
  };
  for (const choice_layer* layer = current_choices(); layer; layer = layer->outer.get())
    if (const std::string_view name = in(*layer); !name.empty()) return name;
  const choice_layer* const all = choices_of_all_threads.load(std::memory_order_acquire);
  return all ? in(*all) : std::string_view();
}

TOKAMAX_COMPILED_ONCE std::vector<chosen_implementation> implementations_for(const op& o, const kernel_arguments& a,
                                                                             kernel_function kernel,
                                                                             implementation_list others,
                                                                             scope_view scope,
                                                                             std::vector<std::string>& refused) {
  std::vector<chosen_implementation> all{{"kernel", kernel}};
  if (others)
    for (const implementation& i : others()) {
      kernel_arguments asked = a;
      asked.configuration = i.configuration;
      const std::string reason = i.refuses ? i.refuses(asked) : std::string();
      if (reason.empty())
        all.push_back({i.name, i.run, i.configuration});
      else
        refused.push_back(i.name + ": " + reason);
    }
  const char* const reason = !o.compose                      ? " has no such rule"
                             : o.attributes.has_bodies()     ? " has bodies, which belong to the program around it"
                             : o.effect != effect_kind::none ? " has an effect"
                                                             : nullptr;
  if (reason) {
    refused.push_back("compose: " + std::string(o.name) + reason);
    return all;
  }
  try {
    all.push_back({"compose", nullptr, 0, std::make_shared<composed_kernel>(o, a, scope)});
  } catch (const error& e) {
    refused.push_back("compose: " + e.found);
  }
  return all;
}

TOKAMAX_COMPILED_ONCE bool step_choices::choose(const op& o, const kernel_arguments& a, kernel_function kernel,
                                                implementation_list others, scope_view scope, entry& to) {
  const std::string_view names = names_in(scope.implementations, o.name);
  const std::string_view tuned = names.empty() ? tuned_name(*a.context, call_text(o, a)) : std::string_view();
  if (names == "kernel" || (names.empty() && (tuned.empty() || tuned == "kernel"))) return false;
  std::vector<std::string> refused;
  std::vector<chosen_implementation> all = implementations_for(o, a, kernel, others, scope, refused);
  for (std::string_view rest = names.empty() ? tuned : names; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('|'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    for (chosen_implementation& i : all)
      if (i.name == name) {
        to.all.push_back(std::move(i));
        return true;
      }
  }
  if (names.empty()) return false;  // measured in another program, which had more implementations
  std::string found, expected = "one of";
  for (std::string_view rest = names; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('|'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    std::string reason = std::string(name) + ": not known";
    for (const std::string& r : refused)
      if (r.starts_with(std::string(name) + ": ")) reason = r;
    found += (found.empty() ? "" : "; ") + reason;
  }
  for (const chosen_implementation& i : all) expected += " " + i.name;
  throw error(std::string(o.name) + ": implementation", found, expected, call_text(o, a));
}

}  // namespace tokamax::detail

namespace tokamax {

TOKAMAX_COMPILED_ONCE void chosen_implementation::operator()(kernel_arguments a) const {
  a.configuration = configuration;
  composed ? composed->run(a) : run(a);
}

TOKAMAX_COMPILED_ONCE std::string call_text(const op& o, const kernel_arguments& a) {
  std::string text(o.name);
  for (int k = 0; k < a.in_count; ++k)
    text.append(k ? ", " : "(").append(detail::type_text({a.in[k].type, false, a.in[k].extents}));
  return text + detail::attributes_text(o, a.attributes, a.attribute_count) + ")";
}

}  // namespace tokamax
#endif
