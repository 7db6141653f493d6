// tests/nn/flax_layers.cpp: linear layers, attention and recurrent layers give what those of Flax give: results, new states and
// gradients.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn.hpp>
#include <tokamax/ops/attention/weights.hpp>
#include <tokamax/tokamax.hpp>

#include <cmath>
#include <tuple>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"
#include "support/golden_cases.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;

int extent(const array& a, int axis) { return static_cast<int>(a.extent(axis)); }

case_functions linear_layers() {
  case_functions table;
  table["linear"] = [](const arrays& x, options o) -> arrays {
    nn::linear f{.in = extent(x[1], 0), .out = extent(x[1], 1), .use_bias = x.count() > 2};
    f.compute_dtype = o.type("dtype");
    f.kernel = x[1];
    if (f.use_bias) f.bias = x[2];
    return f(x[0]);
  };
  table["linear_general"] = [](const arrays& x, options o) -> arrays {
    nn::linear_general f{
        .in = o.list("inner"), .out = o.list("out"), .batch = o.list("batch"), .use_bias = x.count() > 2};
    if (o.has("over")) f.over = axes(o.list("over"));
    CHECK(f.kernel.shape() == x[1].shape());
    f.kernel = x[1];
    if (f.use_bias) f.bias = x[2];
    return f(x[0]);
  };
  table["einsum"] = [](const arrays& x, options o) -> arrays {
    const std::string equation = o.text("equation");
    nn::einsum f{.equation = equation, .kernel_shape = x[1].shape()};
    f.kernel = x[1];
    if (x.count() > 2) f.bias_shape = x[2].shape(), f.bias = x[2];
    return f(x[0]);
  };
  const auto table_of = [](const array& rows) {
    nn::embed e{extent(rows, 0), extent(rows, 1)};
    e.table = rows;
    return e;
  };
  table["embed"] = [=](const arrays& x, options) -> arrays { return table_of(x[1])(x[0]); };
  table["attend"] = [=](const arrays& x, options) -> arrays { return table_of(x[1]).logits(x[0]); };
  table["prelu"] = [](const arrays& x, options) -> arrays {
    nn::prelu f;
    f.slope = x[1];
    return f(x[0]);
  };
  table["dropout"] = [](const arrays& x, options o) -> arrays {
    return nn::dropout{o.number("rate"), axes(o.list("shared"))}(x[0], random::key(x[1]));
  };
  return table;
}

/// x, inputs of keys and values, four kernels and biases, two scales, a key, a mask: what of these a row has.
arrays attended(const arrays& x, options o) {
  int next = 1;
  nn::attention_inputs in;
  if (o.integer("cross") > 0) in.keys = x[next++];
  if (o.integer("cross") > 1) in.values = x[next++];
  const int heads = static_cast<int>(o.integer("heads"));
  const array& q = x[next];
  nn::multi_head_attention layer{.heads = heads,
                                 .in = extent(q, 0),
                                 .kv_in = extent(x[next + 1], 0),
                                 .features = extent(q, 1),
                                 .out = extent(x[next + 3], 1),
                                 .kv_heads = static_cast<int>(o.integer("kv_heads", heads)),
                                 .causal = o.flag("causal"),
                                 .use_bias = o.flag("bias", true),
                                 .norm = o.flag("norm") ? nn::head_norm::layer : nn::head_norm::none,
                                 .dropout_rate = o.number("rate"),
                                 .shared_dropout = o.flag("shared", true)};
  for (nn::linear* part : {&layer.query, &layer.key, &layer.value, &layer.projection}) part->kernel = x[next++];
  if (layer.use_bias)
    for (nn::linear* part : {&layer.query, &layer.key, &layer.value, &layer.projection}) part->bias = x[next++];
  if (o.flag("norm")) layer.query_scale = x[next], layer.key_scale = x[next + 1], next += 2;
  if (o.has("rate")) in.dropout_key = x[next++];
  if (o.flag("masked")) in.mask = x[next++];
  if (!o.has("decode")) return layer(x[0], in);
  nn::attention_cache memory = layer.empty_cache({x[0].extent(0)}, o.integer("decode"));
  arrays ys;
  for (std::int64_t t = 0; t < x[0].extent(1); ++t) ys.push_back(layer.decode(slice_in_dim(x[0], t, t + 1, 1), memory));
  return {concatenate(ys, 1), memory.keys, memory.values, memory.length};
}

case_functions attention_layers() {
  case_functions table;
  table["attention"] = attended;
  table["weights"] = [](const arrays& x, options o) -> arrays {
    return dot_product_attention_weights(x[0], x[1], {.is_causal = o.flag("causal")});
  };
  table["mask"] = [](const arrays& x, options o) -> arrays {
    const std::string kind = o.text("kind");
    if (kind == "padding") return nn::make_attention_mask(x[0], x[1]);
    if (kind == "causal") return nn::make_causal_mask(x[0]);
    if (kind == "both") return nn::combine_masks({nn::make_attention_mask(x[0], x[0]), {}, nn::make_causal_mask(x[0])});
    return nn::make_attention_mask(x[0], x[1], [](const array& a, const array& b) { return a == b; });
  };
  return table;
}

/// A cell with the arrays x[at], x[at + 1] and x[at + 2] as its kernels and its bias.
template <class Cell>
Cell cell_of(const arrays& x, int at) {
  Cell cell{.in = extent(x[at], 0), .width = extent(x[at + 1], 0)};
  cell.input.kernel = x[at];
  cell.hidden.kernel = x[at + 1];
  if (cell.hidden.use_bias)
    cell.hidden.bias = x[at + 2];
  else
    cell.input.bias = x[at + 2];
  return cell;
}
/// The result and the leaves of states.
template <class... States>
arrays with_states(const array& y, const States&... states) {
  arrays all{y};
  const auto put = [&](const nn::lstm_state& s) { all.push_back(s.cell), all.push_back(s.hidden); };
  const auto put_any = [&](const auto& s) {
    if constexpr (std::is_base_of_v<array, std::remove_cvref_t<decltype(s)>>)
      all.push_back(s);
    else
      put(s);
  };
  (put_any(states), ...);
  return all;
}
template <class Cell>
arrays series(Cell cell, const arrays& x, options o) {
  const nn::rnn<Cell> layer{.cell = cell,
                            .reverse = o.flag("reverse"),
                            .keep_order = o.flag("keep_order", true),
                            .time_major = o.flag("time_major")};
  if (o.flag("started")) {
    decltype(cell.start({})) from;
    if constexpr (std::is_same_v<Cell, nn::lstm_cell>)
      from = {x[4], x[5]};
    else
      from = x[4];
    const auto [last, y] = layer.run_from(from, x[0]);
    return with_states(y, last);
  }
  if (!o.flag("lengths")) {
    const auto [last, y] = layer.run(x[0]);
    return with_states(y, last);
  }
  const auto [last, y] = layer.run(x[0], x[4]);  // what is behind the ends has no meaning
  return with_states(
      select(iota(i32, {1, y.extent(1), 1}, 1) < reshape(x[4], {x[4].extent(0), 1, 1}), y, zeros_like(y)), last);
}
template <class Cell>
arrays both_ways(const arrays& x) {
  const nn::bidirectional<Cell> layer{{cell_of<Cell>(x, 1)}, {cell_of<Cell>(x, 4)}};
  const auto [ends, y] = layer.run(x[0]);
  return with_states(y, ends.first, ends.second);
}

case_functions recurrent_layers() {
  case_functions table;
  table["series"] = [](const arrays& x, options o) -> arrays {
    if (o.text("cell") == "lstm") return series(cell_of<nn::lstm_cell>(x, 1), x, o);
    if (o.text("cell") == "gru") return series(cell_of<nn::gru_cell>(x, 1), x, o);
    nn::simple_cell cell = cell_of<nn::simple_cell>(x, 1);
    cell.residual = o.flag("residual");
    return series(cell, x, o);
  };
  table["both_ways"] = [](const arrays& x, options o) -> arrays {
    if (o.text("cell") == "lstm") return both_ways<nn::lstm_cell>(x);
    if (o.text("cell") == "gru") return both_ways<nn::gru_cell>(x);
    return both_ways<nn::simple_cell>(x);
  };
  table["mgu"] = [](const arrays& x, options o) -> arrays {
    nn::mgu_cell cell = cell_of<nn::mgu_cell>(x, 2);
    cell.reset_gate = o.flag("reset");
    return cell(x[1], x[0]).second;
  };
  table["conv_lstm"] = [](const arrays& x, options) -> arrays {
    shape window;
    for (int i = 0; i + 2 < x[3].rank(); ++i) window.push_back(x[3].extent(i));
    nn::conv_lstm_cell cell{.in = extent(x[3], -2), .width = extent(x[2], -1), .window = window};
    cell.input.kernel = x[3], cell.hidden.kernel = x[4];
    cell.input.bias = x[5], cell.hidden.bias = x[6];
    const auto [next, y] = cell({x[1], x[2]}, x[0]);
    return with_states(y, next);
  };
  table["flip_sequences"] = [](const arrays& x, options o) -> arrays {
    return nn::flip_sequences(x[0], x.count() > 1 ? x[1] : array(), o.flag("time_major") ? 0 : 1);
  };
  return table;
}
}  // namespace

TEST_CASE("linear layers, embeddings and dropout are those of Flax") {
  check_cases("flax/linear.txt", linear_layers());
}
TEST_CASE("attention is that of Flax") { check_cases("flax/attention.txt", attention_layers()); }
TEST_CASE("recurrent layers are those of Flax") { check_cases("flax/recurrent.txt", recurrent_layers()); }

namespace {
/// Layers whose sizes are known while compiling.
struct small_network {
  nn::conv_transpose grow{.in = 2, .out = 4, .window = {2, 2}, .strides = {2, 2}, .padding = nn::edges::circular};
  nn::group_norm norm{.width = 4, .groups = 2};
  nn::linear_general heads{.in = {4}, .out = {2, 3}};
  nn::multi_head_attention attend{.heads = 2, .in = 6, .kv_heads = 1, .norm = nn::head_norm::layer};
  nn::bidirectional<nn::gru_cell> both{{.cell = {.in = 6, .width = 2}}, {.cell = {.in = 6, .width = 2}}};
};
using images = tensor<f32, 1, 2, 3, 2>;
constexpr auto loss = [](const small_network& f, const images& x) {
  const array heads = f.heads(f.norm(f.grow(x)));  // [1, 4, 6, 2, 3]
  return sum(square(f.both(f.attend(reshape(heads, {4, 6, 6})))));
};

/// A layer of attention with all that the op has.
nn::multi_head_attention whole_attention() {
  nn::multi_head_attention layer{.heads = 2,
                                 .in = 8,
                                 .kv_heads = 1,
                                 .causal = true,
                                 .norm = nn::head_norm::rms,
                                 .rotary_base = 1e4,
                                 .window = 2,
                                 .soft_cap = 5,
                                 .use_sinks = true};
  layer = init(layer, random::key(1));
  layer.sinks = array::from<float>({0.5f, -1.0f});
  layer.query_scale = noise({4}, 3) + 1.0f;
  return layer;
}
array part(const array& x, std::int64_t from, std::int64_t to) { return slice_in_dim(x, from, to, -2); }
}  // namespace

TEST_CASE("programs that are known while compiling, or traced, and eager calls have the same bits") {
  const small_network f = init<small_network>(random::key(1));
  const images x = noise({1, 2, 3, 2}, 2);
  const auto bits = [](const auto& found) {
    std::string all = to_string(found.first);
    for_each_leaf([&](const array& a) { all += to_string(a); }, found.second);
    return all;
  };
  const std::string eager = bits(value_and_grad(loss)(f, x));
  CHECK(bits(jit(value_and_grad(loss), cpu, at_run_time)(f, x)) == eager);
  CHECK(bits(jit(value_and_grad(loss), cpu, while_compiling)(f, x)) == eager);
}

TEST_CASE("attention has norms, rotation, windows, caps and sinks of the op") {
  const nn::multi_head_attention layer = whole_attention();
  const array x = noise({2, 5, 8}, 2);
  const auto heads = [&](const nn::linear& f, const array& scale, int n) {
    return rotary_embedding(rms_norm(reshape(f(x), {2, 5, n, 4}), scale), arange(5));
  };
  const array y =
      dot_product_attention(heads(layer.query, layer.query_scale, 2), heads(layer.key, layer.key_scale, 1),
                            reshape(layer.value(x), {2, 5, 1, 4}),
                            {.is_causal = true, .local_window_size = 2, .logits_soft_cap = 5, .sinks = layer.sinks});
  CHECK(distance(layer(x), layer.projection(reshape(y, {2, 5, 8}))) < 1e-6);
  CHECK(distance(layer(x, {.positions = arange(5) + 7}), layer(x)) < 1e-5);  // distances alone count
  nn::multi_head_attention plain = layer;
  plain.rotary_base = 0;
  CHECK(distance(plain(x), layer(x)) > 1e-3);
}

TEST_CASE("decoding in any parts is attention to what came before, and a full cache is told") {
  const nn::multi_head_attention layer = whole_attention();
  const array x = noise({2, 6, 8}, 4), all = layer(x);
  nn::attention_cache memory = layer.empty_cache({2}, 6);
  CHECK(distance(layer.decode(part(x, 0, 3), memory), part(all, 0, 3)) < 1e-5);
  CHECK(distance(layer.decode(part(x, 3, 4), memory), part(all, 3, 4)) < 1e-5);
  const nn::attention_cache four = memory;
  const auto step = jit(
      [&](const array& now, const nn::attention_cache& before) {
        nn::attention_cache next = before;
        const array y = layer.decode(now, next);
        return std::pair{y, next};
      },
      cpu, at_run_time);
  const auto [y, six] = step(part(x, 4, 6), four);
  CHECK(distance(y, part(all, 4, 6)) < 1e-5);
  CHECK(six.length.item() == 6);
  memory = six;
  CHECK_THROWS_WITH(layer.decode(part(x, 0, 1), memory),
                    contains("multi_head_attention: cache: found 6 tokens in 6 places, expected room for 1 more"));
  CHECK(
      std::isnan(sum(step(part(x, 0, 2), six).first).item()));  // in a program the number of tokens is not known before
  nn::attention_cache small = layer.empty_cache({2}, 3);
  CHECK_THROWS_WITH(layer.decode(x, small), contains("multi_head_attention: cache"));
  static_assert(!is_parameter<nn::cache>);
  const auto bad = [](int heads, int kv_heads) {
    return nn::multi_head_attention{.heads = heads, .in = 8, .kv_heads = kv_heads};
  };
  CHECK_THROWS_WITH(bad(3, 3)(x), contains("multi_head_attention: features: found 8, expected a multiple of 3 heads"));
  CHECK_THROWS_WITH(bad(4, 3)(x), contains("multi_head_attention: heads: found 4 for 3 of keys"));
}

TEST_CASE("recurrent layers of unrolled loops, other functions, and no lengths that fit") {
  const auto of = [](nn::rnn<nn::gru_cell> layer) { return init(layer, random::key(1)); };
  const array x = noise({2, 4, 3}, 1);
  const nn::rnn<nn::gru_cell> layer = of({.cell = {.in = 3, .width = 2}});
  nn::rnn<nn::gru_cell> unrolled = layer, relus = layer;
  unrolled.unroll = 2;
  CHECK(distance(unrolled(x), layer(x)) < 1e-6);
  relus.cell.activation = relu;
  CHECK(min(relus(x)).item() >= 0);
  CHECK(min(layer(x)).item() < 0);
  CHECK_THROWS_WITH(nn::flip_sequences(x, ones({3}, i32), 1), contains("flip_sequences: lengths"));
  const auto [end, ys] = layer.run(x, constant({4, 0}));
  CHECK(distance(end[0], ys[0][3]) == 0);
  CHECK(distance(end[1], zeros({2})) == 0);
  const nn::bidirectional<nn::gru_cell> sums{layer, layer,
                                             [](const array& a, const array& b, source_line) { return a + b; }};
  CHECK(sums(x).shape() == shape{2, 4, 2});
  const auto images = init(nn::rnn<nn::conv_lstm_cell>{.cell = {.in = 1, .width = 2}}, random::key(2));
  CHECK(images(noise({2, 3, 4, 5, 1}, 3)).shape() == shape{2, 3, 4, 5, 2});
  const auto gates = init(nn::mgu_cell{3, 2}, random::key(3));
  CHECK(to_string(gates.input.bias) == to_string(constant({1.0f, 1.0f, 0.0f, 0.0f})));
}

TEST_CASE("layers in a row, shared zeros, and what linear layers refuse") {
  const nn::linear up = init(nn::linear{3, 4}, random::key(1)), down = init(nn::linear{4, 2}, random::key(2));
  const auto rectify = [](const array& x) { return relu(x); };
  const array x = noise({5, 3}, 1);
  const nn::sequential model{std::tuple{up, rectify, down}};
  CHECK(distance(model(x), down(relu(up(x)))) == 0);
  nn::sequential counting{std::tuple{up, nn::batch_norm{4}}};
  counting(x);
  CHECK(distance(std::get<1>(counting.layers).average, zeros({4})) > 0);
  CHECK(init(nn::prelu{.first_slope = 0.25}, random::key(1))(constant({-4.0f, 2.0f})).data<float>()[0] == -1);
  const nn::mlp plain = init(nn::mlp{.width = 3, .hidden = 4, .activation = nn::identity}, random::key(3));
  CHECK(distance(plain(x), plain.down(plain.up(x))) == 0);
  CHECK(nn::embed{.count = 3, .width = 2, .compute_dtype = bf16, .table = ones({3, 2})}(constant({1})).dtype() == bf16);
  CHECK_THROWS_WITH((nn::dropout{0.5, {2}}(x, random::key(1))), contains("dropout: axis"));
  CHECK_THROWS_WITH((nn::linear_general{.in = {4}, .out = {2}}(x)), contains("linear_general: axes"));
  CHECK_THROWS_WITH((nn::linear_general{.in = {3}, .out = {2}, .over = {-1, -2}}(x)), contains("linear_general: axes"));
  CHECK_THROWS_WITH((nn::einsum{.equation = "ab", .kernel_shape = {3, 2}}(x)), contains("nn::einsum: equation"));
  const auto general = init(nn::linear_general{.in = {3, 100}, .out = {50}, .over = {-2, -1}}, random::key(5));
  CHECK(std::sqrt(mean(square(general.kernel)).item()) == Approx(std::sqrt(1.0 / 300)).epsilon(0.02));
}
