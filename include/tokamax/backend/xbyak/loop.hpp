// tokamax/backend/xbyak/loop.hpp: fused loops that are only known at run time, as machine code made by Xbyak.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (the library of kernels includes it, where Xbyak is found)
// needs <xbyak/xbyak.h>
#pragma once

#include <tokamax/backend/cpu/loop/loop.hpp>       // each_part, locate
#include <tokamax/backend/cpu/vector/threads.hpp>  // scratch
#include <tokamax/backend/xbyak/code_memory.hpp>   // code_memory
#include <tokamax/backend/xbyak/loop_writer.hpp>   // loop_writer

#include <algorithm>      // equal, max, min
#include <cstring>        // memcpy, memset
#include <memory>         // shared_ptr, unique_ptr, weak_ptr
#include <unordered_map>  // unordered_multimap

namespace tokamax::xbyak {

namespace detail {
struct tiles_tag;
struct rest_tag;
}  // namespace detail

/// The machine code of loops that have the same lines and constants.
class loop final : public loop_program {
 public:
  explicit loop(const loop_arguments& a)
      : lines_(a.instructions, a.instructions + a.kernel->count),
        constants_(a.constants, a.constants + a.kernel->constants) {}
  /// Writes the code; false if a line has none, or if there is no memory for it.
  bool write(const loop_arguments& a);
  bool is_of(const loop_arguments& a) const {
    return std::equal(lines_.begin(), lines_.end(), a.instructions, a.instructions + a.kernel->count) &&
           std::equal(constants_.begin(), constants_.end(), a.constants, a.constants + a.kernel->constants);
  }
  void run(const loop_arguments& a) const override;

 private:
  // Clang's sanitizers look for words in front of functions, and there is no memory in front of this one.
#if defined(__clang__)
  [[clang::no_sanitize("function")]]
#endif
  void run_row(std::byte* const* first, std::byte* memory, std::int64_t count) const {
    row_(first, memory, count);
  }
  void run_rest(std::byte** first, std::int64_t count, std::byte* memory) const;

  static constexpr std::int64_t step = std::max<std::int64_t>(8, cpu_backend::width);  // elements of the smallest run
  struct moved_slot {  // whose elements lie side by side
    int slot;
    int bytes;
    bool is_result;
    bool counts;
  };
  std::vector<instruction> lines_;
  std::vector<element_bits> constants_;
  std::vector<moved_slot> moved_;
  std::unique_ptr<code_memory> code_;
  row_function row_ = nullptr;
  std::int64_t memory_bytes_ = 0;
};

inline bool loop::write(const loop_arguments& a) {
  const loop_stages stages(a);
  if (!stages.supported) return false;
  for (const instruction& l : lines_) {
    const bool moves = l.inner == instruction::step::unit;
    if (l.kind == instruction_kind::store)
      moved_.push_back({l.b, size_of(l.type), true, false});
    else if (l.kind == instruction_kind::load && moves)
      moved_.push_back({l.a, size_of(l.type), false, false});
    else if (l.kind == instruction_kind::iota && moves)
      moved_.push_back({l.a, 1, false, true});
  }
  constexpr std::size_t most = 1 << 20;
  try {
    const std::unique_ptr<std::uint8_t[]> draft(new std::uint8_t[most]);  // not initialised
    const std::vector<register_use> uses = loop_writer(a, stages, draft.get(), most, {}).uses();
    const loop_writer writer(a, stages, draft.get(), most, uses);
    memory_bytes_ = writer.memory_bytes();
    code_ = std::make_unique<code_memory>(draft.get(), writer.getSize());
  } catch (const Xbyak::Error&) {
    return false;
  }
  row_ = reinterpret_cast<row_function>(reinterpret_cast<std::uintptr_t>(code_->data()));
  return row_ != nullptr;
}

inline void loop::run(const loop_arguments& a) const {
  const std::int64_t n = a.extents[a.rank - 1];
  cpu_backend::each_part(a, [&](std::int64_t at, std::int64_t count) {
    auto* const memory = cpu_backend::scratch<detail::tiles_tag, std::byte>(memory_bytes_);
    std::byte* first[max_loop_slots];
    std::int64_t row = at / n, column = at % n;
    for (std::int64_t now = 0; count > 0; count -= now, ++row, column = 0) {
      now = std::min(n - column, count);
      cpu_backend::detail::locate(a, row, column, first);
      const std::int64_t whole = now / step * step;
      if (whole > 0) run_row(first, memory, whole);
      if (whole == now) continue;
      for (const moved_slot& m : moved_) first[m.slot] += whole * m.bytes;
      run_rest(first, now - whole, memory);
    }
  });
}

/// Runs on a copy of the last elements of a row, which are less than a step.
inline void loop::run_rest(std::byte** first, std::int64_t count, std::byte* memory) const {
  constexpr std::int64_t most = step * 4;
  std::byte* const copies = cpu_backend::scratch<detail::rest_tag, std::byte>(max_loop_slots * most);
  std::byte* results[max_loop_slots];
  for (const moved_slot& m : moved_) {
    if (m.counts) continue;
    std::byte* const copy = copies + m.slot * most;
    if (m.is_result)
      results[m.slot] = first[m.slot];
    else
      std::memset(copy, 0, most), std::memcpy(copy, first[m.slot], static_cast<std::size_t>(count * m.bytes));
    first[m.slot] = copy;
  }
  run_row(first, memory, step);
  for (const moved_slot& m : moved_)
    if (m.is_result) std::memcpy(results[m.slot], first[m.slot], static_cast<std::size_t>(count * m.bytes));
}

namespace detail {
/// The loops that programs have now. Its caller lets one thread at a time in.
class all_loops {
 public:
  std::shared_ptr<const loop> find(const loop_arguments& a) {
    const auto [begin, end] = all_.equal_range(a.kernel->hash);
    for (auto i = begin; i != end; ++i)
      if (const auto one = i->second.lock(); one && one->is_of(a)) return one;
    const auto made = std::make_shared<loop>(a);
    if (!made->write(a)) return nullptr;
    if (all_.size() > 2 * alive_ + 16) {
      std::erase_if(all_, [](const auto& entry) { return entry.second.expired(); });
      alive_ = all_.size();
    }
    all_.emplace(a.kernel->hash, made);
    return made;
  }

 private:
  std::unordered_multimap<std::uint64_t, std::weak_ptr<const loop>> all_;
  std::size_t alive_ = 0;
};
}  // namespace detail

}  // namespace tokamax::xbyak

#if defined(TOKAMAX_INSTANTIATE_KERNELS) || !defined(TOKAMAX_SEPARATE_KERNELS)
namespace tokamax::cpu_backend {

/// It needs the instructions for which the element functions are compiled, because fused steps round once.
TOKAMAX_BODY std::shared_ptr<const loop_program> make_loop_program([[maybe_unused]] const loop_arguments& a) {
  #if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
  static auto& all = *new xbyak::detail::all_loops;  // never destroyed, as programs may be static
  return all.find(a);
  #else
  return nullptr;
  #endif
}

}  // namespace tokamax::cpu_backend
#endif
