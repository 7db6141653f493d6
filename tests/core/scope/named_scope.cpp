// tests/core/scope/named_scope.cpp: nodes keep the names of the parts of a program.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/scope/named_scope.hpp>

#include <tokamax/base/system/file.hpp>
#include <tokamax/checkpoint/json.hpp>
#include <tokamax/compiler/text/parse.hpp>
#include <tokamax/compiler/text/print.hpp>
#include <tokamax/profile/timeline.hpp>
#include <tokamax/runtime/describe.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using tk::array;
using tk::named_scope;

namespace {

using vector = tk::tensor<tk::f32, 3>;

constexpr auto layers = [](const vector& given) {
  array x = given;
  for (int i = 0; i < 2; ++i) {
    const named_scope block(tk::message("blocks[") << i << "]", x);
    {
      const named_scope scope("mlp", x);
      x = tk::tanh(x);
    }
    x = x * 2;
  }
  return x + 1;
};
constexpr auto loss = [](const vector& x) { return tk::sum(layers(x)); };
constexpr auto grad = [](const vector& x) { return tk::grad(loss)(x); };

tk::graph traced(const auto& f) { return tk::make_graph(f, vector{}); }

}  // namespace

TEST_CASE("nodes have the name of the scope that they were made in") {
  const std::string text = tk::to_text(traced(layers));
  CHECK_THAT(text, contains("tanh(%in0) : f32[3] in blocks[0].mlp\n"));
  CHECK_THAT(text, contains(": f32[3] in blocks[0]\n") && contains(": f32[3] in blocks[1].mlp\n"));
  CHECK_THAT(text, contains("add(%"));
  CHECK(text.find("add(") > text.rfind(" in "));
}

TEST_CASE("names do not keep equal nodes apart, and change no result") {
  const auto twice = [](const vector& x) {
    array a, b;
    {
      const named_scope scope("a", x);
      a = tk::exp(x);
    }
    {
      const named_scope scope("b", x);
      b = tk::exp(x);
    }
    return a + b;
  };
  const std::string text = tk::to_text(traced(twice));
  CHECK(text.find("exp") == text.rfind("exp"));
  CHECK_THAT(text, contains("in a\n"));
  const vector x = array::from<float>({0, 1, 2});
  CHECK(layers(x).values<float>()[2] == tk::jit(layers, tk::cpu)(x).values<float>()[2]);
}

TEST_CASE("gradients have the names of what they belong to") {
  const std::string text = tk::to_text(traced(grad));
  CHECK(text.rfind("in blocks[0].mlp") > text.find("in blocks[1].mlp"));
}

TEST_CASE("bodies have the names around them, and inlined graphs the names around and inside") {
  const auto deep = [](const vector& x) {
    const named_scope outer("outer", x);
    const auto f = [](const array& y) {
      const named_scope inner("inner", y);
      return tk::sin(y);
    };
    const auto step = [&](const array& c, const array& y) { return std::pair{f(c), y}; };
    return tk::scan(step, array(x), tk::stop_gradient(x)).first + tk::remat(f)(x);
  };
  const std::string text = tk::to_text(traced(deep));
  CHECK_THAT(text, contains("sin(%in0) : f32[3] in outer.inner"));
  CHECK_THAT(text, !contains("outer.outer"));
}

TEST_CASE("names are read back, and those of static programs are printed") {
  const tk::graph g = traced(layers);
  const std::string text = tk::to_text(g);
  tk::vec<const tk::op*> ops;
  for (const tk::node& n : g.nodes)
    if (n.op) ops.push_back(n.op);
  CHECK(tk::to_text(tk::parse_graph(text, ops)) == text);
  const auto run = tk::jit(layers, tk::cpu);
  CHECK_THAT(tk::describe<decltype(run)::for_types<vector>>(), contains("tanh(%in0) : f32[3] in blocks[0].mlp\n"));
}

TEST_CASE("plans print names, and profiles know them") {
  const auto static_program = tk::jit(layers, tk::cpu, tk::while_compiling);
  CHECK_THAT(tk::describe<decltype(static_program)::for_types<vector>>(), contains("output 0 in blocks"));
  const auto scores = [](const array& x) {
    const named_scope scope("attend", x);
    const array y = tk::matmul(x, x);
    return tk::scan([](const array& c, const array& row) { return std::pair{tk::sin(c) + row, c}; }, y[0], y).first;
  };
  const auto late = tk::jit(scores, tk::cpu, tk::at_run_time);
  const vector x = array::from<float>({0, 1, 2});
  const array square = tk::ones({3, 3});
  const tk::profile::timeline recording;
  static_program(x);
  REQUIRE(!recording.events().empty());
  for (const auto& e : recording.events()) CHECK_THAT(e.scope, contains("blocks"));
  const std::size_t before = recording.events().size();
  late(square);
  REQUIRE(recording.events().size() > before + 3);
  for (std::size_t i = before; i < recording.events().size(); ++i)
    if (const auto& e = recording.events()[i]; e.name != "loop [3]")  // copies what comes in
      CHECK(e.scope == "attend");
}

TEST_CASE("long names and names with any characters are printed, read back and recorded") {
  const std::string path(300, 'p'), strange = "say \"hi\"\\\nthere\t\x01\xC3\xA4\xFF";
  const auto f = [&](const array& x) {
    array y;
    {
      const named_scope scope(path, x);
      y = tk::sin(x);
    }
    const named_scope scope(strange, x);
    return tk::matmul(tk::cos(y), y);
  };
  const array x = tk::ones({2, 2});
  const tk::graph g = tk::make_graph(f, x);
  const std::string text = tk::to_text(g);
  CHECK_THAT(text, contains(" in " + path + "\n") && contains(R"( in "say \"hi\"\\\nthere)"));
  tk::vec<const tk::op*> ops;
  for (const tk::node& n : g.nodes)
    if (n.op) ops.push_back(n.op);
  const tk::graph again = tk::parse_graph(text, ops);
  CHECK(tk::to_text(again) == text);
  CHECK(again.name_of(again[again.count() - 1]).view() == strange);
  const tk::profile::timeline recording;
  tk::jit(f, tk::cpu)(x);
  std::string scopes;
  for (const auto& e : recording.events()) scopes += e.scope + "|";
  CHECK_THAT(scopes, contains(path) && contains(strange));
  const temporary_folder folder;
  tk::profile::write_trace(recording.events(), folder.path / "trace.json");
  const std::string json = tk::read_file(folder.path / "trace.json");
  CHECK_NOTHROW(tk::checkpoint::check_json(json, "trace"));
  CHECK_THAT(json, contains(path) && contains(R"(say \"hi\"\\\u000athere\u0009\u0001)"));
}

TEST_CASE("decisions are printed beside the name, and read back") {
  const auto f = [](const array& x) {
    const named_scope scope("attend", x);
    const tk::use_implementation plain("dot_general", {"compose", "kernel"}, x);
    return tk::matmul(x, x);
  };
  const tk::graph g = tk::make_graph(f, tk::ones({2, 2}));
  const std::string text = tk::to_text(g);
  CHECK_THAT(text, contains(" in attend using dot_general=compose|kernel\n"));
  tk::vec<const tk::op*> ops;
  for (const tk::node& n : g.nodes)
    if (n.op) ops.push_back(n.op);
  CHECK(tk::to_text(tk::parse_graph(text, ops)) == text);
}
