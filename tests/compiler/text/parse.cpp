// tests/compiler/text/parse.cpp: graphs are read from their text, and nothing else is.
#include <tokamax/compiler/text/parse.hpp>

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

namespace {
enum class mode { slow, fast };
struct part {
  tk::text_attribute name;
  mode how = mode::slow;
};
struct everything {
  tk::axis_name along;
  tk::vec<tk::words> lists;
  tk::text_attribute name;
  mode how = mode::slow;
  double number = 0;
  tk::dot_algorithm algorithm = tk::dot_algorithm::unspecified;
  tk::permutation order;
  tk::array_type type;
  tk::vec<part> parts;
  part one;
  tk::axis_number axis = {};
  tk::dtype format = tk::f32;
  bool flag = false;
};
inline constexpr tk::op everything_p{
    .name = "everything",
    .attributes = tk::schema<everything>,
    .infer = [](const tk::call& c) -> tk::array_type { return c[0].type(); },
};
/// The line of an op with these attributes, without its number and type.
std::string line_of(const everything& e) {
  tk::graph g;
  const array x(&g, g.input({tk::f32, false, {2}}), {tk::f32, false, {2}});
  g.outputs.push_back(tk::bind(everything_p, {x}, e, tk::location{}).id());
  tk::test::check_text(g);
  const std::string text = tk::to_text(g);
  const auto begin = text.find("everything(") + 11;
  return text.substr(begin, text.find(") : f32[2]\nreturn") - begin);
}
std::string error_of_everything(const std::string& attributes) {
  try {
    tk::parse_graph("%in0 : f32[2]\n%1 = everything(%in0, " + attributes + ") : f32[2]\nreturn\n", {&everything_p});
  } catch (const tk::error& e) {
    return e.what();
  }
  return "no error";
}
}  // namespace

TEST_CASE("attributes of every kind are written by name and read back") {
  CHECK(line_of({}) == "%in0");
  everything e;
  e.lists = {tk::words{1, -2}, {}, tk::words{3}};
  e.name = "a \"name\" with \\, a\nnew line, \x01, \x7f and \xc3\xa9";
  e.along = "batch";
  e.how = mode::fast;
  e.algorithm = tk::dot_algorithm::bf16_bf16_f32_x3;
  e.order = tk::axes{1, 0};
  e.type = {tk::bf16, true, {2, tk::dyn()}};
  e.parts = {part{"first", mode::fast}, part{}};
  e.one = {"[], {", mode::slow};
  e.axis = -1;
  e.format = tk::f8e4m3fn;
  e.flag = true;
  CHECK(line_of(e) ==
        "%in0, along=\"batch\", lists=[[1,-2], [], [3]], name=\"a \\\"name\\\" with \\\\, a\\nnew line, \\x01, \\x7f "
        "and \xc3\xa9\", "
        "how=fast, algorithm=bf16_bf16_f32_x3, order=[1,0], type=weak bf16[2,n], "
        "parts=[{name=\"first\", how=fast}, {name=\"\", how=slow}], one={name=\"[], {\", how=slow}, axis=-1, "
        "format=f8e4m3fn, flag=true");
  e = {};
  e.how = static_cast<mode>(77);  // has no name
  CHECK(line_of(e) == "%in0, how=77");
  e = {};
  e.name = std::string_view("\0 in the middle", 15);
  CHECK(line_of(e) == "%in0, name=\"\\x00 in the middle\"");
  for (const double v : {0.1, -0.0, 5e-324, 1.7976931348623157e308, 1.0 / 3, double(INFINITY), double(-INFINITY),
                         std::bit_cast<double>(0x7ff8000000000123), std::bit_cast<double>(0xfff0000000000001)}) {
    e = {};
    e.number = v;
    line_of(e);  // compares bits
  }
}

TEST_CASE("wrong attributes are refused with what was expected") {
  const auto fails = [](const std::string& attributes, const std::string& with) {
    INFO(attributes);
    CHECK(error_of_everything(attributes).starts_with("graph: found " + with));
  };
  CHECK(error_of_everything("how=fast, lists=[], parts=[ { how=fast , name=\"\" } ]") == "no error");
  fails("how=quick", "quick, expected one of slow fast (line 2");
  fails("how=", "), expected one of slow fast");
  fails("algorithm=f32", "f32, expected one of unspecified f32_f32_f32");
  fails("name=batch", "b, expected \"\"\"");
  fails("name=\"batch", "the end of the line, expected \"");
  fails("name=\"\\xg0\"", "g, expected two digits of a byte");
  fails("name=\"\\x1", "1, expected two digits of a byte");
  fails("lists=[1]", "1, expected \"[\"");
  fails("lists=[[1], 2]", "2, expected \"[\"");
  fails("order=[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]", "17, expected at most 16 integers");
  fails("type=f32", "), expected \"[\"");
  fails("parts=[{name=\"\"}]", "}, expected \",\"");
  fails("parts=[{name=\"\", name=\"\"}]", "name, expected a field of");
  fails("one={how=fast, what=1}", "what, expected a field of one");
  fails("flag=1", "1, expected \"false\"");
  fails("number=x", "x, expected a number");
}

TEST_CASE("constants of every dtype have the same bits when they are read back") {
  for (const tk::dtype t :
       {tk::f64, tk::f32, tk::f16, tk::bf16, tk::f8e4m3fn, tk::f8e5m2, tk::i8, tk::u64, tk::bool_}) {
    tk::graph g;
    tk::vec<tk::element_bits> all;
    std::uint64_t state = 1;
    for (int k = 0; k < 3000; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const int bits = t == tk::bool_ ? 1 : tk::bits_of(t);
      std::uint64_t v = bits == 64 ? state ^ state >> 32 : state >> (64 - bits);
      if (tk::is_signed(t) && !tk::is_floating(t)) v = static_cast<std::uint64_t>(static_cast<std::int8_t>(v));
      all.push_back({v});
      const tk::array_type type{t, false, {}};
      g.outputs.push_back(tk::detail::add_constant(g, {v}, type, {}));
    }
    const tk::array_type type{t, false, {3000}};
    g.outputs.push_back(
        tk::detail::add_node(g, tk::dense_p, nullptr, 0, tk::detail::packed_elements(t, all), type, {}));
    INFO(tk::name(t));
    tk::test::check_text(g);
  }
}

TEST_CASE("captured data is written by number and given when the text is read") {
  const array a{1.0f, 2.0f}, b{3.0f, 4.0f, 5.0f};
  const tk::graph g = tk::test::trace(
      [&](const tk::arrays& in) -> tk::arrays {
        const array y = tk::fori_loop(0, 3, [&](const array&, const array& v) { return v * a; }, in[0]);
        return {y + a, tk::sum(b)};
      },
      {{tk::f32, false, {2}}});
  const std::string text = tk::to_text(g);
  CHECK(text.find("= captured 0 : f32[2]\n") != text.npos);
  CHECK(text.find("= captured 1 : f32[3]\n") != text.npos);
  CHECK(text.find("captured 2") == text.npos);
  const tk::arrays captured = tk::captured_arrays(g);
  REQUIRE(captured.count() == 2);
  CHECK(captured[1].type() == b.type());
  tk::test::check_text(g);
  const auto error = [&](const tk::arrays& given) {
    try {
      tk::parse_graph(text, tk::library_ops(), given);
    } catch (const tk::error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  CHECK(error(captured) == "no error");
  CHECK(error({}).starts_with("graph: found 0, expected captured data, of which 0 were given (line "));
  CHECK(error({captured[0]}).starts_with("graph: found 1, expected captured data, of which 1 were given (line "));
  CHECK(error({b, captured[1]}).starts_with("graph: found f32[2], expected f32[3] (line "));
  const array other{10.0f, 20.0f};  // the text with other data is another program
  const tk::graph changed = tk::parse_graph(text, tk::library_ops(), {other, b});
  const array y = tk::cpu.get().execute(changed, {array{1.0f, 1.0f}})[0];
  CHECK(y[0].item<float>() == 1010.0f);
  CHECK(y[1].item<float>() == 8020.0f);
}
