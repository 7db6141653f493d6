// tests/transforms/control_flow.cpp: loops, branches and transformations in each other, compared with the same programs
// written out as straight lines.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include <atomic>
#include <functional>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/functions.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {

using unary = std::function<array(const array&)>;  // [3] -> [3]

/// A piece of a program around another one; `flat`: with selects instead of branches and loops.
struct piece {
  std::string name;
  std::function<unary(const unary& inner, bool flat)> around;
  bool reverse = true;      ///< has a derivative in reverse mode
  bool forward = true;      ///< has one in forward mode
  char asks = 0;            ///< 'f', 'r': the mode that it differentiates its inner function in
  bool chooses = false;     ///< examples of a batch may go different ways
  bool has_effect = false;  ///< outside of the program
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

/// Rules that are the derivatives of the function: what is looked at is that they are asked, and by whom.
unary custom_vjp_piece(const unary& inner, bool flat) {
  if (flat) return inner;
  return [=](const array& x) {
    return custom_vjp(
        inner, [=](const array& v) { return std::pair{inner(v), v}; },
        [=](const array& v, const array& ct) { return vjp(inner, v).second(ct); })(x);
  };
}
unary custom_jvp_piece(const unary& inner, bool flat) {
  if (flat) return inner;
  return [=](const array& x) {
    return custom_jvp(inner, [=](const array& v, const array& dv) { return jvp(inner, v, dv); })(x);
  };
}
constexpr auto host_sine = [](const arrays& a) -> arrays { return {sin(a[0])}; };
constexpr auto called_back = custom_jvp([](const array& x) { return pure_callback(host_sine, {x.type()}, {x})[0]; },
                                        [](const array& x, const array& dx) { return std::pair{sin(x), cos(x) * dx}; });
unary pure_callback_piece(const unary& inner, bool flat) {
  if (flat) return [=](const array& x) { return sin(inner(x)); };
  return [=](const array& x) { return called_back(inner(x)); };
}
/// What the effects of a program have told.
std::atomic<int> notes;
constexpr auto host_note = [](const arrays&) -> arrays {
  ++notes;
  return {};
};
unary io_callback_piece(const unary& inner, bool flat) {
  if (flat) return inner;
  return [=](const array& x) {
    io_callback(host_note, {}, {stop_gradient(x)});
    return inner(x);
  };
}
unary debug_print_piece(const unary& inner, bool flat) {
  if (flat) return inner;
  return [=](const array& x) {
    debug_print("before {}", x);
    const array y = inner(x);
    debug_print("after {}", y);
    return y;
  };
}

const std::vector<piece>& pieces() {
  static const std::vector<piece> all{{.name = "while", .around = while_piece, .reverse = false, .chooses = true},
                                      {.name = "fori", .around = fori_piece},
                                      {.name = "scan", .around = scan_piece},
                                      {.name = "cond", .around = cond_piece, .chooses = true},
                                      {.name = "switch", .around = switch_piece, .chooses = true},
                                      {.name = "vmap", .around = vmap_piece},
                                      {.name = "jvp", .around = jvp_piece, .asks = 'f'},
                                      {.name = "vjp", .around = vjp_piece, .asks = 'r'},
                                      {.name = "remat", .around = remat_piece},
                                      {.name = "custom_vjp", .around = custom_vjp_piece, .forward = false, .asks = 'r'},
                                      {.name = "custom_jvp", .around = custom_jvp_piece, .asks = 'f'},
                                      {.name = "pure_callback", .around = pure_callback_piece},
                                      {.name = "io_callback", .around = io_callback_piece, .has_effect = true},
                                      {.name = "debug_print", .around = debug_print_piece}};
  return all;
}

/// What pieces in each other, from the outermost one, can do.
struct facts {
  std::string name;
  bool reverse = true, forward = true;
  bool rejected = false;  ///< a piece asks for what those inside it do not have
  bool unmapped = false;  ///< an effect that only some examples of a batch come to
  bool has_effect = false;
  explicit facts(const std::vector<piece>& chain) {
    for (std::size_t k = chain.size(); k-- > 0;) {
      const piece& p = chain[k];
      rejected = rejected || (p.asks == 'f' && !forward) || (p.asks == 'r' && !reverse);
      reverse = reverse && p.reverse;
      forward = forward && p.forward;
    }
    bool chosen = false, inside_vmap = false, chosen_there = false;
    for (const piece& p : chain) {
      name += (name.empty() ? "" : " of ") + p.name;
      chosen = chosen || p.chooses;
      inside_vmap = inside_vmap || p.name == "vmap";
      chosen_there = chosen_there || (inside_vmap && p.chooses);
      if (!p.has_effect) continue;
      has_effect = true;
      unmapped = unmapped || chosen;
      rejected = rejected || chosen_there;
    }
  }
};

/// The looped program is the flat one: eagerly, as one program, on batches, and differentiated.
void compare(const std::vector<piece>& chain) {
  const facts known(chain);
  unary looped = scaled, flat = scaled;
  for (std::size_t k = chain.size(); k-- > 0;) {
    looped = chain[k].around(looped, false);
    flat = chain[k].around(flat, true);
  }
  INFO(known.name);
  const array x = array::from<float>({0.3f, -0.4f, 0.9f}), t = array::from<float>({1.0f, 0.5f, -0.7f});
  const array batch = stack({x, x * -0.8f, x * 2.0f, x + 0.4f}, 0);
  const auto agree = [&](const char* how, const auto& f) {
    INFO(how);
    CHECK(difference({to_value(f(looped))}, {to_value(f(flat))}, 2e-5) == "");
  };
  if (known.rejected) {
    CHECK_THROWS_WITH(jit(looped, cpu, at_run_time)(x),
                      contains("derivative") || contains("reverse mode") || contains("vmap: found an effect"));
    return;
  }
  agree("jit", [&](const unary& f) { return jit(f, cpu, at_run_time)(x); });
  if (known.has_effect) {
    const int before = notes;
    looped(x);
    const int eager = notes - before;
    jit(looped, cpu, at_run_time)(x);
    CHECK(notes - before == 2 * eager);
  }
  const auto map = [&](const unary& f) { return jit(vmap(f), cpu, at_run_time)(batch); };
  if (known.unmapped)
    CHECK_THROWS_WITH(map(looped), contains("vmap: found an effect outside of the program"));
  else
    agree("vmap", map);
  if (known.forward) agree("jvp", [&](const unary& f) { return jvp(f, x, t).second; });
  if (!known.reverse) return;
  agree("vjp", [&](const unary& f) { return vjp(f, x).second(t); });
  if (!known.unmapped)
    agree("vmap of grad", [&](const unary& f) { return vmap(grad([&](const array& v) { return sum(f(v)); }))(batch); });
}

}  // namespace

TEST_CASE("196 pairs of loops, branches, rules, effects and transformations are what they are written out") {
  debug_print_sink = [](std::string_view) {};
  for (const piece& outer : pieces())
    for (const piece& inner : pieces()) compare({outer, inner});
}

TEST_CASE("three levels") {
  debug_print_sink = [](std::string_view) {};
  const auto& all = pieces();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::size_t step : {1u, 4u})
      compare({all[i], all[(i * 2 + step) % all.size()], all[(i * 4 + 3 * step) % all.size()]});
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

TEST_CASE("rules of derivatives and batches that make indices have them in bodies of loops and branches") {
  const auto body = [](const array& x, const array& c) { return sort(x * c) + gather(c * x, astype(x > 0.5f, i32)); };
  const auto loop = [=](const array& x) {
    const auto step = [&](const array& c, const array& row) { return std::pair{c * 0.9f, body(row, c)}; };
    return sum(square(scan(step, array(1.0f), x).second));
  };
  const auto branch = [=](const array& x) {
    const auto both = [&](const array& row) { return body(row, array(1.0f)); };
    return sum(square(cond(sum(x) < 100.0f, both, [](const array& row) { return row * 2.0f; }, x)));
  };
  const auto written_out = [=](const array& x) {
    array total(0.0f), c(1.0f);
    for (int i = 0; i < 3; ++i, c = c * 0.9f) total = total + sum(square(body(x[i], c)));
    return total;
  };
  const auto taken = [=](const array& x) { return sum(square(body(x, array(1.0f)))); };
  const auto same = [](const auto& f, const auto& expected, const array& x) {
    CHECK(difference({to_value(grad(f)(x))}, {to_value(grad(expected)(x))}, 1e-6) == "");
    const array batch = stack({x, x * 0.7f, x + 0.1f});
    const array rows = vmap(grad(expected))(batch);
    CHECK(difference({to_value(vmap(grad(f))(batch))}, {to_value(rows)}, 1e-6) == "");
    CHECK(difference({to_value(jit(vmap(grad(f)), cpu, at_run_time)(batch))}, {to_value(rows)}, 1e-6) == "");
    const array along = jvp(expected, x, x).second;
    CHECK(difference({to_value(jvp(f, x, x).second)}, {to_value(along)}, 1e-6) == "");
  };
  same(loop, written_out, noise({3, 5}, 1));
  same(branch, taken, noise({5}, 1));
}
