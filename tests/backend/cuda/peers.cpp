// tests/backend/cuda/peers.cpp: copies between GPUs, on GPUs that are not there: without the host, in the right order, by parts, and
// every call that can fail.
#include <tokamax/backend/cuda/run/instance.hpp>

#include <tokamax/backend/cuda.hpp>
#include <tokamax/backend/far.hpp>
#include <tokamax/tokamax.hpp>

#include <thread>

#include "support/catch.hpp"
#include "support/contains.hpp"
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

fake_gpu gpu_number(int n) {
  static const temporary_folder folder;
  return {new instance(n, tk::kernel_table_of<tk::cuda_tag>(), {gpus, compiler, code_cache(folder.path)})};
}
fake_gpu new_gpu() {
  static std::atomic<int> next = 0;
  fake.drain();
  fake.forget_failures();
  fake.now = {.devices = 64, .runs_kernels = fake_cuda::compiles_text()};
  return gpu_number(next++);
}
constexpr std::int64_t count = 5000;
using vector = tk::tensor<tk::f32, count>;
constexpr auto doubled = [](const vector& x) { return x * 2.0f + 1.0f; };

array ramp(std::int64_t n, float first = 0) { return tk::astype(tk::arange(n), tk::f32) + first; }
bool is_ramp(const array& a, float first = 0) {
  const auto values = a.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != first + static_cast<float>(i)) return false;
  return true;
}
bool is_doubled(const array& a, float first = 0) {
  const auto values = a.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != (first + static_cast<float>(i)) * 2 + 1) return !fake_cuda::compiles_text();
  return true;
}
template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}
/// The stream of a GPU is busy until this ends.
class busy {
 public:
  explicit busy(const fake_gpu& gpu) {
    mutex_->lock();
    fake_cuda::of(gpu.one->queue()).add([m = mutex_] { return m->lock(), m->unlock(), 0; });
  }
  ~busy() { mutex_->unlock(); }

 private:
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
};
int waits_of_host() {
  return fake.calls("cuStreamSynchronize") + fake.calls("cuEventSynchronize") + fake.calls("cuMemcpyDtoHAsync_v2");
}

}  // namespace

TEST_CASE("a copy between GPUs needs no host, waits for what it reads, and what reads it waits for the copy") {
  const fake_gpu one = new_gpu(), two = new_gpu();
  const auto on_one = tk::jit(doubled, one, tk::at_run_time), on_two = tk::jit(doubled, two, tk::at_run_time);
  const vector x = tk::device_put(vector(ramp(count)), one);
  tk::block_until_ready(on_one(x));
  tk::block_until_ready(on_two(tk::device_put(vector(ramp(count)), two)));
  const std::size_t direct = fake.direct_bytes(), indirect = fake.indirect_bytes();
  array there, further;
  {
    const busy forever(one);
    const array made = on_one(x);
    const int waits = waits_of_host();
    there = tk::device_put(made, two);
    further = on_two(vector(there));
    CHECK(waits_of_host() == waits);
    CHECK(!there.storage()->ready->is_done());
    CHECK(!further.storage()->ready->is_done());
  }
  CHECK(there.device().name() == two.get().name());
  CHECK(is_doubled(there));
  if (fake_cuda::compiles_text()) CHECK(further.values<float>()[10] == 43.0f);
  CHECK(fake.direct_bytes() - direct == count * sizeof(float));
  CHECK(fake.indirect_bytes() == indirect);
}

TEST_CASE("the stream of a GPU waits for the event of another one, and the host does not") {
  const fake_gpu one = new_gpu(), two = new_gpu();
  const auto on_one = tk::jit(doubled, one, tk::at_run_time), on_two = tk::jit(doubled, two, tk::at_run_time);
  const vector x = tk::device_put(vector(ramp(count)), one), y = tk::device_put(vector(ramp(count)), two);
  tk::block_until_ready(on_one(x)), tk::block_until_ready(on_two(y));
  array made, before, after;
  {
    const busy forever(one);
    made = on_one(x), before = on_two(y);
    const int waits = waits_of_host();
    made.storage()->ready->precede(two.get());
    after = on_two(y);
    CHECK(waits_of_host() == waits);
    tk::block_until_ready(before);
    CHECK(!after.storage()->ready->is_done());
  }
  tk::block_until_ready(after);
  CHECK(made.storage()->ready->is_done());
  CHECK(is_doubled(after));
}

TEST_CASE("what a copy reads is neither released nor written before") {
  const fake_gpu one = new_gpu(), two = new_gpu();
  const std::size_t before = fake.used_bytes();
  const auto on_one = tk::jit(doubled, one, tk::at_run_time);
  {
    tk::block_until_ready(on_one(tk::device_put(vector(ramp(count)), one)));
    array released, donated;
    {
      const busy forever(one);
      vector x = on_one(tk::device_put(vector(ramp(count, 3)), one)),
             y = on_one(tk::device_put(vector(ramp(count, 5)), one));
      released = tk::device_put(array(x), two);
      donated = tk::device_put(array(y), two);
      x = {};
      const auto* const memory = y.storage()->data;
      vector next = on_one(std::move(y));
      CHECK(next.storage()->data != memory);
      for (int i = 0; i < 10; ++i) (void)on_one(next);  // memory that was free by mistake would be written
    }
    CHECK(is_doubled(released, 3));
    CHECK(is_doubled(donated, 5));
    // Once the copy has ended, the memory is given to results again, and comes back.
    vector z = on_one(tk::device_put(vector(ramp(count)), one));
    tk::block_until_ready(tk::device_put(array(z), two));
    one.get().synchronize();
    const auto* const memory = z.storage()->data;
    CHECK(on_one(std::move(z)).storage()->data == memory);
  }
  one.get().synchronize();
  two.get().synchronize();
  fake.drain();
  CHECK(fake.used_bytes() - before < 7 * (count * sizeof(float) + 64));  // 6 places that wait to be used again
}

TEST_CASE("parts of blocks are copied to places of others, between GPUs and on one") {
  const fake_gpu one = new_gpu(), two = new_gpu();
  fake.now.delay = 200;
  for (const fake_gpu& source : {one, two}) {
    const array from = tk::device_put(ramp(1000), source),
                to = array::uninitialized({tk::f32, false, {300}}, two.get());
    for (std::size_t k = 0; k < 3; ++k)  // blocks of 100, the last one first
      two.get().copy_from(to.storage(), from.storage(), {400, 400 * k + 40, 800 - 400 * k});
    two.get().copy_from(to.storage(), from.storage(), {0, 4000, 1200});
    const auto values = to.values<float>();
    for (std::size_t i = 0; i < 300; ++i) CHECK(values[i] == static_cast<float>(10 + i % 100 + 100 * (2 - i / 100)));
    for (const tk::copy_range& wrong :
         {tk::copy_range{401, 3600, 0}, tk::copy_range{4, 4000, 0}, tk::copy_range{4, 0, 1200},
          tk::copy_range{4, 0, 1197}, tk::copy_range{std::size_t(-1), 8, 0}})
      CHECK_THROWS_WITH(two.get().copy_from(to.storage(), from.storage(), wrong), contains("device: copy: found"));
  }
  {  // What the GPU was to do with the block comes before.
    const array to = array::uninitialized({tk::f32, false, {100}}, two.get());
    const array from = tk::block_until_ready(tk::device_put(ramp(100), one));
    {
      const busy forever(two);
      two.get().copy_from(to.storage(), from.storage(), {400});
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      CHECK(!to.storage()->ready->is_done());
    }
    CHECK(is_ramp(to));
  }
  // A block that is released while it is written.
  const array from = tk::device_put(ramp(1000), one);
  for (int i = 0; i < 20; ++i) {
    const array to = array::uninitialized({tk::f32, false, {1000}}, two.get());
    two.get().copy_from(to.storage(), from.storage(), {4000});
  }
  CHECK(is_ramp(tk::device_put(from, two)));
  fake.drain();
  CHECK(message_of([&] { two.get().synchronize(); }).empty());
}

TEST_CASE("where GPUs cannot reach each other, the driver takes copies through the host") {
  const fake_gpu one = new_gpu(), two = new_gpu();
  fake.now.reach = false;
  const std::size_t direct = fake.direct_bytes(), indirect = fake.indirect_bytes();
  CHECK(is_ramp(tk::device_put(tk::device_put(ramp(count), one), two)));
  CHECK(fake.direct_bytes() == direct);
  CHECK(fake.indirect_bytes() - indirect == count * sizeof(float));
  const array x = tk::device_put(ramp(count), one);
  fake.fail("cuMemcpyPeerAsync", fake_cuda::unknown);
  CHECK_THAT(message_of([&] { tk::device_put(x, two); }), contains("cuda: copy between GPUs: found FAKE_ERROR"));
  CHECK(is_ramp(tk::device_put(x, two)));
}

TEST_CASE("other devices and the host exchange arrays with a GPU through a few MiB of memory") {
  const fake_gpu gpu = new_gpu();
  const tk::far_device far(40);
  const std::int64_t many = (std::int64_t{5} << 20) + 3;  // 20 MiB
  const array x = ramp(many), there = tk::device_put(x, far);
  tk::buffer_pool& pool = tk::buffer_pool::instance();
  const std::size_t before = pool.used_bytes();
  const array on_gpu = tk::device_put(there, gpu), back = tk::device_put(on_gpu, far);
  CHECK(pool.used_bytes() == before);
  CHECK(is_ramp(tk::device_put(back, tk::cpu)));
  const array here = tk::device_put(on_gpu, tk::cpu);
  CHECK(here.device().name() == "cpu");
  CHECK(is_ramp(here));
  CHECK(on_gpu.storage()->next == nullptr);
  CHECK(tk::device_put(tk::device_put(array::from<float>({}), far), gpu).values<float>().empty());
}

TEST_CASE("a call of a copy between GPUs that fails is named once, and the program goes on") {
  const fake_gpu one = new_gpu(), two = new_gpu();
  const array x = tk::device_put(ramp(count), one), few = tk::device_put(ramp(10), one);
  const array room = array::uninitialized({tk::f32, false, {count}}, two.get());
  const auto work = [&] {
    if (!is_ramp(tk::device_put(x, two)) || !is_ramp(tk::device_put(few, two)))
      throw std::runtime_error("wrong values");
    two.get().copy_from(room.storage(), x.storage(), {count * sizeof(float)});
    two.get().synchronize();
  };
  work();
  for (const char* name : {"cuCtxSetCurrent", "cuMemAllocAsync", "cuStreamWaitEvent", "cuMemcpyDtoDAsync_v2",
                           "cuEventCreate", "cuEventRecord", "cuEventQuery", "cuEventDestroy_v2", "cuMemFreeAsync"})
    for (int others = 0; others < 12; ++others) {
      CAPTURE(name, others);
      fake.fail(name, fake_cuda::unknown, others);
      const std::string message = message_of(work);
      fake.forget_failures();
      if (!message.empty()) CHECK_THAT(message, contains("cuda: ") && contains("FAKE_ERROR: as the test wants"));
      CHECK(message_of(work).empty());
    }
  for (int number = 60; const char* name : {"cuDeviceCanAccessPeer", "cuMemPoolSetAccess"}) {
    const fake_gpu further = gpu_number(number++);  // copies then go through the host
    const std::size_t indirect = fake.indirect_bytes();
    fake.fail(name, fake_cuda::unknown);
    for (int i = 0; i < 2; ++i) CHECK(is_ramp(tk::device_put(x, further)));
    CHECK(fake.indirect_bytes() - indirect == 2 * count * sizeof(float));
  }
}

TEST_CASE("a copy of what a lost GPU was to make is an error, and other GPUs go on") {
  const fake_gpu lost = new_gpu(), two = new_gpu(), three = new_gpu();
  const auto program = tk::jit(doubled, lost);
  const vector x = tk::device_put(vector(ramp(count)), lost);
  tk::block_until_ready(program(x));
  fake.fail_kernel(lost.one->number(), fake_cuda::illegal_address);
  const array made = program(x);
  const std::string message = message_of([&] { (void)tk::device_put(made, two).values<float>(); });
  CHECK_THAT(message, contains("FAKE_ILLEGAL_ADDRESS"));
  CHECK(is_ramp(tk::device_put(tk::device_put(ramp(count), three), three)));
}

TEST_CASE("threads copy between three GPUs in all directions, while these run programs") {
  const fake_gpu all[] = {new_gpu(), new_gpu(), new_gpu()};
  fake.now.delay = 40;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const auto first = static_cast<float>(100 * t + i);
        vector x = tk::device_put(vector(ramp(count, first)), all[t % 3]);
        for (int k = 1; k < 4; ++k) x = tk::device_put(std::move(x), all[(t + k * (t < 3 ? 1 : 2)) % 3]);
        const auto program = tk::jit(doubled, x.device());
        const array y = tk::device_put(program(x), all[(t + i) % 3]);
        wrong += !is_ramp(x, first) || !is_doubled(y, first);
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("a program runs on GPUs of any number, and all of them share it") {
  fake.now = {.devices = 1000, .runs_kernels = fake_cuda::compiles_text()};
  int traces = 0;
  const fake_gpu first = gpu_number(40);
  const auto program = tk::jit(
      [&](const array& x) {
        ++traces;
        return x * 2.0f + 1.0f;
      },
      first.get());
  for (const int n : {40, 31, 32, 33, 999}) {
    const fake_gpu gpu = n == 40 ? first : gpu_number(n);
    const array y = program.on(gpu)(tk::device_put(ramp(count), gpu));
    CHECK(y.device().name() == "cuda:" + std::to_string(n));
    CHECK(is_doubled(y));
  }
  CHECK(traces == 1);
  CHECK(is_doubled(program.on(tk::cpu)(ramp(count))));  // other kernels, another plan
  CHECK(traces == 2);
}
