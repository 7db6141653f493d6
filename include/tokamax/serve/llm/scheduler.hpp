// tokamax/serve/llm/scheduler.hpp: which tokens of which texts a step takes in, and who has the blocks of the cache.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
#pragma once

#include <tokamax/serve/llm/block_manager.hpp>    // block_manager
#include <tokamax/serve/llm/schedule_policy.hpp>  // schedule_policy

#include <algorithm>  // min
#include <iterator>   // prev, ssize
#include <map>        // map
#include <set>        // set

namespace tokamax::serve {

/// A text that a model continues, as the scheduler sees it.
struct sequence {
  std::vector<std::int32_t> tokens = {};  ///< the prompt, and what was said
  int priority = 0;
  std::string salt = {};
  std::int64_t most_at_once = 0;  ///< the most tokens that a step takes in; 0: any number
  bool finds = true;              ///< may its first tokens be found in the cache? If not, all are computed

  std::int64_t number = 0;    ///< in the order of arrival
  std::int64_t computed = 0;  ///< so many tokens are in the cache
  std::int64_t cached = 0;    ///< of these, those that were found when it began
  std::int64_t preemptions = 0;
  bool began = false, runs = false;
  block_table table = {};
};

/// What a step takes in of a text: its next `count` tokens.
struct step_part {
  sequence* of;
  std::int64_t count;
  std::int64_t end() const { return of->computed + count; }
  /// Does a new token follow?
  bool is_last() const { return end() == static_cast<std::int64_t>(of->tokens.size()); }
};

struct scheduler_options {
  std::int64_t blocks = 0, block_size = 16;
  std::int64_t max_num_batched_tokens = 2048;  ///< the most tokens of a step
  std::int64_t max_num_seqs = 64;              ///< the most texts of a step
  schedule_policy policy = schedule_policy::fcfs;
  bool enable_prefix_caching = true;
};

struct scheduler_counts {
  std::int64_t prefix_queries = 0, prefix_hits = 0, preemptions = 0, recomputed_tokens = 0;
};

/// Texts that run have blocks, and each step takes in more of their tokens, in the order of the policy; then come texts that wait, as long
/// as there is room. Where a text that runs finds no free block, the last one of all gives its blocks back and waits, to be computed
/// again. The first one always goes on, so all come to their ends, if each fits alone.
///
/// source  vllm.v1.core.sched.scheduler
class scheduler {
 public:
  explicit scheduler(const scheduler_options& o)
      : options_(o),
        blocks_(o.blocks, o.block_size, o.enable_prefix_caching),
        waiting_(before{o.policy}),
        running_(before{o.policy}) {}

  const block_manager& blocks() const { return blocks_; }
  const scheduler_counts& counts() const { return counts_; }
  std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  std::int64_t running() const { return static_cast<std::int64_t>(running_.size()); }
  /// The most tokens of a text.
  std::int64_t most_tokens() const { return options_.blocks * options_.block_size; }

  /// Takes a text in. Its address stays.
  /// errors  "scheduler: tokens" for none, or more than all blocks hold
  sequence& add(sequence s) {
    const auto count = static_cast<std::int64_t>(s.tokens.size());
    if (count < 1 || count > most_tokens())
      throw error("scheduler: tokens", std::to_string(count), "1 to " + std::to_string(most_tokens()));
    s.number = next_number_++;
    sequence& held = all_.emplace(s.number, std::move(s)).first->second;
    waiting_.insert(&held);
    return held;
  }

  /// The parts of the next step, for which there are blocks. `advance` follows, or `restart` if they could not be computed.
  std::vector<step_part> schedule() {
    std::vector<step_part> parts;
    std::int64_t budget = options_.max_num_batched_tokens;
    bool full = false;
    for (auto at = running_.begin(); at != running_.end() && budget > 0;) {
      sequence* const s = *at;
      const std::int64_t count = count_of(*s, budget);
      while (s->runs && !blocks_.grow(s->table, {}, s->computed + count)) {
        preempt(*std::prev(running_.end()));  // it comes after those that have a part, or it is this one
        full = true;
      }
      if (!s->runs) break;
      take(parts, *s, count, budget), ++at;
    }
    while (!full && !waiting_.empty() && budget > 0 && running() < options_.max_num_seqs) {
      sequence& s = **waiting_.begin();
      // At least the last token is computed: its logits are wanted.
      const std::span<const std::int32_t> text(s.tokens.data(), s.tokens.size() - 1);
      const std::vector<cached_block> found = s.finds ? blocks_.find(text, s.salt) : std::vector<cached_block>();
      // A text begins when all of it has room, so that two long ones do not take turns in giving way.
      if (!blocks_.grow(s.table, found, std::ssize(s.tokens))) break;
      s.computed = std::ssize(found) * options_.block_size;
      const std::int64_t count = count_of(s, budget);
      if (!s.began)
        s.cached = s.computed, counts_.prefix_hits += s.cached, counts_.prefix_queries += std::ssize(s.tokens);
      s.began = s.runs = true;
      waiting_.erase(waiting_.begin());
      running_.insert(&s);
      take(parts, s, count, budget);
    }
    return parts;
  }
  /// States that the parts of a step were computed.
  static void advance(std::span<const step_part> parts) {
    for (const step_part& p : parts) p.of->computed += p.count;
  }
  /// Puts a new token behind a text that is computed to its end.
  static void say(sequence& s, std::int32_t token) { s.tokens.push_back(token); }
  /// Ends a text in any state. Its blocks are free, and the reference is no longer valid.
  void finish(sequence& s) {
    blocks_.release(s.table);
    (s.runs ? running_ : waiting_).erase(&s);
    all_.erase(s.number);
  }
  /// Lets all texts begin anew, and forgets the cache: nothing in it is trusted.
  void restart() {
    while (!running_.empty()) preempt(*running_.begin());
    blocks_.forget_contents();
  }

 private:
  struct before {
    schedule_policy policy;
    bool operator()(const sequence* a, const sequence* b) const {
      if (policy == schedule_policy::priority && a->priority != b->priority) return a->priority < b->priority;
      return a->number < b->number;
    }
  };
  using queue = std::set<sequence*, before>;

  static std::int64_t count_of(const sequence& s, std::int64_t budget) {
    const std::int64_t left = std::min(std::ssize(s.tokens) - s.computed, budget);
    return s.most_at_once > 0 ? std::min(left, s.most_at_once) : left;
  }
  // Blocks of the part are named at once: another text of the same step may find them, since a step writes all before it reads.
  void take(std::vector<step_part>& parts, sequence& s, std::int64_t count, std::int64_t& budget) {
    parts.push_back({&s, count});
    budget -= count;
    blocks_.name(s.table, {s.tokens.data(), static_cast<std::size_t>(s.computed + count)}, s.salt);
  }
  void preempt(sequence* s) {
    blocks_.release(s->table);
    counts_.recomputed_tokens += s->computed;
    ++counts_.preemptions, ++s->preemptions;
    s->computed = 0, s->runs = false;
    running_.erase(s);
    waiting_.insert(s);
  }

  scheduler_options options_;
  block_manager blocks_;
  std::map<std::int64_t, sequence> all_;  // by number
  queue waiting_, running_;
  scheduler_counts counts_;
  std::int64_t next_number_ = 0;
};

}  // namespace tokamax::serve
