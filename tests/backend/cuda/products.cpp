// tests/backend/cuda/products.cpp: products with what is added to them, as one step: which sums become one, and their values,
// by kernels of our own and by a library that is not there.
#include <tokamax/compiler/passes/sums.hpp>

#include <tokamax/backend/cuda.hpp>
#include <tokamax/backend/cuda/libraries/cublas_lt.hpp>
#include <tokamax/tokamax.hpp>

#include <cmath>
#include <optional>
#include <thread>

#include "support/catch.hpp"
#include "support/emulated_gpu.hpp"
#include "support/functions.hpp"

namespace tk = tokamax;
using tk::array;
using tk::arrays;
using tk::test::fake_cuda;
using namespace tk::cuda_backend;

namespace {

array normal(int seed, tk::shape s, tk::dtype t) { return tk::astype(tk::random::normal(tk::random::key(seed), s), t); }

/// The plan of a function on a GPU: each step as its name with the number of its operands.
template <class F>
std::string steps_of(F f, const arrays& in) {
  std::vector<tk::array_type> types;
  for (const array& x : in) types.push_back(x.type());
  const auto p = tk::detail::owned_program::make(tk::test::trace(f, types), tk::kernel_table_of<tk::cuda_tag>());
  const tk::plan_view v = p->code.plan();
  std::string all;
  for (int i = 0; i < v.step_count; ++i) {
    const tk::plan_step& s = v.steps[i];
    all += all.empty() ? "" : " ";
    all += s.kind == tk::step_kind::loop ? "loop" : std::string(v.ops[s.function]->name);
    all += std::to_string(s.in_count);
  }
  return all;
}

// x [2, 6, 8], w [8, 10], bias [10], residual [2, 6, 10]. As under bf16_compute, elementwise ops compute in f32.
array wide(const array& x) { return tk::astype(x, tk::f32); }
array row(const arrays& a) { return wide(tk::broadcast_to(a[2], {2, 6, 10})); }
array dot(const arrays& a) { return tk::dot_general(a[0], a[1], {.lhs_contracting = {2}, .rhs_contracting = {0}}); }
array with_bias(const arrays& a) { return tk::astype(wide(dot(a)) + row(a), a[0].dtype()); }
array with_both(const arrays& a) { return tk::astype(wide(a[3]) + (wide(dot(a)) + row(a)), a[0].dtype()); }
array with_array(const arrays& a) { return tk::astype(wide(dot(a)) + wide(a[3]), a[0].dtype()); }
arrays operands(tk::dtype t) {
  return {normal(1, {2, 6, 8}, t), normal(2, {8, 10}, t), normal(3, {10}, t), normal(4, {2, 6, 10}, t)};
}
/// The largest difference to the same in f64.
template <class F, class Device>
double error_of(F f, const arrays& in, const Device& device) {
  arrays exact, there;
  for (const array& x : in) exact.push_back(tk::astype(x, tk::f64)), there.push_back(tk::device_put(x, device));
  std::vector<tk::array_type> types;
  for (const array& x : in) types.push_back(x.type());
  const arrays found = device.get().execute(tk::test::trace(f, types), there);
  const array y = dot(exact), z = f == &with_array  ? y + exact[3]
                                  : f == &with_bias ? y + exact[2]
                                                    : y + exact[2] + exact[3];
  const array a = tk::astype(tk::device_put(found[0], tk::cpu), tk::f64);
  double most = 0;
  for (std::size_t i = 0; i < z.values<double>().size(); ++i)
    most = std::max(most, std::fabs(a.values<double>()[i] - z.values<double>()[i]) /
                              std::max(1.0, std::fabs(z.values<double>()[i])));
  return most;
}

// --- a library that is not there: products of columns, as its documentation says
struct fake_product {
  int transposed[2] = {0, 0}, epilogue = 1;
  const void* bias = nullptr;
};
struct fake_layout {
  int type = 0, batches = 1;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0, batch_stride = 0;
};
struct fake_blas {
  bool refuses_bias = false;
  int proposals = 1;
  int products = 0, biased = 0, added = 0;
  std::uint64_t last = 0;  ///< the algorithm of the last product
  int compute = 0;         ///< what the last product that was described is computed in
} blas;

double element(const void* p, int type, std::int64_t i) {
  if (type == cublas_lt::type_f32) return static_cast<const float*>(p)[i];
  return std::bit_cast<float>(static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(p)[i]) << 16);
}
template <class T>
T& as(cublas_lt::object o) {
  return *reinterpret_cast<T*>(o);
}
int fake_multiply(cublas_lt::handle_type, cublas_lt::object o, const void*, const void* a, cublas_lt::object la,
                  const void* b, cublas_lt::object lb, const void* beta, const void* c, cublas_lt::object, void* d,
                  cublas_lt::object ld, const cublas_lt::algorithm* how, void*, std::size_t, stream s) {
  const fake_product p = as<fake_product>(o);
  const fake_layout x = as<fake_layout>(la), y = as<fake_layout>(lb), z = as<fake_layout>(ld);
  const bool adds = *static_cast<const float*>(beta) != 0;
  ++blas.products, blas.biased += p.epilogue == cublas_lt::epilogue_bias, blas.added += adds;
  blas.last = how->data[0];
  fake_cuda::of(s).add([=, algorithm = how->data[0]] {
    if (algorithm != 2) std::this_thread::sleep_for(std::chrono::milliseconds(algorithm == 0 ? 20 : 5));
    const auto depth = static_cast<std::int64_t>(p.transposed[0] ? x.rows : x.columns);
    for (int batch = 0; batch < z.batches; ++batch)
      for (std::int64_t j = 0; j < static_cast<std::int64_t>(z.columns); ++j)
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(z.rows); ++i) {
          float sum = algorithm == 2 && i == 3 ? 1e-3f : 0.0f;  // the fastest one has other bits
          for (std::int64_t k = 0; k < depth; ++k) {
            const std::int64_t at = batch * x.batch_stride + (p.transposed[0] ? k + i * x.leading : i + k * x.leading);
            const std::int64_t bt = batch * y.batch_stride + (p.transposed[1] ? j + k * y.leading : k + j * y.leading);
            sum += static_cast<float>(element(a, x.type, at) * element(b, y.type, bt));
          }
          const std::int64_t to = batch * z.batch_stride + i + j * z.leading;
          if (adds) sum += static_cast<float>(element(c, z.type, to));
          if (p.epilogue == cublas_lt::epilogue_bias) sum += static_cast<float>(element(p.bias, z.type, i));
          if (z.type == cublas_lt::type_f32)
            static_cast<float*>(d)[to] = sum;
          else
            static_cast<std::uint16_t*>(d)[to] = std::bit_cast<std::uint16_t>(tk::bfloat16(sum));
        }
    return 0;
  });
  return 0;
}
cublas_lt fake_functions() {
  cublas_lt f;
  f.version = [] { return std::size_t{130000}; };
  f.create = [](cublas_lt::handle_type* h) { return *h = reinterpret_cast<cublas_lt::handle_type>(&blas), 0; };
  f.create_product = [](cublas_lt::object* o, int compute, int) {
    blas.compute = compute;
    return *o = reinterpret_cast<cublas_lt::object>(new fake_product), 0;
  };
  f.set_product = [](cublas_lt::object o, int which, const void* v, std::size_t) {
    fake_product& p = as<fake_product>(o);
    if (which == cublas_lt::transpose_a) p.transposed[0] = *static_cast<const int*>(v);
    if (which == cublas_lt::transpose_b) p.transposed[1] = *static_cast<const int*>(v);
    if (which == cublas_lt::epilogue) p.epilogue = *static_cast<const int*>(v);
    if (which == cublas_lt::bias_pointer) p.bias = *static_cast<const void* const*>(v);
    return 0;
  };
  f.create_layout = [](cublas_lt::object* o, int type, std::uint64_t rows, std::uint64_t columns,
                       std::int64_t leading) {
    return *o = reinterpret_cast<cublas_lt::object>(new fake_layout{type, 1, rows, columns, leading, 0}), 0;
  };
  f.set_layout = [](cublas_lt::object o, int which, const void* v, std::size_t) {
    if (which == cublas_lt::batch_count) as<fake_layout>(o).batches = *static_cast<const int*>(v);
    if (which == cublas_lt::batch_stride) as<fake_layout>(o).batch_stride = *static_cast<const std::int64_t*>(v);
    return 0;
  };
  f.create_preference = [](cublas_lt::object* o) { return *o = nullptr, 0; };
  f.set_preference = [](cublas_lt::object, int, const void*, std::size_t) { return 0; };
  f.choose = [](cublas_lt::handle_type, cublas_lt::object o, cublas_lt::object, cublas_lt::object, cublas_lt::object,
                cublas_lt::object, cublas_lt::object, int most, cublas_lt::choice* best, int* found) {
    if (blas.refuses_bias && as<fake_product>(o).epilogue != 1) return 15;
    for (*found = 0; *found < std::min(most, blas.proposals); ++*found)
      best[*found] = {{{static_cast<std::uint64_t>(*found)}}, 64, 0, 1, {}};
    return 0;
  };
  f.multiply = fake_multiply;
  return f;
}

const cublas_lt& functions() {
  static const cublas_lt all = fake_functions();
  return all;
}
/// A GPU with kernels, and with the library.
std::optional<tk::test::fake_gpu> gpu_with_library(int number) {
  if (!tk::test::emulated_gpu(28)) return {};
  static const temporary_folder folder;
  static const auto& gpus = *new driver(fake_cuda::driver());
  static const auto& compiler = *new nvrtc(fake_cuda::compiler());
  const tk::test::fake_gpu gpu{
      new instance(number, tk::kernel_table_of<tk::cuda_tag>(), {gpus, compiler, code_cache(folder.path)})};
  products_of(*gpu.one, functions());
  return gpu;
}

}  // namespace

TEST_CASE("sums of a product, a row and an array are one step") {
  for (const tk::dtype t : {tk::bf16, tk::f32}) {
    const arrays in = operands(t);
    const auto steps = [&](auto f) { return steps_of([f](const arrays& a) { return arrays{f(a)}; }, in); };
    CHECK(steps(with_bias) == "dot_general3");
    CHECK(steps(with_array) == "dot_general3");
    CHECK(steps(with_both) == "dot_general4");
    CHECK(steps([](const arrays& a) { return tk::tanh(with_bias(a)); }) == "dot_general3 loop1");
    CHECK(steps(dot) == "dot_general2");
  }
}

TEST_CASE("other sums stay loops") {
  const arrays in = operands(tk::bf16);
  const auto steps = [&](auto f) { return steps_of([f](const arrays& a) { return f(a); }, in); };
  // The product or the sum in f32 is read by others too.
  CHECK(steps([](const arrays& a) { return arrays{with_bias(a), dot(a)}; }) == "dot_general2 loop2");
  CHECK(steps([](const arrays& a) {
          const array s = wide(dot(a)) + row(a);
          return arrays{tk::astype(s * tk::tanh(s), tk::bf16)};
        }) == "dot_general2 loop2");
  // Terms of other kinds, and too many.
  CHECK(steps([](const arrays& a) { return arrays{dot(a) + 2.0f}; }) == "dot_general2 loop1");
  CHECK(steps([](const arrays& a) { return arrays{with_both(a) + a[2]}; }) == "dot_general4 loop2");
  CHECK(steps([](const arrays& a) { return arrays{dot(a) + tk::tanh(a[3])}; }) == "dot_general2 loop2");
  CHECK(steps([](const arrays& a) {
          return arrays{tk::astype(wide(dot(a)) + 1.5f * row(a), tk::bf16)};
        }).starts_with("dot_general2"));
}

TEST_CASE("sums of products have the values of f64, rounded once") {
  const auto* const gpu = tk::test::emulated_gpu(28);
  if (!gpu) return;
  for (const tk::dtype t : {tk::bf16, tk::f32}) {
    const arrays in = operands(t);
    const double bound = t == tk::f32 ? 2e-6 : 3.95e-3;  // half of the distance of two numbers
    for (const auto f : {with_bias, with_both, with_array}) CHECK(error_of(f, in, *gpu) < bound);
  }
  // A bias of two axes, and a product in batches.
  const arrays in{normal(1, {2, 3, 4}, tk::f32), normal(2, {4, 2, 5}, tk::f32), normal(3, {2, 5}, tk::f32)};
  const auto heads = [](const arrays& a) {
    return arrays{tk::dot_general(a[0], a[1], {.lhs_contracting = {2}, .rhs_contracting = {0}}) + a[2]};
  };
  CHECK(steps_of(heads, in) == "dot_general3");
  const array found = tk::jit([&](const array& a, const array& b, const array& c) { return heads({a, b, c})[0]; }, *gpu,
                              tk::at_run_time)(in[0], in[1], in[2]);
  CHECK(tk::max(tk::abs(tk::device_put(found, tk::cpu) - heads(in)[0])).item() < 1e-5);
}

TEST_CASE("the library adds what it can") {
  const auto gpu = gpu_with_library(27);
  if (!gpu) return;
  for (const tk::dtype t : {tk::bf16, tk::f32}) {
    const double bound = t == tk::f32 ? 2e-6 : 3.95e-3;
    const arrays in = operands(t);
    blas = {};
    CHECK(error_of(with_bias, in, *gpu) < bound);
    CHECK(blas.biased == 1);
    CHECK(error_of(with_array, in, *gpu) < bound);
    CHECK(blas.added == 1);
    CHECK(error_of(with_both, in, *gpu) < bound);
    CHECK((blas.products == 3 && blas.biased == 2 && blas.added == 2));
  }
}

TEST_CASE("what the library refuses is added to the sums of its product") {
  const auto gpu = gpu_with_library(26);
  if (!gpu) return;
  blas = {.refuses_bias = true};
  CHECK(error_of(with_both, operands(tk::bf16), *gpu) < 3.95e-3);
  CHECK((blas.products == 1 && blas.biased == 0 && blas.added == 0));
}

TEST_CASE("f32 is multiplied as TF32 only if the program asks for it") {
  const auto gpu = gpu_with_library(21);
  if (!gpu) return;
  std::int64_t size = 4;  // of a product that the library does not know yet
  const auto compute = [&](auto f, tk::dtype t) {
    blas = {};
    size += 4;
    const array x = tk::device_put(normal(1, {size, size}, t), *gpu),
                y = tk::device_put(normal(2, {size, size}, t), *gpu);
    tk::block_until_ready(tk::jit(f, *gpu, tk::at_run_time)(x, y));
    CHECK(blas.products > 0);
    return blas.compute;
  };
  const auto product = [](const array& x, const array& y) { return tk::matmul(x, y); };
  const auto with_sum = [](const array& x, const array& y) { return tk::matmul(x, y) + y; };
  const auto exact = [](const array& x, const array& y) {
    return tk::matmul(x, y, {.algorithm = tk::dot_algorithm::f32_f32_f32});
  };
  const auto gradient = [](const array& x, const array& y) {
    return tk::grad([&](const array& v) { return tk::sum(tk::matmul(v, y)); })(x);
  };
  CHECK(compute(product, tk::f32) == cublas_lt::compute_f32);
  CHECK(compute(gradient, tk::f32) == cublas_lt::compute_f32);
  CHECK(compute(tk::with_precision<tk::bf16_x6_products>(product), tk::f32) == cublas_lt::compute_f32);
  CHECK(compute(tk::with_precision<tk::tf32_products>(product), tk::f32) == cublas_lt::compute_tf32);
  CHECK(compute(tk::with_precision<tk::tf32_products>(with_sum), tk::f32) == cublas_lt::compute_tf32);
  CHECK(compute(tk::with_precision<tk::tf32_products>(gradient), tk::f32) == cublas_lt::compute_tf32);
  CHECK(compute(tk::with_precision<tk::tf32_products>(exact), tk::f32) == cublas_lt::compute_f32);
  CHECK(compute(tk::with_precision<tk::tf32_products>(product), tk::bf16) == cublas_lt::compute_f32);
}

TEST_CASE("the fastest proposal with the bits of the first one is taken and kept on disk") {
  const auto gpu = gpu_with_library(25);
  if (!gpu) return;
  blas = {.proposals = 3};
  instance& one = *gpu->one;
  const array x = tk::device_put(normal(1, {8, 8}, tk::f32), *gpu),
              y = tk::device_put(normal(2, {8, 8}, tk::f32), *gpu);
  library_product p;
  p.a = p.b = p.c = {cublas_lt::type_f32, 8, 8, 8, 64, 256};
  const tk::handle out = one.allocate(256);
  const product_places at{x.storage()->data, y.storage()->data, nullptr, nullptr, out->data};
  const auto taken = [&](const cublas_lt& functions, std::int64_t least) {
    product_library library(functions, least);
    const int before = blas.products;
    CHECK(library.multiply(one, p, at));
    const int first = blas.products - before;
    CHECK(library.multiply(one, p, at));
    CHECK(blas.products - before == first + 1);
    one.synchronize();
    return std::pair{blas.last, first};
  };
  CHECK(taken(functions(), 8 * 8 * 8 + 1) == std::pair{std::uint64_t{0}, 1});  // too small to be measured
  CHECK(taken(functions(), 0) == std::pair{std::uint64_t{1}, 1 + 3 * 4 + 1});
  CHECK(taken(functions(), 0) == std::pair{std::uint64_t{1}, 1});  // in the next process
  p.adds_matrix = true;  // another product, for which there is no memory to compare
  fake_cuda::get().now.memory = fake_cuda::get().used_bytes() + 200;
  product_places other = at;
  other.matrix = x.storage()->data;
  product_library library(functions(), 0);
  CHECK(library.multiply(one, p, other));
  CHECK(blas.last == 0);
  one.synchronize();
  fake_cuda::get().now.memory = std::size_t{1} << 30;
}
