// tokamax/backend/xbyak/loop_writer.hpp: writes the machine code of a fused loop, with values in registers from line to line.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/xbyak/loop.cpp
// umbrella: no (the library of kernels includes it, where Xbyak is found)
// needs <xbyak/xbyak.h>
#pragma once

#include <tokamax/backend/xbyak/value_code.hpp>  // value_code

namespace tokamax::xbyak {

/// The machine code of a row: `bases` has the first element of each slot, and n is a multiple of 8. `memory` is for tiles.
using row_function = void (*)(std::byte* const* bases, std::byte* memory, std::int64_t n);

/// Writes a row_function. A block of the row goes through all stages before the next one, so that tiles stay in the first-level
/// cache. Without calls there is one stage, and the row is one block. `known` are the `uses` of a writer before; it may be empty.
class loop_writer final : public value_code {
 public:
  loop_writer(const loop_arguments& a, const loop_stages& stages, void* code, std::size_t bytes,
              const std::vector<register_use>& known);

 private:
  void write_prologue();
  void write_stage(const loop_stages::stage& s);
  void write_vector(const loop_stages::stage& s);
  void write_line(int i);
  void write_converted(int i);
  void write_apply(int i);
  void finish_line(int i, const Ymm& v);
  void write_call(const tile_call& c);
};

inline loop_writer::loop_writer(const loop_arguments& a, const loop_stages& stages, void* code, std::size_t bytes,
                                const std::vector<register_use>& known)
    : value_code(a, stages, code, bytes) {
  write_prologue();
  const bool blocks = stages.stages.size() > 1 || !stages.stages[0].calls.empty();
  Xbyak::Label next_block;
  xor_(r13, r13);
  L(next_block);
  if (blocks) {
    lea(r14, ptr[r13 + block]);
    cmp(r14, r12);
    cmova(r14, r12);
  } else {
    mov(r14, r12);
  }
  for (const loop_stages::stage& s : stages.stages) {
    begin_stage();
    if (uses().size() <= known.size()) hold(known[uses().size() - 1]);
    write_stage(s);
    end_stage();
    for (const tile_call& c : s.calls) write_call(c);
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
    if (!is_splat(i)) continue;
    const dtype t = lines_[i].type;
    begin_vector({});
    mov(rax, pointer_of(lines_[i].a));
    const Ymm v = take(lent);
    const Xmm low(v.getIdx());
    if (size_of(t) == 4)
      vbroadcastss(v, ptr[rax]);
    else if (size_of(t) == 2)
      vpbroadcastw(low, ptr[rax]);
    else
      vpbroadcastb(low, ptr[rax]);
    if (size_of(t) != 4) write_load(*this, v, low, t);
    vmovups(memory(rbp, splat_offset(i)), v);
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
  for (std::size_t k = 0; k < bases_.size(); ++k) mov(detail::base_registers[k], pointer_of(bases_[k]));
  imul(r10, r13, -4);  // so that tiles have the index of the row
  add(r10, rbp);
  mov(r15, r13);
  Xbyak::Label next;
  align(32);
  L(next);
  write_vector(s);
  add(r15, 8);
  cmp(r15, r14);
  jb(next, T_NEAR);
}

/// The lines of a stage for one vector.
inline void loop_writer::write_vector(const loop_stages::stage& s) {
  begin_vector(s);
  for (now_ = 0; now_ < order_.size(); ++now_) {
    write_line(order_[now_]);
    end_line();
  }
}

inline void loop_writer::write_line(int i) {
  const instruction& l = lines_[i];
  if (l.kind == instruction_kind::apply) return write_apply(i);
  if (l.kind != instruction_kind::store) {  // a load or constant that a call reads
    vmovups(tile_of(i), in_register(i));
    return use(i);
  }
  if (!stores_) {  // a result may lie where an operand of another one does
    stores_ = true;
    for (std::size_t k = now_; k < order_.size(); ++k)
      if (const int v = lines_[order_[k]].a; lines_[v].kind == instruction_kind::load) {
        in_register(v);
        unpin();
      }
  }
  const Ymm v = in_register(l.a);
  write_store(*this, slot(l.b, size_of(l.type)), v, l.type);
  use(l.a);
}

inline void loop_writer::write_converted(int i) {
  const instruction& l = lines_[i];
  const Ymm from = in_register(l.a), to = take(i);
  write_conversion(*this, to, from, compute_dtype(l.type), compute_dtype(l.operand));
  if (l.type != compute_dtype(l.type) && l.type != l.operand)
    write_narrowing(*this, to, l.type, is_integer(l.type) && is_floating(l.operand));
  use(l.a);
  finish_line(i, to);
}

inline void loop_writer::write_apply(int i) {
  const instruction& l = lines_[i];
  if (l.function == &convert_element_type_p) return write_converted(i);
  int in[3] = {l.a, l.b, l.c};
  const element_code* code = element_code_of(l.function, compute_dtype(l.operand));
  const auto is_constant = [&](int k) { return lines_[k].kind == instruction_kind::constant; };
  if (l.b >= 0 && (is_constant(l.a) || is_constant(l.b))) {
    const bool first = is_constant(l.a);
    if (const element_code* c = with_constant(*code, constant(first ? l.a : l.b))) {
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
  if (tile_number(i) >= 0) vmovups(tile_of(i), v);
  if (at(i).uses == 0) release(i);
}

inline void loop_writer::write_call(const tile_call& c) {
  const auto address_of = [&](int line, const Xbyak::Reg64& to) {
    int k = -1 - line;
    if (line >= 0 && tile_number(line) < 0) k = lines_[line].a;  // a load from memory
    if (k < 0) return lea(to, memory(rbp, tile_offset(tile_number(line))));
    mov(to, pointer_of(k));
    dtype t = f32;
    for (int i = 0; i < loop_.kernel->count; ++i)
      if ((lines_[i].kind == instruction_kind::load && lines_[i].a == k) ||
          (lines_[i].kind == instruction_kind::store && lines_[i].b == k))
        t = lines_[i].type;
    lea(to, ptr[to + r13 * size_of(t)]);
  };
  for (int k = 0; k < 3; ++k) {
    address_of(c.in[k < c.count ? k : 0], rax);
    mov(memory(rsp, 8 * k), rax);
  }
  address_of(c.out, rdi);
  mov(rsi, rsp);
  mov(rdx, r14);
  sub(rdx, r13);
  mov(rax, reinterpret_cast<std::uint64_t>(c.function));
  call(rax);
}

}  // namespace tokamax::xbyak
