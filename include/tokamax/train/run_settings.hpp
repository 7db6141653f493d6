// tokamax/train/run_settings.hpp: what the numbers of a run follow from, kept in its checkpoints.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/train/run_folder.cpp
// umbrella: no (what a run prints and writes; programs that do so include this header)
#pragma once

#include <tokamax/checkpoint/crc32c.hpp>    // crc32c
#include <tokamax/checkpoint/metadata.hpp>  // metadata

#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::train {

/// Identifies a text by its size and checksum.
struct text_mark {
  std::int64_t bytes = 0;
  std::uint32_t crc32c = 0;
};
inline text_mark mark_of(std::string_view text) {
  return {static_cast<std::int64_t>(text.size()), checkpoint::crc32c(std::as_bytes(std::span(text)))};
}

/// The settings that determine the numbers of a run. The names are those of the trainer's options.
struct run_settings {
  text_mark data;
  bool characters = false;
  std::int64_t layers = 0, width = 0, heads = 0, context = 0, vocabulary = 0;
  std::int64_t batch = 0, steps = 0, warmup = 0, seed = 0;
  double learning_rate = 0, final_rate = 0, weight_decay = 0, clip = 0;
  bool bf16 = false;
};

namespace detail {

template <class Record, class F>
void for_each_pair(const Record& a, const Record& b, const F& f, const std::string& before = {}) {
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    const auto one = [&](std::string name, const auto& x, const auto& y) {
      if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(x)>>)
        f(before + name, x, y);
      else
        for_each_pair(x, y, f, before + name + " ");
    };
    (one(std::string(field_name<Record, Index>), std::get<Index>(fields(a)), std::get<Index>(fields(b))), ...);
  }(std::make_index_sequence<field_count<Record>>{});
}

}  // namespace detail

/// Throws if a resumed run does not have the settings with which the checkpoint was made.
/// errors  tokamax::error that lists the settings that differ
inline void require_same(const run_settings& now, const checkpoint::metadata& saved, const std::string& where) {
  const std::string way_out = "; --allow-changes goes on all the same";
  if (!saved.has("run"))
    throw error(error_kind::file, "resume", "a checkpoint that does not say how it was made",
                "one of this program" + way_out, where);
  const auto before = saved.get<run_settings>("run");
  std::string found, expected;
  detail::for_each_pair(now, before, [&](const std::string& name, auto a, auto b) {
    if (a == b) return;
    const std::string start = (found.empty() ? "" : ", ") + name + " ";
    found += start + checkpoint::json_value::of(a).text();
    expected += start + checkpoint::json_value::of(b).text();
  });
  if (!found.empty()) throw error("resume: settings", found, expected + " as the run began" + way_out, where);
}

}  // namespace tokamax::train
