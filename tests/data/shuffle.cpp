// tests/data/shuffle.cpp: an order is a permutation, and another one in each epoch.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/counter_hash.hpp>
#include <tokamax/data/shuffle.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "support/catch.hpp"

namespace data = tokamax::data;

namespace {
struct numbers : data::dataset<numbers> {
  std::int64_t count;
  explicit numbers(std::int64_t n) : count(n) {}
  std::int64_t size() const { return count; }
  std::int64_t operator[](std::int64_t index) const { return index % count; }
};
constexpr bool is_permutation(std::int64_t size, std::uint32_t seed) {
  std::vector<char> seen(static_cast<std::size_t>(size));
  const data::permutation order(size, seed);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t to = order(i);
    if (to < 0 || to >= size || seen[static_cast<std::size_t>(to)]++) return false;
  }
  return true;
}
std::vector<std::int64_t> epoch(const auto& source, std::int64_t number) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < source.size(); ++i) result.push_back(source[number * source.size() + i]);
  return result;
}
}  // namespace

TEST_CASE("every size is permuted") {
  // At 65537 and 262145 Grain gives one element twice.
  for (const std::int64_t size : {1, 2, 3, 5, 16, 100, 255, 256, 257, 1000, 4096, 46205, 65535, 65536, 65537, 262145})
    for (const std::uint32_t seed : {0u, 1u, 52u}) CHECK(is_permutation(size, seed));
}

TEST_CASE("large sizes need no memory") {
  const std::int64_t size = 1234567891234;
  const data::permutation order(size, 27);
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < 10000; ++i) values.push_back(order(i));
  std::sort(values.begin(), values.end());
  CHECK(std::adjacent_find(values.begin(), values.end()) == values.end());
  CHECK(values.front() >= 0);
  CHECK(values.back() < size);
  CHECK(values.back() > size / 2);
}

TEST_CASE("each element reaches each place equally often") {
  constexpr int seeds = 20000;  // each takes 65536 rounds of the cipher
  int count[5][5] = {};
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const data::permutation order(5, static_cast<std::uint32_t>(data::counter_hash(9, seed)));
    for (int i = 0; i < 5; ++i) ++count[i][order(i)];
  }
  for (const auto& row : count)
    for (const int c : row) CHECK(std::abs(c - seeds / 5) < 5 * std::sqrt(seeds / 5.0));
}

TEST_CASE("epochs differ, seeds differ, nothing is lost") {
  const auto shuffled = numbers(50) | data::shuffle({.seed = 1});
  const auto other = numbers(50) | data::shuffle({.seed = 2});
  const auto first = epoch(shuffled, 0), second = epoch(shuffled, 1);
  CHECK(first == epoch(shuffled, 0));
  CHECK(first != second);
  CHECK(first != epoch(other, 0));
  CHECK(std::is_permutation(first.begin(), first.end(), second.begin()));
  CHECK_FALSE(std::is_sorted(first.begin(), first.end()));
}

TEST_CASE("the order is Grain's") {
  struct row {
    std::int64_t size;
    std::uint32_t seed;
    std::vector<std::int64_t> order;
  };
  const row rows[] = {
      {5, 32, {2, 4, 3, 0, 1}},
      {5, 33, {0, 2, 4, 1, 3}},
      {3, 32, {2, 1, 0}},
      {2, 32, {0, 1}},
      {10,
       3329053876u,
       {1, 7, 6, 9, 0, 8, 4, 5, 3, 2}},  // range(10).seed(42).shuffle(): the seed is SeedSequence([42, 1])
      {1, 7, {0}},
      {46205, 52, {15322, 42521, 7368, 29710, 12124, 24464, 39335, 5072}},
      {75, 3280387012u, {59, 65, 62, 15, 24, 47}},
      {1975, 1930549411u, {84, 729, 818, 901, 1955, 851}},
      {89298087, 3387541014u, {52686799, 44123510, 19190863, 18372978, 37860025, 26797663}},
      {25, 3589583794u, {7, 22, 17, 14, 10, 5}},
      {240873, 1912923437u, {44244, 19749, 109815, 91414, 195751, 147834}},
      {591605925, 4059906722u, {421832931, 488177018, 23896976, 223933961, 428924261, 498640924}},
      {76549337822, 131383004u, {20955413925, 26575814272, 54049727786, 36357464772, 22030516801, 45745325895}},
      {4, 2325348894u, {3, 1, 0, 2}},
      {212227013789, 1001090105u, {4503969573, 141842275510, 6850696455, 144188970644, 13496516969, 151103259386}},
      {1026, 92297589u, {75, 583, 793, 864, 1021, 53}},
      {13625036568, 2758633299u, {1178145864, 1190745561, 661781242, 129080171, 1295583756, 1308183453}},
      {304, 3693442237u, {231, 238, 299, 122, 37, 221}},
      {52, 2878940490u, {43, 33, 41, 2, 11, 5}},
      {7288, 3790218436u, {4863, 1110, 5371, 5822, 5669, 3178}},
      {17200116895, 2170177477u, {6523594052, 1720074815, 990822846, 1620216082, 13225086214, 6475949180}},
      {16444343, 148287319u, {3036194, 11300927, 281502, 8539661, 8016134, 3218810}},
      {1415, 3424825176u, {1338, 1186, 603, 485, 872, 142}},
      {146267, 743061144u, {99675, 97516, 34168, 21719, 51239, 24318}},
      {5546520, 1609337231u, {3876788, 1501115, 2686255, 1756829, 44064, 5155774}},
      {284783, 2183675157u, {75249, 60468, 206545, 192308, 272650, 211252}},
      {2754726579, 1689017785u, {1398252340, 1110697205, 1370686932, 1356015109, 844588401, 590570224}},
      {1122315, 127023494u, {233217, 933169, 422117, 543699, 123759, 895436}},
      {6, 731644238u, {3, 1, 5, 4, 2, 0}},
      {1575418, 4217987067u, {1231914, 1052726, 1245192, 1543444, 304593, 56869}},
      {2223834768, 997188871u, {1929886583, 1618274652, 848083173, 1747349808, 1648196551, 2080719565}},
      {2151773, 2481609806u, {1029504, 572181, 1562449, 1232753, 605487, 172790}},
      {491263, 24520513u, {224732, 455688, 85740, 313136, 461547, 168299}},
      {3171578867, 3475229416u, {447505921, 183371528, 942204987, 678086962, 1067774549, 803656008}},
      {2456977, 2411013676u, {2246444, 1475065, 2260574, 2347948, 1717257, 880465}},
      {201097, 241047738u, {85712, 106776, 183006, 150850, 52276, 7049}},
      {32741379375, 2167757907u, {31391260006, 31382879415, 31340895812, 31366070165, 31309531186, 31334705635}},
      {986581, 1532401219u, {59757, 352481, 191341, 484065, 322412, 90272}},
      {23122, 2630463310u, {21435, 5305, 8013, 3993, 11828, 20952}},
      {478356, 2510240337u, {163353, 239597, 32025, 107725, 425048, 240154}},
      {25669667778, 1096479553u, {12154540947, 24368579335, 3678985376, 9342834415, 1800948747, 23547428721}},
      {15249558869, 2891000577u, {12233330147, 12277356698, 11151199825, 11178466088, 9969359799, 9946271470}},
      {18, 71685718u, {11, 2, 8, 6, 4, 13}},
      {3, 3245220484u, {2, 1, 0}},
      {1701, 2683504527u, {192, 400, 1451, 543, 656, 1097}},
      {22111, 298566280u, {7679, 21323, 16881, 5307, 13692, 8185}},
      {149, 3056255486u, {5, 50, 92, 144, 32, 99}},
      {435817, 1382987043u, {211904, 165362, 208511, 282891, 341679, 324523}},
      {729763, 101509731u, {182783, 219263, 92765, 60381, 437912, 474952}},
      {69067, 807622668u, {18218, 32153, 34279, 41504, 42197, 1959}},
      {37, 2601241110u, {7, 13, 10, 15, 33, 22}},
      {7820138792, 89413096u, {5497641751, 6839267405, 7429634935, 7383424166, 7248151747, 7294362386}},
      {4, 629048404u, {3, 1, 0, 2}},
      {549895956, 688172268u, {210364263, 459268062, 538705224, 548141659, 48095294, 40757165}},
      {374299916, 2912742878u, {146598308, 38608208, 106320975, 10247748, 345923602, 179621393}},
      {4965076, 2218778023u, {394991, 2764795, 3192716, 4575045, 1915161, 3142703}},
      {834, 2785313879u, {153, 274, 438, 250, 587, 145}},
      {86536, 2709900430u, {72609, 29299, 26293, 1154, 67936, 13418}},
      {10, 1282502805u, {2, 3, 1, 9, 8, 7}},
      {461720584450, 3760390973u, {195527801950, 209908842522, 40613642150, 297646381756, 251277400963, 196569609215}},
      {7907, 3687291312u, {3663, 6379, 4198, 6384, 2998, 4502}},
      {8805, 4034213118u, {5123, 632, 3533, 984, 4576, 3723}},
      {1081092354, 1083869816u, {1042371939, 558317616, 80546702, 1004354838, 45379886, 369150043}},
      {3, 3519356806u, {0, 2, 1}},
      {395762478126, 2449336412u, {245544845311, 323174130381, 202193153397, 73634237060, 183604180801, 44724897994}},
      {206, 2185596104u, {66, 149, 76, 50, 22, 3}},
  };
  for (const row& r : rows) {
    const data::permutation order(r.size, r.seed);
    for (std::size_t i = 0; i < r.order.size(); ++i) CHECK(order(static_cast<std::int64_t>(i)) == r.order[i]);
  }
  CHECK(epoch(numbers(5) | data::shuffle({.seed = 32}), 1) == rows[1].order);  // the seed grows with the epoch
}

TEST_CASE("keys are those of the standard's seed_seq") {
  for (const std::uint32_t seed : {0u, 1u, 32u, 123456789u, 4294967295u}) {
    std::seed_seq sequence{seed};
    std::array<std::uint32_t, 4> expected;
    sequence.generate(expected.begin(), expected.end());
    CHECK(data::detail::seed_sequence(seed) == expected);
  }
}
