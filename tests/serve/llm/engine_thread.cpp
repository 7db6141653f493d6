// tests/serve/llm/engine_thread.cpp: many threads ask one engine, and each hears the whole of its own answer.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/llm/engine_thread.hpp>

#include <future>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/serving.hpp"

namespace tk = tokamax;
using namespace tk::serve;

namespace {
engine made(engine_options o = {}) {
  static const tk::models::decoder d = tk::test::tiny_decoder("llama");
  o.block_size = 4, o.cache_blocks = 30, o.max_num_seqs = 4;
  return {d, tk::test::letters(), tk::cpu, std::move(o)};
}
request asked(std::string id, int seed, std::int64_t tokens = 6) {
  return {.id = std::move(id),
          .prompt = {seed % 7, 3, 1, 4},
          .params = {.temperature = 2, .seed = seed, .max_tokens = tokens}};
}
/// Hears one answer to its end.
struct hearing {
  tk::test::heard all;
  std::promise<void> ended;
  engine_thread::listener listener() {
    return [this](const request_output& out) {
      all.tokens.insert(all.tokens.end(), out.token_ids.begin(), out.token_ids.end());
      all.outputs.push_back(out);
      if (out.request_finished) ended.set_value();
    };
  }
};
}  // namespace

TEST_CASE("answers to many threads are those that each has alone") {
  engine alone = made();
  engine_thread e(made());
  std::vector<std::thread> callers;
  std::atomic<int> right = 0;
  std::vector<std::vector<std::int32_t>> expected;
  for (int i = 0; i < 12; ++i) expected.push_back(tk::test::run(alone, {asked("x", i)}).at({"x", 0}).tokens);
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&, t] {
      for (int i = t; i < 12; i += 4) {
        hearing h;
        e.submit(asked(std::to_string(i), i), h.listener());
        h.ended.get_future().wait();
        right += h.all.tokens == expected[static_cast<std::size_t>(i)] && h.all.outputs.size() == 6;
      }
    });
  for (std::thread& t : callers) t.join();
  CHECK(right == 12);
  CHECK(e.drain(10));
  CHECK(e.stats().finished[static_cast<std::size_t>(finish_reason::length)] == 12);
  CHECK(e.stats().used_blocks == 0);
  CHECK(e.step_age() < 5);
  hearing h;
  CHECK_THROWS_WITH(e.submit(asked("late", 1), h.listener()),
                    contains("engine_thread: request: found an engine that ends"));
}

TEST_CASE("requests are refused at once, by the caller's thread") {
  engine_thread e(made());
  hearing h;
  request r = asked("r", 1);
  r.prompt = {99};
  CHECK_THROWS_WITH(e.submit(r, h.listener()), contains("request: prompt: found id 99"));
  e.submit(asked("r", 1, 28), h.listener());
  hearing other;
  CHECK_THROWS_WITH(e.submit(asked("r", 2), other.listener()), contains("request: id: found r"));
  h.ended.get_future().wait();
  e.submit(asked("r", 2), other.listener());  // the name is free again
  other.ended.get_future().wait();
  CHECK(other.all.tokens.size() == 6);
}

TEST_CASE("an abort ends an answer within a step, and a listener that throws ends its own") {
  engine_thread e(made());
  hearing h, kept, thrown;
  std::promise<void> second;
  e.submit(asked("a", 1, 28), [&, hear = h.listener()](const request_output& out) {
    if (out.usage.completion_tokens == 2 && out.finish == finish_reason::none) e.abort("a");  // also by a listener
    hear(out);
  });
  e.submit(asked("b", 2, 28), [hear = thrown.listener(), heard = 0](const request_output& out) mutable {
    hear(out);
    if (++heard == 3) throw 1;
  });
  e.submit(asked("c", 3), kept.listener());
  h.ended.get_future().wait(), kept.ended.get_future().wait(), thrown.ended.get_future().wait();
  CHECK(h.all.outputs.back().finish == finish_reason::abort);
  CHECK(h.all.tokens.size() <= 3);
  CHECK(thrown.all.outputs.back().finish == finish_reason::abort);
  CHECK(kept.all.tokens.size() == 6);
  e.abort("none");
  CHECK(e.drain(10));
}

TEST_CASE("stop aborts what runs, and drain says whether all has ended") {
  hearing h[3];
  {
    engine_thread e(made({.sampler = [](std::span<float>, const sampler_state&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return 1;
    }}));
    for (int i = 0; i < 3; ++i) e.submit(asked(std::to_string(i), i, 28), h[i].listener());
    CHECK_FALSE(e.drain(0.02));
    e.stop();
    e.stop();
    CHECK(e.step_age() == 0);
  }
  for (hearing& one : h) {
    CHECK(one.all.outputs.back().request_finished);
    CHECK(one.all.outputs.back().finish == finish_reason::abort);
  }
}
