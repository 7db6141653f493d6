// tokamax/text.hpp: all of text: tokenizers, for programs that link tokamax::text.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// umbrella: no (it needs PCRE2 and utf8proc, which few programs need)
//
//   text/added_tokens.hpp     tokens that are found in a text before it is cut, such as those of chats.
//   text/bpe.hpp              byte pair encoding: symbols are merged in pairs, the pair of the best rank first.
//   text/byte_level.hpp       GPT-2's characters for bytes, by which any bytes are a text without spaces and controls.
//   text/decode_stream.hpp    the text of ids that come one by one, without characters that are not at their end.
//   text/decoder.hpp          the steps that make a text of tokens, read from a tokenizer's file.
//   text/encoding.hpp         what a tokenizer makes of a text.
//   text/gguf.hpp             what a GGUF file says of its model before the tensors, and the tokenizer that is in it.
//   text/model.hpp            what makes tokens of a word, and the models that look up whole words or their parts.
//   text/normalized_text.hpp  a text that is changed and cut into pieces, with the original bytes of each byte.
//   text/normalizer.hpp       the steps that change a text before it is cut, read from a tokenizer's file.
//   text/pattern.hpp          regular expressions as `tokenizers` reads them, matched by PCRE2.
//   text/post_processor.hpp   the steps that frame encoded texts by special tokens, read from a tokenizer's file.
//   text/pre_tokenizer.hpp    the steps that cut a text into words, read from a tokenizer's file.
//   text/precompiled.hpp      SentencePiece's own normaliser, a map of characters that its files hold as a double array.
//   text/tiktoken.hpp         files of ranks as tiktoken has them, as the vocabulary and merges of a byte pair encoding.
//   text/token_table.hpp      tokens by their texts and by their ids, and numbers by keys of 64 bits.
//   text/tokenizer.hpp        texts as tokens and back, by the file tokenizer.json of a model.
//   text/tokenizer_json.hpp   the JSON of a tokenizer, read within bounds, its long lists apart from the rest.
//   text/tokenizer_parts.hpp  the parts of a tokenizer, and how a text goes through them.
//   text/unicode.hpp          classes of characters and normal forms, by utf8proc.
//   text/unigram.hpp          the tokens of a word with the greatest sum of scores, by Viterbi's algorithm.
//   text/utf8.hpp             code points of UTF-8 texts, and what stands for bytes that are none.
#pragma once

#include <tokamax/text/byte_level.hpp>
#include <tokamax/text/decode_stream.hpp>
#include <tokamax/text/encoding.hpp>
#include <tokamax/text/token_table.hpp>
#include <tokamax/text/tokenizer.hpp>
#include <tokamax/text/utf8.hpp>
