// tokamax/backend/cpu/loop/loop_code.hpp: the instructions of a fused loop as operations that run one after the other.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/interpreted.cpp
#pragma once

#include <tokamax/backend/cpu/loop/operation_of_dtype.hpp>  // load_operation
#include <tokamax/backend/cpu/vector/threads.hpp>           // scratch
#include <tokamax/base/compiled_once.hpp>                   // TOKAMAX_COMPILED_ONCE

namespace tokamax::cpu_backend {

/// The operations of a loop, and the places that they name: first the number of elements, then a place for each slot and each
/// constant, then tiles for values that must be in memory. Its tables are scratch memory of the calling thread.
class loop_code {
 public:
  explicit loop_code(const loop_arguments& a);

  const operation* operations() const { return operations_; }
  int places() const { return first_tile_ + tiles_; }
  int place_of_slot(int k) const { return 1 + k; }
  int place_of_constant(int k) const { return 1 + slot_count_ + k; }
  int first_tile() const { return first_tile_; }
  /// Is operand slot `k` read behind the operation that writes result slot `j`? Both may be the same memory.
  bool reads_after_store(int k, int j) const { return uses_[k].last_read > uses_[j].written && uses_[j].written >= 0; }

 private:
  struct value {  // of a line
    short readers = 0, place = -1;
    bool waits = false;  // a load that is made when its value is needed first
  };
  struct slot_use {
    int last_read = -1, written = -1;
  };

  void add(operation::function run, int in, int out = 0, tile_function tile = nullptr);
  void add(operation::function run, tile_function tile, const int* in, int out);
  void add_call(tile_function tile, int line, const short* in, int count);
  void add_load(int line);
  void add_apply(int line);
  void add_conversion(int line);
  void add_narrowing(int line, bool saturates);
  void add_store(int line);
  void add_stores(int count);

  int new_tile();
  void put(int line);
  void to_memory(int line);
  void release_accumulator();
  int accumulated(const short* operands, int count);
  void count_reader(int line);

  const instruction* const lines_;
  const interpreted_op* const* const ops_;
  const int slot_count_, first_tile_;
  operation* operations_;
  value* values_;
  slot_use* uses_;
  short* free_;  // places of tiles that have no value
  int count_ = 0, tiles_ = 0, free_count_ = 0;
  int accumulator_ = -1;  // the line whose value it has, or -1
};

#if defined(TOKAMAX_COMPILED_ONCE)
namespace detail {
struct operations_tag;
struct values_tag;
struct slot_uses_tag;
struct free_tiles_tag;
}  // namespace detail

TOKAMAX_COMPILED_ONCE loop_code::loop_code(const loop_arguments& a)
    : lines_(a.instructions),
      ops_(a.ops),
      slot_count_(a.slot_count),
      first_tile_(1 + a.slot_count + a.kernel->constants),
      operations_(scratch<detail::operations_tag, operation>(8 * a.kernel->count + 1)),
      values_(scratch<detail::values_tag, value>(a.kernel->count)),
      uses_(scratch<detail::slot_uses_tag, slot_use>(a.slot_count)),
      free_(scratch<detail::free_tiles_tag, short>(a.kernel->count)) {
  const int n = a.kernel->count;
  for (int k = 0; k < slot_count_; ++k) uses_[k] = {};
  for (int i = 0; i < n; ++i) {
    values_[i] = {};
    if (lines_[i].kind != instruction_kind::apply && lines_[i].kind != instruction_kind::store) continue;
    ++values_[lines_[i].a].readers;
    if (lines_[i].kind == instruction_kind::store) continue;
    if (lines_[i].b >= 0) ++values_[lines_[i].b].readers;
    if (lines_[i].c >= 0) ++values_[lines_[i].c].readers;
  }
  for (int i = 0; i < n; ++i) {
    const instruction& l = lines_[i];
    switch (l.kind) {
      case instruction_kind::constant:
        values_[i].place = static_cast<short>(place_of_constant(l.a));
        break;
      case instruction_kind::load:
        if (detail::lies_as_computed(l.type))
          values_[i].place = static_cast<short>(place_of_slot(l.a));
        else
          values_[i].waits = true;
        break;
      case instruction_kind::iota:
        values_[i].place = static_cast<short>(place_of_slot(l.a));
        break;
      case instruction_kind::store:  // below
        break;
      case instruction_kind::apply:
        l.function == &convert_element_type_p ? add_conversion(i) : add_apply(i);
        break;
    }
  }
  add_stores(a.kernel->count);
  add({detail::run_end}, 0);
}

/// Stores are last: a load would wait for a store before it that has the same place within a page, as arrays of equal size
/// often have. The value in the accumulator is stored first.
TOKAMAX_COMPILED_ONCE void loop_code::add_stores(int count) {
  const int last = accumulator_;
  for (const bool accumulated : {true, false})
    for (int i = 0; i < count; ++i)
      if (lines_[i].kind == instruction_kind::store && (lines_[i].a == last) == accumulated) add_store(i);
}

TOKAMAX_COMPILED_ONCE void loop_code::add(operation::function run, tile_function tile, const int* in, int out) {
  constexpr auto bytes = static_cast<int>(sizeof(place));
  for (int k = 0; k < 3; ++k)
    if (in[k] >= 1 && in[k] <= slot_count_) uses_[in[k] - 1].last_read = count_;
  if (out >= 1 && out <= slot_count_) uses_[out - 1].written = count_;
  operations_[count_++] = {run, tile, {in[0] * bytes, in[1] * bytes, in[2] * bytes}, out * bytes};
}
TOKAMAX_COMPILED_ONCE void loop_code::add(operation::function run, int in, int out, tile_function tile) {
  const int from[3] = {in, in, in};
  add(run, tile, from, out);
}
/// Calls a tile function for a line; its operands are lines.
TOKAMAX_COMPILED_ONCE void loop_code::add_call(tile_function tile, int line, const short* in, int count) {
  for (int k = 0; k < count; ++k) to_memory(in[k]);
  release_accumulator();
  const int out = new_tile();
  int from[3];
  for (int k = 0; k < 3; ++k) from[k] = values_[in[k < count ? k : 0]].place;
  add({detail::run_tile}, tile, from, out);
  values_[line].place = static_cast<short>(out);
  for (int k = 0; k < count; ++k) count_reader(in[k]);
}

TOKAMAX_COMPILED_ONCE int loop_code::new_tile() {
  return free_count_ > 0 ? free_[--free_count_] : first_tile_ + tiles_++;
}
/// Writes the accumulator to a tile, and keeps it.
TOKAMAX_COMPILED_ONCE void loop_code::put(int line) {
  const int tile = new_tile();
  add(detail::store_operation(f32, true), 0, tile);
  values_[line].place = static_cast<short>(tile);
}
TOKAMAX_COMPILED_ONCE void loop_code::to_memory(int line) {
  if (values_[line].waits) add_load(line);
  if (values_[line].place < 0) put(line);  // a value without a place is in the accumulator
}
/// Lets the accumulator take another value.
TOKAMAX_COMPILED_ONCE void loop_code::release_accumulator() {
  if (accumulator_ >= 0 && values_[accumulator_].readers > 0) to_memory(accumulator_);
  accumulator_ = -1;
}
TOKAMAX_COMPILED_ONCE void loop_code::count_reader(int line) {
  if (--values_[line].readers == 0 && values_[line].place >= first_tile_) free_[free_count_++] = values_[line].place;
}

/// Loads elements that do not lie in memory as they are computed.
TOKAMAX_COMPILED_ONCE void loop_code::add_load(int line) {
  const instruction& l = lines_[line];
  values_[line].waits = false;
  release_accumulator();
  if (const operation::function run = detail::load_operation(l.type)) {
    add(run, place_of_slot(l.a));
    accumulator_ = line;
  } else {
    const int tile = new_tile();
    add({detail::run_tile}, place_of_slot(l.a), tile, detail::load_function(l.type));
    values_[line].place = static_cast<short>(tile);
  }
}

/// Makes the operands of a short operation ready. Returns which of them is in the accumulator, or -1; the others are in
/// memory. The accumulator may take the result then.
TOKAMAX_COMPILED_ONCE int loop_code::accumulated(const short* operands, int count) {
  for (int k = 0; k < count; ++k)
    if (values_[operands[k]].waits) add_load(operands[k]);
  int found = -1;
  for (int k = 0; k < count; ++k)
    if (found < 0 && accumulator_ >= 0 && operands[k] == accumulator_)
      found = k;
    else
      to_memory(operands[k]);
  for (int k = 0; k < count; ++k) --values_[operands[k]].readers;
  release_accumulator();
  for (int k = 0; k < count; ++k) ++values_[operands[k]].readers;
  return found;
}

TOKAMAX_COMPILED_ONCE void loop_code::add_apply(int line) {
  const instruction& l = lines_[line];
  const short operands[3] = {l.a, l.b, l.c};
  const int count = l.c >= 0 ? 3 : l.b >= 0 ? 2 : 1;
  const interpreted_op& op = *ops_[line];
  if (!op.short_forms[0]) {
    add_call(op.tile, line, operands, count);
  } else {
    const int k = accumulated(operands, count);
    int from[3];
    for (int j = 0; j < 3; ++j) from[j] = j < count && j != k ? values_[operands[j]].place : 0;
    add(op.short_forms[k + 1], nullptr, from, 0);
    for (int j = 0; j < count; ++j) count_reader(operands[j]);
    accumulator_ = line;
  }
  if (l.type != compute_dtype(l.type)) add_narrowing(line, false);
}

TOKAMAX_COMPILED_ONCE void loop_code::add_conversion(int line) {
  const instruction& l = lines_[line];
  const dtype to = compute_dtype(l.type), from = compute_dtype(l.operand);
  if (detail::has_64_bits(to) || detail::has_64_bits(from)) {
    add_call(detail::convert_function(to, from), line, &l.a, 1);
  } else {
    const bool accumulates = accumulated(&l.a, 1) == 0;
    if (!detail::converts_for_free(to, from))
      add(detail::convert_operation(to, from, accumulates), accumulates ? 0 : values_[l.a].place);
    else if (!accumulates)
      add({detail::run_short<detail::load_step<f32>>}, values_[l.a].place);
    count_reader(l.a);
    accumulator_ = line;
  }
  if (l.type != to && l.type != l.operand) add_narrowing(line, is_integer(l.type) && is_floating(l.operand));
}

/// Rounds or wraps the value of a line, which was computed last.
TOKAMAX_COMPILED_ONCE void loop_code::add_narrowing(int line, bool saturates) {
  const dtype t = lines_[line].type;
  const operation::function run = detail::narrow_operation(t, saturates);
  if (run && accumulator_ == line) return add(run, 0);
  to_memory(line);
  accumulator_ = -1;
  add({detail::run_tile}, values_[line].place, values_[line].place, detail::narrow_function(t, saturates));
}

TOKAMAX_COMPILED_ONCE void loop_code::add_store(int line) {
  const instruction& l = lines_[line];
  if (values_[l.a].waits) add_load(l.a);
  const bool accumulates = accumulator_ == l.a;
  const operation::function run =
      detail::has_64_bits(l.type) ? operation::function{} : detail::store_operation(l.type, accumulates);
  if (run) {
    add(run, accumulates ? 0 : values_[l.a].place, place_of_slot(l.b));
  } else {
    to_memory(l.a);
    release_accumulator();
    add({detail::run_tile}, values_[l.a].place, place_of_slot(l.b), detail::store_function(l.type));
  }
  count_reader(l.a);
}
#endif

}  // namespace tokamax::cpu_backend
