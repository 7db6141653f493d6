// tokamax/stablehlo/reader/operation_reader.hpp: reads operations of StableHLO text, in their own forms and the general one.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of read_text)
// tested by tests/stablehlo/reader/read_text.cpp
#pragma once

#include <tokamax/stablehlo/reader/word_reader.hpp>  // word_reader

namespace tokamax::stablehlo::detail {

/// Operations with their regions.
class operation_reader : public word_reader {
 protected:
  using word_reader::word_reader;

  /// Reads `%0:2 = stablehlo.add %1, %2 : tensor<f32>`.
  operation read_operation() {
    const nested deeper(*this);
    operation o;
    o.where = here();
    // The names of the results, of which one may stand for several.
    std::vector<std::pair<std::string, int>> names;  // of results, with their numbers
    if (peek() == '%') {
      do {
        std::string called = name('%');
        const std::int64_t count = next() == ':' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])
                                       ? (++at_, whole("the number of results"))
                                       : 1;
        if (count < 0 || count > 1 << 20) fail("fewer results");
        names.emplace_back(std::move(called), static_cast<int>(count));
      } while (accept(","));
      expect("=");
    }
    skip();
    o.where = here();
    const std::size_t begin = at_;
    if (peek() == '"')
      o.name = quoted(), general_form(o);
    else
      own_form(o, names);
    while (comes("loc")) word(""), expect("("), balanced(")"), expect(")");
    // Values get numbers in the order in which they are defined.
    flatten(o);
    std::size_t count = 0;
    for (const auto& [called, n] : names) count += static_cast<std::size_t>(n);
    if (!names.empty() && count != o.types.size())
      fail_at(begin, std::to_string(o.types.size()) + " types of results", std::to_string(count));
    for (std::size_t k = 0; k < o.types.size(); ++k) o.results.push_back(values_++);
    int first = o.results.empty() ? 0 : o.results[0];
    for (const auto& [called, n] : names) {
      define(called, first, n, begin);
      first += n;
    }
    return o;
  }
  /// A region, whose arguments may have been named before it.
  region read_region(const std::vector<std::pair<std::string, value_type>>& named_before = {}) {
    const nested deeper(*this);
    region r;
    scopes_.emplace_back();
    for (const auto& [called, t] : named_before) argument(r, called, t);
    expect("{");
    // The arguments of a block stand behind its name.
    if (accept("^")) {
      word("the name of a block");
      if (accept("(") && !accept(")")) {
        do {
          const std::string called = name('%');
          expect(":");
          argument(r, called, type());
          if (accept("loc")) expect("("), balanced(")"), expect(")");
        } while (accept(","));
        expect(")");
      }
      expect(":");
    }
    while (!accept("}")) {
      if (comes("^")) fail("one block of operations");
      r.operations.push_back(read_operation());
    }
    scopes_.pop_back();
    return r;
  }
  /// A value that a region or function is given.
  void argument(region& r, const std::string& called, const value_type& t) {
    define(called, values_, 1, at_);
    r.arguments.push_back(values_++);
    r.types.push_back(t);
  }
  /// Gives a name to `count` values from number `first` on. A name inside of others must be new.
  void define(const std::string& called, int first, int count, std::size_t begin) {
    for (const auto& scope : scopes_)
      if (scope.contains(called)) fail_at(begin, "%" + called + " again", "a new name");
    scopes_.back()[called] = {first, count};
  }
  /// The number of the value `%name` or `%name#k`; of all values of a name, if `all` takes them.
  int use() {
    skip();
    const std::size_t begin = at_;
    const std::string called = name('%');
    std::int64_t k = 0;
    if (next() == '#') ++at_, k = whole("the number of a result");
    for (const auto& scope : scopes_)
      if (const auto found = scope.find(called); found != scope.end()) {
        if (k < 0 || k >= found->second.second)
          fail_at(begin, "result " + std::to_string(k), "one of " + std::to_string(found->second.second));
        return found->second.first + static_cast<int>(k);
      }
    fail_at(begin, "%" + called, "a value that was defined before");
  }

  int values_ = 0;
  std::vector<std::unordered_map<std::string, std::pair<int, int>>> scopes_;

 private:
  /// `"stablehlo.add"(%0, %1) <{...}> ({...}) {...} : (...) -> ...`
  void general_form(operation& o) {
    expect("(");
    if (!accept(")")) {
      do o.operands.push_back(use());
      while (accept(","));
      expect(")");
    }
    if (accept("<")) {
      add_all(o, dictionary());
      expect(">");
    }
    if (accept("(")) {
      do o.regions.push_back(read_region());
      while (accept(","));
      expect(")");
    }
    if (comes("{")) add_all(o, dictionary());
    expect(":");
    type_list();
    expect("->");
    o.types = type_list();
  }
  /// Attributes that stand in several places are one list.
  static void add_all(operation& o, attribute_list list) {
    for (auto& [key, a] : list.all) o.attributes.add(std::move(key), std::move(a));
  }
  /// The form that an operation has for people: operands, words and attributes, then types.
  void own_form(operation& o, const std::vector<std::pair<std::string, int>>& names) {
    o.name = word("the name of an operation");
    if (o.name == "return" || o.name == "call" || o.name == "constant") o.name.insert(0, "func.");
    const std::string_view kind = std::string_view(o.name).substr(o.name.find('.') + 1);
    std::vector<std::string> iterated;
    // The type of a constant is that of its elements.
    if (kind == "constant") {
      if (comes("{")) add_all(o, dictionary());
      attribute a = value_of_attribute();
      o.types = {a.type};
      o.attributes.add("value", std::move(a));
      return;
    }
    const bool is_while = o.name == "stablehlo.while", is_reduce = o.name == "stablehlo.reduce";
    std::vector<int> inits;
    while (!comes(":")) {
      const char c = peek();
      if (c == '\0' || c == '}' || comes("loc")) {
        if (kind == "return") return;
        fail("\":\" and types");
      }
      if (c == '%') {
        // Loops name the arguments of their regions here, and reductions their initial values.
        if (is_while) {  // %argument = %value
          iterated.push_back(name('%'));
          expect("=");
        }
        o.operands.push_back(use());
        if (is_reduce) {
          expect("init");
          expect(":");
          inits.push_back(use());
        }
      } else if (c == '(' || c == ')' || c == ',') {
        ++at_;
      } else if (c == '@') {
        o.attributes.add(kind == "custom_call" ? "call_target_name" : "callee", value_of_attribute());
      } else if (c == '"') {
        o.attributes.add("name", value_of_attribute());
      } else if (c == '{') {
        add_all(o, dictionary());
      } else if (kind.ends_with("_const") && comes("dense")) {  // what a comparison expects
        o.attributes.add("value", value_of_attribute());
        while (accept(",")) word_of_form(o, kind);
        if (comes("{")) add_all(o, dictionary());
        return;
      } else if (c == '[') {
        kind == "get_tuple_element" ? tuple_index(o) : slice_bounds(o);
      } else {
        accept("applies") ? applied(o) : accept("across") ? void() : word_of_form(o, kind);
      }
    }
    o.operands.insert(o.operands.end(), inits.begin(), inits.end());
    types_of_form(o, names);
    if (is_while) loop_regions(o, iterated);
    if (is_reduce && o.regions.empty()) reducer(o, inits.size());
  }
  /// `cond {...} do {...}`: both regions of a loop have the same arguments.
  void loop_regions(operation& o, const std::vector<std::string>& iterated) {
    std::vector<std::pair<std::string, value_type>> arguments;
    for (std::size_t k = 0; k < iterated.size() && k < o.types.size(); ++k)
      arguments.emplace_back(iterated[k], o.types[k]);
    if (accept("attributes")) add_all(o, dictionary());
    for (const char* part : {"cond", "do"}) {
      expect(part);
      o.regions.push_back(read_region(arguments));
    }
  }
  /// `applies stablehlo.add across dimensions = [0]`: a region with that one operation.
  void applied(operation& o) {
    operation inner;
    inner.where = here();
    inner.name = word("the name of an operation");
    operation end;
    end.name = "stablehlo.return";
    end.where = inner.where;
    region r;
    for (int k = 0; k < 2; ++k) r.arguments.push_back(values_++);
    inner.operands = r.arguments;
    inner.results = end.operands = {values_++};
    r.operations = {inner, end};
    o.regions.push_back(std::move(r));
  }
  /// The types behind a colon. Without an arrow, all results have the last of these types, or each has its own.
  void types_of_form(operation& o, const std::vector<std::pair<std::string, int>>& names) {
    expect(":");
    // A list in parentheses is that of the operands.
    const bool listed = peek() == '(';
    std::vector<value_type> before = type_list();
    while (!listed && accept(",")) before.push_back(type());
    if (accept("->")) {
      o.types = type_list();
    } else if (!o.name.ends_with(".return")) {
      // How many results there are, the names say.
      std::size_t count = names.empty() ? (o.name == "stablehlo.while" ? before.size() : 0) : 0;
      for (const auto& [called, n] : names) count += static_cast<std::size_t>(n);
      if (count == before.size())
        o.types = std::move(before);
      else if (!before.empty())
        o.types.assign(count, before.back());
    }
    if (o.name == "stablehlo.reduce" && !o.regions.empty()) {  // the types of what it applies
      region& r = o.regions[0];
      value_type t = o.types.empty() ? value_type{} : o.types[0];
      t.extents = {};
      r.types = {t, t};
      r.operations[0].types = {t};
    }
  }
  /// `reducer(%a: t, %b: t) (%c: t, %d: t) {...}`, where each pair belongs to one operand.
  void reducer(operation& o, std::size_t count) {
    expect("reducer");
    std::vector<std::pair<std::string, value_type>> arguments(2 * count);
    for (std::size_t k = 0; k < count; ++k) {
      expect("(");
      for (const std::size_t side : {std::size_t{0}, count}) {
        if (side) expect(",");
        auto& [called, t] = arguments[k + side];
        called = name('%');
        expect(":");
        t = type();
        if (accept("loc")) expect("("), balanced(")"), expect(")");
      }
      expect(")");
    }
    o.regions.push_back(read_region(arguments));
  }
  /// Records of dimension numbers become attributes of the operation, as the bytecode has them.
  static void flatten(operation& o) {
    attribute_list flat;
    for (auto& [key, a] : o.attributes.all) {
      if (a.is == attribute::form::record && (key == "dimension_numbers" || key.ends_with("_dimension_numbers")))
        for (std::size_t k = 0; k < a.items.size(); ++k) flat.add(std::move(a.names[k]), std::move(a.items[k]));
      else
        flat.add(std::move(key), std::move(a));
    }
    o.attributes = std::move(flat);
  }
};

}  // namespace tokamax::stablehlo::detail
