// tests/compiler/text/loop_text.cpp: loops printed as C++, compiled by the system's compiler, have the library's bits.
#include <tokamax/compiler/text/loop_text.hpp>

#include <tokamax/checkpoint.hpp>
#include <tokamax/data.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/every_loop.hpp"
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
namespace example_02 {
#include "../examples/02_grad.cpp"
}
namespace example_03 {
#include "../examples/03_vmap.cpp"
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
namespace example_12 {
#include "../examples/12_write_a_kernel.cpp"
}
#include "../examples/11_write_an_op.cpp"  // in no namespace, because it specialises a template of the library
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
// What the first lessons compute one op at a time, as programs.
constexpr auto arrays_lesson = [](const array& x) {
  return std::tuple{x * 10 + tk::arange(3), tk::mean(x, {.axis = {-1}, .keepdims = true}),
                    tk::matmul(x, tk::transpose(x)), tk::exp(-x) > 0.1, tk::random::uniform(tk::random::key(0), {4})};
};
constexpr auto grad_lesson = [](const array& p, const array& direction) {
  using example_02::rosenbrock;
  const auto slope = [&](const array& q) { return tk::sum(tk::grad(rosenbrock)(q) * direction); };
  const auto clipped = [](const array& q) { return rosenbrock(example_02::clip_gradient(q)); };
  return std::tuple{rosenbrock(p), tk::jvp(tk::grad(rosenbrock), p, direction), tk::grad(slope)(p),
                    tk::hessian(rosenbrock)(p), tk::grad(clipped)(p)};
};
constexpr auto vmap_lesson = [](const array& w, const array& xs, const array& ys) {
  const auto centred = [](const array& x) { return tk::sum(x - tk::pmean(x, "batch")); };
  const array each = tk::vmap(tk::grad(example_03::loss), {.in_axes = {tk::not_mapped, 0, 0}})(w, xs, ys);
  return std::tuple{each, tk::mean(each, {.axis = {0}}), tk::vmap(centred, {.axis_name = "batch"})(xs)};
};

std::map<std::string, tk::graph> programs() {
  std::map<std::string, tk::graph> all;
  const auto like = [](const tk::shape& s, tk::dtype t = tk::f32) { return array(tk::array_type{t, false, s}); };
  all["00_readme"] = tk::make_graph(example_00::step, example_00::state{}, example_00::points{});
  all["01_arrays"] = tk::make_graph(arrays_lesson, like({2, 3}));
  all["02_grad"] = tk::make_graph(grad_lesson, like({2}), like({2}));
  all["03_vmap"] = tk::make_graph(vmap_lesson, like({3}), like({4, 3}), like({4}));
  all["04_see_the_graph"] = tk::make_graph(example_04::step, example_04::matrix{}, example_04::vector{});
  all["05_linear_regression"] = tk::make_graph(example_05::step, example_05::line{}, example_05::points{});
  all["06_classifier"] = tk::make_graph(example_06::step, example_06::state{}, example_06::batch{});
  all["07_train_gpt"] = tk::make_graph(tk::train::step<example_07::loss, example_07::optimizer>(), example_07::state{},
                                       example_07::batch{});
  all["07_generate"] =
      tk::make_graph([](const example_07::gpt& m, const tk::tensor<tk::i32, 1, 32>& ids) { return m(ids); },
                     example_07::gpt{}, tk::tensor<tk::i32, 1, 32>{});
  all["08_checkpoint"] = tk::make_graph(tk::train::step<example_08::loss, example_08::optimizer>(), example_08::state{},
                                        example_08::batch{});
  all["09_activate"] = tk::make_graph(example_09::activate, like({}, tk::i32), like({6}));
  all["09_products"] = tk::make_graph(example_09::products, like({5}));
  all["09_power"] = tk::make_graph(tk::vmap(tk::grad(example_09::power_16)), like({3}));
  all["10_softplus"] = tk::make_graph(tk::vmap(tk::grad(example_10::softplus)), like({6}));
  all["10_root"] = tk::make_graph(tk::vmap(tk::grad(example_10::root)), like({6}));
  all["10_custom_gradients"] = tk::make_graph(example_10::step, example_10::weights{}, example_10::weights{});
  all["11_write_an_op"] = tk::make_graph(tk::grad(loss), rows{});
  all["11_batch"] = tk::make_graph(tk::vmap([](const array& row) { return smooth_max(log_cosh(row)); }), like({2, 3}));
  all["12_write_a_kernel"] = tk::make_graph(example_12::scaled, example_12::table{});
  for (tk::dtype t : {tk::bool_, tk::i8, tk::i32, tk::u32, tk::bf16, tk::f32})
    all["ops_" + std::string(tk::name(t))] = tk::test::every_loop_of(t);
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
          name + "::" + loop + "(program_" + name + "::place{slots, strides, a.constants, i});\n}\n";
    }
  }
  return s;
}

/// Numbers for the inputs; integers are not negative if they are `tokens`, because those outside the vocabulary have a loss of
/// NaN, whose sign no standard defines.
std::vector<array> inputs_of(const tk::graph& g, bool tokens) {
  std::vector<array> in;
  for (int id : g.inputs) {
    const tk::array_type t = g[id].type;
    array x = tk::test::noise({t.dtype == tk::bool_ || tk::is_floating(t.dtype) ? t.dtype : tk::f32, false, t.shape},
                              static_cast<unsigned>(id + 1));
    in.push_back(tk::is_integer(t.dtype) ? tk::astype((tokens ? abs(x) : x) * 60, t.dtype) : x);
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
  std::vector<tk::implementation_list> others;
  const tk::kernel_table table = tk::kernel_table_of<tk::cpu_tag>();
  for (const tk::op* o : p.tables.ops) {
    const tk::kernel_set found = table.find(*o);
    kernels.push_back(found.run);
    others.push_back(found.others);
  }
  const std::vector<tk::loop_function> loops(static_cast<std::size_t>(p.tables.loops.count()), run_compiled);
  tk::executable code(view(p.tables), loops, kernels, others);
  std::vector<const tk::interpreted_op*> ops(static_cast<std::size_t>(p.tables.instructions.count()));
  code.interpret_with(ops);  // so that loops know which one they are
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
inline void loop_0(const auto& at) {
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
inline void loop_1(const auto& at) {
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
    inputs[name] = inputs_of(g, name == "07_train_gpt");
  }
  const temporary_folder folder;
  const std::string source = folder.write("loops.cpp", source_of(all)).string(),
                    library = (folder.path / "loops.so").string();
  REQUIRE(std::system(compile_command(source, library).c_str()) == 0);
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) FAIL(dlerror());
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
