// tests/benchmarking/autotuning_file.cpp: results survive files, and files that are something else are refused and kept.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/benchmarking/autotuning_file.hpp>

#include <tokamax/backend/cpu.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;

namespace {

tk::autotuning_result result_with(const std::string& call, double kernel = 2, double compose = 1) {
  tk::autotuning_result r{tk::host_device().kind()};
  r.set({call, {{"kernel", {kernel, kernel + 1}}, {"compose", {compose}}, {"broken", {}, "it throws"}}});
  return r;
}

struct file_for_test {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tokamax_autotuning_" + std::to_string(::getpid()));
  file_for_test() { remove(); }
  ~file_for_test() { remove(); }
  void remove() const {
    for (const char* end : {"", ".lock", ".tokamax-tmp"}) std::filesystem::remove(path.string() + end);
  }
  void write(const std::string& text) const { std::ofstream(path, std::ios::binary | std::ios::trunc) << text; }
};

}  // namespace

TEST_CASE("a result is written as JSON and read back") {
  const tk::autotuning_result r = result_with("softmax(f32[2,3])") | result_with("argmax(f32[2,3])", 1, 1.02);
  const tk::autotuning_result again = tk::autotuning_result_from_json(tk::to_json(r, 2));
  CHECK(tk::to_json(again) == tk::to_json(r));
  REQUIRE(again.calls.size() == 2);
  CHECK(again.calls[0].call == "argmax(f32[2,3])");
  CHECK(again.calls[0].fastest() == "kernel");
  CHECK(again.calls[1].fastest() == "compose");
  CHECK(again.without_failures().calls[0].implementations.size() == 2);
  const auto table = again.choices();
  REQUIRE(table->choices.size() == 2);
  CHECK(table->choices[1].call == "softmax(f32[2,3])");
  CHECK(table->choices[1].implementation == "compose");
}

TEST_CASE("files are merged, and results that do not belong together are not") {
  const file_for_test file;
  tk::save_autotuning(file.path, result_with("a()"));
  tk::save_autotuning(file.path, result_with("b()"));
  tk::save_autotuning(file.path, result_with("a()", 1, 2));
  const tk::autotuning_result all = tk::load_autotuning(file.path);
  REQUIRE(all.calls.size() == 2);
  CHECK(all.calls[0].fastest() == "kernel");
  tk::autotuning_result foreign = result_with("c()");
  foreign.device_kind = "abacus";
  CHECK_THROWS_WITH(all | foreign, contains("autotuning: device kind"));
  CHECK_THROWS_WITH(tk::save_autotuning(file.path, foreign), contains("device kind") && contains(file.path.string()));
  CHECK(tk::load_autotuning(file.path).calls.size() == 2);
}

TEST_CASE("wrong, old and foreign files are refused, by name, and stay as they are") {
  const file_for_test file;
  const std::string good = tk::to_json(result_with("a()"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::pair<std::string, const char*> cases[] = {
      {"", "json"},
      {good.substr(0, good.size() / 2), "json"},
      {"[]", "autotuning"},
      {R"({"loss": 3})", "autotuning"},
      {with("autotuning 1", "autotuning 7"), "autotuning: format"},
      {with(std::string(tk::version), "0.0.1"), "autotuning: version"},
      {with(tk::host_device().kind(), "abacus"), "autotuning: device kind"},
      {with("\"call\"", "\"cal\""), "no call"},
      {with("[2.0,3.0]", "[-2.0,3.0]"), "autotuning: time"},
      {with("[2.0,3.0]", "\"2\""), "a list"},
  };
  for (const auto& [text, message] : cases) {
    INFO(text);
    file.write(text);
    CHECK_THROWS_WITH(tk::load_autotuning(file.path), contains(message) && contains(file.path.string()));
    CHECK_THROWS_AS(tk::save_autotuning(file.path, result_with("b()")), tk::error);
    CHECK(tk::read_file(file.path) == text);
  }
  CHECK_THROWS_WITH(tk::load_autotuning("/nowhere/tuned.json"), contains("/nowhere/tuned.json"));
}

TEST_CASE("processes and threads write one file at the same time and lose nothing") {
  const file_for_test file;
  constexpr int writers = 4, each = 5;
  const auto write = [&](int who) {
    for (int i = 0; i < each; ++i)
      tk::save_autotuning(file.path, result_with("op" + std::to_string(who) + "_" + std::to_string(i) + "()"));
  };
  std::vector<::pid_t> children;
  for (int who = 0; who < writers / 2; ++who) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      write(who);
      ::_exit(0);
    }
    children.push_back(child);
  }
  std::vector<std::thread> threads;
  for (int who = writers / 2; who < writers; ++who) threads.emplace_back(write, who);
  for (std::thread& t : threads) t.join();
  for (const ::pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(tk::load_autotuning(file.path).calls.size() == writers * each);
}
