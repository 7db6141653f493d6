// tests/compiler/verify.cpp: mistakes that are planted into valid graphs and plans are found, and named.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/compiler/verify.hpp>

#include <tokamax/tokamax.hpp>
#include <tokamax/transforms/callback.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"
#include "support/functions.hpp"
#include "support/random_program.hpp"

#include <map>

using namespace tokamax;
using namespace tokamax::test;

namespace {

// --- valid programs
constexpr auto note = [](const arrays& a) -> arrays { return {a[0] * 2.0f}; };

arrays layer(const arrays& x) {  // f32[4,6], f32[6,5], f32[4,5]
  const named_scope scope("layer", x[0]);
  const array h = tanh(matmul(x[0], x[1]));  // [4, 5]
  const array total = sum(h, {{1}, true});
  const arrays keys{astype(h, i32), h * total + x[2]};
  const arrays sorted = bind_all(sort_p, keys.data(), 2, pack(sort_options{1, true}), source_line::current());
  const array side = concatenate({transpose(sorted[1]), exp(transpose(h))}, 0);
  return {side, sorted[0], sum(sorted[1] + array::from<float>({1, 2, 3, 4, 5}))};
}
arrays control(const arrays& x) {  // f32[3], f32[5,3]
  const auto step = [](const array& c, const array& row) { return std::pair{tanh(c) * 0.5f + row, sum(c)}; };
  const auto [carry, ys] = scan(step, x[0], x[1]);
  const array first = io_callback(note, {x[0].type()}, {carry})[0];
  const auto either = [](const array& v) { return tanh(v) + 1.0f; };
  const auto other = [](const array& v) { return sort(v); };
  const array z = cond(sum(carry) > 0.0f, either, other, carry);
  return {z, ys, io_callback(note, {x[0].type()}, {first})[0]};
}
arrays update(const arrays& x) {  // f32[64,8], f32[2,8], i32[]
  const array y = dynamic_update_slice_in_dim(x[0], x[1], x[2], 0);
  const array z = dynamic_update_slice_in_dim(y, x[1] * sum(y), x[2] + 1, 0);
  return {z, exp(matmul(x[1], transpose(x[1]))), x[1] * 2.0f};
}
arrays late(const arrays& x) {  // f32[8,8]
  return {x[0] * 2.0f, matmul(exp(matmul(x[0], x[0])), x[0])};
}
arrays symbols(const arrays& x) {  // f32[n,4], f32[4,4]
  const array h = tanh(matmul(x[0], x[1]));
  return {sum(h, {{0}}), matmul(h, x[1]) + h, transpose(h)};
}
arrays updates(const arrays& x) {  // f32[8], f32[8], f32[4,8]
  return {x[0] - 0.1f * sum(x[2], {{0}}), x[1] - 0.1f * sum(x[2] * 2.0f, {{0}})};
}

arrays moments(const arrays& x) {  // f32[8], f32[8]
  return {0.9f * x[0] + x[1], sign(x[0]) - x[1]};
}
arrays turned(const arrays& x) {  // f32[4,4], f32[4,4]
  return {x[0] + x[1], transpose(x[0]) * x[1]};
}

arrays parts(const arrays& x) {  // f32[40,64], f32[30,64]
  return {exp(concatenate({x[0] * 2.0f, tanh(x[1])}, 0))};
}

/// The kernels of the CPU, with loops that kernels run, for a device that starts several loops at once.
struct all_kernels {
  bool groups_loops = true;
  kernel_takes operator()(const op& o) const { return kernel_table_of<cpu_tag>().find(o).takes; }
};
bool has_kernel(const op& o) { return kernel_table_of<cpu_tag>().find(o).run != nullptr; }
struct every_kernel final : device_facts {
  bool has_kernel(const op& o) const override { return kernel_table_of<cpu_tag>().find(o).run != nullptr; }
  kernel_takes takes(const op& o) const override { return all_kernels{}(o); }
};

/// A program after each pass. It can be copied, to be broken.
struct made {
  graph traced, lowered;
  plan p;
  std::vector<kernel_takes> takes;

  made(const function& f, const std::vector<array_type>& inputs) : traced(trace(f, inputs)) {
    graph g(traced);
    for (int i = 0; i < g.count(); ++i)
      if (g[i].op == &captured_p) {
        g.nodes[i].op = nullptr;
        g.inputs.push_back(i);
      }
    lower(lowered, g, has_kernel);
    p = make_plan(lowered, all_kernels{}, one_of_each_symbol);
    for (const op* o : p.ops) takes.push_back(all_kernels{}(*o));
  }
  void verify() const {
    verify_graph(traced);
    verify_lowered(lowered, every_kernel());
    verify_plan(view(p), takes.data(), &lowered);
  }
};
const made& valid(const std::string& name) {
  static const std::map<std::string, made> all = [] {
    const array_type n4{f32, false, {dyn(), 4}};
    std::map<std::string, made> m;
    m.emplace("layer", made(layer, {{f32, false, {4, 6}}, {f32, false, {6, 5}}, {f32, false, {4, 5}}}));
    m.emplace("control", made(control, {{f32, false, {3}}, {f32, false, {5, 3}}}));
    m.emplace("update", made(update, {{f32, false, {64, 8}}, {f32, false, {2, 8}}, {i32, false, {}}}));
    m.emplace("late", made(late, {{f32, false, {8, 8}}}));
    m.emplace("symbols", made(symbols, {n4, {f32, false, {4, 4}}}));
    m.emplace("parts", made(parts, {{f32, false, {40, 64}}, {f32, false, {30, 64}}}));
    m.emplace("turned", made(turned, {{f32, false, {4, 4}}, {f32, false, {4, 4}}}));
    m.emplace("moments", made(moments, {{f32, false, {8}}, {f32, false, {8}}}));
    m.emplace("updates", made(updates, {{f32, false, {8}}, {f32, false, {8}}, {f32, false, {4, 8}}}));
    return m;
  }();
  return all.at(name);
}

// --- places in them
node& find(graph& g, std::string_view name, int nth = 0) {
  for (node& n : g.nodes)
    if (n.op && n.op->name == name && nth-- == 0) return n;
  throw error("no node", std::string(name), "one");
}
int& operand(graph& g, node& n, int k) { return g.operands[n.first_operand + k]; }
std::int64_t& word(graph& g, node& n, int k) { return g.words[n.first_word + k]; }
int id_of(graph& g, const node& n) { return static_cast<int>(&n - g.nodes.data()); }
graph& body(graph& g, std::string_view name, int b = 0) { return body_of(g, find(g, name), b); }

/// The step of a kernel by its name, or the loop with this op.
plan_step& find(plan& p, std::string_view name, int nth = 0) {
  for (plan_step& s : p.steps) {
    bool is = s.kind != step_kind::loop && p.ops[s.function]->name == name;
    for (int i = 0; s.kind == step_kind::loop && i < p.loops[s.function].count; ++i) {
      const op* const o = p.instructions[p.loops[s.function].first + i].function;
      is = is || (o && o->name == name);
    }
    if (is && nth-- == 0) return s;
  }
  throw error("no step", std::string(name), "one");
}
plan_operand& operand(plan& p, const plan_step& s, int k) { return p.operands[s.operands + k]; }
plan_operand& result(plan& p, const plan_step& s, int r) { return operand(p, s, s.in_count + r); }
plan_buffer& buffer(plan& p, const plan_operand& o) { return p.buffers[o.buffer]; }
std::int64_t& extent(plan& p, const plan_operand& o, int a) { return p.numbers[o.numbers + a]; }
std::int64_t& stride(plan& p, const plan_operand& o, int a) { return p.numbers[o.numbers + o.rank + a]; }
instruction& line(plan& p, std::string_view name, instruction_kind kind, int nth = 0) {
  const loop_kernel& loop = p.loops[find(p, name).function];
  for (int i = loop.first; i < loop.first + loop.count; ++i)
    if (p.instructions[i].kind == kind && nth-- == 0) return p.instructions[i];
  throw error("no line", std::string(name), "one");
}

struct fault {
  std::string program, says, names;
  void (*plant)(made& m);
};

/// Plants each fault into a copy of its program, and looks for what the error says and whom it names.
void check(const std::vector<fault>& faults) {
  for (const fault& f : faults) {
    made broken(valid(f.program));
    f.plant(broken);
    const std::string found = error_of([&] { broken.verify(); });
    INFO(f.program << ": " << f.says << "\nfound: " << found);
    CHECK(found.starts_with("verify: "));
    CHECK(found.find(f.says) != std::string::npos);
    CHECK(found.find(f.names) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("valid programs pass") {
  for (const char* name : {"layer", "control", "update", "late", "symbols", "updates", "moments", "turned", "parts"}) {
    INFO(name);
    CHECK(error_of([&] { valid(name).verify(); }) == "none");
  }
  for (unsigned seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    const array_type t{f32, false, {4, 6}};
    CHECK(error_of([&] { made(random_program(seed), {t, t}).verify(); }) == "none");
    CHECK(error_of([&] { made(vjp_of(random_program(seed, 8), 2), {t, t, t, t, t, t, t, t, t, t}).verify(); }) ==
          "none");
  }
}

TEST_CASE("faults of graphs are found") {
  check({
      {"layer", "operand 0 of tanh %", "an earlier node",
       [](made& m) {
         node& n = find(m.traced, "tanh");
         operand(m.traced, n, 0) = id_of(m.traced, n) + 1;
       }},
      {"layer", "operand 1 of mul %", "found %999", [](made& m) { operand(m.traced, find(m.traced, "mul"), 1) = 999; }},
      {"layer", "operands of dot_general %", "verify.cpp:",  // swapped
       [](made& m) {
         node& n = find(m.traced, "dot_general");
         std::swap(operand(m.traced, n, 0), operand(m.traced, n, 1));
       }},
      {"layer", "operand 0 of transpose %", "all results of %",
       [](made& m) { operand(m.traced, find(m.traced, "transpose"), 0) = id_of(m.traced, find(m.traced, "sort")); }},
      {"layer", "type of exp %", "found f16[5,4], expected f32[5,4]",
       [](made& m) { find(m.traced, "exp").type.dtype = f16; }},
      {"layer", "type of transpose %", "found f32[4,5], expected f32[5,4]",
       [](made& m) {
         std::swap(find(m.traced, "transpose").type.shape[0], find(m.traced, "transpose").type.shape[1]);
       }},
      {"layer", "type of input %1", "extents from 0 on", [](made& m) { m.traced.nodes[1].type.shape[0] = -6; }},
      {"layer", "number of the result of get %", "found 2, expected one below 2",
       [](made& m) { word(m.traced, find(m.traced, "get", 1), 0) = 2; }},
      {"layer", "type of get %", "found f32[4,5], expected i32[4,5]",
       [](made& m) { word(m.traced, find(m.traced, "get", 1), 0) = 0; }},
      {"layer", "type of sort %", "several results", [](made& m) { find(m.traced, "sort").type = {f32, false, {4}}; }},
      {"layer", "attribute words of sort %", "found 3, expected 2",
       [](made& m) { find(m.traced, "sort").word_count = 3; }},
      {"layer", "attribute descending of sort %", "found 7, expected 0 or 1",
       [](made& m) { word(m.traced, find(m.traced, "sort"), 1) = 7; }},
      {"layer", "attribute permutation of transpose %", "found 9 numbers",
       [](made& m) { word(m.traced, find(m.traced, "transpose"), 0) = 9; }},
      {"layer", "attribute type of convert_element_type %", "expected a dtype",
       [](made& m) { word(m.traced, find(m.traced, "convert_element_type"), 0) = 99; }},
      {"layer", "captured array of captured %", "found 5",
       [](made& m) { word(m.traced, find(m.traced, "captured"), 0) = 5; }},
      {"layer", "captured array of captured %", "expected f32[5000]",
       [](made& m) { find(m.traced, "captured").type.shape[0] = 5000; }},
      {"layer", "scope of tanh %", "found 12", [](made& m) { find(m.traced, "tanh").scope.name = 12; }},
      {"layer", "operands of concatenate %", "in the pool",
       [](made& m) { find(m.traced, "concatenate").first_operand = 4000; }},
      {"layer", "input of input %0", "once", [](made& m) { m.traced.inputs[1] = 0; }},
      {"layer", "output of sort %", "one result",
       [](made& m) { m.traced.outputs[0] = id_of(m.traced, find(m.traced, "sort")); }},
      {"layer", "output of a graph", "found %-3", [](made& m) { m.traced.outputs[2] = -3; }},
      {"control", "elements of constant %", "found 0 words",
       [](made& m) { find(m.traced, "constant").word_count = 0; }},
      {"control", "body 0 of scan %", "found 77", [](made& m) { word(m.traced, find(m.traced, "scan"), 0) = 77; }},
      {"control", "output 0 of the body of scan %", "found f32[], expected f32[3]",
       [](made& m) { body(m.traced, "scan").outputs[0] = body(m.traced, "scan").outputs[1]; }},
      {"control", "inputs of the body of scan %", "found 1, expected 2",
       [](made& m) {
         graph& b = body(m.traced, "scan");
         b.nodes[b.inputs[1]] = find(b, "constant");
         b.inputs.pop_back();
       }},
      {"control", "output 0 of the body of cond %", "found f32[], expected f32[3]",
       [](made& m) {
         graph& b = body(m.traced, "cond", 1);
         b.outputs[0] = b.count();
         const std::int64_t zero = 0;
         b.find_or_add(&constant_p, sharing::none, nullptr, 0, &zero, 1, {f32, false, {}}, {});
       }},
      {"control", "effect of io_callback %", "a later node",
       [](made& m) { std::swap(m.traced.effects[0], m.traced.effects[1]); }},
      {"control", "effect of io_callback %", "in the list of effects", [](made& m) { m.traced.effects.pop_back(); }},
      {"control", "effect of scan %", "no effect",
       [](made& m) { m.traced.effects[0] = id_of(m.traced, find(m.traced, "scan")); }},
  });
}

TEST_CASE("faults of lowered graphs are found") {
  check({
      {"layer", "lowered node of stop_gradient %", "expected no marker",
       [](made& m) { find(m.lowered, "tanh").op = &stop_gradient_p; }},
      {"layer", "lowered node of softmax_cross_entropy %", "found no kernel",
       [](made& m) {
         static const op composed{.name = "softmax_cross_entropy",
                                  .compose = [](const call& c) { return c.operands(); }};
         find(m.lowered, "tanh").op = &composed;
       }},
      {"layer", "strides of transpose_without_rule %", "no rule",
       [](made& m) {
         static const op view = [] {
           op o = transpose_p;
           o.name = "transpose_without_rule";
           o.memory.strides = nullptr;
           return o;
         }();
         find(m.lowered, "transpose").op = &view;
       }},
      {"layer", "type of dot_general %", "found bf16[4,5], expected f32[4,5]",
       [](made& m) { find(m.lowered, "dot_general").type.dtype = bf16; }},
      {"control", "operand 1 of mul %", "an earlier node",
       [](made& m) {
         graph& b = body(m.lowered, "scan");
         operand(b, find(b, "mul"), 1) = id_of(b, find(b, "mul"));
       }},
  });
}

TEST_CASE("faults of steps, strides and loops are found") {
  check({
      {"layer", "operand 1 of step 0 (dot_general %", "expected 120 bytes",
       [](made& m) { stride(m.p, operand(m.p, find(m.p, "dot_general"), 1), 0) = 60; }},
      {"layer", "operand 0 of step 0 (dot_general %", "found bytes 4 to 100, expected 96 bytes",
       [](made& m) { operand(m.p, find(m.p, "dot_general"), 0).offset = 1; }},
      {"layer", "operand 0 of step 3 (loop 1 of exp %", "bytes -4 to 76",
       [](made& m) { operand(m.p, find(m.p, "exp"), 0).offset = -1; }},
      {"layer", "operand 0 of step 0 (dot_general %", "found f32[4,7], expected f32[4,6]",
       [](made& m) { extent(m.p, operand(m.p, find(m.p, "dot_general"), 0), 1) = 7; }},
      {"layer", "operand 0 of step 5 (sort %", "found f32[4,5], expected i32[4,5]",
       [](made& m) { operand(m.p, find(m.p, "sort"), 0).type = f32; }},
      {"layer", "operand 1 of step 5 (sort %", "buffer -1, expected a buffer",
       [](made& m) { operand(m.p, find(m.p, "sort"), 1).buffer = plan_operand::count; }},
      {"layer", "operand 1 of step 5 (sort %", "dense memory",
       [](made& m) {
         const plan_operand& o = operand(m.p, find(m.p, "sort"), 1);
         stride(m.p, o, 0) = 1, stride(m.p, o, 1) = 4;
       }},
      {"layer", "result 0 of step 5 (sort %", "an input",
       [](made& m) { result(m.p, find(m.p, "sort"), 0).buffer = operand(m.p, find(m.p, "dot_general"), 0).buffer; }},
      {"layer", "attribute word 1 of step 5 (sort %", "found 0, expected 1",
       [](made& m) { m.p.numbers[find(m.p, "sort").numbers + 1] = 0; }},
      {"layer", "op of step 5 (sort %", "found dot_general", [](made& m) { find(m.p, "sort").function = 0; }},
      {"layer", "op of step 5 (sort %", "found 66", [](made& m) { find(m.p, "sort").function = 66; }},
      {"layer", "node of step 6 (sort %", "a second step",
       [](made& m) { find(m.p, "concatenate") = find(m.p, "sort"); }},
      {"layer", "parts of step 7 (loop 3 of add %", "found 15 of f32, expected 20 of f32",
       [](made& m) { m.p.numbers[m.p.steps[7].numbers] = 3; }},
      {"layer", "operand 0 of step 8 (reduce_sum %", "expected parts",
       [](made& m) {
         operand(m.p, find(m.p, "reduce_sum", 1), 0).buffer = operand(m.p, find(m.p, "concatenate"), 0).buffer;
       }},
      {"layer", "stride 3, expected the step of its loop", "step 1 (loop 0 of tanh %",
       [](made& m) { m.p.numbers[operand(m.p, find(m.p, "tanh"), 0).numbers + find(m.p, "tanh").rank - 1] = 3; }},
      {"layer", "slots of step 1 (loop 0 of tanh %", "those of its loop",
       [](made& m) { m.p.loops[find(m.p, "tanh").function].stores = 1; }},
      {"layer", "register of line ", "one that is computed before",
       [](made& m) { line(m.p, "mul", instruction_kind::apply).a = 40; }},
      {"layer", "registers of line ", "mul: operand types",
       [](made& m) {
         line(m.p, "mul", instruction_kind::load, 0).type = f16;
         operand(m.p, find(m.p, "mul"), 0).type = f16;
       }},
      {"layer", "operand dtype of line ", "found bf16, expected f32",
       [](made& m) { line(m.p, "mul", instruction_kind::apply).operand = bf16; }},
      {"layer", "dtype of line ", "found i8, expected f32",
       [](made& m) { line(m.p, "mul", instruction_kind::apply).type = i8; }},
      {"layer", "slot of line ", "found 70", [](made& m) { line(m.p, "mul", instruction_kind::load).a = 70; }},
      {"layer", "slot of line ", "once", [](made& m) { line(m.p, "mul", instruction_kind::load, 1).a = 0; }},
      {"layer", "stored dtype of line ", "found f32, expected i32",
       [](made& m) {
         line(m.p, "convert_element_type", instruction_kind::store, 1).a =
             line(m.p, "convert_element_type", instruction_kind::store, 0).a;
       }},
      {"layer", "operand of line ", "a further one", [](made& m) { line(m.p, "tanh", instruction_kind::apply).b = 0; }},
      {"layer", "op of line ", "an elementwise op",
       [](made& m) { line(m.p, "tanh", instruction_kind::apply).function = &sort_p; }},
      {"layer", "order of line ", "before the stores",
       [](made& m) {
         const loop_kernel& loop = m.p.loops[find(m.p, "mul").function];
         std::swap(m.p.instructions[loop.first + loop.count - 1], m.p.instructions[loop.first + 1]);
         m.p.instructions[loop.first + 1].a = 0;
       }},
      {"control", "constant of line ", "found 3", [](made& m) { line(m.p, "gt", instruction_kind::constant).a = 3; }},
      {"updates", "loops at the same time of step ", "equal loops that follow",
       [](made& m) {
         for (plan_step& s : m.p.steps)
           if (s.together) s.together = 2;
       }},
  });
}

TEST_CASE("faults of memory and order are found") {
  check({
      {"layer", "operand 0 of step 0 (loop 0 of tanh %", "no step has written",
       [](made& m) { std::swap(m.p.steps[1], m.p.steps[0]); }},
      {"layer", "result 1 of step 1 (loop 0 of tanh %", "that step 1 (loop 0 of tanh %",
       [](made& m) {
         for (const int r : {0, 1}) buffer(m.p, result(m.p, find(m.p, "tanh"), r)).offset = 192;
       }},
      {"layer", "result 0 of step 3 (loop 1 of exp %", "memory that step 5 (sort %",
       [](made& m) {  // two values that are live at one time
         buffer(m.p, result(m.p, find(m.p, "exp"), 0)).offset = buffer(m.p, operand(m.p, find(m.p, "sort"), 0)).offset;
       }},
      {"layer", "result 0 of step 2 (reduce_sum %", "reads later",
       [](made& m) { buffer(m.p, result(m.p, find(m.p, "reduce_sum"), 0)).offset = 64; }},
      {"layer", "result 0 of step 3 (loop 1 of exp %", "a multiple of 64",
       [](made& m) { buffer(m.p, result(m.p, find(m.p, "exp"), 0)).offset += 8; }},
      {"layer", "result 1 of step 5 (sort %", "inside of 512 bytes", [](made& m) { m.p.regions[0].arena_bytes = 512; }},
      {"layer", "result 0 of step 4 (loop 2 of mul %", "lets it overwrite",
       [](made& m) { buffer(m.p, result(m.p, find(m.p, "mul"), 0)).reuse = -1; }},
      {"layer", "result 0 of step 0 (dot_general %", "found 160 bytes that steps write, expected 80",  // two writers
       [](made& m) { result(m.p, find(m.p, "exp"), 0).buffer = result(m.p, find(m.p, "dot_general"), 0).buffer; }},
      {"parts", "result 0 of step 1 (loop 1 of tanh %", "memory that step 0 (loop 0 of mul %",
       [](made& m) { result(m.p, find(m.p, "tanh"), 0).offset = 1000; }},
      {"turned", "result 0 of step 0 (loop 0 of ", "lets it overwrite",  // another operand reads it in another order
       [](made& m) {
         plan_buffer& b = buffer(m.p, result(m.p, m.p.steps[0], 0));
         b.donor = 0;
         b.reuse = static_cast<int>(m.p.numbers[m.p.regions[0].inputs]);
       }},
      {"moments", "result 1 of step 0 (loop 0 of ", "lets it overwrite",
       [](made& m) { buffer(m.p, result(m.p, m.p.steps[0], 1)).reuse = -1; }},
      {"moments", "output 1 of program", "the memory of input 0, expected not that of output 0",
       [](made& m) { m.p.buffers[m.p.numbers[m.p.regions[0].outputs + 1]].donor = 0; }},
      {"layer", "result 1 of step 5 (sort %", "an unread one that step 7",
       [](made& m) { find(m.p, "sort").unread = 2; }},
      {"layer", "bytes that steps write", "step 0 (dot_general %",
       [](made& m) { buffer(m.p, result(m.p, find(m.p, "dot_general"), 0)).bytes += 64; }},
      {"layer", "output 1 of program", "found buffer ",
       [](made& m) { m.p.numbers[m.p.regions[0].outputs + 1] = m.p.numbers[m.p.regions[0].outputs]; }},
      {"layer", "region of step 8", "found none", [](made& m) { --m.p.regions[0].step_count; }},
      {"update", "result 0 of step 1 (dynamic_update_slice %", "reads later",  // the donated input
       [](made& m) {
         operand(m.p, find(m.p, "reduce_sum"), 0).buffer = operand(m.p, find(m.p, "dynamic_update_slice"), 0).buffer;
       }},
      {"update", "output 1 of program", "the memory of input 0, expected not that of output 0",
       [](made& m) {
         for (const int k : {0, 1}) m.p.buffers[m.p.numbers[m.p.regions[0].outputs + k]].donor = 0;
       }},
      {"update", "output 2 of program", "the memory of input 9",
       [](made& m) { m.p.buffers[m.p.numbers[m.p.regions[0].outputs + 2]].donor = 9; }},
      {"late", "(loop 0 of mul %", "reads later",
       [](made& m) { m.p.buffers[m.p.numbers[m.p.regions[0].outputs]].donor = 0; }},
      {"control", "effect of step 5 (io_callback %", "after that of %",
       [](made& m) { std::swap(m.p.steps[1], m.p.steps[5]); }},
      {"control", "bodies of step 0 (scan %", "found 0 and on", [](made& m) { find(m.p, "scan").region = 0; }},
      {"control", "callers of body 1", "found 0, expected 1", [](made& m) { ++find(m.p, "scan").region; }},
      {"control", "carries of step 0 (scan %", "found 0, expected 1", [](made& m) { find(m.p, "scan").carries = 0; }},
      {"control", "scratch memory of step 0 (scan %", "expected 64 bytes",
       [](made& m) { buffer(m.p, result(m.p, find(m.p, "scan"), 2)).bytes = 0; }},
      {"control", "input 1 of the body of step 0 (scan %", "found 8 bytes, expected 60 bytes",
       [](made& m) { m.p.buffers[m.p.numbers[m.p.regions[1].inputs + 1]].bytes = 8; }},
      {"control", "inputs of body 2 of step 4 (cond %", "found 0, expected 1",
       [](made& m) { m.p.regions[2].input_count = 0; }},
      {"control", "operand 0 of step 7 (reduce_sum %", "one of its region",
       [](made& m) { operand(m.p, m.p.steps[7], 0).buffer = 0; }},
      {"control", "result 0 of step 6 (loop 1 of tanh %", "reads later",  // a carry in place
       [](made& m) { m.p.buffers[m.p.numbers[m.p.regions[1].outputs]].donor = 0; }},
      {"symbols", "result 0 of step 1 (loop 0 of tanh %", "expected 16",  // right for n = 1
       [](made& m) { buffer(m.p, result(m.p, find(m.p, "tanh"), 0)).bytes = 16; }},
      {"symbols", "operand 0 of step 3 (dot_general %", "expected f32[n,4]",
       [](made& m) { extent(m.p, operand(m.p, find(m.p, "dot_general", 1), 0), 0) = dyn(0, 2); }},
      {"symbols", "operand 0 of step 3 (dot_general %", "found bytes 0 to 48, expected 32 bytes",  // right for n = 1
       [](made& m) { stride(m.p, operand(m.p, find(m.p, "dot_general", 1), 0), 0) = dyn(0, 4); }},
  });
}

TEST_CASE("a fault names the scope and the line of its node") {
  made broken(valid("layer"));
  find(broken.traced, "exp").type.dtype = f16;
  const std::string found = error_of([&] { broken.verify(); });
  CHECK_THAT(found, contains("(layer, ") && contains("verify.cpp:"));
}

TEST_CASE("programs are verified when they are made, if that is asked for") {
  const bool asked = verifies_programs();
  static const op wrong{.name = "wrong",
                        .infer = [](const call& c) -> array_type { return {c[0].dtype(), false, {c.trace ? 3 : 2}}; },
                        .run = [](const kernel_arguments&) {}};
  graph g;
  const int in = g.input({f32, false, {2}});
  g.outputs.push_back(g.find_or_add(&wrong, sharing::none, &in, 1, nullptr, 0, {f32, false, {2}}, {}));
  const auto make = [&] { detail::owned_program::make(g, kernel_table_of<cpu_tag>()); };
  verify_programs(true);
  CHECK_THAT(error_of(make), contains("verify: type of wrong %1"));
  verify_programs(false);
  CHECK(error_of(make) == "none");
  verify_programs(asked);
}
