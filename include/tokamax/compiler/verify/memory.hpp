// tokamax/compiler/verify/memory.hpp: follows the steps of a region and checks what lies where in memory.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/verify.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <tokamax/compiler/verify/fault.hpp>  // throw_fault

  #include <algorithm>   // find_if, max, sort, unique
  #include <functional>  // greater
  #include <limits>      // numeric_limits
  #include <map>         // multimap
  #include <string>      // string
  #include <utility>     // pair
  #include <vector>      // vector

namespace tokamax::detail {

/// The elements of an operand, for some values of dynamic extents: those at offset + i * strides[0] + ...
struct element_box {
  shape extents, strides;
  std::int64_t offset = 0, count = 1;
  std::int64_t first = 0, last = 0;  ///< the lowest and the highest place, if there are elements
};
inline element_box box_of(const plan_view& p, const plan_step& st, const plan_operand& o, const std::int64_t* symbols) {
  element_box x;
  const bool loop = st.kind == step_kind::loop;
  x.first = x.last = x.offset = resolve(o.offset, symbols);
  for (int a = 0; a < o.rank; ++a) {
    x.extents.push_back(resolve(p.numbers[loop ? st.numbers + a : o.numbers + a], symbols));
    x.strides.push_back(resolve(p.numbers[o.numbers + (loop ? 0 : o.rank) + a], symbols));
    x.count = mul_extent(x.count, x.extents[a]);
    const std::int64_t way = (x.extents[a] - 1) * x.strides[a];
    (way < 0 ? x.first : x.last) += way;
  }
  return x;
}
/// Do two boxes in one buffer surely have no element in common? With the strides of both, a place is a number with a digit for
/// each stride; then they are apart if their digits are, for one of the strides.
inline bool are_apart(const element_box& a, const element_box& b) {
  if (a.count == 0 || b.count == 0 || a.last < b.first || b.last < a.first) return true;
  std::vector<std::int64_t> strides;
  for (const element_box* x : {&a, &b})
    for (int i = 0; i < x->extents.rank(); ++i)
      if (x->extents[i] > 1) strides.push_back(x->strides[i]);
  std::sort(strides.begin(), strides.end(), std::greater<>());
  strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
  std::int64_t around = std::numeric_limits<std::int64_t>::max(), rest_a = a.offset, rest_b = b.offset;
  bool apart = false;
  for (const std::int64_t stride : strides) {
    if (stride <= 0) return false;
    const auto extent = [&](const element_box& x) {  // of this digit; 0 if the box has two axes for it
      std::int64_t e = 1;
      for (int i = 0; i < x.extents.rank(); ++i)
        if (x.extents[i] > 1 && x.strides[i] == stride) e = e == 1 ? x.extents[i] : 0;
      return e;
    };
    const std::int64_t from_a = rest_a / stride, from_b = rest_b / stride, to_a = from_a + extent(a),
                       to_b = from_b + extent(b), most = around / stride;
    if (to_a == from_a || to_b == from_b || to_a > most || to_b > most) return false;
    apart = apart || to_a <= from_b || to_b <= from_a;
    rest_a %= stride, rest_b %= stride, around = stride;
  }
  return apart;
}

/// Runs the steps of a region, without their values: each operand must have been written in full and still be there, and each
/// result must be written where nothing lies that is read later. Steps that run together count as one.
///
/// If `donated`, the outputs that may take the memory of an input do so, and the carries of a body that works in place.
class region_memory {
 public:
  region_memory(const plan_view& p, int region, const std::int64_t* symbols, const kernel_takes* takes,
                const graph* lowered)
      : p_(p), r_(p.regions[region]), symbols_(symbols), takes_(takes), lowered_(lowered) {}

  void run(bool donated) {
    donated_ = donated;
    find_lives();
    for (int s = r_.first_step, end = s; s < r_.first_step + r_.step_count; s = end) {
      begin_ = s;
      end_ = end = r_.first_step + end_of_joined(p_.steps + r_.first_step, s - r_.first_step);
      for (int t = s; t < end; ++t) read(t);
      for (int t = s; t < end; ++t) write(t);
      for (int t = s; t < end; ++t) forget(t);
    }
    for (int k = 0; k < r_.output_count; ++k) {
      const int b = static_cast<int>(p_.numbers[r_.outputs + k]);
      if (const life& l = life_of(b); l.writers == 0 || l.left > 0)
        throw_fault("output " + std::to_string(k), {"a program", {}}, "no step that writes it", "one");
    }
  }

 private:
  static constexpr int always = std::numeric_limits<int>::max();
  struct life {
    int writers = 0, left = 0;       ///< results that lie in the buffer, and how many of them are not written yet
    int first = -1, last = -1;       ///< the first step that writes it, and the last one that uses it
    int writer = -1, reader = -1;    ///< the step that has written it, and the last one that reads it
    std::int64_t bytes = 0;          ///< of its results
    std::vector<element_box> boxes;  ///< of several results that are written
  };
  struct place {
    int space = -1;  ///< the arena, an input or an output
    std::int64_t begin = 0, end = 0;
  };
  life& life_of(int b) { return lives_[static_cast<std::size_t>(b - r_.first_buffer)]; }
  /// Operand k of step s; results follow the operands.
  const plan_operand& operand(int s, int k) const { return p_.operands[p_.steps[s].operands + k]; }
  [[noreturn]] void fail(int s, const std::string& what, const std::string& found, const std::string& expected) const {
    throw_fault(what, name_of_step(p_, s, lowered_), found, expected);
  }
  std::string name(int s) const { return s < 0 || s == always ? "the program" : name_of_step(p_, s, lowered_).name; }

  /// Notes for each buffer who writes it, and until when it is needed. Outputs are needed for ever.
  void find_lives() {
    lives_.assign(static_cast<std::size_t>(r_.buffer_count), {});
    live_.clear();
    longest_ = 0;
    int end = r_.first_step;
    for (int s = r_.first_step, group = s; s < r_.first_step + r_.step_count; ++s) {
      if (s == end) end = r_.first_step + end_of_joined(p_.steps + r_.first_step, (group = s) - r_.first_step);
      const plan_step& st = p_.steps[s];
      for (int k = 0; k < st.in_count + st.out_count; ++k) {
        if (operand(s, k).buffer < 0) continue;
        life& l = life_of(operand(s, k).buffer);
        l.last = group;
        if (k < st.in_count) {
          l.reader = s;
          continue;
        }
        if (l.writers == 0) l.first = group;
        ++l.writers, ++l.left;
        const element_box x = box_of(p_, st, operand(s, k), symbols_);
        l.bytes += is_scratch(st, k) ? buffer_bytes(operand(s, k).buffer) : x.count * size_of(operand(s, k).type);
      }
    }
    for (int k = 0; k < r_.output_count; ++k) {
      life& l = life_of(static_cast<int>(p_.numbers[r_.outputs + k]));
      l.last = l.reader = always;
    }
    for (int b = r_.first_buffer; b < r_.first_buffer + r_.buffer_count; ++b)
      if (p_.buffers[b].kind == buffer_kind::input && life_of(b).last >= 0) keep(b);
  }
  /// Is it the memory that a call lends to its bodies? It has no extents.
  static bool is_scratch(const plan_step& st, int k) {
    return st.kind == step_kind::call && k == st.in_count + st.out_count - 1;
  }
  std::int64_t buffer_bytes(int b) const { return resolve(p_.buffers[b].bytes, symbols_); }
  /// Where a buffer lies. Outputs of a chain lie in the same memory, and in that of the input which they take over.
  place place_of(int b) const {
    const plan_buffer& buffer = p_.buffers[b];
    place x{-1, 0, buffer_bytes(b)};
    if (buffer.kind == buffer_kind::arena) x.space = 0, x.begin = buffer.offset, x.end += buffer.offset;
    if (buffer.kind == buffer_kind::input) x.space = 1 + buffer.index;
    if (buffer.kind != buffer_kind::output) return x;
    const int donor = p_.buffers[p_.numbers[r_.outputs + buffer.index]].donor;
    x.space = 1 + (donated_ && donor >= 0 ? donor : r_.input_count + buffer.index);
    return x;
  }

  /// Notes that buffer b has a value that is used later.
  void keep(int b) {
    const place x = place_of(b);
    live_.emplace(std::pair{x.space, x.begin}, b);
    longest_ = std::max(longest_, x.end - x.begin);
  }

  /// Drops the operands and results of step s that no later step uses.
  void forget(int s) {
    for (int k = 0; k < p_.steps[s].in_count + p_.steps[s].out_count; ++k) {
      const int b = operand(s, k).buffer;
      if (b < 0 || life_of(b).last > begin_) continue;
      const place x = place_of(b);
      const auto [from, to] = live_.equal_range({x.space, x.begin});
      const auto found = std::find_if(from, to, [b](const auto& kept) { return kept.second == b; });
      if (found != to) live_.erase(found);
    }
  }

  /// The operands of a step have been written, by all steps that write a part of them.
  void read(int s) {
    for (int k = 0; k < p_.steps[s].in_count; ++k) {
      const int b = operand(s, k).buffer;
      if (b < 0 || p_.buffers[b].kind == buffer_kind::input || p_.buffers[b].kind == buffer_kind::constant) continue;
      if (const life& l = life_of(b); l.writers == 0 || l.left > 0)
        fail(s, "operand " + std::to_string(k),
             l.left < l.writers ? "memory that is written in part" : "memory that no step has written", "a value");
    }
  }
  /// The results of a step lie in memory that is free, and next to what others have written into the same buffer.
  void write(int s) {
    const plan_step& st = p_.steps[s];
    for (int r = 0; r < st.out_count; ++r) {
      const int k = st.in_count + r, b = operand(s, k).buffer;
      if (b < 0) continue;
      life& l = life_of(b);
      const auto refuse = [&](const std::string& found, const std::string& expected) {
        fail(s, "result " + std::to_string(r), found, expected);
      };
      if (l.bytes != buffer_bytes(b))
        refuse(std::to_string(l.bytes) + " bytes that steps write", std::to_string(buffer_bytes(b)));
      if (st.kind == step_kind::kernel && r < 32 && (st.unread >> r & 1) && l.reader >= 0)
        refuse("an unread one that " + name(l.reader) + " reads", "one that is written");
      if (l.left == l.writers) {
        const place x = place_of(b);
        for (auto c = live_.lower_bound({x.space, x.begin - longest_});
             c != live_.end() && c->first < std::pair{x.space, x.end}; ++c)
          check_free(s, r, c->second);
        keep(b);
      }
      if (l.writers > 1) {
        const element_box x = box_of(p_, st, operand(s, k), symbols_);
        for (const element_box& other : l.boxes)
          if (!are_apart(x, other)) refuse("memory that " + name(l.writer) + " writes too", "one writer");
        l.boxes.push_back(x);
      }
      --l.left;
      l.writer = s;
    }
  }
  /// May step s write result r, with regard to what lies in buffer c?
  void check_free(int s, int r, int c) {
    const int b = operand(s, p_.steps[s].in_count + r).buffer;
    const place x = place_of(b), y = place_of(c);
    if (x.space != y.space || x.begin >= y.end || y.begin >= x.end) return;
    const life& l = life_of(c);
    const std::string what = "result " + std::to_string(r);
    if (l.first == begin_) fail(s, what, "memory that " + name(l.writer) + " writes too", "memory of its own");
    if (l.last > begin_) fail(s, what, "memory that " + name(l.reader) + " reads later", "memory that is free");
    for (int t = begin_; t < end_; ++t)
      for (int k = 0; k < p_.steps[t].in_count; ++k)
        if (operand(t, k).buffer == c && (t != s || !may_overwrite(s, k, r)))
          fail(s, what, "memory that " + name(t) + " reads", "one that the plan lets it overwrite");
  }
  /// Does the plan say that result r is written over operand k, and can the step do so?
  bool may_overwrite(int s, int k, int r) const {
    const plan_step& st = p_.steps[s];
    const plan_operand &in = operand(s, k), &out = operand(s, st.in_count + r);
    if (p_.buffers[out.buffer].reuse != in.buffer - r_.first_buffer || in.offset != out.offset) return false;
    if (size_of(in.type) != size_of(out.type) || in.rank != out.rank || st.produces) return false;
    const int numbers = st.kind == step_kind::loop ? st.rank : 2 * in.rank;
    for (int a = 0; a < numbers; ++a)
      if (p_.numbers[in.numbers + a] != p_.numbers[out.numbers + a]) return false;
    if (st.kind == step_kind::loop) return true;
    const op& o = *p_.ops[st.function];
    if (st.kind == step_kind::kernel)
      return r == 0 && (o.memory.overwrites == k || !takes_ || takes_[st.function].overwrites == k);
    const auto donor = [&](int body) { return p_.buffers[p_.numbers[p_.regions[body].outputs + r]].donor; };
    if (r < st.carries) return k == r && donor(st.region + st.region_count - 1) == r;
    bool all = o.bodies.branches;
    for (int body = st.region; all && body < st.region + st.region_count; ++body) all = donor(body) == k - 1;
    return all;
  }

  const plan_view& p_;
  const plan_region& r_;
  const std::int64_t* symbols_;                            // the values of dynamic extents
  const kernel_takes* takes_;                              // of each op of the plan; may be null
  const graph* lowered_;                                   // of the region, for names; may be null
  bool donated_ = false;                                   // may results take the memory of inputs?
  int begin_ = 0, end_ = 0;                                // of the steps that run together
  std::vector<life> lives_;                                // of each buffer
  std::multimap<std::pair<int, std::int64_t>, int> live_;  // the buffers with values that are used later, by place
  std::int64_t longest_ = 0;                               // bytes of the largest one so far
};

}  // namespace tokamax::detail
#endif
