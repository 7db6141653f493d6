// tokamax/backend/xbyak/value_code.hpp: the values of lines in registers and memory while machine code is written.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/xbyak/loop.cpp
// umbrella: no (the library of kernels includes it, where Xbyak is found)
// needs <xbyak/xbyak.h>
#pragma once

#include <tokamax/backend/xbyak/loop_stages.hpp>  // loop_stages

#include <algorithm>  // fill, find, max, replace, stable_sort
#include <limits>     // numeric_limits
#include <map>        // map
#include <optional>   // optional

namespace tokamax::xbyak {

namespace detail {
inline const Xbyak::Reg64 base_registers[] = {Xbyak::util::rcx, Xbyak::util::rdx, Xbyak::util::rsi, Xbyak::util::rdi,
                                              Xbyak::util::r8,  Xbyak::util::r9,  Xbyak::util::r11};
/// The bits of a constant in the dtype in which it is computed.
inline std::uint32_t computed_bits(dtype t, element_bits v) {
  return dispatch(t, [&]<dtype T>() -> std::uint32_t {
    if constexpr (size_of(compute_dtype(T)) == 8) {
      return 0;
    } else {
      alignas(64) std::uint32_t lanes[16];
      cpu_backend::detail::set_tile<T>(lanes, 0, cpu_backend::splat<T>(v));
      return lanes[0];
    }
  });
}
}  // namespace detail

/// What the code of a stage needs besides the values of its lines. It is known when the code has been written once. The second
/// time registers that are free hold what is read most often from memory that does not change.
struct register_use {
  int registers = 0;                        ///< registers 0 to this one, less it, are needed
  std::map<std::uint32_t, int> literals{};  ///< how often each is read
  std::map<int, int> splats{};              ///< the same of loads of one element
};

/// Knows where the value of each line is while the code of one vector is written, and writes loads and stores of registers. A
/// value lives in a register from where it is made or read first to where it is read last. If registers run out, the one that is
/// needed last leaves.
///
/// rbx has the pointers of slots, rbp memory for tiles, r10 the same less the elements before the block, r15 is the first element
/// of the vector, and rax is free.
class value_code : public vector_code {
 public:
  value_code(const loop_arguments& a, const loop_stages& stages, void* code, std::size_t bytes);
  /// What each stage needs.
  const std::vector<register_use>& uses() const { return uses_; }
  /// The bytes of memory that the code needs.
  std::int64_t memory_bytes() const { return tile_offset(stages_.tiles); }

 protected:
  static constexpr int none = -1, lent = -2;
  /// The elements of a block. While calls compute, nothing is read from arrays. With more than 128 elements the hardware has
  /// stopped to fetch them then, and loops over large arrays take up to twice as long.
  static constexpr std::int64_t block = 64;
  struct value {
    int reg = none, spill = none;
    int uses = 0;  // that are left in the stage
  };

  /// Fills registers that the stage leaves free, as `known` says.
  void hold(const register_use& known);
  /// Begins the code of a stage, and ends it.
  void begin_stage();
  void end_stage();
  /// Begins the code of a vector.
  void begin_vector(const loop_stages::stage& s);
  /// Ends that of a line.
  void end_line();
  Ymm temporary() override { return take(lent); }
  /// A register for a line, or for an intermediate value.
  Ymm take(int owner);
  void unpin() { std::fill(pinned_, pinned_ + registers, false); }
  void release(int line);
  /// Counts a use of a line.
  void use(int line);
  Ymm in_register(int line);
  /// The register of a line, or none: then `where` is where it is. A value that is read again goes to a register.
  Operand operand(int line, bool needs_register, Address& where);

  /// Where the pointer of slot k is, and its elements, which have so many bytes.
  Address pointer_of(int k) const { return memory(rbx, 8 * k); }
  Address slot(int k, int bytes);
  Address tile_of(int line) { return memory(r10 + r15 * 4, tile_offset(tile_number(line))); }
  int tile_number(int line) const { return stages_.values[static_cast<std::size_t>(line)].tile; }
  std::int64_t tile_offset(int number) const { return 32 * (splat_count_ + most_spills) + number * block * 4; }
  /// Where the one element of a load is repeated; -1: it is not of this kind.
  std::int64_t splat_offset(int line) const { return std::int64_t{32} * splats_[static_cast<std::size_t>(line)]; }
  bool is_called(int line) const { return stages_.values[static_cast<std::size_t>(line)].is_called; }
  bool is_splat(int line) const { return splats_[static_cast<std::size_t>(line)] >= 0; }
  std::uint32_t constant(int line) const { return constants_[static_cast<std::size_t>(line)]; }
  value& at(int line) { return values_[static_cast<std::size_t>(line)]; }
  const value& at(int line) const { return values_[static_cast<std::size_t>(line)]; }

  const loop_arguments& loop_;
  const instruction* const lines_;
  const loop_stages& stages_;
  std::vector<int> order_;  // the lines of the stage
  std::size_t now_ = 0;     // the number of the current one
  std::vector<int> bases_;  // slots whose pointers are in registers
  bool stores_ = false;     // the vector has begun to store, so operands in memory may be gone

 private:
  static constexpr std::int64_t most_spills = 256;

  std::int64_t spill_offset(int line) const { return std::int64_t{32} * (splat_count_ + at(line).spill); }
  void free_one();
  int next_use(int line) const;
  void make(int line, const Ymm& to);
  bool has_address(int line) const;
  Address address(int line);
  std::optional<Ymm> held(int line);
  Xbyak::Reg64 base_of(int k);

  std::vector<value> values_;
  std::vector<int> splats_;
  std::vector<std::uint32_t> constants_;
  int owner_[registers];       // a line, none or lent
  bool pinned_[registers];     // by the current line
  int available_ = registers;  // the others hold what does not change
  std::map<int, int> splat_uses_;
  std::map<int, Ymm> held_splats_;
  std::vector<register_use> uses_;
  int splat_count_ = 0, spill_count_ = 0;
};

inline value_code::value_code(const loop_arguments& a, const loop_stages& stages, void* code, std::size_t bytes)
    : vector_code(code, bytes),
      loop_(a),
      lines_(a.instructions),
      stages_(stages),
      values_(static_cast<std::size_t>(a.kernel->count)),
      splats_(values_.size(), none),
      constants_(values_.size()) {
  for (int i = 0; i < a.kernel->count; ++i) {
    const instruction& l = lines_[i];
    if (l.kind == instruction_kind::constant)
      constants_[static_cast<std::size_t>(i)] = detail::computed_bits(l.type, a.constants[l.a]);
    if (l.kind == instruction_kind::load && l.inner == instruction::step::none)
      splats_[static_cast<std::size_t>(i)] = splat_count_++;
  }
}

inline void value_code::begin_stage() {
  available_ = registers;
  splat_uses_.clear();
  for (auto& [bits, place] : literals()) place.uses = 0;
  uses_.emplace_back();
}
inline void value_code::end_stage() {
  for (auto& [bits, place] : literals()) {
    if (place.uses > 0) uses_.back().literals[bits] = place.uses;
    place.held.reset();
  }
  uses_.back().splats = splat_uses_;
  held_splats_.clear();
}
inline void value_code::hold(const register_use& known) {
  struct wish {
    int uses;
    std::uint32_t number;
    bool is_literal;
  };
  std::vector<wish> wishes;
  for (const auto& [bits, uses] : known.literals) wishes.push_back({uses, bits, true});
  for (const auto& [line, uses] : known.splats) wishes.push_back({uses, static_cast<std::uint32_t>(line), false});
  std::stable_sort(wishes.begin(), wishes.end(), [](const wish& x, const wish& y) { return x.uses > y.uses; });
  available_ = known.registers;
  int next = available_;
  for (const wish& w : wishes) {
    if (next == registers) break;
    const Ymm v(next++);
    if (w.is_literal) {
      literal_place& p = place_of(w.number);
      vmovups(v, *p.memory);
      p.held = v;
    } else {
      vmovups(v, memory(rbp, splat_offset(static_cast<int>(w.number))));
      held_splats_.emplace(static_cast<int>(w.number), v);
    }
  }
}

inline void value_code::begin_vector(const loop_stages::stage& s) {
  std::fill(owner_, owner_ + registers, none);
  unpin();
  std::fill(values_.begin(), values_.end(), value());
  spill_count_ = 0;
  stores_ = false;
  for (int i : order_) detail::each_operand(lines_[i], [&](int k) { ++at(k).uses; });
  for (int i : s.puts) ++at(i).uses;
}
inline void value_code::end_line() {
  unpin();
  std::replace(owner_, owner_ + registers, lent, none);
}

inline Ymm value_code::take(int owner) {
  for (;; free_one())
    for (int k = 0; k < available_; ++k)
      if (owner_[k] == none) {
        if (!uses_.empty()) uses_.back().registers = std::max(uses_.back().registers, k + 1);
        owner_[k] = owner;
        pinned_[k] = true;
        if (owner >= 0) at(owner).reg = k;
        return Ymm(k);
      }
}

/// Takes the register of the value that is needed last.
inline void value_code::free_one() {
  int found = none, last = -1;
  for (int k = 0; k < available_; ++k) {
    if (pinned_[k] || owner_[k] < 0) continue;
    const int next = next_use(owner_[k]);
    if (next > last) found = k, last = next;
  }
  if (found == none) throw Xbyak::Error(Xbyak::ERR_INTERNAL);
  value& v = at(owner_[found]);
  const int line = owner_[found];
  v.reg = none;
  const bool is_made = lines_[line].kind != instruction_kind::apply && !stores_;  // it can be made again
  if (!has_address(line) && !is_made && !is_called(line)) {
    v.spill = spill_count_++;
    if (v.spill >= most_spills) throw Xbyak::Error(Xbyak::ERR_INTERNAL);
    vmovups(memory(rbp, spill_offset(line)), Ymm(found));
  }
  owner_[found] = none;
}
inline int value_code::next_use(int line) const {
  for (std::size_t k = now_ + 1; k < order_.size(); ++k) {
    bool reads = order_[k] == line;
    detail::each_operand(lines_[order_[k]], [&](int i) { reads = reads || i == line; });
    if (reads) return static_cast<int>(k);
  }
  return std::numeric_limits<int>::max();
}
inline void value_code::release(int line) {
  if (at(line).reg == none) return;
  owner_[at(line).reg] = none;
  pinned_[at(line).reg] = false;
  at(line).reg = none;
}
inline void value_code::use(int line) {
  if (--at(line).uses == 0) release(line);
}

/// The register that holds a line through the whole stage, if there is one.
inline std::optional<Ymm> value_code::held(int line) {
  if (lines_[line].kind == instruction_kind::constant) {
    const auto found = literals().find(constant(line));
    return found == literals().end() ? std::nullopt : found->second.held;
  }
  const auto found = held_splats_.find(line);
  return found == held_splats_.end() ? std::nullopt : std::optional(found->second);
}
inline Ymm value_code::in_register(int line) {
  if (const std::optional<Ymm> v = held(line)) return *v;
  if (at(line).reg == none) {
    const Ymm to = take(line);
    has_address(line) ? vmovups(to, address(line)) : make(line, to);
  }
  pinned_[at(line).reg] = true;
  return Ymm(at(line).reg);
}
inline Operand value_code::operand(int line, bool needs_register, Address& where) {
  if (const std::optional<Ymm> v = held(line)) return *v;
  const instruction& l = lines_[line];
  const bool repeated = l.kind == instruction_kind::constant || is_splat(line);
  const bool is_far = l.kind == instruction_kind::load && std::find(bases_.begin(), bases_.end(), l.a) == bases_.end();
  if (!needs_register && at(line).reg == none && has_address(line) && (repeated || (at(line).uses == 1 && !is_far))) {
    where = address(line);
    return Operand();
  }
  return in_register(line);
}
/// Makes a load or a count.
inline void value_code::make(int line, const Ymm& to) {
  const instruction& l = lines_[line];
  if (l.kind == instruction_kind::load) return write_load(*this, to, slot(l.a, size_of(l.type)), l.type);
  mov(rax, pointer_of(l.a));
  if (l.inner == instruction::step::unit) add(rax, r15);
  vmovd(Xmm(to.getIdx()), eax);
  vpbroadcastd(to, Xmm(to.getIdx()));
  if (l.inner == instruction::step::unit) vpaddd(to, to, lanes());
  if (l.type == bool_) {
    const Ymm zero = temporary();
    vpxor(zero, zero, zero);
    vpcmpeqd(to, to, zero);
    detail::invert(*this, to);
  } else {
    if (is_floating(l.type)) vcvtdq2ps(to, to);
    if (l.type != compute_dtype(l.type)) write_narrowing(*this, to, l.type, false);
  }
}

/// Is the value of a line in memory as it is computed?
inline bool value_code::has_address(int line) const {
  const instruction& l = lines_[line];
  if (at(line).spill != none || l.kind == instruction_kind::constant || is_splat(line)) return true;
  if (l.kind == instruction_kind::apply || is_called(line)) return tile_number(line) >= 0;
  return l.kind == instruction_kind::load && detail::lies_as_computed(l.type) && !stores_;
}
inline Address value_code::address(int line) {
  const instruction& l = lines_[line];
  if (at(line).spill != none) return memory(rbp, spill_offset(line));
  if (l.kind == instruction_kind::constant) return *place_of(constant(line)).memory;
  if (is_splat(line)) return ++splat_uses_[line], memory(rbp, splat_offset(line));
  if (l.kind == instruction_kind::apply || is_called(line)) return tile_of(line);
  return slot(l.a, size_of(l.type));
}
inline Address value_code::slot(int k, int bytes) {
  const Xbyak::Reg64 base = base_of(k);
  return ptr[base + r15 * bytes];
}
inline Xbyak::Reg64 value_code::base_of(int k) {
  for (std::size_t i = 0; i < bases_.size(); ++i)
    if (bases_[i] == k) return detail::base_registers[i];
  mov(rax, pointer_of(k));
  return rax;
}

}  // namespace tokamax::xbyak
