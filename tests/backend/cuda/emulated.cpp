// tests/backend/cuda/emulated.cpp: device text, compiled for the host and run on GPUs that are not there, gives what the CPU gives.
#include <tokamax/backend/cuda.hpp>

#include <tokamax/tokamax.hpp>

#include <cmath>
#include <limits>

#include "support/catch.hpp"
#include "support/every_loop.hpp"
#include "support/fake_cuda.hpp"
#include "support/kernel_sources.hpp"
#include "support/random_program.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::fake_cuda;
using tk::test::fake_gpu;

namespace {

/// The GPU of these tests; null, with a warning, where no compiler is known.
const fake_gpu* emulated_gpu() {
  if (!fake_cuda::compiles_text()) {
    WARN("skipped: no compiler for device text");
    return nullptr;
  }
  fake_cuda::get().now = {.runs_kernels = true};
  static const temporary_folder folder;
  static const auto& gpus = *new tk::cuda_backend::driver(fake_cuda::driver());
  static const auto& compiler = *new tk::cuda_backend::nvrtc(fake_cuda::compiler());
  static const fake_gpu one{new tk::cuda_backend::instance(
      31, tk::kernel_table_of<tk::cuda_tag>(), {gpus, compiler, tk::cuda_backend::code_cache(folder.path)})};
  return &one;
}
array normal(int seed, tk::shape s) { return tk::random::normal(tk::random::key(seed), s); }

/// Are two numbers as near as functions of two libraries are, rounded to a dtype with so many bits?
bool near(double found, double expected, double relative) {
  if (std::isnan(found) || std::isnan(expected)) return std::isnan(found) == std::isnan(expected);
  if (found == expected) return true;
  return std::fabs(found - expected) <= relative * std::max(1.0, std::fabs(expected));
}
double bound_of(tk::dtype t) { return !tk::is_floating(t) ? 0 : t == tk::f64 || t == tk::f32 ? 1e-5 : 2e-2; }
void check_near(const array& found, const array& expected, double relative) {
  REQUIRE(found.type() == expected.type());
  const auto a = tk::astype(tk::device_put(found, tk::cpu), tk::f64).values<double>(),
             b = tk::astype(expected, tk::f64).values<double>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (near(a[i], b[i], relative)) continue;
    CAPTURE(i, a[i], b[i], relative);
    FAIL_CHECK("element " << i << " of " << a.size());
    return;
  }
}
/// Compares a graph on the GPU with the same on the CPU.
void check_graph(const tk::graph& g, const tk::arrays& in) {
  const fake_gpu& gpu = *emulated_gpu();
  tk::arrays there;
  for (const array& x : in) there.push_back(tk::device_put(x, gpu));
  const tk::arrays expected = tk::cpu.get().execute(g, in), found = gpu.get().execute(g, there);
  REQUIRE(found.size() == expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    CAPTURE(k);
    check_near(found[k], expected[k], bound_of(expected[k].dtype()));
  }
}
/// Compares a function of arrays.
template <class F>
void check(F f, const tk::arrays& in) {
  std::vector<tk::array_type> types;
  for (const array& x : in) types.push_back(x.type());
  check_graph(tk::test::trace(f, types), in);
}

}  // namespace

TEST_CASE("loops of all ops have the values of the CPU") {
  if (!emulated_gpu()) return;
  for (const tk::dtype t : {tk::f32, tk::bf16, tk::i32, tk::u8}) {
    CAPTURE(tk::name(t));
    const auto some = [&](int seed, tk::shape s) {
      return tk::astype(tk::abs(normal(seed, s)) * (tk::is_floating(t) ? 0.9f : 4.0f) + 1.0f, t);
    };
    check_graph(tk::test::every_loop_of(t, {tk::bool_, tk::i8, tk::f16, tk::f8e4m3fn, tk::f32}, 1),
                {some(1, {7, 9}), some(2, {9, 7}), some(3, {1, 9})});
  }
}

TEST_CASE("reductions, running sums, sorting and positions have the values of the CPU") {
  if (!emulated_gpu()) return;
  check(
      [](const tk::arrays& a) {
        return tk::arrays{tk::sum(a[0]),       tk::sum(a[0], {{0}}), tk::max(a[0], {{1}}), tk::min(a[0], {{0, 2}}),
                          tk::cumsum(a[0], 1), tk::argmax(a[0], 1),  tk::sort(a[0])};
      },
      {normal(1, {3, 70, 40})});
  check([](const tk::arrays& a) { return tk::arrays{tk::sum(a[0], {{1}}), tk::max(a[0])}; },
        {tk::astype(normal(2, {5, 3000}) * 50.0f, tk::i32)});
}

TEST_CASE("products of all layouts have the values of the CPU") {
  if (!emulated_gpu()) return;
  for (const tk::dtype t : {tk::f32, tk::bf16, tk::i32}) {
    CAPTURE(tk::name(t));
    const array x = tk::astype(normal(1, {2, 19, 33}) * 3.0f, t), y = tk::astype(normal(2, {2, 33, 18}) * 3.0f, t);
    check(
        [](const tk::arrays& a) {
          return tk::arrays{tk::matmul(a[0], a[1]),
                            tk::matmul(tk::transpose(a[1], {0, 2, 1}), tk::transpose(a[0], {0, 2, 1}))};
        },
        {x, y});
  }
}

TEST_CASE("gather, scatter, slices and copies have the values of the CPU") {
  if (!emulated_gpu()) return;
  const array table = normal(1, {10, 6}), indices = array::from<std::int32_t>({3, 9, -1, 3, 0, 20});
  check(
      [](const tk::arrays& a) {
        const array rows = tk::take(a[0], a[1]);
        const array back = tk::grad([&](const array& t) { return tk::sum(tk::take(t, a[1]) * 3.0f); })(a[0]);
        const array at = tk::reshape(tk::slice(a[1], {0}, {1}), {});
        return tk::arrays{rows, back, tk::dynamic_slice(a[0], {at, at}, {4, 2}),
                          tk::concatenate({a[0], tk::reverse(a[0], {0})}, 1), tk::transpose(a[0]) + 1.0f};
      },
      {table, indices});
  // An op without a kernel leaves loops without results, which are no steps.
  const auto written = [](const tk::arrays& a) {
    const auto f = [&](const array& t, const array& u) { return tk::sum(tk::square(tk::scatter(t, a[1], u))); };
    const auto [d_table, d_updates] = tk::grad<0, 1>(f)(a[0], a[2]);
    return tk::arrays{tk::scatter(a[0], a[1], a[2]), d_table, d_updates};
  };
  check(written, {table, indices, normal(3, {6, 6})});
}

TEST_CASE("searches have the values of the CPU, with equal elements, NaN and nothing to search") {
  if (!emulated_gpu()) return;
  const float nan = NAN;
  const array floats = array::from<float>({-100, -2, -2, 0, 1, 1, 1, 7, nan, nan}),
              x = array::from<float>({nan, 1, -3, 0, -0.0f, 8, INFINITY, -INFINITY, -2, 6.5f});
  for (const tk::dtype t : {tk::f32, tk::bf16, tk::f64, tk::f8e4m3fn, tk::i32, tk::u8, tk::bool_}) {
    const bool has_nan = tk::is_floating(t);
    const array sorted = tk::astype(has_nan ? floats : array::from<float>({0, 0, 1, 1, 1}), t),
                numbers = tk::astype(has_nan ? x : array::from<float>({1, 0, 1}), t);
    for (const std::int64_t n : {0, 1, 3, 5, 9, 10})
      for (const bool right : {false, true})
        if (n <= sorted.size()) {
          CAPTURE(tk::name(t), n, right);
          check([&](const tk::arrays& a) { return tk::arrays{tk::search_sorted(a[0], a[1], {right})}; },
                {tk::slice(sorted, {0}, {n}), numbers});
        }
  }
}

TEST_CASE("norms, cross entropy, attention and rotation have the values of the CPU") {
  if (!emulated_gpu()) return;
  const array x = normal(1, {5, 48}) + 0.5f, scale = normal(2, {48}), offset = normal(3, {48});
  check(
      [](const tk::arrays& a) {
        const tk::arrays d = tk::layer_norm_vjp(a[0], a[1], a[0] * 0.3f, {1e-5});
        return tk::arrays{tk::layer_norm(a[0], a[1], a[2]), tk::rms_norm(a[0], a[1]), d[0], d[1], d[2]};
      },
      {x, scale, offset});
  check(
      [](const tk::arrays& a) {
        const auto loss = [&](const array& logits) { return tk::mean(tk::softmax_cross_entropy(logits, a[1])); };
        return tk::arrays{tk::softmax_cross_entropy(a[0], a[1]), tk::grad(loss)(a[0])};
      },
      {normal(4, {6, 300}) * 3.0f, array::from<std::int32_t>({0, 299, 3, 7, 8, 9})});
  const tk::shape heads{2, 24, 2, 16};
  check(
      [](const tk::arrays& a) {
        const tk::arrays y = tk::attention({a[0], a[1], a[2]}, {.causal = true, .scale = 0.25});
        return tk::arrays{y[0], tk::rotary_embedding(a[0], tk::arange(24))};
      },
      {normal(5, heads), normal(6, heads), normal(7, heads)});
}

TEST_CASE("norms keep rows of any length in registers, and cross entropy reads rows that are not aligned") {
  if (!emulated_gpu()) return;
  for (const tk::dtype t : {tk::bf16, tk::f32})
    for (const tk::shape& s : {tk::shape{2, 3, 1}, tk::shape{70, 130}, tk::shape{9, 1001}, tk::shape{3, 4104}}) {
      CAPTURE(tk::name(t), s[-1]);
      const array x = tk::astype(normal(1, s) + 0.5f, t), scale = normal(2, {s[-1]}), ct = tk::astype(normal(4, s), t);
      check(
          [](const tk::arrays& a) {
            const tk::arrays d = tk::layer_norm_vjp(a[0], a[1], a[2], {1e-2}), r = tk::rms_norm_vjp(a[0], a[1], a[2]);
            const array p = tk::softmax(a[0] * 3.0f);
            return tk::arrays{
                tk::layer_norm(a[0], a[1], a[1]), tk::rms_norm(a[0], a[1]), d[0], d[1], d[2], r[0], r[1], p,
                tk::softmax_vjp(p, a[2])};
          },
          {x, scale, ct});
    }
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const tk::dtype t : {tk::bf16, tk::f32})
    for (const std::int64_t classes : {1, 13, 1031, 9001}) {
      CAPTURE(tk::name(t), classes);
      array logits = normal(4, {5, classes}) * 3.0f;
      logits = tk::array::from<float>(logits.values<float>(), logits.shape());
      if (classes > 1) {
        float* const p = logits.mutable_data<float>();
        p[0] = -infinity;
        p[classes + classes - 1] = std::numeric_limits<float>::quiet_NaN();
      }
      const auto last = static_cast<std::int32_t>(classes - 1);
      check(
          [](const tk::arrays& a) {
            const auto loss = [&](const array& l) { return tk::mean(tk::softmax_cross_entropy(l, a[1])); };
            return tk::arrays{tk::softmax_cross_entropy(a[0], a[1]), tk::grad(loss)(a[0])};
          },
          {tk::astype(logits, t), array::from<std::int32_t>({last, last, 0, -1, last / 2})});
    }
}

TEST_CASE("the gradients of queries, keys and values become that of their product") {
  if (!emulated_gpu()) return;
  check(
      [](const tk::arrays& a) {
        const auto loss = [](const array& qkv) {
          const tk::arrays p = tk::split(qkv, 3, -1);
          const auto heads = [](const array& x) { return tk::reshape(x, {2, 24, 2, 16}); };
          return tk::sum(tk::square(tk::attention({heads(p[0]), heads(p[1]), heads(p[2])}, {.scale = 0.25})[0]));
        };
        const array d = tk::grad(loss)(a[0]);
        return tk::arrays{d, tk::sum(d, {{0, 1}})};
      },
      {normal(5, {2, 24, 96})});
}

TEST_CASE("small loops of one kernel run at once") {
  if (!emulated_gpu()) return;
  const auto update = [](const tk::arrays& a) {
    tk::arrays next;
    for (const array& x : a) next.push_back(x - 0.5f * tk::tanh(x) * x);
    return next;
  };
  tk::arrays some;
  std::vector<tk::array_type> types;
  for (int i = 0; i < 7; ++i) some.push_back(normal(i, {i % 2 ? 768 : 40 + i})), types.push_back(some.back().type());
  some.push_back(normal(8, {0}));
  types.push_back(some.back().type());
  const auto p = tk::detail::owned_program::make(tk::test::trace(update, types), tk::kernel_table_of<tk::cuda_tag>());
  REQUIRE(p->tables.steps.count() == 8);
  CHECK(p->tables.steps[0].together == 7);
  fake_cuda::get().drain();
  const int before = fake_cuda::get().calls("cuLaunchKernel");
  check(update, some);
  CHECK(fake_cuda::get().calls("cuLaunchKernel") == before + 1);
}

TEST_CASE("large loops give each thread several vectors") {
  if (!emulated_gpu()) return;
  const array x = normal(1, {2049, 4096}), bias = normal(2, {4096});
  check([](const tk::arrays& a) { return tk::arrays{tk::astype(a[0], tk::bf16), a[0] + a[1]}; }, {x, bias});
}

TEST_CASE("random programs have the values of the CPU, also where loops compute values again") {
  if (!emulated_gpu()) return;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    check(tk::test::random_program(seed), {normal(1, {4, 6}), normal(2, {4, 6})});
  }
}

TEST_CASE("a network is trained as on the CPU") {
  if (!emulated_gpu()) return;
  struct network {
    tk::nn::linear hidden{16, 32}, out{32, 4};
    constexpr array operator()(const array& x) const { return out(tk::gelu(hidden(x))); }  // [n, 16] -> [n, 4]
  };
  const auto loss = [](const network& f, const array& x) { return tk::mean(tk::square(f(x) - 0.5f)); };
  const auto step = [loss](const network& f, const array& x) {
    auto [value, grads] = tk::value_and_grad(loss)(f, x);
    return std::pair{tk::tree_map([](auto p, auto g) { return p - 0.1f * g; }, f, grads), value};
  };
  const array x = normal(7, {64, 16});
  const auto on_cpu = tk::jit(step, tk::cpu, tk::at_run_time);
  const auto on_gpu = tk::jit(step, *emulated_gpu(), tk::at_run_time);
  network a = tk::init<network>(tk::random::key(0)), b = tk::device_put(a, *emulated_gpu());
  for (int i = 0; i < 5; ++i) {
    auto [next_a, loss_a] = on_cpu(a, x);
    auto [next_b, loss_b] = on_gpu(std::move(b), x);
    a = next_a, b = next_b;
    CHECK(loss_b.item() == Approx(loss_a.item()).epsilon(1e-5));
  }
  check_near(b.hidden.kernel, a.hidden.kernel, 1e-5);
}

TEST_CASE("kernels that are written once have the values of the CPU on an emulated GPU") {
  if (!emulated_gpu()) return;
  int seed = 0;
  for (const auto& s : tk::test::sources::all([&](const tk::shape& e) { return normal(++seed, e); })) {
    CAPTURE(s.name);
    check([&](const tk::arrays& a) { return tk::arrays{s.kernel(a)}; }, s.in);
  }
}
