// tests/transforms/every_op.cpp: what is true of all ops: derivatives, values, batches, texts, types, and what they refuse.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel.hpp>
#include <tokamax/lax/elementwise/precision_bits.hpp>
#include <tokamax/linalg.hpp>
#include <tokamax/ops.hpp>
#include <tokamax/scipy.hpp>
#include <tokamax/tokamax.hpp>
#include <tokamax/transforms/checks/check_grads.hpp>
#include <tokamax/transforms/checks/checkify.hpp>
#include <tokamax/transforms/control_flow/custom_linear_solve.hpp>
#include <tokamax/transforms/control_flow/custom_root.hpp>
#include <tokamax/transforms/custom/custom_vmap.hpp>

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
      {"take_along", calls(take_along_p, pack(take_along_options{.axis = 1})), {x, astype(y > 0.0, i32)}},
      {"fft", calls(fft_p), {x, y}},
      {"rfft", calls(rfft_p), {x}},
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
      {"low_rank_update",
       in([](const arrays& v) { return low_rank_update(v[0], v[1], v[2], 0.5); }),
       {wide({4, 3}, 1), wide({4, 2}, 2), wide({2, 3}, 3)}},
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
      {"packed_dot",
       calls(packed_dot_p, pack(packed_dot_options{packed_format::uint_4, 3})),
       {noise({1, 2, 16}, 1), astype(noise({1, 1, 2, 64}, 2, f64) * 2e9, u32), noise({1, 1, 2, 64}, 3),
        noise({1, 1, 2, 64}, 4)}},
      {"packed_ragged_dot",
       calls(packed_ragged_dot_p, pack(packed_dot_options{packed_format::uint_4, 3})),
       {noise({3, 16}, 1), indices({1, 2}), astype(noise({2, 1, 2, 64}, 2, f64) * 2e9, u32), noise({2, 1, 1, 64}, 3),
        noise({2, 1, 1, 64}, 4)}},
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
    {"schur", "has no derivative here: eig and eigh have one"},
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
    {"semaphore_signal", "has an effect in a kernel"},
    {"semaphore_wait", "has an effect in a kernel"},
    {"search_sorted", "gives integers"},
    {"true_positions", "gives integers"},
    {"ref_empty", "has no operand"},
    {"grid_loop", "is what a kernel becomes after it was differentiated"},
};

/// The names of a graph's ops, and of those of its bodies.
void collect(const graph& g, std::set<std::string>& names) {
  for (const node& n : g.nodes)
    if (n.op) names.insert(!n.op->name.ends_with("_callback") ? std::string(n.op->name) : "callback");
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

namespace {

/// Points without a derivative that can be compared, and why.
const std::map<std::string, std::string> values_only{
    {"reduce_precision to f16", "has steps, and a derivative as if it had none"},
    {"stop_gradient", "has a derivative of zero by intention"},
    {"quantized_scale", "refuses derivatives by intention"},
    {"igamma_grad_a", "is a derivative that has none of its own, as in JAX"},
    {"random_gamma", "has the derivative of a sample of the same probability, not of the same bits"},
    {"custom_vjp", "has no jvp"},
    {"igamma", "has a loop that ends by itself, from which no rule can be derived"},
    {"igammac", "has such a loop"},
    {"igamma by a", "has such a loop"},
    {"hyp1f1", "has such a loop"},
    {"betainc", "has such a loop"},
};
/// The ops without values of their own that could be compared, and why.
const std::map<std::string, std::string> without_values{
    {"constant", "is checked as an operand of all others"},
    {"dense", "is data of a program that is known while compiling"},
    {"captured", "stands for a value until a function is called"},
    {"stand_in", "stands for a value until a program is made"},
    {"placeholder", "stands for a value until a batch is made"},
    {"axis_index", "is gone when a batch was made"},
    {"all_gather", "is gone when a batch was made"},
    {"callback", "calls a function of the host"},
    {"schur", "has a form that is not unique: tests/linalg/schur.cpp multiplies its factors"},
    {"debug_print", "has an effect and no result"},
    {"check", "has an effect and no result"},
    {"copy_start", "has an effect in a kernel"},
    {"copy_wait", "has an effect in a kernel"},
    {"semaphore_signal", "has an effect in a kernel"},
    {"semaphore_wait", "has an effect in a kernel"},
    {"ref_empty", "has an effect in a kernel"},
    {"grid_loop", "is what a kernel becomes in a program"},
};

/// What has no derivative, because it takes or gives integers or truth values.
std::vector<point> integer_points() {
  const array a = indices({5, -3, 7, 0}), b = indices({3, 6, -2, 4}), shift = indices({0, 1, 4, 31});
  const array p = array::from<bool>({true, false, true, false}, {4}),
              q = array::from<bool>({true, true, false, false}, {4});
  const array x = wide({3, 4}, 1), halves = convert_element_type(indices({1, -8, 7, 3}), i4);
  const random::key keys(3);
  const auto in = [](const auto& f) { return function([f](const arrays& v) -> arrays { return f(v); }); };
  std::vector<point> points;
  for (const op* o :
       {&bitwise_and_p, &bitwise_or_p, &bitwise_xor_p, &eq_p, &ne_p, &lt_p, &le_p, &gt_p, &ge_p, &quotient_p})
    points.push_back({std::string(o->name), calls(*o), {a, b + 1}});
  for (const op* o : {&shift_left_p, &shift_right_arithmetic_p})
    points.push_back({std::string(o->name), calls(*o), {a, shift}});
  points.push_back({"shift_right_logical",
                    calls(shift_right_logical_p),
                    {convert_element_type(a, u32), convert_element_type(shift, u32)}});
  for (const op* o : {&logical_and_p, &logical_or_p}) points.push_back({std::string(o->name), calls(*o), {p, q}});
  points.push_back({"logical_not", calls(logical_not_p), {p}});
  points.push_back({"bitwise_not", calls(bitwise_not_p), {a}});
  points.push_back({"reduce_and", in([](const arrays& v) { return all(v[0] > -0.5, {{1}}); }), {x}});
  points.push_back({"reduce_or", in([](const arrays& v) { return any(v[0] > 0.5, {{1}}); }), {x}});
  points.push_back({"argmax", in([](const arrays& v) { return argmax(v[0], 1); }), {x}});
  points.push_back({"argmin", in([](const arrays& v) { return argmin(v[0], 0); }), {x}});
  points.push_back({"search_sorted", in([](const arrays& v) { return search_sorted(sort(v[0]), v[1]); }), {x[0], x}});
  points.push_back({"true_positions", in([](const arrays& v) { return true_positions(v[0], 3); }), {p}});
  points.push_back({"iota", in([](const arrays& v) { return v[0] + iota(f64, {3, 4}, 1); }), {x}});
  points.push_back(
      {"reduce_precision to f16", in([](const arrays& v) { return reduce_precision(v[0], 5, 10); }), {noise({4}, 1)}});
  points.push_back({"stop_gradient", in([](const arrays& v) { return stop_gradient(v[0]) * 2.0; }), {x}});
  points.push_back({"quantized_scale", calls(quantized_scale_p), {noise({3, 4}, 1)}});
  points.push_back({"igamma_grad_a", calls(igamma_grad_a_p), {between(0.5, 2, {4}, 1), between(0.5, 2, {4}, 2)}});
  points.push_back({"pack_int4", in([](const arrays& v) { return pack_int4(v[0]); }), {halves}});
  points.push_back({"unpack_int4", in([](const arrays& v) { return unpack_int4(v[0]); }), {pack_int4(halves)}});
  points.push_back({"threefry2x32", in([](const arrays& v) { return random::bits(random::key(v[0]), {3}); }), {keys}});
  points.push_back({"bitcast_convert_type", in([](const arrays& v) { return bitcast_convert_type(v[0], u32); }), {a}});
  points.push_back({"random_gamma",
                    in([](const arrays& v) { return random::gamma(random::key(v[0]), v[1]); }),
                    {keys, between(1, 3, {3}, 1)}});
  return points;
}

/// Types like t that may make no sense in its place: of other dtypes, ranks and extents.
std::vector<array_type> others_of(const array_type& t) {
  std::vector<array_type> all;
  for (const dtype d : {bool_, i4, u8, i32, u32, i64, bf16, f16, f32, f64, f8e4m3fn})
    if (d != t.dtype) all.push_back({d, false, t.shape});
  const auto with = [&](const shape& s) { all.push_back({t.dtype, false, s}); };
  with({});
  with({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  shape more{1}, fewer;
  for (int k = 0; k < t.shape.rank(); ++k) {
    more.push_back(t.shape[k]);
    if (k > 0) fewer.push_back(t.shape[k]);
    for (const std::int64_t e : {std::int64_t{0}, std::int64_t{1}, t.shape[k] + 1, std::int64_t{1} << 40}) {
      shape s = t.shape;
      s[k] = e;
      with(s);
    }
  }
  with(more);
  with(fewer);
  return all;
}
std::string described(const array_type& t) { return std::string(message(t).view()); }
/// Calls visit(graph, node) on the ops of a graph and of its bodies, or of all points and of their derivatives.
void for_each_op(const graph& g, const auto& visit) {
  for (const node& n : g.nodes)
    if (n.op) visit(g, n);
  for (const graph& body : g.bodies) for_each_op(body, visit);
}
void for_each_op(const auto& visit) {
  for (const auto& points :
       {elementwise_points(), movement_points(), product_points(), matrix_points(), program_points(), integer_points()})
    for (const point& p : points) {
      const graph g = trace(p.f, types_of(p.in));
      for_each_op(g, visit);
      for (const bool forward : {true, false})
        if (forward ? p.o.forward : p.o.reverse)
          error_of([&] { for_each_op(tokamax::detail::derivative_graph(g, forward), visit); });
    }
}
/// What the op of node n does with operands of these types: "" if it names what is wrong, or if it takes them and what it is
/// composed of has the same type; else what is wrong.
std::string outcome(const graph& g, const node& n, const std::vector<array_type>& in) {
  bool taken = false;
  try {
    graph h;
    h.bodies = g.bodies;
    const ambient_trace scope(h);
    arrays operands;
    bool huge = false;
    for (const array_type& t : in) {
      operands.push_back(array(&h, h.input(t), t));
      huge = huge || size(t.shape) > 1 << 20;
    }
    call c = call_of(*n.op, operands.data(), operands.count(), g.words_of(n), n.word_count, &h, location{});
    if (n.op->infer_all) {
      n.op->infer_all(c);
      return "";
    }
    c.type = n.op->infer(c);
    taken = true;
    if (huge || !n.op->compose || n.op->attributes.has_bodies()) return "";
    const array_type composed = n.op->compose(c)[0].type();
    return composed == c.type ? ""
                              : "gives " + described(c.type) + ", and what it is composed of " + described(composed);
  } catch (const error& e) {
    if (taken) return std::string("takes them, but what it is composed of says ") + e.what();
    return e.subject.empty() || e.found.empty() || e.expected.empty() ? std::string("says only ") + e.what() : "";
  } catch (const std::exception& e) {
    return std::string("throws ") + e.what();
  }
}

}  // namespace

TEST_CASE("every op takes operands that what it is composed of takes too, or says what is wrong with them") {
  std::set<std::string> tried, names, wrong;
  int calls = 0;
  for_each_op([&](const graph& g, const node& n) {
    names.insert(std::string(n.op->name));
    std::vector<array_type> in;
    for (int k = 0; k < n.operand_count; ++k) in.push_back(g[g.operand(n, k)].type);
    std::string key(n.op->name);
    for (const array_type& t : in) key += " " + described(t);
    if (n.op == &get_p || !tried.insert(key).second) return;  // get is made together with the op whose result it is
    for (std::size_t k = 0; k < in.size(); ++k)
      for (const array_type& t : others_of(in[k])) {
        std::vector<array_type> changed = in;
        changed[k] = t;
        ++calls;
        std::string what(n.op->name);
        for (const array_type& type : changed) what += " " + described(type);
        if (const std::string found = outcome(g, n, changed); !found.empty()) wrong.insert(what + " " + found);
      }
  });
  for (const std::string& w : wrong) FAIL_CHECK(w);
  CHECK(calls > 20000);
  for (const std::string& name : declared_ops()) {
    INFO(name << ": add a point, or the reason why its values are not compared");
    CHECK((names.contains(name) || without_values.contains(name)));
  }
}

TEST_CASE(
    "every op has the values of its meaning, op by op, as a graph and compiled, its text reads back, and vmap is a "
    "loop") {
  std::set<std::string> tried;
  const auto collect_all = [&](const point& p) {
    const graph g = trace(p.f, types_of(p.in));
    collect(g, tried);
    if (p.o.reverse) error_of([&] { collect(tokamax::detail::derivative_graph(g, false), tried); });
  };
  for (const auto& points :
       {elementwise_points(), movement_points(), product_points(), program_points(), integer_points()})
    for (const point& p : points) {
      INFO(p.name);
      collect_all(p);
      if (p.name == "reduce_precision")
        continue;  // the reference keeps bits in doubles, which do not hold those of an f64
      const bool differentiate = p.o.reverse && !values_only.contains(p.name);
      CHECK(error_of([&] { check_function(p.f, p.in, {.differentiate = differentiate, .order = 1}); }) == "none");
    }
  for (const point& p :
       matrix_points()) {  // what a decomposition must be is checked in tests/linalg, which has no reference
    INFO(p.name);
    collect_all(p);
    check_text(trace(p.f, types_of(p.in)));
  }
  for (const std::string& name : declared_ops()) {
    INFO(name << ": add a point, or the reason why its values are not compared");
    CHECK((tried.contains(name) || without_values.contains(name)));
  }
}

namespace {

/// Ops that have no values of their own, or that only derivatives and kernels have.
std::vector<point> special_points() {
  const array x = noise({4, 3}, 1, f64), captured = noise({3}, 2, f64);
  const auto in = [](const auto& f) { return function([f](const arrays& v) -> arrays { return f(v); }); };
  static constexpr auto sine = [](const arrays& a) -> arrays { return {sin(a[0])}; };
  const auto kernel = [](const array& v) {
    const auto body = [t = v.type()](const auto& p, const auto& i, const auto& o) {
      p.run_scoped({{t}, semaphores()}, [&](auto& memory, auto& arrived) {
        const auto fetch = make_async_copy(i, memory, arrived);
        fetch.start();
        fetch.wait();
        semaphore_signal(arrived);
        semaphore_wait(arrived);
        o.set(sin(memory.get()));
      });
    };
    return kernel_call(body, {.out = {{v.type()}}})(v);
  };
  return {
      {"schur", [](const arrays& v) -> arrays { return {linalg::schur(v[0]).t}; }, {wide({3, 3}, 1)}},
      {"captured", in([captured](const arrays& v) { return v[0] + captured * captured; }), {x}},
      {"callback", in([](const arrays& v) { return pure_callback(sine, {v[0].type()}, {v[0]})[0]; }), {x}},
      {"named callback",
       in([](const arrays& v) { return io_callback(named_callback<"sine">(sine), {v[0].type()}, {v[0]})[0]; }),
       {x}},
      {"debug_print",
       in([](const arrays& v) {
         debug_print("a \"quoted\" {}\n\x01 line", v[0]);
         return v[0];
       }),
       {x}},
      {"check",
       in([](const arrays& v) {
         tokamax::check(all(v[0] < 99.0), "{} is too large", v[0]);
         return v[0];
       }),
       {x}},
      {"constant of every element",
       in([](const arrays& v) { return v[0] + array::from<double>({0.1, -0.0, 1e-310}, {3}); }),
       {x}},
      {"kernel with copies", in([kernel](const arrays& v) { return kernel(v[0]); }), {x}},
      {"loop of a kernel",
       in([kernel](const arrays& v) { return grad([&](const array& a) { return sum(kernel(a)); })(v[0]); }),
       {x}},
  };
}
/// Graphs that no program is made of: values that stand for others, and ops of an axis that nothing maps.
std::vector<graph> graphs_without_program() {
  graph g;
  const array_type t{f32, false, {2}};
  const array x(&g, g.input(t), t);
  const axis_attributes axis{"an axis, with \"quotes\"\n", 5};
  const array all = bind(all_gather_p, {x}, axis, location{});
  const array number = tokamax::detail::emit_op(g, axis_index_p, nullptr, 0, pack(axis), location{})[0];
  const array later = tokamax::detail::emit_one(g, stand_in_p, nullptr, 0, {}, location{}, &t);
  for (const array& y : {all, number, later, placeholder(g, t)}) g.outputs.push_back(y.id());
  const vec<element_bits> bits{{0x3dcccccd}, {0x80000000}};  // 0.1 and -0.0
  g.outputs.push_back(
      tokamax::detail::add_node(g, dense_p, nullptr, 0, tokamax::detail::packed_elements(f32, bits), t, location{}));
  std::vector<graph> graphs{g};
  const auto twice = [](const array& v) {
    const block_spec one{{1}, {0}};
    return kernel_call([](const auto&, const auto& i, const auto& o) { o.set(i.get() * 2.0f); },
                       {.grid = {2}, .in = {one}, .out = {{v.type(), one}}})(v);
  };
  graph k = make_graph(twice, array(t));
  for (int i = 0; i < k.count(); ++i)
    if (k[i].op == &kernel_call_p) graphs.push_back(composed(call_of(k, k[i], {array(t)}, &k)));
  return graphs;
}
std::string plan_of(const graph& g) {
  return to_text(view(tokamax::detail::owned_program::make(g, cpu.get().kernels())->tables));
}

}  // namespace

TEST_CASE("every op survives graph, text and graph: equal text, programs and results") {
  std::set<std::string> tried;
  const auto check = [&](const graph& g) {
    collect(g, tried);
    check_text(g);
  };
  debug_print_sink = [](std::string_view) {};
  for (const auto& points : {elementwise_points(), movement_points(), product_points(), program_points(),
                             integer_points(), matrix_points(), special_points()})
    for (const point& p : points) {
      INFO(p.name);
      const graph g = trace(p.f, types_of(p.in)), read = read_back(g);
      check(g);
      CHECK(plan_of(read) == plan_of(g));
      const arrays in = listed(p.in);
      const arrays y = cpu.get().execute(g, in), again = cpu.get().execute(read, in);
      REQUIRE(y.size() == again.size());
      for (int k = 0; k < y.count(); ++k) CHECK(difference({to_value(again[k])}, {to_value(y[k])}, 0) == "");
      for (const bool forward : {true, false})
        if (forward ? p.o.forward : p.o.reverse)
          error_of([&] { check(tokamax::detail::derivative_graph(g, forward)); });
    }
  for (const graph& g : graphs_without_program()) check(g);
  for (const std::string& name : declared_ops()) {
    INFO(name << ": add a point, or a graph without a program");
    CHECK(tried.contains(name));
  }
}
