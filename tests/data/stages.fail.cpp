// expects: tokamax: shuffle needs elements by index
// expects: tokamax: slice needs elements by index
// expects: tokamax: cache needs elements by index
// expects: tokamax: repeat comes too late: this stream has no end
// expects: tokamax: batch stacks windows, or elements that are the record itself
// tests/data/stages.fail.cpp: stages that need an index or an end after stages that have none.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data.hpp>

namespace data = tokamax::data;

struct pair {
  tokamax::array a, b;
};
#if defined(TOKAMAX_FIXED)
const auto stream = data::range(3);
using row = pair;
#else
const auto stream = data::range(3) | data::filter([](std::int64_t i) { return i > 0; });
using row = tokamax::array;
#endif

int main() {
  (void)(stream | data::shuffle());
  (void)(stream | data::slice(0, 2));
  (void)(stream | data::cache());
  (void)(stream | data::repeat(1));
  (void)(data::list(std::vector<row>(2)) | data::batch<pair>(2))[0];
}
