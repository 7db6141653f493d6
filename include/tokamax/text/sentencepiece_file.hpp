// tokamax/text/sentencepiece_file.hpp: a model file of SentencePiece, read field by field from its protocol buffer.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/sentencepiece.cpp
#pragma once

#include <tokamax/text/utf8.hpp>  // valid_utf8

#include <bit>      // bit_cast
#include <cstdint>  // uint8_t
#include <utility>  // pair
#include <vector>   // vector

namespace tokamax::text {

/// A model of SentencePiece.
struct sentencepiece_file {
  enum class kind : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };
  enum class model_type : std::uint8_t { unigram = 1, bpe, word, character };
  struct piece {
    std::string text;
    float score = 0;
    kind is = kind::normal;
  };
  std::vector<piece> pieces;
  model_type model = model_type::unigram;
  bool byte_fallback = false, spaces_behind_words = false;
  std::string unknown_surface = " \xE2\x81\x87 ";  // what an unknown token is decoded to
  std::string bos_piece = "<s>", eos_piece = "</s>";
  struct normalizer {
    std::string character_map;
    bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
  };
  normalizer before, behind;  // texts before they are cut, and after decoding if it has a map

  /// A control symbol and its id.
  std::pair<std::string, std::uint32_t> control(const std::string& text, const std::string& where) const {
    for (std::uint32_t id = 0; id < pieces.size(); ++id)
      if (pieces[id].text == text && pieces[id].is == kind::control) return {text, id};
    throw error(error_kind::file, "sentencepiece: control symbols", "no " + text, text, where);
  }
};

namespace detail {

// The fields of a message: number, and bytes or a number.
class proto_fields {
 public:
  proto_fields(std::string_view message, const std::string& where) : bytes_(message), where_(where) {}
  std::uint32_t field = 0;
  std::uint64_t number = 0;
  std::string_view bytes;

  /// Goes on to the next field.
  bool next() {
    if (bytes_.empty()) return false;
    const std::uint64_t tag = varint();
    field = static_cast<std::uint32_t>(tag >> 3);
    number = 0, bytes = {};
    type_ = tag & 7;
    if (tag >> 3 == 0 || tag >> 3 >= 1u << 29) refuse("the field " + std::to_string(tag >> 3), "another number");
    if (type_ == 0)
      number = varint();
    else if (type_ == 1 || type_ == 5)
      fixed(take(type_ == 1 ? 8 : 4));
    else if (type_ == 2)
      bytes = take(varint());
    else
      refuse("the type " + std::to_string(type_), "0, 1, 2 or 5");
    return true;
  }
  std::string_view inner() const { return expect(2), bytes; }
  std::string text() const {
    expect(2);
    if (valid_utf8(bytes) != bytes.size()) refuse("a text that is not UTF-8", "UTF-8");
    return std::string(bytes);
  }
  std::uint64_t natural(std::uint64_t most) const {
    expect(0);
    if (number > most) refuse(std::to_string(number), "an integer from 0 to " + std::to_string(most));
    return number;
  }
  bool flag() const { return expect(0), number != 0; }
  float real() const { return expect(5), std::bit_cast<float>(static_cast<std::uint32_t>(number)); }
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw error(error_kind::file, "sentencepiece: field " + std::to_string(field), found, expected, where_);
  }

 private:
  void expect(std::uint64_t type) const {
    if (type_ != type) refuse("the type " + std::to_string(type_), std::to_string(type));
  }
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size()) refuse("the end of the file", std::to_string(size) + " more bytes");
    const std::string_view result = bytes_.substr(0, static_cast<std::size_t>(size));
    bytes_.remove_prefix(result.size());
    return result;
  }
  void fixed(std::string_view b) {
    for (std::size_t i = b.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(b[i]);
  }
  std::uint64_t varint() {
    std::uint64_t result = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      result |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return result;
    }
    refuse("a number of more than ten bytes", "at most ten");
  }
  std::string_view bytes_;
  const std::string& where_;
  std::uint64_t type_ = 0;
};

inline sentencepiece_file::piece piece_of(proto_fields f) {
  sentencepiece_file::piece p;
  while (f.next()) {
    if (f.field == 1) p.text = f.text();
    if (f.field == 2) p.score = f.real();
    if (f.field == 3) {
      if (f.natural(6) == 0) f.refuse("the kind 0", "1 to 6");
      p.is = static_cast<sentencepiece_file::kind>(f.number);
    }
  }
  if (p.text.empty()) f.refuse("a piece without a text", "a text");
  return p;
}
inline void read_trainer(proto_fields f, sentencepiece_file& to) {
  while (f.next()) {
    if (f.field == 3) {
      if (f.natural(4) == 0) f.refuse("the model 0", "1 to 4: unigram, BPE, words or characters");
      to.model = static_cast<sentencepiece_file::model_type>(f.number);
    }
    if (f.field == 24) to.spaces_behind_words = f.flag();
    if (f.field == 35) to.byte_fallback = f.flag();
    if (f.field == 44) to.unknown_surface = f.text();
    if (f.field == 46) to.bos_piece = f.text();
    if (f.field == 47) to.eos_piece = f.text();
  }
}
inline void read_normalizer(proto_fields f, sentencepiece_file::normalizer& to) {
  while (f.next()) {
    if (f.field == 2) to.character_map = f.inner();
    if (f.field == 3) to.add_dummy_prefix = f.flag();
    if (f.field == 4) to.remove_extra_whitespaces = f.flag();
    if (f.field == 5) to.escape_whitespaces = f.flag();
  }
}

}  // namespace detail

/// Reads the bytes of a model file. Fields that do not change tokens are passed over.
/// errors  tokamax::error of the kind `file` that names the field
/// source  github.com/google/sentencepiece, sentencepiece_model.proto
inline sentencepiece_file parse_sentencepiece(std::string_view bytes, const std::string& where) {
  sentencepiece_file result;
  detail::proto_fields f(bytes, where);
  while (f.next()) {
    const detail::proto_fields inner(f.field == 1 || f.field == 2 || f.field == 3 || f.field == 5 ? f.inner() : "",
                                     where);
    if (f.field == 1) result.pieces.push_back(detail::piece_of(inner));
    if (f.field == 2) detail::read_trainer(inner, result);
    if (f.field == 3) detail::read_normalizer(inner, result.before);
    if (f.field == 5) detail::read_normalizer(inner, result.behind);
  }
  if (result.pieces.empty()) f.refuse("no pieces", "a model of SentencePiece");
  return result;
}

}  // namespace tokamax::text
