// tests/base/error.cpp: the parts of an error, and the kinds of errors of every folder.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/far.hpp>
#include <tokamax/backend/systolic.hpp>
#include <tokamax/base/error.hpp>
#include <tokamax/base/system/file.hpp>
#include <tokamax/base/system/file_lock.hpp>
#include <tokamax/benchmarking.hpp>
#include <tokamax/checkpoint.hpp>
#include <tokamax/data.hpp>
#include <tokamax/linalg.hpp>
#include <tokamax/numpy.hpp>
#include <tokamax/optim/wrappers/multi_steps.hpp>
#include <tokamax/profile.hpp>
#include <tokamax/tokamax.hpp>
#include <tokamax/transforms/checks/check.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

#include <fstream>
#include <functional>
#include <vector>

namespace tk = tokamax;
using tk::array;
using tk::error_kind;

namespace {
struct wrong_call {
  const char* what;
  error_kind kind;
  std::function<void()> call;
};
/// Calls that fail, in the order of the folders.
std::vector<wrong_call> wrong_calls() {
  static const temporary_folder folder;
  const auto x = array::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}), ids = tk::zeros({2}, tk::i32);
  const auto sum_of = tk::jit([](const array& a, const array& b) { return tk::sum(a + b); }, tk::cpu);
  const auto fixed = tk::jit([](const tk::tensor<tk::f32, 2>& a) { return a * 2.0f; }, tk::cpu);
  const auto path = [](const char* name) { return folder.path / name; };
  using enum error_kind;
  return {
      {"axis", shape, [=] { (void)x.extent(2); }},
      {"rank", shape, [=] { (void)tk::shape{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}; }},
      {"file", file, [=] { tk::read_file(path("nothing"), 10); }},
      {"lock", file, [=] { tk::file_lock first(path("lock")), second(path("lock")); }},
      {"array: literal", argument, [=] { array(std::int64_t{1} << 40); }},
      {"array: shape", shape, [=] { array::uninitialized({tk::f32, false, {-1}}); }},
      {"array::from: number of values", shape, [=] { array::from<float>({1, 2}, {3}); }},
      {"data: array without data", argument, [=] { (void)array(x.type()).values<float>(); }},
      {"data: element type", shape, [=] { (void)x.values<double>(); }},
      {"item: number of elements", shape, [=] { x.item(); }},
      {"tensor: type", shape, [=] { (void)tk::tensor<tk::f32, 4>(x); }},
      {"device: operands of add", device,
       [=] { (void)(tk::device_put(x, tk::far_device(1)) + tk::device_put(x, tk::far_device(2))); }},
      {"add: shapes", shape, [=] { (void)(x + tk::ones({4})); }},
      {"reshape: number of elements", shape, [=] { tk::reshape(x, {5}); }},
      {"reduce_sum: axis", shape, [=] { (void)tk::sum(x, {{2}}); }},
      {"index: position", argument, [=] { (void)x[2]; }},
      {"matmul: inner extents", shape, [=] { tk::matmul(x, x); }},
      {"choice: number", argument, [=] { tk::random::choice(tk::random::key(1), ids, {3}, {.replace = false}); }},
      {"uniform: bounds", shape, [=] { tk::random::uniform(tk::random::key(1), {}, tk::f32, x, x); }},
      {"graph", file, [] { tk::parse_graph("nonsense"); }},
      {"check", argument, [=] { tk::check(array(false), "no"); }},
      {"softmax_cross_entropy: labels", shape, [=] { tk::softmax_cross_entropy(x, tk::ones({2})); }},
      {"cholesky: matrix", shape, [=] { tk::linalg::cholesky(x); }},
      {"jit: argument", shape, [=] { fixed(array(tk::ones({3}))); }},
      {"jit: argument", argument, [=] { sum_of(array(x.type()), x); }},
      {"jit: device of an argument", device, [=] { sum_of(tk::device_put(x, tk::far_device(1)), x); }},
      {"device: lost", device,
       [=] {
         const tk::far_device lost(7);
         const array there = tk::device_put(x, lost);
         lost.lose();
         (void)there.values<float>();
       }},
      {"systolic: chip", argument, [] { (void)tk::systolic_backend::chip_named("v0"); }},
      {"multi_steps: every", argument, [] { tk::optim::multi_steps(tk::optim::sgd(0.1), 0); }},
      {"cosine: steps", argument, [] { tk::optim::cosine({.steps = 0}); }},
      {"text", file, [=] { tk::data::text(folder.write("t", "")); }},
      {"json", file, [=] { folder.write("metadata.json", "{"), tk::checkpoint::about(folder.path); }},
      {"safetensors", file, [=] { tk::checkpoint::safetensors_file f(folder.write("s.safetensors", "{}")); }},
      {"checkpoint: leaf value", argument, [=] { tk::checkpoint::save(path("8"), array(x.type())); }},
      {"profile", file, [=] { tk::profile::write_trace({}, path("none") / "trace.json"); }},
      {"benchmark: iterations", argument,
       [=] { tk::benchmark([](const array& a) { return a; }, {.iterations = 0}, x); }},
      {"gpt: width", argument, [] { tk::models::make_gpt({.width = 7, .heads = 2}); }},
  };
}
}  // namespace

TEST_CASE("an error has four parts and says them in one line") {
  const tokamax::error e("reshape: number of elements", "f32[2,3]", "[4]", "file.cpp:7");
  CHECK(e.subject == "reshape: number of elements");
  CHECK(e.found == "f32[2,3]");
  CHECK(e.expected == "[4]");
  CHECK(e.where == "file.cpp:7");
  CHECK(std::string(e.what()) == "reshape: number of elements: found f32[2,3], expected [4] (file.cpp:7)");
  CHECK(std::string(tokamax::error("a", "b", "c").what()) == "a: found b, expected c");
}

TEST_CASE("an error has a kind, which is argument if nothing else is said") {
  CHECK(tk::error("a", "b", "c").kind == error_kind::argument);
  const tk::error e(error_kind::resource, "a", "b", "c", "d");
  CHECK((e.kind == error_kind::resource && e.where == "d" && std::string(e.what()) == "a: found b, expected c (d)"));
  const char* const names[] = {"argument", "shape", "file", "device", "resource", "internal"};
  for (int k = 0; k < 6; ++k) CHECK(std::string(tk::name(static_cast<error_kind>(k))) == names[k]);
}

TEST_CASE("errors of every folder have the kind that says who can mend them") {
  for (const auto& [what, kind, call] : wrong_calls()) {
    CAPTURE(what);
    try {
      call();
      FAIL_CHECK("no error");
    } catch (const tk::error& e) {
      CHECK(e.subject == what);
      CHECK(std::string(tk::name(e.kind)) == tk::name(kind));
    }
  }
}
