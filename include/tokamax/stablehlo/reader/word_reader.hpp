// tokamax/stablehlo/reader/word_reader.hpp: reads the words of operations in their own forms, which stand for attributes.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of read_text)
// tested by tests/stablehlo/reader/read_text.cpp
#pragma once

#include <tokamax/stablehlo/reader/attribute_reader.hpp>  // attribute_reader

namespace tokamax::stablehlo::detail {

/// The attribute that a word in the own form of an operation means.
struct written_as {
  std::string_view operation, word, attribute;
};
inline constexpr written_as written_names[] = {
    {"iota", "dim", "iota_dimension"},
    {"dynamic_iota", "dim", "iota_dimension"},
    {"broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"dynamic_broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"broadcast", "sizes", "broadcast_sizes"},
    {"concatenate", "dim", "dimension"},
    {"get_dimension_size", "dim", "dimension"},
    {"set_dimension_size", "dim", "dimension"},
    {"transpose", "dims", "permutation"},
    {"reverse", "dims", "dimensions"},
    {"fft", "type", "fft_type"},
    {"fft", "length", "fft_length"},
    {"pad", "low", "edge_padding_low"},
    {"pad", "high", "edge_padding_high"},
    {"pad", "interior", "interior_padding"},
    {"dynamic_slice", "sizes", "slice_sizes"},
    {"rng_bit_generator", "algorithm", "rng_algorithm"},
    {"rng", "distribution", "rng_distribution"},
    {"dot_general", "precision", "precision_config"},
    {"dot", "precision", "precision_config"},
};

/// Words between the operands of an operation, such as `dims = [0]`, `LT` and `contracting_dims = [1] x [0]`.
class word_reader : public attribute_reader {
 protected:
  using attribute_reader::attribute_reader;

  /// A word: an enumerator, or the name of an attribute.
  void word_of_form(operation& o, std::string_view kind) {
    skip();
    const std::size_t begin = at_;
    const std::string_view w = word("an operand, an attribute or a type");
    // `[1] x [0]` are axes of both operands.
    if (w == "contracting_dims" || w == "batching_dims") {
      const std::string to = w == "contracting_dims" ? "_contracting_dimensions" : "_batching_dimensions";
      expect("=");
      o.attributes.add("lhs" + to, as_integers(value_of_attribute()));
      expect("x");
      o.attributes.add("rhs" + to, as_integers(value_of_attribute()));
      return;
    }
    if (w == "dim_numbers") {
      expect("=");
      o.attributes.add("dimension_numbers", convolution_dimensions());
      return;
    }
    if (w == "window") return expect("="), windows(o);
    if (w == "format") return expect("="), float_format(o);
    // A word without a value is an enumerator, of which only compare has some.
    if (!accept("=")) {
      const char* const called =
          kind == "compare" ? (o.operands.empty() ? "comparison_direction" : "compare_type") : nullptr;
      if (!called) fail_at(begin, "\"" + std::string(w) + "\"", "an operand, an attribute or a type");
      o.attributes.add(called, detail::word(w));
      return;
    }
    // Words that are shorter than the names of their attributes.
    std::string key(w);
    for (const written_as& n : written_names)
      if (n.operation == kind && n.word == w) key = n.attribute;
    // How products are rounded is a record.
    if (w == "algorithm" && kind == "dot_general" && comes("<")) {
      expect("<");
      attribute_list list;
      do {
        std::string field(word("the name of a field"));
        expect("=");
        list.add(std::move(field), value_of_attribute());
      } while (accept(","));
      expect(">");
      o.attributes.add(std::move(key), record_of(std::move(list)));
      return;
    }
    o.attributes.add(std::move(key), as_integers(value_of_attribute(false)));
  }
  /// `[0:2, 1:5:2]`
  void slice_bounds(operation& o) {
    expect("[");
    std::vector<std::int64_t> start, limit, step;
    while (!accept("]")) {
      if (!start.empty()) expect(",");
      start.push_back(whole("the first position"));
      expect(":");
      limit.push_back(whole("the end"));
      step.push_back(accept(":") ? whole("a step") : 1);
    }
    o.attributes.add("start_indices", list_of(start));
    o.attributes.add("limit_indices", list_of(limit));
    o.attributes.add("strides", list_of(step));
  }
  /// `[0]`
  void tuple_index(operation& o) {
    expect("[");
    o.attributes.add("index", detail::whole(whole("the number of an element")));
    expect("]");
  }
  /// `e5m2`
  void float_format(operation& o) {
    skip();
    const std::size_t begin = at_;
    const std::string_view format = word("a format as e5m2");
    // Two numbers behind the letters e and m.
    const std::size_t m = format.find('m');
    std::int64_t bits[2] = {};
    bool ok = format.starts_with("e") && m != format.npos;
    const std::string_view parts[] = {ok ? format.substr(1, m - 1) : "", ok ? format.substr(m + 1) : ""};
    for (int k = 0; k < 2; ++k) {
      const auto r = std::from_chars(parts[k].data(), parts[k].data() + parts[k].size(), bits[k]);
      ok = ok && r.ec == std::errc{} && r.ptr == parts[k].data() + parts[k].size();
    }
    if (!ok) fail_at(begin, std::string(format), "a format as e5m2");
    o.attributes.add("exponent_bits", detail::whole(bits[0]));
    o.attributes.add("mantissa_bits", detail::whole(bits[1]));
  }
  /// `{stride = [1, 2], pad = [[0, 1]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]}`
  void windows(operation& o) {
    for (auto& [key, a] : dictionary().all)
      o.attributes.add(key == "stride"       ? "window_strides"
                       : key == "pad"        ? "padding"
                       : key == "lhs_dilate" ? "lhs_dilation"
                       : key == "rhs_dilate" ? "rhs_dilation"
                       : key == "reverse"    ? "window_reversal"
                                             : key,
                       key == "pad" ? as_pairs(std::move(a)) : as_integers(std::move(a)));
  }

 private:
  /// A list of integers as `array<i64: ...>`, and one of truth values as `array<i1: ...>`, which is what it stands for.
  static attribute as_integers(attribute a) {
    if (a.is != attribute::form::list) return a;
    bool integers = true, truths = !a.items.empty();
    for (const attribute& item : a.items) {
      integers = integers && item.is == attribute::form::integer;
      truths = truths && item.is == attribute::form::boolean;
    }
    if (integers || truths) a.type = {.is = value_type::form::number, .dtype = truths ? bool_ : i64};
    return a;
  }
  /// `[[1, 2], [0, 0]]` as dense elements.
  static attribute as_pairs(attribute a) {
    attribute pairs;
    pairs.is = attribute::form::elements;
    pairs.type = {
        .is = value_type::form::array, .dtype = i64, .extents = {static_cast<std::int64_t>(a.items.size()), 2}};
    std::vector<element_bits> numbers;
    for (const attribute& item : a.items)
      for (const attribute& v : item.items) numbers.push_back({static_cast<std::uint64_t>(v.integer)});
    return elements_of_numbers(pairs.type, numbers, false, pairs.elements).empty() ? pairs : a;
  }
};

}  // namespace tokamax::stablehlo::detail
