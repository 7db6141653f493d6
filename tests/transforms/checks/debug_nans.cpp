// tests/transforms/checks/debug_nans.cpp: the op that makes the first NaN is named, wherever it is; errors as values.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/indexing/at.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/checks/checkify.hpp>
#include <tokamax/transforms/checks/debug_nans.hpp>
#include <tokamax/transforms/control_flow/cond.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/control_flow/while_loop.hpp>
#include <tokamax/transforms/custom_jvp.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/remat.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/error_of.hpp"

#include <cmath>
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
  CHECK_THAT(error_at(roots, point()), contains("checks/debug_nans.cpp:31"));
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

// The error values of checkify.

namespace {
/// The message of the error, or "none", which is the same eagerly and compiled.
std::string found_by(const auto& f, check_set errors, const auto&... args) {
  const auto eager = checkify(f, errors)(args...);
  const auto compiled = jit(checkify(f, errors), cpu, at_run_time)(args...);
  const std::string text = eager.first.get().value_or("none");
  CHECK(compiled.first.get().value_or("none") == text);
  const arrays a = leaves(eager.second), b = leaves(compiled.second), plain = leaves(f(args...));
  REQUIRE(a.count() == plain.count());
  for (int k = 0; k < a.count(); ++k) {
    CHECK(difference({to_value(a[k])}, {to_value(plain[k])}, 1e-6) == "");
    CHECK(difference({to_value(b[k])}, {to_value(plain[k])}, 1e-6) == "");
  }
  return text;
}
const auto positive_log = [](const array& x) {
  debug_check(all(x > 0.0f), "{} must be positive, not {}", array(7), x);
  return log(x);
};
}  // namespace

TEST_CASE("checkify returns the first check that does not hold, with its values and line") {
  CHECK(found_by(positive_log, user_checks, array(2.0f)) == "none");
  const std::string found = found_by(positive_log, user_checks, array(-2.0f));
  CHECK_THAT(found, contains("7 must be positive, not -2.0 (`check` failed)"));
  CHECK_THAT(found, contains("debug_nans.cpp"));
  CHECK(found_by(positive_log, nan_checks, array(2.0f)) == "none");
  CHECK_THAT(found_by(positive_log, all_checks, array(-2.0f)), contains("7 must be positive"));
  CHECK_THAT(found_by(positive_log, float_checks, array(-2.0f)), contains("nan generated by primitive: log"));
}

TEST_CASE("checkify finds NaN, divisions by zero and indices outside, and names the first op") {
  const auto ratio = [](const array& x, const array& y) { return sin(x / y); };
  CHECK(found_by(ratio, float_checks, array(1.0f), array(2.0f)) == "none");
  CHECK_THAT(found_by(ratio, float_checks, array(1.0f), array(0.0f)), contains("division by zero"));
  CHECK_THAT(found_by(ratio, nan_checks, array(1.0f), array(0.0f)), contains("nan generated by primitive: sin"));
  CHECK_THAT(found_by(ratio, nan_checks, array(0.0f), array(0.0f)), contains("nan generated by primitive: div"));
  CHECK(found_by(ratio, index_checks | user_checks, array(0.0f), array(0.0f)) == "none");
  const auto whole = [](const array& x, const array& y) { return quotient(x, y); };
  CHECK_THAT(found_by(whole, div_checks, array(7), array(0)), contains("division by zero"));
  // ops that only choose are not to blame for what they are given
  const auto chosen = [](const array& x) { return maximum(-abs(x), 0.0f); };
  CHECK(found_by(chosen, all_checks, array(std::numeric_limits<float>::quiet_NaN())) == "none");

  const array x = array::from<float>({1, 2, 3, 4, 5});
  const auto at = [](const array& v, const array& i) { return v(i); };
  const auto set = [](const array& v, const array& i) { return v.at(i).set(7.0f); };
  const auto rows = [](const array& v, const array& i) { return gather(v, i) * 0.0f; };
  const auto box = [](const array& v, const array& i) { return dynamic_slice(v, {i}, {2}); };
  const auto wrote = [](const array& v, const array& i) { return dynamic_update_slice(v, ones({2}), {i}); };
  for (const int i : {-5, -1, 0, 4}) CHECK(found_by(at, index_checks, x, array(i)) == "none");
  CHECK_THAT(found_by(at, index_checks, x, array(5)), contains("index 5 is out of bounds for axis 0 with size 5"));
  CHECK_THAT(found_by(at, index_checks, x, array(-6)), contains("index -1 is out of bounds for axis 0 with size 5"));
  CHECK_THAT(found_by(set, index_checks, x, array::from<std::int32_t>({0, 9, 11})), contains("index 9 is out of"));
  CHECK_THAT(found_by(rows, index_checks, x, array::from<std::int32_t>({0, -1})), contains("by gather: index -1 is"));
  CHECK(found_by(box, index_checks, x, array(3)) == "none");
  CHECK(found_by(box, index_checks, x, array(-2)) == "none");
  CHECK_THAT(found_by(box, index_checks, x, array(4)), contains("index 4 is out of bounds for axis 0 with size 5"));
  CHECK_THAT(found_by(wrote, index_checks, x, array(-9)), contains("index -4 is out of bounds"));
  const auto choice = [](const array& v) { return v.at(masked{v > 2.0f, 5}).set(0.0f); };
  CHECK(found_by(choice, index_checks, x) == "none");
  // in a batch what is outside of one table is outside of the joint one, and what a mask has not stays no index
  const array rows_of_x = stack({x, x * 0.5f});
  CHECK(found_by(vmap(choice), index_checks, rows_of_x) == "none");
  CHECK_THAT(found_by(vmap(rows), index_checks, rows_of_x, array::from<std::int32_t>({0, 5})), contains("index -1 is"));
  CHECK_THAT(found_by(vmap(rows), index_checks, rows_of_x, array::from<std::int32_t>({-3, 2})),
             contains("index -3 is"));
}

TEST_CASE("checkify in branches, loops and their predicates, of which the first error counts") {
  const auto branch = [](const array& x) {
    return cond(
        x > 0.0f,
        [](const array& v) {
          debug_check(v < 10.0f, "{} is large", v);
          return log(v);
        },
        [](const array& v) { return sqrt(v); }, x);
  };
  CHECK(found_by(branch, all_checks, array(4.0f)) == "none");
  CHECK_THAT(found_by(branch, all_checks, array(11.0f)), contains("11.0 is large"));
  CHECK_THAT(found_by(branch, all_checks, array(-1.0f)), contains("nan generated by primitive: sqrt"));
  CHECK(found_by(branch, user_checks, array(-1.0f)) == "none");

  const auto steps = [](const array& x) {  // log of a number that shrinks
    return scan(
               [](const array& c, const array& v) {
                 debug_check(v != 3.0f, "step {}", v);
                 const array y = log(c - v);
                 return std::pair{c - v, y};
               },
               array(3.5f), x)
        .second;
  };
  CHECK(found_by(steps, all_checks, array::from<float>({1, 1, 1})) == "none");
  CHECK_THAT(found_by(steps, all_checks, array::from<float>({1, 3, 4})), contains("step 3.0"));
  CHECK_THAT(found_by(steps, all_checks, array::from<float>({4, 3, 1})), contains("nan generated by primitive: log"));
  CHECK_THAT(found_by(steps, user_checks, array::from<float>({4, 3, 1})), contains("step 3.0"));

  const auto loop = [](const array& x) {
    return while_loop(
        [](const array& v) {
          debug_check(v != 5.0f, "asked at {}", v);
          return v < 6.0f;
        },
        [](const array& v) {
          check(v != 2.0f, "body at {}", v);
          return v + 1.0f;
        },
        x);
  };
  const auto checked = [&](float x) { return checkify(loop)(array(x)).first.get().value_or("none"); };
  CHECK_THAT(checked(5.0f), contains("asked at 5.0"));  // before the first step
  CHECK_THAT(checked(4.0f), contains("asked at 5.0"));  // after it
  CHECK_THAT(checked(1.0f), contains("body at 2.0"));   // the first error, not the one that follows
  CHECK(checked(5.5f) == "none");
  CHECK(checked(7.0f) == "none");
  CHECK(checkify(loop)(array(1.0f)).second.item() == 6.0f);
}

TEST_CASE("checkify with vmap, on both sides, and batches of branches") {
  const array x = array::from<float>({1, -2, 3, -4});
  const auto each = vmap(checkify(positive_log, all_checks))(x).first;
  CHECK(each.code.shape() == shape{4});
  const std::string text = each.get().value_or("none");
  CHECK_THAT(text, contains("at mapped index 1: 7 must be positive, not -2.0"));
  CHECK_THAT(text, contains("at mapped index 3: 7 must be positive, not -4.0"));
  CHECK_THROWS_WITH(each.throw_(), contains("checkify: check: found at mapped index 1: 7 must be"));
  // one error for all: the last example that failed, as in JAX
  CHECK_THAT(found_by(vmap(positive_log), user_checks, abs(x)), contains("none"));
  CHECK_THAT(checkify(vmap(positive_log))(x).first.get().value_or("none"), contains("7 must be positive, not -4.0"));
  const auto branch = [](const array& v) {
    return cond(v > 0.0f, [](const array& w) { return log(w); }, [](const array& w) { return log(-w); }, v);
  };
  CHECK(!vmap(checkify(branch, nan_checks))(x).first.get());  // only the branch that is taken counts
  const auto checks = [](const array& v) {
    return cond(
        v > 0.0f, [](const array& w) { return w; },
        [](const array& w) {
          check(w > -3.0f, "low");
          return w;
        },
        v);
  };
  const checkify_error found = vmap(checkify(checks))(x).first;
  CHECK_THAT(found.get().value_or("none"), contains("at mapped index 3: low"));
  CHECK(to_value(found.code).data[1] == 0);
  CHECK_THROWS_WITH(checkify(vmap(checks))(x), contains("cond: vmap"));
}

TEST_CASE("checkify with derivatives and rules") {
  const auto root = [](const array& x) { return sqrt(x) * x; };
  CHECK(found_by(root, nan_checks, array(0.0f)) == "none");
  CHECK_THAT(checkify(grad(root), nan_checks)(array(0.0f)).first.get().value_or("none"), contains("nan generated by"));
  const auto aux = [&](const array& x) {
    const auto [e, y] = checkify(positive_log, all_checks)(x);
    return std::pair{y, e};
  };
  const auto [value, slope] = value_and_grad(aux, has_aux)(array(4.0f));
  CHECK(slope.item() == 0.25f);
  CHECK(!value.second.get());
  const auto loop = [](const array& x) {
    return sum(scan(
                   [](const array& c, const array& v) {
                     check(v < 3.0f, "step {}", v);
                     return std::pair{c * v, c};
                   },
                   array(1.0f), x)
                   .first);
  };
  const auto [e, slopes] = checkify(grad(loop))(array::from<float>({2, 5, 7}));
  CHECK_THAT(e.get().value_or("none"), contains("step 5.0"));
  CHECK(difference({to_value(slopes)}, {to_value(array::from<float>({35, 14, 10}))}, 1e-6) == "");
  // a rule stays, and its function is checked
  const auto clipped = custom_jvp(
      [](const array& x) {
        check(x > 0.0f, "{} in a function with a rule", x);
        return log(x);
      },
      [](const array& x, const array& dx) { return std::pair{x, 100.0f * dx}; });
  const auto ruled = checkify(clipped, all_checks);
  CHECK_THAT(ruled(array(-1.0f)).first.get().value_or("none"), contains("-1.0 in a function with a rule"));
  CHECK(grad([&](const array& x) { return ruled(x).second; })(array(2.0f)).item() == 100.0f);
  const auto again = remat([](const array& x) {
    check(x > 0.0f, "remat");
    return x * sin(x);
  });
  CHECK_THAT(checkify(grad(again))(array(-1.0f)).first.get().value_or("none"), contains("remat"));
}

TEST_CASE("checks without checkify throw, debug checks do not, and error values can be thrown again") {
  const auto f = [](const array& x) {
    check(x > 0.0f, "{} in {}", x, x * 2.0f);
    return x + 1.0f;
  };
  CHECK_THROWS_WITH(f(array(-1.0f)), contains("check: found -1.0 in -2.0, expected a predicate that holds"));
  CHECK_THROWS_WITH(jit(f, cpu, at_run_time)(array(-1.0f)), contains("check: found -1.0 in -2.0"));
  CHECK_THROWS_WITH(vmap(f)(array::from<float>({3, -1, -5, 4})), contains("check: found -5.0 in -10.0"));
  CHECK(std::isnan(positive_log(array(-2.0f)).item()));
  CHECK_THROWS_WITH(check(array(1.0f), "x"), contains("check: predicate"));
  CHECK_THROWS_WITH(check(array(true), "{}"), contains("check: arguments"));
  const auto inner = [&](const array& x) {
    const auto [e, y] = checkify(f)(x);
    check_error(e);
    return y;
  };
  CHECK(inner(array(1.0f)).item() == 2.0f);
  CHECK_THROWS_WITH(inner(array(-3.0f)), contains("checkify: check: found -3.0 in -6.0"));
  CHECK_THROWS_WITH(jit(inner, cpu, at_run_time)(array(-3.0f)), contains("checkify: check: found -3.0 in -6.0"));
  CHECK_THAT(checkify(inner)(array(-3.0f)).first.get().value_or("none"), contains("-3.0 in -6.0"));
  CHECK(!checkify(inner)(array(3.0f)).first.get());
  // integers of 64 bits keep all their digits
  const auto wide = [](const array& x) {
    check(x == zeros_like(x), "{}", x);
    return x;
  };
  const array big = array::from<std::int64_t>({9007199254740993}, {});
  CHECK_THAT(checkify(wide)(big).first.get().value_or("none"), contains("9007199254740993"));
}
