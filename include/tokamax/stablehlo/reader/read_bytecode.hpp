// tokamax/stablehlo/reader/read_bytecode.hpp: StableHLO programs from MLIR's bytecode, and from the files of jax.export.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
#pragma once

#include <tokamax/stablehlo/generated/vhlo_properties.hpp>  // vhlo_properties
#include <tokamax/stablehlo/reader/bytecode_values.hpp>     // bytecode_values

#include <algorithm>      // any_of
#include <array>          // array
#include <cstring>        // memcmp, memcpy
#include <optional>       // optional
#include <unordered_map>  // unordered_map

namespace tokamax::stablehlo {

namespace detail {

/// The sections of a file, and the operations in one of them.
class bytecode_reader : bytecode_values {
 public:
  explicit bytecode_reader(std::span<const std::byte> file) : file_(file, 0, file.size(), "header") {}

  program_module run() {
    const std::span<const std::byte> magic = file_.raw(4);
    if (std::memcmp(magic.data(), "ML\xefR", 4) != 0) file_.fail("other bytes", "the sign of MLIR's bytecode");
    version_ = file_.number();
    if (version_ > 6) file_.fail("version " + std::to_string(version_), "at most 6");
    file_.text();  // who wrote it
    while (!file_.done()) {
      const auto [id, part] = section(file_);
      if (id < sections_.size()) sections_[id] = part;
    }
    read_strings(needed(0));
    read_dialects(needed(1));
    read_offsets(needed(3), needed(2));
    if (sections_[8]) {
      byte_cursor r = *sections_[8];
      for (std::uint64_t n = r.count(); n > 0; --n) {
        const std::uint64_t bytes = r.number();
        const std::size_t begin = r.at();
        r.raw(bytes);
        properties_.emplace_back(r.file(), begin, r.at(), "properties");
      }
    }
    byte_cursor r = needed(4);
    region top;
    const scope outside(*this);
    read_block(r, top, true);
    if (!r.done()) r.fail("more bytes", "the end of the operations");
    return std::move(module_);
  }

 private:
  static constexpr const char* names_of_sections[] = {"strings",          "dialects",   "attributes",
                                                      "offsets",          "operations", "resources",
                                                      "resource offsets", "versions",   "properties"};
  /// A section and its number.
  struct named_section {
    std::size_t id;
    byte_cursor part;
  };
  /// The values of a function by their numbers in the file. A region has numbers for all of its values, and those of the
  /// regions inside of it come behind them.
  struct numbering {
    std::vector<int> values{};  ///< -1: not defined yet
    std::size_t next = 0;       ///< the number of the next value of the innermost region
  };
  struct scope {
    explicit scope(bytecode_reader& r) : of(r) { std::swap(of.numbers_, before); }
    ~scope() { std::swap(of.numbers_, before); }
    scope(const scope&) = delete;
    bytecode_reader& of;
    numbering before{};
  };

  /// The next section. Padding before it makes its place a multiple of some number.
  named_section section(byte_cursor& r) {
    const std::uint8_t id = r.byte();
    const std::uint64_t bytes = r.number();
    if (id & 128) {
      const std::uint64_t alignment = r.number();
      if (alignment == 0 || alignment > 4096) r.fail("an alignment of " + std::to_string(alignment), "1 to 4096");
      while (r.at() % alignment)
        if (r.byte() != 0xCB) r.fail("other bytes", "padding");
    }
    const std::size_t k = id & 127, begin = r.at();
    r.raw(bytes);
    return {k,
            byte_cursor(r.file(), begin, r.at(), k < std::size(names_of_sections) ? names_of_sections[k] : "unknown")};
  }
  /// A section that every file has.
  byte_cursor needed(std::size_t id) const {
    if (!sections_[id]) file_.fail(std::string("no section of ") + names_of_sections[id], "one");
    return *sections_[id];
  }
  /// The names of dialects, and of their operations.
  void read_dialects(byte_cursor r) {
    for (std::uint64_t n = r.count(); n > 0; --n) {
      bool has_version = false;
      const std::uint64_t i = version_ >= 1 ? r.number_and(has_version) : r.number();
      dialects_.push_back(string_at(r, i));
      if (has_version) section(r);
    }
    if (version_ >= 4) r.number();
    while (!r.done()) {
      const std::uint64_t dialect = r.number();
      if (dialect >= dialects_.size()) r.fail("dialect " + std::to_string(dialect), "a known one");
      for (std::uint64_t n = r.count(); n > 0; --n) {
        bool registered = false;
        const std::uint64_t i = version_ >= 5 ? r.number_and(registered) : r.number();
        operations_.push_back(std::string(dialects_[static_cast<std::size_t>(dialect)]) + "." +
                              std::string(string_at(r, i)));
      }
    }
  }
  /// The orders of uses, which only MLIR itself needs.
  static void skip_uses(byte_cursor& r, std::size_t values) {
    for (std::uint64_t n = values > 1 ? r.count() : 1; n > 0; --n) {
      if (values > 1) r.number();
      bool pairs = false;
      for (std::uint64_t k = r.number_and(pairs); k > 0; --k) r.number();
    }
  }
  /// Makes a new value, and gives it the next number of the region.
  int define(const byte_cursor& r) {
    if (numbers_.next >= numbers_.values.size()) r.fail("more values", "as many as the region has");
    numbers_.values[numbers_.next++] = value_count_;
    return value_count_++;
  }
  /// The arguments and operations of a block.
  void read_block(byte_cursor& r, region& to, bool at_top = false) {
    bool has_arguments = false;
    const std::uint64_t operations = r.number_and(has_arguments);
    if (operations > r.left()) r.fail(std::to_string(operations) + " operations", "fewer");
    if (has_arguments) {
      for (std::uint64_t n = r.count(); n > 0; --n) {
        bool has_location = true;
        const std::uint64_t i = version_ >= 4 ? r.number_and(has_location) : r.number();
        to.types.push_back(type_at(r, i));
        to.arguments.push_back(define(r));
        if (has_location) r.number();
      }
      if (version_ >= 3 && r.byte()) skip_uses(r, to.arguments.size());
    }
    for (std::uint64_t n = operations; n > 0; --n) read_operation(r, to, at_top);
  }
  /// One operation. A byte of flags says which parts follow.
  void read_operation(byte_cursor& r, region& to, bool at_top) {
    const std::size_t begin = r.at();
    const std::uint64_t kind = r.number();
    if (kind >= operations_.size())
      r.fail("operation " + std::to_string(kind), "one of " + std::to_string(operations_.size()));
    const std::string& name = operations_[static_cast<std::size_t>(kind)];
    operation o;
    o.where = {0, static_cast<int>(begin)};
    const std::uint8_t has = r.byte();
    r.number();  // a location
    if (has & 1) {
      attribute all = attribute_of(r);
      for (std::size_t k = 0; k < all.items.size() && k < all.names.size(); ++k)
        o.attributes.add(std::move(all.names[k]), std::move(all.items[k]));
    }
    if (has & 64) read_properties(r, name, o);
    if (has & 2) o.types = types(r);
    for (std::size_t k = 0; k < o.types.size(); ++k) o.results.push_back(define(r));
    if (has & 4)
      for (std::uint64_t n = r.count(); n > 0; --n) {
        const std::uint64_t v = r.number();
        if (v >= numbers_.values.size() || numbers_.values[static_cast<std::size_t>(v)] < 0)
          r.fail("value " + std::to_string(v), "one that was defined before");
        o.operands.push_back(numbers_.values[static_cast<std::size_t>(v)]);
      }
    if (has & 8) r.fail("operations that go to other blocks", "none");
    if (has & 32) skip_uses(r, o.results.size());
    const bool is_function = name == "vhlo.func_v1";
    if (is_function) value_count_ = 0;
    if (has & 16) {
      bool isolated = false;
      const std::uint64_t regions = r.number_and(isolated);
      if (regions > r.left()) r.fail(std::to_string(regions) + " regions", "fewer");
      if (++depth_ > deepest) r.fail("regions inside of " + std::to_string(deepest) + " others", "fewer");
      const auto read_all = [&](byte_cursor& from) {
        for (std::uint64_t n = regions; n > 0; --n) o.regions.push_back(read_region(from, name == "builtin.module"));
      };
      if (isolated) {
        const scope inside(*this);
        if (version_ >= 2) {
          byte_cursor part = section(r).part;
          read_all(part);
          if (!part.done()) part.fail("more bytes", "the end of the regions");
        } else {
          read_all(r);
        }
      } else {
        read_all(r);
      }
      --depth_;
    }
    if (name == "builtin.module") {
      if (const attribute* const called = o.attributes.find("sym_name")) module_.name = called->text;
      return;
    }
    if (is_function) return add_function(r, o);
    if (at_top) return;
    o.name = stablehlo_name(name);
    to.operations.push_back(std::move(o));
  }
  /// A region of one block.
  region read_region(byte_cursor& r, bool at_top) {
    region to;
    const std::uint64_t blocks = r.number();
    if (blocks == 0) return to;
    if (blocks > 1) r.fail(std::to_string(blocks) + " blocks", "one");
    const std::uint64_t own = r.count();
    const std::size_t outside = numbers_.values.size(), next = numbers_.next;
    numbers_.values.resize(outside + static_cast<std::size_t>(own), -1);
    numbers_.next = outside;
    read_block(r, to, at_top);
    numbers_.values.resize(outside);
    numbers_.next = next;
    return to;
  }
  /// The properties of an operation: an attribute each, in the order of their names.
  void read_properties(byte_cursor& r, const std::string& name, operation& o) {
    const std::uint64_t i = r.number();
    if (i >= properties_.size())
      r.fail("properties " + std::to_string(i), "some of " + std::to_string(properties_.size()));
    byte_cursor p = properties_[static_cast<std::size_t>(i)];
    if (name == "builtin.module") {
      for (const char* key : {"sym_name", "sym_visibility"}) {
        bool given = false;
        const std::uint64_t k = p.number_and(given);
        if (given) o.attributes.add(key, attribute_at(p, k));
      }
    } else if (name.starts_with("vhlo.")) {
      const std::string_view* const row = properties_of(std::string_view(name).substr(5));
      if (!row) r.fail(name, "an operation of VHLO 0.9 to 1.20");
      for (std::size_t at = row->find(' '); at != row->npos;) {
        const std::size_t end = row->find(' ', at + 1);
        const std::string_view key = row->substr(at + 1, end == row->npos ? end : end - at - 1);
        o.attributes.add(std::string(key), attribute_of(p));
        at = end;
      }
    } else {
      return;  // of another dialect, whose rule will be missed
    }
    if (!p.done()) p.fail("more bytes", "the end of the properties of " + name);
  }
  /// The row of an operation in the table of properties; null if it is not there.
  static const std::string_view* properties_of(std::string_view name) {
    static const std::unordered_map<std::string_view, const std::string_view*> table = [] {
      std::unordered_map<std::string_view, const std::string_view*> t;
      for (const std::string_view& row : vhlo_properties) t.emplace(row.substr(0, row.find(' ')), &row);
      return t;
    }();
    const auto found = table.find(name);
    return found == table.end() ? nullptr : found->second;
  }
  /// "vhlo.add_v1" as "stablehlo.add".
  static std::string stablehlo_name(const std::string& name) {
    if (!name.starts_with("vhlo.")) return name;
    const std::string kind = name.substr(5, name.rfind("_v") - 5);
    return (kind == "call" ? "func." : "stablehlo.") + kind;
  }
  /// A function of the module.
  void add_function(const byte_cursor& r, operation& o) {
    function f;
    f.where = o.where;
    const attribute* const called = o.attributes.find("sym_name");
    if (!called || o.regions.size() != 1) r.fail("a function without a name or body", "both");
    f.name = called->text;
    const attribute* const visibility = o.attributes.find("sym_visibility");
    f.is_public = !visibility || visibility->text != "private";
    f.body = std::move(o.regions[0]);
    f.has_body = !f.body.operations.empty();
    f.value_count = value_count_;
    if (f.has_body) {  // the results have the types of what the body returns
      std::vector<value_type> types(static_cast<std::size_t>(value_count_));
      for (std::size_t k = 0; k < f.body.arguments.size(); ++k)
        types[static_cast<std::size_t>(f.body.arguments[k])] = f.body.types[k];
      for (const operation& inner : f.body.operations)
        for (std::size_t k = 0; k < inner.results.size(); ++k)
          types[static_cast<std::size_t>(inner.results[k])] = inner.types[k];
      for (int v : f.body.operations.back().operands) f.results.push_back(types[static_cast<std::size_t>(v)]);
    }
    f.argument_names.resize(f.body.types.size());
    f.argument_attributes = lists_of(o.attributes.find("arg_attrs"), f.body.types.size());
    f.result_attributes = lists_of(o.attributes.find("res_attrs"), f.results.size());
    for (operation& inner : f.body.operations) settle(inner);
    module_.functions.push_back(std::move(f));
  }
  /// Is this an attribute, or a list of some, that is left out, because it does not change what is computed?
  static bool says_nothing(const attribute& a) {
    if (a.is == attribute::form::list) return std::any_of(a.items.begin(), a.items.end(), says_nothing);
    return a.is == attribute::form::other && a.text.empty();
  }
  /// The attributes of each argument or result.
  static std::vector<attribute_list> lists_of(const attribute* a, std::size_t count) {
    std::vector<attribute_list> lists(count);
    if (a)
      for (std::size_t k = 0; k < count && k < a->items.size(); ++k)
        for (std::size_t i = 0; i < a->items[k].items.size() && i < a->items[k].names.size(); ++i)
          if (!says_nothing(a->items[k].items[i])) lists[k].add(a->items[k].names[i], a->items[k].items[i]);
    return lists;
  }
  /// Writes attributes as the text has them: lists of numbers for dense elements along one axis, symbols for functions.
  static void settle(operation& o) {
    // What other dialects say, and accuracies, which do not change what is computed here.
    std::erase_if(o.attributes.all, [](const auto& a) { return says_nothing(a.second); });
    for (auto& [key, a] : o.attributes.all) {
      if (key == "callee" || key == "decomposition") a.is = attribute::form::symbol;
      const bool listed = a.is == attribute::form::elements && o.name != "stablehlo.constant" && key != "padding" &&
                          a.type.extents.rank() == 1 && (a.type.dtype == i64 || a.type.dtype == bool_);
      if (!listed || a.type.extents[0] > 1 << 16) continue;
      attribute list;
      list.is = attribute::form::list;
      list.type = {.is = value_type::form::number, .dtype = a.type.dtype};
      for (std::int64_t i = 0; i < a.type.extents[0]; ++i) {
        attribute item;
        item.is = attribute::form::integer;
        item.type = list.type;
        const array& x = a.elements.re;
        item.integer = static_cast<std::int64_t>(
            x.is_literal() ? x.literal_bits().value : element_at(x.dtype(), x.bytes() + i * size_of(x.dtype())).value);
        list.items.push_back(item);
      }
      a = std::move(list);
    }
    for (region& r : o.regions)
      for (operation& inner : r.operations) settle(inner);
  }

  byte_cursor file_;
  std::uint64_t version_ = 0;
  std::array<std::optional<byte_cursor>, 9> sections_;
  std::vector<std::string> operations_;
  std::vector<byte_cursor> properties_;
  numbering numbers_;
  int value_count_ = 0, depth_ = 0;
  program_module module_;
};

/// The bytecode in a file of jax.export: a flatbuffer, whose field 13 is the module.
inline std::span<const std::byte> module_in_export(std::span<const std::byte> file) {
  // A flatbuffer begins with the place of its table, before which lies the list of its fields.
  const auto fail = [](const std::string& part, const std::string& found, const std::string& expected) {
    throw error(error_kind::file, "stablehlo: file of jax.export: " + part, found, expected);
  };
  const auto word = [&](const std::string& part, std::uint64_t at, std::size_t bytes) {
    std::uint64_t v = 0;
    if (at > file.size() || file.size() - at < bytes)
      fail(part, "byte " + std::to_string(at), "a file of more than " + std::to_string(file.size()) + " bytes");
    std::memcpy(&v, file.data() + at, bytes);
    return v;
  };
  const std::string module_field = "field 13, mlir_module_serialized";
  const std::uint64_t root = word("place of the table", 0, 4);
  const auto back = static_cast<std::int32_t>(word("table", root, 4));
  if (back > static_cast<std::int64_t>(root))
    fail("table", "byte " + std::to_string(static_cast<std::int64_t>(root) - back), "a place inside of the file");
  const std::uint64_t table = root - static_cast<std::uint64_t>(static_cast<std::int64_t>(back));
  const std::uint64_t bytes_of_table = word("size of the table", table, 2);
  const std::uint64_t fields = (bytes_of_table - std::min<std::uint64_t>(bytes_of_table, 4)) / 2;
  const std::uint64_t offset = fields > 13 ? word(module_field, table + 4 + 2 * 13, 2) : 0;
  if (offset == 0) fail(module_field, std::to_string(fields) + " fields", "a file that jax.export has written");
  const std::uint64_t at = root + offset, list = at + word(module_field, at, 4), bytes = word(module_field, list, 4);
  if (bytes > file.size() - list - 4)
    fail(module_field, std::to_string(bytes) + " bytes", "at most " + std::to_string(file.size() - list - 4));
  return file.subspan(static_cast<std::size_t>(list) + 4, static_cast<std::size_t>(bytes));
}

}  // namespace detail

/// The module in MLIR's bytecode, versions 0 to 6, of VHLO 0.9 to 1.20.
///
/// errors  "stablehlo bytecode" with the byte and the section
inline program_module read_bytecode(std::span<const std::byte> bytes) { return detail::bytecode_reader(bytes).run(); }

}  // namespace tokamax::stablehlo
