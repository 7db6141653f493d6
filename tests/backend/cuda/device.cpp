// tests/backend/cuda/device.cpp: programs on a GPU give what the CPU gives. Without a GPU they say by name what is missing.
#include <tokamax/backend/cuda.hpp>
#include <tokamax/backend/cuda/libraries/cublas_lt.hpp>
#include <tokamax/backend/cuda/libraries/cudnn.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/kernel_sources.hpp"

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

namespace tk = tokamax;
using tk::array;

namespace {

bool found_gpu() {
  if (tk::cuda.is_available()) return true;
  WARN("skipped: " << tk::cuda.missing());
  return false;
}
double largest_difference(const array& a, const array& b) {
  double most = 0;
  REQUIRE(a.shape() == b.shape());
  const auto x = a.values<float>(), y = b.values<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return std::numeric_limits<double>::infinity();
    most = std::max(most, std::fabs(double{x[i]} - double{y[i]}));
  }
  return most;
}

using points = tk::tensor<tk::f32, 64, 16>;
struct network {
  tk::nn::linear hidden{16, 32}, out{32, 4};
  constexpr array operator()(const array& x) const { return out(tk::tanh(hidden(x))); }  // [n, 16] -> [n, 4]
};
constexpr auto loss = [](const network& f, const points& x) { return tk::mean(tk::square(f(x) - 0.5f)); };
constexpr auto step = [](const network& f, const points& x) {
  auto [value, grads] = tk::value_and_grad(loss)(f, x);
  return std::pair{tk::tree_map([](auto p, auto g) { return p - 0.1f * g; }, f, grads), value};
};

}  // namespace

TEST_CASE("without a GPU the error names what is missing") {
  const tk::cuda_device none(1000);
  CHECK(!none.is_available());
  CHECK_THROWS_AS(none.get(), tk::error);
  CHECK(!none.missing().empty());
}

TEST_CASE("libraries of kernels that are missing are named") {
  using namespace tk::cuda_backend;
  CHECK(cublas_lt{.absent_library = "libcublasLt.so.13 (no such file)"}.missing() ==
        "no libcublasLt.so.13 (no such file)");
  CHECK(cublas_lt().missing() == "a cuBLASLt without cublasLtGetVersion");
  CHECK(cudnn{.absent_library = "libcudnn.so.9 (no such file)"}.missing() == "no libcudnn.so.9 (no such file)");
  CHECK(cudnn().missing() == "a cuDNN without cudnnGetVersion");
  const std::string slow = tk::cuda.missing_libraries();
  CHECK((slow.find("plain kernels") == std::string::npos) == cublas_lt::loaded().is_complete());
  CHECK((slow.find("its parts") == std::string::npos) == cudnn::loaded().is_complete());
}

TEST_CASE("data goes to a GPU and back, and ops run where it lies") {
  if (!found_gpu()) return;
  const array x = tk::device_put(tk::astype(tk::arange(1000), tk::f32), tk::cuda);
  CHECK(x.device().name() == "cuda:0");
  const array y = x + x * 2;
  CHECK(y.device().name() == "cuda:0");
  CHECK(y.values<float>()[999] == 2997.0f);
  CHECK(tk::sum(x).item() == 499500.0f);
}

TEST_CASE("matrix products of all layouts are those of the CPU") {
  if (!found_gpu()) return;
  const array a = tk::random::normal(tk::random::key(1), {33, 20}),
              b = tk::random::normal(tk::random::key(2), {20, 17});
  const array c = tk::random::normal(tk::random::key(3), {17, 20});
  const array on_a = tk::device_put(a, tk::cuda);
  CHECK(largest_difference(tk::matmul(on_a, tk::device_put(b, tk::cuda)), tk::matmul(a, b)) < 1e-5);
  const auto turned = [](const array& x, const array& y) { return tk::matmul(x, tk::transpose(y)); };
  const auto on_gpu = tk::jit(turned, tk::cuda, tk::at_run_time);
  CHECK(largest_difference(on_gpu(on_a, c), turned(a, c)) < 1e-5);
  // 256 products of normal numbers: f32 unless TF32 is asked for, which keeps 10 bits of each operand.
  const array x = tk::random::normal(tk::random::key(4), {256, 256}), on_x = tk::device_put(x, tk::cuda);
  const auto square = [](const array& v) { return tk::matmul(v, v); };
  CHECK(largest_difference(square(on_x), square(x)) < 2e-4);
  const double lost = largest_difference(
      tk::jit(tk::with_precision<tk::tf32_products>(square), tk::cuda, tk::at_run_time)(on_x), square(x));
  CHECK((lost > 1e-3 && lost < 0.2));
}

TEST_CASE("kernels that are written once have the values of the CPU") {
  if (!found_gpu()) return;
  std::uint32_t seed = 0;
  const auto noise = [&](const tk::shape& e) { return tk::random::normal(tk::random::key(++seed), e); };
  for (const auto& s : tk::test::sources::all(noise)) {
    CAPTURE(s.name);
    tk::arrays there;
    for (const array& x : s.in) there.push_back(tk::device_put(x, tk::cuda));
    const array found = s.kernel(there);
    CHECK(found.device().name() == "cuda:0");
    CHECK(largest_difference(found, s.kernel(s.in)) < 1e-4);
  }
}

TEST_CASE("long sums, far positions, mixed starts and many batches are those of the CPU") {
  if (!found_gpu()) return;
  array x = tk::array::uninitialized({tk::f32, false, {333, 517}});  // every 256th element has a similar value
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.mutable_data<float>()[i] = static_cast<float>(i % 256) * 0.0078125f - 0.99609375f + static_cast<float>(i) * 1e-7f;
  const array on_x = tk::device_put(x, tk::cuda);
  CHECK(largest_difference(tk::sum(on_x), tk::sum(x)) < 1e-3);
  const array infinite = tk::device_put(x * 0.0f + std::numeric_limits<float>::infinity(), tk::cuda);
  CHECK(tk::min(tk::sum(infinite, {{1}})).item() == std::numeric_limits<float>::infinity());

  const array heads = tk::random::normal(tk::random::key(4), {3, 2, 8});
  const array positions = array::from<std::int32_t>({3, -70000, 2147483647});
  const array on_heads = tk::device_put(heads, tk::cuda), on_positions = tk::device_put(positions, tk::cuda);
  for (const bool interleaved : {false, true})
    CHECK(largest_difference(tk::rotary_embedding(on_heads, on_positions, {.interleaved = interleaved}),
                             tk::rotary_embedding(heads, positions, {.interleaved = interleaved})) < 3e-6);

  const array row = tk::device_put(array::from<std::int32_t>({5}), tk::cuda),
              column = tk::device_put(array::from<std::int64_t>({7}), tk::cuda);
  const auto box = [](const array& from, const array& r, const array& c) {
    return tk::dynamic_slice(from, {tk::reshape(r, {}), tk::reshape(c, {})}, {2, 3});
  };
  CHECK(largest_difference(box(on_x, row, column), tk::slice(x, {5, 7}, {7, 10})) == 0);

  const array many = tk::random::normal(tk::random::key(5), {70000, 2, 3});
  const array turned = tk::transpose(many, {0, 2, 1}), on_many = tk::device_put(many, tk::cuda);
  CHECK(largest_difference(tk::matmul(on_many, tk::transpose(on_many, {0, 2, 1})), tk::matmul(many, turned)) < 1e-5);
}

TEST_CASE("a training step that was compiled for GPUs follows the CPU's") {
  if (!found_gpu()) return;
  const points x = tk::random::normal(tk::random::key(7), {64, 16});
  const auto on_cpu = tk::jit(step, tk::cpu);
  const auto on_gpu = tk::jit(step, tk::cuda);
  const auto late = tk::jit(step, tk::cuda, tk::at_run_time);
  network a = tk::init<network>(tk::random::key(0)), b = tk::device_put(a, tk::cuda), c = b;
  for (int i = 0; i < 20; ++i) {
    auto [next_a, loss_a] = on_cpu(a, x);
    auto [next_b, loss_b] = on_gpu(std::move(b), x);
    auto [next_c, loss_c] = late(c, x);
    a = next_a, b = next_b, c = next_c;
    CHECK(loss_b.item() == Approx(loss_a.item()).epsilon(1e-4));
    CHECK(loss_b.item() == loss_c.item());  // the same bits however it was traced
  }
  CHECK(largest_difference(a.hidden.kernel, b.hidden.kernel) < 1e-4);
}

TEST_CASE("two GPUs that two threads use give the bits of one") {
  if (!found_gpu()) return;
  if (!tk::cuda(1).is_available()) {
    WARN("skipped: " << tk::cuda(1).missing());
    return;
  }
  const points x = tk::random::normal(tk::random::key(7), {64, 16});
  const network start = tk::init<network>(tk::random::key(0));
  const auto trained = [&](const tk::cuda_device& gpu) {
    const auto run = tk::jit(step, gpu);
    network f = tk::device_put(start, gpu);
    for (int i = 0; i < 50; ++i) f = run(std::move(f), x).first;
    const auto values = f.hidden.kernel.values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<float> alone = trained(tk::cuda);
  for (int round = 0; round < 5; ++round) {
    std::vector<float> found[2];
    std::thread first([&] { found[0] = trained(tk::cuda); }), second([&] { found[1] = trained(tk::cuda(1)); });
    first.join(), second.join();
    CHECK(found[0] == alone);
    CHECK(found[1] == alone);
  }
  const array here = tk::device_put(x, tk::cuda), there = tk::device_put(here, tk::cuda(1));
  CHECK(there.device().name() == "cuda:1");
  CHECK(tk::sum(there).item() == tk::sum(here).item());
  CHECK_THROWS_AS(here + there, tk::error);
}
