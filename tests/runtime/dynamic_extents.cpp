// tests/runtime/dynamic_extents.cpp: a program for any extents computes what the programs for known ones do, or is refused.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/adaptive/rmsprop.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <functional>

using namespace tokamax;

namespace {

using function = std::function<arrays(const arrays&)>;

/// A type as text: "n,4" is f32[n,4], "i:n,m" i32, "u:2" u32, "b:n" bool; n and m are dynamic.
array_type parsed(std::string_view s) {
  array_type t{f32, false, {}};
  if (s.size() > 1 && s[1] == ':') {
    t.dtype = s[0] == 'i' ? i32 : s[0] == 'u' ? u32 : s[0] == 'h' ? bf16 : bool_;
    s.remove_prefix(2);
  }
  while (!s.empty()) {
    if (s[0] == 'n' || s[0] == 'm') {
      t.shape.push_back(s[0] == 'n' ? dyn() : dyn(1));
      s.remove_prefix(1);
    } else {
      std::int64_t v = 0;
      for (; !s.empty() && s[0] != ','; s.remove_prefix(1)) v = 10 * v + (s[0] - '0');
      t.shape.push_back(v);
    }
    if (!s.empty()) s.remove_prefix(1);
  }
  return t;
}
std::vector<std::string_view> parts(std::string_view s, char between) {
  std::vector<std::string_view> list;
  for (;;) {
    const std::size_t at = s.find(between);
    list.push_back(s.substr(0, at));
    if (at == s.npos) return list;
    s.remove_prefix(at + 1);
  }
}
array_type resolved(array_type t, const std::int64_t* symbols) {
  for (int i = 0; i < t.shape.rank(); ++i) t.shape[i] = resolve(t.shape[i], symbols);
  return t;
}
/// Numbers in (-1, 1); integers count 0, 1, 2, 0, ...
array filled(const array_type& t, unsigned seed) {
  const std::int64_t n = size(t.shape);
  std::vector<float> values(static_cast<std::size_t>(n));
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] =
        is_floating(t.dtype) ? static_cast<float>(state >> 8) / 8388608.0f - 1 : static_cast<float>((i + seed) % 3);
  }
  return astype(array::from<float>(std::span<const float>(values), t.shape), t.dtype);
}

struct traced {
  std::unique_ptr<detail::owned_program> program;
  std::vector<array_type> results;
};
traced compiled(const function& f, const std::vector<array_type>& types) {
  graph g;
  {
    const ambient_trace scope(g);
    arrays x;
    for (const array_type& t : types) x.push_back(array(&g, g.input(t), t));
    for (const array& y : f(x)) g.outputs.push_back(lift(g, y).id());
  }
  traced t;
  for (int o : g.outputs) t.results.push_back(g[o].type);
  t.program = detail::owned_program::make(g, kernel_table_of<cpu_tag>());
  return t;
}
std::vector<array> run(const traced& t, const std::vector<array>& in, const std::int64_t* symbols) {
  std::vector<std::byte*> inputs, outputs;
  std::vector<array> results;
  for (const array& a : in) inputs.push_back(a.storage()->data);
  for (const handle& h : t.program->captured) inputs.push_back(h->data);
  for (const array_type& r : t.results) {
    results.push_back(array::uninitialized(resolved(r, symbols)));
    outputs.push_back(results.back().storage()->data);
  }
  t.program->code.resize(symbols);
  t.program->code.run(inputs.data(), outputs.data());
  return results;
}
/// The largest difference of two lists, relative to the largest element; NaN where they are not of one shape.
double difference(const std::vector<array>& a, const std::vector<array>& b) {
  double worst = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (!(a[k].type() == b[k].type())) return std::nan("");
    const array x = astype(a[k], f32), y = astype(b[k], f32);
    double most = 1;
    for (const float v : y.values<float>())
      if (std::isfinite(v)) most = std::max(most, static_cast<double>(std::abs(v)));
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const double v = x.values<float>()[static_cast<std::size_t>(i)],
                   w = y.values<float>()[static_cast<std::size_t>(i)];
      if (std::isnan(v) && std::isnan(w)) continue;
      if (v == w) continue;
      worst = std::max(worst, std::isnan(v - w) ? 1e30 : std::abs(v - w) / most);
    }
  }
  return worst;
}

/// Some values of n and m, and all values of n up to 70.
const std::vector<std::pair<std::int64_t, std::int64_t>> some_sizes{{1, 3}, {0, 2}, {3, 1}, {17, 5}, {2, 0}, {3, 4}};
const std::vector<std::pair<std::int64_t, std::int64_t>> all_sizes = [] {
  std::vector<std::pair<std::int64_t, std::int64_t>> list;
  for (std::int64_t n = 0; n <= 70; ++n) list.push_back({n, 7 * n % 13});
  return list;
}();

/// "right", what refused it, or what is wrong, for these sizes.
std::string outcome(const function& f, std::string_view types, const auto& sizes) {
  std::vector<array_type> in;
  for (std::string_view t : parts(types, ';')) in.push_back(parsed(t));
  traced any;
  try {
    any = compiled(f, in);
  } catch (const error& e) {
    return "refused: " + e.subject;
  }
  for (const auto& [n, m] : sizes) {
    const std::int64_t symbols[max_symbols] = {n, m, 1, 1, 1, 1, 1, 1};
    std::vector<array_type> known_types;
    std::vector<array> x;
    for (const array_type& t : in) {
      known_types.push_back(resolved(t, symbols));
      x.push_back(filled(known_types.back(), static_cast<unsigned>(x.size())));
    }
    traced known;
    try {
      known = compiled(f, known_types);
    } catch (const error&) {
      continue;  // there is no program for these extents
    }
    const std::string at = " at " + std::to_string(n) + ", " + std::to_string(m);
    std::vector<array> found, expected;
    try {
      expected = run(known, x, symbols);
    } catch (const error&) {
      continue;
    }
    try {
      found = run(any, x, symbols);
    } catch (const error& e) {
      return "throws" + at + ": " + e.what();
    }
    const double d = difference(found, expected);
    if (!(d <= 2e-6)) return "wrong" + at + " by " + std::to_string(d);
  }
  return "right";
}

/// The cotangents of the floating arguments, for cotangents that differ from element to element.
function gradient_of(const function& f) {
  return [f](const arrays& x) {
    graph& g = *x[0].trace();
    arrays y, ct;
    for (const array& a : f(x)) {
      if (!is_floating(a.dtype())) continue;
      y.push_back(lift(g, a));
      ct.push_back(lift(g, sin(y.back() * 3.0f)));
    }
    arrays d;
    const arrays slopes = backward(g, y, ct, x);
    for (int k = 0; k < x.count(); ++k) {  // a loop known to have no steps does not depend on its sequences
      if (slopes[k].exists())
        d.push_back(slopes[k]);
      else if (is_floating(x[k].dtype()))
        d.push_back(lift(g, zeros(x[k].shape(), x[k].dtype())));
    }
    return d;
  };
}
/// f on every entry of a leading axis of all arguments.
function batch_of(const function& f) {
  return [f](const arrays& x) {
    arrays out;
    if (x.count() == 1) return arrays(vmap([&](const array& a) { return f({a})[0]; })(x[0]));
    if (x.count() == 2) return arrays(vmap([&](const array& a, const array& b) { return f({a, b})[0]; })(x[0], x[1]));
    return arrays(
        vmap([&](const array& a, const array& b, const array& c) { return f({a, b, c})[0]; })(x[0], x[1], x[2]));
  };
}

struct row {
  const char* name;
  function f;
  const char* types;     ///< of the arguments, between ";"; several cases between "|"
  const char* batched;   ///< of arguments with a leading axis n for vmap; may be empty
  bool refused = false;  ///< must the cases be refused?
};

struct layer_list {
  nn::linear dense = {.in = 4, .out = 3};
  nn::layer_norm norm = {.width = 4};
  nn::rms_norm rms = {.width = 4};
  nn::gated_mlp gated = {.width = 4, .hidden = 6};
};
random::key key_of(const array& k) { return random::key(k); }

std::vector<row> rows() {
  using o = const arrays&;
  const nn::attention attend = init(nn::attention{.width = 8, .heads = 2}, random::key(1));
  const layer_list layers = init(layer_list{}, random::key(3));
  const nn::mlp mlp = init(nn::mlp{.width = 4, .hidden = 6}, random::key(2));
  return {
      {"unary", [](o x) { return arrays{tanh(x[0]), exp(x[0]) * 2.0f, gelu(x[0]), log1p(abs(x[0])), erf(x[0])}; },
       "n|n,4|4,n|n,m|2,n,3,m|n,n", "n,m"},
      {"activations",
       [](o x) { return arrays{silu(x[0]), softplus(x[0]), elu(x[0]), selu(x[0]), relu6(x[0]), log_sigmoid(x[0])}; },
       "n,4|4,n|n,m", ""},
      {"binary",
       [](o x) {
         return arrays{x[0] + x[1],
                       x[0] * x[1],
                       x[0] / x[1],
                       maximum(x[0], x[1]),
                       power(abs(x[0]), x[1]),
                       select(x[0] < x[1], x[0], x[1])};
       },
       "n,4;n,4|n,4;4|4,n;n|n,m;n,m|n,m;m|n,1;m|n,1;1,m", "n,4;n,4"},
      {"integers",
       [](o x) {
         return arrays{x[0] + x[1], bitwise_xor(x[0], x[1]), remainder(x[0], x[1] + 1), astype(x[0], f32) * 0.5f};
       },
       "i:n,4;i:n,4|i:n,m;i:m", ""},
      {"dtypes", [](o x) { return arrays{astype(x[0], bf16), astype(x[0] * 4.0f, i32), astype(x[0] > 0.0f, f32)}; },
       "n,4|n,m", ""},
      {"reshape", [](o x) { return arrays{reshape(x[0], {-1}), expand_dims(x[0], 1), reshape(transpose(x[0]), {-1})}; },
       "n,4|4,n|n,m|n,m,4|2,n,3|n,n", "n,3,m"},
      {"reshape last", [](o x) { return arrays{reshape(x[0], {-1, 4}), reshape(x[0], {-1, 2, 2}) * 2.0f}; },
       "n,4|n,m,4", "n,m,4"},
      {"transpose", [](o x) { return arrays{transpose(x[0]), transpose(x[0]) * 2.0f, swapaxes(x[0], 0, -1) + 1.0f}; },
       "n,4|4,n|n,m|n,3,m", "n,m,3"},
      {"concatenate", [](o x) { return arrays{concatenate({x[0], x[1]}, 1), stack({x[0], x[0]}, 1)}; },
       "n,4;n,3|n,m;n,m|n,m;n,0", "n,2,4;n,2,3"},
      {"concatenate rows", [](o x) { return arrays{concatenate({x[0], x[1], x[0]}, 0)}; }, "n,4;n,4|n,m;n,m", ""},
      {"concatenate with a known part", [](o x) { return arrays{concatenate({x[0], x[1]}, 0)}; },
       "n,4;1,4|n,4;m,4|4,4;n,4", ""},
      {"split", [](o x) { return split(x[0], 2, 1); }, "n,4|n,4,m", "n,2,4"},
      {"split of a dynamic axis", [](o x) { return split(x[0], 2, 0); }, "n,4|n,m", "", true},
      {"slice", [](o x) { return arrays{slice_in_dim(x[0], 1, 3, 1), slice_in_dim(x[0], 0, 4, 1) * 2.0f}; },
       "n,4|n,4,m", "n,2,4"},
      {"slices of slices",
       [](o x) {
         const array y = transpose(slice(x[0], {1, 0, 0}, {3, x[0].shape()[1], 4}));
         return arrays{slice_in_dim(y, 1, 3, 0) * 2.0f, transpose(slice_in_dim(y, 2, 3, 0))};
       },
       "3,n,4", ""},
      {"a corner", [](o x) { return arrays{slice(x[0], {1, 0, 1}, {3, x[0].shape()[1], 4})}; }, "3,n,4", ""},
      {"slice of a dynamic axis", [](o x) { return arrays{slice_in_dim(x[0], 0, 1, 0)}; }, "n,4|n,m", "", true},
      {"pad", [](o x) { return arrays{pad(x[0], 0.5f, {0, 1}, {0, 2})}; }, "n,4", ""},
      {"pad of a dynamic axis", [](o x) { return arrays{pad(x[0], 0.5f, {0, 1}, {0, 2})}; }, "4,n", ""},
      {"reverse", [](o x) { return arrays{reverse(x[0], {0}), reverse(x[0], {1})}; }, "n,4|4,n|n,m", "n,2,m"},
      {"broadcast",
       [](o x) {
         return arrays{broadcast_to(x[0], {3, x[0].shape()[0], x[0].shape()[1]}),
                       x[0] + zeros_like(x[0]) + ones({x[0].shape()[0], 1})};
       },
       "n,4|4,n|n,m", ""},
      {"iota",
       [](o x) {
         return arrays{astype(iota(i32, x[0].shape(), 0), f32) * x[0], arange(x[0].extent(0)),
                       one_hot(iota(i32, x[0].shape(), 1), 3), eye(x[0].extent(0))};
       },
       "n,4|n,m", ""},
      {"sums",
       [](o x) {
         return arrays{sum(x[0]),         sum(x[0], {{0}}), sum(x[0], {{-1}, true}), mean(x[0]),
                       mean(x[0], {{0}}), var(x[0], {{1}}), max(x[0] * 2.0f, {{0}})};
       },
       "n,4|4,n|n,m|n,3,m", "n,m,3"},
      {"extremes",
       [](o x) {
         return arrays{max(x[0], {{0}}), min(x[0], {{1}}), astype(argmax(x[0], 0), f32),
                       astype(any(x[0] > 0.5f, {{0}}), f32), logsumexp(x[0], {{1}})};
       },
       "n,4|4,n|n,m", "n,3,m"},
      {"cumsum and sort",
       [](o x) {
         return arrays{cumsum(x[0], 0), cumsum(x[0], 1, true), sort(x[0], 0), sort(x[0], 1, true),
                       astype(argsort(x[0], 0), f32)};
       },
       "n,4|4,n|n,m", "n,3,m"},
      {"matmul", [](o x) { return arrays{matmul(x[0], x[1])}; },
       "n,4;4,5|5,4;4,n|4,n;n,5|n,4;4,m|n,m;m,3|n,m;m,n|n,3,4;4,5|n,3,4;n,4,m", "n,2,3;n,3,m"},
      {"gram", [](o x) { return arrays{matmul(x[0], transpose(x[0])), sum(square(matmul(x[0], transpose(x[0]))))}; },
       "n,8|n,m|8,n", "n,m,3"},
      {"einsum", [](o x) { return arrays{einsum("bij,bjk->bik", x[0], x[1]), einsum("bij,bjk->bk", x[0], x[1])}; },
       "n,3,4;n,4,5|n,m,4;n,4,m|2,n,4;2,4,m", ""},
      {"gather", [](o x) { return arrays{take(x[0], x[1]), take(x[0], x[1] - 1, 1)}; },
       "n,4;i:3|n,4;i:n|4,n;i:3|n,m;i:2|5,4;i:n,m", "n,3,4;i:n,2"},
      {"scatter", [](o x) { return arrays{scatter_add(x[1], x[2], 3), scatter_add(x[0], x[1], x[2])}; },
       "3,4;i:n;n,4|3,m;i:n;n,m|n,4;i:2;2,4", "n,3,4;i:n,2;n,2,4"},
      {"take_along_axis", [](o x) { return arrays{take_along_axis(x[0], x[1], 1)}; }, "n,4;i:n,3", ""},
      {"take_along_axis of a dynamic axis", [](o x) { return arrays{take_along_axis(x[0], x[1], 1)}; },
       "3,n;i:3,2|n,m;i:n,1", "", true},
      {"dynamic slices",
       [](o x) {
         return arrays{dynamic_slice_in_dim(x[0], x[1], 2, 1),
                       dynamic_update_slice_in_dim(x[0], slice_in_dim(x[0], 0, 2, 1), x[1], 1)};
       },
       "n,4;i:|n,4,m;i:", "n,2,4;i:n"},
      {"dynamic slice of a dynamic axis", [](o x) { return arrays{dynamic_slice_in_dim(x[0], x[1], 1, 0)}; },
       "n,4;i:", "", true},
      {"update of unknown extent", [](o x) { return arrays{dynamic_update_slice_in_dim(x[0], x[1], array(0), 0)}; },
       "8,4;n,4|n,4;2,4", "", true},
      {"conv", [](o x) { return arrays{conv2d(x[0], x[1])}; }, "n,5,5,2;3,3,2,4", "n,2,5,5,2;n,3,3,2,4"},
      {"conv of any image", [](o x) { return arrays{conv2d(x[0], x[1])}; },
       "2,n,5,2;3,3,2,4|2,5,n,2;3,1,2,4|n,m,5,2;3,3,2,4|2,n,m,2;1,1,2,3", ""},
      {"conv with strides", [](o x) { return arrays{conv2d(x[0], x[1], {.strides = {2, 2}})}; },
       "2,n,5,2;3,3,2,4|2,5,m,2;3,3,2,4", "", true},
      {"conv without padding", [](o x) { return arrays{conv2d(x[0], x[1], {.padding = padding::valid})}; },
       "2,n,5,2;3,3,2,4", "", true},
      {"pool", [](o x) { return arrays{max_pool(x[0], {2, 2}), avg_pool(x[0], {2, 2})}; }, "n,4,4,3|n,4,4,m",
       "n,2,4,4,3"},
      {"pool of any image", [](o x) { return arrays{max_pool(x[0], {2, 2})}; }, "2,n,4,3|2,4,n,3", "", true},
      {"mean pool of any image", [](o x) { return arrays{avg_pool(x[0], {2, 2})}; }, "2,n,4,3", "", true},
      {"softmax", [](o x) { return arrays{softmax(x[0]), log_softmax(x[0], 0), softmax(x[0], 0)}; }, "n,4|4,n|n,m",
       "n,3,m"},
      {"layer norm", [](o x) { return arrays{layer_norm(x[0], x[1], x[2]), rms_norm(x[0], x[1])}; },
       "n,4;4;4|n,m,4;4;4|3,n;n;n|n,m;m;m", "n,3,4;n,4;n,4"},
      {"attention",
       [](o x) {
         return arrays{dot_product_attention(x[0], x[1], x[2]),
                       dot_product_attention(x[0], x[1], x[2], {.is_causal = true})};
       },
       "n,5,4,8;n,5,2,8;n,5,2,8|2,n,4,8;2,n,2,8;2,n,2,8|n,m,4,8;n,m,2,8;n,m,2,8|2,n,4,8;2,m,2,8;2,m,2,8",
       "n,2,5,4,8;n,2,5,2,8;n,2,5,2,8"},
      {"attention after tanh",
       [](o x) { return arrays{dot_product_attention(tanh(x[0]), x[0] * 0.5f, tanh(x[0] + 1.0f))}; }, "n,m,2,8", ""},
      {"attention with a mask", [](o x) { return arrays{dot_product_attention(x[0], x[0], x[0], x[1])}; },
       "n,5,2,8;b:5,5|2,n,2,8;b:n,n|n,m,2,8;b:m,m|n,m,2,8;b:n,1,m,m", ""},
      {"attention with any heads", [](o x) { return arrays{dot_product_attention(x[0], x[0], x[0])}; },
       "2,3,n,8|2,3,2,n", "", true},
      {"rotary", [](o x) { return arrays{rotary_embedding(x[0], x[1])}; }, "n,5,2,8;i:n,5|2,n,2,8;i:2,n|n,m,2,8;i:n,m",
       "n,2,5,2,8;i:n,2,5"},
      {"cross entropy", [](o x) { return arrays{softmax_cross_entropy(x[0], x[1])}; },
       "n,5;i:n|3,n;i:3|n,m,5;i:n,m|n,m;i:n", "n,3,5;i:n,3"},
      {"linear cross entropy", [](o x) { return arrays{linear_cross_entropy(x[0], x[1], x[2])}; },
       "n,4;4,7;i:n|n,m,4;4,7;i:n,m", ""},
      {"random",
       [](o x) {
         const random::key k = key_of(x[1]);
         return arrays{random::uniform(k, x[0].shape()) * x[0], random::normal(k, x[0].shape()),
                       astype(random::randint(k, x[0].shape(), 0, 9), f32),
                       astype(random::bernoulli(k, 0.5f, x[0].shape()), f32),
                       astype(random::categorical(k, x[0]), f32)};
       },
       "n,4;u:2|4,n;u:2|n,m;u:2", ""},
      {"permutation", [](o x) { return arrays{random::permutation(key_of(x[1]), x[0], 1)}; }, "n,4;u:2", ""},
      {"permutation of a dynamic axis", [](o x) { return arrays{random::permutation(key_of(x[1]), x[0], 0)}; },
       "n,4;u:2|n,m;u:2", "", true},
      {"scan over it",
       [](o x) {
         auto [c, ys] =
             scan([](const array& s, const array& v) { return std::pair{s * 0.5f + v, tanh(s) * v}; }, x[1], x[0]);
         return arrays{c, ys};
       },
       "n,4;4|n,m;m|n,n;n", "n,3,4;n,4"},
      {"scan backwards",
       [](o x) {
         auto [c, ys] = scan([](const array& s, const array& v) { return std::pair{tanh(s + v), s}; }, x[1], x[0],
                             {.reverse = true});
         return arrays{c, ys};
       },
       "n,4;4", ""},
      {"scan beside it",
       [](o x) {
         auto [c, ys] =
             scan([&](const array& s, const array& v) { return std::pair{s * v + x[0], sum(s)}; }, x[0], x[1]);
         return arrays{c, ys};
       },
       "n,4;3|n,m;5", "n,2,4;n,3"},
      {"vmap", [](o x) { return arrays{vmap([](const array& a) { return sum(tanh(a) * a); })(x[0])}; }, "n,4|4,n|n,m",
       ""},
      {"remat", [](o x) { return arrays{remat([](const array& a) { return sum(tanh(a) * a, {{0}}); })(x[0])}; },
       "n,4|n,m", ""},
      {"as a number", [](o x) { return arrays{x[0] * x[0].extent(0)}; }, "n,4|n,m", "", true},
      {"by a number", [](o x) { return arrays{sum(x[0]) / x[0].extent(0)}; }, "n,4", "", true},
      {"as a number in a loop",
       [](o x) {
         return arrays{
             scan([&](const array& s, const array& v) { return std::pair{s + sum(v) * x[0].extent(0), nothing{}}; },
                  array(0.0f), x[0])
                 .first};
       },
       "n,4", "", true},
      {"by its inverse", [](o x) { return arrays{sum(x[0]) * (1.0f / static_cast<float>(x[0].extent(0)))}; }, "n,4", "",
       true},
      {"as an array", [](o x) { return arrays{sum(x[0]) / astype(extent_as_array(x[0].extent(0)), f32)}; }, "n,4|n,m",
       ""},
      {"attention layer", [attend](o x) { return arrays{attend(x[0])}; }, "n,5,8|2,n,8|n,m,8", ""},
      {"mlp", [mlp](o x) { return arrays{mlp(x[0])}; }, "n,4|n,m,4", "n,3,4"},
      {"embed", [](o x) { return arrays{nn::embed{.table = x[0]}(x[1])}; }, "5,4;i:n|5,4;i:n,m|n,4;i:3", ""},
      {"dropout", [](o x) { return arrays{nn::dropout{.rate = 0.5f}(x[0], key_of(x[1]))}; }, "n,4;u:2|n,m;u:2", ""},
      {"adamw",
       [](o x) {
         const auto optimizer = optim::adamw({.learning_rate = 0.1, .weight_decay = 0.01});
         auto [updates, state] = optimizer.update(x[1], optimizer.init(x[0]), x[0]);
         return arrays{updates};
       },
       "n,4;n,4|n,m;n,m", ""},
      {"more unary",
       [](o x) {
         return arrays{sin(x[0]),          cos(x[0]),  expm1(x[0]),  rsqrt(abs(x[0]) + 0.1f), floor(x[0] * 3.0f),
                       round(x[0] * 3.0f), sign(x[0]), square(x[0]), erf_inv(x[0] * 0.9f),    clip(x[0], -0.5f, 0.5f),
                       leaky_relu(x[0]),   relu(x[0]), sigmoid(x[0])};
       },
       "n,4|n,m", ""},
      {"more binary",
       [](o x) {
         return arrays{minimum(x[0], x[1]),
                       logaddexp(x[0], x[1]),
                       x[0] - x[1],
                       remainder(x[0], x[1] + 2.0f),
                       fma(x[0], x[1], x[0]),
                       where(x[0] > x[1], x[0], 0.0f),
                       astype(logical_and(x[0] > 0.0f, x[1] > 0.0f), f32)};
       },
       "n,4;n,4|n,m;m", ""},
      {"bits",
       [](o x) {
         return arrays{
             bitwise_and(x[0], x[1]),         bitwise_or(x[0], x[1]), bitwise_not(x[0]), shift_left(x[0], x[1]),
             shift_right_logical(x[0], x[1]), population_count(x[0]), clz(x[0]),         floor_divide(x[0], x[1] + 1),
             bitcast_convert_type(x[0], f32)};
       },
       "i:n,4;i:n,4|i:n,m;i:n,m", ""},
      {"bf16",
       [](o x) {
         return arrays{x[0] * 0.5f + x[0], sum(x[0], {{0}}), mean(x[0], {{1}}), matmul(x[0], transpose(x[0])),
                       softmax(x[0])};
       },
       "h:n,4|h:n,m", ""},
      {"more reductions",
       [](o x) {
         return arrays{min(x[0]), astype(all(x[0] > -0.5f, {{1}}), f32), astype(argmin(x[0], -1), f32), var(x[0]),
                       logsumexp(x[0])};
       },
       "n,4|n,m", ""},
      {"more samples",
       [](o x) {
         const random::key k = key_of(x[1]);
         return arrays{random::gumbel(k, x[0].shape()), random::exponential(k, x[0].shape()),
                       random::truncated_normal(k, -2, 2, x[0].shape()), random::uniform(k, x[0].shape(), bf16)};
       },
       "n,4;u:2|n,m;u:2", ""},
      {"more pools",
       [](o x) { return arrays{sum_pool(x[0], {2, 2}), avg_pool(x[0], {2, 2}, {.padding = padding::same})}; },
       "n,5,4,3", ""},
      {"layers",
       [layers](o x) { return arrays{layers.dense(x[0]), layers.norm(x[0]), layers.rms(x[0]), layers.gated(x[0])}; },
       "n,4|n,m,4|2,n,4", "n,3,4"},
      {"optimisers",
       [](o x) {
         arrays out;
         const auto step = [&](const auto& optimizer) {
           out.push_back(optimizer.update(x[1], optimizer.init(x[0]), x[0]).first);
         };
         step(optim::sgd({.learning_rate = 0.1, .momentum = 0.9}));
         step(optim::adam({.learning_rate = 0.1}));
         step(optim::lion({.learning_rate = 0.1}));
         step(optim::rmsprop({.learning_rate = 0.1}));
         step(optim::adagrad({.learning_rate = 0.1}));
         return out;
       },
       "n,4;n,4|n,m;n,m", ""},
      {"clipping", [](o x) { return arrays{optim::clip_by_global_norm(0.5f).update(x[0], {}, x[0]).first}; }, "n,4|n,m",
       ""},
  };
}

/// Programs whose extents are sums, differences and quotients of n and m.
std::vector<row> sums() {
  using o = const arrays&;
  const nn::attention attend = init(nn::attention{.width = 8, .heads = 2}, random::key(1));
  const auto padded = [](const array& x) {  // [n, ...] -> [16 ceil(n / 16), ...]
    const std::int64_t n = x.extent(0), all = mul_extent(ceil_extent(n, 16), 16);
    shape low, high;
    for (int i = 0; i < x.rank(); ++i) low.push_back(0), high.push_back(i == 0 ? sub_extent(all, n) : 0);
    return pad(x, 0.0f, low, high);
  };
  return {
      {"all but the first", [](o x) { return arrays{x[0](range{1}), x[0][range{1}] * 2.0f}; }, "n,4|n|n,m|2,4",
       "m,n,4"},
      {"all but the last", [](o x) { return arrays{x[0](range{0, -1}), x[0][range{0, -1}] * 2.0f}; }, "n,4|n|n,m", ""},
      {"along the last axis", [](o x) { return arrays{tanh(x[0](ellipsis, range{1})), x[0](ellipsis, range{0, -2})}; },
       "4,n|m,n|n,n|2,3,n", ""},
      {"neighbours", [](o x) { return arrays{x[0](range{1}) - x[0](range{0, -1}), x[0](range{2})(range{0, -1})}; },
       "n,4|n|n,m", ""},
      {"the first and the last", [](o x) { return arrays{x[0](range{0, 5}) + 1.0f, x[0](range{-3}) * 2.0f}; },
       "n,4|n|n,m", ""},
      {"every second", [](o x) { return arrays{x[0](every(2)) * 2.0f, x[0](range{1, range::end, 3})}; }, "n,4|n|n,m",
       ""},
      {"shifted", [](o x) { return arrays{x[0] + pad(x[0], 0.5f, {1, 0}, {-1, 0})}; }, "n,4|n,m", ""},
      {"longer", [](o x) { return arrays{tanh(concatenate({x[0], x[1]})), sum(concatenate({x[0], x[1]}), {{0}})}; },
       "n,4;1,4|n,4;m,4|n;m|3;n|n,n;m,n", "m,n,4;m,2,4"},
      {"longer by both", [](o x) { return arrays{concatenate({x[0], x[1], x[0], ones({3, 4})}) * 2.0f}; },
       "n,4;m,4|n,4;1,4", ""},
      {"parts of what is longer",
       [](o x) {
         const array y = concatenate({x[0], x[1]});
         return arrays{slice_in_dim(y, x[0].extent(0), y.extent(0), 0), slice_in_dim(y, 0, x[0].extent(0), 0) * 2.0f};
       },
       "n,4;m,4|n,4;2,4|n;m", ""},
      {"the last of what is longer", [](o x) { return arrays{concatenate({x[0], x[1]})(-1)}; }, "n,4;1,4|n,4;3,4", ""},
      {"between", [](o x) { return arrays{pad(x[0], 0.5f, {1, 0}, {2, 0}, {2, 0})}; }, "n,4|n,m", ""},
      {"ranges",
       [](o x) {
         const std::int64_t n = x[0].extent(0), m = x[1].extent(0), all = add_extent(n, m);
         return arrays{arange(n, all), arange(all), arange(1, n), arange(0, all, 3), iota(f32, {all, n}, 0)};
       },
       "n;m|n;1|n;n", ""},
      {"padded to a multiple", [=](o x) { return arrays{padded(x[0]), tanh(padded(x[0])) * 2.0f}; }, "n,4|n|n,m", ""},
      {"rows of 16",
       [=](o x) {
         const array y = reshape(padded(x[0]), {-1, 16});
         return arrays{y, sum(y, {{1}}), matmul(transpose(y), y), softmax(y)};
       },
       "n", ""},
      {"products of sums",
       [](o x) {
         const array y = concatenate({x[0], x[1]});
         return arrays{matmul(y, transpose(y)), matmul(y(range{1}), transpose(x[0](range{0, -1}))), softmax(y, 0)};
       },
       "n,4;m,4|n,4;1,4", ""},
      {"joined axes",
       [](o x) { return arrays{reshape(concatenate({x[0], x[1]}), {-1}), reshape(x[0](range{1}), {-1})}; },
       "n,4;m,4|n,4;1,4|n,m;1,m", ""},
      {"attention over a cache",
       [](o x) {
         const array k = concatenate({x[1], x[0]}, 1);
         return arrays{dot_product_attention(x[0], k, k)};
       },
       "2,m,4,8;2,n,4,8|1,1,4,8;1,n,4,8", ""},
      {"attention over all but the last", [attend](o x) { return arrays{attend(x[0](whole, range{0, -1}))}; },
       "2,n,8|m,n,8", ""},
      {"a batch padded to 16", [=](o x) { return arrays{slice_in_dim(attend(padded(x[0])), 0, x[0].extent(0), 0)}; },
       "n,3,8|n,m,8", ""},
      {"reductions of what is longer",
       [](o x) {
         const array y = concatenate({x[0], x[1]});
         return arrays{mean(y, {{0}}), var(y, {{0}}), max(y(range{1}) * y(range{1}), {{-1}}), cumsum(y, 0), sort(y, 0)};
       },
       "n,4;m,4|n,4;1,4", "m,n,4;m,2,4"},
      {"a loop over what is longer",
       [](o x) {
         const auto step = [](const array& s, const array& v) { return std::pair{s * 0.5f + v, sum(s)}; };
         auto [last, all] = scan(step, zeros({4}), concatenate({x[0], x[1]}));
         return arrays{last, all};
       },
       "n,4;m,4|n,4;1,4", ""},
      {"the extent as an array",
       [](o x) { return arrays{sum(x[0]) * astype(extent_as_array(add_extent(x[0].extent(0), 3)), f32)}; }, "n|n,4",
       ""},
      {"causal convolution", [](o x) { return arrays{causal_conv1d(x[0], x[1]).out}; }, "2,n,4;4,3|n,m,4;4,3", ""},
      {"unlike extents", [](o x) { return arrays{x[0] + x[1](range{1})}; }, "n;m|n,4;n,4", "", true},
      {"a part that may be outside", [](o x) { return arrays{x[0](0)}; }, "n|n,4", "", true},
      {"a written part that may be outside", [](o x) { return arrays{x[0].at(0).set(1.0f)}; }, "n|n,4", "", true},
      {"arithmetic with the number", [](o x) { return arrays{arange(x[0].extent(0) + 1)}; }, "n|n,4", "", true},
      {"half of the number", [](o x) { return arrays{arange(x[0].extent(0) / 2)}; }, "n|n,4", "", true},
      {"difference of the numbers", [](o x) { return arrays{arange(x[0].extent(0) - x[1].extent(0))}; }, "n;m|m;n", "",
       true},
      {"a range of the number", [](o x) { return arrays{x[0](range{0, x[0].extent(0) / 2})}; }, "n|n,4", "", true},
      {"a range to a number", [](o x) { return arrays{arange(0.5f, x[0].extent(0))}; }, "n|n,4", "", true},
  };
}

}  // namespace

TEST_CASE("extents that are sums are those of programs for each size") {
  for (const row& r : sums())
    for (std::string_view types : parts(r.types, '|')) {
      const std::string found = outcome(r.f, types, all_sizes);
      INFO(r.name << " of " << types << ": " << found);
      CHECK((r.refused ? found.rfind("refused: ", 0) == 0 : found == "right"));
      if (r.refused) continue;
      const std::string gradient = outcome(gradient_of(r.f), types, some_sizes);
      INFO("gradient: " << gradient);
      CHECK((gradient == "right" || gradient.rfind("refused: ", 0) == 0));
      if (*r.batched) CHECK(outcome(batch_of(r.f), r.batched, some_sizes) == "right");
    }
}

TEST_CASE("every op on dynamic extents is right or refused") {
  for (const row& r : rows())
    for (std::string_view types : parts(r.types, '|')) {
      const std::string found = outcome(r.f, types, some_sizes);
      INFO(r.name << " of " << types << ": " << found);
      CHECK((r.refused ? found.rfind("refused: ", 0) == 0 : found == "right"));
      if (r.refused) continue;
      const std::string gradient = outcome(gradient_of(r.f), types, some_sizes);
      INFO("gradient: " << gradient);
      CHECK((gradient == "right" || gradient.rfind("refused: ", 0) == 0));
    }
}

TEST_CASE("vmap over a dynamic axis is right or refused") {
  for (const row& r : rows()) {
    if (!*r.batched) continue;
    const std::string found = outcome(batch_of(r.f), r.batched, some_sizes);
    INFO(r.name << " of " << r.batched << ": " << found);
    CHECK((found == "right" || found.rfind("refused: ", 0) == 0));
  }
}
