// tests/profile/report/page.cpp: the page of a recording, and what its script is given.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/report/page.hpp>

#include "support/catch.hpp"
#include "support/recorded.hpp"

namespace {
using namespace tokamax::profile;
const roofline limits{1e9, 4e9, 1e9};

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
  return n;
}
std::string between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t from = text.find(before) + before.size();
  return std::string(text.substr(from, text.find(after, from) - from));
}
}  // namespace

TEST_CASE("words become base64") {
  CHECK(detail::base64({}).empty());
  CHECK(detail::base64({0x6E61'4D}) == "TWFuAA==");  // "Man" and a zero
  CHECK(detail::base64({1, 2, 0xFFFF'FFFF}) == "AQAAAAIAAAD/////");
  CHECK(detail::base64({1, 2}) == "AQAAAAIAAAA=");
}

TEST_CASE("the page's data have all records by track and depth") {
  const recording all = recorded({{"main", "dot", 100, 600, 8, 4, "blocks[0].attend", "gpt.cpp:12"},
                                  {"main", "#span f", 50, 700},
                                  {"main", "#counter loss", 800, 800, 2.5},
                                  {"main", "#counter loss", 850, 850, 1.5},
                                  {"main", "#step", 0, 1000, 7}});
  const std::string data = page_data(all, limits, "a run");
  // step at depth 0 from 0 to 1000, the span at depth 1 from 50 to 700, the op at depth 2 from 100 to 600
  CHECK(between(data, "\"records\": \"", "\"") ==
        detail::base64({0, 1000, 0, 50, 650, 1u << 24 | 1, 100, 500, 2u << 24 | 2}));
  CHECK(data.find(R"("items": [{"name": "step", "scope": "", "place": "", "flops": 0, "bytes": 0, "best": 0},)") !=
        std::string::npos);
  CHECK(
      data.find(
          R"({"name": "dot", "scope": "blocks[0].attend", "place": "gpt.cpp:12", "flops": 8, "bytes": 4, "best": 8}])") !=
      std::string::npos);
  CHECK(data.find(R"("counters": [{"name": "loss", "times": [800,850], "values": [2.5,1.5], "range": [1.5, 2.5]}])") !=
        std::string::npos);
  CHECK(count(data, "\"attend\"") == 1);
  CHECK(data.find("[0,1,350]") != std::string::npos);
}

TEST_CASE("records that overlap and long recordings stay within their words") {
  const recording all =
      recorded({{"main", "a", 0, 10}, {"main", "b", 5, 15}, {"main", "c", 30, 20}, {"main", "d", 20, 40}});
  CHECK(between(page_data(all, limits, ""), "\"records\": \"", "\"") ==
        detail::base64({0, 10, 0, 5, 5, 1u << 24 | 1, 20, 20, 2, 30, 0, 1u << 24 | 3}));
  const std::int64_t hour = 3'600'000'000'000;
  const std::string data = page_data(recorded({{"main", "a", 0, 24 * hour}}), limits, "");
  CHECK(data.find("\"unit\": 20117") != std::string::npos);
  CHECK(between(data, "\"records\": \"", "\"") == detail::base64({0, 4'294'874'981, 0}));
}

TEST_CASE("the page is one file that loads nothing, and small beside its data") {
  const std::string page = to_html({}, limits);
  CHECK(page.size() < 200'000);
  for (const char* loaded : {" src=", "@import", "url(", "fetch(", "XMLHttpRequest", "<link", "import("})
    CHECK(page.find(loaded) == std::string::npos);
  CHECK(count(page, "http") == count(page, "http://www.w3.org/2000/svg"));
  CHECK(page.find("innerHTML") == std::string::npos);
}

TEST_CASE("hostile names do not end the data") {
  const std::string hostile = std::string("</script><script>alert(1)</script><!--\"'\\\n") + '\0' + "\xFF\xE2\x80\xAE" +
                              std::string(10'000, 'x');
  const std::string page =
      to_html(recorded({{hostile, hostile, 0, 5, 1, 1, hostile, hostile}, {hostile, "#counter " + hostile, 1, 1, 2}}),
              limits, hostile);
  CHECK(count(page, "<script") == 2);
  CHECK(count(page, "</script>") == 2);
  CHECK(count(page, "<!--") == 0);
  CHECK(page.find('\0') == std::string::npos);
  CHECK(page.find("\\u003c/script>\\u003cscript>alert(1)") != std::string::npos);
}
