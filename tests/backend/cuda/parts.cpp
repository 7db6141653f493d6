// tests/backend/cuda/parts.cpp: gradients of attention are written into the gradient of the projection that they are parts of, and
// results of attention in the order of axes that a program returns.
#include <tokamax/compiler/passes/parts.hpp>

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
/// Arrays [B, N, T, H] as [B, T, N, H], or back.
array turned(const array& x) { return tk::transpose(x, {0, 2, 1, 3}); }
array attention_apart(const array& q, const array& k, const array& v) {
  return turned(tk::attention({turned(q), turned(k), turned(v)}, {.causal = true, .scale = 0.25})[0]);
}
/// The results of q, k, v and a cotangent, all of them [B, N, T, H], and the gradients.
arrays apart(const arrays& a) {
  const auto [dq, dk, dv] = tk::vjp(attention_apart, a[0], a[1], a[2]).second(a[3]);
  return {dq, dk, dv, attention_apart(a[0], a[1], a[2])};
}
arrays operands_apart(tk::dtype t, std::int64_t length, std::int64_t size) {
  arrays all;
  for (int k = 0; k < 4; ++k) all.push_back(normal(k, {2, 3, length, size}, t));
  return all;
}
/// The number of loops in the plan of a function, which are copies and reductions' operands.
template <class F>
int copies(F f) {
  std::vector<tk::array_type> types;
  for (const array& x : operands_apart(tk::bf16, 16, 8)) types.push_back(x.type());
  const auto p = tk::detail::owned_program::make(tk::test::trace(f, types), tk::kernel_table_of<tk::cuda_tag>());
  int found = 0;
  for (const tk::plan_step& s : p->tables.steps) found += s.kind == tk::step_kind::loop;
  return found;
}
/// The largest difference of what `apart` returns between two devices.
template <class Device>
double difference_apart(const Device& device, tk::dtype t, std::int64_t length, std::int64_t size) {
  const arrays in = operands_apart(t, length, size);
  std::vector<array> wide;
  for (const array& x : in) wide.push_back(tk::astype(x, tk::f32));
  const auto f = [](const std::vector<array>& a) { return tk::test::listed(apart(tk::test::listed(a))); };
  const std::vector<array> found = tk::jit(f, device, tk::at_run_time)(tk::test::listed(in));
  const std::vector<array> expected = tk::jit(f, tk::cpu, tk::at_run_time)(wide);
  double most = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    CHECK(found[k].shape() == expected[k].shape());
    const array near = tk::astype(tk::device_put(found[k], tk::cpu), tk::f32);
    most = std::max(most, static_cast<double>(tk::max(tk::abs(near - expected[k])).item()));
  }
  return most;
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

TEST_CASE("results whose axes the program exchanges are written in the order that it returns") {
  CHECK(copies(apart) == 1);  // the gradients read the result
  CHECK(copies([](const arrays& a) { return arrays{attention_apart(a[0], a[1], a[2])}; }) == 0);
  CHECK(copies([](const arrays& a) {  // rows of another length are no exchange of axes
          return arrays{tk::reshape(attention_apart(a[0], a[1], a[2]), {2, 3, 8, 16})};
        }) == 2);
  CHECK(copies([](const arrays& a) {  // it is read, too
          const array y = attention_apart(a[0], a[1], a[2]);
          return arrays{y, tk::sum(y)};
        }) == 2);
  CHECK(copies([](const arrays& a) {  // it is returned twice
          const array y = attention_apart(a[0], a[1], a[2]);
          return arrays{y, y};
        }) == 2);
  CHECK(copies([](const arrays& a) {  // parts of it are returned
          return arrays{tk::slice_in_dim(attention_apart(a[0], a[1], a[2]), 0, 2, 1)};
        }) == 1);
  CHECK(copies([](const arrays& a) { return arrays{turned(tk::softmax(a[0]))}; }) ==
        1);  // by a kernel of dense results
}

TEST_CASE("results in another order of axes are those of the CPU") {
  if (const auto* const gpu = tk::test::emulated_gpu(24)) CHECK(difference_apart(*gpu, tk::f32, 5, 4) < 1e-5);
  if (tk::cuda.is_available()) CHECK(difference_apart(tk::cuda, tk::bf16, 192, 64) < 5e-2);
}
