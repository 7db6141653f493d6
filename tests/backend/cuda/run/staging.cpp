// tests/backend/cuda/run/staging.cpp: arrays that come to GPUs by way of pinned memory, on GPUs that are not there: bytes, order,
// threads, recordings, and every call that can fail.
#include <tokamax/backend/cuda/run/staging.hpp>

#include <tokamax/backend/cuda.hpp>
#include <tokamax/data.hpp>
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

fake_gpu new_gpu() {
  static const temporary_folder folder;
  static std::atomic<int> next = 0;
  fake.drain();
  fake.forget_failures();
  fake.now = {.runs_kernels = fake_cuda::compiles_text()};
  return {new instance(next++, tk::kernel_table_of<tk::cuda_tag>(), {gpus, compiler, code_cache(folder.path)})};
}
constexpr std::int64_t count = 5000;  // 20 kB, which go through pinned memory
using vector = tk::tensor<tk::f32, count>;
constexpr auto doubled = [](const vector& x) { return x * 2.0f + 1.0f; };

array ramp(std::int64_t n, float first = 0) {
  array a = array::uninitialized({tk::f32, false, {n}});
  auto* const to = a.mutable_data<float>();
  for (std::int64_t i = 0; i < n; ++i) to[i] = first + static_cast<float>(i);
  return a;
}
bool is_ramp(const array& a, float first = 0) {
  bool same = true;
  std::int64_t i = 0;
  for (const float v : a.values<float>()) same = same && v == first + static_cast<float>(i++);
  return same;
}
/// Is it 2 x + 1 for the numbers x from `first` on, if kernels run here?
bool is_doubled(const array& a, float first) {
  bool same = true;
  std::int64_t i = 0;
  for (const float v : a.values<float>()) same = same && v == 2 * (first + static_cast<float>(i++)) + 1;
  return same || !fake_cuda::compiles_text();
}
/// The message of what `f` throws; empty if it throws nothing.
template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}
/// A stream that is busy until this ends.
class busy {
 public:
  explicit busy(const fake_gpu& gpu) {
    fake_cuda::of(gpu.one->queue()).add([m = mutex_] { return m->lock(), m->unlock(), 0; });
  }
  ~busy() { mutex_->unlock(); }

 private:
  std::shared_ptr<std::mutex> mutex_ = [] {
    auto m = std::make_shared<std::mutex>();
    m->lock();
    return m;
  }();
};

}  // namespace

TEST_CASE("copies from the host go through pinned memory, which is allocated once, and bytes arrive as they were") {
  const fake_gpu gpu = new_gpu();
  const auto program = tk::jit(doubled, gpu, tk::at_run_time);
  const std::size_t pinned = fake.pinned_bytes();
  fake.now.delay = 300;
  array start = ramp(count);
  for (int i = 0; i < 30; ++i) {  // what is put next must not change what the GPU has not copied yet
    const auto first = static_cast<float>(i);
    std::copy_n(ramp(count, first).data<float>(), count, start.mutable_data<float>());
    const vector x = tk::device_put(vector(start), gpu);
    std::fill_n(start.mutable_data<float>(), count, -1.0f);
    const vector y = program(x);
    if (i % 3 == 0) CHECK(is_ramp(x, first));
    CHECK(is_doubled(y, first));
  }
  CHECK(fake.pinned_bytes() - pinned == 4 * staging::part_bytes);
  // Few bytes, the most of these, a part, one byte more, and more than all parts.
  constexpr auto part = static_cast<std::int64_t>(staging::part_bytes);
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4096}, std::int64_t{4097}, part - 1,
                                   part, part + 1, 5 * part + 3}) {
    array a = array::uninitialized({tk::u8, false, {bytes}});
    for (std::int64_t i = 0; i < bytes; ++i) a.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7 / 5);
    const array there = tk::device_put(a, gpu);
    CHECK(std::ranges::equal(there.values<std::uint8_t>(), a.values<std::uint8_t>()));
  }
  CHECK(fake.pinned_bytes() - pinned == 4 * staging::part_bytes);
}

TEST_CASE("a copy from the host does not wait for work of the GPU, and what reads it waits for the copy, once") {
  const fake_gpu gpu = new_gpu();
  const auto program = tk::jit(doubled, gpu, tk::at_run_time);
  const vector x0 = tk::device_put(vector(ramp(count)), gpu);
  tk::block_until_ready(program(x0));
  vector kept;
  {
    const busy forever(gpu);
    const vector x = tk::device_put(vector(ramp(count, 7)), gpu);
    tk::block_until_ready(x);  // which would never return
    CHECK(x.storage()->ready->is_done());
    const int waits = fake.calls("cuStreamWaitEvent");
    kept = program(x);
    CHECK(fake.calls("cuStreamWaitEvent") == waits + 1);
    const vector again = program(x);
    CHECK(fake.calls("cuStreamWaitEvent") == waits + 1);
    CHECK(!kept.storage()->ready->is_done());
  }
  CHECK(is_doubled(kept, 7));
}

TEST_CASE("memory that the GPU still reads is not written, and a few places are used in turn") {
  const fake_gpu gpu = new_gpu();
  const auto program = tk::jit(doubled, gpu, tk::at_run_time);
  tk::block_until_ready(program(tk::device_put(vector(ramp(count)), gpu)));
  std::vector<const void*> places;
  std::vector<vector> results;
  {
    const busy forever(gpu);
    for (int i = 0; i < 4; ++i) {
      const vector x = tk::device_put(vector(ramp(count, static_cast<float>(i))), gpu);
      places.push_back(x.storage()->data);
      results.push_back(program(x));
    }
  }
  for (int i = 0; i < 4; ++i) CHECK(is_doubled(results[static_cast<std::size_t>(i)], static_cast<float>(i)));
  std::ranges::sort(places);
  CHECK(std::ranges::adjacent_find(places) == places.end());
  fake.now.delay = 200;
  for (int i = 0; i < 40; ++i) {
    const vector x = tk::device_put(vector(ramp(count)), gpu);
    places.push_back(x.storage()->data);
    (void)program(x);
  }
  std::ranges::sort(places);
  const auto repeated = std::ranges::unique(places);
  CHECK(places.size() - repeated.size() <= 5);
}

TEST_CASE("a pipeline puts its elements on a GPU ahead of time, and its steps are recorded") {
  const fake_gpu gpu = new_gpu();
  fake.now.delay = 100;
  const auto step = [](const array& x) { return tk::cumsum(tk::sort(x, 0), 0) + tk::mean(x); };
  const auto program = tk::jit(step, gpu, tk::at_run_time);
  const auto on_cpu = tk::jit(step, tk::cpu, tk::at_run_time);
  const auto element = [](std::int32_t n) { return ramp(1100) + static_cast<float>(n); };
  const auto numbers = tk::data::tokens(std::string(80, '\3'));
  const auto batches =
      numbers | tk::data::map([=](std::int32_t n) { return tk::device_put(element(n), gpu); }) | tk::data::prefetch(3);
  const array expected = on_cpu(element(3));
  auto reader = batches.from();
  const int graphs = fake.calls("cuGraphLaunch");
  for (int i = 0; i < 80; ++i) {
    gpu.get().synchronize();  // so that the memory of the last step is free, as it is for a stream of a GPU at once
    const array x = reader.next().value;
    CHECK(x.device().name() == gpu.get().name());
    const array y = program(x);
    if (i % 10 == 9 && fake_cuda::compiles_text())
      CHECK(std::abs(y.values<float>()[1000] - expected.values<float>()[1000]) < 1);
  }
  CHECK(fake.calls("cuGraphLaunch") - graphs > 20);
}

TEST_CASE("idle memory is kept within bounds, and is given back where the GPU has no other") {
  const fake_gpu gpu = new_gpu();
  const std::size_t before = fake.used_bytes();
  const int events = fake.events();
  fake.now.delay = 20;
  for (int i = 0; i < 100; ++i) (void)tk::device_put(ramp(2000 + i), gpu);  // which nothing reads
  fake.drain();
  CHECK(fake.used_bytes() - before <= std::size_t{32} * (2100 * 4 + 64));
  CHECK(fake.events() - events <= 32 + 4);
  const std::int64_t many = std::int64_t{40} << 20;
  for (int i = 0; i < 3; ++i) CHECK(tk::device_put(ramp(many), gpu).values<float>()[5] == 5);
  fake.drain();
  CHECK(fake.used_bytes() - before <= std::size_t{1} << 28);
  fake.now.memory = before + (std::size_t{1} << 28);
  const array large = tk::device_put(ramp((std::int64_t{1} << 26) - 100), gpu);
  CHECK(large.values<float>().back() == static_cast<float>((1 << 26) - 101));
  CHECK_THROWS_WITH(tk::device_put(ramp(many), gpu), contains("memory of f32[41943040]: found no "));
}

TEST_CASE("where pinned memory is refused, arrays come without it") {
  const fake_gpu gpu = new_gpu();
  const std::size_t pinned = fake.pinned_bytes();
  for (const int refused : {0, 1, 2}) {  // the first part, and one in the middle of an array
    fake.fail("cuMemHostAlloc", fake_cuda::out_of_memory, refused);
    CHECK(is_ramp(tk::device_put(ramp(std::int64_t{3} << 20), gpu)));
    fake.forget_failures();
  }
  CHECK(is_ramp(tk::device_put(ramp(std::int64_t{5} << 20), gpu)));
  CHECK(fake.pinned_bytes() - pinned == 4 * staging::part_bytes);
}

TEST_CASE("a call of a copy that fails is named once, and the program goes on") {
  const fake_gpu gpu = new_gpu();
  const auto program = tk::jit(doubled, gpu, tk::at_run_time);
  float first = 0;
  const auto work = [&] {
    first += 1;
    const vector x = tk::device_put(vector(ramp(count, first)), gpu);
    const vector unread = tk::device_put(vector(ramp(count, first)), gpu);
    const vector y = program(x);
    if (!is_doubled(y, first) || !is_ramp(x, first)) throw std::runtime_error("wrong values");
  };
  work();
  for (const char* name : {"cuCtxSetCurrent", "cuMemAllocAsync", "cuMemFreeAsync", "cuMemHostAlloc",
                           "cuStreamWaitEvent", "cuMemcpyHtoDAsync_v2", "cuEventCreate", "cuEventRecord",
                           "cuEventQuery", "cuEventSynchronize", "cuEventDestroy_v2"})
    for (int others = 0; others < 12; ++others) {
      CAPTURE(name, others);
      fake.fail(name, fake_cuda::unknown, others);
      const std::string message = message_of(work);
      fake.forget_failures();
      if (!message.empty()) {
        CHECK_THAT(message, contains("cuda: ") && contains("FAKE_ERROR: as the test wants"));
        CHECK_THAT(name, !contains("MemFree") && !contains("MemHostAlloc") && !contains("Destroy"));
      }
      CHECK(message_of(work).empty());
    }
}

TEST_CASE("a GPU that is lost names the copy, releases what was put, and leaves others alone") {
  const fake_gpu broken = new_gpu(), whole = new_gpu();
  const auto program = tk::jit(doubled, broken), on_whole = tk::jit(doubled, whole);
  const vector x = tk::device_put(vector(ramp(count)), broken);
  tk::block_until_ready(program(x));
  fake.fail_kernel(broken.one->number(), fake_cuda::illegal_address);
  std::optional<vector> later = tk::device_put(vector(ramp(count)), broken);
  const vector y = program(*later);
  CHECK_THROWS_WITH(tk::block_until_ready(y), contains("FAKE_ILLEGAL_ADDRESS") && contains("steps up to a loop"));
  CHECK_THROWS_WITH(tk::block_until_ready(*later), contains("work on " + std::string(broken.get().name())) &&
                                                       contains("the steps up to a copy from the host"));
  std::thread([&] { later.reset(); }).join();
  for (int i = 0; i < 6; ++i) CHECK_THROWS_WITH(tk::device_put(ramp(count), broken), contains("FAKE_ILLEGAL_ADDRESS"));
  CHECK(is_doubled(on_whole(tk::device_put(vector(ramp(count, 3)), whole)), 3));
}

TEST_CASE("threads put arrays on two GPUs at once, while others record") {
  const fake_gpu all[] = {new_gpu(), new_gpu()};
  const auto step = [](const array& x) { return tk::cumsum(tk::sort(x, 0), 0) * 0.5f + tk::mean(x); };
  const auto on_cpu = tk::jit(step, tk::cpu, tk::at_run_time);
  array expected = ramp(1100);
  for (int i = 0; i < 12; ++i) expected = on_cpu(std::move(expected)) * 1e-3f;
  fake.now.delay = 30;
  const int strays = fake.strays(), recorded = fake.calls("cuStreamEndCapture");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (const fake_gpu gpu : all) {
    const auto program = tk::jit(doubled, gpu, tk::at_run_time);
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([=, &wrong] {
        for (int i = 0; i < 30; ++i) {
          const auto first = static_cast<float>(1000 * t + i);
          const vector x = tk::device_put(vector(ramp(count, first)), gpu);
          wrong += !is_doubled(program(x), first) || !is_ramp(x, first);
          if (i % 10 == t) wrong += !is_ramp(tk::device_put(ramp((std::int64_t{2} << 20) + t, first), gpu), first);
        }
      });
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([=, &wrong] {
        for (int round = 0; round < 3; ++round) {  // programs that are new compile ahead while the other thread records
          const auto own = tk::jit([&](const array& x) { return step(x) * 1e-3f; }, gpu, tk::at_run_time);
          array x = tk::device_put(ramp(1100), gpu);
          for (int i = 0; i < 12; ++i) {
            x = own(std::move(x));
            gpu.get().synchronize();
          }
          const auto found = x.values<float>(), known = expected.values<float>();
          bool same = true;
          for (std::size_t i = 0; i < found.size(); ++i)
            same = same && std::abs(found[i] - known[i]) <= 1e-3f * (1 + std::abs(known[i]));
          wrong += !same && fake_cuda::compiles_text();
        }
      });
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  CHECK(fake.strays() == strays);
  CHECK(fake.calls("cuStreamEndCapture") > recorded);
}

TEST_CASE("a thread that records puts nothing, and other threads do") {
  const fake_gpu gpu = new_gpu();
  stream apart = nullptr;
  const std::size_t pinned = fake.pinned_bytes();
  CHECK(gpus.create_stream(&apart, non_blocking_stream) == 0);
  CHECK(gpus.begin_capture(apart, capture_of_thread) == 0);
  void* p = nullptr;
  std::thread([&] { CHECK(is_ramp(tk::device_put(ramp(count), gpu))); }).join();
  CHECK(fake.pinned_bytes() - pinned == staging::part_bytes);
  launch_graph made = nullptr;
  CHECK(gpus.end_capture(apart, &made) == 0);
  CHECK(gpus.destroy_graph(made) == 0);
  CHECK(gpus.begin_capture(apart, capture_of_thread) == 0);
  CHECK(gpus.allocate_pinned(&p, 100, 0) == fake_cuda::not_while_capturing);
  CHECK(gpus.end_capture(apart, &made) == fake_cuda::capture_is_void);
}
