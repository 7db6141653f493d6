// tests/fuzz/vocabulary.cpp: texts and vocabularies of any bytes, split, cut into windows, shuffled and read in batches.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data.hpp>

#include <cstring>

#include "fuzz/fuzz.hpp"

namespace data = tokamax::data;

namespace {
struct example {
  tokamax::array inputs, targets;
};
// The first bytes as a number, which are taken off.
template <class Number>
Number take(std::string_view& bytes) {
  Number number{};
  std::memcpy(&number, bytes.data(), std::min(bytes.size(), sizeof number));
  bytes.remove_prefix(std::min(bytes.size(), sizeof number));
  return number;
}
}  // namespace

void fuzz(std::string_view bytes) {
  const auto share = take<double>(bytes);
  const data::position at{take<std::int64_t>(bytes), take<std::int64_t>(bytes)};
  const std::int64_t length = take<std::int8_t>(bytes), stride = take<std::int8_t>(bytes),
                     count = take<std::int8_t>(bytes);
  const std::string symbols(bytes.substr(0, bytes.find('\n')));
  only_errors([&] { data::vocabulary{symbols}.encode(bytes); });
  only_errors([&] {
    const data::tokens text = data::text(file_with(bytes));
    const data::vocabulary known = data::characters(text);
    if (known.decode(known.encode(text.bytes())) != text.bytes()) std::abort();
    only_errors([&] {
      const auto [train, validation] = data::text_split(text, {.train = share});
      if (train.size() + validation.size() != text.size()) std::abort();
    });
    for (const data::position& from : {at, data::position{at.epoch, 0}, data::position{}})
      only_errors([&] {
        const auto batches = text | data::windows(length, {.stride = stride}) |
                             data::shuffle({.seed = static_cast<std::uint32_t>(at.index)}) |
                             data::batch<example>(count);
        auto reader = batches.from(from);
        for (int i = 0; i < 3; ++i) reader.next();
      });
  });
}
