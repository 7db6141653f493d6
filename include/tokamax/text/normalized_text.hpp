// tokamax/text/normalized_text.hpp: a text that is changed and cut into pieces, with the original bytes of each byte.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
#pragma once

#include <tokamax/text/unicode.hpp>  // change

#include <cstdint>  // uint32_t
#include <utility>  // move

namespace tokamax::text {

/// Bytes or characters from `begin` to before `end`.
struct extent_of_text {
  std::uint32_t begin, end;
  friend bool operator==(const extent_of_text&, const extent_of_text&) = default;
};

/// A part of a normalised text. `token` is that of an added token, which is not changed and not cut any more.
struct piece {
  std::uint32_t begin, end;
  std::int32_t token = -1;
};

/// The normalised text, its pieces, and for each of its bytes the original bytes that it comes from.
/// source  NormalizedString and PreTokenizedString of `tokenizers`, in one buffer for all pieces
class normalized_text {
 public:
  /// The original stays the caller's.
  explicit normalized_text(std::string_view original) : original_(original), text_(original) {
    if (!original.empty()) pieces_.push_back({0, static_cast<std::uint32_t>(original.size())});
  }
  std::string_view original() const { return original_; }
  const std::vector<piece>& pieces() const { return pieces_; }
  std::string_view text(const piece& p) const { return std::string_view(text_).substr(p.begin, p.end - p.begin); }

  /// The original bytes of one byte of the normalised text.
  extent_of_text origin(std::uint32_t at) const {
    if (!origins_.empty()) return origins_[at];
    std::uint32_t begin = at, end = at + 1;  // nothing is changed, and a character is not cut
    while (continues_code_point(text_[begin])) --begin;
    while (end < text_.size() && continues_code_point(text_[end])) ++end;
    return {begin, end};
  }
  /// The original bytes of a range; of one that is empty, the place of its next byte.
  extent_of_text origin(std::uint32_t begin, std::uint32_t end) const {
    return {origin(begin).begin, begin == end ? origin(begin).begin : origin(end - 1).end};
  }

  /// Takes the characters that a change puts in the place of a piece.
  class writer {
   public:
    /// The first original byte of the piece.
    std::uint32_t origin() const { return first_.begin; }
    /// Puts a character in the place of that at byte `at` of the piece.
    void put(char32_t code, std::size_t at) {
      append_utf8(text_, code);
      origins_.resize(text_.size(), origin_of(at));
    }
    /// Puts a text in the place of what ends before byte `end` of the piece.
    void insert(std::string_view text, std::size_t end) {
      text_ += text;
      origins_.resize(text_.size(), end > 0 ? origin_of(end - 1) : first_);
    }
    /// Puts bytes that come from original bytes of the piece, counted from its beginning: byte i from those between two places,
    /// `from[i]` and `from[i + 1]`.
    void put(std::string_view text, const std::vector<std::uint32_t>& from) {
      const auto place = [&](std::uint32_t at) {
        return at < piece_.end - piece_.begin ? origin_of(at).begin : at > 0 ? origin_of(at - 1).end : first_.begin;
      };
      text_ += text;
      for (std::size_t i = 0; i < text.size(); ++i) origins_.push_back({place(from[i]), place(from[i + 1])});
    }
    /// Keeps some bytes of the piece.
    void keep(std::size_t begin, std::size_t end) {
      text_.append(from_.text_, piece_.begin + begin, end - begin);
      for (std::size_t at = begin; at < end; ++at) origins_.push_back(origin_of(at));
    }
    /// Puts changed characters in the place of all that begins at byte `at` of the piece.
    void put(const std::vector<change>& changes, std::size_t at = 0) {
      const std::string_view old = from_.text(piece_);
      for (const change& c : changes) {
        std::string one;
        append_utf8(one, c.code);
        if (c.by > 0) {
          insert(one, at);
          continue;
        }
        put(c.code, at);
        for (int skipped = c.by; skipped <= 0 && at < old.size(); ++skipped) at += decode_utf8(old, at).length;
      }
    }

   private:
    friend class normalized_text;
    explicit writer(const normalized_text& from) : from_(from) {
      text_.reserve(from.text_.size() + 16);
      origins_.reserve(from.text_.size() + 16);
    }
    void begin(const piece& p) {
      piece_ = p;
      const std::uint32_t at = from_.origin(p.begin).begin;
      first_ = {at, at};
    }
    extent_of_text origin_of(std::size_t at) const {
      return from_.origin(piece_.begin + static_cast<std::uint32_t>(at));
    }

    const normalized_text& from_;
    std::string text_;
    std::vector<extent_of_text> origins_;
    piece piece_{};
    extent_of_text first_{};  // of what is put before a piece and comes from none of its bytes
  };

  /// Calls f(text of the piece, writer) for each piece that is no token; pieces without a text are left out.
  template <class F>
  void rewrite(F f) {
    writer to(*this);
    std::vector<piece> pieces;
    pieces.reserve(pieces_.size());
    for (const piece& p : pieces_) {
      to.begin(p);
      const auto begin = static_cast<std::uint32_t>(to.text_.size());
      if (p.token >= 0)
        to.keep(0, p.end - p.begin);
      else
        f(text(p), to);
      if (to.text_.size() > most_bytes)
        throw error(error_kind::resource, "text: normalised", "more bytes", "at most " + std::to_string(most_bytes));
      const auto end = static_cast<std::uint32_t>(to.text_.size());
      if (end > begin) pieces.push_back({begin, end, p.token});
    }
    text_ = std::move(to.text_);
    origins_ = std::move(to.origins_);
    pieces_ = std::move(pieces);
  }

  /// Calls f(text of the piece, take) for each piece that is no token. take(begin, end, token = -1) makes a piece of a part.
  template <class F>
  void split(F f) {
    std::vector<piece> pieces;
    pieces.reserve(pieces_.size() + text_.size() / 4);
    for (const piece& p : pieces_) {
      if (p.token >= 0) {
        pieces.push_back(p);
        continue;
      }
      f(text(p), [&](std::size_t begin, std::size_t end, std::int32_t token = -1) {
        if (end > begin)
          pieces.push_back(
              {p.begin + static_cast<std::uint32_t>(begin), p.begin + static_cast<std::uint32_t>(end), token});
      });
    }
    pieces_ = std::move(pieces);
  }

  /// The most bytes of a text, before and after all changes.
  static constexpr std::size_t most_bytes = std::size_t{1} << 30;

 private:
  std::string_view original_;
  std::string text_;
  std::vector<extent_of_text> origins_;  // of each byte; empty while the text is the original
  std::vector<piece> pieces_;
};

}  // namespace tokamax::text
