// tests/transforms/checks/check_grads.cpp: right derivatives pass, a wrong one is named, and those of every op are right.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel.hpp>
#include <tokamax/lax/elementwise/precision_bits.hpp>
#include <tokamax/linalg.hpp>
#include <tokamax/scipy.hpp>
#include <tokamax/tokamax.hpp>
#include <tokamax/transforms/checks/check_grads.hpp>
#include <tokamax/transforms/control_flow/custom_linear_solve.hpp>
#include <tokamax/transforms/control_flow/custom_root.hpp>
#include <tokamax/transforms/custom_batching/custom_vmap.hpp>

#include "support/check_op.hpp"
#include "support/error_of.hpp"
#include "support/paged_problem.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

using namespace tokamax;
using namespace tokamax::test;

namespace {
std::string error_with(const auto& f, const auto& args, const check_grads_options& o = {}) {
  return error_of([&] { check_grads(f, args, o); });
}

/// Twice the operand in f, and at its element 4 three times as much in the rule that `Wrong` names: 'v', 'j', or '2' for
/// the rule of that rule.
template <char Wrong>
array twice(const array& x);
array spoiled(const array& ct) {
  const array here = iota(i32, {ct.size()}, 0) == 4;
  return 2.0f * ct + select(reshape(here, ct.shape()), 4.0f * ct, 0.0f * ct);
}
template <char Wrong>
constexpr op twice_p{
    .name = Wrong == 'v' ? "wrong_vjp" : "wrong_jvp",
    .infer = [](const call& c) { return c[0].type(); },
    .compose = [](const call& c) -> arrays { return c[0] + c[0]; },
    .vjp = [](const call& c) -> arrays { return Wrong == 'v' ? spoiled(c.ct()) : 2.0f * c.ct(); },
    .jvp = [](const call& c) -> arrays { return Wrong == 'j' ? spoiled(c.tangents[0]) : 2.0f * c.tangents[0]; },
};
template <char Wrong>
array twice(const array& x) {
  return bind(twice_p<Wrong>, {x}, words{}, location{});
}
}  // namespace

TEST_CASE("right derivatives pass, in f32 and in f64, of arguments that are trees and of integers too") {
  const auto f = [](const std::pair<array, array>& w, const array& x, const array& n) {
    return sum(tanh(matmul(x, w.first) + w.second)) * convert_element_type(n, x.dtype());
  };
  for (const dtype t : {f32, f64}) {
    const std::pair w{noise({3, 2}, 1, t), noise({2}, 2, t)};
    CHECK(error_with(f, std::tuple{w, noise({4, 3}, 3, t), array(2, {i32, false, {}})}) == "none");
  }
  const auto loop = [](const array& x) {
    return scan([](const array& c, const array& v) { return std::pair{sin(c) + v, c * v}; }, x[0], x).second;
  };
  CHECK(error_with(loop, noise({4}, 1), {.order = 3}) == "none");
  CHECK(error_with([](const array& x) { return sin(x); }, noise({0}, 1)) == "none");
}

TEST_CASE("a wrong rule is named with its op, operand and element") {
  const array x = noise({2, 3}, 1);
  const auto v = [](const array& a) { return sum(twice<'v'>(sin(a)) * a); };
  CHECK_THAT(error_with(v, x), contains("check_grads: vjp of wrong_vjp: found operand 0, element [1,1]: "));
  CHECK(error_with(v, x, {.order = 1, .reverse = false}) == "none");
  const auto j = [](const array& a) { return twice<'j'>(sin(a)) * a; };
  CHECK_THAT(error_with(j, x), contains("check_grads: jvp of wrong_jvp: found operand 0, result element [1,1]: "));
  CHECK(error_with(j, x, {.order = 1, .forward = false}) == "none");
}

TEST_CASE("a rule that is wrong only where it is differentiated is found at order 2") {
  // the derivative is right, but its own derivative is missing
  const auto cube = custom_jvp(
      [](const array& x) { return x * x * x; },
      [](const array& x, const array& dx) { return std::pair{x * x * x, 3.0f * stop_gradient(x * x) * dx}; });
  const array x = noise({3}, 2);
  CHECK(error_with(cube, x, {.order = 1}) == "none");
  CHECK_THAT(error_with(cube, x), contains("check_grads: jvp of jvp: found argument 0, result element ["));
}

TEST_CASE("what has no reverse mode is checked in forward mode") {
  const auto f = [](const array& x) {
    return while_loop([](const array& v) { return sum(abs(v)) < 4.0f; }, [](const array& v) { return v * 1.5f; }, x);
  };
  const array x = noise({3}, 2);
  CHECK(error_with(f, x, {.reverse = false}) == "none");
  CHECK_THAT(error_with(f, x), contains("while_loop: reverse mode"));
}

namespace {

/// A function in which ops are differentiated, at a point where they are smooth.
struct point {
  std::string name;
  function f;
  std::vector<array> in;
  check_grads_options o = {};
};
array between(double low, double high, const shape& s, unsigned seed) {
  return noise(s, seed, f64) * ((high - low) / 2) + (high + low) / 2;
}
array wide(const shape& s, unsigned seed) { return noise(s, seed, f64); }
array numbers(const std::vector<double>& v) { return array::from<double>(v, {static_cast<std::int64_t>(v.size())}); }
array indices(const std::vector<std::int32_t>& v) {
  return array::from<std::int32_t>(v, {static_cast<std::int64_t>(v.size())});
}
function calls(const op& o, const words& attributes = {}) {
  return [&o, attributes](const arrays& x) { return bind_all(o, x.data(), x.count(), attributes, location{}); };
}

/// Functions of single elements between two numbers, and those of pairs and triples.
std::vector<point> elementwise_points() {
  const struct {
    double low, high;
    std::vector<const op*> ops;
  } intervals[] = {{-2,
                    2,
                    {&neg_p,
                     &exp_p,
                     &expm1_p,
                     &tanh_p,
                     &logistic_p,
                     &sin_p,
                     &cos_p,
                     &erf_p,
                     &gelu_p,
                     &normal_cdf_p,
                     &atan_p,
                     &sinh_p,
                     &cosh_p,
                     &asinh_p,
                     &exp2_p,
                     &log_ndtr_p,
                     &erfcx_p,
                     &dawsn_p,
                     &sin_integral_p,
                     &fresnel_sin_p,
                     &fresnel_cos_p,
                     &variable_p,
                     &optimization_barrier_p}},
                   {0.3, 0.45, {&floor_p, &ceil_p, &round_p, &ndtri_p, &tan_p}},  // steps are flat
                   {0.5,
                    3,
                    {&abs_p, &sign_p, &relu_p, &log_p, &log1p_p, &sqrt_p, &rsqrt_p, &cbrt_p, &lgamma_p, &digamma_p,
                     &bessel_i0e_p, &bessel_i1e_p, &exp1_p, &expi_p, &cos_integral_p}},
                   {-3, -0.5, {&abs_p, &sign_p, &relu_p, &cbrt_p, &bessel_i0e_p, &bessel_i1e_p}},
                   {-0.8, 0.8, {&erf_inv_p, &asin_p, &acos_p, &atanh_p}},
                   {1.5, 3, {&acosh_p}},
                   {0.5, 1.6, {&spence_p}}};
  std::vector<point> points;
  for (const auto& [low, high, ops] : intervals)
    for (const op* o : ops) points.push_back({std::string(o->name), calls(*o), {between(low, high, {5}, 1)}});
  const array a = between(0.5, 2, {4}, 1), b = between(0.5, 2, {4}, 2), x = wide({4}, 3);
  for (const op* o : {&add_p, &sub_p, &mul_p, &div_p, &atan2_p, &logaddexp_p, &pow_p, &xlogy_p, &xlog1py_p, &owens_t_p})
    points.push_back({std::string(o->name), calls(*o), {a, b}});
  const array three = numbers({0.5, 2, -1}), two = numbers({0.75, 1.5, 1});
  for (const op* o : {&max_p, &min_p}) points.push_back({std::string(o->name), calls(*o), {three, two}});
  points.push_back({"rem", calls(rem_p), {numbers({2.3, -1.7, 0.5}), numbers({0.7, 0.6, -2})}});
  points.push_back({"fma", calls(fma_p), {a, b, x}});
  points.push_back({"select", calls(select_p), {array::from<bool>({true, false, true, false}, {4}), a, b}});
  // what has a derivative by its last operand only
  const auto last = [](const op& o, std::vector<array> first) -> function {
    return [&o, first](const arrays& v) -> arrays {
      arrays in = listed(first);
      in.push_back(v[0]);
      return bind_all(o, in.data(), in.count(), words{}, location{});
    };
  };
  points.push_back({"igamma", last(igamma_p, {a}), {b}});
  points.push_back({"igammac", last(igammac_p, {a}), {b}});
  points.push_back({"zeta", last(zeta_p, {a + 1.5}), {b}});
  points.push_back({"expn", last(expn_p, {numbers({1, 2, 3, 5})}), {b}});
  points.push_back({"hyp1f1", last(hyp1f1_p, {a, b}), {x}});
  points.push_back({"betainc", last(regularized_incomplete_beta_p, {a, b}), {between(0.2, 0.8, {4}, 5)}});
  // the derivative by a shape parameter has none of its own
  points.push_back({"igamma by a", calls(igamma_p), {a, b}, {.order = 1}});
  points.push_back({"reduce_precision",
                    [](const arrays& v) -> arrays { return reduce_precision(v[0], 8, 23); },
                    {a},
                    {.tolerance = 1e-3}});
  points.push_back({"convert_element_type",
                    [](const arrays& v) -> arrays { return convert_element_type(v[0], f64) * 2.0; },
                    {noise({4}, 1)}});
  return points;
}

std::vector<point> movement_points() {
  const array x = wide({3, 4}, 1), y = wide({3, 4}, 2), row = wide({4}, 3), at = indices({2, 0, 2});
  const auto in = [](const auto& f) { return function([f](const arrays& v) -> arrays { return f(v); }); };
  return {
      {"reshape", in([](const arrays& v) { return reshape(v[0], {2, 6}); }), {x}},
      {"transpose", in([](const arrays& v) { return transpose(v[0]); }), {x}},
      {"reverse", in([](const arrays& v) { return reverse(v[0], {1}); }), {x}},
      {"broadcast_in_dim", in([](const arrays& v) { return broadcast_in_dim(v[0], {2, 4, 3}, {1}); }), {row}},
      {"slice", in([](const arrays& v) { return slice(v[0], {0, 1}, {3, 4}, {2, 2}); }), {x}},
      {"pad", in([](const arrays& v) { return pad(v[0], v[1], {1, -1}, {0, 2}, {1, 0}); }), {x, wide({}, 5)}},
      {"concatenate", in([](const arrays& v) { return concatenate({v[0], v[1]}, 1); }), {x, y}},
      {"split", in([](const arrays& v) { return split(v[0], words{1, 3}, 1); }), {x}},
      {"gather", in([](const arrays& v) { return gather(v[0], v[1]); }), {x, at}},
      {"scatter_add", in([](const arrays& v) { return scatter_add(v[1], v[0], 4); }), {x, at}},
      {"scatter_add_onto", in([](const arrays& v) { return scatter_add(v[0], v[2], v[1]); }), {x, y, at}},
      {"scatter", in([](const arrays& v) { return scatter(v[0], v[2], v[1]); }), {x, y, at}},
      {"dynamic_slice", in([](const arrays& v) { return dynamic_slice(v[0], {array(1), array(2)}, {2, 2}); }), {x}},
      {"dynamic_update_slice",
       in([](const arrays& v) { return dynamic_update_slice(v[0], v[1], {array(1), array(2)}); }),
       {x, wide({2, 2}, 4)}},
      {"sort", in([](const arrays& v) { return sort(arrays{v[0], v[1]}, 1); }), {x, y}},
      {"top_k", in([](const arrays& v) { return top_k(v[0], 2).values; }), {x}},
      {"cumsum", in([](const arrays& v) { return cumsum(v[0], 1, true); }), {x}},
      {"reduce_sum", in([](const arrays& v) { return reduce_sum(v[0], axes{1}); }), {x}},
      {"sum_in_32_bits", calls(sum_in_32_bits_p, pack(reduce_attributes{{0}})), {noise({3, 4}, 1)}},
      {"reduce_max", in([](const arrays& v) { return max(v[0], {{1}}); }), {x}},
      {"reduce_min",
       in([](const arrays& v) { return min(v[0], {{0}}); }),
       {reshape(numbers({0.3, -1, 0.9, 2, 1.4, 0.1, -0.6, 0.7, -0.2, 1.1, 0.5, -1.7}), {3, 4})}},
      {"ragged_gather",
       in([](const arrays& v) { return ragged_gather(v[0], v[1], indices({1}), indices({3})); }),
       {x, indices({2, 0, 1})}},
      {"ragged_gather_reduce",
       in([](const arrays& v) {
         return ragged_gather_reduce(v[0], v[1], v[2], array::from<bool>({true, false, true, true}, {4}), 2);
       }),
       {x, indices({2, 0, 1, 1}), row}},
      {"checkpoint_name", in([](const arrays& v) { return checkpoint_name(sin(v[0]), "here"); }), {x}},
      {"remat", in([](const arrays& v) { return remat([](const array& a) { return sin(a) * a; })(v[0]); }), {x}},
  };
}

std::vector<array> paged() {
  paged_problem p{{1, 2}, {3, 4}, 2, 1, 2, 3, 2, 1};
  p.make(9);
  return {
      p.q, p.cache.keys, p.cache.values, p.batch.kv_lens, p.batch.page_indices, p.batch.cu_q_lens, p.batch.num_seqs};
}
std::vector<point> product_points() {
  const array x = wide({3, 4}, 1), w = wide({4, 2}, 2), row = wide({4}, 3), other = wide({4}, 4);
  const auto in = [](const auto& f) { return function([f](const arrays& v) -> arrays { return f(v); }); };
  const conv_options line{.strides = {2}, .low = {2}, .high = {1}, .lhs_dilation = {1}, .rhs_dilation = {1}};
  const auto attend = [](const arrays& v) { return attention({v[0], v[1], v[2]}, {.causal = true}); };
  const array labels = indices({1, 0, 3});
  return {
      {"dot_general", in([](const arrays& v) { return dot_general(v[0], v[1], {{1}, {0}}); }), {x, w}},
      {"conv_general_dilated",
       in([line](const arrays& v) { return conv_general_dilated(v[0], v[1], line); }),
       {wide({2, 7, 3}, 1), wide({3, 3, 2}, 2)}},
      {"max_pool", in([](const arrays& v) { return max_pool(v[0], {2}); }), {wide({1, 6, 2}, 1)}},
      {"softmax", in([](const arrays& v) { return softmax(v[0]); }), {x}},
      {"layer_norm", in([](const arrays& v) { return layer_norm(v[0], v[1], v[2]); }), {x, row, other}},
      {"layer_norm_across", calls(layer_norm_across_p, pack(norm_attributes{1e-5})), {wide({2, 4, 3}, 1), row, other}},
      {"rms_norm", in([](const arrays& v) { return rms_norm(v[0], v[1]); }), {x, row}},
      {"cross_entropy", in([](const arrays& v) { return softmax_cross_entropy(v[0], v[1]); }), {x, labels}},
      {"linear_cross_entropy",
       in([](const arrays& v) { return linear_cross_entropy(v[0], v[1], v[2]); }),
       {x, wide({4, 5}, 5), labels}},
      {"rotary_embedding",
       in([](const arrays& v) { return rotary_embedding(v[0], indices({0, 3})); }),
       {wide({2, 1, 4}, 1)}},
      {"attention", attend, {wide({1, 3, 2, 2}, 1), wide({1, 3, 1, 2}, 2), wide({1, 3, 1, 2}, 3)}},
      {"causal_conv1d_sums", calls(causal_conv1d_sums_p), {wide({2, 3}, 1), wide({5, 3}, 2), wide({3, 3}, 3)}},
      {"ragged_dot",
       in([](const arrays& v) { return ragged_dot(v[0], v[1], indices({2, 1})); }),
       {x, wide({2, 4, 2}, 5)}},
      {"mixed_dot", calls(mixed_dot_p), {noise({1, 2, 3}, 1), astype(noise({1, 3, 2}, 2) * 9.0f, i8)}},
      {"scaled_dot",
       calls(scaled_dot_p),
       {astype(noise({1, 2, 4}, 1) * 9.0f, i8), astype(noise({1, 4, 3}, 2) * 9.0f, i8), noise({1, 2, 2}, 3),
        noise({1, 2, 3}, 4)}},
      {"ragged_scaled_dot",
       calls(ragged_scaled_dot_p),
       {astype(noise({1, 3, 4}, 1) * 9.0f, i8), astype(noise({1, 2, 4, 2}, 2) * 9.0f, i8),
        array::from<std::int32_t>({1, 2}, {1, 2}), indices({0}), noise({1, 3, 2}, 3), noise({1, 2, 2, 2}, 4)}},
      {"paged_attention", calls(paged_attention_p, pack(paged_attention_attributes{.scale = 0.5})), paged()},
      {"gated_delta_rule",
       in([](const arrays& v) -> arrays {
         const auto r = gated_delta_rule(v[0], v[1], v[2], v[3], v[4], v[5]);
         return {r.out, r.state};
       }),
       {wide({1, 3, 1, 2}, 1), wide({1, 3, 1, 2}, 2), wide({1, 3, 1, 2}, 3), between(-1, -0.1, {1, 3, 1}, 4),
        between(0.2, 0.8, {1, 3, 1}, 5), wide({1, 1, 2, 2}, 6)}},
  };
}

std::vector<point> matrix_points() {
  const array x = wide({3, 3}, 1), regular = x + eye(3, f64) * 3.0, tall = wide({4, 3}, 2), b = wide({3, 2}, 3);
  const auto in = [](const auto& f) { return function([f](const arrays& v) -> arrays { return f(v[0]); }); };
  const auto both = [](const auto& f) { return function([f](const arrays& v) -> arrays { return f(v[0], v[1]); }); };
  const auto symmetric = [](const array& a) { return a + transpose(a); };
  return {
      {"cholesky", in([](const array& a) { return linalg::cholesky(matmul(a, transpose(a)) + eye(3, f64)); }), {x}},
      {"det", in([](const array& a) { return linalg::det(a); }), {regular}},
      {"cofactor", calls(linalg::cofactor_p), {regular}},
      {"slogdet", in([](const array& a) { return linalg::slogdet(a).logabsdet; }), {regular}},
      {"lu", in([](const array& a) -> arrays { return {linalg::lu_factor(a).lu}; }), {regular}},
      {"qr", in([](const array& a) -> arrays { return {linalg::qr(a).q, linalg::qr(a).r}; }), {tall}},
      {"solve", both([](const array& a, const array& y) { return linalg::solve(a, y); }), {regular, b}},
      {"triangular_solve",
       both([](const array& a, const array& y) { return linalg::triangular_solve(a, y, {.lower = true}); }),
       {regular, b}},
      {"pinv", in([](const array& a) { return linalg::pinv(a); }), {tall}},
      // vectors up to their signs
      {"eigh",
       in([=](const array& a) -> arrays {
         const auto [w, v] = linalg::eigh(symmetric(a));
         return {w, v * v};
       }),
       {x}},
      {"svd",
       in([](const array& a) -> arrays {
         const auto [u, s, vh] = linalg::svd(a);
         return {u * u, s, vh * vh};
       }),
       {tall}},
      {"eig",
       in([](const array& a) -> arrays {
         const auto w = linalg::eigvals(a);
         return {w.re, w.im};
       }),
       {array::from<double>({1, 0.3, 0.2, -0.4, 3, 0.1, 0.2, 0.5, 6}, {3, 3})},
       {.order = 1, .forward = false}},  // eigenvectors have no derivative
  };
}

std::vector<point> program_points() {
  const array x = wide({4}, 1), a = wide({3, 3}, 2), b = wide({3}, 3);
  const auto in = [](const auto& f) { return function([f](const arrays& v) -> arrays { return f(v[0]); }); };
  const auto iterate = [](const auto& product, const array& y) {
    return fori_loop(0, 60, [&](const array&, const array& v) { return v + 0.5 * (y - product(v)); }, y);
  };
  const auto newton = [](const auto& f, const array& v) {
    return fori_loop(
        0, 30,
        [&](const array&, const array& at) {
          const auto [y, slope] = jvp(f, at, ones_like(at));
          return at - y / slope;
        },
        v);
  };
  const auto by_division = [](const auto& g, const array& y) { return y / g(ones_like(y)); };
  return {
      {"cond",
       in([](const array& v) {
         return cond(sum(v) > -9.0, [](const array& u) { return sin(u); }, [](const array& u) { return u; }, v);
       }),
       {x}},
      {"scan",
       in([](const array& v) {
         return scan([](const array& c, const array& u) { return std::pair{sin(c) + u, c * u}; }, v[0], v).second;
       }),
       {x}},
      {"while_loop",
       in([](const array& v) {
         return while_loop([](const array& u) { return sum(abs(u)) < 9.0; }, [](const array& u) { return u * 1.5; }, v);
       }),
       {x},
       {.reverse = false}},
      {"custom_jvp",
       in(custom_jvp([](const array& v) { return sin(v); },
                     [](const array& v, const array& dv) { return std::pair{sin(v), cos(v) * dv}; })),
       {x}},
      {"custom_vjp",
       in(custom_vjp([](const array& v) { return sin(v); }, [](const array& v) { return std::pair{sin(v), v}; },
                     [](const array& v, const array& ct) { return cos(v) * ct; })),
       {x},
       {.forward = false}},
      {"custom_vmap",
       in(custom_vmap(
           [](const array& v) { return sin(v) * v; },
           [](std::int64_t, const std::array<bool, 1>&, const array& v) { return std::pair{sin(v) * v, true}; })),
       {x}},
      {"custom_linear_solve",
       [=](const arrays& v) -> arrays {
         const array m = 0.3 * v[0] + 2.0 * eye(3, f64);
         return custom_linear_solve([&](const array& u) { return matmul(m, u); }, v[1], iterate, iterate);
       },
       {a, b}},
      {"custom_root",
       [=](const arrays& v) -> arrays {
         return custom_root([&](const array& u) { return u * u * u + (1.0 + v[0] * v[0]) * u - v[1]; },
                            zeros_like(v[1]), newton, by_division);
       },
       {wide({3}, 4), b}},
      {"kernel_call",
       in([](const array& v) {
         const block_spec two{{2}, {0}};
         return kernel_call(
             [](const auto&, const auto& i, const auto& o) { o.set(i.get() * sin(i.get())); },
             {.grid = {2}, .in = {two}, .out = {{v.type(), two}}, .semantics = {dimension_semantics::parallel}})(v);
       }),
       {x}},
  };
}

/// The ops that are not differentiated here, and why.
const std::map<std::string, std::string> not_differentiated{
    {"constant", "has no operand"},
    {"dense", "has no operand"},
    {"iota", "has no operand"},
    {"captured", "stands for a value until a function is called"},
    {"stand_in", "stands for a value until a program is made"},
    {"placeholder", "stands for a value until a batch is made"},
    {"stop_gradient", "has a derivative of zero by intention"},
    {"quantized_scale", "refuses derivatives by intention"},
    {"bitcast_convert_type", "reads bits as other numbers"},
    {"pack_int4", "of integers"},
    {"unpack_int4", "of integers"},
    {"quotient", "of integers"},
    {"bitwise_and", "of integers"},
    {"bitwise_or", "of integers"},
    {"bitwise_xor", "of integers"},
    {"bitwise_not", "of integers"},
    {"shift_left", "of integers"},
    {"shift_right_logical", "of integers"},
    {"shift_right_arithmetic", "of integers"},
    {"threefry2x32", "of integers"},
    {"eq", "gives truth values"},
    {"ne", "gives truth values"},
    {"lt", "gives truth values"},
    {"le", "gives truth values"},
    {"gt", "gives truth values"},
    {"ge", "gives truth values"},
    {"logical_and", "of truth values"},
    {"logical_or", "of truth values"},
    {"logical_not", "of truth values"},
    {"reduce_and", "of truth values"},
    {"reduce_or", "of truth values"},
    {"argmax", "gives integers"},
    {"argmin", "gives integers"},
    {"axis_index", "gives integers"},
    {"all_gather", "is gone when a batch was made, so no program has it that is differentiated from outside"},
    {"igamma_grad_a", "is a derivative that has none of its own, as in JAX"},
    {"random_gamma", "has the derivative of a sample of the same probability, not of the same bits"},
    {"callback", "calls a function of the host, which has no derivative"},
    {"debug_print", "has an effect and no result"},
    {"check", "has an effect and no result"},
    {"copy_start", "has an effect in a kernel"},
    {"copy_wait", "has an effect in a kernel"},
    {"ref_set", "has an effect in a kernel"},
    {"ref_empty", "has no operand"},
    {"grid_loop", "is what a kernel becomes after it was differentiated"},
};

/// The names of a graph's ops, and of those of its bodies.
void collect(const graph& g, std::set<std::string>& names) {
  for (const node& n : g.nodes)
    if (n.op) names.insert(std::string(n.op->name));
  for (const graph& body : g.bodies) collect(body, names);
}
/// All descriptors: `inline constexpr op NAME_p`.
std::set<std::string> declared_ops() {
  const std::filesystem::path headers = TOKAMAX_ROOT "/include/tokamax";
  const std::regex descriptor("inline constexpr op (\\w+)_p\\b");
  std::set<std::string> found;
  for (const auto& file : std::filesystem::recursive_directory_iterator(headers)) {
    if (file.path().extension() != ".hpp") continue;
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (std::sregex_iterator at(text.begin(), text.end(), descriptor), end; at != end; ++at) found.insert((*at)[1]);
  }
  return found;
}

}  // namespace

TEST_CASE("derivatives of every op agree with differences to order 2, forward and reverse") {
  std::set<std::string> tried;
  for (const auto& points :
       {elementwise_points(), movement_points(), product_points(), matrix_points(), program_points()})
    for (const point& p : points) {
      INFO(p.name);
      graph g;
      CHECK(error_of([&] {
              g = trace(p.f, types_of(p.in));
              tokamax::detail::gradient_check(p.o).run(g, listed(p.in), p.o.order, "");
            }) == "none");
      collect(g, tried);
      for (const bool forward : {true, false})
        if (forward ? p.o.forward : p.o.reverse)
          error_of([&] { collect(tokamax::detail::derivative_graph(g, forward), tried); });
    }
  for (const std::string& name : declared_ops()) {
    INFO(name << ": add a point where it is smooth, or the reason why it is not differentiated");
    CHECK((tried.contains(name) || not_differentiated.contains(name)));
  }
}
