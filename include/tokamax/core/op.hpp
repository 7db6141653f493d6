// tokamax/core/op.hpp: the op descriptor: a name and rules, which are constexpr functions with one signature.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>      // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/modular.hpp>            // modular
#include <tokamax/base/rule.hpp>               // rule
#include <tokamax/core/array.hpp>              // array
#include <tokamax/core/attributes/schema.hpp>  // attribute_schema, words
#include <tokamax/core/generated/ops.hpp>      // descriptors of the library, declared ahead
#include <tokamax/core/op_cost.hpp>            // cost_facts
#include <tokamax/core/spelled.hpp>            // spelled

#include <limits>       // quiet_NaN
#include <string_view>  // string_view

namespace tokamax {

/// The result of a rule: one array for each output (or input). An array that does not exist stands for zero.
struct arrays : vec<array> {
  using vec<array>::vec;
  constexpr arrays(const array& a) : vec<array>(&a, 1) {}
};

using types = vec<array_type>;

namespace detail {
[[noreturn]] void throw_error(const message& what, const message& found, const message& expected, location where,
                              const graph* trace = nullptr);
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void throw_error(const message& what, const message& found, const message& expected,
                                       location where, const graph* trace) {
  throw error(found.names_type ? error_kind::shape : error_kind::argument, std::string(what.view()),
              std::string(found.view()), std::string(expected.view()),
              place_text(trace ? trace->names.text(trace->scope.name).view() : std::string_view(), where));
}
#endif
}  // namespace detail

/// Rejects the arguments of a function. While compiling, the trace records the first mistake. At run time, and without a
/// trace, the mistake is thrown: of kind `shape` if a type or shape was found, and else of kind `argument`.
constexpr void reject(graph* trace, location where, const message& what, const message& found,
                      const message& expected) {
  if (trace && std::is_constant_evaluated()) {
    if (!trace->error.failed)
      trace->error = {true, what, found, expected, where, message(trace->names.text(trace->scope.name).view())};
  } else {
    detail::throw_error(what, found, expected, where, trace);
  }
}

/// One use of an op, as its rules see it. `call_of` makes it.
struct call {
  const op* self = nullptr;
  const array* inputs = nullptr;
  int count = 0;
  const std::int64_t* attributes = nullptr;
  int attribute_count = 0;
  array_type type{};                  ///< the type of the output, known after `infer`
  const array* outputs = nullptr;     ///< vjp, jvp: the results of the op
  const array* cotangents = nullptr;  ///< vjp: one for each output; it may not exist
  const array* tangents = nullptr;    ///< jvp: one for each input; it may not exist
  std::int64_t batch_size = 0;        ///< batch: the extent of the leading axis of the inputs in `batched`
  std::string_view axis = {};         ///< batch: the name of that axis, if it has one
  const char* flags = nullptr;  ///< vjp: inputs that need a cotangent; batch: inputs that carry the axis; null: all
  graph* trace = nullptr;
  location where{};

  constexpr const array& operator[](int i) const { return inputs[i]; }
  constexpr const array& out() const { return outputs[0]; }
  constexpr const array& ct() const { return cotangents[0]; }
  constexpr bool needs(int i) const { return !flags || flags[i]; }
  constexpr bool batched(int i) const { return !flags || flags[i]; }
  template <class Options>
  constexpr Options attrs() const {
    return unpack<Options>(attributes);
  }
  /// A copy of the attributes, to change or to bind again.
  constexpr words attribute_words() const { return words(attributes, static_cast<std::size_t>(attribute_count)); }
  /// One of the op's bodies.
  constexpr const graph& body(int b) const;
  constexpr graph& mutable_body(int b) const;
  /// A copy of the inputs.
  constexpr arrays operands() const { return arrays(inputs, static_cast<std::size_t>(count)); }
  /// Rejects the call. The result is some type, so that rules can write `return c.fail(...)`.
  constexpr array_type fail(const message& what, const message& found, const message& expected) const {
    reject(trace, where, what, found, expected);
    return count ? inputs[0].type() : array_type{};
  }
};

/// Kernels of an op on one backend; see runtime/kernel.hpp.
struct kernel_set;
/// The arguments of a kernel; see core/kernel_arguments.hpp.
struct kernel_arguments;

/// The dtypes for which an elementwise op is defined.
enum class accepts : std::uint8_t { all, numbers, integers, floating, booleans };

/// Laws that the values of an op obey. They are used to share, simplify, fold and differentiate nodes.
struct algebra_facts {
  bool linear = false;    ///< linear in all its inputs together, so that its jvp is the op itself
  bool constant = false;  ///< its derivative is always zero
  bool commutative = false;
  bool conversion = false;  ///< the operand, rounded, wrapped or cut to the dtype of the result
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();
  double left_neutral = none, right_neutral = none;  ///< op(left_neutral, x) == x == op(x, right_neutral)
  double (*fold)(const double*) = nullptr;           ///< elementwise: the value of one element
  /// The same for integers and truth values, of which the result keeps the low bits. Ops with this function fold constants
  /// while they are traced. For floating operands, `fold` must then be exact in double, and is rounded to the dtype.
  std::int64_t (*fold_integers)(const element_bits*, dtype operand) = nullptr;
};

enum class op_kind : std::uint8_t {
  general,      ///< anything that is none of the following
  elementwise,  ///< each output element depends on the input elements at the same place
  view,         ///< the output is the memory of the input, seen with other extents and strides
  counting,     ///< the output is offset + i * strides[0] + ..., which loops compute instead of loading it
  alias,        ///< a marker that does not change values and vanishes when a program is lowered
  barrier,      ///< the operand, which is not merged with equal values elsewhere; vanishes when a program is scheduled
};

/// How an op uses memory.
struct memory_facts {
  op_kind kind = op_kind::general;
  int overwrites = -1;  ///< the input that kernels may overwrite with the result, or -1
  /// Elementwise: the op is so cheap that loops compute it again if that saves memory.
  bool recomputed = false;
  bool joins = false;  ///< the operands one after the other along an axis, which is the op's axis_number
  /// View: changes the offset and strides of the operand, in elements, to those of the result. False if no strides describe
  /// the result, so that the operand must be copied first. Counting: sets offset and strides.
  bool (*strides)(const array_type& operand, const array_type& result, const std::int64_t* attributes,
                  std::int64_t& offset, shape& strides) = nullptr;
};

/// Bodies are functions that are attributes of an op: those of type body_index in its options record, or a list of them. If
/// the op has no `compose`, its `run` calls the bodies, which become regions of the plan.
struct body_facts {
  /// Loops: how many values the last body takes and returns for the next step, for these attributes. They are the first
  /// operands and results of the op, and the first inputs and outputs of that body.
  int (*carries)(const std::int64_t* attributes) = nullptr;
  /// Exactly one of the bodies runs. It gets the operands from the second one on, and computes all results.
  bool branches = false;
  /// Loops of a known length: how often the bodies run, for these attributes.
  std::int64_t (*repeats)(const std::int64_t* attributes) = nullptr;
};

/// How a reduction combines elements. If there are none, the result is 0, the least or greatest value, true or false.
enum class combiner : std::uint8_t { none, add, maximum, minimum, logical_and, logical_or };

/// Ops that combine all elements along some axes, the `axes` that stand before other lists in their options record.
struct reduction_facts {
  combiner combines = combiner::none;
};

/// What a node does besides computing its results. Nodes with an effect are never dropped, merged, or moved past each other.
/// Their ops have an `infer_all`, because there may be no result.
enum class effect_kind : std::uint8_t {
  none,
  debug,    ///< something for people to read: where vmap runs both sides of a branch, both may tell
  ordered,  ///< something outside of the program that happens as often as the program says, or is refused
};

/// How an op uses the axis whose axis_name it has.
enum class axis_role : std::uint8_t {
  none,
  differs,  ///< the result differs along the axis, even if the operands do not
  gathers,  ///< the result is the same for all entries of the axis
};

/// How a precision policy may change an op. The algorithm of its products is its attribute of type dot_algorithm.
struct precision_facts {
  int product_operands = 0;     ///< number of leading operands used only by the products, which may be rounded early
  bool kernels_in_f32 = false;  ///< kernels compute in f32 at most: calls with operands of f64 run as their `compose`
  bool sums = false;  ///< adds many numbers up: f32 operands and results stay f32 where a policy narrows others
  bool selects =
      false;  ///< picks elements of its first operand, whose cotangents are added up: only results are narrowed
};

/// Everything that the library knows about one operation. Only `name` and either infer or infer_all are necessary. A missing
/// rule is derived from `compose`, and an op without a kernel on a device runs as its `compose`. Passes and transforms read
/// these facts and never name an op.
struct op {
  std::string_view name;
  std::string_view variant = {};    ///< tells ops of one name apart where graphs are texts: pure_callback<scale>
  std::string_view stablehlo = {};  ///< its name in StableHLO; empty: it is exported through compose
  accepts dtypes = accepts::all;    ///< the dtypes of operands of an elementwise op
  bool unique = false;              ///< equal calls are not merged into one node
  int operands = -1;                ///< the number of operands of an elementwise op; -1: infer decides
  algebra_facts algebra = {};
  memory_facts memory = {};
  body_facts bodies = {};
  reduction_facts reduction = {};
  effect_kind effect = effect_kind::none;
  precision_facts precision = {};
  cost_facts cost = {};
  axis_role axis = axis_role::none;
  attribute_schema attributes = {};              ///< names, kinds and places of attributes: `schema` of their record
  array_type (*infer)(const call&) = nullptr;    ///< dtype and shape rule; the only place that rejects arguments
  rule<types(const call&)> infer_all = nullptr;  ///< the same for several outputs
  rule<arrays(const call&)> compose = nullptr;   ///< meaning in smaller ops
  rule<arrays(const call&)> vjp = nullptr;       ///< cotangents of the inputs
  rule<arrays(const call&)> jvp = nullptr;       ///< tangents of the outputs
  rule<arrays(const call&)> batch = nullptr;     ///< the op with a leading batch axis
  rule<array(const call&)> simplify = nullptr;   ///< a cheaper equal array, or one that does not exist
  rule<arrays(const call&)> simplify_all = nullptr;             ///< the same for several outputs: all of them, or none
  rule<array(const call&, const array& sum)> add_to = nullptr;  ///< sum + the result, if that needs no array of its own
  /// `product` without the result of this call, which is operand number `operand` of it; nothing if that costs no less.
  rule<array(const call&, const call& product, int operand)> in_product = nullptr;
  spelled (*spell)(const spelled*) = nullptr;      ///< elementwise: the element function as text
  kernel_set (*kernels)() = nullptr;               ///< what a run-time trace executes
  void (*run)(const kernel_arguments&) = nullptr;  ///< a kernel in host code, for devices without one of their own
};

/// A call of `o`. The arrays and attribute words must outlive it.
constexpr call call_of(const op& o, const array* in, int n, const std::int64_t* w, int n_words, graph* trace = nullptr,
                       location where = {}) {
  return {.self = &o,
          .inputs = in,
          .count = n,
          .attributes = w,
          .attribute_count = n_words,
          .trace = trace,
          .where = where};
}
constexpr call call_of(const op& o, const vec<array>& in, const words& w, graph* trace = nullptr, location where = {}) {
  return call_of(o, in.data(), in.count(), w.data(), w.count(), trace, where);
}
/// A node of `g` as a call, on operands like its own.
constexpr call call_of(const graph& g, const node& n, const vec<array>& in, graph* trace = nullptr) {
  call c = call_of(*n.op, in.data(), in.count(), g.words_of(n), n.word_count, trace, n.where);
  c.type = n.type;
  return c;
}

/// The bytes of an array, and of the operands of a call from number `first` on: for `cost_facts::bytes`.
constexpr double bytes_of(const array_type& t) {
  double bytes = static_cast<double>(size_of(t.dtype));
  for (std::int64_t e : t.shape) bytes *= static_cast<double>(e);
  return bytes;
}
constexpr double bytes_of_operands(const call& c, int first) {
  double bytes = 0;
  for (int k = first; k < c.count; ++k) bytes += bytes_of(c[k].type());
  return bytes;
}

constexpr graph& call::mutable_body(int b) const { return trace->bodies[attributes[self->attributes.body_place(b)]]; }
constexpr const graph& call::body(int b) const { return mutable_body(b); }

/// The tag that kernels are overloaded on: `kernel(op_c<dot_general_p>, cpu, arguments)`.
template <const op& Op>
struct op_c {
  static constexpr const op& value = Op;
};

/// The address of a descriptor. For ops of a linked library this is a symbol of the library, so that a program that only
/// points to an op does not contain all its rules.
template <const op& Op>
const op* descriptor_of() {
  return &Op;
}
/// The descriptor itself, for the functions that apply an op: while compiling it is `Op`, and later that of a linked library.
/// A program that calls `exp(x)` then leaves the rules of exp, and those of the ops that they apply, to the library.
template <const op& Op>
constexpr const op& described() {
  if (__builtin_is_constant_evaluated()) return Op;
  return *descriptor_of<Op>();
}

/// The kernels that the host's backend has for an op; defined there. A descriptor names it, so that a file that is compiled
/// without a kernel library holds those of the ops it uses and no others. In a program without that backend the address
/// is null: descriptors link without any.
template <const op& Op>
#if !defined(TOKAMAX_SEPARATE_KERNELS) && !defined(TOKAMAX_INSTANTIATE_KERNELS)  // a linker looks for strong names only
[[gnu::weak]]
#endif
kernel_set find_kernels();
/// The same as a value: g++ 13 and 14 do not compile functions whose name stands in the arguments of a constant alone.
template <const op& Op>
inline constexpr kernel_set (*kernels_of)() = find_kernels<Op>;

/// The element function of an elementwise op: specialised next to the descriptor with
/// `template <class V> static constexpr V apply(V...)`, V being double, float, a SIMD batch or spelled.
template <const op& Op>
struct element_of;

namespace detail {
constexpr std::int64_t whole(bool v) { return v; }
template <class T>
constexpr std::int64_t whole(modular<T> v) {
  return static_cast<std::int64_t>(v.value);
}
template <class F, int Arity, class T>
constexpr std::int64_t fold_as(const element_bits* x) {
  using number = modular<T>;
  if constexpr (Arity == 1)
    return whole(F::apply(number(x[0].as<T>())));
  else if constexpr (Arity == 2)
    return whole(F::apply(number(x[0].as<T>()), number(x[1].as<T>())));
  else
    return whole(F::apply(number(x[0].as<T>()), number(x[1].as<T>()), number(x[2].as<T>())));
}
}  // namespace detail

/// Applies an element function, given as a type, to doubles or to values of type `spelled`.
template <class F, int Arity, class Number = double>
  requires(!std::is_same_v<Number, std::int64_t>)
constexpr Number fold(const Number* x) {
  if constexpr (Arity == 1)
    return F::apply(x[0]);
  else if constexpr (Arity == 2)
    return F::apply(x[0], x[1]);
  else
    return F::apply(x[0], x[1], x[2]);
}
/// The same for integers and truth values: computed in 64 bits, of which narrower dtypes keep the low ones.
template <class F, int Arity, class Number>
  requires std::is_same_v<Number, std::int64_t>
constexpr std::int64_t fold(const element_bits* x, dtype operand) {
  if (operand == u64) return detail::fold_as<F, Arity, std::uint64_t>(x);
  const std::int64_t y = detail::fold_as<F, Arity, std::int64_t>(x);
  return static_cast<std::int64_t>(detail::low_bits(operand, static_cast<std::uint64_t>(y)).value);
}

/// The element function F on `spelled`. It is null if F does not take such values; then devices must have a function of
/// that name.
template <class F, int Arity>
consteval auto spelling_of() -> spelled (*)(const spelled*) {
  constexpr bool known = Arity == 1   ? requires(spelled x) { F::apply(x); }
                         : Arity == 2 ? requires(spelled x) { F::apply(x, x); }
                                      : requires(spelled x) { F::apply(x, x, x); };
  if constexpr (known)
    return fold<F, Arity, spelled>;
  else
    return nullptr;
}

}  // namespace tokamax
