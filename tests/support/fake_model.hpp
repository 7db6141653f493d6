// tests/support/fake_model.hpp: a model that says a fixed text byte by byte, at once or when it is told to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/serve/http/served_model.hpp>  // served_model

#include <map>
#include <mutex>

#include "support/byte_tokenizer.hpp"

namespace tokamax::test {

/// Each answer is `says`, or what of it `max_tokens` allows; answer i begins with the digit i where there are several.
class fake_model {
 public:
  std::string says = "héllo";
  bool holds = false;  ///< does it say only the first byte, and wait for an abort?
  std::optional<error> fails = {};
  std::map<std::string, std::pair<serve::request, std::function<void(const serve::request_output&)>>> held;
  std::vector<serve::request> requests;
  std::vector<std::string> aborted;
  std::mutex mutex;
  double step_age = 0;
  serve::engine_stats stats;

  serve::served_model model() {
    serve::served_model m{.name = "fake", .created = 7, .max_model_len = 100, .words = byte_tokenizer()};
    m.chat = text::chat_template(
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% "
        "endif %}");
    m.text_of = [](std::int32_t id) {
      return id == 0 ? std::string() : byte_tokenizer().decode_bytes(std::vector<std::int32_t>{id});
    };
    m.submit = [this](serve::request r, std::function<void(const serve::request_output&)> hear) {
      take(std::move(r), hear);
    };
    m.abort = [this](const std::string& id) {
      const std::lock_guard lock(mutex);
      aborted.push_back(id);
    };
    m.stats = [this] { return stats; };
    m.step_age = [this] { return step_age; };
    m.structure = [](const serve::structured_output& s) -> std::shared_ptr<serve::token_filter> {
      if (s.param == "tools") return nullptr;
      throw error("json schema: #/not", s.text, "another schema");
    };
    return m;
  }

 private:
  void take(serve::request r, const std::function<void(const serve::request_output&)>& hear) {
    validate(r.params, 257);
    if (fails) throw *fails;
    {
      const std::lock_guard lock(mutex);
      requests.push_back(r);
      if (holds) held[r.id] = {r, hear};
    }
    for (int i = 0; i < r.params.n; ++i) {
      const std::string text = (r.params.n > 1 ? std::to_string(i) : "") + says;
      const auto ids = byte_tokenizer().ids(text);
      const auto count = std::min<std::int64_t>(std::ssize(ids), r.params.max_tokens);
      std::string open;  // bytes of a character that is not whole
      for (std::int64_t t = 0; t < (holds ? 1 : count); ++t) {
        open += text[static_cast<std::size_t>(t)];
        serve::request_output o{.id = r.id, .index = i, .token_ids = {ids[static_cast<std::size_t>(t)]}};
        if (text::valid_utf8(open) == open.size()) o.text = std::move(open), open.clear();
        if (r.params.logprobs) o.logprobs = {{{o.token_ids[0], -0.5f, 1}, {}}};
        if (t == 0 && i == 0 && r.params.prompt_logprobs)
          for (std::size_t p = 1; p < r.prompt.size(); ++p) o.prompt_logprobs.push_back({{r.prompt[p], -1.5f, 2}, {}});
        o.usage = {std::ssize(r.prompt), 1, t + 1};
        o.times = {1, 2, 3, 4, t + 1, t + 1};
        if (!holds && t + 1 == count) {
          o.finish = count == std::ssize(ids) ? serve::finish_reason::stop : serve::finish_reason::length;
          o.request_finished = i + 1 == r.params.n;
        }
        hear(o);
      }
    }
  }
};

}  // namespace tokamax::test
