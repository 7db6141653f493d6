// tokamax/nn/tie.hpp: one array in two places of a model.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/base/fixed_string.hpp>     // fixed_string
#include <tokamax/core/partition.hpp>        // absent
#include <tokamax/lax/shapes/transpose.hpp>  // swapaxes
#include <tokamax/nn/initializers/init.hpp>  // initialized

namespace tokamax::nn {

/// How an array stands in the second place: as it is, or transposed.
enum class tied_as { same, transposed };

namespace detail {
/// The array under a path, or one that does not exist.
template <class Model>
constexpr array array_at(const Model& model, std::string_view wanted) {
  array found;
  for_each_leaf_with_path(
      [&](std::string_view path, const array& leaf) {
        if (path == wanted) found = leaf;
      },
      model);
  return found;
}
/// `model` with another array under a path.
template <class Model>
constexpr Model with_array_at(Model model, std::string_view wanted, const array& a) {
  for_each_leaf_with_path(
      [&](std::string_view path, auto& leaf) {
        if (path == wanted) static_cast<array&>(leaf) = a;
      },
      model);
  return model;
}
/// The type of a transposed matrix.
constexpr array_type transposed(array_type t) {
  const int r = t.shape.rank();
  if (r > 1) std::swap(t.shape[r - 1], t.shape[r - 2]);
  return t;
}
}  // namespace detail

/// What `tie` returns: a model in which the array at path `Place` is that at path `Source`. It is called as the model is.
template <class Model, fixed_string Place, fixed_string Source, tied_as As = tied_as::same>
struct tied {
  Model model = detail::with_array_at(Model{}, Place.view(), absent());  ///< without the array at Place

  /// The model with the array in both places.
  constexpr Model whole() const {
    array source = detail::array_at(model, Source.view());
    if (As == tied_as::transposed && source.is_abstract())
      source = array(detail::transposed(source.type()));
    else if (As == tied_as::transposed)
      source = swapaxes(source, -1, -2);
    return detail::with_array_at(copy_tree(model), Place.view(), source);
  }
  constexpr tied init(const random::key& key) const {
    const Model filled = tokamax::detail::initialized(whole(), key, source_line::current());
    return {detail::with_array_at(filled, Place.view(), absent())};
  }
  template <class... Args>
    requires std::is_invocable_v<const Model&, const Args&...>
  constexpr auto operator()(const Args&... args) const {
    const Model complete = whole();
    return complete(args...);
  }
  /// The same for a model that its call changes.
  template <class... Args>
    requires(std::is_invocable_v<Model&, const Args&...> && !std::is_invocable_v<const Model&, const Args&...>)
  constexpr auto operator()(const Args&... args) {
    Model complete = whole();
    auto result = complete(args...);
    model = detail::with_array_at(std::move(complete), Place.view(), absent());
    return result;
  }
};

/// Makes two arrays of a model one. Its gradient is the sum of both uses, and optimisers, programs and files have it once, under
/// the path of the source:
///
///   auto model = nn::tie<"head.kernel", "token.table", nn::tied_as::transposed>(network{});
///   model = init(model, random::key(0));  // the table has its first value, and so has the head
///   model(ids);                           // as network is called
///
/// errors  "tie: path" that names no array; "tie: arrays" of different dtypes or shapes
/// source  flax.nnx, where two attributes may be one Variable; Press, Wolf 2017, arXiv:1608.05859
template <fixed_string Place, fixed_string Source, tied_as As = tied_as::same, class Model>
constexpr tied<Model, Place, Source, As> tie(const Model& model, source_line l = source_line::current()) {
  const array place = detail::array_at(model, Place.view()), source = detail::array_at(model, Source.view());
  if (!place.exists() || !source.exists()) {
    reject(nullptr, l, "tie: path", place.exists() ? Source.view() : Place.view(), "the path of an array of the model");
  } else {
    const array_type wanted = As == tied_as::transposed ? detail::transposed(place.type()) : place.type();
    if (!(source.type() == wanted)) reject(nullptr, l, "tie: arrays", source.type(), wanted);
  }
  return {detail::with_array_at(model, Place.view(), absent())};
}

}  // namespace tokamax::nn
