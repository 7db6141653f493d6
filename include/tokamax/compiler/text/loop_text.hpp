// tokamax/compiler/text/loop_text.hpp: fused loops as C++ functions, for compilers of other devices and for readers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/compiler/plan.hpp>       // plan_view
#include <tokamax/core/op.hpp>             // spell

#include <string>  // string

namespace tokamax {

/// The fused loops of a plan as C++ text. The functions `loop_0(at)`, `loop_1(at)` and so on compute the elements at one
/// place. Whoever compiles the text defines what a place and its numbers are, so one text serves scalars, vectors and other
/// devices. It must define:
///
///   the type of a place           the position of a loop, which is the only parameter `at` of the functions
///   f32, bf16, ...                a type for each dtype; `none`, `unit` and `any`: how memory moves along the innermost axis
///   load<f32, unit>(at, slot)     the element of a slot, in the type T in which the device computes this dtype
///   count<i32, unit>(at, slot)    the element of a slot that counts and is not in memory
///   constant<f32>(at, k)          the k-th constant of the loop
///   as<bf16>(x)                   x rounded or wrapped to this dtype, as convert_element_type does
///   store<f32>(at, slot, x)       writes an element
///   exp(x), select(c, x, y), ...  of numbers: +, -, *, /, comparisons, bits and shifts of integers, T(0.5), and the functions
///                                 in core/spelled.hpp; maximum, minimum, quotient and rem are the ops of these names;
///                                 last_shift(x) is the number of bits of x less 1
///
/// The text of an op comes from its element function (core/spelled.hpp). If that is more than one function or operator, it
/// becomes a template `op_NAME`. A device may add an overload of it for its own numbers.
///
/// `prints(p, k)` says whether loop k is wanted; null: all are.
std::string loops_to_cpp(const plan_view& p, bool (*prints)(const plan_view& p, int k) = nullptr);

}  // namespace tokamax

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <charconv>  // to_chars
  #include <vector>    // vector

namespace tokamax {
namespace detail {

/// Writes the lines of an element function as expressions. A value that is used more than once gets a name.
class element_writer {
 public:
  explicit element_writer(vec<spelled_line> lines)
      : lines_(std::move(lines)), uses_(lines_.size(), 0), names_(lines_.size()) {
    for (const spelled_line& l : lines_)
      for (int x : l.operands)
        if (x >= 0) ++uses_[static_cast<std::size_t>(x)];
  }
  int result() const { return lines_.back().operands[0]; }
  void name(int line, std::string n) { names_[static_cast<std::size_t>(line)] = std::move(n); }
  /// Is the function a single operator or function of its parameters, or one of its parameters?
  bool is_simple(int parameters) const {
    for (int x : lines_[result()].operands)
      if (result() >= parameters && x >= parameters) return false;
    return result() < parameters || !lines_[result()].function.empty();
  }
  /// Appends `const auto t5 = ...;` for values used more than once.
  std::string declarations(int parameters) {
    std::string s;
    for (int i = parameters; i < result(); ++i) {
      if (uses_[static_cast<std::size_t>(i)] < 2 || lines_[i].function.empty()) continue;
      const std::string n = "t" + std::to_string(i), value = expression(i, false);
      s.append("  const auto ").append(n).append(" = ").append(value).append(";\n");
      name(i, n);
    }
    return s;
  }
  /// The value of line i; an operator stands in parentheses if it is `inside` of another expression.
  std::string expression(int i, bool inside) const {
    const spelled_line& l = lines_[i];
    if (const std::string& n = names_[static_cast<std::size_t>(i)]; !n.empty()) return n;
    if (l.function.empty()) return constant(l.constant);
    const bool is_operator = !(l.function[0] >= 'a' && l.function[0] <= 'z');
    std::string s(is_operator && inside ? "(" : "");
    if (is_operator && l.operands[1] < 0) {
      s.append(l.function).append(expression(l.operands[0], true));
    } else if (is_operator) {
      s.append(expression(l.operands[0], true)).append(" ").append(l.function).append(" ");
      s.append(expression(l.operands[1], true));
    } else {
      s.append(l.function).append("(").append(expression(l.operands[0], false));
      for (int k = 1; k < 3; ++k)
        if (l.operands[k] >= 0) s.append(", ").append(expression(l.operands[k], false));
      s.append(")");
    }
    return is_operator && inside ? s.append(")") : s;
  }

 private:
  static std::string constant(double v) {
    char buffer[32];
    return std::string("V(").append(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr).append(")");
  }
  vec<spelled_line> lines_;
  std::vector<int> uses_;
  std::vector<std::string> names_;
};

/// Writes the loops of a plan, preceded by the element functions that they call.
class loop_writer {
 public:
  explicit loop_writer(const plan_view& p) : p_(p) {}
  /// The functions, then the loops for which `prints` is true.
  std::string run(bool (*prints)(const plan_view&, int)) {
    std::string loops;
    for (int k = 0; k < p_.loop_count; ++k)
      if (!prints || prints(p_, k)) loops += loop(k);
    return functions_ + loops;
  }

 private:
  static std::string numbered(const char* letter, int n) { return std::string(letter).append(std::to_string(n)); }
  static std::string slot(int n) { return ">(at, " + std::to_string(n); }
  static std::string type(dtype t) { return std::string(tokamax::name(t)); }
  static std::string step(const instruction& l) {
    using enum instruction::step;
    return l.inner == none ? ", none" : l.inner == unit ? ", unit" : ", any";
  }
  /// Loop k as a function of the place where it runs, one statement for each of its lines.
  std::string loop(int k) {
    const loop_kernel& loop = p_.loops[k];
    std::string s = "inline void loop_" + std::to_string(k) + "(const auto& at) {\n";
    for (int i = 0; i < loop.count; ++i) {
      const instruction& l = p_.instructions[loop.first + i];
      if (l.kind != instruction_kind::store) s.append("  const auto ").append(numbered("t", i)).append(" = ");
      switch (l.kind) {
        case instruction_kind::load:
          s.append("load<").append(type(l.type)).append(step(l)).append(slot(l.a)).append(")");
          break;
        case instruction_kind::iota:
          s.append("count<").append(type(l.type)).append(step(l)).append(slot(l.a)).append(")");
          break;
        case instruction_kind::constant:
          s.append("constant<").append(type(l.type)).append(slot(l.a)).append(")");
          break;
        case instruction_kind::apply:
          s.append("as<").append(type(l.type)).append(">(").append(applied(l)).append(")");
          break;
        case instruction_kind::store:
          s.append("  store<")
              .append(type(l.type))
              .append(slot(l.b))
              .append(", ")
              .append(numbered("t", l.a))
              .append(")");
          break;
      }
      s += ";\n";
    }
    return s + "}\n";
  }
  /// An op on registers: the text of its element function if that is short, or else a call of it.
  std::string applied(const instruction& l) {
    const int operands = l.c >= 0 ? 3 : l.b >= 0 ? 2 : 1;
    const short registers[3] = {l.a, l.b, l.c};
    if (l.function->spell) {
      element_writer element(spelled::write(l.function->spell, operands));
      if (element.is_simple(operands)) {
        for (int k = 0; k < operands; ++k) element.name(k, numbered("t", registers[k]));
        return element.expression(element.result(), false);
      }
    }
    std::string s = function_name(l, operands) + "(";
    for (int k = 0; k < operands; ++k) s.append(k ? ", " : "").append(numbered("t", registers[k]));
    return s + ")";
  }
  /// The name of an op's function, which is defined at its first call. Different ops may have the same name, so some names
  /// get a number.
  std::string function_name(const instruction& l, int operands) {
    for (const auto& known : known_)
      if (known.function == l.function) return known.name;
    std::string name = "op_";
    for (char c : l.function->name) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      name += plain ? c : '_';
    }
    int same = 1;
    for (const auto& known : known_) same += known.plain_name == name;
    known_.push_back({l.function, name, same == 1 ? name : name + "_" + std::to_string(same)});
    if (l.function->spell) define(known_.back().name, l, operands);
    return known_.back().name;
  }
  void define(const std::string& name, const instruction& l, int operands) {
    element_writer element(spelled::write(l.function->spell, operands));
    functions_ += "template <class V>\nauto " + name + "(";
    for (int k = 0; k < operands; ++k) {
      const std::string n(1, static_cast<char>('a' + k));
      element.name(k, n);
      functions_.append(k + 1 == operands ? "V " : k == 0 && operands == 3 ? "auto " : "V ").append(n);
      functions_ += k + 1 == operands ? ") {\n" : ", ";
    }
    functions_ += element.declarations(operands);
    functions_ += "  return " + element.expression(element.result(), false) + ";\n}\n";
  }

  struct known_function {
    const op* function;
    std::string plain_name, name;
  };
  const plan_view& p_;
  std::string functions_;
  std::vector<known_function> known_;
};

}  // namespace detail

TOKAMAX_COMPILED_ONCE std::string loops_to_cpp(const plan_view& p, bool (*prints)(const plan_view&, int)) {
  return detail::loop_writer(p).run(prints);
}

}  // namespace tokamax
#endif
