// tests/backend/cuda/run/recorded_launches.cpp: programs that are repeated as CUDA graphs, on GPUs that are not there.
#include <tokamax/backend/cuda/run/recorded_launches.hpp>

#include <tokamax/backend/cuda.hpp>
#include <tokamax/tokamax.hpp>

#include <thread>

#include "support/catch.hpp"
#include "support/fake_cuda.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::fake_cuda;
using tk::test::fake_gpu;
using namespace tk::cuda_backend;

namespace {

fake_cuda& fake = fake_cuda::get();
const driver& gpus = *new driver(fake_cuda::driver());
const nvrtc& compiler = *new nvrtc(fake_cuda::compiler());

fake_gpu new_gpu(const driver& to = gpus) {
  static const temporary_folder folder;
  static std::atomic<int> next = 0;
  fake.drain();
  fake.forget_failures();
  fake.now = {.runs_kernels = fake_cuda::compiles_text()};
  return {new instance(next++, tk::kernel_table_of<tk::cuda_tag>(), {to, compiler, code_cache(folder.path)})};
}

struct counts {
  int kernels = fake.calls("cuLaunchKernel"), graphs = fake.calls("cuGraphLaunch"),
      recordings = fake.calls("cuStreamEndCapture");
};
/// What `f` launches.
template <class F>
counts counted(const F& f) {
  const counts before;
  f();
  const counts after;
  return {after.kernels - before.kernels, after.graphs - before.graphs, after.recordings - before.recordings};
}

// Steps of several launches, with memory that a kernel takes for itself.
constexpr auto step = [](const array& x) {
  const array y = tk::cumsum(tk::sort(x, 0), 0);
  return tk::tanh(y - tk::mean(y)) + 0.5f * tk::sum(x, {.axis = {0}, .keepdims = true});
};
array start(std::int64_t n) { return tk::sin(tk::astype(tk::arange(n), tk::f32)); }
bool close(const array& a, const array& b) {
  const auto x = a.values<float>(), y = b.values<float>();
  bool same = x.size() == y.size();
  for (std::size_t i = 0; same && i < x.size(); ++i) same = std::abs(x[i] - y[i]) <= 1e-4f * (1 + std::abs(y[i]));
  return same || !fake_cuda::compiles_text();
}

}  // namespace

TEST_CASE("a step that is given its own memory again is one launch of a graph, with the values of the CPU") {
  const fake_gpu gpu = new_gpu();
  const auto program = tk::jit(step, gpu, tk::at_run_time);
  const auto on_cpu = tk::jit(step, tk::cpu, tk::at_run_time);
  array x = tk::device_put(start(40), gpu), expected = start(40);
  const auto next = [&] {
    x = program(std::move(x));
    gpu.get().synchronize();
    expected = on_cpu(std::move(expected));
  };
  const counts first = counted(next);
  CHECK(first.kernels >= 4);
  CHECK(first.recordings == 0);
  for (int i = 0; i < 5; ++i) next();
  for (int i = 0; i < 10; ++i) {
    const counts later = counted(next);
    CHECK(later.kernels == 0);
    CHECK(later.graphs == 1);
  }
  CHECK(close(x, expected));
}

TEST_CASE("results that the caller keeps have new memory, which is not recorded, and graphs end with their program") {
  const fake_gpu gpu = new_gpu();
  const array x = tk::device_put(start(40), gpu);
  gpu.get().synchronize();
  const std::size_t before = fake.used_bytes();
  const int graphs = fake.calls("cuGraphInstantiateWithFlags"), ends = fake.calls("cuGraphExecDestroy");
  {
    const auto program = tk::jit(step, gpu, tk::at_run_time);
    std::vector<array> all;
    const counts kept = counted([&] {
      for (int i = 0; i < 6; ++i) all.push_back(program(x));
    });
    CHECK(kept.recordings == 0);
    for (const array& y : all) CHECK(close(y, tk::jit(step, tk::cpu, tk::at_run_time)(start(40))));
    all.clear();
    for (int i = 0; i < 12; ++i) tk::block_until_ready(program(x));
  }
  gpu.get().synchronize();
  CHECK(fake.calls("cuGraphInstantiateWithFlags") - graphs == fake.calls("cuGraphExecDestroy") - ends);
  fake.drain();
  CHECK(fake.used_bytes() <= before + 4096);  // the constants of the program stay with the device
}

TEST_CASE("loops whose length is a value are done anew each time by drivers without conditions") {
  driver& old = *new driver(gpus);  // lives as long as its GPU
  old.create_condition = nullptr;
  const fake_gpu gpu = new_gpu(old);
  if (!fake_cuda::compiles_text()) return;
  const auto until = [](const array& x) {
    return tk::while_loop([](const array& v) { return tk::sum(v) < 1000.0f; },
                          [](const array& v) { return tk::cumsum(tk::sort(v * 2.0f, 0), 0); }, x);
  };
  const auto program = tk::jit(until, gpu, tk::at_run_time);
  const auto on_cpu = tk::jit(until, tk::cpu, tk::at_run_time);
  for (int i = 0; i < 6; ++i) {
    const array x = tk::full({10}, 0.1f + static_cast<float>(i)) + 0.0f;
    const counts one = counted([&] { CHECK(close(program(tk::device_put(x, gpu)), on_cpu(x))); });
    CHECK(one.graphs == 0);
  }
}

TEST_CASE("programs with effects run each time") {
  const fake_gpu gpu = new_gpu();
  static int calls = 0;
  calls = 0;
  const auto program = tk::jit(
      [](const array& x) {
        tk::io_callback([](const tk::arrays&) { return ++calls, tk::arrays(); }, {}, {x});
        return step(step(x));
      },
      gpu, tk::at_run_time);
  array x = tk::device_put(start(40), gpu);
  for (int i = 0; i < 6; ++i) x = program(std::move(x));
  tk::block_until_ready(x);
  CHECK(calls == 6);
}

TEST_CASE("extents that change are other launches") {
  const fake_gpu gpu = new_gpu();
  const auto program = tk::jit(step, gpu, tk::at_run_time);
  const auto on_cpu = tk::jit(step, tk::cpu, tk::at_run_time);
  for (int i = 0; i < 4; ++i)
    for (const std::int64_t n : {40, 7, 1, 0}) {
      array x = tk::device_put(start(n), gpu);
      CHECK(close(program(tk::symbolic(x)), on_cpu(start(n))));
    }
}

TEST_CASE("what the driver does not record is launched as before") {
  for (const char* name : {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"}) {
    const fake_gpu gpu = new_gpu();
    const auto program = tk::jit(step, gpu, tk::at_run_time);
    const auto on_cpu = tk::jit(step, tk::cpu, tk::at_run_time);
    array x = tk::device_put(start(40), gpu), expected = start(40);
    fake.fail(name, fake_cuda::unknown);
    const counts all = counted([&] {
      for (int i = 0; i < 8; ++i) {
        x = program(std::move(x));
        expected = on_cpu(std::move(expected));
      }
    });
    CHECK(all.graphs == 0);
    CHECK(close(x, expected));
  }
}

TEST_CASE("threads record their own runs of a program") {
  const fake_gpu gpu = new_gpu();
  const auto program = tk::jit(step, gpu, tk::at_run_time);
  const auto on_cpu = tk::jit(step, tk::cpu, tk::at_run_time);
  array expected = start(40);
  for (int i = 0; i < 20; ++i) expected = on_cpu(std::move(expected));
  fake.now.delay = 50;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      array x = tk::device_put(start(40), gpu);
      for (int i = 0; i < 20; ++i) x = program(std::move(x));
      wrong += !close(x, expected);
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  fake.now.delay = 0;
}
