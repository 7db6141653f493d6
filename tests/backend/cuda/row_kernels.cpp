// tests/backend/cuda/row_kernels.cpp: norms, cross entropy and attention on a GPU give what the CPU gives; their text compiles.
#include <tokamax/backend/cuda.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

#include <cmath>

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
