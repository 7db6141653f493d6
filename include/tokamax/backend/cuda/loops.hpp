// tokamax/backend/cuda/loops.hpp: the fused loops of a program as device text, compiled at once and launched one by one.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/backend/cuda/launch.hpp>      // ceil_div, kernel_record, joined
#include <tokamax/backend/cuda/text/lanes.hpp>  // lanes
#include <tokamax/backend/cuda/text/loop.hpp>   // loop
#include <tokamax/compiler/text/loop_text.hpp>  // loops_to_cpp

#include <algorithm>  // any_of
#include <atomic>     // atomic
#include <bit>        // bit_width, countr_zero
#include <cstdlib>    // abs
#include <map>        // map
#include <set>        // set

namespace tokamax::cuda_backend {

/// How a loop is compiled: for a number of axes, a number of neighbouring elements that are read at once (`lanes`), how many
/// such vectors a thread computes, whether 31 bits are too few for its offsets, and for how many loops that run at once (0: one
/// alone).
struct loop_variant {
  int loop = 0, rank = 1, lanes = 1, vectors = 1;
  bool wide = false;
  int members = 0;
  auto operator<=>(const loop_variant&) const = default;
  std::string name() const {
    return "loop_" + std::to_string(loop) + "_rank" + std::to_string(rank) + "_lanes" + std::to_string(lanes) + "x" +
           std::to_string(vectors) + (wide ? "_wide" : "") + (members ? "_of" + std::to_string(members) : "");
  }
};

/// Are all results of a loop floats of at most 16 bits? Then its functions may have errors of f32's last bits.
inline bool has_16_bit_results(const plan_view& p, int loop) {
  const loop_kernel& l = p.loops[loop];
  for (int i = l.first; i < l.first + l.count; ++i) {
    const instruction& line = p.instructions[i];
    if (line.kind == instruction_kind::store && (!is_floating(line.type) || size_of(line.type) > 2)) return false;
  }
  return true;
}

/// The magic number by which device text divides by d, see text/loop.hpp.
constexpr std::uint64_t divisor(std::uint64_t d) {
  const int s = static_cast<int>(std::bit_width(d - 1));
  return static_cast<std::uint64_t>(s) << 32 |
         static_cast<std::uint32_t>((((std::uint64_t{1} << s) - d) << 32) / d + 1);
}

/// The loops of one program. Their text is made when the program is planned. Variants that the plan lets expect are compiled a
/// few at a time, so that several threads can share the work; others, such as those for views that are not aligned, are compiled
/// when they occur.
class program_code final : public device_code {
 public:
  explicit program_code(const plan_view& p);
  ~program_code() override { delete first_.load(); }

  std::byte* constant(int buffer, device& where) const override {
    auto& gpu = static_cast<instance&>(where);
    return gpu.jobs() ? nullptr : on(gpu).constants->data + offsets_[static_cast<std::size_t>(buffer)];
  }
  void run(const loop_arguments& a) const;
  void run_together(const loop_arguments* loops, int count) const override;
  /// The whole text of some variants.
  std::string text_of(const std::set<loop_variant>& variants) const;
  bool is_quick(const loop_variant& v) const { return facts_[static_cast<std::size_t>(v.loop)].quick; }
  /// The variants that the plan lets expect.
  const std::set<loop_variant>& expected() const { return expected_; }

 private:
  struct loop_facts {
    std::vector<char> bytes;  ///< of each slot that moves with unit stride; 0 for the others
    int slot_count = 0, constants = 0;
    int lanes = 1;  ///< at most
    int reads = 0;  ///< bytes for each element
    bool quick = false, is_short = false;
  };
  /// The extents, strides and addresses of a step.
  struct geometry {
    int rank;
    const std::int64_t *extents, *strides;
    std::vector<std::int64_t> addresses;
  };
  struct on_device {
    int number = 0;  ///< of the GPU
    handle constants;
    std::vector<std::atomic<function_handle>> functions;  ///< of single loops
    std::map<loop_variant, function_handle> groups;       ///< guarded by the mutex
    std::unique_ptr<on_device> next;
  };
  static constexpr int variants_of_rank = 30;  ///< lanes, vectors, wide

  std::size_t place_of(const loop_variant& v) const {
    const auto at = static_cast<std::size_t>(v.loop * (max_rank + 1) + v.rank);
    const auto lanes = static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(v.lanes)));
    const auto vectors = static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(v.vectors)));
    return ((at * 5 + lanes) * 3 + vectors) * 2 + v.wide;
  }
  loop_variant variant_for(int loop, const geometry& g) const;
  loop_variant expected_variant(const plan_view& p, const plan_step& s) const;
  void expect_group(const plan_view& p, int first, int count);
  loop_variant variant_for(const loop_arguments& a) const;
  /// How many loops one launch takes at most: as many records as fit into the parameters of a kernel.
  int most_members(int loop, int rank) const {
    const loop_facts& f = facts_[static_cast<std::size_t>(loop)];
    return kernel_record::most / (2 + 2 * rank + f.slot_count * (1 + rank) + std::max(1, f.constants));
  }
  static std::int64_t blocks_of(const loop_arguments& a, const loop_variant& v);
  void add_to(kernel_record& r, const loop_arguments& a, const loop_variant& v) const;
  /// What GPU `number` has of the program; null if it has not run there.
  on_device* known_on(int number) const {
    on_device* one = first_.load(std::memory_order_acquire);
    while (one && one->number != number) one = one->next.get();
    return one;
  }
  on_device& on(instance& where) const;
  /// The variants that are compiled in one text with v.
  std::set<loop_variant> compiled_with(const loop_variant& v) const;
  function_handle function(const loop_variant& v, instance& where) const;

  std::string functions_[2];  // of the loops that are not quick, and of those that are
  std::vector<loop_facts> facts_;
  std::set<loop_variant> expected_;
  std::vector<std::int64_t> constant_words_;
  std::vector<std::size_t> offsets_;  // of each buffer that is a constant
  mutable std::mutex mutex_;
  mutable std::atomic<on_device*> first_ = nullptr;  // of a list that only grows
};

/// Throws for an op that has no text, before anything is printed.
inline const plan_view& require_text(const plan_view& p) {
  for (int k = 0; k < p.loop_count; ++k)
    for (int i = p.loops[k].first; i < p.loops[k].first + p.loops[k].count; ++i) {
      const instruction& l = p.instructions[i];
      if (l.kind == instruction_kind::apply && (!l.function || !l.function->spell))
        throw error(error_kind::device, "cuda: op of a loop",
                    l.function ? std::string(l.function->name) : "an unnamed op",
                    "an op whose element function has a text (core/spelled.hpp)");
    }
  return p;
}

inline program_code::program_code(const plan_view& p) {
  require_text(p);
  functions_[0] = loops_to_cpp(p, [](const plan_view& q, int k) { return !has_16_bit_results(q, k); });
  functions_[1] = loops_to_cpp(p, has_16_bit_results);
  for (int k = 0; k < p.loop_count; ++k) {
    const loop_kernel& loop = p.loops[k];
    loop_facts f{std::vector<char>(static_cast<std::size_t>(loop.slot_count), 0), loop.slot_count, loop.constants};
    int least = 16, most = 1;
    for (int i = loop.first; i < loop.first + loop.count; ++i) {
      const instruction& l = p.instructions[i];
      const bool stores = l.kind == instruction_kind::store;
      if (!stores && (l.kind != instruction_kind::load || l.inner != instruction::step::unit)) continue;
      f.bytes[static_cast<std::size_t>(stores ? l.b : l.a)] = static_cast<char>(size_of(l.type));
      least = std::min(least, size_of(l.type));
      most = std::max(most, size_of(l.type));
      if (!stores) f.reads += size_of(l.type);
    }
    f.lanes = std::max(16 / most, 8 / least);
    f.quick = has_16_bit_results(p, k);
    f.is_short = loop.count <= 24;
    facts_.push_back(std::move(f));
  }
  offsets_.resize(static_cast<std::size_t>(p.buffer_count));
  for (int b = 0; b < p.buffer_count; ++b) {
    if (p.buffers[b].kind != buffer_kind::constant) continue;
    constant_words_.resize((constant_words_.size() + 31) / 32 * 32);  // 256 bytes
    offsets_[static_cast<std::size_t>(b)] = constant_words_.size() * sizeof(std::int64_t);
    const std::int64_t* const data = p.numbers + p.buffers[b].index;
    constant_words_.insert(constant_words_.end(), data, data + ceil_div(p.buffers[b].bytes, 8));
  }
  for (int s = 0; s < p.step_count; ++s) {
    if (p.steps[s].kind != step_kind::loop) continue;
    if (const int more = p.steps[s].together; more > 0) {
      expect_group(p, s, more + 1);
      s += more;
    } else {
      expected_.insert(expected_variant(p, p.steps[s]));
    }
  }
}

/// The largest number of lanes that divides the innermost extent and for which all accesses of whole lanes are aligned. Loops
/// that read little get several vectors for each thread, if that leaves enough threads for all of the GPU.
inline loop_variant program_code::variant_for(int loop, const geometry& g) const {
  const loop_facts& f = facts_[static_cast<std::size_t>(loop)];
  const int rank = g.rank;
  loop_variant v{loop, rank, f.lanes};
  while (v.lanes > 1 && g.extents[rank - 1] % v.lanes != 0) v.lanes /= 2;
  std::int64_t elements = 1, farthest = 0;
  for (int a = 0; a < rank; ++a) elements *= g.extents[a];
  for (int k = 0; k < f.slot_count; ++k) {
    std::int64_t far = v.lanes;
    for (int a = 0; a < rank; ++a) far += (g.extents[a] - 1) * std::abs(g.strides[k * rank + a]);
    farthest = std::max(farthest, far);
    const std::int64_t bytes = f.bytes[static_cast<std::size_t>(k)];
    if (bytes == 0) continue;
    const auto is_aligned = [&](std::int64_t at) { return at % std::min<std::int64_t>(16, v.lanes * bytes) == 0; };
    while (v.lanes > 1 && !is_aligned(g.addresses[static_cast<std::size_t>(k)])) v.lanes /= 2;
    for (int a = 0; a + 1 < rank; ++a)
      while (v.lanes > 1 && !is_aligned(g.strides[k * rank + a] * bytes)) v.lanes /= 2;
  }
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 1, enough_threads = 1 << 18;
  v.wide = elements > most || farthest > most;
  if (!f.is_short) return v;
  constexpr int enough_bytes = 48, most_values = 96;
  while (v.vectors < 4 && v.vectors * v.lanes * f.reads < enough_bytes &&
         2 * v.vectors * v.lanes * f.slot_count <= most_values &&
         elements / (2 * v.vectors * v.lanes) >= enough_threads)
    v.vectors *= 2;
  return v;
}

/// The variant for several loops: what is possible for all of them. Such loops are small, so a thread has one vector.
inline loop_variant joint(loop_variant a, const loop_variant& b) {
  a.lanes = std::min(a.lanes, b.lanes);
  a.vectors = 1;
  a.wide = a.wide || b.wide;
  return a;
}

inline void program_code::expect_group(const plan_view& p, int first, int count) {
  const int most = most_members(p.steps[first].function, p.steps[first].rank);
  for (int begin = first; begin < first + count; begin += most) {
    const int members = std::min(most, first + count - begin);
    loop_variant v = expected_variant(p, p.steps[begin]);
    for (int s = begin; s < begin + members; ++s) v = joint(v, expected_variant(p, p.steps[s]));
    v.members = members;
    expected_.insert(v);
  }
}

inline loop_variant program_code::expected_variant(const plan_view& p, const plan_step& s) const {
  const int slot_count = s.in_count + s.out_count;
  std::vector<std::int64_t> extents, strides, addresses;
  for (int a = 0; a < s.rank; ++a) extents.push_back(resolve(p.numbers[s.numbers + a], one_of_each_symbol));
  for (int k = 0; k < slot_count; ++k) {
    const plan_operand& o = p.operands[s.operands + k];
    for (int a = 0; a < s.rank; ++a) strides.push_back(resolve(p.numbers[o.numbers + a], one_of_each_symbol));
    addresses.push_back(resolve(o.offset, one_of_each_symbol) * size_of(o.type));
  }
  return variant_for(s.function, {s.rank, extents.data(), strides.data(), std::move(addresses)});
}

inline std::string program_code::text_of(const std::set<loop_variant>& variants) const {
  std::string s = joined({cuda_text::numbers, cuda_text::lanes, cuda_text::loop});
  for (const bool quick : {false, true})
    if (std::any_of(variants.begin(), variants.end(), [&](const loop_variant& v) { return is_quick(v) == quick; }))
      s += joined({"namespace ", quick ? "quick" : "exact", " {\n", functions_[quick], "}\n"});
  for (const loop_variant& v : variants) {
    const loop_facts& f = facts_[static_cast<std::size_t>(v.loop)];
    const std::string data = "loop_record_" + v.name(), loop = std::to_string(v.loop);
    s += "typedef loop_data<" + std::to_string(f.slot_count) + ", " + std::to_string(v.rank) + ", " +
         std::to_string(f.constants) + "> " + data + ";\n";
    if (v.members > 0) s += "typedef loop_group<" + data + ", " + std::to_string(v.members) + "> group_" + data + ";\n";
    s += "KERNEL(" + v.name() + (v.members > 0 ? ", group_" : ", ") + data + ") {\n  run_" +
         (v.members > 0 ? "group<" : "loop<") + (v.wide ? "i64, " : "i32, ") + std::to_string(v.lanes) + ", " +
         std::to_string(v.vectors) + (v.members > 0 ? ">(d" : ">(d, blockIdx.x") + ", [](const auto& at) { " +
         (f.quick ? "quick" : "exact") + "::loop_" + loop + "(at); });\n}\n";
  }
  return s.append(cuda_text::numbers_end);
}

inline program_code::on_device& program_code::on(instance& where) const {
  if (on_device* const known = known_on(where.number())) return *known;
  const std::lock_guard lock(mutex_);
  if (on_device* const known = known_on(where.number())) return *known;
  auto made = std::make_unique<on_device>();
  made->number = where.number();
  made->functions = std::vector<std::atomic<function_handle>>(facts_.size() * (max_rank + 1) * variants_of_rank);
  const std::size_t bytes = constant_words_.size() * sizeof(std::int64_t);
  made->constants = where.allocate(bytes);
  where.write(*made->constants, 0, reinterpret_cast<const std::byte*>(constant_words_.data()), bytes);
  made->next.reset(first_.load());
  first_.store(made.get(), std::memory_order_release);
  return *made.release();
}

inline std::set<loop_variant> program_code::compiled_with(const loop_variant& v) const {
  constexpr int most = 4;
  if (!expected_.contains(v)) return {v};
  std::set<loop_variant> some;
  bool found = false;
  for (const loop_variant& other : expected_) {
    if (is_quick(other) != is_quick(v)) continue;
    if (static_cast<int>(some.size()) == most) {
      if (found) return some;
      some.clear();
    }
    some.insert(other);
    found = found || other == v;
  }
  return some;
}

inline function_handle program_code::function(const loop_variant& v, instance& where) const {
  const auto make = [&] {
    return where.kernel_of(text_of(compiled_with(v)), v.name().c_str(),
                           is_quick(v) ? contraction::on : contraction::off);
  };
  const bool known_there = known_on(where.number());
  if (code_jobs* const later = where.jobs(); later && !where.rehearses())
    return later->is_new(v.name() + " of " + std::to_string(reinterpret_cast<std::uintptr_t>(this))) ? make() : nullptr;
  if (where.rehearses() && !known_there) return make();
  on_device& here = on(where);
  if (v.members > 0) {
    const std::lock_guard lock(mutex_);
    const auto known = here.groups.find(v);
    return known != here.groups.end() ? known->second : here.groups.emplace(v, make()).first->second;
  }
  std::atomic<function_handle>& known = here.functions[place_of(v)];
  function_handle f = known.load(std::memory_order_acquire);
  if (!f) {
    f = make();
    known.store(f, std::memory_order_release);
  }
  return f;
}

inline std::int64_t elements_of(const loop_arguments& a) {
  std::int64_t elements = 1;
  for (int i = 0; i < a.rank; ++i) elements *= a.extents[i];
  return elements;
}
inline loop_variant program_code::variant_for(const loop_arguments& a) const {
  geometry g{a.rank, a.extents, a.strides, {}};
  for (int k = 0; k < a.slot_count; ++k) g.addresses.push_back(reinterpret_cast<std::int64_t>(a.pointers[k]));
  return variant_for(a.number, g);
}
inline std::int64_t program_code::blocks_of(const loop_arguments& a, const loop_variant& v) {
  return ceil_div(elements_of(a) / v.lanes, block_threads * v.vectors);
}
/// Appends the record of a loop, see text/loop.hpp.
inline void program_code::add_to(kernel_record& r, const loop_arguments& a, const loop_variant& v) const {
  const int constants = facts_[static_cast<std::size_t>(a.number)].constants;
  const auto extent = [&](int i) { return i + 1 == a.rank ? a.extents[i] / v.lanes : a.extents[i]; };
  r.add(elements_of(a) / v.lanes);
  for (int i = 0; i < a.rank; ++i) r.add(extent(i));
  for (int i = 0; i < a.rank; ++i) r.add(divisor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, extent(i)))));
  for (int k = 0; k < a.slot_count; ++k) r.add(a.pointers[k]);
  for (int k = 0; k < a.slot_count * a.rank; ++k) r.add(a.strides[k]);
  for (int k = 0; k < constants; ++k) r.add(static_cast<std::int64_t>(a.constants[k].value));
  if (constants == 0) r.add(0);
}

inline void program_code::run(const loop_arguments& a) const {
  if (elements_of(a) == 0) return;
  auto& gpu = static_cast<instance&>(a.context->where);
  const loop_variant v = variant_for(a);
  kernel_record r;
  add_to(r, a, v);
  gpu.launch("a loop", function(v, gpu), blocks_of(a, v), block_threads, r.data());
}

inline void program_code::run_together(const loop_arguments* loops, int count) const {
  auto& gpu = static_cast<instance&>(loops[0].context->where);
  const int most = most_members(loops[0].number, loops[0].rank);
  for (const loop_arguments *begin = loops, *const end = loops + count; begin < end; begin += most) {
    const int members = static_cast<int>(std::min<std::ptrdiff_t>(most, end - begin));
    loop_variant v = variant_for(*begin);
    for (int m = 0; m < members; ++m) v = joint(v, variant_for(begin[m]));
    v.members = members;
    kernel_record r;
    std::int64_t blocks = 0;
    for (int m = 0; m < members; ++m) {
      r.add(blocks);
      blocks += blocks_of(begin[m], v);
    }
    for (int m = 0; m < members; ++m) add_to(r, begin[m], v);
    gpu.launch("loops", function(v, gpu), blocks, block_threads, r.data());
  }
}

}  // namespace tokamax::cuda_backend
