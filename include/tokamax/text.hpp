// tokamax/text.hpp: all of text: tokenizers, for programs that link tokamax::text.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// umbrella: no (it needs PCRE2 and utf8proc, which few programs need)
//
//   text/added_tokens.hpp              tokens that are found in a text before it is cut, such as those of chats.
//   text/bpe.hpp                       byte pair encoding: symbols are merged in pairs, the pair of the best rank first.
//   text/bpe_trainer.hpp               finds the merges of a byte pair encoding: the most frequent pair of neighbours, again and again.
//   text/byte_level.hpp                GPT-2's characters for bytes, by which any bytes are a text without spaces and controls.
//   text/chat_template.hpp             a chat as the text that a model was trained on, by the template in the model's files.
//   text/chat_template_parts.hpp       the templates of a model's files, and how a chat goes through them.
//   text/decode_stream.hpp             the text of ids that come one by one, without characters that are not at their end.
//   text/decoder.hpp                   the steps that make a text of tokens, read from a tokenizer's file.
//   text/encoding.hpp                  what a tokenizer makes of a text.
//   text/gguf.hpp                      what a GGUF file says of its model before the tensors.
//   text/gguf_pre_tokenizers.hpp       how texts are cut, by the names that GGUF files have for it.
//   text/gguf_tokenizer.hpp            the tokenizer that is in a GGUF file.
//   text/jinja/access.hpp              fields, items, parts and methods of values.
//   text/jinja/bound_arguments.hpp     the arguments of a filter, test, method or function, by its parameters.
//   text/jinja/check_names.hpp         filters and tests of a template that are not known, before it runs.
//   text/jinja/evaluator.hpp           runs a template: its statements write a text, its expressions give values.
//   text/jinja/expression_parser.hpp   the trees of a template's expressions.
//   text/jinja/filters.hpp             what stands behind |, by its name.
//   text/jinja/functions.hpp           the functions that templates may call: range, namespace, dict, raise_exception, strftime_now.
//   text/jinja/json_value.hpp          a JSON text as a value of templates, whose records keep their order.
//   text/jinja/lexer.hpp               the words of a template: its texts, and what stands between {{ }} and {% %}.
//   text/jinja/limits.hpp              where a template runs, and how many steps and bytes it may still take.
//   text/jinja/methods.hpp             calls of the methods of texts, lists, dicts and loops.
//   text/jinja/operators.hpp           what Python's operators make of values.
//   text/jinja/parser.hpp              the tree of a template.
//   text/jinja/print.hpp               values as texts: what Python's str and repr give, and JSON.
//   text/jinja/scope.hpp               the names that a part of a template sees.
//   text/jinja/sequence_filters.hpp    filters of lists, some of which take the names of other filters and of tests.
//   text/jinja/text_methods.hpp        what Python's methods of texts do, by code points.
//   text/jinja/tree.hpp                a template after it is read: texts, statements and expressions within each other.
//   text/jinja/value.hpp               the values of templates, which are Python's.
//   text/jinja/value_filters.hpp       filters of single values: JSON, numbers, and texts in another form.
//   text/jinja/value_tests.hpp         what stands behind `is`: defined, string, equalto and others.
//   text/model.hpp                     what makes tokens of a word, and the models that look up whole words or their parts.
//   text/normalized_text.hpp           a text that is changed and cut into pieces, with the original bytes of each byte.
//   text/normalizer.hpp                the steps that change a text before it is cut, read from a tokenizer's file.
//   text/pattern.hpp                   regular expressions as `tokenizers` reads them, matched by PCRE2.
//   text/post_processor.hpp            the steps that frame encoded texts by special tokens, read from a tokenizer's file.
//   text/pre_tokenizer.hpp             the steps that cut a text into words, read from a tokenizer's file.
//   text/precompiled.hpp               SentencePiece's own normaliser, a map of characters that its files hold as a double array.
//   text/sentencepiece_file.hpp        a model file of SentencePiece, read field by field from its protocol buffer.
//   text/sentencepiece_model.hpp       the pieces of a normalised text, by the four models of SentencePiece.
//   text/sentencepiece_normalizer.hpp  what SentencePiece makes of a text before it looks for pieces, and of pieces again.
//   text/special_frame.hpp             special tokens before and behind a text, as a post-processor.
//   text/tekken.hpp                    tekken.json, the tokenizer of Mistral's newer models: ranks of bytes, a pattern and special tokens.
//   text/tiktoken.hpp                  files of ranks as tiktoken has them, as the vocabulary and merges of a byte pair encoding.
//   text/token_table.hpp               tokens by their texts and by their ids, and numbers by keys of 64 bits.
//   text/tokenizer.hpp                 texts as tokens and back, by the file tokenizer.json of a model.
//   text/tokenizer_json.hpp            the JSON of a tokenizer, read within bounds, its long lists apart from the rest.
//   text/tokenizer_parts.hpp           the parts of a tokenizer, and how a text goes through them.
//   text/train_bpe.hpp                 a tokenizer made of texts.
//   text/unicode.hpp                   classes of characters and normal forms, by utf8proc.
//   text/unigram.hpp                   the tokens of a word with the greatest sum of scores, by Viterbi's algorithm.
//   text/utf8.hpp                      code points of UTF-8 texts, and what stands for bytes that are none.
#pragma once

#include <tokamax/text/byte_level.hpp>
#include <tokamax/text/chat_template.hpp>
#include <tokamax/text/decode_stream.hpp>
#include <tokamax/text/encoding.hpp>
#include <tokamax/text/token_table.hpp>
#include <tokamax/text/tokenizer.hpp>
#include <tokamax/text/train_bpe.hpp>
#include <tokamax/text/utf8.hpp>
