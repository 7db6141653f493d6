// tests/backend/cuda/parts.cpp: gradients of attention are written into the gradient of the projection that they are parts of.
#include <tokamax/compiler/parts.hpp>

#include <tokamax/backend/cuda.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/emulated_gpu.hpp"
#include "support/functions.hpp"

namespace tk = tokamax;
using tk::array;
using tk::arrays;

namespace {

array normal(int seed, tk::shape s, tk::dtype t) { return tk::astype(tk::random::normal(tk::random::key(seed), s), t); }

/// The gradient of qkv [B, T, 3 * N * H] for a cotangent of the heads' results.
arrays gradient(const array& qkv, const array& ct, std::int64_t heads) {
  const std::int64_t width = qkv.extent(2) / 3;
  const tk::shape s{qkv.extent(0), qkv.extent(1), heads, width / heads};
  arrays qkv_parts;
  for (int k = 0; k < 3; ++k) qkv_parts.push_back(tk::reshape(tk::slice_in_dim(qkv, k * width, (k + 1) * width, 2), s));
  const tk::attention_attributes o{.causal = true, .scale = 0.25};
  const arrays y = tk::attention(qkv_parts, o);
  arrays d = tk::attention_vjp({qkv_parts[0], qkv_parts[1], qkv_parts[2], y[0], y[1], y[2], ct}, o);
  for (array& x : d) x = tk::reshape(x, {s[0], s[1], width});
  return d;
}
arrays joined(const arrays& a) { return {tk::concatenate(gradient(a[0], a[1], 2), 2)}; }
arrays operands(tk::dtype t, std::int64_t length, std::int64_t size) {
  return {normal(1, {2, length, 6 * size}, t), normal(2, {2, length, 2, size}, t)};
}
/// Does the plan of a function concatenate?
template <class F>
bool concatenates(F f) {
  const arrays in = operands(tk::bf16, 16, 8);
  const auto p = tk::detail::owned_program::make(tk::test::trace(f, {in[0].type(), in[1].type()}),
                                                 tk::kernel_table_of<tk::cuda_tag>());
  const tk::plan_view v = p->code.plan();
  bool found = false;
  for (int i = 0; i < v.step_count; ++i)
    found = found || (v.steps[i].kind == tk::step_kind::kernel && v.ops[v.steps[i].function] == &tk::concatenate_p);
  return found;
}
/// The largest difference between two devices.
template <class Device>
double difference(const Device& device, tk::dtype t, std::int64_t length, std::int64_t size) {
  const auto run = [](const array& x, const array& ct) { return joined({x, ct})[0]; };
  const arrays in = operands(t, length, size);
  const array found = tk::jit(run, device, tk::at_run_time)(in[0], in[1]);
  const array expected = tk::jit(run, tk::cpu, tk::at_run_time)(tk::astype(in[0], tk::f32), tk::astype(in[1], tk::f32));
  return tk::max(tk::abs(tk::astype(tk::device_put(found, tk::cpu), tk::f32) - expected)).item();
}

}  // namespace

TEST_CASE("parts that only a concatenation reads are written where they belong") {
  CHECK(!concatenates(joined));
  CHECK(!concatenates([](const arrays& a) { return arrays{tk::tanh(joined(a)[0])}; }));
  CHECK(concatenates([](const arrays& a) {  // one of them is a result too
    const arrays d = gradient(a[0], a[1], 2);
    return arrays{tk::concatenate(d, 2), d[1]};
  }));
  CHECK(concatenates([](const arrays& a) {  // one of them comes twice
    const arrays d = gradient(a[0], a[1], 2);
    return arrays{tk::concatenate({d[0], d[1], d[1]}, 2)};
  }));
  CHECK(concatenates([](const arrays& a) {  // one of them is no result of such a kernel
    const arrays d = gradient(a[0], a[1], 2);
    return arrays{tk::concatenate({d[0], d[1], tk::tanh(d[2])}, 2)};
  }));
}

TEST_CASE("gradients that are parts of an array are those of the CPU") {
  if (const auto* const gpu = tk::test::emulated_gpu(24)) CHECK(difference(*gpu, tk::f32, 5, 4) < 1e-5);
  if (tk::cuda.is_available()) CHECK(difference(tk::cuda, tk::bf16, 192, 64) < 5e-2);
}
