// tests/backend/cuda/run/device_clock.cpp: recordings have the times at which the GPU worked, not those of launches.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cuda/run/device_clock.hpp>

#include <tokamax/backend/cuda/execute.hpp>
#include <tokamax/backend/cuda/roofline.hpp>
#include <tokamax/tokamax.hpp>

#include <chrono>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/fake_cuda.hpp"
#include "support/temporary_folder.hpp"

namespace {

namespace tk = tokamax;
using tk::test::fake_cuda;
using tk::test::fake_gpu;
using namespace tk::cuda_backend;

fake_cuda& fake = fake_cuda::get();
const driver& gpus = *new driver(fake_cuda::driver());
const nvrtc& compiler = *new nvrtc(fake_cuda::compiler());

fake_gpu new_gpu(int delay) {
  static const temporary_folder folder;
  fake.drain();
  fake.forget_failures();
  fake.now = {.runs_kernels = false, .delay = delay};
  return {new instance(0, tk::kernel_table_of<tk::cuda_tag>(), {gpus, compiler, code_cache(folder.path)})};
}
std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

TEST_CASE("marks have the times at which a GPU comes to them") {
  const fake_gpu gpu = new_gpu(0);
  const std::int64_t begin = now();
  const auto first = gpu.get().mark(), second = gpu.get().mark();
  fake.now.delay = 20'000;  // microseconds at most between two pieces of work
  std::vector<std::shared_ptr<tk::time_mark>> marks;
  for (int i = 0; i < 20; ++i) marks.push_back(gpu.get().mark());
  const std::int64_t asked = now();
  std::int64_t last = first->time();
  CHECK(last >= begin - 2'000);
  for (const auto& m : marks) {
    CHECK(m->time() >= last);
    CHECK(std::abs(m->time() - first->time() - m->since(*first)) <= 2'000);
    last = m->time();
  }
  CHECK(second->since(*second) == 0);
  CHECK(last > asked);  // the host was told of the marks long before the GPU came there
  CHECK(last <= now() + 2'000);
}

TEST_CASE("a recording has the times of the GPU") {
  const fake_gpu gpu = new_gpu(2'000);
  const auto program =
      tk::jit([](const tk::array& x) { return tk::tanh(tk::matmul(tk::exp(x), x)); }, gpu, tk::at_run_time);
  const tk::array x = tk::device_put(tk::full({8, 8}, 1.0f), gpu);
  tk::block_until_ready(program(x));
  const tk::profile::timeline recording;
  const std::int64_t begin = now();
  const tk::array y = program(x);
  const auto& events = recording.events();
  REQUIRE(events.size() == 3);
  CHECK(events[1].name.starts_with("dot_general"));
  std::int64_t last = begin - 2'000;
  for (const auto& e : events) {
    CHECK(e.begin >= last);
    CHECK(e.duration >= 0);
    last = e.begin + e.duration - 2'000;
    CHECK_FALSE(e.from);
  }
  CHECK(last <= now());
}

TEST_CASE("the limits of a device come from its clock") {
  const tk::profile::roofline limits = tk::measure_roofline(new_gpu(100), 64);
  CHECK(limits.flops > 0);
  CHECK(limits.flops < 1e15);
  CHECK(limits.bfloat16_flops > 0);
  CHECK(limits.bytes > 0);
}

TEST_CASE("a clock that fails is named") {
  const fake_gpu gpu = new_gpu(0);
  for (const char* name : {"cuEventCreate", "cuEventRecord", "cuEventSynchronize"}) {
    fake.fail(name, fake_cuda::unknown);
    CHECK_THROWS_WITH(gpu.get().mark(), contains("FAKE_ERROR"));
    fake.forget_failures();
  }
  const auto m = gpu.get().mark();
  fake.fail("cuEventElapsedTime", fake_cuda::unknown);
  CHECK_THROWS_WITH(m->time(), contains("time of an event"));
  fake.forget_failures();
  CHECK(m->time() <= now() + 2'000);
}
