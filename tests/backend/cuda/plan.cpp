// tests/backend/cuda/plan.cpp: what a training step of GPT-2 takes on a GPU by its plan: memory, and the bytes that loops move.
#include <tokamax/backend/cuda.hpp>
#include <tokamax/backend/cuda/driver/nvrtc.hpp>
#include <tokamax/backend/cuda/loops.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

namespace tk = tokamax;
using tk::array;
using namespace tk::cuda_backend;

namespace {

using program = std::unique_ptr<tk::detail::owned_program>;
struct example {
  array inputs, targets;  // i32 [32, 1024]
};
/// The step of bench/backend/cuda/gpt2.cpp with some number of layers: AdamW in f32, all else in bf16.
program training_step(int layers) {
  const auto loss = [](const tk::models::gpt& m, const example& e) {
    return tk::mean(tk::softmax_cross_entropy(m(e.inputs), e.targets));
  };
  const auto narrow = [loss](const tk::models::gpt& m, const example& e) {
    return tk::with_precision<tk::bf16_compute>(loss)(m, e);
  };
  const auto optimizer = tk::optim::adamw({.learning_rate = 3e-4, .weight_decay = 0.1});
  const tk::models::gpt model =
      tk::models::make_gpt({.vocabulary = 50304, .context = 1024, .width = 768, .heads = 12, .layers = layers});
  const array ids(tk::array_type{tk::i32, false, {32, 1024}});
  return tk::detail::owned_program::make(
      tk::make_graph(tk::train::step(narrow, optimizer), tk::train::start(model, optimizer), example{ids, ids}),
      tk::kernel_table_of<tk::cuda_tag>());
}
/// The bytes that the loops of a plan read and write. An axis of stride 0 repeats elements, so it does not count.
double bytes_of_loops(const tk::plan_view& p) {
  double all = 0;
  for (int i = 0; i < p.step_count; ++i) {
    const tk::plan_step& s = p.steps[i];
    if (s.kind != tk::step_kind::loop) continue;
    for (int k = 0; k < s.in_count + s.out_count; ++k) {
      const tk::plan_operand& o = p.operands[s.operands + k];
      double bytes = tk::size_of(o.type);
      for (int a = 0; a < s.rank; ++a)
        if (p.numbers[o.numbers + a] != 0) bytes *= static_cast<double>(p.numbers[s.numbers + a]);
      all += bytes;
    }
  }
  return all;
}

}  // namespace

TEST_CASE("a layer of GPT-2 takes so many bytes, and as many steps as another layer") {
  const program two = training_step(2), three = training_step(3);
  const tk::plan_view a = two->code.plan(), b = three->code.plan();
  CHECK(a.loop_count == b.loop_count);  // layers share their loops
  const double arena = static_cast<double>(three->code.arena_bytes()) - static_cast<double>(two->code.arena_bytes());
  const double loops = bytes_of_loops(b) - bytes_of_loops(a);
  constexpr double hidden = 32.0 * 1024 * 4 * 768;  // elements of the widest array of a layer
  CAPTURE(arena / hidden, loops / hidden, b.step_count - a.step_count);
  CHECK(arena / hidden < 8.5);  // 14.2 if the loops of gelu stored what gradients read
  CHECK(loops / hidden < 25);   // 38.3
}

TEST_CASE("a training step of GPT-2 holds logits once, joins no gradients and updates small parameters at once") {
  const program two = training_step(2);
  const tk::plan_view p = two->code.plan();
  constexpr double logits = 32.0 * 1024 * 50304 * 2;
  CAPTURE(two->code.arena_bytes());
  CHECK(static_cast<double>(two->code.arena_bytes()) < 1.6 * logits);  // 2.6 if the gradient had memory of its own
  int concatenations = 0, copies = 0, most = 0;
  for (int i = 0; i < p.step_count; ++i) {
    const tk::plan_step& s = p.steps[i];
    concatenations += s.kind == tk::step_kind::kernel && p.ops[s.function] == &tk::concatenate_p;
    most = std::max(most, s.together);
    if (s.kind != tk::step_kind::loop) continue;
    const tk::loop_kernel& loop = p.loops[s.function];  // a load, two conversions and a store change nothing
    const tk::instruction* const l = p.instructions + loop.first;
    copies += loop.count == 4 && l[0].type == l[2].type && l[1].function == l[2].function;
  }
  CHECK(concatenations == 0);
  CHECK(copies == 0);
  CHECK(most >= 19);  // scales, offsets, biases and the smallest matrices of two layers and of the last norm
}

TEST_CASE("the loops of GPT-2 compile for all architectures") {
  if (const std::string missing = nvrtc::loaded().missing(); !missing.empty()) {
    WARN("skipped: " << missing);
    return;
  }
  const program p = training_step(1);
  const program_code code(p->code.plan());
  for (const char* const architecture : {"sm_80", "sm_90a", "sm_100"})
    for (const contraction contracts : {contraction::off, contraction::on})
      CHECK(!compiled(code.text_of(code.expected()), architecture, nvrtc::loaded(), contracts).empty());
}

TEST_CASE("programs that are known while compiling have the kernels of the linked library") {
  STATIC_REQUIRE(tk::has_kernel<tk::softmax_p, tk::cuda_tag>);
  STATIC_REQUIRE(tk::has_kernel<tk::rotary_embedding_p, tk::cuda_tag>);
  STATIC_REQUIRE(tk::taken_by_kernel<tk::dot_general_p, tk::cuda_tag>.sums);
  STATIC_REQUIRE(tk::taken_by_kernel<tk::attention_vjp_p, tk::cuda_tag>.strided_results);
  CHECK(tk::kernel_for<tk::softmax_p, tk::cuda_tag>() != nullptr);
  CHECK(tk::cuda_tag::find_kernels(tk::softmax_p).run != nullptr);
  CHECK(tk::cuda_tag::find_kernels(tk::exp_p).run == nullptr);
}
