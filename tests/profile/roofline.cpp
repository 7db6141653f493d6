// tests/profile/roofline.cpp: recordings beside what a machine allows, and what this one allows.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/roofline.hpp>

#include <tokamax/backend/cpu/roofline.hpp>

#include "support/catch.hpp"

namespace tk = tokamax;
using tk::profile::event;

TEST_CASE("a report has equal steps together, beside what the machine allows") {
  const tk::profile::roofline limits{1e9, 4e9, 1e9};
  const std::vector<event> events{
      {"dot a", 0, 1'000'000, 5e5, 0, 10},         {"scan", 0, 9'000'000, 0, 0, 0, true},
      {"dot a", 2'000'000, 1'000'000, 5e5, 0, 10}, {"narrow", 3'000'000, 1'000'000, 0, 4e6, 10},
      {"loop", 4'000'000, 4'000'000, 0, 0, 1e6},
  };
  CHECK(limits.bound(events[0]) == Approx(5e-4));
  const std::string s = tk::profile::to_text(events, limits, 2);
  CHECK(s.find("    4.000  57.1%      1       0.0     0.2     25%  loop\n") != std::string::npos);
  CHECK(s.find("    2.000  28.6%      2       0.5     0.0     50%  dot a\n") != std::string::npos);
  CHECK(s.find("    1.000  14.3%      1       4.0     0.0    100%  others\n") != std::string::npos);
  CHECK(s.find("at best 3.000 ms") != std::string::npos);
  CHECK(s.find("scan") == std::string::npos);
  CHECK(tk::profile::to_text({}, limits) == "no steps were recorded\n");
}

TEST_CASE("the machine's limits are measured") {
  const tk::profile::roofline limits = tk::measure_roofline();
  CHECK(limits.flops > 1e8);
  CHECK(limits.bfloat16_flops > 1e7);
  CHECK(limits.bytes > 1e8);
}
