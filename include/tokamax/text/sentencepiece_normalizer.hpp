// tokamax/text/sentencepiece_normalizer.hpp: what SentencePiece makes of a text before it looks for pieces, and of pieces again.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/sentencepiece.cpp
#pragma once

#include <tokamax/text/decoder.hpp>              // decode_step, replace_all, byte_of_token
#include <tokamax/text/normalized_text.hpp>      // for its users: pieces
#include <tokamax/text/precompiled.hpp>          // precompiled_map
#include <tokamax/text/sentencepiece_model.hpp>  // sentencepiece_model

#include <set>  // set

namespace tokamax::text {

namespace detail {
inline constexpr std::string_view space_mark = "\xE2\x96\x81";
// Bytes that are no text, with U+FFFD for each byte of those that begin a character and do not end it.
inline std::string replace_bytes(std::string_view bytes) {
  std::string result;
  for (std::size_t at = 0; at < bytes.size();) {
    const utf8_step step = decode_utf8(bytes, at);
    append_utf8(result, step.code);
    at += step.valid ? step.length : 1;
  }
  return result;
}
}  // namespace detail

/// Maps characters, takes spaces away, and puts marks in their place.
/// source  github.com/google/sentencepiece, normalizer.cc
class sentencepiece_normalizer {
 public:
  sentencepiece_normalizer(const sentencepiece_file::normalizer& about, bool spaces_behind_words,
                           const std::string& where)
      : add_prefix_(about.add_dummy_prefix),
        removes_(about.remove_extra_whitespaces),
        marks_(about.escape_whitespaces),
        behind_(spaces_behind_words) {
    if (!about.character_map.empty()) map_.emplace(about.character_map, where);
  }
  /// The text, and for each byte and the end the place that it comes from. `model` may be null; its own pieces do not change.
  std::pair<std::string, std::vector<std::uint32_t>> operator()(std::string_view old,
                                                                const sentencepiece_model* model) const {
    std::string text;
    std::vector<std::uint32_t> from;
    std::size_t at = 0;
    const auto put = [&](std::string_view part) {
      text += part;
      from.resize(text.size(), static_cast<std::uint32_t>(at));
    };
    const std::string_view space = marks_ ? detail::space_mark : std::string_view(" ");
    while (removes_ && at < old.size()) {
      const auto [size, with] = next(old.substr(at), model);
      if (with != " ") break;
      at += size;
    }
    if (at < old.size() && add_prefix_ && !behind_) put(space);
    const bool any = at < old.size();
    bool after_space = removes_;
    while (at < old.size()) {
      auto [size, with] = next(old.substr(at), model);
      while (after_space && with.starts_with(' ')) with.remove_prefix(1);
      for (std::size_t i = 0; i < with.size(); ++i) put(with[i] == ' ' ? space : with.substr(i, 1));
      if (!with.empty()) after_space = removes_ && with.ends_with(' ');
      at += size;
    }
    while (removes_ && text.ends_with(space)) {
      at = from[text.size() - space.size()];
      text.resize(text.size() - space.size());
      from.resize(text.size());
    }
    if (any && add_prefix_ && behind_) put(space);
    from.push_back(static_cast<std::uint32_t>(at));
    return {std::move(text), std::move(from)};
  }

 private:
  // The bytes of the next thing that changes, and what stands for it.
  std::pair<std::size_t, std::string_view> next(std::string_view text, const sentencepiece_model* model) const {
    if (const std::size_t own = model ? model->own_piece(text) : 0) return {own, text.substr(0, own)};
    if (map_)
      if (const auto found = map_->longest(text); found.first > 0) return found;
    const std::size_t size = std::min(code_point_size(text[0]), text.size());
    return {size, text.substr(0, size)};
  }
  std::optional<precompiled_map> map_;
  bool add_prefix_, removes_, marks_, behind_;
};

/// Makes a text of pieces again.
/// source  github.com/google/sentencepiece, sentencepiece_processor.cc
inline decode_step sentencepiece_decoder(const sentencepiece_file& file, const std::string& where) {
  std::set<std::string> silent;
  std::string unknown;
  for (const auto& p : file.pieces) {
    if (p.is == sentencepiece_file::kind::control) silent.insert(p.text);
    if (p.is == sentencepiece_file::kind::unknown) unknown = p.text;
  }
  std::shared_ptr<const sentencepiece_normalizer> back;
  if (!file.behind.character_map.empty())
    back = std::make_shared<const sentencepiece_normalizer>(file.behind, false, where);
  return [=, strips = file.before.add_dummy_prefix || file.before.remove_extra_whitespaces,
          strips_all = file.before.remove_extra_whitespaces, of_bytes = file.byte_fallback,
          surface = file.unknown_surface](std::vector<std::string>& tokens, bool raw) {
    std::string text, bytes;
    bool begins = true, taken = false;  // is this the beginning, and was a space taken away there?
    const auto flush = [&] {
      text += raw ? bytes : detail::replace_bytes(bytes);
      bytes.clear();
    };
    for (std::string& t : tokens) {
      if (const int byte = of_bytes ? detail::byte_of_token(t) : -1; byte >= 0) {
        bytes += static_cast<char>(static_cast<unsigned char>(byte));
        continue;
      }
      flush();
      if (taken || !text.empty()) begins = false;
      taken = false;
      if (silent.count(t)) continue;
      if (t == unknown) {
        text += surface;
        continue;
      }
      if (begins && strips && t.starts_with(detail::space_mark)) {
        t.erase(0, detail::space_mark.size());
        taken = !strips_all;
      }
      detail::replace_all(t, detail::space_mark, " ");
      text += t;
    }
    flush();
    if (back) text = (*back)(replace_invalid(text), nullptr).first;
    tokens = {std::move(text)};
  };
}

}  // namespace tokamax::text
