// tokamax/stablehlo/writer/print_module.hpp: the text of a module, in the general form of its operations.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/reader/read_text.cpp
#pragma once

#include <tokamax/stablehlo/writer/attribute_printer.hpp>  // attribute_printer

namespace tokamax::stablehlo::detail {

/// Writes a module.
class module_printer : attribute_printer {
 public:
  /// The whole text.
  std::string run(const program_module& m) {
    // The module has a name and attributes where the program had them.
    out_ << "module";
    if (!m.name.empty()) symbol(" ", m.name);
    if (!m.attributes.all.empty()) {
      out_ << " attributes ";
      dictionary(m.attributes, "");
    }
    out_ << " {\n";
    // One function after the other.
    for (const function& f : m.functions) print(f);
    out_ << "}\n";
    return out_.str();
  }

 private:
  /// A function with the names of its values, which are their numbers.
  void print(const function& f) {
    // The general form repeats the types of operands, so those of all values are kept.
    types_.assign(static_cast<std::size_t>(f.value_count), {});
    names_.assign(static_cast<std::size_t>(f.value_count), -1);
    next_name_ = 0;
    out_ << "  func.func " << (f.is_public ? "public" : "private");
    symbol(" ", f.name);
    out_ << "(";
    for (std::size_t k = 0; k < f.body.arguments.size(); ++k) {
      if (k) out_ << ", ";
      // Declarations have no names.
      if (f.has_body) out_ << "%" << define(f.body.arguments[k]) << ": ";
      type(f.body.types[k]);
      types_[static_cast<std::size_t>(f.body.arguments[k])] = f.body.types[k];
      if (!f.argument_attributes[k].all.empty()) out_ << " ", dictionary(f.argument_attributes[k], "");
    }
    out_ << ") -> (";
    for (std::size_t k = 0; k < f.results.size(); ++k) {
      if (k) out_ << ", ";
      type(f.results[k]);
      if (!f.result_attributes[k].all.empty()) out_ << " ", dictionary(f.result_attributes[k], "");
    }
    out_ << ")";
    if (f.has_body) {
      out_ << " {\n";
      for (const operation& o : f.body.operations) print(o, 4);
      out_ << "  }";
    }
    out_ << "\n";
  }
  /// An operation in its general form, with its regions.
  void print(const operation& o, int indent) {
    out_ << std::string(static_cast<std::size_t>(indent), ' ');
    for (std::size_t k = 0; k < o.results.size(); ++k) {
      out_ << (k ? ", %" : "%") << define(o.results[k]);
      types_[static_cast<std::size_t>(o.results[k])] = o.types[k];
    }
    out_ << (o.results.empty() ? "\"" : " = \"") << o.name << "\"(";
    // Operands are numbers.
    std::vector<value_type> operands;
    for (std::size_t k = 0; k < o.operands.size(); ++k) {
      out_ << (k ? ", %" : "%") << names_[static_cast<std::size_t>(o.operands[k])];
      operands.push_back(types_[static_cast<std::size_t>(o.operands[k])]);
    }
    out_ << ")";
    // Attributes of other dialects, whose names have a dot, are no properties, and stand behind the regions.
    attribute_list properties, others;
    for (const auto& a : o.attributes.all)
      (a.first.find('.') == std::string::npos ? properties : others).all.push_back(a);
    if (!properties.all.empty()) {
      out_ << " <";
      dictionary(properties, o.name);
      out_ << ">";
    }
    for (std::size_t k = 0; k < o.regions.size(); ++k) {
      out_ << (k ? ", " : " (") << "{\n";
      print(o.regions[k], indent);
      out_ << std::string(static_cast<std::size_t>(indent), ' ') << "}";
    }
    if (!o.regions.empty()) out_ << ")";
    if (!others.all.empty()) {
      out_ << " ";
      dictionary(others, o.name);
    }
    out_ << " : ";
    types(operands);
    out_ << " -> ";
    types(o.types);
    out_ << "\n";
  }
  /// The arguments of a region, and its operations.
  void print(const region& r, int indent) {
    // A block without arguments needs no name.
    if (!r.arguments.empty()) {
      out_ << std::string(static_cast<std::size_t>(indent), ' ') << "^bb0(";
      for (std::size_t k = 0; k < r.arguments.size(); ++k) {
        out_ << (k ? ", %" : "%") << define(r.arguments[k]) << ": ";
        type(r.types[k]);
        types_[static_cast<std::size_t>(r.arguments[k])] = r.types[k];
      }
      out_ << "):\n";
    }
    for (const operation& o : r.operations) print(o, indent + 2);
  }

  /// The name of a new value: a number in the order of the text, whichever number the reader has given to it.
  int define(int value) { return names_[static_cast<std::size_t>(value)] = next_name_++; }

  std::vector<value_type> types_;  ///< of the values of the function
  std::vector<int> names_;
  int next_name_ = 0;
};

}  // namespace tokamax::stablehlo::detail
