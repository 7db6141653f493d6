// tests/base/extent.cpp
#include <tokamax/base/extent.hpp>
#include <tokamax/base/extent_text.hpp>
#include <tokamax/core/type.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using namespace tokamax;

static_assert(is_dyn(dyn()) && !is_dyn(0) && !is_dyn(7) && !is_dyn(no_extent));
constexpr std::int64_t n = dyn(), m = dyn(1), symbols[8] = {5, 7, 1, 1, 1, 1, 1, 1};
static_assert(resolve(n, symbols) == 5 && resolve(dyn(1, 3), symbols) == 21 && resolve(9, symbols) == 9);
static_assert(symbol_of(dyn(3, 5)) == 3 && factor_of(dyn(3, 5)) == 5);

// Products and quotients.
static_assert(mul_extent(m, 3) == dyn(1, 3) && mul_extent(3, dyn(1, 2)) == dyn(1, 6) && mul_extent(3, 4) == 12);
constexpr std::int64_t product = mul_extent(dyn(0, 2), mul_extent(dyn(1, 3), n));
static_assert(resolve(product, symbols) == 2 * 5 * 3 * 7 * 5 && symbol_of(product) == -1 && is_extent(product));
static_assert(div_extent(product, dyn(0, 6)) == mul_extent(n, m) && div_extent(product, dyn(1, 6)) < 0);
static_assert(div_extent(dyn(1, 6), dyn(1, 2)) == 3 && !is_extent(div_extent(dyn(1, 6), 4)) && div_extent(7, 2) == 3);
static_assert(!is_extent(mul_extent(product, mul_extent(product, product))),
              "a symbol is at most three times a factor");
static_assert(mul_extent(std::int64_t{1} << 40, std::int64_t{1} << 40) == too_large);
static_assert(mul_extent(n, std::int64_t{1} << 40) == too_large && mul_extent(1LL << 62, 1) == 1LL << 62);

// Sums have one form, however they are computed.
static_assert(add_extent(n, dyn(0, 2)) == dyn(0, 3) && add_extent(0, m) == m && add_extent(2, 3) == 5);
static_assert(add_extent(add_extent(n, 1), m) == add_extent(m, add_extent(1, n)) && is_extent(add_extent(n, 1)));
static_assert(add_extent(mul_extent(n, 4), 4) == mul_extent(4, add_extent(n, 1)));
static_assert(add_extent(mul_extent(n, m), n) == mul_extent(add_extent(m, 1), n));
static_assert(sub_extent(add_extent(n, m), n) == m && sub_extent(add_extent(n, 5), n) == 5);
static_assert(sub_extent(sub_extent(n, 1), 1) == sub_extent(n, 2) && sub_extent(3, 5) == 0);
static_assert(add_extent(sub_extent(n, 1), 1) != n, "at n = 0 they differ");
static_assert(!is_extent(add_extent(n, -1)) && !is_extent(add_extent(n, no_extent)) && sub_extent(n, no_extent) < 0);

// Rows padded to a multiple.
constexpr std::int64_t rows = mul_extent(ceil_extent(n, 16), 16), more = sub_extent(rows, n);
static_assert(resolve(rows, symbols) == 16 && resolve(more, symbols) == 11 && add_extent(n, more) == rows);
static_assert(div_extent(rows, 16) == ceil_extent(n, 16) && ceil_extent(rows, 16) == ceil_extent(n, 16));
static_assert(ceil_extent(ceil_extent(n, 4), 4) == ceil_extent(n, 16) && ceil_extent(dyn(0, 32), 16) == dyn(0, 2));
static_assert(ceil_extent(n, 0) == no_extent && ceil_extent(7, 2) == 4);

static_assert(at_most(n, n) && at_most(2, 2) && !at_most(n, 2) && !at_most(2, n) && at_most(2, add_extent(n, 2)));
static_assert(at_most(n, rows) && at_most(sub_extent(n, 1), n) && at_most(n, add_extent(n, m)) && !at_most(n, m));
static_assert(at_most(sub_extent(n, 3), sub_extent(n, 2)) && !at_most(sub_extent(n, 2), sub_extent(n, 3)));

// What arithmetic makes of dynamic extents is none.
static_assert(is_extent(0) && is_extent(dyn(7, 3)) && !is_extent(-1) && !is_extent(-9));
static_assert([] {
  for (const std::int64_t e : {n, dyn(1, 4), add_extent(n, 1), sub_extent(m, 1), rows})
    for (std::int64_t k = 1; k < 1000; ++k)
      if (is_extent(e + k) || is_extent(e - k) || is_extent(e / (k + 1))) return false;
  return !is_extent(n + n) && !is_extent(n + m) && !is_extent(n * 2);
}());
static_assert(sub_extent(n / 2, 1) == no_extent && sub_extent(n / 2, m) == no_extent && sub_extent(3, n - 1) < 0);
static_assert(!is_extent(add_extent(n, m / 3)) && !is_extent(ceil_extent(n / 2, 2)) &&
              !is_extent(mul_extent(n / 2, m)));
static_assert(!at_most(n / 2, n) && !is_extent(sub_extent(n, m / 7)));
static_assert([] {  // differences are far from all sizes
  const std::int64_t some[] = {n,      m,         dyn(2),    dyn(3),  dyn(4),           dyn(5),           dyn(6),
                               dyn(7), dyn(0, 2), dyn(1, 4), product, add_extent(n, 1), sub_extent(n, 1), rows};
  for (const std::int64_t a : some)
    for (const std::int64_t b : some)
      if (a != b && a - b > -(1LL << 40) && a - b < 1LL << 40) return false;
  return true;
}());

// Floats that were made of extents, and their inverses, are known too.
static_assert([] {
  for (const std::int64_t e : {n, dyn(7, 50000), mul_extent(n, m), add_extent(n, 1), sub_extent(m, 9), rows}) {
    const auto v = static_cast<double>(e);
    for (const double d : {v, 1 / v, double{static_cast<float>(v)}, double{1 / static_cast<float>(v)}})
      if (!detail::may_be_extent(d)) return false;
  }
  return !detail::may_be_extent(-7.1661652561756670113e18) && !detail::may_be_extent(-1e-19);
}());

// An argument tells the value of a symbol.
static_assert([] {
  std::int64_t found[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return find_symbol(dyn(0, 2), 6, found) && found[0] == 3 && !find_symbol(n, 4, found) &&
         find_symbol(add_extent(n, m), 8, found) == false && find_symbol(add_extent(m, 1), 5, found) && found[1] == 4 &&
         find_symbol(add_extent(n, m), 7, found) && find_symbol(sub_extent(n, 1), 2, found) &&
         !find_symbol(add_extent(dyn(2), 3), 2, found) && !find_symbol(dyn(3, 2), 5, found);
}());

namespace {
std::string text(std::int64_t e) {
  std::ostringstream s;
  detail::write_extent(s, e);
  return s.str();
}
}  // namespace

TEST_CASE("extents as text") {
  CHECK(text(dyn(0, 4)) == "4n");
  CHECK(text(add_extent(n, 1)) == "n+1");
  CHECK(text(mul_extent(dyn(0, 2), add_extent(m, dyn(2)))) == "2n(o+p)");
  CHECK(text(sub_extent(n, 1)) == "max(0,n-1)");
  CHECK(text(rows) == "16ceil(n/16)");
  CHECK(text(more) == "-n+16ceil(n/16)");
  CHECK(text(no_extent - 1) == "?");
  for (const char* wrong : {"", "+", "n+", "(n", "ceil(n)", "ceil(n/0)", "max(0,n", "x", "99999999999999999999n"})
    CHECK_FALSE(is_extent(detail::extent_reader(wrong).sum()));
}

TEST_CASE("what random arithmetic gives has the value for all symbols, is read back, and is never below 0") {
  std::vector<std::int64_t> known{n, m, dyn(2), 1, 2, 3, 4, 16, 17, 64, 768, 4096};
  const std::vector<std::int64_t> first = known;
  std::mt19937 random(1);
  int encoded = 0;
  for (int i = 0; i < 20000; ++i) {
    if (known.size() > 300) known = first;
    const std::int64_t a = known[random() % known.size()], b = known[random() % known.size()];
    const auto k = static_cast<std::int64_t>(1 + random() % 20);
    const auto which = random() % 5;
    const std::int64_t e = which == 0   ? add_extent(a, b)
                           : which == 1 ? sub_extent(a, b)
                           : which == 2 ? mul_extent(a, b)
                           : which == 3 ? ceil_extent(a, k)
                                        : div_extent(a, b);
    if (e == no_extent || e == too_large || (!is_dyn(a) && !is_dyn(b))) continue;
    ++encoded;
    INFO(text(a) << " and " << text(b) << " and " << k << " give " << text(e));
    CHECK(is_extent(e));
    const bool less = at_most(a, b);
    for (int j = 0; j < 6; ++j) {
      std::int64_t v[max_symbols];
      for (std::int64_t& s : v) s = j < 2 ? j : static_cast<std::int64_t>(random() % 71);
      const std::int64_t x = resolve(a, v), y = resolve(b, v);
      const std::int64_t expected = which == 0   ? x + y
                                    : which == 1 ? std::max<std::int64_t>(x - y, 0)
                                    : which == 2 ? x * y
                                    : which == 3 ? (x + k - 1) / k
                                    : y          ? x / y
                                                 : resolve(e, v);
      CHECK(resolve(e, v) == expected);
      if (which == 4) CHECK((y == 0 || x % y == 0));
      if (less) CHECK(x <= y);
    }
    const std::string written = text(e);
    detail::extent_reader reader(written);
    if (const std::int64_t back = reader.sum(); back != no_extent) CHECK(back == e);
    known.push_back(e);
  }
  CHECK(encoded > 5000);
}

TEST_CASE("numbers that stand for nothing are refused") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const auto v = static_cast<std::int64_t>(random() | std::uint64_t{1} << 63);
    if (detail::decoded(v).ok) CHECK(detail::encoded(detail::decoded(v)) == v);
  }
}
