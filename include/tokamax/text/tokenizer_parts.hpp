// tokamax/text/tokenizer_parts.hpp: the parts of a tokenizer, and how a text goes through them.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/text/added_tokens.hpp>              // added_token_finder
#include <tokamax/text/bpe.hpp>                       // bpe, unigram, wordpiece, word_level
#include <tokamax/text/decoder.hpp>                   // add_decoder
#include <tokamax/text/gguf_tokenizer.hpp>            // for its users: tokenizer_of
#include <tokamax/text/post_processor.hpp>            // add_post_processor
#include <tokamax/text/sentencepiece_normalizer.hpp>  // sentencepiece_normalizer
#include <tokamax/text/tekken.hpp>                    // for its users: parse_tekken
#include <tokamax/text/tiktoken.hpp>                  // for its users: parse_tiktoken

#include <mutex>          // mutex
#include <unordered_map>  // unordered_map

namespace tokamax::text::detail {

// Memory for one thread at a time, lent to calls.
class lent_memories {
 public:
  std::unique_ptr<model_memory> take(const model& m) const {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<model_memory> one = std::move(idle_.back());
        idle_.pop_back();
        return one;
      }
    }
    return m.memory();
  }
  void give_back(std::unique_ptr<model_memory> one) const {
    if (!one) return;
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(one));
  }

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<model_memory>> idle_;
};

// What a file says of the number of tokens.
struct lengths {
  std::optional<std::size_t> most;  // longer texts are cut
  bool cut_left = false;
  std::optional<std::size_t> fixed;  // shorter texts are padded
  std::size_t multiple = 0;
  bool pad_left = false;
  std::int32_t pad_id = 0, pad_type = 0;
  std::string pad_token;
};

inline bool is_left(const json_field& about) {
  const std::string name = about.text("Right");
  if (name != "Left" && name != "Right") about.refuse("Left or Right");
  return name == "Left";
}
inline lengths lengths_of(const json_field& file) {
  lengths result;
  if (const json_field cut = file["truncation"]; !cut.absent()) {
    result.most = cut["max_length"].natural(1u << 30);
    result.cut_left = is_left(cut["direction"]);
    const std::string strategy = cut["strategy"].text("LongestFirst");
    if (strategy != "LongestFirst") cut["strategy"].refuse("LongestFirst");
  }
  if (const json_field pad = file["padding"]; !pad.absent()) {
    const json_field strategy = pad["strategy"];
    if (strategy.value().is_object())
      result.fixed = strategy["Fixed"].natural(1u << 24);
    else if (strategy.text() != "BatchLongest")
      strategy.refuse("BatchLongest or Fixed");
    result.pad_left = is_left(pad["direction"]);
    if (const json_field multiple = pad["pad_to_multiple_of"]; !multiple.absent())
      result.multiple = multiple.natural(1u << 20);
    result.pad_id = static_cast<std::int32_t>(pad["pad_id"].natural(largest_token_id));
    result.pad_type = static_cast<std::int32_t>(pad["pad_type_id"].natural(1u << 30));
    result.pad_token = pad["pad_token"].text();
  }
  return result;
}

struct tokenizer_parts {
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 28;  // of a file

  tokenizer_parts(const tokenizer_json& file, const std::string& where) {
    const json_field whole(file.rest, "", where);
    add_normalizer(whole["normalizer"], normalize_);
    pre_tokenizer pre;
    add_pre_tokenizer(whole["pre_tokenizer"], pre);
    read_model(whole["model"], file, pre.ends_in_bytes);
    cut_ = std::move(pre.steps);
    if (pre.ends_in_bytes && !words_are_bytes_) cut_.push_back(characters_of_bytes);
    add_post_processor(whole["post_processor"], post_);
    if (!whole["decoder"].absent()) {
      add_decoder(whole["decoder"], decode_.emplace());
    }
    read_added(whole["added_tokens"], false);
    read_frames();
    lengths_ = lengths_of(whole);
  }

  /// A tokenizer of bytes by their ranks, a pattern that cuts texts, and a list of added tokens.
  tokenizer_parts(const tokenizer_json& file, const std::string& expression, const nlohmann::json& added,
                  const std::string& where) {
    const nlohmann::json about{{"type", "BPE"}, {"ignore_merges", true}};
    cut_.push_back([by = std::make_shared<const pattern>(expression, where, pattern_language::rust)](
                       normalized_text& t) { split_by(t, delimiter::isolated, *by, false); });
    read_model(json_field(about, "model", where), file, true);
    decode_.emplace().push_back(decode_bytes);
    read_added(json_field(added, "special_tokens", where), true);
    read_frames();
  }

  /// The tokenizer of a model of SentencePiece. Control symbols are special tokens; they are not found in texts, unless `added`
  /// has them.
  tokenizer_parts(const sentencepiece_file& file, const nlohmann::json& frame, const nlohmann::json& added,
                  const std::string& where) {
    auto made = std::make_unique<sentencepiece_model>(file, where);
    normalize_.push_back(
        [by = std::make_shared<const sentencepiece_normalizer>(file.before, file.spaces_behind_words, where),
         pieces = made.get()](normalized_text& t) {
          t.rewrite([&](std::string_view old, normalized_text::writer& to) {
            const auto [text, from] = (*by)(old, pieces);
            to.put(text, from);
          });
        });
    model_ = std::move(made);
    decode_.emplace().push_back(sentencepiece_decoder(file, where));
    for (std::uint32_t id = 0; id < file.pieces.size(); ++id)
      if (file.pieces[id].is == sentencepiece_file::kind::control) mark_special(id);
    read_added(json_field(added, "added_tokens", where), false);
    add_post_processor(json_field(frame, "post_processor", where), post_);
    read_frames();
  }

  /// The tokenizer of a file of Mistral, whose special tokens are not found in texts.
  tokenizer_parts(const tekken_file& file, const nlohmann::json& frame, const std::string& where)
      : tokenizer_parts(file.ranks, file.pattern, file.special_tokens, where) {
    before_ = after_ = {};
    add_post_processor(json_field(frame, "post_processor", where), post_);
    for (std::vector<std::int32_t>& f : frame_) f.clear();
    read_frames();
  }

  encoding encode(std::span<const std::string_view> texts, bool special) const {
    std::vector<encoding> all;
    for (std::size_t i = 0; i < texts.size(); ++i) all.push_back(encode_one(texts[i], static_cast<std::int32_t>(i)));
    truncate(all, special);
    for (const post_step& step : post_) step(all, special);
    encoding result = std::move(all[0]);
    for (std::size_t i = 1; i < all.size(); ++i) result.append(all[i]);
    pad(result);
    return result;
  }
  std::vector<std::int32_t> ids(std::string_view text, bool special) const {
    if (lengths_.most || lengths_.fixed || lengths_.multiple) return encode(std::span(&text, 1), special).ids;
    std::vector<std::int32_t> result;
    each_token(text, [&](const normalized_text&, const piece&, const word_token& t, std::int32_t) {
      result.push_back(static_cast<std::int32_t>(t.id));
    });
    return frame_[special].size() == 1 ? result : framed(result, special);
  }

  std::string decode(std::span<const std::int32_t> ids, bool skip_special, bool raw) const {
    std::vector<std::string> tokens;
    tokens.reserve(ids.size());
    for (const std::int32_t id : ids) {
      if (skip_special && is_special(id)) continue;
      if (auto token = token_of(id)) tokens.push_back(std::move(*token));
    }
    if (decode_) {
      for (const decode_step& step : *decode_) step(tokens, raw);
      return joined(tokens);
    }
    std::string result;
    for (const std::string& t : tokens) result += (&t == tokens.data() ? "" : " ") + t;
    return result;
  }

  std::optional<std::int32_t> id_of(std::string_view token) const {
    std::int32_t id = added_.find(token);
    if (id < 0) id = model_->vocabulary().find(token);
    return id < 0 ? std::nullopt : std::optional(id);
  }
  std::optional<std::string> token_of(std::int32_t id) const {
    const auto number = static_cast<std::uint32_t>(id);
    if (const auto at = shown_.find(number); at != shown_.end()) return at->second;
    if (id >= 0 && model_->vocabulary().has(number)) return std::string(model_->vocabulary().text(number));
    return std::nullopt;
  }
  std::int32_t size() const { return static_cast<std::int32_t>(std::max(added_.ids(), model_->vocabulary().ids())); }
  bool is_special(std::int32_t id) const {
    return id >= 0 && static_cast<std::size_t>(id) < special_.size() && special_[static_cast<std::size_t>(id)];
  }

 private:
  void read_model(const json_field& about, const tokenizer_json& file, bool of_bytes) {
    std::string type = about["type"].text("");
    if (type.empty())  // files of the first years do not say it
      type = about.value().contains("merges")                      ? "BPE"
             : !file.scores.empty()                                ? "Unigram"
             : about.value().contains("continuing_subword_prefix") ? "WordPiece"
                                                                   : "WordLevel";
    if (type == "BPE") {
      auto made = std::make_unique<bpe>(about, file, of_bytes);
      words_are_bytes_ = made->of_bytes();
      model_ = std::move(made);
    } else if (type == "WordPiece") {
      model_ = std::make_unique<wordpiece>(about, file);
    } else if (type == "Unigram") {
      model_ = std::make_unique<unigram>(about, file);
    } else if (type == "WordLevel") {
      model_ = std::make_unique<word_level>(about, file);
    } else {
      about["type"].refuse("BPE, WordPiece, Unigram or WordLevel");
    }
  }
  void mark_special(std::uint32_t id) {
    special_.resize(std::max<std::size_t>(special_.size(), id + std::size_t{1}));
    special_[id] = true;
  }
  void read_added(const json_field& about, bool any_ids) {
    std::vector<added_token> tokens = added_tokens_of(about, model_->vocabulary(), any_ids);
    added_ = token_table(tokens.size());
    std::vector<std::string> as_it_is, normalized;
    for (const added_token& t : tokens) {
      added_.insert(t.content, t.id);
      if (t.special) mark_special(t.id);
      as_it_is.push_back(t.normalized ? "" : t.content);
      normalized.emplace_back();
      if (t.normalized) {
        normalized_text content(t.content);
        for (const text_step& step : normalize_) step(content);
        for (const piece& p : content.pieces()) normalized.back() += content.text(p);
      }
      shown_[t.id] = t.normalized ? normalized.back() : t.content;
    }
    before_ = added_token_finder(tokens, as_it_is);
    after_ = added_token_finder(std::move(tokens), normalized);
  }
  // Asks the post-processor what it puts around one text and two.
  void read_frames() {
    for (const bool special : {false, true}) {
      std::vector<encoding> one(1), two(2);
      one[0].append_frame(-1, "", 0);
      for (const post_step& step : post_) step(one, special), step(two, special);
      for (const encoding& e : one) frame_[special].insert(frame_[special].end(), e.ids.begin(), e.ids.end());
      for (const encoding& e : two) framing_of_two_ += e.size();
    }
  }

  // Calls f(text, piece, token, number of the piece) for each token.
  template <class F>
  void each_token(std::string_view original, F f) const {
    if (original.size() > normalized_text::most_bytes)
      throw error("tokenizer: text", std::to_string(original.size()) + " bytes",
                  "at most " + std::to_string(normalized_text::most_bytes));
    if (const std::size_t valid = valid_utf8(original); valid != original.size())
      throw error("tokenizer: text", "a byte that is not UTF-8 at " + std::to_string(valid),
                  "UTF-8; text::replace_invalid makes it of any bytes");
    normalized_text text(original);
    before_.split(text);
    for (const text_step& step : normalize_) step(text);
    after_.split(text);
    for (const text_step& step : cut_) step(text);
    std::unique_ptr<model_memory> memory = memories_.take(*model_);
    std::vector<word_token> tokens;
    std::int32_t number = 0;
    for (const piece& p : text.pieces()) {
      tokens.clear();
      if (p.token >= 0)
        tokens.push_back({static_cast<std::uint32_t>(p.token), 0, p.end - p.begin, true});
      else
        model_->tokenize(text.text(p), memory.get(), tokens);
      for (const word_token& t : tokens) f(text, p, t, number);
      ++number;
    }
    memories_.give_back(std::move(memory));
  }
  encoding encode_one(std::string_view original, std::int32_t type_id) const {
    const std::vector<std::uint32_t> characters = characters_of(original);
    encoding result;
    each_token(original, [&](const normalized_text& text, const piece& p, const word_token& t, std::int32_t word) {
      result.ids.push_back(static_cast<std::int32_t>(t.id));
      if (t.own)
        result.tokens.emplace_back(text.text(p).substr(t.begin, t.end - t.begin));
      else
        result.tokens.emplace_back(model_->vocabulary().text(t.id));
      const extent_of_text bytes = text.origin(p.begin + t.begin, p.begin + t.end);
      if (characters.empty())
        result.offsets.push_back({bytes.begin, bytes.end});
      else
        result.offsets.push_back({characters[bytes.begin], characters[bytes.end]});
      result.words.push_back(word);
    });
    result.type_ids.assign(result.size(), type_id);
    result.attention_mask.assign(result.size(), 1);
    result.special_tokens_mask.assign(result.size(), 0);
    return result;
  }
  // The number of characters before each byte and the end; nothing if each byte is one.
  static std::vector<std::uint32_t> characters_of(std::string_view text) {
    std::vector<std::uint32_t> result;
    if (std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
      return result;
    result.reserve(text.size() + 1);
    std::uint32_t count = 0;
    for (const char c : text) {
      count += !continues_code_point(c);
      result.push_back(count - 1);
    }
    result.push_back(count);
    return result;
  }

  std::vector<std::int32_t> framed(const std::vector<std::int32_t>& ids, bool special) const {
    std::vector<std::int32_t> result;
    result.reserve(ids.size() + frame_[special].size());
    for (const std::int32_t id : frame_[special]) {
      if (id < 0)
        result.insert(result.end(), ids.begin(), ids.end());
      else
        result.push_back(id);
    }
    return result;
  }
  // Cuts texts so that they have the length of the file together with the tokens that frame them.
  void truncate(std::vector<encoding>& all, bool special) const {
    if (!lengths_.most) return;
    const std::size_t framing = !special ? 0 : all.size() == 1 ? frame_[1].size() - 1 : framing_of_two_;
    const std::size_t most = *lengths_.most > framing ? *lengths_.most - framing : 0;
    const auto cut = [&](encoding& e, std::size_t count) {
      if (count < e.size()) e.keep(lengths_.cut_left ? e.size() - count : 0, count);
    };
    if (all.size() == 1) return cut(all[0], most);
    if (all[0].size() + all[1].size() <= most) return;
    encoding& shorter = all[0].size() > all[1].size() ? all[1] : all[0];
    encoding& longer = all[0].size() > all[1].size() ? all[0] : all[1];
    std::size_t n1 = shorter.size(), n2 = n1 > most ? n1 : std::max(n1, most - n1);
    if (n1 + n2 > most) {
      n1 = most / 2;
      n2 = n1 + most % 2;
    }
    cut(shorter, n1);
    cut(longer, n2);
  }
  void pad(encoding& e) const {
    std::size_t size = std::max(e.size(), lengths_.fixed.value_or(0));
    if (lengths_.multiple > 0) size = (size + lengths_.multiple - 1) / lengths_.multiple * lengths_.multiple;
    encoding padding;
    for (std::size_t i = e.size(); i < size; ++i)
      padding.append_frame(lengths_.pad_id, lengths_.pad_token, lengths_.pad_type, false);
    if (lengths_.pad_left) std::swap(e, padding);
    e.append(padding);
  }

  text_steps normalize_, cut_;
  std::unique_ptr<model> model_;
  bool words_are_bytes_ = false;       // and not the characters that stand for them
  added_token_finder before_, after_;  // they look for added tokens before and after a text is normalised
  token_table added_;
  std::unordered_map<std::uint32_t, std::string> shown_;  // added tokens as they stand in a normalised text
  std::vector<bool> special_;                             // of ids
  std::vector<post_step> post_;
  std::optional<std::vector<decode_step>> decode_;
  lengths lengths_;
  std::array<std::vector<std::int32_t>, 2> frame_;  // ids around a text, which is -1, without and with special tokens
  std::size_t framing_of_two_ = 0;                  // the number of special tokens around two texts
  lent_memories memories_;
};

}  // namespace tokamax::text::detail
