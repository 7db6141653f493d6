// tests/compiler/parse.cpp: graphs are read from their text, and nothing else is.
#include <tokamax/compiler/parse.hpp>

#include <tokamax/tokamax.hpp>

#include "../bench/support/gpt_step.hpp"
#include "support/catch.hpp"
#include "support/check_op.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

std::string error_of(const std::string& text) {
  try {
    tk::parse_graph(text);
  } catch (const tk::error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a graph prints its attributes and is read back") {
  const std::string text = R"(%in0 : f32[2,3]
%in1 : f32[3]
%2 = dot_general(%in0, %in1, lhs_contracting=[1], rhs_contracting=[0]) : f32[2]
%3 = constant 0.1 : f32[2]
%4 = mul(%2, %3) : f32[2]
%5 = sort(%4)
%6 = get(%5, output=0) : f32[2]
%7 = iota(type=bf16, extents=[2]) : bf16[2]
return %6, %7
)";
  CHECK(tk::to_text(tk::parse_graph(text)) == text);
}

TEST_CASE("graphs with bodies, weak types, dynamic extents and all constants are read back") {
  const tk::array_type t{tk::f32, false, {4, 3}};
  tk::test::check_text(tk::test::trace(
      [](const tk::arrays& in) {
        const auto [sum, all] = tk::scan(
            [&](const array& carry, const array& x) {
              const array again = tk::remat([](const array& v) { return tk::sin(v) * 2; })(carry + x);
              return std::pair{again, again * in[1]};
            },
            tk::zeros({3}), in[0]);
        return tk::arrays{sum, all};
      },
      {t, {tk::f32, false, {}}}));
  const float nan = std::bit_cast<float>(0x7fc00123u);
  tk::test::check_text(tk::test::trace(
      [&](const tk::arrays& in) {
        tk::arrays out;
        for (float v : {0.1f, -0.0f, 1e-45f, 3e38f, INFINITY, -INFINITY, nan}) out.push_back(in[0] * v);
        for (int v : {-2147483647 - 1, 2147483647, 5}) out.push_back(tk::astype(in[0], tk::i32) + v);
        out.push_back(tk::astype(in[0], tk::u32) + array(4294967295u));
        out.push_back(tk::astype(in[0], tk::bf16) * 0.1);
        out.push_back(in[1] + 1);  // of weak type
        return out;
      },
      {t, {tk::f32, true, {}}}));
  tk::graph g;
  const tk::array_type d{tk::f32, false, {tk::mul_extent(3, tk::dyn(1)), 2}};
  const array x(&g, g.input(d), d);
  g.outputs.push_back(tk::transpose(x).id());
  g.outputs.push_back(
      tk::detail::emit_one(g, tk::iota_p, nullptr, 0, tk::pack(tk::iota_attributes{tk::i32, {}, -1, tk::dyn()}), {})
          .id());
  CHECK(tk::to_text(g).find("%in0 : f32[3o,2]\n") == 0);
  tk::test::check_text(g);
}

TEST_CASE("the training step of a GPT with 12 layers is read back") {
  using work = bench::gpt_step<{.vocabulary = 32, .context = 8, .width = 16, .heads = 2, .layers = 12}, 2>;
  const tk::graph g = tk::make_graph(work::step, work::state{}, work::ids{}, work::ids{});
  CHECK(g.count() > 3000);
  tk::test::check_text(g);
}

TEST_CASE("what is no text of a graph is refused, with its place") {
  const auto fails = [](const std::string& text, const std::string& with) {
    INFO(text);
    CHECK(error_of(text) == "graph: found " + with + ")");
  };
  const std::string in = "%in0 : f32[3]\n";
  fails("", "the end, expected \"%\" (line 1, column 1");
  fails(in, "the end, expected \"%\" (line 2, column 1");
  fails("%in1 : f32[3]\nreturn\n", "return, expected %in0 (line 2, column 1");
  fails("%in0 : f33[3]\nreturn\n", "f33, expected a dtype (line 1, column 8");
  fails("%in0 : none[3]\nreturn\n", "none[3], expected the dtype of an array (line 1, column 8");
  fails("%in0 : f32[-3]\nreturn\n", "f32[-3], expected extents from 0 on (line 1, column 8");
  fails(in + "return %1\n", "%1, expected a value above (line 2, column 8");
  fails(in + "return %in0", "the end, expected the end of the line (line 2, column 12");
  fails(in + "return %in0\nmore", "m, expected the end of the text (line 3, column 1");
  fails(in + "%1 = ad(%in0, %in0) : f32[3]\nreturn\n", "ad, expected the name of an op (line 2, column 6");
  fails(in + "%1 = add(%in0) : f32[3]\nreturn\n", "add: operands: 1, expected 2 (line 2, column 6");
  fails(in + "%1 = add(%in0, %in0) : f32[4]\nreturn\n", "f32[4], expected f32[3] (line 2, column 24");
  fails(in + "%1 = add(%in0, %in0,) : f32[3]\nreturn\n",
        "), expected an operand or attribute of add (line 2, column 21");
  fails(in + "%1 = reduce_sum(%in0, axes=[0]) : f32[]\nreturn\n",
        "axes, expected an operand or attribute of reduce_sum (line 2, column 23");
  fails(in + "%1 = reduce_sum(%in0, axis=[0], axis=[0]) : f32[]\nreturn\n",
        "axis, expected an operand or attribute of reduce_sum (line 2, column 33");
  fails(in + "%1 = reduce_sum(%in0, axis=0) : f32[]\nreturn\n", "0, expected \"[\" (line 2, column 28");
  fails(in + "%1 = reduce_sum(%in0, axis=[1]) : f32[]\nreturn\n",
        "reduce_sum: axis: [1], expected f32[3] axes (line 2, column 6");
  fails(in + "%1 = constant x : f32[3]\nreturn\n", "x, expected a number (line 2, column 15");
  fails(in + "%1 = constant 1.5 : i32[3]\nreturn\n", "., expected \":\" (line 2, column 16");
  fails(in + "%1 = sort(%in0)\n%2 = exp(%1) : f32[3]\nreturn\n", "%1, expected one result (line 3, column 10");
  fails(in + "%1 = sort(%in0)\n%2 = get(%1, output=1) : f32[3]\nreturn\n",
        "get: 1, expected one of 1 results (line 3, column 6");
  fails(in + "%1 = remat(%in0, body=body 0)\nreturn\n", "0, expected the number of a body (line 2, column 6");
  fails(in + "%1 = captured(words=[0]) : f32[3]\nreturn\n", "a call, expected captured and a number (line 2, column 6");
  fails(in + "%1 = captured 0 : f32[3]\nreturn\n",
        "0, expected captured data, of which 0 were given (line 2, column 15");
  fails("body 1 {\nreturn\n}\nreturn\n", "1, expected 0 (line 1, column 6");
  fails("body 0 {\nreturn\nreturn\n", "r, expected \"}\" (line 3, column 1");
}
