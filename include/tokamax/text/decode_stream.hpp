// tokamax/text/decode_stream.hpp: the text of ids that come one by one, without characters that are not at their end.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/text/tokenizer.hpp>  // tokenizer
#include <tokamax/text/utf8.hpp>       // replace_invalid

namespace tokamax::text {

/// Makes a text of ids as a model says them. What `put` and `finish` return is valid UTF-8, and all of it together is the text
/// of all ids. Bytes that never become a character are U+FFFD, at once.
class decode_stream {
 public:
  explicit decode_stream(tokenizer t, bool skip_special_tokens = true)
      : tokenizer_(std::move(t)), skip_special_tokens_(skip_special_tokens) {}

  /// What can be said after one more id: nothing while a character waits for its last byte.
  std::string put(std::int32_t id) {
    if (!tokenizer_.token_of(id) || (skip_special_tokens_ && tokenizer_.is_special(id))) return {};
    ids_.push_back(id);
    return say(false);
  }
  /// The rest, at the end.
  std::string finish() {
    std::string rest = say(true);
    ids_.clear();
    said_ids_ = said_bytes_ = 0;
    return rest;
  }

 private:
  // The bytes at the end of a text that begin a character.
  static std::size_t open_bytes(std::string_view text) {
    for (std::size_t size = 1; size < 4 && size <= text.size(); ++size) {
      const auto lead = static_cast<unsigned char>(text[text.size() - size]);
      if (lead < 0xC2 || lead > 0xF4) continue;
      const utf8_step step = decode_utf8(text, text.size() - size);
      return !step.valid && step.length == size ? size : 0;
    }
    return 0;
  }
  std::string say(bool all) {
    const std::string text = tokenizer_.decode_bytes(ids_, false);
    const std::size_t open = all ? 0 : open_bytes(text);
    if (text.size() - open <= said_bytes_) return {};
    std::string fresh = replace_invalid(std::string_view(text).substr(said_bytes_, text.size() - open - said_bytes_));
    // Of what is said, only the last ids are kept: these alone decide whether there is a space before the next.
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(said_ids_));
    said_ids_ = ids_.size();
    said_bytes_ = tokenizer_.decode_bytes(ids_, false).size() - open;
    return fresh;
  }

  tokenizer tokenizer_;
  bool skip_special_tokens_;
  std::vector<std::int32_t> ids_;  // the last ones whose text is said, and those that wait
  std::size_t said_ids_ = 0, said_bytes_ = 0;
};

}  // namespace tokamax::text
