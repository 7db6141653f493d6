// tests/fuzz/options.cpp: any words as options of the trainer: values that can be used, or a message.
// SPDX-License-Identifier: Apache-2.0
#include "../../examples/tokamax_train_options.hpp"
#include "fuzz/fuzz.hpp"

void fuzz(std::string_view bytes) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
    words.emplace_back(bytes.substr(begin, end - begin));
    begin = end + 1;
  }
  only_errors([&] {
    settings s;
    CLI::App app("a trainer");
    declare_options(app, s);
    try {
      app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError&) {
      return;
    }
    check_options(s);
    check_memory(s, 256);
    const bool usable = s.layers > 0 && s.width % s.heads == 0 && s.warmup_steps() < s.steps && s.eval_every > 0 &&
                        s.learning_rate > 0 && s.learning_rate < 1e9 && s.final_rate >= 0 && s.clip > 0;
    if (!usable) std::abort();
  });
}
