// tests/text/sentencepiece.cpp: model files of SentencePiece, Mistral and llama.cpp beside what the libraries themselves give, and wrong ones.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/system/file.hpp>
#include <tokamax/text/decode_stream.hpp>
#include <tokamax/text/tokenizer.hpp>

#include <array>
#include <fstream>
#include <random>
#include <sstream>

#include "support/catch.hpp"
#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

using tokamax::test::error_of;
using tokamax::text::encoding;
using tokamax::text::tokenizer;

namespace {

const std::string folder = TOKAMAX_ROOT "/tests/golden/sentencepiece/";

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> result;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) result.push_back(line);
  return result;
}
std::string from_hex(std::string_view digits) {
  std::string result;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    result += static_cast<char>(static_cast<unsigned char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  return result;
}
std::vector<std::string> texts() {
  std::vector<std::string> result;
  for (const std::string& line : lines_of(TOKAMAX_ROOT "/tests/golden/tokenizers/texts.txt"))
    if (line.find('|') == std::string::npos) result.push_back(from_hex(line));
  return result;
}
// As make_sentencepiece.py writes it.
std::string row(const tokenizer& t, const encoding& e) {
  std::ostringstream out;
  for (std::size_t i = 0; i < e.size(); ++i)
    out << e.ids[i] << ':' << e.offsets[i].begin << '-' << e.offsets[i].end << ' ';
  out << "| ";
  for (const char c : t.decode(e.ids)) {
    out << "0123456789abcdef"[static_cast<unsigned char>(c) >> 4]
        << "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return out.str();
}
void check_rows(const tokenizer& t, const std::string& name) {
  const std::vector<std::string> all = texts(), rows = lines_of(folder + name + ".txt");
  REQUIRE(rows.size() >= 60);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(name, i, all[i]);
    const encoding e = t.encode(all[i]);
    CHECK(row(t, t.encode(all[i], false)) == rows[i]);
    CHECK(t.ids(all[i]) == e.ids);
    tokamax::text::decode_stream stream(t);
    std::string streamed;
    for (const std::int32_t id : e.ids) streamed += stream.put(id);
    streamed += stream.finish();
    if (name != "plain") CHECK(streamed == t.decode(e.ids));  // its map changes several tokens together
  }
}
// A field of a message whose value is bytes.
std::string field(int number, const std::string& bytes) {
  std::string result{static_cast<char>(number << 3 | 2)};
  for (std::size_t size = bytes.size(); size > 0 || result.size() == 1; size >>= 7)
    result += static_cast<char>((size & 127) | (size > 127 ? 128 : 0));
  return result + bytes;
}
std::string piece(const std::string& text, char kind = 1) {
  return field(1, field(1, text) + std::string{'\x18', kind});
}

}  // namespace

TEST_CASE("Models of SentencePiece give what the library gives") {
  for (const std::string name : {"unigram", "bpe", "suffix", "plain", "character", "word"})
    check_rows(tokenizer::from_sentencepiece(folder + name + ".model"), name);
}

TEST_CASE("Vocabularies of SentencePiece and BERT in GGUF files give the same") {
  check_rows(tokenizer::from_gguf(folder + "llama.gguf"), "llama");
  const tokenizer llama = tokenizer::from_gguf(folder + "llama.gguf"),
                  bert = tokenizer::from_gguf(folder + "bert.gguf");
  CHECK(llama.encode("a").tokens.front() == "<s>");  // llama.cpp adds it unless the file says no
  CHECK(llama.ids("a</s>", false).back() == 2);
  const std::vector<std::string> all = texts(), rows = lines_of(folder + "bert.txt");
  REQUIRE(rows.size() == 100);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i, all[i]);
    CHECK(row(bert, bert.encode(all[i])) == rows[i]);
  }
}

TEST_CASE("A GGUF file whose tokens are no texts is refused") {
  const temporary_folder own;
  std::string bytes = tokamax::read_file(folder + "bert.gguf");
  bytes[bytes.find("[UNK]") + 4] = '\xA6';
  CHECK(error_of([&] {
          tokenizer::from_gguf(own.write("x.gguf", bytes));
        }).starts_with("gguf: text: found a byte that is not UTF-8, expected UTF-8"));
}

TEST_CASE("A tekken.json gives what tiktoken gives, behind the special tokens") {
  const tokenizer t = tokenizer::from_tekken(folder + "mistral.json");
  const std::vector<std::string> all = texts(), rows = lines_of(folder + "mistral.txt");
  REQUIRE(rows.size() == 60);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i, all[i]);
    std::ostringstream out;
    for (const std::int32_t id : t.ids(all[i])) out << (out.tellp() > 0 ? " " : "") << id;
    CHECK(out.str() == rows[i]);
    CHECK(t.decode(t.ids(all[i])) == all[i]);
  }
  CHECK(t.size() == 360);
  CHECK(t.id_of("[INST]") == 3);
  CHECK(t.token_of(5) == "<SPECIAL_5>");
  CHECK(t.is_special(9));
  CHECK(!t.is_special(10));
  CHECK(t.ids("[INST]").size() > 1);  // special tokens are not found in texts
  const tokenizer framed =
      tokenizer::from_tekken(folder + "mistral.json", {.add_bos_token = true, .add_eos_token = true});
  CHECK(framed.ids("").size() == 2);
  CHECK(framed.ids("", false).empty());
  const temporary_folder own;
  const std::string whole = tokamax::read_file(folder + "mistral.json");
  const auto error_of_change = [&](const std::string& from, const std::string& to) {
    std::string changed = whole;
    changed.replace(changed.find(from), from.size(), to);
    return error_of([&] { tokenizer::from_tekken(own.write("tekken.json", changed)); });
  };
  for (const auto& [from, to, message] : {
           std::tuple{"\"rank\":1,", "\"rank\":2,", "vocab[1].rank: found 2, expected 1"},
           {"\"token_bytes\":\"", "\"token_bytes\":\"?", "vocab[0].token_bytes: found"},
           {"\"default_vocab_size\":360", "\"default_vocab_size\":9", "default_vocab_size: found 9"},
           {"\"default_vocab_size\":360", "\"default_vocab_size\":9000000", "default_vocab_size: found 9000000"},
           {"\"default_vocab_size\":360", "\"default_vocab_size\":2000", "expected 1990 tokens"},
           {"\"pattern\"", "\"patterns\"", "config.pattern: found nothing"},
           {"\"vocab\":[", "\"other\":[", "vocab: found nothing, expected a list"},
       }) {
    const std::string found = error_of_change(from, to);
    CAPTURE(from, found, message);
    CHECK(found.find(message) != std::string::npos);
  }
}

TEST_CASE("Symbols of a model are control symbols, bytes and unknown ones") {
  const tokenizer t =
      tokenizer::from_sentencepiece(folder + "bpe.model", {.add_bos_token = true, .add_eos_token = true});
  const encoding e = t.encode("abab<sep>\u2603 </s>");
  CHECK(e.tokens.front() == "<s>");
  CHECK(e.tokens.back() == "</s>");
  CHECK(e.special_tokens_mask.front() == 1);
  CHECK(t.is_special(*t.id_of("<s>")));
  CHECK(!t.is_special(*t.id_of("<sep>")));
  CHECK(std::count(e.tokens.begin(), e.tokens.end(), "</s>") == 1);  // in a text it is none
  CHECK(std::count(e.tokens.begin(), e.tokens.end(), "<sep>") == 1);
  CHECK(std::count(e.tokens.begin(), e.tokens.end(), "<0x98>") == 1);
  CHECK(t.decode(e.ids) == "abab<sep>\u2603 </s>");
  const tokenizer u = tokenizer::from_sentencepiece(folder + "unigram.model");
  CHECK(u.encode("x\u2603\u2603").tokens.back() == "\u2603\u2603");
  CHECK(u.decode(u.ids("\u2603")) == " \u2047 ");
  CHECK(u.encode("").size() == 0);
  CHECK(u.encode("   ").size() == 0);
  CHECK(error_of([&] { u.encode("\xFF"); }).find("not UTF-8") != std::string::npos);
  CHECK(error_of([] { tokenizer::from_sentencepiece(folder + "none.model"); }).find("none.model") != std::string::npos);
}

TEST_CASE("Wrong model files are named by their fields") {
  const temporary_folder own;
  const auto error_of_model = [&](const std::string& bytes) {
    return error_of([&] { tokenizer::from_sentencepiece(own.write("x.model", bytes)).encode("a b"); });
  };
  const std::string unknown = piece("?", 2);
  CHECK(error_of_model(unknown + piece("a")) == "none");
  for (const auto& [bytes, message] : {
           std::pair{std::string(), "found no pieces"},
           {std::string("\x0A\x7F"), "field 1: found the end of the file, expected 127 more bytes"},
           {std::string(12, '\xFF'), "a number of more than ten bytes"},
           {std::string("\x0A\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), "field 1: found the end of the file"},
           {std::string("\x0B"), "field 1: found the type 3, expected 0, 1, 2 or 5"},
           {std::string("\x02\x01a"), "found the field 0"},
           {std::string("\x08\x01"), "field 1: found the type 0, expected 2"},
           {field(1, field(1, "")), "a piece without a text"},
           {field(1, field(1, "\xFF")), "field 1: found a text that is not UTF-8"},
           {piece("a", 7), "field 3: found 7, expected an integer from 0 to 6"},
           {piece("a", 0), "field 3: found the kind 0"},
           {piece("a"), "pieces: found no unknown piece"},
           {unknown + piece("b", 2), "pieces: found two unknown pieces"},
           {unknown + piece("a") + piece("a"), "pieces: found a twice"},
           {unknown + field(2, "\x18\x05"), "field 3: found 5"},
           {unknown + field(2, "\x98\x02\x01"), "pieces: found no piece of the byte 0"},
           {unknown + field(1, field(1, "c") + std::string("\x15\x00\x00\xC0\x7F", 5)),
            "pieces: found the score nan of c"},
           {unknown + field(3, field(2, "abc")), "precompiled_charsmap: found 3 bytes"},
       }) {
    const std::string found = error_of_model(bytes);
    CAPTURE(found, message);
    CHECK(found.find(message) != std::string::npos);
  }
  std::mt19937 random(4);
  int read = 0;
  for (const std::string name : {"unigram", "bpe", "suffix"}) {
    const std::string whole = tokamax::read_file(folder + name + ".model");
    for (int i = 0; i < 300; ++i) {
      std::string bytes = whole;
      for (unsigned change = 0; change < 1 + random() % 3; ++change)
        bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
      if (i % 5 == 0) bytes.resize(random() % bytes.size());
      const std::string found = error_of_model(bytes);
      read += found == "none";
      CHECK(found.size() < 10000);
    }
  }
  CHECK(read > 100);
}

TEST_CASE("Long texts take time in proportion with each model") {
  std::mt19937 random(3);
  std::string text;
  for (int i = 0; i < 200000; ++i) text += static_cast<char>("abehnt \n"[random() % 8]);
  for (const std::string name : {"unigram", "bpe", "suffix", "plain", "character", "word"}) {
    const tokenizer t = tokenizer::from_sentencepiece(folder + name + ".model");
    CHECK(t.ids(text).size() > 1000);
    CHECK(t.ids(std::string(200000, 'a')).size() > 0);
  }
}
