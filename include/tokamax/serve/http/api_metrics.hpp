// tokamax/serve/http/api_metrics.hpp: times and sizes of answers, and the state of the engine, by the names that vLLM gives them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/http/llm_api.cpp
#pragma once

#include <tokamax/serve/http/metrics_text.hpp>  // histogram
#include <tokamax/serve/llm/engine_stats.hpp>   // engine_stats
#include <tokamax/serve/llm/output.hpp>         // request_output

#include <map>    // map
#include <mutex>  // mutex

namespace tokamax::serve {

/// Any thread may use it.
class api_metrics {
 public:
  /// Counts the last output of an answer.
  void finished(const request_output& last) {
    const std::lock_guard lock(mutex_);
    prompt_tokens_.add(static_cast<double>(last.usage.prompt_tokens));
    generation_tokens_.add(static_cast<double>(last.usage.completion_tokens));
    if (last.times.tokens == 0) return;
    first_token_.add(last.times.time_to_first_token());
    if (last.times.tokens > 1) token_.add(last.times.time_per_output_token());
    whole_.add(last.times.end_to_end());
    queue_.add(last.times.queue_time());
    prefill_.add(last.times.prefill_time());
    decode_.add(last.times.decode_time());
  }
  /// Counts an answer of HTTP that is an error.
  void refused(int code) {
    const std::lock_guard lock(mutex_);
    ++errors_[code];
  }
  /// All of it as the text of /metrics.
  std::string text(const std::string& model, const engine_stats& s) const {
    const std::lock_guard lock(mutex_);
    metrics_text to("model_name=" + metrics_text::quoted(model) + ",engine=\"0\"");
    const auto number = [](std::int64_t n) { return static_cast<double>(n); };
    to.gauge("vllm:num_requests_running", "Answers that are being made.", number(s.running));
    to.gauge("vllm:num_requests_waiting", "Answers that wait.", number(s.waiting));
    to.gauge("vllm:kv_cache_usage_perc", "The part of the cache in use; 1 is all of it.", s.cache_usage());
    to.counter("vllm:prefix_cache_queries_total", "Tokens that were looked for in the cache.",
               number(s.prefix_queries));
    to.counter("vllm:prefix_cache_hits_total", "Tokens that were found in the cache.", number(s.prefix_hits));
    to.counter("vllm:num_preemptions_total", "Answers that gave up their blocks.", number(s.preemptions));
    to.counter("vllm:prompt_tokens_total", "Tokens of prompts.", number(s.prompt_tokens));
    to.counter("vllm:generation_tokens_total", "Tokens of answers.", number(s.generation_tokens));
    std::vector<std::pair<std::string, double>> ends;
    for (const auto r : {finish_reason::stop, finish_reason::length, finish_reason::abort, finish_reason::error})
      ends.emplace_back(serve::name(r), number(s.finished[static_cast<std::size_t>(r)]));
    to.counters("vllm:request_success_total", "Answers by the reason of their end.", "finished_reason", ends);
    to.put("vllm:time_to_first_token_seconds", "Until the first token.", first_token_);
    to.put("vllm:request_time_per_output_token_seconds", "A token behind the first, in the mean of an answer.", token_);
    to.put("vllm:e2e_request_latency_seconds", "Until the last token.", whole_);
    to.put("vllm:request_queue_time_seconds", "Until the answer was begun.", queue_);
    to.put("vllm:request_prefill_time_seconds", "From the beginning to the first token.", prefill_);
    to.put("vllm:request_decode_time_seconds", "From the first token to the last.", decode_);
    to.put("vllm:request_prompt_tokens", "Tokens of a prompt.", prompt_tokens_);
    to.put("vllm:request_generation_tokens", "Tokens of an answer.", generation_tokens_);
    to.counter("tokamax:steps_total", "Steps of the engine.", number(s.steps));
    to.counter("tokamax:failed_steps_total", "Steps that failed.", number(s.failed_steps));
    std::vector<std::pair<std::string, double>> errors;
    for (const auto& [code, count] : errors_) errors.emplace_back(std::to_string(code), static_cast<double>(count));
    to.counters("tokamax:http_errors_total", "Requests that were refused, by status.", "status", errors);
    return to.text();
  }

 private:
  // The limits of vLLM's histograms.
  static std::vector<double> seconds() {
    return {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640};
  }
  static std::vector<double> tokens() {
    std::vector<double> powers;
    for (double n = 1; n <= 131072; n *= 2) powers.push_back(n);
    return powers;
  }
  mutable std::mutex mutex_;
  histogram first_token_{seconds()}, token_{seconds()}, whole_{seconds()}, queue_{seconds()}, prefill_{seconds()},
      decode_{seconds()}, prompt_tokens_{tokens()}, generation_tokens_{tokens()};
  std::map<int, std::int64_t> errors_;
};

}  // namespace tokamax::serve
