// tests/backend/cuda/driver/code_jobs.cpp: jobs are done once each, by several threads, and those that fail are left to who needs them.
#include <tokamax/backend/cuda/driver/code_jobs.hpp>

#include <tokamax/backend/cuda.hpp>
#include <tokamax/tokamax.hpp>

#include <mutex>
#include <stdexcept>

#include "support/catch.hpp"
#include "support/fake_cuda.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using tk::test::fake_cuda;
using namespace tk::cuda_backend;

TEST_CASE("each job is done once, and the first of a key counts") {
  code_jobs jobs;
  std::vector<std::atomic<int>> done(200);
  for (int i = 0; i < 200; ++i)
    for (int times = 0; times < 2; ++times)
      jobs.add(std::to_string(i), [&done, i, times] { done[i] += 1 + 10 * times; });
  CHECK(jobs.count() == 200);
  std::atomic<int> begun = 0;
  jobs.run([&] { ++begun; });
  for (const auto& n : done) CHECK(n == 1);
  CHECK(begun >= 1);
  CHECK(begun <= static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
}

TEST_CASE("what turns of a loop meet again is not new") {
  code_jobs jobs;
  CHECK(jobs.is_new("loop 1"));
  CHECK(jobs.is_new("loop 2"));
  CHECK(!jobs.is_new("loop 1"));
  CHECK(code_jobs().is_new("loop 1"));
  CHECK(jobs.count() == 0);
}

TEST_CASE("a single job and none are left to the run") {
  int done = 0;
  code_jobs none, one;
  one.add("a text", [&] { ++done; });
  none.run([] {});
  one.run([] {});
  CHECK(done == 0);
}

TEST_CASE("jobs and threads that fail do no harm to the others") {
  code_jobs jobs;
  std::atomic<int> done = 0;
  for (int i = 0; i < 20; ++i)
    jobs.add(std::to_string(i), [&done, i] {
      if (i % 3 == 0) throw std::runtime_error("a text that does not compile");
      ++done;
    });
  jobs.run([] {});
  CHECK(done == 13);
  jobs.run([] { throw std::runtime_error("no context"); });
  CHECK(done == 13);
}

TEST_CASE("the texts of a program are compiled before its first launch, and a second GPU finds them on disk") {
  auto& fake = fake_cuda::get();
  const temporary_folder folder, other_folder;
  fake.now = {.runs_kernels = fake_cuda::compiles_text()};
  static const driver& gpus = *new driver(fake_cuda::driver());
  static const nvrtc& compiler = *new nvrtc(fake_cuda::compiler());
  const auto new_gpu = [&](int number, const temporary_folder& kept) {
    return tk::test::fake_gpu{
        new instance(number, tk::kernel_table_of<tk::cuda_tag>(), {gpus, compiler, code_cache(kept.path)})};
  };
  const auto step = [](const tk::array& x) {
    const tk::array y = tk::cumsum(tk::sort(x, 0), 0);
    return tk::tanh(y - tk::mean(y)) + 0.5f * tk::sum(x, {.axis = {0}, .keepdims = true});
  };
  const tk::array start = tk::sin(tk::astype(tk::arange(40), tk::f32)), expected = step(start);
  int texts = 0;
  for (int number : {0, 1}) {
    const tk::test::fake_gpu gpu = new_gpu(number, folder);
    const tk::array x = tk::device_put(start, gpu);
    gpu.get().synchronize();
    const int compiled = fake.calls("nvrtcCompileProgram"), loaded = fake.calls("cuModuleLoadData"),
              launched = fake.calls("cuLaunchKernel");
    const tk::array y = tk::jit(step, gpu, tk::at_run_time)(x);
    gpu.get().synchronize();
    texts = fake.calls("cuModuleLoadData") - loaded;
    CHECK(texts >= 4);
    CHECK(fake.calls("nvrtcCompileProgram") - compiled == (number == 0 ? texts : 0));
    CHECK(fake.calls("cuLaunchKernel") - launched >= texts);
    if (!fake_cuda::compiles_text()) continue;
    for (int i = 0; i < 40; ++i) CHECK(y.values<float>()[i] == Approx(expected.values<float>()[i]).epsilon(1e-5));
  }
  const tk::test::fake_gpu failing = new_gpu(2, other_folder);
  const tk::array x = tk::device_put(start, failing);
  failing.get().synchronize();
  const int compiled = fake.calls("nvrtcCompileProgram");
  fake.fail("cuLaunchKernel", fake_cuda::launch_failed);
  CHECK_THROWS_AS(tk::block_until_ready(tk::jit(step, failing, tk::at_run_time)(x)), tk::error);
  CHECK(fake.calls("nvrtcCompileProgram") - compiled == texts);  // all of them, before the launch that failed
  fake.forget_failures();
  fake.now = {};
}
