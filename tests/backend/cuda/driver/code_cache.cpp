// tests/backend/cuda/driver/code_cache.cpp: compiled code is found again under its own key only, also beside broken files.
#include <tokamax/backend/cuda/driver/code_cache.hpp>

#include <tokamax/backend/cuda.hpp>
#include <tokamax/backend/cuda/precompile.hpp>
#include <tokamax/tokamax.hpp>

#include <set>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/fake_cuda.hpp"
#include "support/temporary_folder.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace tk = tokamax;
using tk::test::fake_cuda;
using namespace tk::cuda_backend;

namespace {

const driver& fake_gpus() {
  static const driver& one = *new driver(fake_cuda::driver());
  return one;
}
const nvrtc& fake_compiler() {
  static const nvrtc& one = *new nvrtc(fake_cuda::compiler());
  return one;
}
const nvrtc& no_compiler() {
  static const nvrtc& one = *new nvrtc{.absent_library = "libnvrtc.so.13 (no such file)"};
  return one;
}
const driver& unused_gpus() {
  static const driver& one = *new driver(precompiling_driver());
  return one;
}
tk::test::fake_gpu new_gpu(int number, connection to) {
  return {new instance(number, tk::kernel_table_of<tk::cuda_tag>(), std::move(to))};
}
/// A step with loops, reductions and a sort.
tk::array step(const tk::array& x) {
  const tk::array y = tk::cumsum(tk::sort(x, 0), 0);
  return tk::tanh(y - tk::mean(y)) + 0.5f * tk::sum(x, {.axis = {0}, .keepdims = true});
}
tk::array start_of(std::int64_t n) { return tk::sin(tk::reshape(tk::astype(tk::arange(n * n), tk::f32), {n, n})); }
int files_in(const std::filesystem::path& folder) {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("a cache of code keeps what it is given") {
  const temporary_folder folder;
  const code_cache cache(folder.path / "new" / "folder");
  CHECK(!cache.find("text"));
  cache.keep("text", std::string("\0code\n", 6));
  CHECK(cache.find("text") == std::string("\0code\n", 6));
  CHECK(!cache.find("other text"));
  CHECK(code_cache(folder.path / "new" / "folder").find("text").has_value());
}

TEST_CASE("a file that is cut off or damaged counts as absent") {
  const temporary_folder folder;
  const code_cache cache(folder.path);
  const std::string code = "code that is long enough";
  cache.keep("text", code);
  const std::filesystem::path file = *std::filesystem::directory_iterator(folder.path);
  for (auto kept = std::filesystem::file_size(file); kept-- > 0;) {
    std::filesystem::resize_file(file, kept);
    CHECK(!cache.find("text"));
  }
  cache.keep("text", code);
  std::fstream(file, std::ios::binary | std::ios::in | std::ios::out).seekp(-40, std::ios::end).put('\0');
  CHECK(!cache.find("text"));
  cache.keep("text", code);
  CHECK(cache.find("text") == code);
}

TEST_CASE("two processes keep code in one folder, and find whole files only") {
  const temporary_folder folder;
  const code_cache cache(folder.path);
  const std::string code(100'000, 'c');
  const auto work = [&] {
    bool right = true;
    for (int i = 0; i < 100; ++i) {
      cache.keep("text", code);
      const auto found = cache.find("text");
      right = right && found && *found == code;
    }
    return right;
  };
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  CHECK(work());
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);  // no drafts are left
}

TEST_CASE("a folder that cannot be written keeps nothing") {
  const temporary_folder folder;
  const code_cache cache(folder.write("file", "") / "folder");
  cache.keep("text", "code");
  CHECK(!cache.find("text"));
}

TEST_CASE("lists of architectures are read, and others are named") {
  CHECK(architectures_of("sm_80") == std::vector<std::string>{"sm_80"});
  CHECK(architectures_of("sm_90a,sm_100a,sm_120f") == std::vector<std::string>{"sm_90a", "sm_100a", "sm_120f"});
  CHECK(architectures_of("").empty());
  for (const char* wrong :
       {"sm_", "sm_9", "sm_90b", "sm_90aa", "compute_90", "90", "sm_80,,sm_90", "sm_1234", " sm_80"})
    CHECK_THROWS_WITH(architectures_of(wrong), contains("TOKAMAX_CUDA_PRECOMPILE: found '"));
}

/// Runs a step on GPUs that do nothing, so that its code is compiled.
void precompile(const nvrtc& compiler, const temporary_folder& cache, const code_cache& shipped,
                std::vector<std::string> architectures) {
  static std::atomic<int> number = 0;
  const tk::test::fake_gpu none =
      new_gpu(number++, {unused_gpus(), compiler, code_cache(cache.path), shipped, std::move(architectures)});
  for (int i = 0; i < 3; ++i)
    CHECK(tk::jit(step, none, tk::at_run_time)(tk::device_put(start_of(6), none)).values<float>().size() == 36);
  CHECK(tk::device_put(start_of(3), none).values<float>()[5] == start_of(3).values<float>()[5]);
}

TEST_CASE("what is compiled ahead of time is found by a process that has no compiler") {
  fake_cuda& fake = fake_cuda::get();
  fake.now = {};
  const temporary_folder shipped, cache;
  const code_cache code(shipped.path);
  const int launched = fake.calls("cuLaunchKernel");
  precompile(fake_compiler(), cache, code, {"sm_90a", "sm_80"});
  CHECK(fake.calls("cuLaunchKernel") == launched);
  const int texts = files_in(shipped.path);
  CHECK(texts % 2 == 0);
  CHECK(texts >= 8);
  CHECK(files_in(cache.path) == texts);  // so that another program finds them

  const int compiled = fake.calls("nvrtcCompileProgram"), loaded = fake.calls("cuModuleLoadData");
  precompile(fake_compiler(), cache, code, {"sm_90a", "sm_80"});  // once more, as an unchanged program does
  CHECK(fake.calls("nvrtcCompileProgram") == compiled);
  for (const int minor : {0, 1}) {
    fake.now.minor = minor;
    const tk::test::fake_gpu gpu = new_gpu(minor, {fake_gpus(), no_compiler(), code_cache(cache.path), code});
    const auto run = [&] { return tk::jit(step, gpu, tk::at_run_time)(tk::device_put(start_of(6), gpu)); };
    if (minor == 1) {  // an architecture that was not named
      CHECK_THROWS_WITH(run(), contains("cuda: NVRTC: found no libnvrtc.so.13"));
      continue;
    }
    tk::block_until_ready(run());
    CHECK(fake.calls("cuModuleLoadData") - loaded == texts / 2);
  }
  CHECK(fake.calls("nvrtcCompileProgram") == compiled);
  fake.now = {};
}

TEST_CASE("code for GPUs needs a compiler or a folder where it was shipped") {
  const temporary_folder folder;
  fake_cuda::get().now = {};
  CHECK(missing_device(0, {fake_gpus(), no_compiler(), code_cache(folder.path), code_cache(folder.path / "none")}) ==
        "no libnvrtc.so.13 (no such file)");
  CHECK(missing_device(0, {fake_gpus(), no_compiler(), code_cache(folder.path), code_cache(folder.path)}).empty());
  CHECK(missing_device(0, {fake_gpus(), no_compiler(), code_cache(folder.path), code_cache(folder.path), {"sm_80"}}) ==
        "no libnvrtc.so.13 (no such file)");
  const connection closed{unused_gpus(),
                          fake_compiler(),
                          code_cache(folder.path),
                          code_cache(folder.write("file", "") / "folder"),
                          {"sm_80"}};
  CHECK_THROWS_WITH(closed.precompile("KERNEL(k, data)", contraction::off), contains("cuda: folder of code"));
}

TEST_CASE("NVRTC compiles ahead of time for the named architecture, and the next process asks it nothing") {
  if (!nvrtc::loaded().missing().empty()) {
    WARN("skipped: " << nvrtc::loaded().missing());
    return;
  }
  static std::atomic<int> loaded = 0;
  static fake_cuda::kernel nothing;
  const temporary_folder shipped, cache;
  precompile(nvrtc::loaded(), cache, code_cache(shipped.path), {"sm_90a"});
  const int texts = files_in(shipped.path);
  CHECK(texts >= 4);
  static driver gpus = fake_gpus();
  gpus.load_module = [](module_handle* m, const void* code) {  // what a driver sees at the start of such code
    loaded += std::string_view(static_cast<const char*>(code), 4) ==
              "\x7f"
              "ELF";
    return *m = reinterpret_cast<module_handle>(&nothing), 0;
  };
  gpus.find_function = [](function_handle* f, module_handle, const char*) {
    return *f = reinterpret_cast<function_handle>(&nothing), 0;
  };
  fake_cuda::get().now = {};
  const tk::test::fake_gpu gpu = new_gpu(2, {gpus, no_compiler(), code_cache(cache.path), code_cache(shipped.path)});
  tk::block_until_ready(tk::jit(step, gpu, tk::at_run_time)(tk::device_put(start_of(6), gpu)));
  CHECK(loaded == texts);
}
