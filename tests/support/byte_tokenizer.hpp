// tests/support/byte_tokenizer.hpp: a tokenizer of bytes, with merges of a text if there is one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/text/train_bpe.hpp>  // train_bpe

namespace tokamax::test {

/// <|endoftext|> has the id 0, and bytes and merges of `text` the next ones.
inline text::tokenizer byte_tokenizer(std::string_view text = {}, std::size_t size = 257) {
  const std::string_view texts[] = {text};
  return text::tokenizer::from_json(text::train_bpe(texts, {.vocab_size = size}));
}

}  // namespace tokamax::test
