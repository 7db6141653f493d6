// tokamax/models/weight_names.hpp: where the arrays of a model are among the tensors of a file, both ways.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>      // slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/lax/shapes/transpose.hpp>    // transpose
#include <tokamax/models/decoder_config.hpp>   // decoder_config
#include <tokamax/models/tensor_source.hpp>    // tensor_source
#include <tokamax/quant/weight_only.hpp>       // packed_leaves

#include <set>  // set

namespace tokamax::models {

/// What a file does to an array.
enum class weight_form : std::uint8_t {
  same,
  transposed,  ///< [..., out, in] there, [..., in, out] here, as in linear layers of PyTorch
  paired,      ///< the same, and the two features of a pair that is turned lie side by side, as in Llama's GGUF files
  plus_one,    ///< there is 1 more than here, as in norms of Gemma's GGUF files
  alternating  ///< the elements of several arrays take turns along the last axis
};

/// A tensor and the arrays that are in it, one behind the other along the outputs. `#` stands for the number of a layer, and `*` for that of
/// an expert, whose part of an array [experts, ...] the tensor is.
struct weight_name {
  std::string_view tensor;               ///< "model.layers.#.self_attn.q_proj.weight"
  std::vector<std::string_view> arrays;  ///< {"blocks[#].attend.query.kernel"}
  weight_form form = weight_form::same;
};

/// How many of each thing the names of a model count.
struct weight_counts {
  int layers = 0, experts = 0;
  int heads = 1, kv_heads = 1;  ///< of paired queries and keys

  static weight_counts of(const decoder_config& c) { return {c.layers, c.experts.router.experts, c.heads, c.kv_heads}; }
};

namespace detail {

inline std::string with_number(std::string pattern, char mark, int number) {
  if (const std::size_t at = pattern.find(mark); at != std::string::npos)
    pattern.replace(at, 1, std::to_string(number));
  return pattern;
}

/// The arrays of a model by their paths, without those of no size.
template <class Model>
std::map<std::string, array*> arrays_by_path(Model& model) {
  std::map<std::string, array*> result;
  for_each_leaf_with_path(
      [&](std::string_view path, array& leaf) {
        if (leaf.size() != 0)
          result.emplace(path, &leaf);
        else
          leaf = array::uninitialized({f32, false, leaf.shape()});
      },
      model);
  return result;
}

/// One tensor with the arrays that it fills.
struct weight_place {
  std::string tensor;
  std::vector<std::string> paths;
  std::vector<array*> arrays;
  weight_form form;
  int expert = -1;  // whose part of the arrays it is; -1: the whole

  /// What is in the tensor of an array.
  shape part_of(const array& a) const {
    if (expert < 0) return a.shape();
    shape s;
    for (int i = 1; i < a.rank(); ++i) s.push_back(a.extent(i));
    return s;
  }
  int axis() const { return part_of(*arrays[0]).rank() - 1; }  // along which they lie one behind the other, here
  bool swaps() const {
    return form != weight_form::same && form != weight_form::plus_one && form != weight_form::alternating &&
           axis() >= 1;
  }
  /// How many rows or columns of codes an array is: its outputs.
  std::int64_t outputs(std::size_t i) const {
    return axis() == 1 && !swaps() ? arrays[i]->extent(0) : arrays[i]->extent(-1);
  }
  /// The shape of the tensor in the file.
  shape stored() const {
    shape s = part_of(*arrays[0]);
    for (std::size_t i = 1; i < arrays.size(); ++i) s[-1] += arrays[i]->extent(-1);
    if (swaps()) std::swap(s[-1], s[-2]);
    return s;
  }
};

/// All tensors of a model for which `arrays` has all of their arrays.
inline std::vector<weight_place> places_of(const std::vector<weight_name>& names, const weight_counts& n,
                                           const std::map<std::string, array*>& arrays) {
  std::vector<weight_place> result;
  for (const weight_name& name : names) {
    const auto counts = [&](char mark) { return name.tensor.find(mark) != std::string_view::npos; };
    for (int i = 0; i < (counts('#') ? n.layers : 1); ++i) {
      weight_place place{with_number(std::string(name.tensor), '#', i), {}, {}, name.form};
      for (const std::string_view pattern : name.arrays) {
        place.paths.push_back(with_number(std::string(pattern), '#', i));
        if (const auto found = arrays.find(place.paths.back()); found != arrays.end())
          place.arrays.push_back(found->second);
      }
      if (place.arrays.size() != place.paths.size()) continue;
      if (!counts('*')) result.push_back(place);
      for (int e = 0; counts('*') && e < n.experts; ++e) {
        result.push_back(place);
        result.back().tensor = with_number(place.tensor, '*', e);
        result.back().expert = e;
      }
    }
  }
  return result;
}

/// Pairs side by side -> halves one behind the other, for `heads` heads of the rows of x.
inline array halves_of_pairs(const array& x, std::int64_t heads) {
  const std::int64_t each = x.extent(0) / heads, rest = x.size() / std::max<std::int64_t>(1, x.extent(0));
  return reshape(transpose(reshape(x, {heads, each / 2, 2, rest}), {0, 2, 1, 3}), x.shape());
}

/// [..., out, in] -> [..., in, out]
inline array swapped(const array& x) { return transpose(x, x.rank() == 3 ? axes{0, 2, 1} : axes{1, 0}); }

/// The part of an array that is in a tensor.
inline array part_in(const weight_place& p, const array& a) {
  return p.expert < 0 ? a : reshape(slice_in_dim(a, p.expert, p.expert + 1, 0), p.part_of(a));
}

/// The heads of the tensor of queries or keys.
inline std::int64_t heads_of(const weight_place& p, const weight_counts& n) {
  return p.paths[0].find(".query.") != std::string::npos ? n.heads : n.kv_heads;
}

/// The rows of a tensor of codes become columns of packed weights, and its arrays keep their types alone.
inline void read_codes(const weight_place& p, const tensor_source& from, const weight_counts& n, dtype as,
                       quant::packed_leaves& to) {
  const std::int64_t arrays = std::ssize(p.arrays);
  std::int64_t first = 0, all = 0;
  for (std::size_t i = 0; i < p.arrays.size(); ++i) all += p.outputs(i);
  const std::int64_t each = std::max<std::int64_t>(2, all / heads_of(p, n)), half = each / 2;
  for (std::size_t i = 0; i < p.arrays.size(); ++i) {
    std::vector<std::int64_t> rows;
    for (std::int64_t k = 0; k < p.outputs(i); ++k) {
      const std::int64_t at = first + k, head = at / each * each, within = at - head;
      rows.push_back(p.form == weight_form::paired        ? head + within % half * 2 + within / half
                     : p.form == weight_form::alternating ? k * arrays + static_cast<std::int64_t>(i)
                                                          : at);
    }
    to.emplace(p.paths[i], quant::packed_leaf{from.read_packed(p.tensor, rows), p.axis() == 1 && !p.swaps()});
    first += p.outputs(i);
    *p.arrays[i] = array(array_type{as, false, p.arrays[i]->shape()});
  }
}

/// Can a tensor of codes be packed as it lies?
inline bool has_codes(const weight_place& p, const tensor_source& from) {
  return p.expert < 0 && p.axis() >= 1 && p.form != weight_form::plus_one && from.has_codes(p.tensor);
}

/// The arrays of a tensor that was read, each with its part.
inline std::vector<array> parts_of(const weight_place& p, array x, const weight_counts& n) {
  if (!(x.shape() == p.stored())) x = reshape(x, p.stored());
  if (p.form == weight_form::plus_one) x = x - 1.0f;
  if (p.form == weight_form::paired) x = halves_of_pairs(x, heads_of(p, n));
  if (p.swaps()) x = swapped(x);
  if (p.arrays.size() == 1) return {x};
  std::vector<array> parts;
  const std::int64_t count = std::ssize(p.arrays);
  if (p.form == weight_form::alternating) {
    shape pairs = p.part_of(*p.arrays[0]);
    pairs.push_back(count);
    x = reshape(x, pairs);
    for (std::int64_t i = 0; i < count; ++i)
      parts.push_back(reshape(slice_in_dim(x, i, i + 1, -1), p.part_of(*p.arrays[0])));
    return parts;
  }
  std::int64_t at = 0;
  for (const array* const a : p.arrays) {
    parts.push_back(slice_in_dim(x, at, at + a->extent(-1), p.axis()));
    at += a->extent(-1);
  }
  return parts;
}

/// A tensor with the parts of its arrays.
inline array tensor_of(const weight_place& p) {
  arrays parts;
  for (const array* a : p.arrays) parts.push_back(part_in(p, *a));
  const bool turns = p.form == weight_form::alternating;
  if (turns)
    for (int i = 0; i < parts.count(); ++i) parts[i] = expand_dims(parts[i], -1);
  array x = parts.count() == 1 ? parts[0] : concatenate(parts, turns ? p.axis() + 1 : p.axis());
  if (turns) x = reshape(x, p.stored());
  return p.swaps() ? swapped(x) : x;
}

/// Adds a part of an array to those that are there, an expert or -1 for the whole. False if it is there already.
inline bool add_part(std::set<int>& parts, int expert) {
  return !parts.contains(-1) && (expert >= 0 || parts.empty()) && parts.insert(expert).second;
}

/// Is a tensor of this shape what is expected? An only row may be a list.
inline bool is_stored_as(const shape& found, const shape& expected) {
  return found == expected || (expected.rank() == 2 && expected[0] == 1 && found == shape{expected[1]});
}

/// Chooses the places whose tensors are there, and throws unless they have every part of every array once, and nothing is left over.
inline std::vector<weight_place> checked_places(const std::map<std::string, array*>& arrays, const tensor_source& from,
                                                const std::vector<weight_name>& names, const weight_counts& n,
                                                const std::set<std::string>& ignored) {
  const auto refuse = [&](const std::string& what, std::string found, std::string expected) {
    throw error(error_kind::file, "model: " + what, std::move(found), std::move(expected), from.where);
  };
  const auto text = [](const shape& s) { return std::string((message() << s).view()); };
  const std::vector<weight_place> all = places_of(names, n, arrays);
  std::vector<weight_place> places;
  std::set<std::string> known;
  std::map<std::string, std::set<int>> filled;
  for (const weight_place& p : all) {
    if (!from.shapes.contains(p.tensor)) continue;
    if (const shape &found = from.shapes.at(p.tensor), expected = p.stored(); !is_stored_as(found, expected))
      refuse("tensor " + p.tensor, text(found), text(expected));
    known.insert(p.tensor);
    for (const std::string& path : p.paths) {
      if (!add_part(filled[path], p.expert)) refuse("tensor " + p.tensor, "a second one for " + path, "one");
    }
    places.push_back(p);
  }
  for (const auto& [path, leaf] : arrays) {
    const std::set<int>& parts = filled[path];
    if (parts.contains(-1) || (!parts.empty() && std::ssize(parts) == leaf->extent(0))) continue;
    for (const weight_place& p : all)
      if (!known.contains(p.tensor) && std::find(p.paths.begin(), p.paths.end(), path) != p.paths.end())
        refuse("tensor " + p.tensor, "nothing", text(p.stored()));
    refuse("array " + path, "no name", "a tensor that has it");
  }
  for (const auto& [name, s] : from.shapes)
    if (!known.contains(name) && !ignored.contains(name)) refuse("tensor " + name, text(s), "no such tensor");
  return places;
}

inline void read_arrays(const std::map<std::string, array*>& arrays, const tensor_source& from,
                        const std::vector<weight_name>& names, const weight_counts& n,
                        const std::set<std::string>& ignored, dtype as, quant::packed_leaves* packed) {
  std::map<array*, tokamax::arrays> of_experts;
  for (const weight_place& p : checked_places(arrays, from, names, n, ignored)) {
    if (packed && has_codes(p, from)) {
      read_codes(p, from, n, as, *packed);
      continue;
    }
    const std::vector<array> parts = parts_of(p, from.read(p.tensor, as), n);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (p.expert < 0) {
        *p.arrays[i] = parts[i];
        continue;
      }
      tokamax::arrays& each = of_experts[p.arrays[i]];  // places of an array have its experts in order
      each.push_back(expand_dims(parts[i], 0));
      if (each.count() == n.experts) *p.arrays[i] = concatenate(each, 0), each = {};
    }
  }
  buffer_pool::instance().trim();  // of what conversions needed
}

inline std::vector<checkpoint::named_array> named_arrays(const std::map<std::string, array*>& arrays,
                                                         const std::vector<weight_name>& names,
                                                         const weight_counts& n) {
  std::vector<checkpoint::named_array> result;
  std::map<std::string, std::set<int>> written;
  for (const weight_place& p : places_of(names, n, arrays)) {
    bool is_new = true;  // else it is another way to write the same
    for (const std::string& path : p.paths) is_new &= add_part(written[path], p.expert);
    if (is_new) result.push_back({p.tensor, tensor_of(p)});
  }
  for (const auto& [path, leaf] : arrays)
    if (!written.contains(path)) throw error("model: array " + path, "no name", "a tensor that has it");
  return result;
}

}  // namespace detail

/// Reads the tensors of a file into a model, of which `n` says how many layers and experts it has. Everything is compared with the
/// file before memory is taken. If `packed` is there, it takes the matrices of codes.
/// errors  tokamax::error of the kind `file` with the name of a tensor that is missing, has another shape, or has no place
template <class Model>
void read_weights(Model& model, const tensor_source& from, const std::vector<weight_name>& names,
                  const weight_counts& n, const std::set<std::string>& ignored, dtype as,
                  quant::packed_leaves* packed = nullptr) {
  detail::read_arrays(detail::arrays_by_path(model), from, names, n, ignored, as, packed);
}

/// The tensors of a model as a file has them.
/// errors  "model: array" if the names leave one out
template <class Model>
std::vector<checkpoint::named_array> named_weights(Model model, const std::vector<weight_name>& names,
                                                   const weight_counts& n) {
  return detail::named_arrays(detail::arrays_by_path(model), names, n);
}

}  // namespace tokamax::models
