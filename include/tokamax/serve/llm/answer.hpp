// tokamax/serve/llm/answer.hpp: one answer to a request: its tokens become text, until something ends it.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
// needs <pcre2.h>
// tested by tests/serve/llm/engine.cpp
#pragma once

#include <tokamax/serve/llm/sampler.hpp>     // sampler
#include <tokamax/serve/llm/scheduler.hpp>   // sequence
#include <tokamax/serve/llm/stop_texts.hpp>  // stop_texts
#include <tokamax/text/decode_stream.hpp>    // decode_stream

namespace tokamax::serve {

/// A request and what all its answers share.
struct live_request {
  request asked;
  std::vector<std::int32_t> ends = {};              ///< the tokens at which answers end
  std::vector<std::vector<std::int32_t>> bad = {};  ///< tokens of bad words
  std::uint64_t seed = 0;
  std::int64_t most_tokens = 0;  ///< of an answer: max_tokens, or what fits behind the prompt
  double arrived = 0;
  int unfinished = 0;
};

/// An answer. Its text in the scheduler has the prompt and what was said.
class answer {
 public:
  answer(std::shared_ptr<live_request> of, int index, sequence& text, const std::optional<text::tokenizer>& words,
         std::shared_ptr<token_filter> filter)
      : of_(std::move(of)),
        index_(index),
        text_(&text),
        filter_(std::move(filter)),
        sampler_(of_->asked.params, of_->ends, of_->bad, of_->seed, index, of_->asked.sampler, filter_),
        stops_(of_->asked.params.stop, of_->asked.params.include_stop_str_in_output) {
    if (words) stream_.emplace(*words, of_->asked.params.skip_special_tokens);
    times_.arrived = of_->arrived;
  }

  live_request& of() const { return *of_; }
  sequence& text() const { return *text_; }
  bool wants_prompt_logprobs() const { return index_ == 0 && of_->asked.params.prompt_logprobs && said().empty(); }
  /// The prompt's tokens whose log-probabilities are known, beside the first.
  std::int64_t known_of_prompt() const { return std::ssize(of_prompt_); }
  /// Those of the next one, by the logits before it.
  void put_of_prompt(std::span<const float> logits) {
    const std::int32_t id = of_->asked.prompt[of_prompt_.size() + 1];
    of_prompt_.push_back(logprobs_of(logits, id, *of_->asked.params.prompt_logprobs));
  }
  /// States that a step takes its tokens in. Is it the first of the first answer?
  bool begin(double now) {
    if (began_) return false;
    began_ = true, times_.scheduled = now;
    return index_ == 0;
  }

  /// Chooses the next token, puts it behind the text, and says what is new.
  /// errors  those of the sampler and of the filter
  request_output say(std::span<const float> logits, double now) {
    const sampling_params& p = of_->asked.params;
    const std::int32_t id = sampler_(logits, of_->asked.prompt, said());
    const bool ends = std::find(of_->ends.begin(), of_->ends.end(), id) != of_->ends.end();
    if (filter_ && !ends && !filter_->accept(id))
      throw error("token_filter: accept", "token " + std::to_string(id), "one that it allows");
    scheduler::say(*text_, id);
    const std::int64_t count = std::ssize(said());
    if (count == 1) times_.first_token = now;
    times_.last_token = now, times_.tokens = count, ++times_.outputs;

    request_output out = fresh();
    out.token_ids.push_back(id);
    if (p.logprobs) out.logprobs.push_back(logprobs_of(logits, id, *p.logprobs));
    if (count == 1) {
      out.prompt_logprobs = std::move(of_prompt_);
      text_->most_at_once = 0, text_->finds = true;  // if it is computed again, they are known
    }
    const bool looks = count >= p.min_tokens;
    if (stream_ && (!ends || p.include_stop_str_in_output)) out.text = stops_.put(stream_->put(id), looks);
    if (ends) {
      out.finish = finish_reason::stop;
      if (std::find(p.stop_token_ids.begin(), p.stop_token_ids.end(), id) != p.stop_token_ids.end())
        out.stop_reason = id;
    } else if (filter_ && filter_->finished()) {
      out.finish = finish_reason::stop;
    } else if (count >= of_->most_tokens) {
      out.finish = finish_reason::length;
    }
    if (out.finish != finish_reason::none && stream_) out.text += stops_.put(stream_->finish(), looks);
    if (stops_.found()) out.finish = finish_reason::stop, out.stop_reason = *stops_.found();
    out.text += out.finish != finish_reason::none ? stops_.finish() : std::string();
    return out;
  }
  /// The last output of an answer that ends by itself no more, with the text that was kept back.
  request_output end(finish_reason why, const std::string& what = {}, error_kind kind = error_kind::internal) {
    request_output out = fresh();
    if (stream_) out.text = stops_.put(stream_->finish(), false);
    out.text += stops_.finish();
    out.finish = why, out.error = what, out.error_kind = kind;
    return out;
  }

 private:
  std::span<const std::int32_t> said() const { return std::span(text_->tokens).subspan(of_->asked.prompt.size()); }
  request_output fresh() const {
    request_output out{.id = of_->asked.id, .index = index_};
    out.usage = {.prompt_tokens = std::ssize(of_->asked.prompt),
                 .cached_tokens = text_->cached,
                 .completion_tokens = std::ssize(said())};
    out.times = times_;
    return out;
  }

  std::shared_ptr<live_request> of_;
  int index_;
  sequence* text_;
  std::shared_ptr<token_filter> filter_;
  sampler sampler_;
  std::optional<text::decode_stream> stream_;
  stop_texts stops_;
  std::vector<place_logprobs> of_prompt_;
  request_times times_;
  bool began_ = false;
};

}  // namespace tokamax::serve
