// tests/scipy/signal.cpp: convolutions and detrended signals are those of jax.scipy.signal.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/scipy/kaiser.hpp>
#include <tokamax/scipy/signal.hpp>

#include "support/check_op.hpp"
#include "support/golden_cases.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
namespace sg = scipy::signal;
using options = const case_options&;
using convolution = array (*)(const array&, const array&, sg::convolution_mode, source_line);

sg::convolution_mode mode_in(options o) {
  const std::string mode = o.text("mode");
  return mode == "full"   ? sg::convolution_mode::full
         : mode == "same" ? sg::convolution_mode::same
                          : sg::convolution_mode::valid;
}
template <convolution F>
arrays convolved(const arrays& x, options o) {
  return F(x[0], x[1], mode_in(o), source_line::current());
}
}  // namespace

TEST_CASE("convolutions are those of jax.scipy.signal") {
  check_cases(
      "scipy/signal.txt",
      {{"convolve", convolved<sg::convolve>},
       {"correlate", convolved<sg::correlate>},
       {"convolve2d", convolved<sg::convolve2d>},
       {"correlate2d", convolved<sg::correlate2d>},
       {"kaiser", [](const arrays&, options o) -> arrays { return kaiser(o.integer("n"), array(o.number("beta"))); }},
       {"detrend", [](const arrays& x, options o) -> arrays {
          return sg::detrend(x[0], o.axis(-1), o.text("type") == "constant" ? sg::trend::constant : sg::trend::linear);
        }}});
}

TEST_CASE("signals that cannot be convolved are rejected") {
  CHECK_THROWS_WITH(sg::convolve(zeros({2, 5}), zeros({3, 4})), contains("convolve: shapes"));
  CHECK_THROWS_WITH(sg::convolve(zeros({0}), zeros({3})), contains("convolve: shapes"));
  CHECK_THROWS_WITH(sg::convolve2d(zeros({3}), zeros({3})),
                    contains("convolve2d: shapes: found f32[3], expected [m, n]"));
  CHECK_THROWS_WITH(sg::detrend(zeros({3}), 1), contains("detrend: axis"));
}
