// tests/compiler/loop_text.cpp: loops printed as C++, compiled by the system's compiler, have the library's bits.
#include <tokamax/compiler/loop_text.hpp>

#include <tokamax/checkpoint.hpp>
#include <tokamax/data.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/functions.hpp"
#include "support/random_program.hpp"
#include "support/temporary_folder.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <map>

namespace tk = tokamax;
using tk::array;

// The functions of the examples; their programs are neither run nor traced by the compiler.
namespace tokamax {
auto late_jit(const auto& f, auto... how) { return ((void)how, ..., jit(f, cpu, at_run_time)); }
}  // namespace tokamax
#pragma GCC diagnostic ignored "-Wreturn-type"
#define main example_main
#define jit late_jit
namespace example_00 {
#include "../examples/00_readme.cpp"
}
namespace example_05 {
#include "../examples/05_linear_regression.cpp"
}
namespace example_06 {
#include "../examples/06_classifier.cpp"
}
namespace example_07 {
#include "../examples/07_train_gpt.cpp"
}
namespace example_08 {
#include "../examples/08_checkpoint.cpp"
}
namespace example_09 {
#include "../examples/09_control_flow.cpp"
}
namespace example_10 {
#include "../examples/10_custom_gradients.cpp"
}
#undef jit
namespace example_04 {
#include "../examples/04_see_the_graph.cpp"
}
#undef main

namespace {

using program = std::unique_ptr<tk::detail::owned_program>;
/// A program whose kernels run the loops that make their operands, as programs known while compiling do.
program make(const tk::graph& g) {
  tk::kernel_table table = tk::kernel_table_of<tk::cpu_tag>();
  table.joins_loops = true;
  return tk::detail::owned_program::make(g, table);
}
template <class F, class... Args>
tk::graph traced(const F& f, const Args&... args) {
  tk::graph g;
  std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>> result;
  tk::trace_into(g, f, result, args...);
  return g;
}

struct elementwise_op {
  const tk::op* kind;
  int operands;
};
const elementwise_op all_ops[] = {{&tk::add_p, 2},
                                  {&tk::sub_p, 2},
                                  {&tk::mul_p, 2},
                                  {&tk::div_p, 2},
                                  {&tk::neg_p, 1},
                                  {&tk::max_p, 2},
                                  {&tk::min_p, 2},
                                  {&tk::abs_p, 1},
                                  {&tk::sign_p, 1},
                                  {&tk::rem_p, 2},
                                  {&tk::quotient_p, 2},
                                  {&tk::exp_p, 1},
                                  {&tk::expm1_p, 1},
                                  {&tk::log_p, 1},
                                  {&tk::log1p_p, 1},
                                  {&tk::sqrt_p, 1},
                                  {&tk::rsqrt_p, 1},
                                  {&tk::tanh_p, 1},
                                  {&tk::logistic_p, 1},
                                  {&tk::sin_p, 1},
                                  {&tk::cos_p, 1},
                                  {&tk::erf_p, 1},
                                  {&tk::floor_p, 1},
                                  {&tk::ceil_p, 1},
                                  {&tk::round_p, 1},
                                  {&tk::pow_p, 2},
                                  {&tk::fma_p, 3},
                                  {&tk::erf_inv_p, 1},
                                  {&tk::normal_cdf_p, 1},
                                  {&tk::logaddexp_p, 2},
                                  {&tk::relu_p, 1},
                                  {&tk::gelu_p, 1},
                                  {&tk::eq_p, 2},
                                  {&tk::ne_p, 2},
                                  {&tk::lt_p, 2},
                                  {&tk::le_p, 2},
                                  {&tk::gt_p, 2},
                                  {&tk::ge_p, 2},
                                  {&tk::logical_and_p, 2},
                                  {&tk::logical_or_p, 2},
                                  {&tk::logical_not_p, 1},
                                  {&tk::bitwise_and_p, 2},
                                  {&tk::bitwise_or_p, 2},
                                  {&tk::bitwise_xor_p, 2},
                                  {&tk::bitwise_not_p, 1},
                                  {&tk::shift_left_p, 2},
                                  {&tk::select_p, 3},
                                  {&tk::shift_right_logical_p, 2},
                                  {&tk::shift_right_arithmetic_p, 2}};
const tk::dtype all_types[] = {tk::bool_, tk::i8, tk::i32, tk::u32, tk::bf16, tk::f32};

/// Every op that a dtype has, on operands that lie densely, transposed and repeated, that count, and that are constants.
tk::graph ops_of(tk::dtype t) {
  return tk::test::trace(
      [&](const tk::arrays& in) {
        const array x = in[0], turned = tk::transpose(in[1]), row = tk::broadcast_to(in[2], {7, 9});
        const array counts = tk::astype(tk::iota(tk::i32, {7, 9}, 1), t);
        tk::arrays results;
        for (const auto& [kind, operands] : all_ops)
          for (const array& second : {turned, row, counts, array(3.0, {t, false, {7, 9}})}) {
            const array c = x == turned;
            const tk::arrays given = kind == &tk::select_p ? tk::arrays{c, x, second} : tk::arrays{x, second, row};
            try {
              results.push_back(tk::bind_all(*kind, given.data(), operands, {}, {})[0]);
            } catch (const tk::error&) {  // not of this dtype
            }
          }
        for (tk::dtype to : all_types) results.push_back(tk::astype(x, to));
        return results;
      },
      {{t, false, {7, 9}}, {t, false, {9, 7}}, {t, false, {1, 9}}});
}

std::map<std::string, tk::graph> programs() {
  std::map<std::string, tk::graph> all;
  all["00_readme"] = traced(example_00::step, example_00::state{}, example_00::points{});
  all["04_see_the_graph"] = traced(example_04::step, example_04::matrix{}, example_04::vector{});
  all["05_linear_regression"] = traced(example_05::step, example_05::line{}, example_05::points{});
  all["06_classifier"] = traced(example_06::step, example_06::state{}, example_06::batch{});
  all["07_train_gpt"] =
      traced(tk::train::step<example_07::loss, example_07::optimizer>(), example_07::state{}, example_07::batch{});
  all["07_generate"] = traced([](const example_07::gpt& m, const tk::tensor<tk::i32, 1, 32>& ids) { return m(ids); },
                              example_07::gpt{}, tk::tensor<tk::i32, 1, 32>{});
  all["08_checkpoint"] =
      traced(tk::train::step<example_08::loss, example_08::optimizer>(), example_08::state{}, example_08::batch{});
  const auto like = [](const tk::shape& s, tk::dtype t = tk::f32) { return array(tk::array_type{t, false, s}); };
  all["09_activate"] = traced(example_09::activate, like({}, tk::i32), like({6}));
  all["09_products"] = traced(example_09::products, like({5}));
  all["09_power"] = traced(tk::vmap(tk::grad(example_09::power_16)), like({3}));
  all["10_softplus"] = traced(tk::vmap(tk::grad(example_10::softplus)), like({6}));
  all["10_root"] = traced(tk::vmap(tk::grad(example_10::root)), like({6}));
  all["10_custom_gradients"] = traced(example_10::step, example_10::weights{}, example_10::weights{});
  for (tk::dtype t : all_types) all["ops_" + std::string(tk::name(t))] = ops_of(t);
  for (unsigned seed = 1; seed <= 5; ++seed)
    all["random_" + std::to_string(seed)] =
        tk::test::trace(tk::test::random_program(seed), {{tk::f32, false, {4, 6}}, {tk::f32, false, {4, 6}}});
  return all;
}

// Loops that were printed and compiled, by the loop of the plan that they are.
std::map<const tk::loop_kernel*, tk::cpu_backend::inner_function> compiled_loops;
void run_compiled(const tk::loop_arguments& a) { tk::cpu_backend::run_loop(a, compiled_loops.at(a.kernel)); }

/// What makes a library of `source`, or null where nobody has said.
std::string compile_command(const std::string& source, const std::string& library) {
#if defined(TOKAMAX_TEST_COMPILER)
  return std::string(TOKAMAX_TEST_COMPILER) + " @" + TOKAMAX_TEST_FLAGS + " -O1 -fwrapv -fPIC -shared -I" +
         TOKAMAX_ROOT + "/tests " + source + " -o " + library;
#else
  (void)source, (void)library;
  return {};
#endif
}

std::string source_of(const std::map<std::string, program>& all) {
  std::string s = "#include \"support/loop_dialect.hpp\"\n";
  for (const auto& [name, p] : all) {
    const tk::plan_view plan = view(p->tables);
    s += "namespace program_" + name + " {\n#include \"support/loop_dialect.hpp\"\n" + tk::loops_to_cpp(plan) + "}\n";
    for (int k = 0; k < plan.loop_count; ++k) {
      const std::string loop = "loop_" + std::to_string(k);
      s +=
          "extern \"C\" void program_" + name + "_" + loop +
          "(std::int64_t n, std::byte* const* slots, const std::int64_t* strides, const tokamax::loop_arguments& a) {\n"
          "  for (std::int64_t i = 0; i < n; ++i) program_" +
          name + "::" + loop + "({slots, strides, a.constants, i});\n}\n";
    }
  }
  return s;
}

std::vector<array> inputs_of(const tk::graph& g) {
  std::vector<array> in;
  for (int id : g.inputs) {
    const tk::array_type t = g[id].type;
    array x = tk::test::noise({t.dtype == tk::bool_ || tk::is_floating(t.dtype) ? t.dtype : tk::f32, false, t.shape},
                              static_cast<unsigned>(id + 1));
    in.push_back(tk::is_integer(t.dtype) ? tk::astype(x * 60, t.dtype) : x);
  }
  return in;
}
std::vector<array> run(const tk::detail::owned_program& p, tk::executable code, const std::vector<array>& inputs) {
  std::vector<std::byte*> in, out;
  for (const array& a : inputs) in.push_back(a.storage()->data);
  std::vector<array> results;
  for (int id : p.lowered.outputs) {
    results.push_back(array::uninitialized(p.lowered[id].type));
    out.push_back(results.back().storage()->data);
  }
  code.run(in.data(), out.data());
  return results;
}
tk::executable with_compiled_loops(const tk::detail::owned_program& p) {
  std::vector<tk::kernel_function> kernels;
  const tk::kernel_table table = tk::kernel_table_of<tk::cpu_tag>();
  for (const tk::op* o : p.tables.ops) kernels.push_back(table.find(*o).run);
  tk::executable code(view(p.tables), {static_cast<std::size_t>(p.tables.loops.count()), run_compiled}, kernels);
  std::vector<tk::tile_function> tiles(static_cast<std::size_t>(p.tables.instructions.count()));
  code.interpret_with(tiles);  // so that loops know which one they are
  return code;
}

}  // namespace

TEST_CASE("a loop prints as a function") {
  const auto p = make(tk::test::trace(
      [](const tk::arrays& x) {
        return tk::arrays{tk::astype(tk::logaddexp(x[0] * 2 + x[1], -x[0]), tk::bf16),
                          tk::transpose(x[0]) + tk::astype(tk::iota(tk::i32, {6, 4}, 0), tk::f32)};
      },
      {{tk::f32, false, {4, 6}}, {tk::f32, false, {1, 6}}}));
  CHECK(tk::loops_to_cpp(view(p->tables)) == R"(template <class V>
auto op_logaddexp(V a, V b) {
  const auto t2 = a - b;
  return select(t2 == t2, select(a > b, a, b) + log1p(exp(-abs(t2))), a + b);
}
inline void loop_0(const place& at) {
  const auto t0 = load<f32, unit>(at, 0);
  const auto t1 = as<f32>(-t0);
  const auto t2 = constant<f32>(at, 0);
  const auto t3 = as<f32>(t0 * t2);
  const auto t4 = load<f32, unit>(at, 1);
  const auto t5 = as<f32>(t3 + t4);
  const auto t6 = as<f32>(op_logaddexp(t5, t1));
  const auto t7 = as<bf16>(t6);
  store<bf16>(at, 2, t7);
}
inline void loop_1(const place& at) {
  const auto t0 = count<i32, none>(at, 0);
  const auto t1 = as<f32>(t0);
  const auto t2 = load<f32, any>(at, 1);
  const auto t3 = as<f32>(t2 + t1);
  store<f32>(at, 2, t3);
}
)");
}

struct shout_fn {
  template <class V>
  static constexpr V apply(V x) {
    const V y = x * x;
    return y * y + V(0.5);
  }
};
struct cheer_fn {
  static constexpr double apply(double x) { return x; }
};
inline constexpr tk::op shout_p = tk::elementwise<shout_fn, 1>({.name = "my op"});
inline constexpr tk::op other_p = tk::elementwise<shout_fn, 1>({.name = "my-op"});
inline constexpr tk::op cheer_p = tk::elementwise<cheer_fn, 1>({.name = "cheer"});

TEST_CASE("ops of users print too, under names of their own") {
  tk::graph g;
  const tk::array_type t{tk::f32, false, {3}};
  const array x(&g, g.input(t), t);
  g.outputs.push_back(
      tk::bind(cheer_p, {tk::bind(shout_p, {x}, {}, {}) - tk::bind(other_p, {x}, {}, {})}, {}, {}).id());
  const tk::plan p = tk::make_plan(g, [](const tk::op&) { return tk::kernel_takes(); }, tk::one_of_each_symbol);
  const std::string s = tk::loops_to_cpp(view(p));
  CHECK(s.find("auto op_my_op(V a) {\n  const auto t1 = a * a;\n  return (t1 * t1) + V(0.5);\n}\n") !=
        std::string::npos);
  CHECK(s.find("auto op_my_op_2(V a)") != std::string::npos);
  CHECK(s.find("op_cheer(t") != std::string::npos);
  CHECK(s.find("auto op_cheer") == std::string::npos);  // the device has it
}

TEST_CASE("printed loops have the bits of the library's") {
  if (compile_command("", "").empty()) {
    WARN("skipped: no compiler for printed loops, expected -DTOKAMAX_TEST_COMPILER and -DTOKAMAX_TEST_FLAGS");
    return;
  }
  std::map<std::string, program> all;
  std::map<std::string, std::vector<array>> inputs;
  for (const auto& [name, g] : programs()) {
    all[name] = make(g);
    inputs[name] = inputs_of(g);
  }
  const temporary_folder folder;
  const std::string source = folder.write("loops.cpp", source_of(all)).string(),
                    library = (folder.path / "loops.so").string();
  REQUIRE(std::system(compile_command(source, library).c_str()) == 0);
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(loaded);
  int loops = 0, joined = 0;
  for (const auto& [name, p] : all) {
    for (const tk::plan_step& s : p->tables.steps) joined += s.produces;
    for (int k = 0; k < p->tables.loops.count(); ++k) {
      void* const loop = dlsym(loaded, ("program_" + name + "_loop_" + std::to_string(k)).c_str());
      REQUIRE(loop);
      compiled_loops[&p->tables.loops[k]] = reinterpret_cast<tk::cpu_backend::inner_function>(loop);
      ++loops;
    }
    INFO(name);
    CHECK(tk::test::bit_difference(run(*p, with_compiled_loops(*p), inputs[name]), run(*p, p->code, inputs[name])) ==
          "");
  }
  CHECK(loops > 40);
  CHECK(joined >= 10);  // loops that a reduction runs, part by part
}
