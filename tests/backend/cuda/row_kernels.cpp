// tests/backend/cuda/row_kernels.cpp: norms, cross entropy and attention on a GPU give what the CPU gives; their text compiles.
#include <tokamax/backend/cuda.hpp>
#include <tokamax/backend/cuda/driver/nvrtc.hpp>
#include <tokamax/backend/cuda/kernels/attention.hpp>
#include <tokamax/backend/cuda/kernels/cross_entropy.hpp>
#include <tokamax/backend/cuda/kernels/norm.hpp>
#include <tokamax/backend/cuda/kernels/rotary_embedding.hpp>
#include <tokamax/backend/cuda/kernels/softmax.hpp>
#include <tokamax/backend/cuda/libraries/attention_library.hpp>
#include <tokamax/backend/cuda/libraries/cudnn.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/fake_cuda.hpp"
#include "support/temporary_folder.hpp"

#include <cmath>
#include <map>
#include <thread>

namespace tk = tokamax;
using tk::array;
using namespace tk::cuda_backend;

namespace {

bool found_gpu() {
  if (tk::cuda.is_available()) return true;
  WARN("skipped: " << tk::cuda.missing());
  return false;
}
/// The largest difference of two arrays, in units of the largest number, or of 0.01 if all are smaller.
double distance(const array& found, const array& expected) {
  const array x = tk::astype(found, tk::f32), y = tk::astype(expected, tk::f32);
  REQUIRE(x.shape() == y.shape());
  const auto a = x.values<float>(), b = y.values<float>();
  double most = 0, scale = 1e-2;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return std::numeric_limits<double>::infinity();
    most = std::max(most, std::fabs(double{a[i]} - double{b[i]}));
    scale = std::max(scale, std::fabs(double{b[i]}));
  }
  return most / scale;
}
/// Compares an op on the CPU in f32 with the same on the GPU in a dtype, whose operands are rounded for both.
template <class F>
void check(F f, tk::arrays in, tk::dtype t, double bound) {
  CAPTURE(tk::name(t));
  tk::arrays wide, narrow;
  for (const array& x : in) {
    const bool rounds = x.dtype() == tk::f32;
    const array y = rounds ? tk::astype(x, t) : x;
    wide.push_back(rounds ? tk::astype(y, tk::f32) : y);
    narrow.push_back(tk::device_put(y, tk::cuda));
  }
  const tk::arrays expected = f(wide), found = f(narrow), again = f(narrow);
  for (std::size_t k = 0; k < expected.size(); ++k) {
    CAPTURE(k);
    CHECK(found[k].device().name() == "cuda:0");
    CHECK(distance(found[k], expected[k]) < bound);
    CHECK(distance(again[k], found[k]) == 0);  // the same bits in a second run
  }
}
array normal(int seed, tk::shape s) { return tk::random::normal(tk::random::key(seed), s); }
// --- cuDNN that is not there: it proposes some engines, which take their time and compute nothing
struct fake_engine {
  int number = 0, knob = 0, milliseconds = 1;
  bool nondeterministic = false, refuses = false;
};
struct fake_dnn {
  std::vector<fake_engine> proposed = {}, fallback = {};
  std::vector<int> runs = {}, plans = {};  ///< numbers of engines
  stream queue = nullptr;
} dnn;
struct fake_object {
  int kind = 0;
  fake_engine engine;
  std::map<int, std::int64_t> values;
};
fake_object& of(cudnn::object o) { return *static_cast<fake_object*>(o); }
/// Writes the engine of each proposal into the object that has its place.
template <class Range>
void hand_out(const Range& engines, std::int64_t most, std::int64_t* found, void* to) {
  *found = 0;
  for (const fake_engine& e : engines)
    if (*found < most) of(static_cast<cudnn::object*>(to)[(*found)++]).engine = e;
}
int fake_get(cudnn::object from, int attribute, int, std::int64_t most, std::int64_t* found, void* to) {
  fake_object& o = of(from);
  const auto one = [&](auto value) { return *found = 1, std::memcpy(to, &value, sizeof value), 0; };
  switch (attribute) {
    case 202:
      return hand_out(o.values[200] == cudnn::by_model ? dnn.proposed : dnn.fallback, most, found, to), 0;
    case 300:
    case 302:
      return hand_out(std::vector{o.engine}, most, found, to), 0;
    case 402:
      return one(std::int64_t{128});
    case 600:
      return one(int{17});
    case 601:
      return one(std::int64_t{o.engine.knob});
    case 1301:
      return one(std::int64_t{o.engine.number});
    case 1303:
      return o.engine.nondeterministic ? one(int{cudnn::note_nondeterministic}) : (*found = 0);
    default:
      return 1;
  }
}
cudnn fake_dnn_functions() {
  cudnn f;
  f.version = [] { return std::size_t{91400}; };
  f.create = [](cudnn::handle_type* h) { return *h = reinterpret_cast<cudnn::handle_type>(&dnn), 0; };
  f.set_stream = [](cudnn::handle_type, stream s) { return dnn.queue = s, 0; };
  f.create_object = [](int kind, cudnn::object* o) { return *o = new fake_object{kind, {}, {}}, 0; };
  f.destroy_object = [](cudnn::object o) { return delete &of(o), 0; };
  f.set = [](cudnn::object to, int attribute, int kind, std::int64_t, const void* values) {
    if (kind == cudnn::of_heuristic) of(to).values[attribute] = *static_cast<const int*>(values);
    if (kind == cudnn::of_object && attribute == 401) of(to).engine = of(*static_cast<void* const*>(values)).engine;
    return 0;
  };
  f.get = fake_get;
  f.finish = [](cudnn::object o) {
    if (of(o).kind != cudnn::execution_plan) return 0;
    if (of(o).engine.refuses) return 3000;
    return dnn.plans.push_back(of(o).engine.number), 0;
  };
  f.execute = [](cudnn::handle_type, cudnn::object plan, cudnn::object) {
    const fake_engine e = of(plan).engine;
    dnn.runs.push_back(e.number);
    tk::test::fake_cuda::of(dnn.queue).add([e] {
      std::this_thread::sleep_for(std::chrono::milliseconds(e.milliseconds));
      return 0;
    });
    return 0;
  };
  return f;
}
/// A GPU of the fake driver whose choices are kept in a folder.
instance& gpu_with_choices(int number, const std::filesystem::path& folder) {
  using tk::test::fake_cuda;
  static const auto& gpus = *new driver(fake_cuda::driver());
  static const auto& compiler = *new nvrtc(fake_cuda::compiler());
  fake_cuda::get().now = {};
  return *new instance(number, tk::kernel_table_of<tk::cuda_tag>(), {gpus, compiler, code_cache(folder)});
}
/// The engine that a library takes for a problem, after two runs, and how many runs the first one was.
std::pair<std::string, std::size_t> taken(instance& gpu, const attention_problem& p, std::int64_t least = 0) {
  static const cudnn& functions = *new cudnn(fake_dnn_functions());
  attention_library library(functions, least);
  dnn.runs.clear(), dnn.plans.clear();
  const auto arguments = [&](const attention_graph& g, const auto& add) { add(g.q, &dnn); };
  const auto run = [&] { return library.run(gpu, p, false, forward_attention, arguments); };
  if (!run()) return {"refused", dnn.runs.size()};
  const std::size_t first = dnn.runs.size();
  CHECK(run());
  CHECK(dnn.runs.size() == first + 1);
  gpu.synchronize();
  return {library.engine_of(p, false), first};
}

double bound_of(tk::dtype t) { return t == tk::f32 ? 2e-5 : t == tk::bf16 ? 1.2e-2 : 2e-3; }

}  // namespace

TEST_CASE("norms and their gradients are those of the CPU") {
  if (!found_gpu()) return;
  for (const tk::dtype t : {tk::f32, tk::bf16, tk::f16})
    for (const tk::shape& s : {tk::shape{3, 1}, tk::shape{5, 7}, tk::shape{300, 768}, tk::shape{2, 70, 3000},
                               tk::shape{9000, 1024}, tk::shape{40, 20000}}) {
      CAPTURE(s[0], s[-1]);
      const array x = normal(1, s) + 0.5f, scale = normal(2, {s[-1]}), offset = normal(3, {s[-1]}), ct = normal(4, s);
      check([](const tk::arrays& a) { return tk::arrays{tk::layer_norm(a[0], a[1], a[2]), tk::rms_norm(a[0], a[1])}; },
            {x, scale, offset}, t, bound_of(t));
      check([](const tk::arrays& a) { return tk::layer_norm_vjp(a[0], a[1], a[2], {1e-2}); }, {x, scale, ct}, t,
            bound_of(t));
      check([](const tk::arrays& a) { return tk::rms_norm_vjp(a[0], a[1], a[2], {1e-2}); }, {x, scale, ct}, t,
            bound_of(t));
    }
}

TEST_CASE("softmax and its gradient are those of the CPU") {
  if (!found_gpu()) return;
  for (const tk::dtype t : {tk::f32, tk::bf16, tk::f16})
    for (const tk::shape& s : {tk::shape{3, 1}, tk::shape{5, 7}, tk::shape{9000, 1024}, tk::shape{3, 50257}}) {
      CAPTURE(s[0], s[-1]);
      check([](const tk::arrays& a) { return tk::arrays{tk::softmax(a[0]), tk::softmax_vjp(a[0], a[1])}; },
            {normal(1, s), normal(2, s)}, t, bound_of(t));
    }
}

TEST_CASE("cross entropy and its gradient are those of the CPU") {
  if (!found_gpu()) return;
  for (const tk::dtype t : {tk::f32, tk::bf16, tk::f16})
    for (const std::int64_t classes : {1, 65, 2048, 50257, 50304}) {
      CAPTURE(classes);
      const array logits = 4.0f * normal(5, {9, classes});
      array labels = tk::array::uninitialized({tk::i32, false, {9}});
      for (std::int64_t i = 0; i < 9; ++i)
        labels.mutable_data<std::int32_t>()[i] =
            static_cast<std::int32_t>(i % 2 ? -1 - i % classes : 977 * i % classes);
      check(
          [](const tk::arrays& a) {
            const array p = tk::astype(a[2], tk::f32);
            return tk::arrays{tk::softmax_cross_entropy(a[0], a[1]),
                              tk::cross_entropy_vjp(a[0], a[1], p + 9.0f, p, p + 1.0f)};
          },
          {logits, labels, normal(6, {9})}, t, bound_of(t));
    }
}

TEST_CASE("attention and its gradients are those of the CPU") {
  if (!found_gpu()) return;
  for (const tk::dtype t : {tk::bf16, tk::f32})
    for (const bool causal : {true, false}) {
      CAPTURE(causal);
      const tk::attention_attributes o{.causal = causal, .scale = 0.125};
      const tk::shape s{2, 192, 3, 64};
      const array q = normal(7, s), k = normal(8, s), v = normal(9, s), ct = normal(10, s);
      const auto run = [o](const tk::arrays& a) {
        const tk::arrays y = tk::attention({a[0], a[1], a[2]}, o);
        const tk::arrays d = tk::attention_vjp({a[0], a[1], a[2], y[0], y[1], y[2], a[3]}, o);
        return tk::arrays{y[0], y[1], d[0], d[1], d[2]};
      };
      check(run, {q, k, v, ct}, t, t == tk::f32 ? 1e-2 : 3e-2);
    }
}

TEST_CASE("attention that is long enough to be measured has the values of the CPU, and the same bits again") {
  if (!found_gpu()) return;
  const tk::attention_attributes o{.causal = true, .scale = 0.125};
  const tk::shape s{8, 1024, 2, 64};
  const auto run = [o](const tk::arrays& a) {
    const tk::arrays y = tk::attention({a[0], a[1], a[2]}, o);
    const tk::arrays d = tk::attention_vjp({a[0], a[1], a[2], y[0], y[1], y[2], a[3]}, o);
    return tk::arrays{y[0], y[1], d[0], d[1], d[2]};
  };
  check(run, {normal(11, s), normal(12, s), normal(13, s), normal(14, s)}, tk::bf16, 3e-2);
}

TEST_CASE("the fastest engine of the library is taken, and kept on disk") {
  const temporary_folder folder;
  instance& gpu = gpu_with_choices(23, folder.path);
  attention_problem p{.batch = 2, .heads = 3, .kv_heads = 3, .queries = 16, .keys = 16, .size = 8};
  dnn = {.proposed = {{7, 1, 12}, {8, 1, 9, true}, {9, 1, 2, false, true}, {7, 3, 3}},
         .fallback = {{7, 1, 12}, {4, 0, 6}}};
  // Two times the first one, and the others that are deterministic and do not refuse; each needs one run to load its code.
  const std::size_t measured = 4 * 6;
  CHECK(taken(gpu, p, 4 * 6 * 16 * 16 * 8 + 1) == std::pair{std::string("engine 7 knobs 17=1"), std::size_t{1}});
  CHECK(taken(gpu, p) == std::pair{std::string("engine 7 knobs 17=3"), measured + 1});
  CHECK(taken(gpu, p) == std::pair{std::string("engine 7 knobs 17=3"), std::size_t{1}});  // the next process
  CHECK(dnn.plans == std::vector{7});
  dnn.proposed.pop_back();  // another version of the library, of the same number
  CHECK(taken(gpu, p).first == "engine 4 knobs 17=0");
  p.deterministic = false;
  dnn.fallback = {};
  dnn.proposed[1].milliseconds = 2;
  CHECK(taken(gpu, p).first == "engine 8 knobs 17=1");
}

TEST_CASE("the first engine that takes a graph is taken where no choice can be kept") {
  const temporary_folder folder;
  instance& gpu = gpu_with_choices(22, folder.write("file", "") / "folder");
  const attention_problem p{.batch = 2, .heads = 3, .kv_heads = 3, .queries = 16, .keys = 16, .size = 8};
  dnn = {.proposed = {{6, 0, 1, false, true}, {7, 1, 12}, {7, 3, 3}}};
  CHECK(taken(gpu, p).first == "engine 7 knobs 17=1");
  dnn = {.proposed = {{6, 0, 1, false, true}, {8, 1, 12, true}}};
  CHECK(taken(gpu, p).first == "engine 8 knobs 17=1");  // there is no other one
  dnn = {.proposed = {{6, 0, 1, false, true}}};
  CHECK(taken(gpu, p).first == "refused");
  CHECK(dnn.runs.empty());
}

TEST_CASE("attention by the library launches nothing else, unless a gradient reads the correction of lse") {
  const temporary_folder folder;
  const tk::test::fake_gpu gpu{&gpu_with_choices(19, folder.path)};
  static const cudnn& functions = *new cudnn(fake_dnn_functions());
  attention_of(*gpu.one, functions);
  dnn = {.proposed = {{7, 1, 0}}};
  const array q = tk::device_put(tk::astype(normal(1, {2, 16, 3, 8}), tk::bf16), gpu);
  const auto launches = [&](auto f) {
    const int before = tk::test::fake_cuda::get().calls("cuLaunchKernel");
    tk::block_until_ready(tk::jit(f, gpu, tk::at_run_time)(q));
    return tk::test::fake_cuda::get().calls("cuLaunchKernel") - before;
  };
  const tk::attention_attributes o{.causal = true, .scale = 0.125};
  CHECK(launches([o](const array& x) { return tk::attention({x, x, x}, o)[0]; }) == 0);
  CHECK(launches([o](const array& x) {
          const tk::arrays y = tk::attention({x, x, x}, o);
          return std::pair{y[0], y[1]};
        }) == 0);
  CHECK(launches([o](const array& x) {
          const tk::arrays y = tk::attention({x, x, x}, o);
          return std::pair{y[0], y[2]};
        }) == 1);
  CHECK(dnn.runs == std::vector{7, 7, 7});
}

TEST_CASE("copies move joined axes in words of up to 16 bytes") {
  // A third of the columns of bf16[4, 6, 48]: 16 of them are 32 bytes.
  const paired_axes part(2, {4, 6, 16}, {96, 16, 1}, {288, 48, 1}, nullptr, nullptr);
  CHECK(part.bytes == 16);
  CHECK(part.extents == tk::shape{24, 2});
  CHECK(part.from == tk::shape{2, 1});
  CHECK(part.to == tk::shape{6, 1});
  const paired_axes turned(4, {8, 8}, {1, 8}, {8, 1}, nullptr, nullptr);
  CHECK(turned.bytes == 4);
  CHECK(turned.extents == tk::shape{8, 8});
  const paired_axes whole(1, {5, 1, 6}, {6, 6, 1}, {6, 6, 1}, nullptr, reinterpret_cast<const void*>(2));
  CHECK(whole.bytes == 2);
  CHECK(whole.extents == tk::shape{15});
  CHECK(paired_axes(8, {}, {}, {}, nullptr, nullptr).extents.rank() == 0);
}

TEST_CASE("the text of row kernels compiles for all architectures") {
  if (!nvrtc::loaded().missing().empty()) return;
  const auto kernels = [](std::string_view text, std::string_view more) {
    return joined({tk::cuda_text::numbers, text, more, tk::cuda_text::numbers_end});
  };
  const std::string norms = kernels(joined({tk::cuda_text::row_part, tk::cuda_text::norm}), R"(
KERNEL(a, norm_data) { norm_forward<bf16, f32, 32, 8, 16, true>(d); }
KERNEL(b, norm_data) { norm_forward<f32, f16, 256, 4, 3, false>(d); }
KERNEL(c, norm_backward_data) { norm_backward<bf16, bf16, 32, 8, 3, true>(d); }
KERNEL(e, norm_backward_data) { norm_backward<f16, f32, 256, 1, 12, false>(d); }
KERNEL(g, norm_parameters_data) { norm_parameters<f32>(d); }
)");
  const std::string softmaxes = kernels(joined({tk::cuda_text::row_part, tk::cuda_text::softmax}), R"(
KERNEL(a, softmax_data) { softmax_forward<bf16, 32, 8, 16>(d); }
KERNEL(b, softmax_data) { softmax_backward<f32, bf16, 256, 4, 8>(d); }
)");
  const std::string losses = kernels(tk::cuda_text::cross_entropy, R"(
KERNEL(a, cross_entropy_data) { cross_entropy_forward<bf16, 8>(d); }
KERNEL(b, cross_entropy_data) { cross_entropy_forward<f32, 1>(d); }
KERNEL(c, cross_entropy_backward_data) { cross_entropy_backward<bf16, 8>(d); }
)");
  const std::string copies = kernels(tk::cuda_text::copy, R"(
KERNEL(a, copy_data) { copy_elements<u128>(d); }
KERNEL(b, copy_data) { convert_elements<bf16, f32>(d); }
KERNEL(c, fill_with_data) { fill_with<u32>(d); }
)");
  for (const char* const architecture : {"sm_80", "sm_90a", "sm_100"})
    for (const std::string& text : {norms, softmaxes, losses, copies}) CHECK(!compiled(text, architecture).empty());
}
