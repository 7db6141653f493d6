// tests/backend/cuda/run/instance.cpp: the host's part of the CUDA backend, on GPUs that are not there: memory, copies, events, code,
// and every call that can fail.
#include <tokamax/backend/cuda/run/instance.hpp>

#include <tokamax/backend/cuda.hpp>
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

/// The code of all tests but those of the cache itself.
const std::filesystem::path& shared_folder() {
  static const temporary_folder folder;
  return folder.path;
}
/// A GPU that no test has used, with a driver that works. Like those of the system it lives as long as the process.
fake_gpu new_gpu(const std::filesystem::path& code = shared_folder()) {
  static std::atomic<int> next = 0;
  fake.drain();  // other tests' arrays may be on their way out
  fake.now = {};
  fake.forget_failures();
  return {new instance(next++, tk::kernel_table_of<tk::cuda_tag>(), {gpus, compiler, code_cache(code)})};
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
array ramp(std::int64_t n) { return tk::astype(tk::arange(n), tk::f32); }

using vector = tk::tensor<tk::f32, 100>;
constexpr auto doubled = [](const vector& x) { return x * 2.0f + 1.0f; };

}  // namespace

TEST_CASE("what is missing for a GPU is named") {
  fake.now = {};
  const auto missing = [](int number = 0) { return missing_device(number, {gpus, compiler}); };
  CHECK(missing().empty());
  CHECK(missing_device(0, {driver{.absent_library = "libcuda.so.1 (no such file)"}, compiler}) ==
        "no driver: libcuda.so.1 (no such file)");
  driver::each_function(gpus, [&](auto, const char* name) {
    driver old = gpus;
    driver::each_function(old, [&](auto*& function, const char* other) {
      if (std::string_view(name) == other) function = nullptr;
    });
    CHECK(missing_device(0, {old, compiler}) == std::string("a driver without ") + name + ", which CUDA 12 has");
    CHECK_THROWS_WITH(instance(0, tk::kernel_table_of<tk::cuda_tag>(), {old, compiler}), contains(name));
  });
  fake.now = {.devices = 2};
  CHECK(missing(1).empty());
  CHECK(missing(2) == "2 GPUs");
  CHECK(missing(-1) == "2 GPUs");
  fake.now = {.devices = 0};
  CHECK(missing() == "0 GPUs");
  fake.now = {.version = 11080};
  CHECK(missing() == "a driver for CUDA 11, older than 12");
  fake.now = {.major = 7, .minor = 5};
  CHECK(missing() == "a GPU of compute capability 7, older than 8.0");
  fake.now = {.memory_pools = 0};
  CHECK(missing() == "a GPU without memory pools");
  fake.now = {};
  CHECK(missing_device(0, {gpus, nvrtc{.absent_library = "libnvrtc.so.13 (no such file)"}}) ==
        "no libnvrtc.so.13 (no such file)");
  nvrtc old = compiler;
  old.code = nullptr;
  CHECK(missing_device(0, {gpus, old}) == "an NVRTC without nvrtcGetCUBIN");
  for (const char* name : {"cuInit", "cuDeviceGetCount", "cuDriverGetVersion", "cuDeviceGet", "cuDeviceGetAttribute"}) {
    fake.fail(name, fake_cuda::no_device);
    CHECK(missing() == "FAKE_NO_DEVICE: as the test wants");
  }
  CHECK_THROWS_WITH(instance(40, tk::kernel_table_of<tk::cuda_tag>(), {gpus, compiler}),
                    contains("cuda: device: found 32 GPUs, expected cuda:40"));
}

TEST_CASE("NVRTC compiles for the architecture of the GPU") {
  fake.now = {.major = 8, .minor = 6};
  const auto table = []() -> const tk::kernel_table& { return tk::kernel_table_of<tk::cuda_tag>(); };
  CHECK((new instance(31, table(), {gpus, compiler}))->architecture() == "sm_86");
  fake.now = {.major = 10, .minor = 0};
  CHECK((new instance(31, table(), {gpus, compiler}))->architecture() == "sm_100a");
}

TEST_CASE("data goes to a GPU and back in the order of its queue") {
  const fake_gpu gpu = new_gpu();
  const std::size_t before = fake.used_bytes();
  {
    fake.now.delay = 300;
    array x = tk::device_put(ramp(1000), gpu);
    CHECK(x.device().name().starts_with("cuda:"));
    for (int i = 0; i < 20; ++i) {
      const array y = tk::device_put(ramp(10 + i), gpu);
      CHECK(y.values<float>().back() == static_cast<float>(9 + i));
    }
    CHECK(x.values<float>()[999] == 999.0f);
    CHECK(tk::device_put(array::from<float>({}), gpu).values<float>().empty());
    CHECK(fake.used_bytes() > before);
  }
  gpu.get().synchronize();
  CHECK(fake.used_bytes() == before);
  fake.now.delay = 0;
}

TEST_CASE("memory that is used up is named, and is there again when arrays have gone") {
  const fake_gpu gpu = new_gpu();
  fake.now.memory = fake.used_bytes() + 100'000;
  {
    const array x = tk::device_put(ramp(20'000), gpu);
    CHECK_THROWS_WITH(tk::device_put(ramp(20'000), gpu),
                      contains("memory of f32[20000]: found no 80000 bytes, expected free memory (cuda"));
    CHECK(x.values<float>()[19'999] == 19'999.0f);
  }
  gpu.get().synchronize();
  CHECK(tk::device_put(ramp(20'000), gpu).values<float>()[3] == 3.0f);
}

TEST_CASE("a call that fails is named once, and the program goes on") {
  const fake_gpu gpu = new_gpu();
  const auto program = tk::jit(doubled, gpu, tk::at_run_time);
  tk::block_until_ready(program(vector(ramp(100))));
  gpu.get().synchronize();
  const std::size_t before = fake.used_bytes();
  const auto work = [&] {
    const vector x = tk::device_put(vector(ramp(100)), gpu);
    const array y = program(x);
    const array z = tk::exp(x);  // an op of its own
    if (y.values<float>().size() + z.values<float>().size() != 200) throw std::runtime_error("wrong sizes");
  };
  work();
  driver::each_function(gpus, [&](auto, const char* name) {
    for (int others = 0; others < 12; ++others) {
      CAPTURE(name, others);
      const int calls = fake.calls(name);
      fake.fail(name, fake_cuda::unknown, others);
      const std::string message = message_of(work);
      const bool happened = fake.calls(name) - calls > others;
      fake.forget_failures();
      const std::string_view which = name;
      const bool recording = which.starts_with("cuStreamBeginCapture") || which == "cuStreamEndCapture" ||
                             which.starts_with("cuGraphInstantiate") || which.ends_with("Destroy");
      const bool harmless = recording || which == "cuMemFreeAsync" || which == "cuEventDestroy_v2";
      if (happened && !harmless &&
          message.empty()) {  // some calls happen while memory is released, where none may throw
        CHECK(std::string_view(name) == "cuCtxSetCurrent");
      } else if (!message.empty()) {
        CHECK_THAT(message, contains("cuda: "));
        CHECK_THAT(message, contains("FAKE_ERROR: as the test wants"));
      }
      CHECK(message_of(work).empty());
    }
  });
  gpu.get().synchronize();
  CHECK(fake.used_bytes() >= before);  // what a failing release has kept
}

TEST_CASE("errors of a kernel name it, and other GPUs and the host go on") {
  const fake_gpu broken = new_gpu(), whole = new_gpu();
  const auto on_broken = tk::jit(doubled, broken), on_whole = tk::jit(doubled, whole);
  tk::block_until_ready(on_broken(vector(ramp(100))));
  fake.fail("cuLaunchKernel", fake_cuda::launch_failed);
  CHECK_THROWS_WITH(on_broken(vector(ramp(100))), contains("cuda: launch of a loop: found FAKE_LAUNCH_FAILED"));
  tk::block_until_ready(on_broken(vector(ramp(100))));

  fake.fail_kernel(broken.one->number(), fake_cuda::illegal_address);
  const array lost = on_broken(vector(ramp(100)));
  CHECK_THROWS_WITH(lost.values<float>(), contains("work on " + std::string(broken.get().name()) +
                                                   ": found FAKE_ILLEGAL_ADDRESS: as the test wants, expected success "
                                                   "of the steps up to a loop"));
  CHECK_THROWS_WITH(tk::block_until_ready(lost), contains("FAKE_ILLEGAL_ADDRESS"));
  CHECK_THROWS_AS(on_broken(vector(ramp(100))), tk::error);  // the GPU is lost for the process
  CHECK_THROWS_WITH(broken.get().synchronize(), contains("FAKE_ILLEGAL_ADDRESS"));
  CHECK(on_whole(vector(ramp(100))).values<float>().size() == 100);
  CHECK(tk::sum(ramp(100)).item() == 4950.0f);
}

TEST_CASE("text that does not compile is reported with the messages of the compiler") {
  if (!fake_cuda::compiles_text()) return;
  const fake_gpu gpu = new_gpu();
  fake.now.runs_kernels = true;
  const std::string text = "#define KERNEL(name, data)\nthis is no text\n";
  CHECK_THROWS_WITH(gpu.one->kernel_of(text, "k"),
                    contains("cuda: device text: found fake compiler") && contains("this"));
  fake.now.runs_kernels = false;
  for (const char* name : {"nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize", "nvrtcGetCUBIN"}) {
    fake.fail(name, 5);
    CHECK_THROWS_WITH(gpu.one->kernel_of("KERNEL(k, data)", "k"), contains("cuda: device text"));
  }
  CHECK(gpu.one->kernel_of("KERNEL(k, data)", "k"));
  CHECK_THROWS_WITH(gpu.one->kernel_of("KERNEL(k, data)", "other"), contains("cuda: kernel other"));
}

TEST_CASE("compiled code is found on disk by the next process, and is compiled again if it is damaged") {
  const temporary_folder folder;
  const auto compilations = [&] {  // of a GPU that has nothing in its own memory
    const fake_gpu gpu = new_gpu(folder.path);
    const int before = fake.calls("nvrtcCompileProgram");
    CHECK(gpu.one->kernel_of("KERNEL(k, data)", "k"));
    CHECK(gpu.one->kernel_of("KERNEL(k, data)", "k"));
    return fake.calls("nvrtcCompileProgram") - before;
  };
  CHECK(compilations() == 1);
  CHECK(compilations() == 0);
  const std::filesystem::path file = *std::filesystem::directory_iterator(folder.path);
  const auto size = std::filesystem::file_size(file);
  for (const auto kept : {std::uintmax_t{0}, std::uintmax_t{10}, size / 2, size - 33, size - 1}) {
    std::filesystem::resize_file(file, kept);
    CHECK(compilations() == 1);
    CHECK(compilations() == 0);
  }
  const fake_gpu gpu = new_gpu(folder.path);
  const int before = fake.calls("nvrtcCompileProgram");
  fake.fail("cuModuleLoadData", fake_cuda::unknown);  // code of another driver
  CHECK(gpu.one->kernel_of("KERNEL(k, data)", "k"));
  CHECK(fake.calls("nvrtcCompileProgram") - before == 1);
}

TEST_CASE("several GPUs and threads run one program") {
  const bool runs = fake_cuda::compiles_text();
  const fake_gpu all[] = {new_gpu(), new_gpu(), new_gpu()};
  fake.now = {.runs_kernels = runs, .delay = 200};
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (const fake_gpu gpu : all)
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([=, &wrong] {
        const auto program = tk::jit(doubled, gpu);
        vector x(ramp(100));
        for (int i = 0; i < 20; ++i) x = program(std::move(x));
        const auto found = x.values<float>();
        for (std::size_t i = 0; i < found.size(); ++i) {
          float expected = static_cast<float>(i);
          for (int k = 0; k < 20; ++k) expected = expected * 2 + 1;
          wrong += runs && found[i] != expected;
        }
      });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  for (const fake_gpu gpu : all) gpu.get().synchronize();
  fake.now = {};
}

TEST_CASE("arrays of one GPU wait for the other's work, and do not mix") {
  const fake_gpu one = new_gpu(), two = new_gpu();
  fake.now = {.runs_kernels = fake_cuda::compiles_text(), .delay = 500};
  const array a = tk::jit(doubled, one)(vector(ramp(100)));
  const array b = tk::device_put(a, two);
  if (fake_cuda::compiles_text()) CHECK(b.values<float>()[99] == 199.0f);
  CHECK_THROWS_WITH(a + b, contains("device: operands of add"));
  fake.now = {};
}
