// tokamax/serve/grammar/byte_states.hpp: where a text may stand in a grammar, as states that are made when they are first met.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// tested by tests/serve/grammar/grammar.cpp
#pragma once

#include <tokamax/serve/grammar/byte_program.hpp>  // byte_program
#include <tokamax/serve/grammar/token_trie.hpp>    // is_plain

#include <array>          // array
#include <optional>       // optional
#include <unordered_map>  // unordered_map
#include <unordered_set>  // unordered_set

namespace tokamax::serve {

/// The subset construction with stacks: a state is a set of places, and a place is a node with the nodes to which its rules return. Equal
/// states are one, so a text takes one look into a table for a byte that was met before.
class byte_states {
 public:
  static constexpr std::int32_t dead = -1;
  static constexpr std::size_t most_states = std::size_t{1} << 15, most_places = std::size_t{1} << 11,
                               most_steps = std::size_t{1} << 26;
  static constexpr int deepest = 200;  // calls within each other; what is deeper is not in the grammar

  explicit byte_states(byte_program p) : program_(std::move(p)) {
    std::vector<place> first;
    add(first, {program_.start(), no_frame});
    start_ = state_of(std::move(first));
    if (start_ == dead) throw error("grammar", "no text", "one or more");
  }
  std::int32_t start() const { return start_; }
  /// The state behind a byte.
  /// errors  "grammar: states" of the kind `resource` if there are too many
  std::int32_t next(std::int32_t s, std::uint8_t byte) { return row(s)[byte]; }
  /// The states behind each byte.
  const std::array<std::int32_t, 256>& row(std::int32_t s) {
    if (!filled_[index(s)]) fill(s);
    return rows_[index(s)];
  }
  /// Do all texts of so many plain bytes go on, as within a string? Only states that have one way for all plain bytes are seen.
  bool takes_plain(std::int32_t s, int count) {
    for (; count > 0 && s != dead; --count) {
      if (!filled_[index(s)]) fill(s);
      s = behind_plain_[index(s)];
    }
    return s != dead;
  }
  /// May the text end here? May it go on?
  bool accepts(std::int32_t s) const { return accepts_[index(s)]; }
  bool goes_on(std::int32_t s) const { return goes_on_[index(s)]; }
  std::size_t size() const { return places_.size(); }

 private:
  static constexpr std::int32_t no_frame = -1;
  struct place {
    std::int32_t node, frame;
    auto operator<=>(const place&) const = default;
  };
  struct frame {
    std::int32_t node, below;
    int depth;
  };
  struct hash {
    std::size_t operator()(const std::vector<place>& all) const {
      std::uint64_t h = 0x9E3779B97F4A7C15;
      for (const place& p : all) h = (h ^ key(p)) * 0xBF58476D1CE4E5B9, h ^= h >> 29;
      return static_cast<std::size_t>(h);
    }
  };
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  static std::uint64_t key(const place& p) {
    return std::uint64_t{static_cast<std::uint32_t>(p.node)} << 32 | static_cast<std::uint32_t>(p.frame);
  }

  // Adds the places that are reached from p without a byte: those that read one, and the end of the text.
  void add(std::vector<place>& to, place p) {
    std::vector<place> pending{p};
    while (!pending.empty()) {
      p = pending.back();
      pending.pop_back();
      const byte_node& n = program_[p.node];
      if (!seen_.insert(key(p)).second) continue;
      if (++steps_ > most_steps || seen_.size() > 16 * most_places) refuse();
      switch (n.what) {
        case byte_node::kind::range:
          to.push_back(p);
          break;
        case byte_node::kind::fork:
          if (n.next != -1) pending.push_back({n.next, p.frame});
          if (n.other != -1) pending.push_back({n.other, p.frame});
          break;
        case byte_node::kind::call:
          if (const auto f = frame_of(n.next, p.frame)) pending.push_back({n.other, *f});
          break;
        case byte_node::kind::back:
          if (p.frame == no_frame)
            to.push_back(p);
          else
            pending.push_back({frames_[index(p.frame)].node, frames_[index(p.frame)].below});
          break;
      }
    }
    if (to.size() > most_places) refuse();
  }
  // A call at the end of a rule returns where the rule does, so that lists may be rules without an end.
  std::optional<std::int32_t> frame_of(std::int32_t node, std::int32_t below) {
    if (program_[node].what == byte_node::kind::back) return below;
    const int depth = below == no_frame ? 1 : frames_[index(below)].depth + 1;
    if (depth > deepest) return std::nullopt;
    const auto [at, fresh] = frame_ids_.emplace(key({node, below}), static_cast<std::int32_t>(frames_.size()));
    if (fresh) frames_.push_back({node, below, depth});
    return at->second;
  }
  // The number of a set of places, which is new or known.
  std::int32_t state_of(std::vector<place> places) {
    seen_.clear();
    if (places.empty()) return dead;
    std::sort(places.begin(), places.end());
    const auto [at, fresh] = state_ids_.emplace(std::move(places), static_cast<std::int32_t>(places_.size()));
    if (!fresh) return at->second;
    if (places_.size() >= most_states) refuse();
    places_.push_back(&at->first);
    const auto ends = [&](const place& p) { return program_[p.node].what == byte_node::kind::back; };
    accepts_.push_back(std::any_of(at->first.begin(), at->first.end(), ends));
    goes_on_.push_back(!std::all_of(at->first.begin(), at->first.end(), ends));
    filled_.push_back(false);
    rows_.emplace_back();
    behind_plain_.push_back(dead);
    return at->second;
  }
  // Bytes between the ends of ranges lead to the same state.
  void fill(std::int32_t s) {
    const std::vector<place>& places = *places_[index(s)];
    std::array<bool, 257> begins{};
    for (const place& p : places)
      if (const byte_node& n = program_[p.node]; n.what == byte_node::kind::range)
        begins[n.low] = begins[n.high + 1u] = true;
    std::array<std::int32_t, 256> row;
    std::int32_t to = dead;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      if (begins[byte]) {
        std::vector<place> reached;
        for (const place& p : places)
          if (const byte_node& n = program_[p.node];
              n.what == byte_node::kind::range && n.low <= byte && byte <= n.high)
            add(reached, {n.next, p.frame});
        to = state_of(std::move(reached));
      }
      row[byte] = to;
    }
    rows_[index(s)] = row;
    std::int32_t behind = row[' '];
    for (std::size_t byte = 0x20; byte < 0x7F; ++byte)
      if (is_plain(static_cast<std::uint8_t>(byte)) && row[byte] != behind) behind = dead;
    behind_plain_[index(s)] = behind;
    filled_[index(s)] = true;
  }
  // A grammar may be so ambiguous that no table holds its states.
  [[noreturn]] void refuse() {
    seen_.clear();
    throw error(error_kind::resource, "grammar: states", "more", "at most " + std::to_string(most_states));
  }

  byte_program program_;
  std::vector<frame> frames_;
  std::unordered_map<std::uint64_t, std::int32_t> frame_ids_;
  std::unordered_map<std::vector<place>, std::int32_t, hash> state_ids_;
  std::vector<const std::vector<place>*> places_;  // of the states, in the map
  std::vector<std::array<std::int32_t, 256>> rows_;
  std::vector<std::int32_t> behind_plain_;  // the state behind any plain byte, if there is one
  std::vector<bool> accepts_, goes_on_;
  std::vector<std::uint8_t> filled_;
  std::unordered_set<std::uint64_t> seen_;  // while a state is made
  std::size_t steps_ = 0;                   // that all states have taken, so that no grammar keeps others waiting
  std::int32_t start_;
};

}  // namespace tokamax::serve
