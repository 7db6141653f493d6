// examples/38_write_a_sampler.cpp: choose tokens by functions of your own. New here: sampler_function, sampler_state, token_filter.
#include <tokamax/serve/llm.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace tk = tokamax;
namespace serve = tokamax::serve;

// A model of random weights, whose tokens are the letters a to p. An engine without a tokenizer has tokens and no texts.
tk::models::decoder random_model() {
  tk::models::decoder_config c{.vocabulary = 16, .context = 64, .width = 16, .layers = 2, .heads = 4, .kv_heads = 2};
  c.head_size = c.rotary_size = 4, c.hidden = 32;
  return tk::init(tk::models::make_decoder(c), tk::random::key(0));
}
std::string letters(const std::vector<std::int32_t>& ids) {
  std::string text;
  for (const std::int32_t id : ids) text += static_cast<char>('a' + id);
  return text;
}
// What the engine says to requests that run beside each other.
std::map<std::string, std::string> answers(serve::engine& engine, std::vector<serve::request> requests) {
  std::map<std::string, std::string> said;
  for (serve::request& r : requests) engine.add(std::move(r));
  while (engine.has_unfinished())
    for (const serve::request_output& out : engine.step()) {
      said[out.id] += letters(out.token_ids);
      if (out.finish == serve::finish_reason::error)
        said[out.id] = fmt::format("\"{}\", then {}", said[out.id], out.error);
    }
  return said;
}

// A token drawn by weights. `uniform` belongs to the seed of the request and to the position, so the draw is the same in every run.
std::int32_t drawn(std::span<const double> weights, double uniform) {
  double total = 0;
  for (const double w : weights) total += w;
  double rest = uniform * total;
  std::int32_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    last = static_cast<std::int32_t>(i);
    if ((rest -= weights[i]) < 0) break;
  }
  return last;
}

// A temperature that falls with each token: the answer begins freely and ends surely. A sampler gets logits that have been through
// penalties, bias and masks, where -inf is what may not be said, and what is known of the answer.
std::int32_t cooling(std::span<float> logits, const serve::sampler_state& state) {
  const double temperature = 1 / (1 + static_cast<double>(state.said.size()));
  const float most = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weights;
  for (const float x : logits) weights.push_back(std::exp(static_cast<double>(x - most) / temperature));
  return drawn(weights, state.uniform);
}

// A sampler that remembers: what surprises by more than `limit` bits is left out, and the limit moves until answers surprise by
// `target` on average. What it keeps belongs to one answer, so each request has a sampler of its own.
// source  Basu et al., Mirostat
serve::sampler_function mirostat(double target) {
  return [target, limit = 2 * target](std::span<float> logits, const serve::sampler_state& state) mutable {
    const float most = *std::max_element(logits.begin(), logits.end());
    std::vector<double> p;
    double total = 0;
    for (const float x : logits) total += p.emplace_back(std::exp(static_cast<double>(x - most)));
    const double greatest = *std::max_element(p.begin(), p.end());
    for (double& one : p) one = one == greatest || -std::log2(one / total) <= limit ? one / total : 0;
    const std::int32_t id = drawn(p, state.uniform);
    limit -= 0.5 * (-std::log2(p[static_cast<std::size_t>(id)]) - target);
    return id;
  };
}

// A filter says which tokens may follow, whoever chooses among them. This one wants letters in order, and ends behind the last one.
class ascending : public serve::token_filter {
 public:
  void allowed(std::span<std::uint64_t> bits) override {
    std::fill(bits.begin(), bits.end(), 0);
    for (std::int32_t id = next_; id < 16; ++id) bits[0] |= std::uint64_t{1} << id;
  }
  bool accept(std::int32_t token) override {
    if (token < next_) return false;
    next_ = token + 1;
    return true;
  }
  bool finished() const override { return next_ == 16; }
  std::shared_ptr<serve::token_filter> clone() const override { return std::make_shared<ascending>(*this); }

 private:
  std::int32_t next_ = 0;
};

int main() {
  serve::engine engine(random_model(), std::nullopt, tk::cpu, {.block_size = 4});
  const auto request = [](std::string id, serve::sampler_function f) {
    return serve::request{
        .id = std::move(id), .prompt = {0, 1, 2}, .params = {.seed = 7, .max_tokens = 12}, .sampler = std::move(f)};
  };

  // Samplers of the user stand beside the engine's own, in one batch.
  auto ordered = request("letters in order", cooling);
  ordered.token_mask = std::make_shared<ascending>();
  const auto together = answers(
      engine, {request("the engine's own", {}), request("cooling", cooling), request("surprise of 1 bit", mirostat(1)),
               request("surprise of 3 bits", mirostat(3)), std::move(ordered)});
  for (const auto& [id, text] : together) fmt::print("{:18}  {}\n", id, text);

  // No neighbour changes an answer.
  const auto alone = answers(engine, {request("cooling", cooling)});
  fmt::print("\nthe same alone: {}\n", alone.at("cooling") == together.at("cooling"));

  // A sampler that throws ends its own request, and a token that is none is such a mistake. The others go on.
  const auto with_faults =
      answers(engine, {request("cooling", cooling),
                       request("throws",
                               [](std::span<float>, const serve::sampler_state& s) -> std::int32_t {
                                 if (s.said.size() == 2) throw std::runtime_error("no idea");
                                 return 3;
                               }),
                       request("chooses token 99", [](std::span<float>, const serve::sampler_state&) { return 99; })});
  fmt::print("the same beside faults: {}\n", with_faults.at("cooling") == together.at("cooling"));
  fmt::print("throws: {}\nchooses token 99: {}\n", with_faults.at("throws"), with_faults.at("chooses token 99"));

  // A sampler for all requests that have none is an option of the engine.
  serve::engine greedy(
      random_model(), std::nullopt, tk::cpu, {.sampler = [](std::span<float> logits, const serve::sampler_state&) {
        return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
      }});
  auto likeliest = request("temperature 0", {});
  likeliest.params.temperature = 0;
  const bool equal =
      answers(greedy, {request("own", {})}).at("own") == answers(engine, {likeliest}).at("temperature 0");
  fmt::print("\nthe likeliest token each time is temperature 0: {}\n", equal);
}
