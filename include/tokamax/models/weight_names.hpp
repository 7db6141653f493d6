// tokamax/models/weight_names.hpp: where the arrays of a decoder are among the tensors of a file, both ways.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>      // slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/lax/shapes/transpose.hpp>    // transpose
#include <tokamax/models/decoder.hpp>          // decoder
#include <tokamax/models/tensor_source.hpp>    // tensor_source
#include <tokamax/quant/weight_only.hpp>       // packed_leaves

#include <set>  // set

namespace tokamax::models {

/// What a file does to an array.
enum class weight_form : std::uint8_t {
  same,
  transposed,  ///< [out, in] there, [in, out] here, as in linear layers of PyTorch
  paired,      ///< the same, and the two features of a pair that is turned lie side by side, as in Llama's GGUF files
  plus_one     ///< there is 1 more than here, as in norms of Gemma's GGUF files
};

/// A tensor and the arrays that are in it, one behind the other along the outputs. `#` stands for the number of a layer.
struct weight_name {
  std::string_view tensor;               ///< "model.layers.#.self_attn.q_proj.weight"
  std::vector<std::string_view> arrays;  ///< {"blocks[#].attend.query.kernel"}
  weight_form form = weight_form::same;
};

namespace detail {

inline std::string of_layer(std::string_view pattern, int layer) {
  const std::size_t at = pattern.find('#');
  if (at == std::string_view::npos) return std::string(pattern);
  return std::string(pattern.substr(0, at)) + std::to_string(layer) + std::string(pattern.substr(at + 1));
}

/// The arrays of a decoder by their paths, without those of no size.
inline std::map<std::string, array*> arrays_by_path(decoder& model) {
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

  int axis() const { return arrays[0]->rank() - 1; }  // along which they lie one behind the other, here
  bool swaps() const { return form != weight_form::same && form != weight_form::plus_one && axis() == 1; }
  /// The shape of the tensor in the file.
  shape stored() const {
    shape s = arrays[0]->shape();
    for (std::size_t i = 1; i < arrays.size(); ++i) s[-1] += arrays[i]->extent(-1);
    if (swaps()) std::swap(s[0], s[1]);
    return s;
  }
};

/// All tensors of a model with so many layers for which `arrays` has all of their arrays.
inline std::vector<weight_place> places_of(const std::vector<weight_name>& names, int layers,
                                           const std::map<std::string, array*>& arrays) {
  std::vector<weight_place> result;
  for (const weight_name& n : names)
    for (int i = 0; i < (n.tensor.find('#') == std::string_view::npos ? 1 : layers); ++i) {
      weight_place place{of_layer(n.tensor, i), {}, {}, n.form};
      for (const std::string_view pattern : n.arrays) {
        place.paths.push_back(of_layer(pattern, i));
        if (const auto found = arrays.find(place.paths.back()); found != arrays.end())
          place.arrays.push_back(found->second);
      }
      if (place.arrays.size() == place.paths.size()) result.push_back(std::move(place));
    }
  return result;
}

/// The heads of the tensor of queries or keys.
inline std::int64_t heads_of(const weight_place& p, const decoder_config& c) {
  return p.paths[0].find(".query.") != std::string::npos ? c.heads : c.kv_heads;
}

/// The rows of a tensor of codes become columns of packed weights, and its arrays keep their types alone.
inline void read_codes(const weight_place& p, const tensor_source& from, const decoder_config& c, dtype as,
                       quant::packed_leaves& to) {
  const std::int64_t all = from.shapes.at(p.tensor)[0], each = std::max<std::int64_t>(2, all / heads_of(p, c));
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < all; ++i) {
    const std::int64_t head = i / each * each, within = i - head, half = each / 2;
    rows.push_back(p.form == weight_form::paired ? head + within % half * 2 + within / half : i);
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < p.arrays.size(); ++i) {
    const shape s = p.arrays[i]->shape();
    const auto count = static_cast<std::size_t>(s[p.swaps() ? 1 : 0]);
    to.emplace(p.paths[i],
               quant::packed_leaf{from.read_packed(p.tensor, std::span(rows).subspan(at, count)), !p.swaps()});
    *p.arrays[i] = array(array_type{as, false, s});
    at += count;
  }
}

/// Pairs side by side -> halves one behind the other, for `heads` heads of the rows of x.
inline array halves_of_pairs(const array& x, std::int64_t heads) {
  const std::int64_t each = x.extent(0) / heads, rest = x.size() / std::max<std::int64_t>(1, x.extent(0));
  return reshape(transpose(reshape(x, {heads, each / 2, 2, rest}), {0, 2, 1, 3}), x.shape());
}

}  // namespace detail

/// Reads the tensors of a file into a decoder. Everything is compared with the file before memory is taken. If `packed` is there,
/// it takes the matrices of codes.
/// errors  tokamax::error of the kind `file` with the name of a tensor that is missing, has another shape, or has no place
inline void read_weights(decoder& model, const tensor_source& from, const std::vector<weight_name>& names,
                         const std::set<std::string>& ignored, dtype as, quant::packed_leaves* packed = nullptr) {
  const auto refuse = [&](const std::string& what, std::string found, std::string expected) {
    throw error(error_kind::file, "model: " + what, std::move(found), std::move(expected), from.where);
  };
  std::map<std::string, array*> arrays = detail::arrays_by_path(model);
  std::vector<detail::weight_place> places = detail::places_of(names, model.config.layers, arrays);
  std::erase_if(places, [&](const detail::weight_place& p) { return !from.shapes.contains(p.tensor); });
  std::set<std::string> known, filled;
  for (const detail::weight_place& p : places) {
    const shape expected = p.stored();
    if (const shape& found = from.shapes.at(p.tensor); !(found == expected))
      refuse("tensor " + p.tensor, std::string((message() << found).view()),
             std::string((message() << expected).view()));
    known.insert(p.tensor);
    for (const std::string& path : p.paths)
      if (!filled.insert(path).second) refuse("tensor " + p.tensor, "a second one for " + path, "one");
  }
  for (const auto& [path, leaf] : arrays) {
    if (filled.contains(path)) continue;
    for (const detail::weight_place& p : detail::places_of(names, model.config.layers, arrays))
      if (std::find(p.paths.begin(), p.paths.end(), path) != p.paths.end())
        refuse("tensor " + p.tensor, "nothing", std::string((message() << p.stored()).view()));
    refuse("array " + path, "no name", "a tensor that has it");
  }
  for (const auto& [name, s] : from.shapes)
    if (!known.contains(name) && !ignored.contains(name))
      refuse("tensor " + name, std::string((message() << s).view()), "no such tensor");
  for (detail::weight_place& p : places) {
    if (packed && p.axis() == 1 && p.form != weight_form::plus_one && from.has_codes(p.tensor)) {
      detail::read_codes(p, from, model.config, as, *packed);
      continue;
    }
    array x = from.read(p.tensor, as);
    if (p.form == weight_form::plus_one) x = x - 1.0f;
    if (p.form == weight_form::paired) x = detail::halves_of_pairs(x, detail::heads_of(p, model.config));
    if (p.swaps()) x = transpose(x, {1, 0});
    std::int64_t at = 0;
    for (array* const a : p.arrays) {
      const std::int64_t size = a->extent(-1);
      *a = p.arrays.size() == 1 ? x : slice_in_dim(x, at, at + size, p.axis());
      at += size;
    }
  }
}

/// The tensors of a decoder as a file has them.
/// errors  "model: array" if the names leave one out
inline std::vector<checkpoint::named_array> named_weights(decoder model, const std::vector<weight_name>& names) {
  const std::map<std::string, array*> arrays = detail::arrays_by_path(model);
  std::vector<checkpoint::named_array> result;
  std::set<std::string> written;
  for (const detail::weight_place& p : detail::places_of(names, model.config.layers, arrays)) {
    if (written.contains(p.paths[0])) continue;  // another way to write the same
    written.insert(p.paths.begin(), p.paths.end());
    tokamax::arrays parts;
    for (const array* a : p.arrays) parts.push_back(*a);
    array x = parts.count() == 1 ? parts[0] : concatenate(parts, p.axis());
    if (p.swaps()) x = transpose(x, {1, 0});
    result.push_back({p.tensor, x});
  }
  for (const auto& [path, leaf] : arrays)
    if (!written.contains(path)) throw error("model: array " + path, "no name", "a tensor that has it");
  return result;
}

}  // namespace tokamax::models
