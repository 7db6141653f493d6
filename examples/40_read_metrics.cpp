// examples/40_read_metrics.cpp: what a server says of itself. New here: llm_api, model_of, exchange, and the names of /metrics.
#include <tokamax/tokamax.hpp>

#include <tokamax/serve/http/llm_api.hpp>
#include <tokamax/serve/http/served_engine.hpp>

#include <fmt/core.h>

#include <cmath>
#include <future>
#include <map>
#include <sstream>

namespace tk = tokamax;
namespace serve = tokamax::serve;

// A model of random weights and its tokenizer, whose tokens are digits. A real one comes from `from_pretrained`.
tk::models::decoder random_model() {
  tk::models::decoder_config c{.vocabulary = 10, .context = 64, .width = 16, .layers = 2, .heads = 4, .kv_heads = 2};
  c.head_size = c.rotary_size = 4, c.hidden = 32;
  return tk::init(tk::models::make_decoder(c), tk::random::key(0));
}
const char* const tokenizer_json = R"({
  "model": {"type": "WordLevel", "unk_token": "0",
            "vocab": {"0": 0, "1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9}},
  "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": false},
  "decoder": {"type": "Fuse"}
})";

// An API is a function of a request and of the place where the answer goes. In `tokamax_serve` that is a connection; here it is a
// future, so this program needs no socket.
class waiting_exchange : public serve::exchange {
 public:
  void answer(int, std::string body, std::string_view) override { body_.set_value(std::move(body)); }
  void begin_events() override {}
  void put(std::string) override {}
  void end() override {}
  void when_gone(std::function<void()>) override {}
  std::future<std::string> body() { return body_.get_future(); }

 private:
  std::promise<std::string> body_;
};
std::future<std::string> ask(serve::llm_api& api, const char* method, const char* path, std::string body = {}) {
  const auto to = std::make_shared<waiting_exchange>();
  auto answer = to->body();
  api({.method = method, .path = path, .query = {}, .body = std::move(body), .authorization = {}}, to);
  return answer;
}

// A line of the text is `name{label="value",...} number`, and those that begin with # are for readers. The labels of the model are left
// out here.
std::map<std::string, double> read_metrics(const std::string& text) {
  std::map<std::string, double> found;
  std::istringstream lines(text);
  const std::string of_model = R"(model_name="digits",engine="0")";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    const std::size_t end = line.rfind(' ');
    std::string name = line.substr(0, end);
    const std::size_t at = name.find(of_model), size = of_model.size();
    name.erase(at, name[at + size] == ',' ? size + 1 : size);
    if (name.ends_with("{}")) name.resize(name.size() - 2);
    found[name] = std::stod(line.substr(end));
  }
  return found;
}
// The value below which a part of a histogram lies, as Prometheus finds it: within a bucket, values are taken to be spread evenly.
double quantile(const std::map<std::string, double>& all, const std::string& name, double part) {
  std::map<double, double> up_to;  // how many are at most so large
  for (const auto& [key, count] : all)
    if (const std::string begin = name + "_bucket{le=\""; key.starts_with(begin)) {
      const std::string limit = key.substr(begin.size(), key.size() - begin.size() - 2);
      if (limit != "+Inf") up_to[std::stod(limit)] = count;
    }
  const double wanted = part * all.at(name + "_count");
  double low = 0, below = 0;
  for (const auto& [high, count] : up_to) {
    if (count >= wanted) return low + (high - low) * (wanted - below) / (count - below);
    low = high, below = count;
  }
  return low;
}

int main() {
  const auto words = tk::text::tokenizer::from_json(tokenizer_json);
  serve::engine_thread engine(
      serve::engine(random_model(), words, tk::cpu, {.block_size = 4, .max_num_seqs = 2, .end_tokens = {9}}));
  serve::llm_api api(serve::model_of(engine, "digits", words), {});

  // Some work: answers of 3, 6 and 12 tokens to two prompts that begin alike, twice, and a request with a wrong field.
  for (int round = 0; round < 2; ++round)
    for (const int most : {3, 6, 12})
      for (const char* prompt : {"12345678123", "123456782"})
        ask(api, "POST", "/v1/completions",
            fmt::format(R"({{"prompt": "{}", "max_tokens": {}, "ignore_eos": true, "temperature": 0}})", prompt, most))
            .get();
  fmt::print("{}\n\n", ask(api, "POST", "/v1/completions", R"({"prompt": "1", "temprature": 0})").get());

  const auto all = read_metrics(ask(api, "GET", "/metrics").get());
  const auto show = [&](const char* name) { fmt::print("{:55} {}\n", name, all.at(name)); };

  // Gauges are the state now. Requests that wait while the cache is full want more memory, or fewer of them at once.
  for (const char* name : {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"})
    show(name);

  // Counters only grow, so two readings and the time between them give a rate. In PromQL: rate(vllm:generation_tokens_total[1m]).
  for (const char* name :
       {"vllm:prompt_tokens_total", "vllm:generation_tokens_total",
        "vllm:request_success_total{finished_reason=\"length\"}",
        "vllm:request_success_total{finished_reason=\"error\"}", "tokamax:http_errors_total{status=\"400\"}"})
    show(name);

  // The ratio of two counters: how much of the prompts was found in the cache. Only what was not found is computed.
  fmt::print("\n{:.0f}% of the tokens of prompts were in the cache\n",
             100 * all.at("vllm:prefix_cache_hits_total") / all.at("vllm:prefix_cache_queries_total"));

  // A histogram has a sum, a count, and how many values were at most so large. In PromQL:
  // histogram_quantile(0.99, rate(vllm:request_generation_tokens_bucket[5m])).
  const std::string of_answers = "vllm:request_generation_tokens";
  fmt::print("{} answers had {} tokens on average, half of them at most {:.1f}\n", all.at(of_answers + "_count"),
             all.at(of_answers + "_sum") / all.at(of_answers + "_count"), quantile(all, of_answers, 0.5));

  // Times are histograms, too: until the first token, for each further one, and what the request spent waiting, in its prompt and in
  // its answer. The parts are the whole.
  const auto mean = [&](const std::string& name) { return all.at(name + "_sum") / all.at(name + "_count"); };
  const double parts = mean("vllm:request_queue_time_seconds") + mean("vllm:request_prefill_time_seconds") +
                       mean("vllm:request_decode_time_seconds");
  fmt::print("waiting, prompt and answer are the whole time: {}\n",
             std::abs(parts - mean("vllm:e2e_request_latency_seconds")) < 1e-6);
  fmt::print("the first token comes before the last: {}\n",
             mean("vllm:time_to_first_token_seconds") < mean("vllm:e2e_request_latency_seconds"));
  engine.stop();
}
