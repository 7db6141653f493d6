// tokamax/backend/cuda/loops.hpp: the fused loops of a program as device text, compiled at once and launched one by one.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/backend/cuda/launch.hpp>      // record
#include <tokamax/backend/cuda/text/lanes.hpp>  // lanes
#include <tokamax/backend/cuda/text/loop.hpp>   // loop
#include <tokamax/compiler/loop_text.hpp>       // loops_to_cpp

#include <array>   // array
#include <atomic>  // atomic
#include <set>     // set

namespace tokamax::cuda_backend {

/// How a loop is compiled: for a number of axes, and a number of neighbouring elements that a thread computes.
struct loop_variant {
  int loop = 0, rank = 1, lanes = 1;
  auto operator<=>(const loop_variant&) const = default;
  std::string name() const {
    return "loop_" + std::to_string(loop) + "_rank" + std::to_string(rank) + "_lanes" + std::to_string(lanes);
  }
};

/// The loops of one program. Their text is made when the program is planned. The first run on a device compiles all variants
/// that the plan lets expect in one go; others, such as those for views that are not aligned, are compiled when they occur.
class program_code final : public device_code {
 public:
  explicit program_code(const plan_view& p);

  std::byte* constant(int buffer, device& where) const override {
    const on_device& here = on(static_cast<instance&>(where));
    return here.constants->data + offsets_[static_cast<std::size_t>(buffer)];
  }
  void run(const loop_arguments& a) const;
  /// The whole text of some variants.
  std::string text_of(const std::set<loop_variant>& variants) const;
  /// The variants that the plan lets expect.
  const std::set<loop_variant>& expected() const { return expected_; }

 private:
  static constexpr int most_lanes = 8, most_devices = 32;
  struct loop_facts {
    std::vector<char> bytes;  ///< of each slot that moves with unit stride; 0 for the others
    int slots = 0, constants = 0, widest = 1;
  };
  struct on_device {
    handle constants;
    std::vector<std::atomic<function_handle>> functions;
  };

  std::size_t place_of(const loop_variant& v) const {
    const std::size_t level = v.lanes == 8 ? 3 : v.lanes == 4 ? 2 : v.lanes == 2 ? 1 : 0;
    return (static_cast<std::size_t>(v.loop) * (max_rank + 1) + static_cast<std::size_t>(v.rank)) * 4 + level;
  }
  template <class Address>
  int lanes_for(const loop_facts& f, int rank, const std::int64_t* extents, const std::int64_t* strides,
                const Address& address) const;
  void expect(const plan_view& p, const plan_step& s);
  on_device& on(instance& where) const;
  function_handle function(const loop_variant& v, instance& where) const;

  std::string functions_;
  std::vector<loop_facts> facts_;
  std::set<loop_variant> expected_;
  std::vector<std::int64_t> constant_words_;
  std::vector<std::size_t> offsets_;  // of each buffer that is a constant
  mutable std::mutex mutex_;
  mutable std::array<std::atomic<on_device*>, most_devices> devices_{};
  mutable std::vector<std::unique_ptr<on_device>> owned_;
};

/// Throws for an op that has no text, before anything is printed.
inline const plan_view& require_text(const plan_view& p) {
  for (int k = 0; k < p.loop_count; ++k)
    for (int i = p.loops[k].first; i < p.loops[k].first + p.loops[k].count; ++i) {
      const instruction& l = p.instructions[i];
      if (l.kind == instruction_kind::apply && (!l.function || !l.function->spell))
        throw error("cuda: op of a loop", l.function ? std::string(l.function->name) : "an unnamed op",
                    "an op whose element function has a text (core/spelled.hpp)");
    }
  return p;
}

inline program_code::program_code(const plan_view& p) : functions_(loops_to_cpp(require_text(p))) {
  for (int k = 0; k < p.loop_count; ++k) {
    const loop_kernel& loop = p.loops[k];
    loop_facts f{std::vector<char>(static_cast<std::size_t>(loop.slots), 0), loop.slots, loop.constants};
    int least = 16;
    for (int i = loop.first; i < loop.first + loop.count; ++i) {
      const instruction& l = p.instructions[i];
      const bool stores = l.kind == instruction_kind::store;
      if (!stores && (l.kind != instruction_kind::load || l.inner != instruction::step::unit)) continue;
      f.bytes[static_cast<std::size_t>(stores ? l.b : l.a)] = static_cast<char>(size_of(l.type));
      least = std::min(least, size_of(l.type));
    }
    f.widest = std::min(most_lanes, 16 / least);
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
  for (int s = 0; s < p.step_count; ++s)
    if (p.steps[s].kind == step_kind::loop) expect(p, p.steps[s]);
}

/// The largest number of lanes that divides the innermost extent and for which all accesses of whole lanes are aligned.
template <class Address>
int program_code::lanes_for(const loop_facts& f, int rank, const std::int64_t* extents, const std::int64_t* strides,
                            const Address& address) const {
  int lanes = f.widest;
  while (lanes > 1 && extents[rank - 1] % lanes != 0) lanes /= 2;
  for (int k = 0; k < f.slots; ++k) {
    const std::int64_t bytes = f.bytes[static_cast<std::size_t>(k)];
    if (bytes == 0) continue;
    const auto is_aligned = [&](std::int64_t at) { return at % std::min<std::int64_t>(16, lanes * bytes) == 0; };
    while (lanes > 1 && !is_aligned(address(k))) lanes /= 2;
    for (int a = 0; a + 1 < rank; ++a)
      while (lanes > 1 && !is_aligned(strides[k * rank + a] * bytes)) lanes /= 2;
  }
  return lanes;
}

inline void program_code::expect(const plan_view& p, const plan_step& s) {
  const loop_facts& f = facts_[static_cast<std::size_t>(s.function)];
  const int slots = s.in_count + s.out_count;
  std::vector<std::int64_t> extents, strides;
  for (int a = 0; a < s.rank; ++a) extents.push_back(resolve(p.numbers[s.numbers + a], one_of_each_symbol));
  for (int k = 0; k < slots; ++k)
    for (int a = 0; a < s.rank; ++a)
      strides.push_back(resolve(p.numbers[p.operands[s.operands + k].numbers + a], one_of_each_symbol));
  const int lanes = lanes_for(f, s.rank, extents.data(), strides.data(), [&](int k) {
    const plan_operand& o = p.operands[s.operands + k];
    return resolve(o.offset, one_of_each_symbol) * size_of(o.type);
  });
  expected_.insert({s.function, s.rank, lanes});
}

inline std::string program_code::text_of(const std::set<loop_variant>& variants) const {
  std::string s = joined({cuda_text::numbers, cuda_text::lanes, cuda_text::loop, functions_});
  for (const loop_variant& v : variants) {
    const loop_facts& f = facts_[static_cast<std::size_t>(v.loop)];
    const std::string data = "loop_record_" + v.name(), loop = std::to_string(v.loop);
    s += "typedef loop_data<" + std::to_string(f.slots) + ", " + std::to_string(v.rank) + ", " +
         std::to_string(f.constants) + "> " + data + ";\n";
    s += "KERNEL(" + v.name() + ", " + data + ") {\n  run_loop<" + std::to_string(v.lanes) +
         ">(d, [](const auto& at) { loop_" + loop + "(at); });\n}\n";
  }
  return s.append(cuda_text::numbers_end);
}

inline program_code::on_device& program_code::on(instance& where) const {
  std::atomic<on_device*>& place = devices_.at(static_cast<std::size_t>(where.number()));
  if (on_device* const known = place.load(std::memory_order_acquire)) return *known;
  const std::lock_guard lock(mutex_);
  if (on_device* const known = place.load(std::memory_order_acquire)) return *known;
  auto made = std::make_unique<on_device>();
  made->functions = std::vector<std::atomic<function_handle>>(facts_.size() * (max_rank + 1) * 4);
  const std::size_t bytes = constant_words_.size() * sizeof(std::int64_t);
  made->constants = where.allocate(bytes);
  where.write(*made->constants, reinterpret_cast<const std::byte*>(constant_words_.data()), bytes);
  if (!expected_.empty()) {
    const std::string text = text_of(expected_);
    for (const loop_variant& v : expected_) made->functions[place_of(v)] = where.kernel_of(text, v.name().c_str());
  }
  place.store(made.get(), std::memory_order_release);
  owned_.push_back(std::move(made));
  return *owned_.back();
}

inline function_handle program_code::function(const loop_variant& v, instance& where) const {
  std::atomic<function_handle>& known = on(where).functions[place_of(v)];
  function_handle f = known.load(std::memory_order_acquire);
  if (!f) {
    f = where.kernel_of(text_of({v}), v.name().c_str());
    known.store(f, std::memory_order_release);
  }
  return f;
}

inline void program_code::run(const loop_arguments& a) const {
  auto& gpu = static_cast<instance&>(a.context->where);
  const loop_facts& f = facts_[static_cast<std::size_t>(a.number)];
  std::int64_t elements = 1;
  for (int i = 0; i < a.rank; ++i) elements *= a.extents[i];
  if (elements == 0) return;
  const int lanes =
      lanes_for(f, a.rank, a.extents, a.strides, [&](int k) { return reinterpret_cast<std::int64_t>(a.pointers[k]); });
  const std::int64_t threads = elements / lanes;
  kernel_record r;
  r.add(threads);
  for (int i = 0; i < a.rank; ++i) r.add(a.extents[i]);
  for (int k = 0; k < a.slots; ++k) r.add(a.pointers[k]);
  for (int k = 0; k < a.slots * a.rank; ++k) r.add(a.strides[k]);
  for (int k = 0; k < f.constants; ++k) r.add(static_cast<std::int64_t>(a.constants[k].value));
  if (f.constants == 0) r.add(0);
  gpu.launch("a loop", function({a.number, a.rank, lanes}, gpu), ceil_div(threads, block_threads), block_threads,
             r.data());
}

}  // namespace tokamax::cuda_backend
