// tests/text/tokenizer.cpp: tokenizers of each kind beside the Python package, wrong files, streams and threads.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/system/file.hpp>
#include <tokamax/text/byte_level.hpp>
#include <tokamax/text/decode_stream.hpp>
#include <tokamax/text/tokenizer.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <tuple>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

using tokamax::test::error_of;
using tokamax::text::decode_stream;
using tokamax::text::encoding;
using tokamax::text::tokenizer;

namespace {

const std::string folder = TOKAMAX_ROOT "/tests/golden/tokenizers/";
constexpr std::array names{"gpt2",       "llama3", "qwen2",       "roberta",       "llama2", "mistral",  "bert",
                           "bert_cased", "t5",     "precompiled", "unigram_bytes", "words",  "suffixed", "merged"};

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> result;
  std::ifstream in(folder + file);
  for (std::string line; std::getline(in, line);) result.push_back(line);
  return result;
}
std::string from_hex(std::string_view digits) {
  std::string result;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    result += static_cast<char>(static_cast<unsigned char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  return result;
}
std::string to_hex(const std::string& bytes) {
  std::string result;
  for (const char c : bytes) {
    result += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    result += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return result;
}
encoding encode(const tokenizer& t, const std::string& line) {
  const std::size_t bar = line.find('|');
  if (bar == std::string::npos) return t.encode(from_hex(line));
  return t.encode(from_hex(line.substr(0, bar)), from_hex(line.substr(bar + 1)), true);
}
// As make_tokenizers.py writes it.
std::string row(const tokenizer& t, const encoding& e) {
  std::ostringstream out;
  for (std::size_t i = 0; i < e.size(); ++i)
    out << e.ids[i] << (e.type_ids[i] ? "'" : "") << (e.special_tokens_mask[i] ? "*" : "") << ':' << e.offsets[i].begin
        << '-' << e.offsets[i].end << ' ';
  out << "| " << to_hex(t.decode(e.ids));
  return out.str();
}
std::string streamed(const tokenizer& t, const std::vector<std::int32_t>& ids) {
  decode_stream stream(t);
  std::string all;
  const auto put = [&](const std::string& part) {
    CHECK(tokamax::text::valid_utf8(part) == part.size());
    all += part;
  };
  for (const std::int32_t id : ids) put(stream.put(id));
  put(stream.finish());
  return all;
}

// The smallest file of words, with `more` fields.
tokenizer small(const std::string& more) {
  return tokenizer::from_json(R"({"model":{"type":"WordLevel","vocab":{"a":0,"b":1,"c":2,"?":3},"unk_token":"?"},)"
                              R"("pre_tokenizer":{"type":"Whitespace"})" +
                                  more + "}",
                              "here");
}
std::string error_of_file(const std::string& json) {
  return error_of([&] { tokenizer::from_json(json, "here").encode("ab c"); });
}

}  // namespace

TEST_CASE("Tokenizers give what the Python package gives") {
  const std::vector<std::string> texts = lines_of("texts.txt");
  REQUIRE(texts.size() > 100);
  for (const std::string name : names) {
    CAPTURE(name);
    const tokenizer t = tokenizer::from_file(folder + name + ".json");
    const std::vector<std::string> rows = lines_of(name + ".txt");
    REQUIRE(rows.size() == texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      CAPTURE(i, texts[i]);
      const encoding e = encode(t, texts[i]);
      CHECK(row(t, e) == rows[i]);
      if (texts[i].find('|') == std::string::npos) {
        CHECK(t.ids(from_hex(texts[i])) == e.ids);
        CHECK(streamed(t, e.ids) == t.decode(e.ids));
      }
      CHECK(std::all_of(e.attention_mask.begin(), e.attention_mask.end(), [](int m) { return m == 1; }));
      for (const std::size_t size : {e.tokens.size(), e.offsets.size(), e.type_ids.size(), e.words.size()})
        CHECK(size == e.size());
    }
  }
}

TEST_CASE("Tokenizers in GGUF files give what the Python package gives") {
  const tokenizer t = tokenizer::from_gguf(folder + "smollm.gguf");
  const std::vector<std::string> texts = lines_of("texts.txt"), rows = lines_of("smollm.txt");
  REQUIRE(rows.size() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(i, texts[i]);
    CHECK(row(t, encode(t, texts[i])) == rows[i]);
  }
  CHECK(t.is_special(1));
  const temporary_folder own;
  const std::string whole = tokamax::read_file(folder + "smollm.gguf");
  const auto error_of_gguf = [&](const std::string& bytes) {
    return error_of([&] { tokenizer::from_gguf(own.write("x.gguf", bytes)).encode("The 12 é"); });
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string bytes = whole;
    return bytes.replace(bytes.find(from), from.size(), to);
  };
  CHECK(error_of_gguf(whole) == "none");
  for (const auto& [bytes, message] : {
           std::pair{std::string(), std::string("gguf: bytes: found the end of the file, expected 4 more bytes")},
           {"GGML" + whole.substr(4), "gguf: magic: found other bytes, expected GGUF"},
           {changed("\3", "\4"), "gguf: version: found 4, expected 2 or 3"},
           {changed("smollm", "smollx"), "gguf: tokenizer.ggml.pre: found smollx, expected gpt-2, mpt"},
           {changed("gpt2", "gpt3"), "gguf: tokenizer.ggml.model: found gpt3, expected gpt2, llama, t5"},
           {changed("ggml.merges", "ggml.merger"), "gguf: tokenizer.ggml.merges: found nothing, expected a value"},
           {changed("tokenizer.ggml.pre", "llama.rope.freq_bas"), "gguf: "},
           {whole.substr(0, whole.size() / 2), "gguf: bytes: found the end of the file"},
       }) {
    const std::string found = error_of_gguf(bytes);
    CAPTURE(message, found);
    CHECK(found.find(message) != std::string::npos);
  }
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    for (unsigned change = 0; change < 1 + random() % 3; ++change)
      bytes[i % 2 ? random() % bytes.size() : random() % 400] = static_cast<char>(random() % 256);
    CHECK(error_of_gguf(bytes).size() < 10000);
  }
}

TEST_CASE("Files of ranks give what tiktoken gives") {
  const char* pattern =
      R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)";
  const auto t =
      tokenizer::from_tiktoken(folder + "ranks.tiktoken", {pattern, {{"<|endoftext|>", 500}, {"<|im_start|>", 510}}});
  CHECK(t.size() == 511);
  CHECK(t.is_special(510));
  CHECK(!t.token_of(505));
  const std::vector<std::string> texts = lines_of("texts.txt"), rows = lines_of("ranks.txt");
  REQUIRE(rows.size() > 100);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i, texts[i]);
    const std::string text = from_hex(texts[i]);
    std::ostringstream out;
    for (const std::int32_t id : t.ids(text)) out << (out.tellp() > 0 ? " " : "") << id;
    CHECK(out.str() == rows[i]);
    CHECK(t.decode(t.ids(text), false) == text);
    CHECK(t.encode(text).ids == t.ids(text));
  }
  const temporary_folder own;
  const auto error_of_ranks = [&](const std::string& lines, std::int32_t id = 500) {
    return error_of([&] { tokenizer::from_tiktoken(own.write("ranks", lines), {pattern, {{"<x>", id}}}); });
  };
  const std::string all = tokamax::read_file(folder + "ranks.tiktoken");
  CHECK(error_of_ranks(all) == "none");
  for (const auto& [lines, id, message] : {
           std::tuple{std::string("?? 1\n"), 500,
                      "tokenizer: line 1: found ?? 1, expected bytes in base 64, a space and a rank"},
           {std::string("YQ==\n"), 500, "line 1: found YQ=="},
           {std::string("YQ== 1x\n"), 500, "line 1: found YQ== 1x"},
           {std::string("YQ== -1\n"), 500, "line 1: found YQ== -1"},
           {std::string("YQ== 9999999\n"), 500, "line 1: found YQ== 9999999"},
           {std::string(" 1\n"), 500, "line 1: found  1"},
           {std::string("YQ== 1\nYQ== 2\n"), 500, "found the rank 2 or its token twice"},
           {std::string("YQ== 1\nYg== 1\n"), 500, "found the rank 1 or its token twice"},
           {std::string("YQ== 1\n"), 500, "found no token of the byte 0, expected all bytes"},
           {all, 7, "special_tokens[0].id: found 7, expected"},
           {all, -1, "special_tokens[0].id: found -1, expected"},
       }) {
    const std::string found = error_of_ranks(lines, id);
    CAPTURE(found, message);
    CHECK(found.find(message) != std::string::npos);
  }
}

TEST_CASE("Tokens have names, words and ids") {
  const tokenizer t = tokenizer::from_file(folder + "bert.json");
  const encoding e = t.encode("The Dog [MASK] 日", "x");
  CHECK(e.tokens.front() == "[CLS]");
  CHECK(std::vector<std::string>(e.tokens.begin() + 1, e.tokens.begin() + 4) ==
        std::vector<std::string>{"the", "dog", "[MASK]"});
  CHECK(e.words[0] == -1);
  CHECK(e.words[1] == 0);
  CHECK(e.words[2] == 1);
  CHECK(t.id_of("[MASK]") == e.ids[3]);
  CHECK(t.token_of(e.ids[1]) == "the");
  CHECK(t.is_special(*t.id_of("[SEP]")));
  CHECK(!t.is_special(*t.id_of("the")));
  CHECK(!t.id_of("no such token"));
  CHECK(!t.token_of(-1));
  CHECK(!t.token_of(t.size()));
  CHECK(t.token_of(t.size() - 1));
  CHECK(!t.is_special(-5));
  CHECK(t.decode(std::vector<std::int32_t>{-1, 1 << 30, *t.id_of("the")}) == "the");
  CHECK(t.encode("the", false).ids == std::vector<std::int32_t>{*t.id_of("the")});
  CHECK(t.ids("the", false) == std::vector<std::int32_t>{*t.id_of("the")});
}

TEST_CASE("Texts that are cut and padded have the length that the file says") {
  const std::string cut = R"(,"truncation":{"max_length":3,"direction":"Right","strategy":"LongestFirst","stride":0})";
  const std::string pad =
      R"(,"padding":{"strategy":{"Fixed":5},"direction":"Left","pad_id":3,"pad_type_id":1,"pad_token":"?"})";
  CHECK(small(cut).encode("a b c a").ids == std::vector<std::int32_t>{0, 1, 2});
  CHECK(small(cut).encode("a b c", "b c", true).ids == std::vector<std::int32_t>{0, 1, 1});
  const encoding e = small(pad).encode("b c");
  CHECK(e.ids == std::vector<std::int32_t>{3, 3, 3, 1, 2});
  CHECK(e.attention_mask == std::vector<std::int32_t>{0, 0, 0, 1, 1});
  CHECK(e.type_ids == std::vector<std::int32_t>{1, 1, 1, 0, 0});
  CHECK(e.special_tokens_mask == std::vector<std::int32_t>{1, 1, 1, 0, 0});
  CHECK(e.offsets.back() == tokamax::text::character_range{2, 3});
  CHECK(small(pad).ids("b c") == e.ids);
  CHECK(
      small(
          R"(,"padding":{"strategy":"BatchLongest","direction":"Right","pad_to_multiple_of":4,"pad_id":3,"pad_type_id":0,"pad_token":"?"})")
          .ids("a") == std::vector<std::int32_t>{0, 3, 3, 3});
}

TEST_CASE("Ways to cut a pair that are not there are refused, and not taken for another") {
  for (const char* strategy : {"OnlyFirst", "OnlySecond", "longest_first"}) {
    const std::string cut =
        R"(,"truncation":{"max_length":3,"direction":"Right","stride":0,"strategy":")" + std::string(strategy) + "\"}";
    CHECK_THROWS_WITH(small(cut), contains(strategy) && contains("LongestFirst"));
  }
}

TEST_CASE("A stream says whole characters, and says bytes that are none") {
  const tokenizer t = tokenizer::from_file(folder + "gpt2.json");
  const auto byte = [&](unsigned char b) {
    std::string one;
    tokamax::text::append_utf8(one, tokamax::text::byte_character(b));
    return *t.id_of(one);
  };
  decode_stream s(t);
  CHECK(s.put(byte(0xF0)).empty());
  CHECK(s.put(byte(0x9F)).empty());
  CHECK(s.put(byte(0x98)).empty());
  CHECK(s.put(byte(0x80)) == "😀");
  CHECK(s.put(byte('a')) == "a");
  CHECK(s.put(byte(0xFF)) == "\uFFFD");
  CHECK(s.put(byte(0xE2)).empty());
  CHECK(s.put(byte('b')) == "\uFFFDb");
  CHECK(s.put(*t.id_of("<|endoftext|>")).empty());
  CHECK(s.put(-1).empty());
  CHECK(s.put(byte(0xE2)).empty());
  CHECK(s.finish() == "\uFFFD");
  CHECK(s.finish().empty());
  CHECK(s.put(byte('c')) == "c");
  // Any ids give the text that they give at once.
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::int32_t> ids(random() % 40);
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % static_cast<unsigned>(t.size()));
    CHECK(streamed(t, ids) == t.decode(ids));
  }
}

TEST_CASE("Wrong texts and wrong files are named") {
  CHECK(error_of([] { small("").encode("a\xFF"); }) ==
        "tokenizer: text: found a byte that is not UTF-8 at 1, expected UTF-8; text::replace_invalid makes it of any "
        "bytes");
  CHECK(error_of([] { tokenizer::from_file(folder + "none.json"); }).find("none.json") != std::string::npos);
  const auto model = [](const std::string& inner) { return "{\"model\":{" + inner + "}}"; };
  const std::string vocab = R"("vocab":{"a":0,"b":1,"ab":2})";
  struct wrong {
    std::string json, message;
  };
  for (
      const auto& [json, message] : {
          wrong{"", "json: found"},
          wrong{"[]", "the whole: found [], expected a record with the field normalizer (here)"},
          wrong{"{}", "model: found nothing, expected a record with the field type (here)"},
          wrong{std::string("{\0}", 3), "json: found a zero byte at 1, expected a text (here)"},
          wrong{R"({"a":1,"a":2})", "a name: found a twice, expected distinct names (here)"},
          wrong{std::string(100, '['), "json: depth: found more, expected at most 64 (here)"},
          wrong{R"({"normalizer":{"type":"Nmt"},"model":null})",
                "normalizer.type: found \"Nmt\", expected Sequence, NFC"},
          wrong{R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"UnicodeScripts"}]}})",
                "pre_tokenizer.pretokenizers[0].type: found \"UnicodeScripts\""},
          wrong{R"({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"a"},"behavior":"Gone"}})",
                "pre_tokenizer.behavior: found \"Gone\", expected Isolated"},
          wrong{model(R"("type":"Words",)" + vocab),
                "model.type: found \"Words\", expected BPE, WordPiece, Unigram or WordLevel"},
          wrong{model(R"("type":"BPE","dropout":0.1,"merges":[],)" + vocab),
                "model.dropout: found 0.1, expected no dropout"},
          wrong{model(R"("type":"BPE","merges":["a b","a c"],)" + vocab),
                "model.merges: found no token c, expected tokens of"},
          wrong{model(R"("type":"BPE","merges":["b a"],)" + vocab), "model.merges: found no token ba"},
          wrong{model(R"("type":"BPE","merges":["a b c"],)" + vocab), "model.merges: found a b c, expected two tokens"},
          wrong{model(R"("type":"BPE","merges":[["a"]],)" + vocab), "model: found half an entry, expected pairs"},
          wrong{model(R"("type":"BPE","merges":[["a","b","c"]],)" + vocab), "model.merges: found a list of more texts"},
          wrong{model(R"("type":"BPE","merges":[1],)" + vocab), "model.merges: found an integer, expected an entry"},
          wrong{model(R"("type":"BPE","merges":[],"vocab":{"a":0,"a":1})"),
                "model.vocab: found a twice, expected distinct tokens"},
          wrong{model(R"("type":"BPE","merges":[],"vocab":{"a":0,"b":0})"), "model.vocab: found the id 0 twice"},
          wrong{model(R"("type":"BPE","merges":[],"vocab":{"a":4000000000})"),
                "model.vocab: found 4000000000, expected an id from 0"},
          wrong{model(R"("type":"BPE","merges":[],"vocab":{"a":-1})"), "model.vocab: found a negative integer"},
          wrong{model(R"("type":"BPE","merges":[],"vocab":{"a":{}})"), "model.vocab: found a list or record"},
          wrong{model(R"("type":"BPE","merges":[],"vocab":[["a",1]])"),
                "model.vocab: found a list of tokens with scores"},
          wrong{model(R"("type":"Unigram","unk_id":2,"vocab":[["a",0],["b",-1.5]])"),
                "model.unk_id: found 2, expected an integer from 0 to 1"},
          wrong{model(R"("type":"Unigram","vocab":[["a",0],["b"]])"), "model: found half an entry"},
          wrong{model(R"("type":"Unigram","unk_id":null,"vocab":[["a",0]])"), "expected model.unk_id"},
          wrong{model(R"("type":"WordLevel","unk_token":"?",)" + vocab),
                "found no token ?, expected a token for unknown words"},
          wrong{R"({"added_tokens":[{"id":7,"content":"a"}],)" +
                    model(R"("type":"WordLevel","unk_token":"a",)" + vocab).substr(1),
                "added_tokens[0].id: found 7, expected 0, as in the vocabulary"},
          wrong{R"({"added_tokens":[{"id":7,"content":"x"}],)" +
                    model(R"("type":"WordLevel","unk_token":"a",)" + vocab).substr(1),
                "added_tokens[0].id: found 7, expected 3, the next one"},
          wrong{R"({"added_tokens":[{"id":3,"content":"x"},{"id":3,"content":"x"}],)" +
                    model(R"("type":"WordLevel","unk_token":"a",)" + vocab).substr(1),
                "added_tokens[1].id: found 3, expected 4"},
          wrong{
              R"({"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":0}}],"pair":[],"special_tokens":{}},)" +
                  model(R"("type":"WordLevel","unk_token":"a",)" + vocab).substr(1),
              "post_processor.single[0].SpecialToken.id: found \"x\", expected one of special_tokens"},
          wrong{R"({"decoder":{"type":"CTC"},)" + model(R"("type":"WordLevel","unk_token":"a",)" + vocab).substr(1),
                "decoder.type: found \"CTC\", expected Sequence"},
      }) {
    const std::string found = error_of_file(json);
    CAPTURE(json, found);
    CHECK(found.find(message) != std::string::npos);
    CHECK(found.starts_with("tokenizer: "));
  }
}

TEST_CASE("Files with changed bytes give errors and no crash") {
  std::mt19937 random(7);
  std::size_t read = 0;
  for (const std::string name : names) {
    const std::string whole = tokamax::read_file(folder + name + ".json");
    for (int i = 0; i < 60; ++i) {
      std::string json = whole;
      for (unsigned change = 0; change < 1 + random() % 4; ++change) {
        const std::size_t at = random() % json.size(), size = random() % 30;
        switch (random() % 4) {
          case 0:
            json[at] = static_cast<char>(random() % 256);
            break;
          case 1:
            json.erase(at, size);
            break;
          case 2:
            json.insert(at, whole.substr(random() % whole.size(), size));
            break;
          default:
            json[at] = "\"[]{}:,0-19\\ue"[random() % 14];
            break;
        }
      }
      try {
        const tokenizer t = tokenizer::from_json(json);
        ++read;
        for (const char* text : {"", "The dog's 日本語 <mask>  é\n12 word trim", "▁ĠĊ <|endoftext|>\u0301"}) {
          const encoding e = t.encode(text);
          t.decode(e.ids);
          streamed(t, t.ids(text));
        }
        t.encode("a", "b", true);
      } catch (const tokamax::error& e) {
        CHECK(std::string_view(e.what()).size() < 10000);
      }
    }
  }
  CHECK(read > 20);
}

TEST_CASE("Threads share a tokenizer") {
  const std::vector<std::string> texts = lines_of("texts.txt");
  for (const std::string name : {"llama3", "bert", "t5"}) {
    const tokenizer t = tokenizer::from_file(folder + name + ".json");
    std::vector<std::string> expected;
    for (const std::string& text : texts) expected.push_back(row(t, encode(t, text)));
    std::array<bool, 4> equal{};
    std::vector<std::thread> threads;
    for (bool& e : equal)
      threads.emplace_back([&] {
        e = true;
        for (int round = 0; round < 5; ++round)
          for (std::size_t i = 0; i < texts.size(); ++i) e = e && row(t, encode(t, texts[i])) == expected[i];
      });
    for (std::thread& one : threads) one.join();
    CHECK(equal == std::array{true, true, true, true});
  }
}

TEST_CASE("Long texts and long words take time in proportion") {
  const tokenizer t = tokenizer::from_file(folder + "gpt2.json");
  std::string word;
  std::mt19937 random(3);
  for (int i = 0; i < 200000; ++i) word += static_cast<char>('a' + random() % 26);
  CHECK(t.decode(t.ids(word)) == word);
  const tokenizer u = tokenizer::from_file(folder + "t5.json");
  CHECK(u.ids(std::string(200000, 'e')).size() > 10000);
}
