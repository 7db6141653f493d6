// tests/transforms/control_flow.cpp: loops, branches and transformations in each other, compared with the same programs
// written out as straight lines.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include <functional>

#include "support/catch.hpp"
#include "support/functions.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {

using unary = std::function<array(const array&)>;  // [3] -> [3]

/// A piece of a program around another one; `flat`: with selects instead of branches and loops.
struct piece {
  std::string name;
  std::function<unary(const unary& inner, bool flat)> around;
  bool reverse = true;  ///< has a derivative in reverse mode
};

array scaled(const array& x) { return sin(x) * 0.9f + x * 0.3f; }

unary while_piece(const unary& inner, bool flat) {
  const auto goes_on = [](const array& i, const array& x) { return logical_and(i < 3, sum(square(x)) < 20.0f); };
  if (flat)
    return [=](array x) {
      for (int k = 0; k < 3; ++k) x = select(goes_on(array(k), x), inner(x) + 0.5f, x);
      return x;
    };
  return [=](const array& x) {
    using state = std::pair<array, array>;
    return while_loop([&](const state& s) { return goes_on(s.first, s.second); },
                      [&](const state& s) { return state{s.first + 1, inner(s.second) + 0.5f}; }, state{array(0), x})
        .second;
  };
}
unary fori_piece(const unary& inner, bool flat) {
  const auto step = [=](const array& i, const array& x) { return inner(x) + astype(i, f32) * 0.25f; };
  if (flat)
    return [=](array x) {
      for (int k = 1; k < 4; ++k) x = step(array(k), x);
      return x;
    };
  return [=](const array& x) { return fori_loop(1, 4, step, x); };
}
unary scan_piece(const unary& inner, bool flat) {
  if (flat)
    return [=](array x) {
      array total = x * 0.0f;
      const array start = x;
      for (int k = 0; k < 3; ++k) {
        x = inner(x) * slice_in_dim(start, k, k + 1, 0);
        total = total + x;
      }
      return total + x;
    };
  return [=](const array& x) {
    const auto [end, ys] = scan(
        [&](const array& c, const array& v) {
          const array next = inner(c) * v;
          return std::pair{next, next};
        },
        x, x);
    return sum(ys, {{0}}) + end;
  };
}
unary cond_piece(const unary& inner, bool flat) {
  const unary otherwise = [](const array& x) { return cos(x); };
  if (flat) return [=](const array& x) { return select(sum(x) > 0.4f, inner(x), otherwise(x)); };
  return [=](const array& x) { return cond(sum(x) > 0.4f, inner, otherwise, x); };
}
unary switch_piece(const unary& inner, bool flat) {
  const auto index = [](const array& x) { return astype(floor(sum(x)), i32); };
  const unary first = [](const array& x) { return x * x; }, last = [](const array& x) { return tanh(x); };
  if (flat)
    return
        [=](const array& x) { return select(index(x) <= 0, first(x), select(equal(index(x), 1), inner(x), last(x))); };
  return [=](const array& x) { return switch_(index(x), std::tuple{first, inner, last}, x); };
}
unary vmap_piece(const unary& inner, bool flat) {
  const auto rows = [](const array& x) { return stack({x, x * 0.5f - 0.2f}, 0); };
  if (flat) return [=](const array& x) { return inner(x) + inner(x * 0.5f - 0.2f); };
  return [=](const array& x) { return sum(vmap(inner)(rows(x)), {{0}}); };
}
unary jvp_piece(const unary& inner, bool) {
  return [=](const array& x) { return jvp(inner, x, x * 0.5f + 1.0f).second; };
}
unary vjp_piece(const unary& inner, bool) {
  return [=](const array& x) { return vjp(inner, x).second(x * 0.5f + 1.0f); };
}
unary remat_piece(const unary& inner, bool flat) {
  if (flat) return inner;
  return [=](const array& x) { return remat(inner)(x); };
}

const std::vector<piece>& pieces() {
  static const std::vector<piece> all{
      {"while", while_piece, false}, {"fori", fori_piece}, {"scan", scan_piece}, {"cond", cond_piece},
      {"switch", switch_piece},      {"vmap", vmap_piece}, {"jvp", jvp_piece},   {"vjp", vjp_piece},
      {"remat", remat_piece}};
  return all;
}

/// The looped program is the flat one: eagerly, as one program, on batches, and differentiated.
void compare(const std::string& name, const unary& looped, const unary& flat, bool reverse) {
  INFO(name);
  const array x = array::from<float>({0.3f, -0.4f, 0.9f}), t = array::from<float>({1.0f, 0.5f, -0.7f});
  const array batch = stack({x, x * -0.8f, x * 2.0f, x + 0.4f}, 0);
  const auto agree = [&](const char* how, const auto& f) {
    INFO(how);
    CHECK(difference({to_value(f(looped))}, {to_value(f(flat))}, 2e-5) == "");
  };
  agree("jit", [&](const unary& f) { return jit(f, cpu, at_run_time)(x); });
  agree("vmap",
        [&](const unary& f) { return jit([&](const array& b) { return vmap(f)(b); }, cpu, at_run_time)(batch); });
  agree("jvp", [&](const unary& f) { return jvp(f, x, t).second; });
  if (!reverse) return;
  agree("vjp", [&](const unary& f) { return vjp(f, x).second(t); });
  agree("vmap of grad", [&](const unary& f) { return vmap(grad([&](const array& v) { return sum(f(v)); }))(batch); });
}

}  // namespace

TEST_CASE("81 pairs of loops, branches and transformations are what they are written out") {
  for (const piece& outer : pieces())
    for (const piece& inner : pieces()) {
      if (outer.name == "vjp" && !inner.reverse) continue;
      compare(outer.name + " of " + inner.name, outer.around(inner.around(scaled, false), false),
              outer.around(inner.around(scaled, true), true), outer.reverse && inner.reverse);
    }
}

TEST_CASE("three levels") {
  const auto& all = pieces();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const piece &a = all[i], &b = all[(i * 2 + 1) % all.size()], &c = all[(i * 4 + 3) % all.size()];
    const bool reverse = a.reverse && b.reverse && c.reverse;
    if (!reverse && (a.name == "vjp" || b.name == "vjp")) continue;
    compare(a.name + " of " + b.name + " of " + c.name, a.around(b.around(c.around(scaled, false), false), false),
            a.around(b.around(c.around(scaled, true), true), true), reverse);
  }
}

namespace {
constexpr auto inner_step = [](const array& x) {
  return cond(sum(x) > 1.0f, [](const array& v) { return v * 0.5f; }, [](const array& v) { return sin(v) + 0.4f; }, x);
};
constexpr auto loop_of_cond = [](const tensor<f32, 3>& x) {
  using state = std::pair<array, array>;
  return while_loop([](const state& s) { return logical_and(s.first < 5, sum(s.second) < 3.0f); },
                    [](const state& s) { return state{s.first + 1, inner_step(s.second)}; }, state{array(0), array(x)})
      .second;
};
constexpr auto batch_of_loops = [](const tensor<f32, 4, 3>& x) {
  return vmap([](const array& row) {
    return fori_loop(
        0, 3,
        [](const array& i, const array& c) {
          return switch_(i, std::tuple{inner_step, [](const array& v) { return v * v; }}, c);
        },
        row);
  })(array(x));
};
constexpr auto gradient_of_branches = [](const tensor<f32, 3>& x) {
  return grad([](const array& v) {
    return sum(fori_loop(0, 2, [](const array&, const array& c) { return inner_step(c); }, v));
  })(array(x));
};
constexpr auto tangent_of_loop = [](const tensor<f32, 3>& x) {
  return jvp(
             [](const array& v) {
               return while_loop([](const array& c) { return sum(c) < 3.0f; },
                                 [](const array& c) { return c * 1.5f + 0.1f; }, v);
             },
             array(x), array(x) + 1.0f)
      .second;
};
template <class F, class T>
void check_static(const F& f, const T& x) {
  const array now = f(x), compiled = jit(f, cpu, while_compiling)(x), late = jit(f, cpu, at_run_time)(x);
  CHECK(difference({to_value(compiled)}, {to_value(now)}, 0) == "");
  CHECK(difference({to_value(late)}, {to_value(now)}, 0) == "");
}
}  // namespace

TEST_CASE("programs known while compiling give the bits of those that are not") {
  const tensor<f32, 3> x(array::from<float>({0.3f, -0.4f, 0.9f}));
  check_static(loop_of_cond, x);
  check_static(batch_of_loops, tensor<f32, 4, 3>(noise({4, 3}, 1)));
  check_static(gradient_of_branches, x);
  check_static(tangent_of_loop, x);
}
