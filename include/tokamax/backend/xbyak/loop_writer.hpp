// tokamax/backend/xbyak/loop_writer.hpp: writes the machine code of a fused loop, with values in registers from line to line.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (who links tokamax::xbyak includes it)
// needs <xbyak/xbyak.h>
#pragma once

#include <tokamax/backend/xbyak/loop_stages.hpp>  // loop_stages

#include <limits>  // numeric_limits

namespace tokamax::xbyak {

/// The machine code of a row: `bases` has the first element of each slot, and n is a multiple of 8. `memory` is for tiles.
using row_function = void (*)(std::byte* const* bases, std::byte* memory, std::int64_t n);

/// Writes a row_function. A block of the row goes through all stages before the next one, so that tiles stay in the first-level
/// cache. Without calls there is one stage and one block.
class loop_writer final : public vector_code {
 public:
  loop_writer(const loop_arguments& a, const loop_stages& stages, void* code, std::size_t bytes);
  /// The bytes of memory that the function needs.
  std::int64_t memory_bytes() const { return tile_offset(stages_.tiles); }

 private:
  static constexpr int none = -1, lent = -2;
  struct value {
    int reg = none, spill = none;
    int uses = 0;  // that are left in the stage
  };

  void write_prologue();
  void write_stage(const loop_stages::stage& s);
  void write_vectors(const loop_stages::stage& s);
  void write_line(int i);
  void write_apply(int i);
  void finish_line(int i, const Ymm& v);
  void write_call(const tile_call& c);

  // Registers. Those of the operands of the current line are pinned.
  Ymm temporary() override { return take(lent); }
  Ymm take(int owner);
  void free_one();
  int next_use(int line) const;
  void release(int line);
  void use(int line);
  Ymm in_register(int line);
  Operand operand(int line, bool needs_register, Address& address);
  void make(int line, const Ymm& to);

  // Memory.
  bool has_address(int line) const;
  Address address(int line);
  Address slot(int k, int bytes);
  Xbyak::Reg64 base_of(int k);
  Address tile(int number) { return ptr[r10 + r15 * 4 + tile_offset(number) + 4 * vector_]; }
  std::int64_t tile_offset(int number) const { return tiles_at_ + number * block_ * 4; }
  int splat_offset(int line) const { return 32 * splats_[static_cast<std::size_t>(line)]; }
  value& at(int line) { return values_[static_cast<std::size_t>(line)]; }
  const value& at(int line) const { return values_[static_cast<std::size_t>(line)]; }
  bool is_put(int line) const { return stages_.values[static_cast<std::size_t>(line)].tile >= 0; }

  static constexpr std::int64_t most_spills = 256;
  const loop_arguments& loop_;
  const instruction* const lines_;
  const loop_stages& stages_;
  std::vector<value> values_;
  std::vector<int> splats_;           // the place of each load that is one element for all; -1: it is another line
  std::vector<std::uint32_t> constants_;  // the bits of each constant
  std::int64_t tiles_at_ = 0, block_ = 0;
  int stage_ = 0, vector_ = 0;  // the stage, and the first element of the vector from r15 on
  std::size_t now_ = 0;         // the number of the current line in order_
  std::vector<int> order_;      // the lines of the stage
  int owner_[registers];
  bool pinned_[registers];
  bool stores_ = false;  // the stage has begun to store, so operands in memory may be gone
  int splat_count_ = 0, spill_count_ = 0;
  std::vector<int> bases_;  // slots whose pointers are in registers
};

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

inline loop_writer::loop_writer(const loop_arguments& a, const loop_stages& stages, void* code, std::size_t bytes)
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
  constexpr std::int64_t cache = 16384;  // half of the first-level cache
  tiles_at_ = 32 * (splat_count_ + most_spills);
  block_ = std::clamp<std::int64_t>(cache / (4 * std::max(1, stages.tiles)) / 64 * 64, 64, 512);
  write_prologue();
  const bool blocks = stages.stages.size() > 1 || !stages.stages[0].calls.empty();
  Xbyak::Label next_block;
  xor_(r13, r13);
  L(next_block);
  if (blocks) {
    lea(r14, ptr[r13 + block_]);
    cmp(r14, r12);
    cmova(r14, r12);
  } else {
    mov(r14, r12);
  }
  for (const loop_stages::stage& s : stages.stages) {
    write_stage(s);
    for (const tile_call& c : s.calls) write_call(c);
    ++stage_;
  }
  if (blocks) {
    mov(r13, r14);
    cmp(r13, r12);
    jb(next_block, T_NEAR);
  }
  vzeroupper();
  add(rsp, 40);
  for (const Xbyak::Reg64& r : {r15, r14, r13, r12, rbp, rbx}) pop(r);
  ret();
  write_literals();
}

/// Saves registers, and repeats elements that are the same for the whole row.
inline void loop_writer::write_prologue() {
  for (const Xbyak::Reg64& r : {rbx, rbp, r12, r13, r14, r15}) push(r);
  sub(rsp, 40);  // the stack stays aligned, and has room for the operands of calls
  mov(rbx, rdi);
  mov(rbp, rsi);
  mov(r12, rdx);
  for (int i = 0; i < loop_.kernel->count; ++i) {
    if (splats_[static_cast<std::size_t>(i)] < 0) continue;
    const dtype t = lines_[i].type;
    for (int k = 0; k < registers; ++k) owner_[k] = none, pinned_[k] = false;
    mov(rax, ptr[rbx + 8 * lines_[i].a]);
    const Ymm v = take(lent);
    const Xmm low(v.getIdx());
    if (size_of(t) == 4)
      vbroadcastss(v, ptr[rax]);
    else if (size_of(t) == 2)
      vpbroadcastw(low, ptr[rax]);
    else
      vpbroadcastb(low, ptr[rax]);
    if (size_of(t) != 4) write_load(*this, v, low, t);
    vmovups(ptr[rbp + splat_offset(i)], v);
  }
}

/// One loop over the vectors of the block.
inline void loop_writer::write_stage(const loop_stages::stage& s) {
  order_ = s.puts;
  order_.insert(order_.end(), s.lines.begin(), s.lines.end());
  if (order_.empty()) return;
  bases_.clear();
  const auto needs = [&](int k) {
    if (std::find(bases_.begin(), bases_.end(), k) == bases_.end() && bases_.size() < std::size(detail::base_registers))
      bases_.push_back(k);
  };
  const auto needs_line = [&](int i) {
    if (lines_[i].kind == instruction_kind::load && lines_[i].inner == instruction::step::unit) needs(lines_[i].a);
  };
  for (int i : order_) {
    needs_line(i);
    detail::each_operand(lines_[i], needs_line);
    if (lines_[i].kind == instruction_kind::store) needs(lines_[i].b);
  }
  for (std::size_t k = 0; k < bases_.size(); ++k) mov(detail::base_registers[k], ptr[rbx + 8 * bases_[k]]);
  imul(r10, r13, -4);  // so that tiles have the index of the row
  add(r10, rbp);
  mov(r15, r13);
  const int unrolled = order_.size() <= 12 ? 4 : order_.size() <= 32 ? 2 : 1;
  Xbyak::Label whole, whole_end, rest, rest_end;
  if (unrolled > 1) {
    jmp(whole_end, T_NEAR);
    align(32);
    L(whole);
    for (vector_ = 0; vector_ < 8 * unrolled; vector_ += 8) write_vectors(s);
    add(r15, 8 * unrolled);
    L(whole_end);
    lea(rax, ptr[r15 + 8 * unrolled]);
    cmp(rax, r14);
    jbe(whole, T_NEAR);
  }
  vector_ = 0;
  jmp(rest_end, T_NEAR);
  L(rest);
  write_vectors(s);
  add(r15, 8);
  L(rest_end);
  cmp(r15, r14);
  jb(rest, T_NEAR);
}

/// The lines of a stage for one vector.
inline void loop_writer::write_vectors(const loop_stages::stage& s) {
  for (int k = 0; k < registers; ++k) owner_[k] = none, pinned_[k] = false;
  for (value& v : values_) v = {};
  spill_count_ = 0;
  stores_ = false;
  for (int i : order_) detail::each_operand(lines_[i], [&](int k) { ++at(k).uses; });
  for (int i : s.puts) ++at(i).uses;
  for (now_ = 0; now_ < order_.size(); ++now_) {
    write_line(order_[now_]);
    for (int k = 0; k < registers; ++k) {
      pinned_[k] = false;
      if (owner_[k] == lent) owner_[k] = none;
    }
  }
}

inline void loop_writer::write_line(int i) {
  const instruction& l = lines_[i];
  if (l.kind == instruction_kind::apply) return write_apply(i);
  if (l.kind != instruction_kind::store) {  // a load or constant that a call reads
    vmovups(tile(stages_.values[static_cast<std::size_t>(i)].tile), in_register(i));
    return use(i);
  }
  if (!stores_) {  // a result may lie where an operand of another one does
    stores_ = true;
    for (std::size_t k = now_; k < order_.size(); ++k)
      if (const int v = lines_[order_[k]].a; lines_[v].kind == instruction_kind::load) {
        in_register(v);
        for (bool& p : pinned_) p = false;
      }
  }
  const Ymm v = in_register(l.a);
  write_store(*this, slot(l.b, size_of(l.type)), v, l.type);
  use(l.a);
}

inline void loop_writer::write_apply(int i) {
  const instruction& l = lines_[i];
  int in[3] = {l.a, l.b, l.c};
  if (l.function == &convert_element_type_p) {
    const Ymm from = in_register(l.a), v = take(i);
    write_conversion(*this, v, from, compute_dtype(l.type), compute_dtype(l.operand));
    if (l.type != compute_dtype(l.type) && l.type != l.operand)
      write_narrowing(*this, v, l.type, is_integer(l.type) && is_floating(l.operand));
    use(l.a);
    return finish_line(i, v);
  }
  const element_code* code = element_code_of(l.function, compute_dtype(l.operand));
  const auto is_constant = [&](int k) { return lines_[k].kind == instruction_kind::constant; };
  if (l.b >= 0 && (is_constant(l.a) || is_constant(l.b))) {
    const bool first = is_constant(l.a);
    if (const element_code* c = with_constant(*code, constants_[static_cast<std::size_t>(first ? l.a : l.b)])) {
      code = c;
      if (first) std::swap(in[0], in[1]);
    }
  }
  Address addresses[3] = {ptr[rax], ptr[rax], ptr[rax]};
  Operand given[3];
  for (unsigned k = 0; k < 3; ++k)
    if (in[k] >= 0) given[k] = operand(in[k], (code->in_registers >> k & 1u) != 0, addresses[k]);
  const auto given_or_address = [&](int k) -> const Operand& {
    return given[k].isNone() ? static_cast<const Operand&>(addresses[k]) : given[k];
  };
  const auto release_operands = [&] {
    for (int k : in)
      if (k >= 0) use(k);
  };
  if (code->is_one) release_operands();
  const Ymm to = take(i);
  code->write(*this, to, {given_or_address(0), given_or_address(1), given_or_address(2)});
  if (!code->is_one) release_operands();
  if (l.type != compute_dtype(l.type)) write_narrowing(*this, to, l.type, false);
  finish_line(i, to);
}

/// Keeps the value of a line in its tile, if it has one.
inline void loop_writer::finish_line(int i, const Ymm& v) {
  at(i).reg = v.getIdx();
  if (is_put(i)) vmovups(tile(stages_.values[static_cast<std::size_t>(i)].tile), v);
  if (at(i).uses == 0) release(i);
}

inline void loop_writer::write_call(const tile_call& c) {
  const auto address_of = [&](int line, const Xbyak::Reg64& to) {
    int k = -1 - line;
    if (line >= 0 && !is_put(line)) k = lines_[line].a;  // a load from memory
    if (k < 0) return lea(to, ptr[rbp + tile_offset(stages_.values[static_cast<std::size_t>(line)].tile)]);
    mov(to, ptr[rbx + 8 * k]);
    dtype t = f32;
    for (int i = 0; i < loop_.kernel->count; ++i)
      if ((lines_[i].kind == instruction_kind::load && lines_[i].a == k) ||
          (lines_[i].kind == instruction_kind::store && lines_[i].b == k))
        t = lines_[i].type;
    lea(to, ptr[to + r13 * size_of(t)]);
  };
  for (int k = 0; k < 3; ++k) {
    address_of(c.in[k < c.count ? k : 0], rax);
    mov(ptr[rsp + 8 * k], rax);
  }
  address_of(c.out, rdi);
  mov(rsi, rsp);
  mov(rdx, r14);
  sub(rdx, r13);
  mov(rax, reinterpret_cast<std::uint64_t>(c.function));
  call(rax);
}

/// A register for a line, or for an intermediate value.
inline Ymm loop_writer::take(int owner) {
  for (;; free_one())
    for (int k = 0; k < registers; ++k)
      if (owner_[k] == none) {
        owner_[k] = owner;
        pinned_[k] = true;
        if (owner >= 0) at(owner).reg = k;
        return Ymm(k);
      }
}

/// Takes the register of the value that is needed last.
inline void loop_writer::free_one() {
  int found = none, last = -1;
  for (int k = 0; k < registers; ++k) {
    if (pinned_[k] || owner_[k] < 0) continue;
    const int next = next_use(owner_[k]);
    if (next > last) found = k, last = next;
  }
  if (found == none) throw Xbyak::Error(Xbyak::ERR_INTERNAL);
  value& v = at(owner_[found]);
  const int line = owner_[found];
  v.reg = none;
  const bool is_made = lines_[line].kind != instruction_kind::apply && !stores_;  // it can be made again
  if (!has_address(line) && !is_made && !stages_.values[static_cast<std::size_t>(line)].is_called) {
    v.spill = spill_count_++;
    if (v.spill >= most_spills) throw Xbyak::Error(Xbyak::ERR_INTERNAL);
    vmovups(ptr[rbp + 32 * (splat_count_ + v.spill)], Ymm(found));
  }
  owner_[found] = none;
}
inline int loop_writer::next_use(int line) const {
  for (std::size_t k = now_ + 1; k < order_.size(); ++k) {
    bool reads = order_[k] == line;
    detail::each_operand(lines_[order_[k]], [&](int i) { reads = reads || i == line; });
    if (reads) return static_cast<int>(k);
  }
  return std::numeric_limits<int>::max();
}
inline void loop_writer::release(int line) {
  if (at(line).reg == none) return;
  owner_[at(line).reg] = none;
  pinned_[at(line).reg] = false;
  at(line).reg = none;
}
inline void loop_writer::use(int line) {
  if (--at(line).uses == 0) release(line);
}

inline Ymm loop_writer::in_register(int line) {
  if (at(line).reg == none) {
    const Ymm to = take(line);
    has_address(line) ? vmovups(to, address(line)) : make(line, to);
  }
  pinned_[at(line).reg] = true;
  return Ymm(at(line).reg);
}
/// The register of a line, or none: then `address` is where it is. A value that is read again goes to a register.
inline Operand loop_writer::operand(int line, bool needs_register, Address& where) {
  const instruction& l = lines_[line];
  const bool repeated = l.kind == instruction_kind::constant || splats_[static_cast<std::size_t>(line)] >= 0;
  const bool is_far = l.kind == instruction_kind::load && std::find(bases_.begin(), bases_.end(), l.a) == bases_.end();
  if (!needs_register && at(line).reg == none && has_address(line) && (repeated || (at(line).uses == 1 && !is_far))) {
    where = address(line);
    return Operand();
  }
  return in_register(line);
}
/// Makes a load or a count.
inline void loop_writer::make(int line, const Ymm& to) {
  const instruction& l = lines_[line];
  if (l.kind == instruction_kind::load) return write_load(*this, to, slot(l.a, size_of(l.type)), l.type);
  mov(rax, ptr[rbx + 8 * l.a]);
  if (l.inner == instruction::step::unit) lea(rax, ptr[rax + r15 + vector_]);
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
inline bool loop_writer::has_address(int line) const {
  const instruction& l = lines_[line];
  const loop_stages::value& v = stages_.values[static_cast<std::size_t>(line)];
  if (at(line).spill != none || l.kind == instruction_kind::constant || splats_[static_cast<std::size_t>(line)] >= 0)
    return true;
  if (l.kind == instruction_kind::apply || v.is_called) return v.tile >= 0;
  return l.kind == instruction_kind::load && detail::lies_as_computed(l.type) && !stores_;
}
inline Address loop_writer::address(int line) {
  const instruction& l = lines_[line];
  if (at(line).spill != none) return ptr[rbp + 32 * (splat_count_ + at(line).spill)];
  if (l.kind == instruction_kind::constant) return literal(constants_[static_cast<std::size_t>(line)]);
  if (splats_[static_cast<std::size_t>(line)] >= 0) return ptr[rbp + splat_offset(line)];
  if (l.kind == instruction_kind::apply || stages_.values[static_cast<std::size_t>(line)].is_called)
    return tile(stages_.values[static_cast<std::size_t>(line)].tile);
  return slot(l.a, size_of(l.type));
}
inline Address loop_writer::slot(int k, int bytes) {
  const Xbyak::Reg64 base = base_of(k);
  return ptr[base + r15 * bytes + vector_ * bytes];
}
inline Xbyak::Reg64 loop_writer::base_of(int k) {
  for (std::size_t i = 0; i < bases_.size(); ++i)
    if (bases_[i] == k) return detail::base_registers[i];
  mov(rax, ptr[rbx + 8 * k]);
  return rax;
}

}  // namespace tokamax::xbyak
