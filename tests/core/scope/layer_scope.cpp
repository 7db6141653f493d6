// tests/core/scope/layer_scope.cpp: nodes have the paths of their layers, in every kind of trace.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/scope/layer_scope.hpp>

#include <tokamax/backend/far.hpp>
#include <tokamax/compiler/text/print.hpp>
#include <tokamax/models/gpt.hpp>
#include <tokamax/nn.hpp>
#include <tokamax/profile/timeline.hpp>
#include <tokamax/tokamax.hpp>
#include <tokamax/train/step.hpp>

#include <map>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

struct block {
  tk::nn::linear up{3, 4}, down{4, 3};
  constexpr array operator()(const array& x) const {
    const tk::layer_scope scope(*this, x);
    return x + down(tk::tanh(up(x)));
  }
};
struct network {
  std::array<block, 2> blocks;
  tk::nn::linear out{3, 2};
  constexpr array operator()(array x) const {
    for (const block& b : blocks) x = b(x);
    return out(x);
  }
};
using batch = tk::tensor<tk::f32, 5, 3>;
constexpr auto loss = [](const network& f, const batch& x) { return tk::sum(f(x)); };
constexpr auto grads = [](const network& f, const batch& x) { return tk::grad(loss)(f, x); };

/// The names of the nodes of an op, in order, joined by spaces.
std::string names_of(const tk::graph& g, std::string_view op) {
  std::string all;
  bool first = true;
  const std::vector<char> live = [&] {
    const tk::vec<char> l = tk::live_nodes(g);
    return std::vector<char>(l.begin(), l.end());
  }();
  for (int i = 0; i < g.count(); ++i)
    if (live[static_cast<std::size_t>(i)] && g[i].op && g[i].op->name == op)
      all.append(std::exchange(first, false) ? "" : " ").append(g.name_of(g[i]).view());
  return all;
}
constexpr const char* products = "blocks[0].up blocks[0].down blocks[1].up blocks[1].down out";

}  // namespace

TEST_CASE("products have the paths of their layers, and other nodes those of the layers around") {
  const tk::graph g = tk::make_graph(loss, network{}, batch{});
  CHECK(names_of(g, "dot_general") == products);
  CHECK(names_of(g, "tanh") == "blocks[0] blocks[1]");
  CHECK_THAT(tk::to_text(g), contains("%in0 : f32[3,4] in blocks[0].up.kernel\n"));
  CHECK_THAT(tk::to_dot(g), contains("dot_general\\nf32[5,4]\\nblocks[0].up\""));
}

TEST_CASE("gradients, tangents, batches and remat keep the paths") {
  const std::string backward = names_of(tk::make_graph(grads, network{}, batch{}), "dot_general");
  for (const char* name : {"blocks[0].up", "blocks[0].down", "blocks[1].up", "blocks[1].down", "out"})
    CHECK_THAT(backward, contains(name));
  CHECK(backward.find("  ") == std::string::npos);  // none is without a name
  const auto pushed = [](const network& f, const batch& x) {
    return tk::jvp(f, std::tuple(array(x)), std::tuple(array(x)));
  };
  CHECK_THAT(names_of(tk::make_graph(pushed, network{}, batch{}), "dot_general"),
             contains("blocks[1].down") && !contains("  "));
  const auto mapped = [](const network& f, const batch& x) { return tk::vmap(f)(array(x)); };
  CHECK(names_of(tk::make_graph(mapped, network{}, batch{}), "dot_general") == products);
  const auto ensemble = [](const std::array<network, 1>& fs, const batch& x) {
    return tk::vmap([&](const network& f) { return f(x); })(
        tk::tree_map([](const array& a) { return tk::expand_dims(a, {0}); }, fs[0]));
  };
  CHECK_THAT(names_of(tk::make_graph(ensemble, std::array<network, 1>{}, batch{}), "dot_general"),
             contains("[0].blocks[0].up") && contains("[0].out") && !contains("  "));
  const auto again = [](const network& f, const batch& x) {
    return tk::grad([&](const network& n) { return tk::sum(tk::remat([&](const array& y) { return n(y); })(x)); })(f);
  };
  const tk::graph g = tk::make_graph(again, network{}, batch{});
  std::string all = names_of(g, "dot_general");
  for (const tk::graph& body : g.bodies) all += " " + names_of(body, "dot_general");
  CHECK_THAT(all, contains("blocks[1].up") && !contains("blocks[1].blocks"));
}

TEST_CASE("paths follow parameters through bodies, conversions and sums") {
  const auto loop = [](const network& f, const batch& x) {
    return tk::fori_loop(0, 3, [&](const array&, const array& y) { return f.blocks[1](y); }, array(x));
  };
  const tk::graph g = tk::make_graph(loop, network{}, batch{});
  std::string in_bodies;
  for (const tk::graph& body : g.bodies) in_bodies += names_of(body, "dot_general");
  CHECK(in_bodies == "blocks[1].up blocks[1].down");
  const auto changed = [](const network& f, const batch& x) {
    const network narrow = tk::tree_map([](const array& a) { return tk::convert_element_type(a * 2, tk::bf16); }, f);
    return narrow(tk::convert_element_type(array(x), tk::bf16));
  };
  CHECK(names_of(tk::make_graph(changed, network{}, batch{}), "dot_general") == products);
}

TEST_CASE("users' scopes stand around and inside of layers") {
  const auto two = [](const network& f, const batch& x) {
    const tk::named_scope teacher("teacher", x);
    const array y = f(array(x));
    const tk::named_scope rest("rest", y);
    return tk::exp(y);
  };
  const tk::graph g = tk::make_graph(two, network{}, batch{});
  CHECK_THAT(names_of(g, "dot_general"), contains("teacher.blocks[0].up") && contains("teacher.out"));
  CHECK(names_of(g, "exp") == "teacher.rest");
}

TEST_CASE("arrays that are constants of the program name nothing, and eager calls work as before") {
  const network f = tk::init(network{}, tk::random::key(1));
  const batch x = tk::ones({5, 3});
  const auto captured = [f](const batch& y) { return f(array(y)); };
  CHECK(names_of(tk::make_graph(captured, x), "tanh") == " ");
  CHECK(tk::jit(captured, tk::cpu)(x).values<float>()[0] == f(array(x)).values<float>()[0]);
}

namespace {
constexpr tk::models::gpt_config size{.vocabulary = 16, .context = 8, .width = 16, .heads = 2, .layers = 2};
using fixed = tk::models::fixed_gpt<size>;
struct texts {
  tk::tensor<tk::i32, 2, size.context> inputs, targets;
};
constexpr auto gpt_loss = [](const auto& model, const texts& b) {
  return tk::mean(tk::softmax_cross_entropy(model(b.inputs), b.targets));
};
constexpr auto optimizer = tk::optim::adamw({.learning_rate = 1e-2});
constexpr auto step = tk::train::step<gpt_loss, optimizer>();

/// How many products of a recorded step belong to each layer.
std::map<std::string, int> products_of_step(const auto& model, const auto& run) {
  const texts b{tk::zeros({2, size.context}, tk::i32), tk::ones({2, size.context}, tk::i32)};
  tk::train::state<std::remove_cvref_t<decltype(model)>, optimizer> s{model, optimizer.init(model)};
  const tk::profile::timeline recording;
  const auto result = run(std::move(s), b);
  tk::block_until_ready(result);
  std::map<std::string, int> count;
  for (const auto& e : recording.events())
    if (e.name.starts_with("dot_general")) ++count[e.scope];
  return count;
}
}  // namespace

TEST_CASE("each product of a GPT's step is recorded with the path of its layer, on every device and in both times") {
  std::map<std::string, int> expected{{"model.token", 2}};
  for (const char* block : {"model.blocks[0]", "model.blocks[1]"})
    for (const char* layer : {".attend.qkv", ".attend.projection", ".feed_forward.up", ".feed_forward.down"})
      expected[std::string(block) + layer] = 3;  // forward, and one for each operand backward
  expected["model.token"] = 3;
  const auto model = tk::init(fixed{}, tk::random::key(2));
  CHECK(products_of_step(model, tk::jit(step, tk::cpu, tk::while_compiling)) == expected);
  const auto late = tk::init(tk::models::make_gpt(size), tk::random::key(2));
  CHECK(products_of_step(late, tk::jit(step, tk::cpu)) == expected);
  CHECK(products_of_step(late, tk::jit(step, tk::far_device(1))) == expected);
}

TEST_CASE("a shape that does not fit is refused with the path of the layer, and the line") {
  struct wrong {
    std::vector<tk::nn::linear> layers = [] {  // g++ 13 fails on a list as the default of a field
      return std::vector<tk::nn::linear>{{3, 4}, {5, 2}};
    }();
    array operator()(array x) const {
      for (const tk::nn::linear& l : layers) x = l(x);
      return x;
    }
  };
  const auto apply = [](const wrong& f, const array& x) { return f(x); };
  const wrong f = tk::init<wrong>(tk::random::key(0));
  CHECK_THROWS_WITH(tk::jit(apply, tk::cpu)(f, tk::ones({2, 3})),
                    contains("matmul: inner extents") && contains("(layers[1], ") && contains("layer_scope.cpp:"));
  CHECK_THROWS_WITH(f(tk::ones({2, 3})), contains("matmul: inner extents") && !contains("layers[1]"));
}
