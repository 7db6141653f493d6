// tests/backend/cuda/run/conditional_node.cpp: control flow that GPUs decide about in CUDA graphs, on GPUs that are not there.
#include <tokamax/backend/cuda/run/conditional_node.hpp>

#include <tokamax/backend/cuda.hpp>
#include <tokamax/backend/cuda/precompile.hpp>
#include <tokamax/tokamax.hpp>

#include <functional>
#include <tuple>

#include "support/catch.hpp"
#include "support/control_flow_cases.hpp"
#include "support/fake_cuda.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::control_flow_case;
using tk::test::fake_cuda;
using tk::test::fake_gpu;
using namespace tk::cuda_backend;

namespace {

fake_cuda& fake = fake_cuda::get();
const driver& gpus = *new driver(fake_cuda::driver());
const nvrtc& compiler = *new nvrtc(fake_cuda::compiler());

std::vector<float> values_of(const array& x) {
  const auto v = x.values<float>();
  return {v.begin(), v.end()};
}

/// What was called through a driver that counts, on the way to another one.
struct counts {
  static inline std::atomic<int> all_kernels, all_graphs, all_reads;
  static inline std::string refused;  ///< the last call that failed, for messages
  static inline const driver* inner = nullptr;

  /// A function whose failures are noted.
  template <auto Function>
  struct watched {
    static inline const char* name = "";
    template <class... Arguments>
    static int call(Arguments... a) {
      const int result = (inner->*Function)(a...);
      if (result != driver_success) refused = name + (": " + inner->text_of(result));
      return result;
    }
    template <class... Arguments>
    static void begin(int (*&function)(Arguments...), const char* its_name) {
      name = its_name;
      if (function) function = &call<Arguments...>;
    }
  };
  static driver around(const driver& to) {
    inner = &to;
    driver d = to;
    d.launch = [](auto... a) { return ++all_kernels, inner->launch(a...); };
    d.run_graph = [](auto... a) { return ++all_graphs, inner->run_graph(a...); };
    d.copy_to_host = [](auto... a) { return ++all_reads, inner->copy_to_host(a...); };
    watched<&driver::capture_of>::begin(d.capture_of, "capture_of");
    watched<&driver::go_on_behind>::begin(d.go_on_behind, "go_on_behind");
    watched<&driver::begin_capture_to>::begin(d.begin_capture_to, "begin_capture_to");
    watched<&driver::create_condition>::begin(d.create_condition, "create_condition");
    watched<&driver::add_node>::begin(d.add_node, "add_node");
    watched<&driver::end_capture>::begin(d.end_capture, "end_capture");
    watched<&driver::instantiate>::begin(d.instantiate, "instantiate");
    watched<&driver::load_module>::begin(d.load_module, "load_module");
    watched<&driver::find_function>::begin(d.find_function, "find_function");
    return d;
  }
  int kernels = all_kernels, graphs = all_graphs, reads = all_reads, turns = fake.turns();
};
/// Loops of GPUs whose kernels do nothing would not end.
bool runs_kernels() {
  if (!fake_cuda::compiles_text()) WARN("skipped: no compiler for device text");
  return fake_cuda::compiles_text();
}
/// A GPU whose calls are counted. Number 0 is the one of the machine.
fake_gpu new_gpu(const driver& to = gpus) {
  static const temporary_folder folder;
  static std::atomic<int> next = 1;
  fake.drain();
  fake.forget_failures();
  fake.now = {.runs_kernels = fake_cuda::compiles_text()};
  const driver& counting = *new driver(counts::around(to));  // lives as long as its GPU
  return {new instance(next++, tk::kernel_table_of<tk::cuda_tag>(), {counting, compiler, code_cache(folder.path)})};
}

constexpr int last_runs = 4;

/// Runs a case again and again in the same memory. All runs give the bits of the first one, in which the host decides, and
/// the values of the CPU.
counts check_repeated(const control_flow_case& c, const fake_gpu& gpu) {
  CAPTURE(c.name);
  const auto program = tk::jit([&](const array& n, const array& x) { return c.function(n, x); }, gpu, tk::at_run_time);
  const array n = tk::device_put(c.n, gpu), x = tk::device_put(c.x, gpu);
  const auto expected = values_of(c.function(c.n, c.x)), first = values_of(program(n, x));
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(first[i] == Approx(expected[i]).epsilon(1e-4).margin(1e-6));
  counts before;
  for (int i = 0; i < 8 + last_runs; ++i) {
    if (i == 8) before = {};
    {
      const array y = tk::block_until_ready(program(n, x));
      const int reads = counts::all_reads;
      CHECK(values_of(y) == first);
      before.reads += counts::all_reads - reads;
    }
    gpu.get().synchronize();  // then the memory of the result is free for the next one
  }
  const counts after;
  return {after.kernels - before.kernels, after.graphs - before.graphs, after.reads - before.reads,
          after.turns - before.turns};
}
void check_decided(const control_flow_case& c, const fake_gpu& gpu) {
  counts::refused = "nothing";
  const counts last = check_repeated(c, gpu);
  CAPTURE(c.name, counts::refused);
  CHECK(last.kernels == 0);
  CHECK(last.reads == 0);
  CHECK(last.graphs == last_runs);
  if (gpu.one->number() > 0) CHECK(last.turns == last_runs * c.turns);
}

}  // namespace

TEST_CASE("control flow in a recorded program is decided by the GPU, with the bits of the host's decisions") {
  if (!runs_kernels()) return;
  const fake_gpu gpu = new_gpu();
  for (const control_flow_case& c : tk::test::control_flow_cases()) check_decided(c, gpu);
}

TEST_CASE("the GPU of this machine decides too") {
  const driver& system = driver::loaded();
  if (const std::string missing = missing_device(0); !missing.empty() || !system.has_conditions()) {
    WARN("skipped: " << (missing.empty() ? "a driver without conditions" : missing));
    return;
  }
  // Without NVIDIA's libraries, because GPUs of another driver do not have them. So bodies may have products.
  static const driver& counting = *new driver(counts::around(system));
  const fake_gpu gpu{new instance(0, tk::kernel_table_of<tk::cuda_tag>(), {counting, nvrtc::loaded(), code_cache()})};
  for (const control_flow_case& c : tk::test::control_flow_cases()) check_decided(c, gpu);
}

TEST_CASE("drivers that do not have conditions, or refuse them, leave the decisions to the host") {
  if (!runs_kernels()) return;
  const control_flow_case c = tk::test::control_flow_cases().front();
  const auto check_host = [&](const fake_gpu& gpu) {
    const counts last = check_repeated(c, gpu);
    CHECK(last.graphs == 0);
    CHECK(last.reads > last_runs);
  };
  driver::each_function_of_conditions(gpus, [&](auto, const char* name) {
    CAPTURE(name);
    driver& old = *new driver(gpus);
    driver::each_function_of_conditions(old, [&](auto*& function, const char* other) {
      if (std::string_view(name) == other) function = nullptr;
    });
    CHECK(old.missing().empty());
    CHECK(!old.has_conditions());
    check_host(new_gpu(old));
    const fake_gpu gpu = new_gpu();
    fake.fail(name, fake_cuda::unknown);
    check_host(gpu);
  });
  for (const char* name : {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"}) {
    CAPTURE(name);
    const fake_gpu gpu = new_gpu();
    fake.fail(name, fake_cuda::unknown);
    check_host(gpu);
  }
}

TEST_CASE("bodies are compiled ahead of time, for processes that have no compiler") {
  if (!runs_kernels()) return;
  new_gpu();
  const temporary_folder shipped, cache;
  static const driver &unused = *new driver(precompiling_driver()), &counting = *new driver(counts::around(gpus));
  static const nvrtc& none = *new nvrtc{.absent_library = "libnvrtc.so.13 (no such file)"};
  const auto number = [&](int n, connection to) {
    return fake_gpu{new instance(n, tk::kernel_table_of<tk::cuda_tag>(), std::move(to))};
  };
  const control_flow_case c = tk::test::control_flow_cases()[1];
  const auto with_code = [&](const driver& d, const nvrtc& n, std::vector<std::string> architectures) {
    return connection{d, n, code_cache(cache.path), code_cache(shipped.path), std::move(architectures)};
  };
  const fake_gpu ahead = number(30, with_code(unused, compiler, {"sm_90a"}));
  const auto compiled =
      tk::jit([&](const array& n, const array& x) { return c.function(n, x); }, ahead, tk::at_run_time);
  tk::block_until_ready(compiled(tk::device_put(c.n, ahead), tk::device_put(c.x, ahead)));
  check_decided(c, number(31, with_code(counting, none, {})));
}

TEST_CASE("memory that kernels of bodies take ends with the program, and so do graphs") {
  if (!runs_kernels()) return;
  const fake_gpu gpu = new_gpu();
  const auto all = tk::test::control_flow_cases();
  check_repeated(all.front(), gpu);
  gpu.get().synchronize();
  fake.drain();
  const std::size_t before = fake.used_bytes();
  const auto alive = [] { return fake.calls("cuGraphInstantiateWithFlags") - fake.calls("cuGraphExecDestroy"); };
  const int graphs = alive();
  for (const control_flow_case& c : all) check_repeated(c, gpu);
  gpu.get().synchronize();
  fake.drain();
  CHECK(alive() == graphs);
  CHECK(fake.used_bytes() <= before + 4096 * all.size());  // constants of the programs stay with the device
}

TEST_CASE("memory of bodies is given to the recording as the rehearsal took it") {
  new_gpu();
  stream s = nullptr;
  gpus.create_stream(&s, 0);
  const std::size_t before = fake.used_bytes();
  {
    body_memory memory(gpus, nullptr, s);
    const device_pointer a = memory.take(100), b = memory.take(200);
    CHECK(a != 0);
    CHECK(b != 0);
    CHECK(memory.take(std::size_t{1} << 40) == 0);
    CHECK(memory.take(~std::size_t{0}) == 0);
    fake.fail("cuMemAllocAsync", fake_cuda::out_of_memory);
    CHECK(memory.take(300) == 0);
    memory.end_rehearsal();
    CHECK(memory.take(100) == a);
    CHECK(memory.take(100) == 0);  // not what the rehearsal took
    CHECK(memory.take(200) == b);
    CHECK(memory.take(200) == 0);
  }
  gpus.synchronize_stream(s);
  CHECK(fake.used_bytes() == before);
}

TEST_CASE("loops that the host must take part in are done anew each time") {
  if (!runs_kernels()) return;
  const fake_gpu gpu = new_gpu();
  static int calls = 0;
  const auto f = [](const array& x) {
    return tk::while_loop([](const array& v) { return tk::sum(v) < 100.0f; },
                          [](const array& v) {
                            tk::io_callback([](const tk::arrays&) { return ++calls, tk::arrays(); }, {}, {v});
                            return v * 2.0f;
                          },
                          x);
  };
  const auto program = tk::jit(f, gpu, tk::at_run_time);
  const array x = tk::device_put(tk::full({10}, 1.0f) + 0.0f, gpu);
  for (int i = 0; i < 6; ++i) tk::block_until_ready(program(x));
  CHECK(calls == 6 * 4);
}

TEST_CASE("threads record loops of their own at the same time") {
  if (!runs_kernels()) return;
  const fake_gpu gpu = new_gpu();
  const auto all = tk::test::control_flow_cases();
  fake.now.delay = 20;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const control_flow_case& c = all[t % 2];
      const auto program =
          tk::jit([&](const array& n, const array& x) { return c.function(n, x); }, gpu, tk::at_run_time);
      const array n = tk::device_put(c.n, gpu), x = tk::device_put(c.x, gpu);
      const auto first = values_of(program(n, x));
      for (int i = 0; i < 10; ++i) wrong += values_of(program(n, x)) != first;
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  fake.now.delay = 0;
}
