// tokamax/text/precompiled.hpp: SentencePiece's own normaliser, a map of characters that its files hold as a double array.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/text/unicode.hpp>  // change

#include <optional>  // optional
#include <utility>   // pair

namespace tokamax::text {

/// The bytes that a text in base 64 stands for, or nothing if it stands for none.
inline std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0, count = 0;
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  for (const char c : text) {
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(static_cast<unsigned char>(bits >> count));
  }
  return bytes;
}

/// A map from texts to texts.
/// source  the field precompiled_charsmap of SentencePiece's models; the crate spm_precompiled, whose oddities are kept
class precompiled_map {
 public:
  /// `bytes`: the size of a double array (4 bytes, the least first), the array, and texts with a zero byte behind each.
  explicit precompiled_map(std::string_view bytes, const std::string& where) {
    const std::size_t size = bytes.size() < 4 ? bytes.size() : std::size_t{number(bytes, 0)};
    if (bytes.size() < 4 || size % 4 != 0 || size > bytes.size() - 4)
      throw error(error_kind::file, "tokenizer: precompiled_charsmap", std::to_string(bytes.size()) + " bytes",
                  "a double array and texts", where);
    for (std::size_t at = 4; at < 4 + size; at += 4) units_.push_back(number(bytes, at));
    texts_ = bytes.substr(4 + size);
    if (valid_utf8(texts_) != texts_.size())
      throw error(error_kind::file, "tokenizer: precompiled_charsmap", "texts that are not UTF-8", "UTF-8", where);
  }

  /// The changes of a text. Clusters of characters are looked up, and if they are not there, their characters.
  std::vector<change> normalized(std::string_view text) const {
    std::vector<change> result;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = cluster_end(text, begin);
      const std::string_view cluster = text.substr(begin, end - begin);
      begin = end;
      if (cluster.size() < 6 && replace(cluster, result)) continue;
      for_each_code(cluster, [&](char32_t c, std::size_t at) {
        if (!replace(cluster.substr(at, decode_utf8(cluster, at).length), result)) result.push_back({c, 0});
      });
    }
    return result;
  }

  /// What stands for the longest text in the map with which another one begins, and that text's size; 0 if there is none.
  std::pair<std::size_t, std::string_view> longest(std::string_view text) const {
    std::pair<std::size_t, std::string_view> result{0, {}};
    prefixes(text, [&](std::size_t size, std::string_view with) { return result = {size, with}, true; });
    return result;
  }

 private:
  static std::uint32_t number(std::string_view bytes, std::size_t at) {
    std::uint32_t result = 0;
    for (std::size_t i = 4; i-- > 0;) result = result << 8 | static_cast<unsigned char>(bytes[at + i]);
    return result;
  }
  static std::size_t cluster_end(std::string_view text, std::size_t begin) {
    utf8proc_int32_t state = 0;
    utf8_step one = decode_utf8(text, begin);
    std::size_t end = begin + one.length;
    while (end < text.size()) {
      const utf8_step next = decode_utf8(text, end);
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(one.code),
                                           static_cast<utf8proc_int32_t>(next.code), &state))
        break;
      end += next.length;
      one = next;
    }
    return end;
  }
  // Calls f(size, text) for the texts in the map with which `key` begins, the shortest first, until f returns false.
  template <class F>
  void prefixes(std::string_view key, F f) const {
    if (units_.empty()) return;
    const auto offset = [](std::uint32_t unit) { return std::size_t{unit >> 10} << ((unit & (1u << 9)) >> 6); };
    std::size_t at = offset(units_[0]);
    for (std::size_t size = 1; size <= key.size(); ++size) {
      const std::uint32_t label = static_cast<unsigned char>(key[size - 1]);
      at ^= label;
      if (label == 0 || at >= units_.size() || (units_[at] & 0x800000FFu) != label) return;
      const bool leaf = units_[at] >> 8 & 1;
      at ^= offset(units_[at]);
      if (!leaf) continue;
      const std::size_t place = at < units_.size() ? units_[at] & 0x7FFFFFFFu : texts_.size();
      if (place >= texts_.size() || continues_code_point(texts_[place])) return;
      if (!f(size, std::string_view(texts_).substr(place, texts_.find('\0', place) - place))) return;
    }
  }
  bool replace(std::string_view old, std::vector<change>& to) const {
    std::optional<std::string_view> with;
    prefixes(old, [&](std::size_t, std::string_view text) { return with = text, false; });
    if (!with) return false;
    int more = 0;  // characters than there were
    for_each_code(old, [&](char32_t, std::size_t) { --more; });
    for_each_code(*with, [&](char32_t c, std::size_t) {
      to.push_back({c, 0});
      ++more;
    });
    for (std::size_t i = to.size(); more > 0; --more) to[--i].by = 1;
    if (more < 0 && !to.empty()) to.back().by += more;
    return true;
  }

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace tokamax::text
