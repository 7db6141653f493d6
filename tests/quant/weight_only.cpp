// tests/quant/weight_only.cpp: quantised matrices by rules on paths equal those that are written by hand.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/quant/weight_only.hpp>

#include <tokamax/checkpoint.hpp>
#include <tokamax/tokamax.hpp>
#include <tokamax/transforms/rewrite/rewrite.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

struct block {
  tk::nn::linear up{.in = 32, .out = 64, .use_bias = false}, down{64, 32};
};
struct network {
  std::vector<block> blocks = std::vector<block>(2);
  tk::nn::embed table{16, 32};
  array operator()(const array& ids) const {
    array x = table(ids);
    for (const block& b : blocks) x = x + b.down(tk::gelu(b.up(x)));
    return table.logits(x);
  }
};
const auto forward = [](const network& f, const array& ids) { return f(ids); };
std::vector<float> values(array a) {
  const auto v = a.values<float>();
  return {v.begin(), v.end()};
}
const array ids = tk::arange(6, tk::i32);

/// The same network with the matrices of the blocks as quantised arrays.
struct by_hand {
  std::vector<tk::quantized_array> up, down;
  std::vector<array> bias;
  tk::nn::embed table;
  by_hand(const network& f, tk::dtype type, std::int64_t tile) : table(f.table) {
    for (const block& b : f.blocks) {
      up.push_back(tk::quantize(b.up.kernel, {.type = type, .tiles = {tile, 1}}));
      down.push_back(tk::quantize(b.down.kernel, {.type = type, .tiles = {tile, 1}}));
      bias.push_back(b.down.bias);
    }
  }
  array operator()(const array& in) const {
    array x = table(in);
    for (std::size_t k = 0; k < up.size(); ++k) x = x + (tk::matmul(tk::gelu(tk::matmul(x, up[k])), down[k]) + bias[k]);
    return table.logits(x);
  }
};

}  // namespace

TEST_CASE("rules on paths choose matrices, whose programs are those written by hand") {
  const network f = tk::init(network{}, tk::random::key(1));
  for (const auto& [type, tile] : {std::pair{tk::i8, 0}, std::pair{tk::i8, 16}, std::pair{tk::i4, 0}}) {
    CAPTURE(tile);
    const auto small = tk::rewrite(
        forward, tk::quant::weight_only{{{.module_path = "blocks", .weight_qtype = type, .tile_size = tile}}});
    const auto packed = small.prepare(f, ids);
    CHECK(packed.leaves.size() == 2 * 5 + 1);
    CHECK(packed.leaves.at("blocks[1].up.kernel.qvalue").dtype() == type);
    CHECK(packed.leaves.at("blocks[1].down.kernel.scale").shape() == tk::shape{tile ? 4 : 1, 32});
    CHECK(packed.leaves.count("table.table") == 1);
    const by_hand hand(f, type, tile);
    const std::vector<float> expected = values(tk::jit([&](const array& in) { return hand(in); }, tk::cpu)(ids));
    CHECK(values(tk::jit(small, tk::cpu)(packed, ids)) == expected);
    CHECK(values(small(packed, ids)) == expected);
  }
}

TEST_CASE("the first rule for a path counts, and other uses of a weight keep its floats") {
  const network f = tk::init(network{}, tk::random::key(1));
  const auto packed = [&](std::vector<tk::quant::rule> rules) {
    return tk::rewrite(forward, tk::quant::weight_only{std::move(rules)}).prepare(f, ids);
  };
  CHECK(packed({}).leaves.size() == 7);
  const auto one =
      packed({{.module_path = "blocks[0].up", .weight_qtype = tk::dtype::none}, {.module_path = "blocks[0]"}});
  CHECK(one.leaves.count("blocks[0].up.kernel") == 1);
  CHECK(one.leaves.count("blocks[0].down.kernel.qvalue") == 1);
  CHECK(one.leaves.count("blocks[1].down.kernel") == 1);
  const auto table = packed({{.module_path = "table"}});
  CHECK(table.leaves.count("table.table") == 1);  // rows are looked up
  CHECK(table.leaves.count("table.table.qvalue") == 1);
  CHECK_THROWS_WITH(packed({{.tile_size = 7}}), contains("quantize"));
}

TEST_CASE("packed matrices are read where rules say so, by models that know nothing of it") {
  const network f = tk::init(network{}, tk::random::key(1));
  for (const tk::dtype type : {tk::i8, tk::i4, tk::u4}) {
    CAPTURE(static_cast<int>(type));
    const auto with = [&](bool packed) {
      return tk::rewrite(forward, tk::quant::weight_only{{{.weight_qtype = type, .tile_size = 16, .packed = packed}}});
    };
    const auto small = with(true);
    const auto packed = small.prepare(f, ids);
    CHECK(packed.leaves.at("blocks[1].up.kernel.codes").shape() == tk::shape{1, 1, type == tk::i8 ? 32 : 4, 64});
    CHECK(packed.leaves.at("blocks[1].down.kernel.scale").shape() == tk::shape{1, 1, 4, 64});
    CHECK(packed.leaves.at("blocks[1].down.kernel.scale").dtype() == tk::f32);
    const tk::quant::rule halves{.weight_qtype = type, .tile_size = 16, .packed = true, .scale_dtype = tk::f16};
    const auto with_halves = tk::rewrite(forward, tk::quant::weight_only{{halves}}).prepare(f, ids);
    CHECK(with_halves.leaves.at("blocks[1].down.kernel.scale").dtype() == tk::f16);
    CHECK(packed.leaves.count("blocks[0].up.kernel.offset") == (type == tk::u4 ? 1 : 0));
    CHECK(packed.leaves.count("table.table") == 1);        // rows are looked up
    CHECK(packed.leaves.count("table.table.codes") == 1);  // and contracted along its last axis
    const std::vector<float> found = values(tk::jit(small, tk::cpu)(packed, ids));
    CHECK(values(small(packed, ids)) == found);
    if (type == tk::u4) continue;
    const auto plain = with(false);  // the same numbers by the same products of floats
    CHECK(found == values(plain(plain.prepare(f, ids), ids)));
  }
  CHECK_THROWS_WITH(tk::rewrite(forward, tk::quant::weight_only{{{.tile_size = 4, .packed = true}}}).prepare(f, ids),
                    contains("pack: group"));
  CHECK_THROWS_WITH(
      tk::rewrite(forward, tk::quant::weight_only{{{.weight_qtype = tk::u8, .packed = true}}}).prepare(f, ids),
      contains("pack: dtype"));
}

TEST_CASE("matrices that are packed already take the place of leaves, which need no values then") {
  const network f = tk::init(network{}, tk::random::key(1));
  const auto packed = [](const array& matrix) {
    return tk::quant::pack(matrix, {tk::packed_format::int_4, 16, tk::f16});
  };
  tk::quant::packed_leaves given{{"table.table", {packed(tk::transpose(f.table.table)), true}}};
  network floats = f, empty = f;
  const auto as_floats = [](const tk::packed_weights& w) { return tk::reshape(unpack(w), {w.rows, w.columns}); };
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string path = "blocks[" + std::to_string(i) + "].down.kernel";
    given[path].weights = packed(f.blocks[i].down.kernel);
    floats.blocks[i].down.kernel = as_floats(given[path].weights);
    empty.blocks[i].down.kernel = array(f.blocks[i].down.kernel.type());
  }
  floats.table.table = tk::transpose(as_floats(given["table.table"].weights));
  empty.table.table = array(f.table.table.type());
  const auto small = tk::rewrite(forward, tk::quant::weight_only{{}, given});
  const auto model = tk::quant::with_packed(empty, given);
  CHECK(model.leaves.size() == 6 + 3 * 2);
  CHECK(values(tk::jit(small, tk::cpu)(model, ids)) == values(tk::jit(forward, tk::cpu)(floats, ids)));
  CHECK(values(small(model, ids)) == values(forward(floats, ids)));
  // a leaf that is used otherwise than it is packed has no value
  given["table.table"].by_rows = false;
  CHECK_THROWS_WITH(tk::rewrite(forward, tk::quant::weight_only{{}, given})(tk::quant::with_packed(empty, given), ids),
                    contains("rewrite: leaf") && contains("table.table"));
}

TEST_CASE("scales have gradients, and packed weights are saved and restored") {
  const network f = tk::init(network{}, tk::random::key(1));
  const auto loss = [](const network& m, const array& in) { return tk::mean(tk::square(m(in))); };
  const auto small = tk::rewrite(loss, tk::quant::weight_only{{{.module_path = "blocks"}}});
  const auto packed = small.prepare(f, ids);
  const auto grads = tk::jit(tk::grad(small), tk::cpu)(packed, ids);
  const by_hand hand(f, tk::i8, 0);
  const auto direct = tk::grad([&](const array& scale) {
    by_hand h = hand;
    h.up[0].scale = scale;
    return tk::mean(tk::square(h(ids)));
  })(hand.up[0].scale);
  CHECK(values(grads.leaves.at("blocks[0].up.kernel.scale")) == values(direct));
  const temporary_folder folder;
  tk::checkpoint::save(folder.path / "packed", packed);
  auto again = small.prepare(tk::init(network{}, tk::random::key(2)), ids);
  tk::checkpoint::restore(folder.path / "packed", again);
  CHECK(values(small(again, ids)) == values(small(packed, ids)));
}
