// tokamax/stablehlo/program.hpp: programs that were exported as StableHLO, by JAX and others, as functions of arrays.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that read StableHLO include it)
#pragma once

#include <tokamax/runtime/any_device.hpp>      // any_device
#include <tokamax/stablehlo/check_result.hpp>  // check_result

#include <memory>  // shared_ptr

// A program that links `tokamax::stablehlo` defines TOKAMAX_SEPARATE_STABLEHLO: it sees declarations only, and its library is
// one file that defines TOKAMAX_INSTANTIATE_STABLEHLO. Without these macros the bodies are inline.
#if defined(TOKAMAX_INSTANTIATE_STABLEHLO)
  #define TOKAMAX_STABLEHLO_COMPILED_ONCE
#elif !defined(TOKAMAX_SEPARATE_STABLEHLO)
  #define TOKAMAX_STABLEHLO_COMPILED_ONCE inline
#endif

namespace tokamax {

namespace stablehlo {

/// An argument or a result of a program.
struct argument {
  std::string name{};  ///< as the file has it; may be empty
  array_type type{};   ///< of complex numbers that of their parts, which are a last axis of 2; -1: any extent
  bool is_complex = false;
  bool is_donated = false;  ///< the program may use the memory of this argument for a result
};

/// A function of a module, which takes and returns arrays. It is a value; copies share what was compiled. Complex numbers are
/// arrays with a last axis of 2, the real and the imaginary parts.
///
///   tk::stablehlo::program step = tk::read_stablehlo("step.mlir");
///   std::vector<tk::array> results = step(tk::cpu, {weights, images});
///
/// Calls without a device run at once, or become part of the trace in which they stand: `grad`, `vmap` and `jit` take functions
/// that call a program.
class program {
 public:
  /// errors  "stablehlo: function" if the module has none of this name with a body
  explicit program(program_module m, std::string_view name = "main");

  const std::vector<argument>& inputs() const;
  const std::vector<argument>& outputs() const;
  const program_module& source() const;

  /// The results. The program is traced and planned at the first call on a kind of device, and again only for other extents of
  /// arguments, where the file leaves them open.
  /// errors  "stablehlo: arguments" for another number of them; "stablehlo: argument NAME" for one of another type; "stablehlo:
  ///         extents of arguments" with the message of the program, if it asserts some; the name of an operation, with its
  ///         line, where it has no rule or its operands do not fit
  std::vector<array> operator()(const any_device& where, std::vector<array> arguments) const;
  std::vector<array> operator()(const std::vector<array>& arguments) const;

  /// Traces the program without running it.
  /// errors  those of a call that do not depend on arguments. "stablehlo: extents" if the file leaves some open
  void verify() const;

  /// Runs the comparisons that programs of the test suite ask for by custom calls or operations `check.expect_*`.
  std::vector<check_result> check(const any_device& where, std::vector<array> arguments = {}) const;

 private:
  struct state;
  std::shared_ptr<const state> state_;
};

/// The text of a module, in the general form of its operations. It reads back as the same module.
std::string to_text(const program_module& m);

}  // namespace stablehlo

/// The program of a file, or of its content: StableHLO text, MLIR's bytecode of it (VHLO 0.9 to 1.20), or what jax.export
/// serialized, of which the inputs are those that the program uses.
///
/// errors  "stablehlo" with line and column for text, "stablehlo bytecode" with byte and section, "stablehlo: file of jax.export"
///         with the field, and the path of the file; those of read_file
/// source  jax.export.deserialize
stablehlo::program read_stablehlo(const std::string& path_or_text);
/// The same as a module, of which `stablehlo::program` takes one function.
stablehlo::program_module read_module(const std::string& path_or_text);

}  // namespace tokamax

#if defined(TOKAMAX_STABLEHLO_COMPILED_ONCE)

  #include <tokamax/base/system/file.hpp>                // read_file
  #include <tokamax/runtime/jit.hpp>                     // jit
  #include <tokamax/stablehlo/checks.hpp>                // compared
  #include <tokamax/stablehlo/reader/read_bytecode.hpp>  // read_bytecode
  #include <tokamax/stablehlo/reader/read_text.hpp>      // read_text
  #include <tokamax/stablehlo/rules/require_rules.hpp>   // require_rules
  #include <tokamax/stablehlo/rules/rules.hpp>           // evaluator
  #include <tokamax/stablehlo/writer/print_module.hpp>   // module_printer

  #include <mutex>     // mutex
  #include <optional>  // optional

namespace tokamax {

namespace stablehlo {

namespace detail {

/// An error whose place is one in a file.
inline error in_file(const error& e, const std::string& path) {
  if (e.where.find(path) != std::string::npos) return e;
  return error(e.kind, e.subject, e.found, e.expected, e.where.empty() ? path : e.where + " of " + path);
}

/// A function of a module as one of arrays, for traces. With checks, the operands of these follow the results.
struct traced_function {
  std::shared_ptr<const program_module> source;
  const function* entry = nullptr;
  std::vector<noted_check>* checks = nullptr;

  std::vector<array> operator()(const std::vector<array>& given) const {
    try {
      return traced(given);
    } catch (const error& e) {
      if (source->file.empty()) throw;
      throw in_file(e, source->file);
    }
  }

 private:
  std::vector<array> traced(const std::vector<array>& given) const {
    require_rules(*source, *entry);
    values in;
    for (std::size_t k = 0; k < given.size(); ++k) {
      const array& a = given[k];
      if (!entry->body.types[k].complex) {
        in.push_back({a, {}});
        continue;
      }
      const auto part = [&](int p) { return squeeze(slice_in_dim(a, p, p + 1, -1), -1); };
      in.push_back({part(0), part(1)});
    }
    std::vector<noted_check> found;
    const values results = evaluator(*source, checks ? &found : nullptr).call(*entry, in);
    std::vector<array> out;
    const auto give = [&](const value& v) { out.push_back(v.is_complex() ? stack({v.re, v.im}, v.re.rank()) : v.re); };
    for (const value& v : results) give(v);
    for (const noted_check& c : found) {
      give(c.found);
      give(c.expected);
    }
    if (checks) *checks = std::move(found);
    return out;
  }
};

/// The type of an argument or result at the border.
inline argument argument_of(const value_type& t, const attribute_list& attributes, std::string name, position where) {
  if (!t.is_array())
    throw error(error_kind::file, "stablehlo: argument " + name, t.other, "a tensor of a known type", where.text());
  argument a{std::move(name), part_type(t), t.complex};
  if (t.complex) a.type.shape.push_back(2);
  for (const char* key : {"jax.result_info", "jax.arg_info"})
    if (const attribute* const info = attributes.find(key)) a.name = info->text;
  a.is_donated = attributes.find("tf.aliasing_output") || attributes.find("jax.buffer_donor");
  return a;
}

}  // namespace detail

struct program::state {
  std::shared_ptr<const program_module> source;
  const function* entry = nullptr;
  std::vector<argument> inputs, outputs;
  using compiled = decltype(jit(detail::traced_function{}, std::declval<any_device>()));
  mutable std::mutex mutex;
  mutable std::optional<compiled> code;

  /// Has an array this type, in which an extent of -1 may be any?
  static bool fits(const array_type& given, array_type expected) {
    for (int i = 0; i < expected.shape.rank() && i < given.shape.rank(); ++i)
      if (expected.shape[i] < 0 && given.shape[i] >= 0) expected.shape[i] = given.shape[i];
    return given == expected;
  }
  /// Checks the arguments of a call.
  void require(const std::vector<array>& given) const {
    if (given.size() != inputs.size())
      throw error("stablehlo: arguments", std::to_string(given.size()), std::to_string(inputs.size()));
    for (std::size_t k = 0; k < given.size(); ++k) {
      const argument& expected = inputs[k];
      if (fits(given[k].type(), expected.type)) continue;
      throw error(
          error_kind::shape,
          "stablehlo: argument " + std::to_string(k) + (expected.name.empty() ? "" : " (" + expected.name + ")"),
          std::string(message(given[k].type()).view()), std::string(message(expected.type).view()));
    }
  }
};

TOKAMAX_STABLEHLO_COMPILED_ONCE program::program(program_module m, std::string_view name) {
  auto s = std::make_shared<state>();
  s->source = std::make_shared<const program_module>(std::move(m));
  s->entry = s->source->find(name);
  if (!s->entry || !s->entry->has_body)
    throw error(error_kind::file, "stablehlo: function",
                s->entry ? "no body of @" + std::string(name) : "no @" + std::string(name), "a function with a body");
  const function& f = *s->entry;
  for (std::size_t k = 0; k < f.body.types.size(); ++k)
    s->inputs.push_back(detail::argument_of(f.body.types[k], f.argument_attributes[k], f.argument_names[k], f.where));
  for (std::size_t k = 0; k < f.results.size(); ++k)
    s->outputs.push_back(detail::argument_of(f.results[k], f.result_attributes[k], "", f.where));
  state_ = std::move(s);
}
TOKAMAX_STABLEHLO_COMPILED_ONCE const std::vector<argument>& program::inputs() const { return state_->inputs; }
TOKAMAX_STABLEHLO_COMPILED_ONCE const std::vector<argument>& program::outputs() const { return state_->outputs; }
TOKAMAX_STABLEHLO_COMPILED_ONCE const program_module& program::source() const { return *state_->source; }

TOKAMAX_STABLEHLO_COMPILED_ONCE std::vector<array> program::operator()(const any_device& where,
                                                                       std::vector<array> arguments) const {
  state_->require(arguments);
  std::unique_lock lock(state_->mutex);
  if (!state_->code) state_->code.emplace(jit(detail::traced_function{state_->source, state_->entry}, where));
  const auto code = state_->code->on(where);
  lock.unlock();
  return code(std::move(arguments));
}
TOKAMAX_STABLEHLO_COMPILED_ONCE std::vector<array> program::operator()(const std::vector<array>& arguments) const {
  state_->require(arguments);
  const detail::traced_function f{state_->source, state_->entry};
  return in_trace([&](graph&, const std::vector<array>& in) { return f(in); }, arguments);
}

TOKAMAX_STABLEHLO_COMPILED_ONCE void program::verify() const {
  std::vector<array> in, out;
  for (const argument& a : state_->inputs) {
    for (std::int64_t e : a.type.shape)
      if (e < 0) throw error(error_kind::shape, "stablehlo: extents", "an open one of " + a.name, "known ones");
    in.push_back(array(a.type));
  }
  graph traced;
  trace_into(traced, detail::traced_function{state_->source, state_->entry}, out, in);
}
TOKAMAX_STABLEHLO_COMPILED_ONCE std::vector<check_result> program::check(const any_device& where,
                                                                         std::vector<array> arguments) const {
  state_->require(arguments);
  std::vector<detail::noted_check> checks;
  const std::vector<array> all =
      jit(detail::traced_function{state_->source, state_->entry, &checks}, where)(std::move(arguments));
  std::vector<check_result> results;
  for (std::size_t k = 0; k < checks.size(); ++k) {
    const std::size_t at = state_->outputs.size() + 2 * k;
    results.push_back(detail::compared(checks[k].kind, checks[k].bound, all[at], all[at + 1]));
    results.back().where = checks[k].where;
  }
  return results;
}

TOKAMAX_STABLEHLO_COMPILED_ONCE std::string to_text(const program_module& m) { return detail::module_printer().run(m); }

}  // namespace stablehlo

TOKAMAX_STABLEHLO_COMPILED_ONCE stablehlo::program read_stablehlo(const std::string& path_or_text) {
  return stablehlo::program(read_module(path_or_text));
}
TOKAMAX_STABLEHLO_COMPILED_ONCE stablehlo::program_module read_module(const std::string& path_or_text) {
  const bool is_content = path_or_text.find_first_of(std::string_view("\n\0", 2)) != std::string::npos ||
                          path_or_text.starts_with("module") || path_or_text.starts_with("func");
  const std::string content = is_content ? path_or_text : read_file(path_or_text);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(content));
  try {
    stablehlo::program_module m = content.find('\0') == std::string::npos ? stablehlo::read_text(content)
                                  : content.starts_with("ML\xefR")
                                      ? stablehlo::read_bytecode(bytes)
                                      : stablehlo::read_bytecode(stablehlo::detail::module_in_export(bytes));
    if (!is_content) m.file = path_or_text;
    return m;
  } catch (const error& e) {
    if (is_content) throw;
    throw stablehlo::detail::in_file(e, path_or_text);
  }
}

}  // namespace tokamax
#endif
