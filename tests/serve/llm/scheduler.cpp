// tests/serve/llm/scheduler.cpp: what each step takes in, after the cases of vLLM's tests/v1/core, and a storm that loses no block.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/llm/scheduler.hpp>

#include <map>
#include <random>
#include <sstream>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax::serve;

namespace {

/// Runs a script of words: "a=20" adds a text of 20 tokens; "a=20@b12" one whose first 12 are those of b; "a=20!3" with priority 3, "a=20/4"
/// with at most 4 tokens a step, "a=20?" one that finds nothing. "." is a step, after which texts that are computed say a token; "x" one
/// that fails; "-a" ends a. The result has the parts of each step: "a16 b4".
std::string run(const scheduler_options& o, const std::string& script, scheduler* keep = nullptr) {
  scheduler own(o);
  scheduler& s = keep ? *keep : own;
  std::map<std::string, sequence*> texts;
  std::map<const sequence*, std::string> names;
  std::map<std::string, std::vector<std::int32_t>> prompts;
  std::string result;
  int steps = 0;
  std::istringstream words(script);
  for (std::string word; words >> word;) {
    if (word[0] == '.' || word[0] == 'x') {
      const std::vector<step_part> parts = s.schedule();
      std::vector<sequence*> last;
      if (steps++ > 0) result += " | ";
      for (std::size_t i = 0; i < parts.size(); ++i) {
        result += (i == 0 ? "" : " ") + names.at(parts[i].of) + std::to_string(parts[i].count);
        if (parts[i].is_last()) last.push_back(parts[i].of);
      }
      if (word[0] == 'x') {
        s.restart();
        continue;
      }
      scheduler::advance(parts);
      for (sequence* const t : last) scheduler::say(*t, 7);
    } else if (word[0] == '-') {
      s.finish(*texts.at(word.substr(1)));
    } else {
      const std::string name = word.substr(0, 1);
      sequence t;
      const auto count = std::stoul(word.substr(2));
      for (std::size_t i = 0; i < count; ++i)
        t.tokens.push_back(static_cast<std::int32_t>(1000 * (name[0] - 'a' + 1) + static_cast<int>(i)));
      if (const auto at = word.find('@'); at != std::string::npos)
        std::copy_n(prompts.at(word.substr(at + 1, 1)).begin(), std::stoul(word.substr(at + 2)), t.tokens.begin());
      if (const auto at = word.find('!'); at != std::string::npos) t.priority = std::stoi(word.substr(at + 1));
      if (const auto at = word.find('/'); at != std::string::npos) t.most_at_once = std::stoi(word.substr(at + 1));
      t.finds = word.find('?') == std::string::npos;
      if (const auto at = word.find('#'); at != std::string::npos) t.salt = word.substr(at + 1);
      prompts[name] = t.tokens;
      sequence& held = s.add(std::move(t));
      texts[name] = &held, names[&held] = name;
    }
  }
  return result;
}

struct row {
  const char* name;
  scheduler_options o;
  const char* script;
  const char* expected;
};
constexpr auto by_priority = schedule_policy::priority;
const std::vector<row> rows{
    // budget and chunks
    {"one prompt, then token by token", {100, 16, 2048, 16}, "a=20 . . .", "a20 | a1 | a1"},
    {"nothing to do", {100, 16, 2048, 16}, ". .", " | "},
    {"a prompt of one token", {100, 16, 2048, 16}, "a=1 . .", "a1 | a1"},
    {"a prompt of whole blocks", {100, 4, 2048, 16}, "a=8 . .", "a8 | a1"},
    {"prompts share a step", {100, 16, 2048, 16}, "a=20 b=30 .", "a20 b30"},
    {"the budget cuts a prompt", {100, 16, 16, 16}, "a=20 . . .", "a16 | a4 | a1"},
    {"what is left of the budget goes to the next", {100, 16, 16, 16}, "a=20 b=5 . . .", "a16 | a4 b5 | a1 b1"},
    {"a cut prompt goes on before others begin", {100, 16, 16, 16}, "a=40 b=5 . . .", "a16 | a16 | a8 b5"},
    {"tokens of those that run come first", {100, 16, 16, 16}, "a=4 . b=40 . .", "a4 | a1 b15 | a1 b15"},
    {"a budget of one", {100, 16, 1, 16}, "a=3 b=2 . . . .", "a1 | a1 | a1 | a1"},
    {"800 tokens three times with 1024",
     {200, 16, 1024, 16},
     "a=800 b=800 c=800 . . .",
     "a800 b224 | a1 b576 c447 | a1 b1 c353"},
    {"a long prompt has parts of its own",
     {100, 16, 100, 16},
     "a=90/40 b=30 . . . .",
     "a40 b30 | a40 b1 | a10 b1 | a1 b1"},
    {"what a text may take at once is no more than the budget", {100, 16, 10, 16}, "a=25/12 . . .", "a10 | a10 | a5"},
    {"a prompt of exactly the budget", {100, 16, 16, 16}, "a=16 b=1 . .", "a16 | a1 b1"},
    // how many at once
    {"no more texts than the limit", {100, 16, 2048, 2}, "a=2 b=3 c=4 . . -a .", "a2 b3 | a1 b1 | b1 c4"},
    {"one at a time", {100, 16, 2048, 1}, "a=2 b=3 . . -a . -b .", "a2 | a1 | b3 | "},
    {"a text that ends makes room in the same step", {100, 16, 2048, 1}, "a=2 b=3 . -a .", "a2 | b3"},
    // blocks
    {"a prompt waits until all of it has room", {4, 4, 2048, 16}, "a=10 b=8 . . -a .", "a10 | a1 | b8"},
    {"a later small one does not overtake", {4, 4, 2048, 16}, "a=10 b=8 c=1 . . -a .", "a10 | a1 | b8 c1"},
    {"all blocks", {4, 4, 2048, 16}, "a=16 .", "a16"},
    {"a text grows into a new block", {2, 4, 2048, 16}, "a=4 . . . . .", "a4 | a1 | a1 | a1 | a1"},
    {"blocks of one token", {3, 1, 2048, 16}, "a=1 b=1 . .", "a1 b1 | a1"},
    // giving way
    {"the last one gives way", {4, 4, 2048, 16}, "a=8 b=8 . . .", "a8 b8 | a1 | a1"},
    {"it is computed again when there is room", {4, 4, 2048, 16}, "a=8 b=8 . . -a . .", "a8 b8 | a1 | b5 | b1"},
    {"also one whose prompt comes in parts",
     {4, 4, 4, 16, schedule_policy::fcfs, false},
     "a=8 b=8 . . . . . -a . . . .",
     "a4 | a4 | a1 | a1 | a1 | b4 | b4 | b1 | b1"},
    {"the last one gives way to those before it", {2, 4, 2048, 16}, "a=3 b=4 . . .", "a3 b4 | a1 | a1"},
    {"and begins anew, if nothing of it is left",
     {3, 4, 2048, 16},
     "a=8 b=4 . . . . . -a . .",
     "a8 b4 | a1 | a1 | a1 | a1 | b5 | b1"},
    {"two give way", {3, 4, 2048, 16}, "a=4 b=4 c=4 . . -a .", "a4 b4 c4 | a1 | b1"},
    {"the one that gave way comes before new ones",
     {4, 4, 2048, 16},
     "a=8 b=8 . c=2 . -a . .",
     "a8 b8 | a1 | b5 c2 | b1 c1"},
    {"none begins in a step where one gives way", {5, 4, 2048, 16}, "a=8 b=12 . c=1 . .", "a8 b12 | a1 | a1"},
    {"the first one always goes on",
     {3, 4, 2048, 16},
     "a=4 b=4 . . . . . . . . .",
     "a4 b4 | a1 | a1 | a1 | a1 | a1 | a1 | a1 | a1"},
    // priority
    {"smaller priorities come first",
     {100, 16, 16, 16, by_priority},
     "a=10!2 b=10!1 c=10!0 . . .",
     "c10 b6 | c1 b4 a10 | c1 b1 a1"},
    {"of equal ones the first", {100, 16, 16, 1, by_priority}, "a=3!1 b=4!1 c=5!0 . -c . -a .", "c5 | a3 | b4"},
    {"fcfs does not look at priorities", {100, 16, 16, 1}, "a=3!9 b=4!0 . -a .", "a3 | b4"},
    {"a later one overtakes those that wait",
     {100, 16, 2048, 1, by_priority},
     "a=2!5 . b=3!4 c=4!1 -a . -c .",
     "a2 | c4 | b3"},
    {"but not those that run", {100, 16, 2048, 1, by_priority}, "a=2!5 . b=3!0 .", "a2 | a1"},
    {"the greatest priority gives way", {4, 4, 2048, 16, by_priority}, "a=8!5 b=8!1 . .", "b8 a8 | b1"},
    {"of equal ones the last", {4, 4, 2048, 16, by_priority}, "a=8!1 b=8!1 . .", "a8 b8 | a1"},
    {"negative priorities", {100, 16, 2048, 1, by_priority}, "a=2!0 b=3!-4 .", "b3"},
    // found in the cache
    {"a prompt is found again", {100, 4, 2048, 16}, "a=10 . -a b=10@a10 .", "a10 | b2"},
    {"at least the last token is computed", {100, 4, 2048, 16}, "a=8 . -a b=8@a8 .", "a8 | b4"},
    {"only the same beginning", {100, 4, 2048, 16}, "a=12 . b=12@a5 .", "a12 | a1 b8"},
    {"also by texts that begin in the same step", {100, 4, 2048, 16}, "a=12 b=12@a12 c=12@a9 .", "a12 b4 c4"},
    {"and only what the step has computed of them", {100, 4, 6, 16}, "a=12 b=12@a12 . . .", "a6 | a6 | a1 b4"},
    {"answers are found, too", {100, 4, 2048, 16}, "a=6 . . . . -a b=6@a6 .", "a6 | a1 | a1 | a1 | b2"},
    {"without a cache nothing is found",
     {100, 4, 2048, 16, schedule_policy::fcfs, false},
     "a=10 . b=10@a10 .",
     "a10 | a1 b10"},
    {"one that does not look finds nothing", {100, 4, 2048, 16}, "a=10 . b=10@a10? c=10@a10 .", "a10 | a1 b10 c2"},
    {"nor one with another salt", {100, 4, 2048, 16}, "a=10#x . b=10@a10#y c=10@a10#x .", "a10 | a1 b10 c2"},
    {"what is found needs no budget", {100, 4, 4, 16}, "a=8 . . -a b=10@a8 .", "a4 | a4 | b2"},
    {"found blocks that are free count as room", {4, 4, 2048, 16}, "a=12 . -a b=12@a12 c=4 . .", "a12 | b4 c4 | b1"},
    {"one that gave way finds itself", {4, 4, 2048, 16}, "a=8 b=7 . . . -a .", "a8 b7 | a1 | a1 | b4"},
    // ends in each state
    {"one that waits", {100, 16, 2048, 1}, "a=2 b=3 . -b -a .", "a2 | "},
    {"one that never began", {100, 16, 2048, 1}, "a=2 -a .", ""},
    {"one whose prompt is half computed", {4, 4, 6, 16}, "a=10 b=16 . -a . .", "a6 | b6 | b6"},
    {"one that gave way", {4, 4, 2048, 16}, "a=8 b=8 . . -b . -a .", "a8 b8 | a1 | a1 | "},
    {"the first of those that run", {100, 4, 2048, 16}, "a=2 b=3 c=4 . -a . -c .", "a2 b3 c4 | b1 c1 | b1"},
    // a step that fails
    {"all begin anew, and nothing is found", {100, 4, 2048, 16}, "a=8 b=8@a8 x . .", "a8 b4 | a8 b4 | a1 b1"},
    {"with the tokens that were said", {100, 4, 2048, 16}, "a=5 . . x . .", "a5 | a1 | a1 | a7 | a1"},
};

}  // namespace

TEST_CASE("the parts of each step are those of the rule") {
  for (const row& r : rows) {
    CAPTURE(r.name);
    scheduler s(r.o);
    CHECK(run(r.o, r.script, &s) == r.expected);
  }
}

TEST_CASE("texts that never fit are refused with both numbers") {
  scheduler s({.blocks = 4, .block_size = 4});
  CHECK_THROWS_WITH(run({}, "a=17", &s), contains("scheduler: tokens: found 17, expected 1 to 16"));
  CHECK_THROWS_WITH(run({}, "a=0", &s), contains("scheduler: tokens: found 0"));
  CHECK(s.waiting() == 0);
  CHECK(run({}, "a=16 .", &s) == "a16");
}

TEST_CASE("counts of the cache and of texts that gave way") {
  scheduler s({.blocks = 8, .block_size = 4});
  run({}, "a=8 . b=8@a8 . . .", &s);
  CHECK(s.counts().prefix_queries == 16);
  CHECK(s.counts().prefix_hits == 4);
  CHECK(s.counts().preemptions == 0);
  CHECK(s.running() == 2);
  CHECK(s.waiting() == 0);
  scheduler t({.blocks = 4, .block_size = 4});
  run({}, "a=8 b=8 . . .", &t);
  CHECK(t.counts().preemptions == 1);
  CHECK(t.counts().recomputed_tokens == 8);
  CHECK(t.waiting() == 1);
}

TEST_CASE("a storm of texts that come, run, give way and end keeps each block in one place, and leaves all free") {
  for (const std::int64_t blocks : {7, 13, 64})
    for (const auto policy : {schedule_policy::fcfs, schedule_policy::priority}) {
      CAPTURE(blocks, policy);
      const scheduler_options o{blocks, 4, blocks < 10 ? 9 : 30, 8, policy};
      scheduler s(o);
      std::mt19937 random(static_cast<unsigned>(blocks));
      const auto below = [&](std::size_t n) { return random() % n; };
      std::vector<sequence*> all;
      std::map<const sequence*, std::size_t> most;
      std::vector<std::int64_t> holders(static_cast<std::size_t>(blocks));
      std::size_t done = 0, steps = 0;
      for (int operation = 0; operation < 170'000; ++operation) {
        const std::size_t what = below(16);
        if (what < 3 && all.size() < 20) {
          sequence t{.priority = static_cast<int>(below(3)), .most_at_once = static_cast<std::int64_t>(below(8))};
          const std::size_t count = 1 + below(static_cast<std::size_t>(std::min<std::int64_t>(blocks * 4 - 1, 40)));
          for (std::size_t i = 0; i < count; ++i)
            t.tokens.push_back(static_cast<std::int32_t>(i < 12 ? below(100) == 0 : below(3)));
          t.finds = below(8) != 0;
          t.salt = below(4) == 0 ? "salt" : "";
          all.push_back(&s.add(std::move(t)));
          most[all.back()] = std::min<std::size_t>(count + 1 + below(20), static_cast<std::size_t>(blocks) * 4);
        } else if (what == 3 && !all.empty()) {  // ended by the caller, in whatever state
          const std::size_t i = below(all.size());
          most.erase(all[i]);
          s.finish(*all[i]);
          all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
          const std::vector<step_part> parts = s.schedule();
          ++steps;
          std::int64_t tokens = 0;
          bool right = all.empty() == parts.empty() && std::ssize(parts) <= o.max_num_seqs;
          for (const step_part& p : parts) {
            tokens += p.count;
            right = right && p.count > 0 && p.end() <= std::ssize(p.of->tokens) &&
                    p.end() <= std::ssize(p.of->table.blocks) * o.block_size;
          }
          REQUIRE((right && tokens <= o.max_num_batched_tokens));
          if (below(200) == 0) {
            s.restart();
            continue;
          }
          scheduler::advance(parts);
          for (const step_part& p : parts) {
            if (p.of->computed < std::ssize(p.of->tokens)) continue;
            if (p.of->tokens.size() < most[p.of]) {
              scheduler::say(*p.of, static_cast<std::int32_t>(below(2)));
            } else {
              most.erase(p.of), std::erase(all, p.of);
              s.finish(*p.of);
              ++done;
            }
          }
        }
        if (operation % 8 != 0) continue;
        std::fill(holders.begin(), holders.end(), 0);
        std::int64_t held = 0;
        for (const sequence* const t : all) {
          if (!t->runs) REQUIRE(t->table.blocks.empty());
          for (const block_id b : t->table.blocks) held += holders[static_cast<std::size_t>(b)]++ == 0;
        }
        bool right = s.blocks().pool().free_count() == blocks - held;
        for (block_id b = 0; b < blocks; ++b)
          right = right && s.blocks().pool().holders(b) == holders[static_cast<std::size_t>(b)];
        REQUIRE((right && s.running() + s.waiting() == std::ssize(all)));
      }
      for (sequence* const t : all) s.finish(*t);
      CHECK(s.blocks().pool().free_count() == blocks);
      CHECK(std::ssize(s.blocks().pool().free_blocks()) == blocks);
      CHECK(done > 1000);
      CHECK(s.counts().preemptions > 100);
      CHECK(s.counts().prefix_hits > 1000);
    }
}
