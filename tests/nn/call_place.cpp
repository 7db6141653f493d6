// tests/nn/call_place.cpp: whatever a layer or a composed function consists of, its values stand where it was called.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/models/gpt.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

#include <string>
#include <string_view>

using namespace tokamax;

namespace {

/// The places inside the library that the values of a trace of f carry. Conversions cannot fail, and name none.
template <class F, class... Args>
std::string places_inside(const F& f, const Args&... args) {
  std::string found;
  auto look = [&](const graph& in, const auto& again) -> void {
    for (const node& n : in.nodes)
      if (n.op != &convert_element_type_p && n.op != &constant_p && n.op != &broadcast_in_dim_p &&
          std::string_view(n.where.file).find("include/tokamax/") != std::string_view::npos)
        found += std::string(n.op->name) + " " + n.where.file + ":" + std::to_string(n.where.line) + "\n";
    for (const graph& body : in.bodies) again(body, again);
  };
  look(make_graph(f, args...), look);
  return found;
}

/// The place that an error of f names, as this file's name and a line beyond `first`.
template <class F>
bool here(const F& f, unsigned first = std::source_location::current().line()) {
  try {
    f();
  } catch (const error& e) {
    INFO(e.what());
    const std::string start = std::string(std::source_location::current().file_name()) + ":";
    CHECK(e.where == start + std::to_string(first));
    return e.where == start + std::to_string(first);
  }
  return false;
}

const array x({f32, false, {2, 3, 8}}), rows({f32, false, {2, 8}}), ids({i32, false, {2, 3}}),
    truth({bool_, false, {4}});

}  // namespace

TEST_CASE("the values of layers stand where the layer was called") {
  CHECK(places_inside([](const nn::linear& m, const array& v) { return m(v); }, nn::linear{8, 4}, x) == "");
  CHECK(places_inside([](const nn::layer_norm& m, const array& v) { return m(v); }, nn::layer_norm{8}, x) == "");
  CHECK(places_inside([](const nn::rms_norm& m, const array& v) { return m(v); }, nn::rms_norm{8}, x) == "");
  CHECK(places_inside([](const nn::embed& m, const array& i) { return m.logits(m(i)); }, nn::embed{5, 8}, ids) == "");
  CHECK(places_inside([](const nn::attention& m, const array& v) { return m(v); }, nn::attention{8, 2}, x) == "");
}

TEST_CASE("a mistake inside a layer is reported where the layer was called") {
  CHECK(here([] { return nn::linear{9, 4}(x); }));
  CHECK(here([] { return nn::layer_norm{9}(x); }));
  CHECK(here([] { return nn::rms_norm{9}(x); }));
  CHECK(here([] { return nn::embed{5, 8}(x); }));
  CHECK(here([] { return nn::embed{5, 9}.logits(x); }));
  CHECK(here([] { return nn::mlp{9, 16}(x); }));
  CHECK(here([] { return nn::gated_mlp{9, 16}(x); }));
  CHECK(here([] { return nn::attention{9, 3}(x); }));
  CHECK(here([] { return nn::attention{8, 2}(x, array({bool_, false, {4, 4}})); }));
  CHECK(here([] { return models::gpt_block{9, 3}(x); }));
  CHECK(here(
      [] { return models::fixed_gpt<{.vocabulary = 5, .context = 2, .width = 8, .heads = 2, .layers = 1}>()(x); }));
}

TEST_CASE("a mistake inside a composed function is reported where the function was called") {
  CHECK(here([] { return take(x, x); }));
  CHECK(here([] { return take_along_axis(x, ids); }));
  CHECK(here([] { return vmap([](const array& v) { return v; }, {{3}})(x); }));
  CHECK(here([] { return vmap([](const array& v, const array&) { return v; })(x, truth); }));
  CHECK(here([] { return grad([](const array& v) { return v * v; })(rows); }));
  CHECK(here([] { return value_and_grad([](const array& v) { return v * v; })(rows); }));
  CHECK(here([] { return softmax(x, 5); }));
  CHECK(here([] { return log_softmax(x, 5); }));
  CHECK(here([] { return logsumexp(x, {{5}}); }));
  CHECK(here([] { return mean(x, {{5}}); }));
  CHECK(here([] { return var(x, {{5}}); }));
  CHECK(here([] { return softmax_cross_entropy(rows, x); }));
  CHECK(here([] { return softmax_cross_entropy(rows, truth); }));
  CHECK(here([] { return linear_cross_entropy(rows, rows, ids); }));
  CHECK(here([] { return dot_product_attention(rows, rows, rows); }));
  CHECK(here([] { return dot_product_attention(x, x, x, {.bias = rows}); }));
  CHECK(here([] { return einsum("ij,jk->ik", {rows, rows}); }));
  CHECK(here([] { return avg_pool(x, {7}); }));
  CHECK(here([] { return cumsum(x, 5); }));
  CHECK(here([] { return argsort(x, 5); }));
  CHECK(here([] { return stack({x, rows}); }));
  CHECK(here([] { return logaddexp(rows, truth); }));
}
