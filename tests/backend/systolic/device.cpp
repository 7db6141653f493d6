// tests/backend/systolic/device.cpp: programs on a simulated TPU have the values of the CPU, and reports that add up.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/systolic/device.hpp>

#include <tokamax/kernel.hpp>
#include <tokamax/tokamax.hpp>

#include <chrono>
#include <optional>
#include <vector>

#include "kernel/checked_kernels.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/kernel_sources.hpp"

namespace tk = tokamax;
namespace sys = tokamax::systolic_backend;
using tk::array;

namespace {

array noise(const tk::shape& s, std::uint32_t seed = 1) { return tk::random::normal(tk::random::key(seed), s); }
double distance(const array& a, const array& b) { return tk::max(tk::abs(a - b)).item<double>(); }

/// All cycles are in buckets, of each op and of the program.
void check_sums(const sys::program_report& r) {
  for (const sys::op_line& l : r.lines) {
    INFO(l.name);
    CHECK(l.stalls.total() == Approx(l.cycles));
    CHECK(l.cycles > 0);
  }
  CHECK(r.stalls().total() == Approx(r.cycles()));
  CHECK(r.mfu() > 0);
  CHECK(r.mfu() < 1);
}
const sys::op_line& line_of(const sys::program_report& r, std::string_view name) {
  for (const sys::op_line& l : r.lines)
    if (l.name.starts_with(name)) return l;
  throw tk::error("line", std::string(name), r.text(100));
}

array blocked_product(const array& x, const array& y, std::int64_t b) {
  const auto body = [](const auto& p, const auto& xb, const auto& yb, const auto& o, const auto& sum) {
    p.when(p.program_id(2) == 0, [&] { sum.set(0.0f); });
    sum += tk::matmul(xb.get(), yb.get());
    p.when(p.program_id(2) == p.num_programs(2) - 1, [&] { o.set(sum.get()); });
  };
  const std::int64_t m = x.extent(0), k = x.extent(1), n = y.extent(1);
  using enum tk::dimension_semantics;
  return tk::kernel_call(body, {.grid = {m / b, n / b, k / b},
                                .in = {{{b, b}, {0, 2}}, {{b, b}, {2, 1}}},
                                .out = {{{tk::f32, false, {m, n}}, {{b, b}, {0, 1}}}},
                                .scratch = {{{tk::f32, false, {b, b}}}},
                                .semantics = {parallel, parallel}})(x, y);
}

constexpr tk::models::gpt_config size{.vocabulary = 65, .context = 64, .width = 128, .heads = 4, .layers = 4};
struct batch {
  array inputs, targets;
};
constexpr auto loss = [](const tk::models::gpt& m, const batch& b) {
  return tk::mean(tk::softmax_cross_entropy(m(b.inputs), b.targets));
};

}  // namespace

TEST_CASE("values are those of products in bfloat16, and near those of f32", "[systolic]") {
  const array x = noise({64, 128}), y = noise({128, 32}, 2);
  const auto f = [](const array& a, const array& b) { return tk::relu(tk::matmul(a, b)); };
  const auto on_tpu = tk::jit(f, tk::systolic(tk::v5e));
  const array here = on_tpu(x, y);
  const array rounded = tk::jit(tk::with_precision<tk::bf16_products>(f), tk::cpu)(x, y);
  CHECK(distance(here, rounded) == 0);
  const double largest = tk::max(tk::abs(f(x, y))).item<double>();
  CHECK(distance(here, f(x, y)) < largest * 0x1p-7);
  CHECK(distance(here, f(x, y)) > 0);
  check_sums(on_tpu.report());
  CHECK(on_tpu.report().useful_macs() == 64.0 * 128 * 32);
  const auto run = tk::jit([](const array& a) { return a + 1.0f; }, tk::systolic(tk::v4), tk::at_run_time);
  CHECK_THROWS_WITH(run.report(), contains("systolic: report: found no run"));
  CHECK(distance(run(x), x + 1.0f) == 0);
}
TEST_CASE("a kernel costs what its grid does: copies of blocks that change, and its body", "[systolic]") {
  const array x = noise({512, 512}), y = noise({512, 512}, 2);
  const auto f = [](const array& a, const array& b) { return blocked_product(a, b, 128); };
  const sys::program_report r = tk::systolic_report(tk::systolic(tk::v5e), f, x, y);
  check_sums(r);
  const sys::op_line& l = line_of(r, "kernel_call");
  CHECK(l.source == sys::cost_source::kernel);
  CHECK(r.lines.size() == 1);
  CHECK(l.useful_macs == 512.0 * 512 * 512);
  CHECK(l.hbm_bytes == 4 * (64.0 + 64 + 16) * 128 * 128);  // blocks (i, k) and (k, j) in 64 steps, 16 results
  // The same as the product that is written as instructions, but for the work of the vector unit on the sums.
  const sys::timeline by_hand =
      sys::simulate_matmul(tk::v5e, {512, 512, 512}, {.block = {128, 128, 128}, .type = sys::element::f32});
  CHECK(l.cycles >= by_hand.cycles);
  CHECK(l.cycles < 2 * by_hand.cycles);
  // Two cores share the parallel steps.
  const sys::program_report both = tk::systolic_report(tk::systolic(tk::v4), f, x, y);
  CHECK(both.cores == 2);
  check_sums(both);
  CHECK(distance(tk::jit(f, tk::systolic(tk::v5e))(x, y), tk::matmul(x, y)) < 1);
}
TEST_CASE("more buffers hide more of the copies, and take more of VMEM", "[systolic]") {
  const array x{tk::array_type{tk::f32, false, {4096, 512}}};
  const auto cycles = [&](int buffers) {
    const auto f = [=](const array& a) {
      const tk::block_spec rows{.block = {64, 512}, .index = {0, tk::first_block}, .buffers = buffers};
      return tk::kernel_call([](const auto&, const auto& in, const auto& out) { out.set(tk::exp(in.get())); },
                             {.grid = {64}, .in = {rows}, .out = {{a.type(), rows}}})(a);
    };
    return tk::systolic_report(tk::systolic(tk::v5e), f, x).cycles();
  };
  CHECK(cycles(1) > 1.2 * cycles(2));
  CHECK(cycles(2) >= cycles(3));
  CHECK_THROWS_WITH(cycles(1000), contains("VMEM of core 0") && contains("input 0 1000 x"));
}
TEST_CASE("kernels that are written once have the values of the CPU, and cost cycles on each chip", "[systolic]") {
  std::uint32_t seed = 0;
  const auto made = [&](const tk::shape& e) { return noise(e, ++seed); };
  std::vector<tk::test::sources::source> all = tk::test::sources::all(made);
  for (auto& s : tk::test::sources::more(made)) all.push_back(std::move(s));
  for (const auto& s : all) {
    CAPTURE(s.name);
    const auto f = [&s](const array& a, const array& b, const array& c) { return s.kernel({a, b, c}); };
    const array &x = s.in[0], &y = s.in[1], z = s.in.count() == 2 ? array(0.0f) : s.in[2], meant = s.meaning(s.in);
    const array there = tk::jit(f, tk::systolic(tk::v5e))(x, y, z);
    CHECK(distance(tk::jit(f, tk::cpu)(x, y, z), meant) < 1e-4);
    CHECK(distance(s.kernel(s.in), meant) < 1e-4);
    CHECK(distance(there, meant) < 0.03 * std::max(5.0, tk::max(tk::abs(meant)).item<double>()));
    CHECK(distance(there, tk::jit(tk::with_precision<tk::bf16_products>(f), tk::cpu)(x, y, z)) == 0);
    for (const auto& chip : {tk::v4, tk::v5e, tk::v6e}) {
      const auto r = tk::systolic_report(tk::systolic(chip), f, x, y, z);
      CHECK(r.stalls().total() == Approx(r.cycles()));
      CHECK((s.products ? r.mfu() > 0 : r.mfu() == 0));
      CHECK(line_of(r, "kernel_call").source == sys::cost_source::kernel);
    }
  }
}
TEST_CASE("a kernel whose steps depend on numbers of a run costs what its writer says", "[systolic]") {
  const array x{tk::array_type{tk::f32, false, {1024, 512}}}, n{tk::array_type{tk::i32, false, {}}};
  const auto report = [&](const sys::chip& c, bool multiplies, const std::optional<tk::op_cost>& cost,
                          bool prefetched) {
    const auto f = [=](const array& steps, const array& a) {
      const tk::block_spec rows{{128, 512}, {0, tk::first_block}};
      const auto body = [=](const auto&, const auto&, const auto& in, const auto& out) {
        const array v = in.get();
        out.set(multiplies ? tk::matmul(tk::matmul(v, tk::swapaxes(v, 0, 1)), v) : tk::exp(v));
      };
      std::vector<tk::block_spec> in{rows};
      if (!prefetched) in.insert(in.begin(), tk::block_spec{});
      return tk::kernel_call(body, {.grid = prefetched ? tk::kernel_grid{tk::up_to(8, 0)} : tk::kernel_grid{8},
                                    .in = {in.data(), in.size()},
                                    .out = {{a.type(), rows}},
                                    .prefetch = prefetched,
                                    .cost_estimate = cost})(steps, a);
    };
    return tk::systolic_report(tk::systolic(c), f, n, x);
  };
  const double bytes = 2.0 * 4 * 1024 * 512;
  const tk::op_cost half{.flops = 1e9, .bytes_accessed = bytes}, one{.flops = 2e9, .bytes_accessed = bytes},
      vectors{0, 0, 1e6, bytes};
  for (const sys::chip* c : {&tk::v4, &tk::v5e, &tk::v6e}) {
    INFO(c->name);
    const sys::program_report said = report(*c, true, one, true);
    const sys::op_line& l = line_of(said, "kernel_call");
    CHECK(l.source == sys::cost_source::estimate);
    CHECK(l.useful_macs == Approx(1e9));
    CHECK(l.hbm_bytes == Approx(bytes));
    CHECK(l.cycles > 2e9 / c->peak_per_cycle(sys::element::f32) / std::max(1, said.cores));
    check_sums(said);
    CHECK_THAT(said.text(), contains("kernels that depend on numbers of a run cost what their cost_estimate says"));
    CHECK(report(*c, true, half, true).cycles() < said.cycles());
    const sys::program_report exps = report(*c, false, vectors, true);
    CHECK(exps.useful_macs() == 0);
    CHECK(line_of(exps, "kernel_call").source == sys::cost_source::estimate);
    CHECK(exps.stalls().total() == Approx(exps.cycles()));
    // What is known is simulated step by step, whatever is said of it, and so is a kernel of which nothing is said.
    CHECK(line_of(report(*c, true, one, false), "kernel_call").source == sys::cost_source::kernel);
    CHECK_THAT(report(*c, true, {}, true).text(), contains("prefetched numbers of kernels are taken to be zeros"));
  }
}
TEST_CASE("a kernel whose blocks do not fit into VMEM is refused with a table of them", "[systolic]") {
  const array x{tk::array_type{tk::f32, false, {4096, 4096}}};
  const auto f = [](const array& a) { return blocked_product(a, a, 2048); };
  CHECK_THROWS_WITH(tk::systolic_report(tk::systolic(tk::v4), f, x),
                    contains("VMEM of core 0") && contains("input 0 2 x"));
  CHECK_NOTHROW(tk::systolic_report(tk::systolic(tk::v5e), f, x));
}
TEST_CASE("reports name ops without a kernel of the chip, and what they assume", "[systolic]") {
  const array table = noise({32, 16}), ids = tk::array::from<std::int32_t>({3, 1, 2});
  const auto f = [](const array& t, const array& i) {
    const array rows = tk::take(t, i);
    return tk::while_loop([](const array& v) { return tk::sum(v) < 1e3f; }, [](const array& v) { return v * v + 1.0f; },
                          rows);
  };
  const sys::program_report r = tk::systolic_report(tk::systolic(tk::v5e), f, table, ids);
  CHECK(line_of(r, "gather").source == sys::cost_source::descriptor);
  CHECK_THAT(r.text(),
             contains("by their descriptors") && contains("gather") && contains("loops of unknown length run once"));
  const auto scanned = [](const array& v) {
    return tk::fori_loop(0, 7, [](const array&, const array& now) { return tk::matmul(now, now); }, v);
  };
  CHECK(tk::systolic_report(tk::systolic(tk::v5e), scanned, noise({8, 8})).useful_macs() == 7.0 * 8 * 8 * 8);
}
TEST_CASE("nothing becomes faster when memory or units become slower", "[systolic]") {
  const array x = noise({512, 512}), y = noise({512, 512}, 2);
  const auto f = [](const array& a, const array& b) {
    return tk::softmax(tk::matmul(blocked_product(a, b, 128), tk::exp(b)) + tk::take(a, tk::iota(tk::i32, {512}, 0)));
  };
  const auto cycles = [&](const sys::chip& c) { return tk::systolic_report(tk::systolic(c), f, x, y).cycles(); };
  for (const sys::chip& c : sys::tpus) {
    INFO(c.name);
    const double before = cycles(c);
    const auto slower = [&](const auto& change) {
      sys::chip worse = c;
      change(worse);
      return cycles(worse);
    };
    CHECK(slower([](sys::chip& w) { w.hbm_to_vmem.per_kib.value *= 2; }) > before);
    CHECK(slower([](sys::chip& w) { w.vmem_to_hbm.per_kib.value *= 2; }) > before);
    CHECK(slower([](sys::chip& w) { w.hbm_to_vmem.fixed.value *= 2; }) > before);
    CHECK(slower([](sys::chip& w) { w.vector_f32.interval.value *= 2; }) > before);
    CHECK(slower([](sys::chip& w) { w.weight_push.value *= 8; }) >= before);
    CHECK(slower([](sys::chip& w) { w.transfers.value = 1; }) >= before);
    CHECK(slower([](sys::chip& w) { w.step.value *= 4; }) > before);
    for (const double parts : {2.0, 3.0, 8.0, 30.0})
      CHECK(slower([=](sys::chip& w) { w.vmem.value = std::max(w.vmem / parts, 0x1p20); }) >= before);
  }
}
TEST_CASE("products of a batch, and large products, count each multiplication once", "[systolic]") {
  const auto batched = [](const array& a, const array& b) { return tk::matmul(a, b); };
  for (const auto& [n, m, k, columns] :
       {std::tuple{1, 8, 8, 8}, {7, 16, 32, 24}, {48, 64, 64, 32}, {5, 600, 40, 10}, {3, 2048, 64, 2048}})
    for (const sys::chip* c : {&tk::toy8x8, &tk::v4, &tk::v5e}) {
      INFO(n << " " << m << " on " << c->name);
      const array a{tk::array_type{tk::bf16, false, {n, m, k}}}, b{tk::array_type{tk::bf16, false, {n, k, columns}}};
      const sys::program_report r = tk::systolic_report(tk::systolic(*c), batched, a, b);
      CHECK(r.useful_macs() == static_cast<double>(n) * m * k * columns);
      check_sums(r);
    }
}
TEST_CASE("attention as a kernel reads less than attention in smaller ops, and is faster", "[systolic]") {
  const array q{tk::array_type{tk::f32, false, {16, 1024, 64}}};
  const auto kernel = [](const array& a) { return array(tk::test::flash_attention({a, a, a}, 512)[0]); };
  const auto plain = [](const array& a) {
    return tk::matmul(tk::softmax(tk::matmul(a, tk::swapaxes(a, 1, 2)) * 0.125f), a);
  };
  const tk::systolic where(tk::v5e);
  const sys::program_report fused = tk::systolic_report(where, kernel, q), apart = tk::systolic_report(where, plain, q);
  CHECK(fused.useful_macs() == apart.useful_macs());
  // Queries and results once, keys and values for each of two blocks of queries. Rows of 64 lie in 128 lanes.
  CHECK(fused.hbm_bytes() == 4.0 * 16 * 1024 * 128 * (2 + 2 * 2));
  CHECK(fused.hbm_bytes() < apart.hbm_bytes() / 10);
  CHECK(fused.cycles() < apart.cycles());
}
TEST_CASE("the chip has kernels for attention, norms and cross entropy, with their gradients", "[systolic]") {
  const tk::systolic where(tk::v5e);
  const auto abstract = [](const tk::shape& s) { return array{tk::array_type{tk::f32, false, s}}; };
  const array q = abstract({2, 1024, 4, 64}), x = abstract({4, 512, 256}), scale = abstract({256});
  // The scores of a kernel stay in VMEM; a bias of zeros takes the way of smaller ops.
  const auto attention = [](const array& a) { return tk::dot_product_attention(a, a, a, {.is_causal = true}); };
  const auto apart = [](const array& a) {
    return tk::dot_product_attention(a, a, a, {.bias = tk::zeros({1, 1, 1024, 1024}), .is_causal = true});
  };
  const sys::program_report fused = tk::systolic_report(where, attention, q);
  CHECK(line_of(fused, "attention: kernel_call").source == sys::cost_source::kernel);
  CHECK(fused.hbm_bytes() < tk::systolic_report(where, apart, q).hbm_bytes() / 3);
  check_sums(fused);
  const auto gradient = [&](const array& a) {
    return tk::grad([&](const array& b) { return tk::sum(attention(b)); })(a);
  };
  const sys::program_report both = tk::systolic_report(where, gradient, q);
  CHECK(line_of(both, "attention_vjp: kernel_call").cycles > line_of(both, "attention: kernel_call").cycles);
  check_sums(both);
  // A norm reads and writes each row once, and its gradients read x and the cotangents.
  const auto norm = [](const array& a, const array& s) { return tk::layer_norm(a, s, s); };
  const sys::program_report rows = tk::systolic_report(where, norm, x, scale);
  CHECK(rows.lines.size() == 1);
  CHECK(line_of(rows, "layer_norm: kernel_call").hbm_bytes < 2.1 * 4 * 4 * 512 * 256);
  const auto slope = [&](const array& a, const array& s) {
    return tk::grad<0, 1>([&](const array& b, const array& t) { return tk::sum(tk::square(tk::rms_norm(b, t))); })(a,
                                                                                                                   s);
  };
  CHECK(line_of(tk::systolic_report(where, slope, x, scale), "rms_norm_vjp: kernel_call").hbm_bytes <
        3.1 * 4 * 4 * 512 * 256);
  const array logits = abstract({1000, 5000}), labels{tk::array_type{tk::i32, false, {1000}}};
  const auto entropy = [](const array& l, const array& y) { return tk::softmax_cross_entropy(l, y); };
  CHECK(line_of(tk::systolic_report(where, entropy, logits, labels), "cross_entropy: kernel_call").hbm_bytes <
        1.35 * 4 * 1000 * 5000);  // 8 blocks of 128 rows and 3 of 2048 classes
  // A chip on which the blocks do not fit runs smaller ops.
  const sys::program_report small =
      tk::systolic_report(tk::systolic(tk::toy8x8), norm, abstract({64, 32}), abstract({32}));
  for (const sys::op_line& l : small.lines) CHECK(l.source == sys::cost_source::model);
}
TEST_CASE("a function that is traced while compiling runs on a simulated TPU", "[systolic]") {
  using square = tk::tensor<tk::f32, 16, 16>;
  constexpr auto f = [](const square& a) { return tk::tanh(tk::matmul(a, a)); };
  const square x = noise({16, 16});
  const auto on_tpu = tk::jit(f, tk::systolic(tk::v6e), tk::while_compiling);
  CHECK(distance(on_tpu(x), tk::jit(tk::with_precision<tk::bf16_products>(f), tk::cpu)(x)) == 0);
  CHECK(on_tpu.report().useful_macs() == 16.0 * 16 * 16);
}
TEST_CASE("chips have names", "[systolic]") {
  CHECK(&sys::chip_named("toy8x8") == &tk::toy8x8);
  CHECK(sys::chip_named("v6e").name == "v6e");
  CHECK_THROWS_WITH(sys::chip_named("v3"), contains("systolic: chip: found v3"));
}
TEST_CASE("the training step of a GPT on characters runs on every chip", "[systolic][gpt]") {
  const auto optimizer =
      tk::optim::chain(tk::optim::clip_by_global_norm(1.0), tk::optim::adamw({.learning_rate = 1e-3}));
  const tk::models::gpt model = tk::init(tk::models::make_gpt(size), tk::random::key(1));
  const auto state = tk::train::start(model, optimizer);
  const array ids = tk::random::randint(tk::random::key(5), {12, size.context + 1}, 0, size.vocabulary);
  const batch b{tk::slice_in_dim(ids, 0, size.context, 1), tk::slice_in_dim(ids, 1, size.context + 1, 1)};
  const auto step = tk::train::step(loss, optimizer);
  const auto on_cpu = tk::jit(step, tk::cpu, tk::at_run_time);
  const auto first = on_cpu(state, b);
  const double expected = first.second.item<double>(), next = on_cpu(first.first, b).second.item<double>();
  // The gradients of all weights, of which the step takes but the direction.
  const auto slopes = [](const tk::models::gpt& m, const batch& x) { return tk::grad(loss)(m, x); };
  const tk::models::gpt exact = tk::jit(slopes, tk::cpu, tk::at_run_time)(model, b);
  for (const sys::chip* c : {&tk::toy8x8, &tk::v4, &tk::v5e, &tk::v5p, &tk::v6e, &tk::tpu7x}) {
    INFO(c->name);
    const tk::models::gpt rounded = tk::jit(slopes, tk::systolic(*c), tk::at_run_time)(model, b);
    const auto norm = [](const array& x) { return std::sqrt(tk::sum(x * x).item<double>()); };
    tk::for_each_leaf([&](const array& x, const array& y) { CHECK(norm(x - y) <= 0x1p-6 * norm(y)); }, rounded, exact);
    const auto begin = std::chrono::steady_clock::now();
    const auto simulated = tk::jit(step, tk::systolic(*c), tk::at_run_time);
    const auto here = simulated(state, b);
    CHECK(here.second.item<double>() == Approx(expected).epsilon(0x1p-7));
    CHECK(simulated(here.first, b).second.item<double>() == Approx(next).epsilon(0x1p-6));  // with the new weights
    const sys::program_report r = simulated.report();
    CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < 60);
    check_sums(r);
    // 6 operations for each weight of a product and token, and those of attention
    CHECK(2 * r.useful_macs() > 6.0 * 12 * 64 * 4 * 12 * 128 * 128);
    CHECK(2 * r.useful_macs() < 1.5 * 6.0 * 12 * 64 * (4 * 12 * 128 * 128 + 65 * 128 + 4 * 2 * 64 * 128));
    CHECK_THAT(r.text(), contains("MFU") && contains("useful") && contains("%"));
  }
}
