// tests/transforms/checks/debug_nans.cpp: the op that makes the first NaN is named, wherever it is.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/checks/debug_nans.hpp>
#include <tokamax/transforms/control_flow/cond.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/control_flow/while_loop.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/remat.hpp>

#include "support/check_op.hpp"
#include "support/error_of.hpp"

#include <limits>

using namespace tokamax;
using namespace tokamax::test;

namespace {
std::string error_at(const auto& f, const array& x, debug_nans_options o = {}) {
  return error_of([&] { debug_nans(f, o)(x); });
}
array point() { return array::from<float>({4, 1, -1, 0}, {2, 2}); }
constexpr auto roots = [](const array& x) { return sum(sqrt(x) * 2.0f + sin(x)); };
}  // namespace

TEST_CASE("the first op with a NaN is named, with its element and line, in eager and in compiled programs") {
  const std::string expected = "debug_nans: sqrt: found nan at [1,0], expected finite numbers, as its operands have";
  CHECK_THAT(error_at(roots, point()), contains(expected));
  CHECK_THAT(error_at(roots, point()), contains("checks/debug_nans.cpp:26"));
  CHECK_THAT(error_at(jit(roots, cpu, at_run_time), point()), contains(expected));
  CHECK(error_at(roots, abs(point())) == "none");
  CHECK(debug_nans(roots)(abs(point())).item() == roots(abs(point())).item());
}

TEST_CASE("NaN that a gradient makes, and infinities") {
  const auto f = [](const array& x) { return sum(x * sqrt(x)); };
  CHECK(error_at(f, abs(point())) == "none");
  CHECK_THAT(error_at(grad(f), abs(point())), contains("found nan at [1,1]"));
  const auto reciprocal = [](const array& x) { return 1.0f / x; };
  CHECK(error_at(reciprocal, point()) == "none");
  CHECK_THAT(error_at(reciprocal, point(), {.infinities = true}), contains("debug_nans: div: found inf at [1,1]"));
}

TEST_CASE("in calls, branches and loops") {
  CHECK_THAT(error_at(remat(roots), point()), contains("debug_nans: sqrt in remat: found nan at [1,0]"));
  const auto branch = [](const array& x) {
    return cond(sum(x) > 0.0f, [](const array& v) { return log(v); }, [](const array& v) { return v; }, x);
  };
  CHECK_THAT(error_at(branch, point()), contains("debug_nans: log in cond: found nan at [1,0]"));
  const auto loop = [](const array& x) {
    return while_loop([](const array& v) { return sum(v) > -20.0f; },
                      [](const array& v) { return log(v + 2.0f) - 3.0f; }, x);
  };
  CHECK_THAT(error_at(loop, point()), contains("debug_nans: log in while_loop: found nan"));
  const auto steps = [](const array& x) {
    return scan([](const array& c, const array& v) { return std::pair{sqrt(v) + c, c}; }, x[0], x).first;
  };
  CHECK_THAT(error_at(steps, point()), contains("debug_nans: scan: found nan at [0]"));
}

TEST_CASE("an argument that has a NaN is named") {
  const array x = array::from<float>({1, std::numeric_limits<float>::quiet_NaN()});
  CHECK_THAT(error_at([](const array& v) { return sin(v); }, x),
             contains("debug_nans: argument: found nan in leaf 0 at [1]"));
}
