// tests/train/run_folder.cpp: a run's folder, its lock, the signals that stop it, and the settings that it goes on with.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/train/interruption.hpp>
#include <tokamax/train/run_folder.hpp>
#include <tokamax/train/run_settings.hpp>

#include <sys/wait.h>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

using namespace tokamax::train;
namespace fs = std::filesystem;
using run_start = run_folder::start;

TEST_CASE("a fresh run takes a folder that no run has used") {
  const temporary_folder folder;
  const fs::path path = folder.path / "runs" / "one";
  { const run_folder run(path, run_start::fresh); }
  for (const char* name :
       {"checkpoints", "metrics.jsonl", "loss.svg", "trace.json", "profile.html", "profile.xplane.pb"}) {
    fs::create_directory(path / name);
    CHECK_THROWS_WITH(run_folder(path, run_start::fresh),
                      contains(name) && contains("--out") && contains("--resume") && contains(path.string()));
    CHECK_NOTHROW(run_folder(path, run_start::resumed));
    fs::remove(path / name);
  }
  folder.write("text.txt", "other files are no matter");
  CHECK(run_folder(folder.path, run_start::fresh).metrics() == folder.path / "metrics.jsonl");
}

TEST_CASE("folders that cannot be are named") {
  const temporary_folder folder;
  const fs::path file = folder.write("file", "");
  CHECK_THROWS_WITH(run_folder("", run_start::fresh), contains("no name"));
  CHECK_THROWS_WITH(run_folder(file, run_start::fresh), contains("Not a directory"));
  CHECK_THROWS_WITH(run_folder(file, run_start::resumed), contains("/file"));
  CHECK_THROWS_AS(run_folder(file / "a", run_start::resumed), tokamax::error);
  CHECK_THROWS_AS(run_folder("/proc/no", run_start::fresh), tokamax::error);
}

TEST_CASE("one process at a time works in a folder") {
  const temporary_folder folder;
  const fs::path path = folder.path / "one";
  {
    const run_folder run(path, run_start::fresh);
    for (const run_start from : {run_start::fresh, run_start::resumed})
      CHECK_THROWS_WITH(run_folder(path, from), contains("another process at work") && contains("/one/lock"));
  }
  CHECK_NOTHROW(run_folder(path, run_start::fresh));
}

TEST_CASE("the first signal is noted, the second ends the process") {
  const pid_t child = fork();
  if (child == 0) {
    const interruption asked;
    bool right = asked.signal() == 0;
    raise(SIGTERM);
    right = right && asked.signal() == SIGTERM;
    if (!right) _exit(1);
    raise(SIGTERM);
    _exit(2);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
  const auto before = signal(SIGINT, SIG_IGN);
  {
    const interruption asked;
    raise(SIGINT);
    CHECK(asked.signal() == 0);  // what the process ignores stays ignored
  }
  CHECK(signal(SIGINT, before) == SIG_IGN);
}

TEST_CASE("a run goes on with the settings that it began with") {
  const run_settings now{.data = mark_of("a text"), .layers = 2, .seed = 7, .learning_rate = 1e-3};
  const auto saved = tokamax::checkpoint::metadata{}.set("run", now);
  CHECK_NOTHROW(require_same(now, saved, "here"));
  run_settings other = now;
  other.seed = 8;
  other.learning_rate = 0.1;
  CHECK_THROWS_WITH(require_same(other, saved, "here"),
                    contains("found seed 8, learning_rate 0.1, expected seed 7, learning_rate 0.001") &&
                        contains("--allow-changes") && contains("(here)"));
  other = now;
  other.data = mark_of("b text");
  CHECK_THROWS_WITH(require_same(other, saved, "here"), contains("found data crc32c "));
  CHECK_THROWS_WITH(require_same(now, {}, "here"), contains("does not say how it was made"));
}
