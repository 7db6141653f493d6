// tokamax/serve/llm/engine.hpp: answers many requests of a language model at once, a step at a time.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
// needs <pcre2.h>
#pragma once

#include <tokamax/models/from_pretrained.hpp>    // pretrained
#include <tokamax/serve/llm/answer.hpp>          // answer
#include <tokamax/serve/llm/engine_options.hpp>  // engine_options
#include <tokamax/serve/llm/engine_stats.hpp>    // engine_stats
#include <tokamax/serve/llm/failure.hpp>         // failure
#include <tokamax/serve/llm/model_runner.hpp>    // model_runner

namespace tokamax::serve {

/// Answers requests with a decoder whose keys and values lie in blocks of a cache. Each step takes in the next tokens of all answers that
/// have room: new tokens, and parts of prompts. It has neither threads nor sockets; `engine_thread` owns one.
///
/// The bits of a token and of its log-probability depend on the tokens before it and on the parameters of its request, and on nothing
/// else: not on other requests, the size of steps, what was found in the cache, or how often the answer gave way.
///
/// source  vllm.LLMEngine
class engine {
 public:
  /// Without a tokenizer there are tokens and no texts.
  /// errors  "engine: " and the name of the option
  engine(models::decoder model, std::optional<text::tokenizer> words, any_device where, engine_options o = {})
      : config_(model.config),
        words_(std::move(words)),
        options_(completed(std::move(o), config_)),
        runner_(std::move(model), where, options_),
        scheduler_({.blocks = options_.cache_blocks,
                    .block_size = options_.block_size,
                    .max_num_batched_tokens = options_.max_num_batched_tokens,
                    .max_num_seqs = std::min(options_.max_num_seqs, options_.max_num_batched_tokens),
                    .policy = options_.policy,
                    .enable_prefix_caching = options_.enable_prefix_caching}) {
    options_.packed.clear();  // the runner has them
  }
  /// The same with the end tokens and packed matrices of a model that was read.
  engine(models::pretrained model, std::optional<text::tokenizer> words, any_device where, engine_options o = {})
      : engine(std::move(model.model), std::move(words), where, joined(std::move(o), model)) {}

  const engine_options& options() const { return options_; }
  const models::decoder_config& config() const { return config_; }
  std::int64_t max_model_len() const { return options_.max_model_len; }

  /// Throws what `add` would throw, but for an id that is taken. Any thread may call it.
  /// errors  "sampling_params: ..."; "request: prompt" for none, for an id that the vocabulary does not have, or for more tokens than
  ///         ever fit, with both numbers; "request: stop" and "request: bad_words" without a tokenizer
  void require_possible(const request& r) const {
    validate(r.params, config_.vocabulary);
    const std::int64_t most = options_.max_model_len - 1;
    if (r.prompt.empty() || std::ssize(r.prompt) > most)
      throw error("request: prompt", std::to_string(r.prompt.size()) + " tokens",
                  "1 to " + std::to_string(most) + ", one less than prompt and answer may have");
    for (const std::int32_t id : r.prompt)
      if (id < 0 || id >= config_.vocabulary)
        throw error("request: prompt", "id " + std::to_string(id), "0 to " + std::to_string(config_.vocabulary - 1));
    if (words_) return;
    if (!r.params.stop.empty()) throw error("request: stop", "no tokenizer", "an engine that has one");
    if (!r.params.bad_words.empty()) throw error("request: bad_words", "no tokenizer", "an engine that has one");
  }
  /// Takes a request in.
  /// errors  those of require_possible, and "request: id" if an unfinished one has it
  void add(request r) {
    require_possible(r);
    if (live_.contains(r.id)) throw error("request: id", r.id, "one that no unfinished request has");
    const auto live = std::make_shared<live_request>();
    live->asked = std::move(r);
    const sampling_params& p = live->asked.params;
    if (!p.ignore_eos) live->ends = options_.end_tokens;
    live->ends.insert(live->ends.end(), p.stop_token_ids.begin(), p.stop_token_ids.end());
    live->bad = tokens_of(p.bad_words);
    live->seed = p.seed ? static_cast<std::uint64_t>(*p.seed) : options_.seed + ++unseeded_ * 0x9E3779B97F4A7C15u;
    live->most_tokens = std::min(p.max_tokens, options_.max_model_len - std::ssize(live->asked.prompt));
    live->arrived = options_.clock();
    live->unfinished = p.n;
    if (!live->asked.sampler) live->asked.sampler = options_.sampler;
    std::vector<std::shared_ptr<token_filter>> filters{std::move(live->asked.token_mask)};
    while (std::ssize(filters) < p.n) filters.push_back(filters[0] ? filters[0]->clone() : nullptr);
    std::vector<std::int64_t>& numbers = live_[live->asked.id];
    for (int i = 0; i < p.n; ++i) {
      const bool all = i == 0 && p.prompt_logprobs;  // of each token of the prompt, logits are wanted
      sequence& text = scheduler_.add({.tokens = live->asked.prompt,
                                       .priority = live->asked.priority,
                                       .salt = live->asked.cache_salt,
                                       .most_at_once = all ? most_logits : 0,
                                       .finds = !all});
      numbers.push_back(text.number);
      answers_.try_emplace(text.number, live, i, text, words_, std::move(filters[static_cast<std::size_t>(i)]));
    }
  }

  /// Computes one step for all, and returns what is new. Where it fails, the requests that have a part in it end with
  /// finish_reason::error, and all others go on.
  std::vector<request_output> step() {
    std::vector<request_output> out = std::exchange(pending_, {});
    std::vector<std::string> ids;  // of the requests that have a part
    try {
      const std::vector<step_part> parts = scheduler_.schedule();
      if (parts.empty()) return out;
      ++stats_.steps;
      for (const step_part& p : parts) ids.push_back(answers_.at(p.of->number).of().asked.id);
      std::vector<place> places;
      const double begin = options_.clock();
      std::vector<std::int32_t> wanted;
      std::int32_t at = 0;
      for (const step_part& p : parts) {
        answer& a = answers_.at(p.of->number);
        if (a.begin(begin)) stats_.prompt_tokens += std::ssize(a.of().asked.prompt);
        if (a.wants_prompt_logprobs())
          for (std::int64_t i = std::max(p.of->computed, a.known_of_prompt());
               i < std::min(p.end(), std::ssize(a.of().asked.prompt) - 1); ++i)
            places.push_back({p.of->number, true}),
                wanted.push_back(at + static_cast<std::int32_t>(i - p.of->computed));
        at += static_cast<std::int32_t>(p.count);
        if (p.is_last()) places.push_back({p.of->number, false}), wanted.push_back(at - 1);
      }
      const double before = options_.clock();
      const array logits = block_until_ready(device_put(runner_(parts, wanted), host_device()));
      stats_.model_seconds += options_.clock() - before;
      scheduler_.advance(parts);
      hear(places, logits.values<float>(), out);
      stats_.step_seconds += options_.clock() - begin;
    } catch (...) {
      fail_step(ids, failure::current(), out);
    }
    return out;
  }

  /// Ends a request, whose blocks are free at once; the next step returns its last outputs. False: there is none of this id.
  bool abort(const std::string& id) {
    if (!live_.contains(id)) return false;
    end(id, pending_, [](answer& a) { return a.end(finish_reason::abort); });
    return true;
  }
  bool has_unfinished() const { return !answers_.empty() || !pending_.empty(); }
  engine_stats stats() const {
    engine_stats s = stats_;
    const block_pool& pool = scheduler_.blocks().pool();
    s.running = scheduler_.running(), s.waiting = scheduler_.waiting();
    s.blocks = pool.size(), s.used_blocks = pool.size() - pool.free_count();
    const scheduler_counts& c = scheduler_.counts();
    s.prefix_queries = c.prefix_queries, s.prefix_hits = c.prefix_hits;
    s.preemptions = c.preemptions, s.recomputed_tokens = c.recomputed_tokens;
    return s;
  }

 private:
  static constexpr std::int64_t most_logits = 256;  // of one prompt in a step

  /// Logits of a step: of which answer, and whether they are for a token of its prompt.
  struct place {
    std::int64_t number;
    bool of_prompt;
  };

  static engine_options joined(engine_options o, models::pretrained& model) {
    o.end_tokens.insert(o.end_tokens.end(), model.end_tokens.begin(), model.end_tokens.end());
    if (o.packed.empty()) o.packed = std::move(model.packed);
    return o;
  }
  // The options with all numbers that they leave open.
  static engine_options completed(engine_options o, const models::decoder_config& c) {
    const auto require = [](bool fits, const char* field, std::int64_t found, const std::string& expected) {
      if (!fits) throw error(std::string("engine: ") + field, std::to_string(found), expected);
    };
    require(o.block_size >= 1 && o.block_size <= 4096, "block_size", o.block_size, "1 to 4096");
    require(o.cache_blocks >= 0, "cache_blocks", o.cache_blocks, "0 or more");
    require(o.cache_bytes >= 0, "cache_bytes", o.cache_bytes, "0 or more");
    require(o.max_num_batched_tokens >= 1, "max_num_batched_tokens", o.max_num_batched_tokens, "1 or more");
    require(o.max_num_seqs >= 1 && o.max_num_seqs <= 4096, "max_num_seqs", o.max_num_seqs, "1 to 4096");
    const bool bounded = c.learned_positions || c.bounded;
    require(o.max_model_len >= 0 && (!bounded || o.max_model_len <= c.context), "max_model_len", o.max_model_len,
            "0 to " + std::to_string(c.context));
    const std::int64_t most = o.max_model_len > 0 ? o.max_model_len : c.context;
    const std::int64_t of_text = (most + o.block_size - 1) / o.block_size;
    const std::int64_t bytes = model_runner::bytes_of_block(c, o.block_size, o.cache_dtype);
    if (o.cache_blocks == 0)
      o.cache_blocks = o.cache_bytes > 0
                           ? o.cache_bytes / bytes
                           : std::min(of_text * o.max_num_seqs, std::max(of_text, (std::int64_t{1} << 30) / bytes));
    require(o.cache_blocks >= 1, "cache_bytes", o.cache_bytes, std::to_string(bytes) + ", those of a block, or more");
    const std::int64_t held = o.cache_blocks * o.block_size;
    require(o.max_model_len <= held, "max_model_len", o.max_model_len,
            "at most the " + std::to_string(held) + " tokens that " + std::to_string(o.cache_blocks) + " blocks hold");
    o.max_model_len = std::min(most, held);
    require(o.max_model_len >= 2, "max_model_len", o.max_model_len, "2 or more");
    return o;
  }
  // The tokens of words, with a space before them and without.
  std::vector<std::vector<std::int32_t>> tokens_of(const std::vector<std::string>& words) const {
    std::vector<std::vector<std::int32_t>> all;
    for (const std::string& word : words)
      for (const char* space : {"", " "}) {
        const std::vector<std::int32_t> ids = words_->ids(space + word, false);
        if (!ids.empty() && std::find(all.begin(), all.end(), ids) == all.end()) all.push_back(ids);
      }
    return all;
  }

  // What answers say of their logits. Of one that fails, the request ends.
  void hear(const std::vector<place>& places, std::span<const float> logits, std::vector<request_output>& out) {
    const auto size = static_cast<std::size_t>(config_.vocabulary);
    const double now = options_.clock();
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto found = answers_.find(places[i].number);
      if (found == answers_.end()) continue;
      answer& a = found->second;
      try {
        const std::span<const float> row = logits.subspan(i * size, size);
        if (places[i].of_prompt) {
          a.put_of_prompt(row);
          continue;
        }
        out.push_back(a.say(row, now));
        ++stats_.generation_tokens;
        if (out.back().finish != finish_reason::none) finish(found, out.back());
      } catch (...) {
        fail(std::string(a.of().asked.id), failure::current(), out);
      }
    }
  }
  void finish(std::map<std::int64_t, answer>::iterator of, request_output& last) {
    live_request& r = of->second.of();
    ++stats_.finished[static_cast<std::size_t>(last.finish)];
    last.request_finished = --r.unfinished == 0;
    if (last.request_finished) live_.erase(r.asked.id);
    scheduler_.finish(of->second.text());
    answers_.erase(of);
  }
  // Ends what is left of a request.
  template <class Last>
  void end(const std::string& id, std::vector<request_output>& out, const Last& last) {
    const std::vector<std::int64_t> numbers = live_.at(id);
    for (const std::int64_t number : numbers)
      if (const auto found = answers_.find(number); found != answers_.end()) {
        out.push_back(last(found->second));
        finish(found, out.back());
      }
  }
  void fail(const std::string& id, const failure& why, std::vector<request_output>& out) {
    end(id, out, [&](answer& a) { return a.end(finish_reason::error, why.what, why.kind); });
  }
  void fail_step(std::vector<std::string> ids, const failure& why, std::vector<request_output>& out) {
    ++stats_.failed_steps;
    if (ids.empty())  // not even the parts could be found
      for (const auto& [id, numbers] : live_) ids.push_back(id);
    for (const std::string& id : ids)
      if (live_.contains(id)) fail(id, why, out);
    scheduler_.restart();
    try {
      runner_.reset();
    } catch (...) {  // without memory for the cache the next step fails, too, and tries again
    }
  }

  models::decoder_config config_;
  std::optional<text::tokenizer> words_;
  engine_options options_;
  model_runner runner_;
  scheduler scheduler_;
  std::map<std::int64_t, answer> answers_;                           // by the number of their texts
  std::unordered_map<std::string, std::vector<std::int64_t>> live_;  // the numbers of each request that is not finished
  std::vector<request_output> pending_;
  engine_stats stats_;
  std::uint64_t unseeded_ = 0;
};

}  // namespace tokamax::serve
