// tests/runtime/run/step_error.cpp: a step that fails says in which part of the program, in programs of every kind.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/runtime/run/step_error.hpp>

#include <tokamax/backend/far.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

enum class failure { none, of_library, of_user, of_memory, without_type };
failure wanted = failure::none;
std::string message_of_user = "the user's";

/// A function of the user that fails as a test wants it.
struct callback {
  tk::arrays operator()(const tk::arrays& in) const {
    switch (wanted) {
      case failure::of_library:
        throw tk::error(tk::error_kind::shape, "callback of a test", "a failure", "success", "row 3");
      case failure::of_user:
        throw std::out_of_range(message_of_user);
      case failure::of_memory:
        throw tk::no_memory(12345);
      case failure::without_type:
        throw 7;
      default:
        return in;
    }
  }
};
struct layer {
  tk::nn::linear up{4, 4};
  constexpr array operator()(const array& x) const {
    const tk::layer_scope scope(*this, x);
    return tk::pure_callback(callback(), {x.type()}, {up(x)})[0];
  }
};
constexpr int line_of_callback = __LINE__ - 3;
struct block {
  layer first, attend;
};
struct network {
  std::array<block, 2> blocks;
};
using vector = tk::tensor<tk::f32, 4>;
constexpr auto apply = [](const network& n, const vector& x) {
  return tk::sum(n.blocks[1].attend(tk::tanh(array(x)))) + 1.0f;
};
/// The same within the body of a loop.
constexpr auto apply_often = [](const network& n, const vector& x) {
  return tk::fori_loop(0, 3, [&](const array&, const array& y) { return n.blocks[1].attend(y); }, array(x));
};

std::string here(int line) { return std::string(__FILE__) + ":" + std::to_string(line); }

template <class F>
tk::error error_of(const F& f) {
  try {
    tk::block_until_ready(f());
  } catch (const tk::error& e) {
    return e;
  }
  throw std::logic_error("no error");
}
/// Calls check(run) with each kind of program of f on the arguments.
template <class F, class Check>
void each_program(const F& f, const Check& check) {
  wanted = failure::none;
  const network n = tk::init<network>(tk::random::key(0));
  const vector x(tk::ones({4}));
  const auto fixed = tk::jit(f, tk::cpu, tk::while_compiling);
  const auto traced = tk::jit(f, tk::cpu, tk::at_run_time);
  const auto far = tk::jit(f, tk::far_device(0));
  const network far_n = tk::device_put(n, tk::far_device(0));
  const vector far_x = tk::device_put(x, tk::far_device(0));
  check([&] { return fixed(n, x); });
  check([&] { return traced(n, x); });
  check([&] { return far(far_n, far_x); });
}

}  // namespace

TEST_CASE("an error of the library gets the path of the layer, and the line, before its own place") {
  for (const bool in_body : {false, true}) {
    const auto check = [](auto run) {
      CHECK_NOTHROW(tk::block_until_ready(run()));
      wanted = failure::of_library;
      const tk::error e = error_of(run);
      wanted = failure::none;
      CHECK(e.kind == tk::error_kind::shape);
      CHECK(e.subject == "callback of a test");
      CHECK(e.found == "a failure");
      CHECK(e.expected == "success");
      CHECK(e.where == "blocks[1].attend, " + here(line_of_callback) + ", row 3");
      CHECK_NOTHROW(tk::block_until_ready(run()));  // and the program works again
    };
    in_body ? each_program(apply_often, check) : each_program(apply, check);
  }
}

TEST_CASE("an exception of a callback has the name of the op and the path, and the callback's own is nested in it") {
  each_program(apply, [](auto run) {
    wanted = failure::of_user;
    const tk::error e = error_of(run);
    CHECK(e.kind == tk::error_kind::internal);
    CHECK_THAT(e.subject, contains("pure_callback"));
    CHECK(e.found == message_of_user);
    CHECK(e.where == "blocks[1].attend, " + here(line_of_callback));
    try {
      tk::block_until_ready(run());
    } catch (const std::exception& outer) {
      CHECK_THROWS_AS(std::rethrow_if_nested(outer), std::out_of_range);
    }
    wanted = failure::without_type;
    CHECK_THROWS_AS(tk::block_until_ready(run()), int);
    wanted = failure::none;
  });
}

TEST_CASE("a step without memory says how much it asked for, and which step it is") {
  each_program(apply, [](auto run) {
    wanted = failure::of_memory;
    const tk::error e = error_of(run);
    wanted = failure::none;
    CHECK(e.kind == tk::error_kind::resource);
    CHECK_THAT(e.subject, contains("memory of pure_callback f32[4]"));
    CHECK(e.found == "no 12345 bytes");
    CHECK(e.where == "blocks[1].attend, " + here(line_of_callback));
  });
}

TEST_CASE("a step of a device that fails has the path of the layer") {
  const auto far = tk::jit(apply, tk::far_device(0));
  const network n = tk::device_put(tk::init<network>(tk::random::key(0)), tk::far_device(0));
  const vector x = tk::device_put(vector(tk::ones({4})), tk::far_device(0));
  tk::block_until_ready(far(n, x));
  std::string all;
  for (int step = 2; step < 6; ++step) {  // the first one is the run itself
    tk::far_device(0).fail_step(step);
    try {
      tk::block_until_ready(far(n, x));
      tk::far_device(0).fail_step(0);
    } catch (const tk::error& e) {
      CHECK(e.kind == tk::error_kind::device);
      CHECK_THAT(e.what(), contains("device: step: found far:0 failed, expected success"));
      all += e.where + "\n";
    }
  }
  CHECK_THAT(all, contains("blocks[1].attend, " + here(line_of_callback)));
}

TEST_CASE("eager ops name the line, and programs in callbacks that around them too") {
  wanted = failure::of_user;
  const array x = tk::ones({4});
  const tk::error e = error_of([&] { return tk::pure_callback(callback(), {x.type()}, {x})[0]; });
  CHECK(e.where == here(__LINE__ - 1));
  struct inner {
    tk::arrays operator()(const tk::arrays& in) const { return tk::pure_callback(callback(), {in[0].type()}, {in[0]}); }
  };
  const auto outer = [](const array& v) {
    const tk::named_scope scope("outer", v);
    return tk::pure_callback(inner(), {v.type()}, {v})[0];
  };
  const tk::error nested = error_of([&] { return tk::jit(outer, tk::cpu)(x); });
  CHECK_THAT(nested.where, contains("outer, " + here(__LINE__ - 3)) && contains(here(__LINE__ - 7)));
  CHECK(nested.found == message_of_user);
  wanted = failure::none;
}

TEST_CASE("arrays and results that find no memory are errors of kind resource") {
  const auto check = [](const tk::error& e, const std::string& user, const std::string& bytes) {
    CHECK(e.kind == tk::error_kind::resource);
    CHECK(e.subject == "memory of " + user);
    CHECK(e.found == "no " + bytes + " bytes");
    CHECK(e.expected == "free memory");
  };
  check(error_of([] { return tk::array::filled({tk::f32, false, {1 << 30, 1 << 20}}, 1.0); }),
        "f32[1073741824,1048576]", "4503599627370496");
  check(error_of([] { return tk::device_put(array(1.0, {tk::f32, false, {1 << 30, 1 << 20}}), tk::far_device(0)); }),
        "f32[1073741824,1048576]", "4503599627370496");
  const auto grow = tk::jit(
      [](const array& x) {
        const array many = tk::broadcast_to(tk::reshape(x, {2, 1}), {2, std::int64_t{1} << 50});
        return tk::sum(tk::sort(many));
      },
      tk::cpu, tk::at_run_time);
  CHECK_THROWS_WITH(grow(tk::ones({2})), contains("memory of the intermediate values of a program: found no "));
  const auto wide =
      tk::jit([](const array& x) { return tk::broadcast_to(tk::reshape(x, {2, 1}), {2, std::int64_t{1} << 50}); },
              tk::cpu, tk::at_run_time);
  check(error_of([&] { return wide(tk::ones({2})); }), "f32[2,1125899906842624]", "9007199254740992");
}
