// tokamax/backend/xbyak/loop_stages.hpp: a fused loop as stages of short lines, with calls of tile functions between them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/xbyak/loop.cpp
// umbrella: no (the library of kernels includes it, where Xbyak is found)
// needs <xbyak/xbyak.h>
#pragma once

#include <tokamax/backend/xbyak/memory_code.hpp>  // element_code_of, has_conversion, narrows_inline

#include <algorithm>  // max, min
#include <vector>     // vector

namespace tokamax::xbyak {

/// A call on tiles of the values of some lines. Line -1 - k stands for the memory of slot k.
struct tile_call {
  cpu_backend::tile_function function = nullptr;
  int in[3] = {0, 0, 0}, count = 1, out = 0;
};

/// What machine code does with a block of elements, stage by stage: the lines of a stage are one loop over vectors, whose values
/// are in registers, and the calls of the stage follow. Values that later stages or calls need are in tiles.
struct loop_stages {
  struct stage {
    std::vector<int> puts;   ///< loads and constants that a call reads from a tile
    std::vector<int> lines;  ///< short lines, in order; the last stage has the stores behind them
    std::vector<tile_call> calls;
  };
  struct value {
    int stage = 0;  ///< where it is made first
    bool is_called = false;
    int last_use = -1;  ///< the last stage that reads it from a tile
    int tile = -1;
  };
  bool supported = true;
  std::vector<stage> stages;
  std::vector<value> values;
  int tiles = 0;

  explicit loop_stages(const loop_arguments& a);

 private:
  bool takes(const instruction& l) const;
  void place(const loop_arguments& a);
  void read_from_tile(const loop_arguments& a, int line, int at, bool by_call);
  void add_calls(const loop_arguments& a, int line);
  void assign_tiles();
  void call_into_result(const loop_arguments& a);
};

namespace detail {

constexpr bool has_64_bits(dtype t) { return size_of(compute_dtype(t)) == 8; }
/// Do elements lie in memory as in registers?
constexpr bool lies_as_computed(dtype t) { return t != bool_ && t == compute_dtype(t); }

/// Is a line that computes a few instructions?
inline bool is_short(const instruction& l) {
  const dtype to = compute_dtype(l.type), from = compute_dtype(l.operand);
  if (l.function != &convert_element_type_p)
    return element_code_of(l.function, from) && (l.type == to || narrows_inline(l.type));
  return has_conversion(to, from) && (l.type == to || l.type == l.operand || narrows_inline(l.type));
}
template <class F>
void each_operand(const instruction& l, F f) {
  if (l.kind != instruction_kind::apply && l.kind != instruction_kind::store) return;
  f(l.a);
  if (l.kind == instruction_kind::store) return;
  if (l.b >= 0) f(l.b);
  if (l.c >= 0) f(l.c);
}

}  // namespace detail

inline bool loop_stages::takes(const instruction& l) const {
  if (detail::has_64_bits(l.type)) return false;
  if (l.kind == instruction_kind::apply) return !detail::has_64_bits(l.operand);
  if (l.kind == instruction_kind::iota) return l.inner != instruction::step::any && narrows_inline(l.type);
  return l.kind == instruction_kind::constant || l.kind == instruction_kind::store ||
         l.inner == instruction::step::unit || (l.inner == instruction::step::none && loads_inline(l.type));
}

inline loop_stages::loop_stages(const loop_arguments& a) : values(static_cast<std::size_t>(a.kernel->count)) {
  for (int i = 0; i < a.kernel->count; ++i) supported = supported && takes(a.instructions[i]);
  if (!supported) return;
  place(a);
  call_into_result(a);
  assign_tiles();
}

/// Finds the stage of each line, then the lines of each stage.
inline void loop_stages::place(const loop_arguments& a) {
  const int n = a.kernel->count;
  const instruction* const l = a.instructions;
  const auto at = [this](int i) -> value& { return values[static_cast<std::size_t>(i)]; };
  int last = 0;
  for (int i = 0; i < n; ++i) {
    detail::each_operand(l[i], [&](int k) { at(i).stage = std::max(at(i).stage, at(k).stage); });
    at(i).is_called = l[i].kind == instruction_kind::apply
                          ? !detail::is_short(l[i])
                          : l[i].kind == instruction_kind::load && !loads_inline(l[i].type);
    at(i).stage += at(i).is_called;
    last = std::max(last, at(i).stage);
  }
  // A short line moves to the stage where it is needed first, if that takes no more tiles than its value would.
  std::vector<int> needed(static_cast<std::size_t>(n), last);
  for (int i = n - 1; i >= 0; --i) {
    const bool computes = l[i].kind == instruction_kind::apply;
    if (computes && !at(i).is_called) {
      int values_read = 0;
      detail::each_operand(l[i], [&](int k) { values_read += l[k].kind == instruction_kind::apply; });
      if (values_read <= 1) at(i).stage = std::max(at(i).stage, needed[static_cast<std::size_t>(i)]);
    }
    const int reads = l[i].kind == instruction_kind::store ? last : at(i).stage - at(i).is_called;
    detail::each_operand(l[i], [&](int k) {
      needed[static_cast<std::size_t>(k)] = std::min(needed[static_cast<std::size_t>(k)], reads);
    });
  }
  stages.resize(static_cast<std::size_t>(last + 1));
  for (int i = 0; i < n; ++i) {
    if (at(i).is_called) {
      detail::each_operand(l[i], [&](int k) { read_from_tile(a, k, at(i).stage - 1, true); });
      add_calls(a, i);
    } else if (l[i].kind == instruction_kind::apply) {
      detail::each_operand(l[i], [&](int k) { read_from_tile(a, k, at(i).stage, false); });
      stages[static_cast<std::size_t>(at(i).stage)].lines.push_back(i);
    }
  }
  for (int i = 0; i < n; ++i) {
    if (l[i].kind != instruction_kind::store) continue;
    const bool calls = !stores_inline(l[i].type);
    read_from_tile(a, l[i].a, last, calls);
    if (calls)
      stages.back().calls.push_back({cpu_backend::detail::store_function(l[i].type), {l[i].a}, 1, -1 - l[i].b});
    else
      stages.back().lines.push_back(i);
  }
}

/// A stage reads the value of a line, or its calls do. Loads and constants are made anew in each stage. Calls read arrays of
/// elements as they are computed where they lie.
inline void loop_stages::read_from_tile(const loop_arguments& a, int line, int at, bool by_call) {
  value& v = values[static_cast<std::size_t>(line)];
  const instruction& l = a.instructions[line];
  if (v.is_called || l.kind == instruction_kind::apply) {
    if (by_call || at > v.stage || v.is_called) v.last_use = std::max(v.last_use, at);
  } else if (by_call && !(l.kind == instruction_kind::load && l.inner == instruction::step::unit &&
                          detail::lies_as_computed(l.type))) {
    auto& puts = stages[static_cast<std::size_t>(at)].puts;
    if (std::find(puts.begin(), puts.end(), line) == puts.end()) puts.push_back(line);
    v.last_use = std::max(v.last_use, at);
  }
}

inline void loop_stages::add_calls(const loop_arguments& a, int line) {
  namespace detail = cpu_backend::detail;
  const instruction& l = a.instructions[line];
  auto& calls = stages[static_cast<std::size_t>(values[static_cast<std::size_t>(line)].stage - 1)].calls;
  if (l.kind == instruction_kind::load) return calls.push_back({detail::load_function(l.type), {-1 - l.a}, 1, line});
  const dtype to = compute_dtype(l.type), from = compute_dtype(l.operand);
  const bool converts = l.function == &convert_element_type_p;
  if (converts)
    calls.push_back({detail::convert_function(to, from), {l.a}, 1, line});
  else
    calls.push_back({a.ops[line]->tile, {l.a, l.b, l.c}, l.c >= 0 ? 3 : l.b >= 0 ? 2 : 1, line});
  if (l.type != to && !(converts && l.type == l.operand)) {
    const bool saturates = converts && is_integer(l.type) && is_floating(l.operand);
    calls.push_back({detail::narrow_function(l.type, saturates), {line}, 1, line});
  }
}

/// If the last stage only stores what one call has made, the call writes the result itself. No other line may read memory behind
/// the call, because the result may lie over an operand.
inline void loop_stages::call_into_result(const loop_arguments& a) {
  if (stages.size() < 2 || stages.back().lines.size() != 1 || !stages.back().calls.empty()) return;
  auto& calls = stages[stages.size() - 2].calls;
  const instruction& store = a.instructions[stages.back().lines[0]];
  if (calls.size() != 1 || store.kind != instruction_kind::store || calls[0].out != store.a ||
      !detail::lies_as_computed(store.type))
    return;
  values[static_cast<std::size_t>(store.a)].last_use = -1;
  calls[0].out = -1 - store.b;
  stages.pop_back();
}

inline void loop_stages::assign_tiles() {
  std::vector<int> free;
  const auto give = [&](int line) {
    value& v = values[static_cast<std::size_t>(line)];
    if (v.tile >= 0 || v.last_use < 0) return;
    if (free.empty()) free.push_back(tiles++);
    v.tile = free.back();
    free.pop_back();
  };
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (int i : stages[s].puts) give(i);
    for (int i : stages[s].lines) give(i);
    for (const tile_call& c : stages[s].calls)
      if (c.out >= 0)
        values[static_cast<std::size_t>(c.out)].last_use =
            std::max(values[static_cast<std::size_t>(c.out)].last_use, static_cast<int>(s)),
        give(c.out);
    for (value& v : values)
      if (v.tile >= 0 && v.last_use == static_cast<int>(s)) free.push_back(v.tile);
  }
}

}  // namespace tokamax::xbyak
