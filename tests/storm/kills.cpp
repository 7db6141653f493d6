// tests/storm/kills.cpp: kills TRAINER at random moments, as often as asked, and resumes it: the bytes of a straight run.
// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "storm/program.hpp"

int main(int count, char** given) {
  if (count != 5) return std::fprintf(stderr, "usage: kills TRAINER TEXT WORK KILLS\n"), 2;
  const std::string trainer = given[1];
  const fs::path text = given[2], work = fs::absolute(given[3]);
  const long wanted = std::atol(given[4]);
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  std::printf("random seed %u\n", seed);
  fs::remove_all(work);
  fs::create_directories(work);

  const auto before = std::chrono::steady_clock::now();
  expect(end(begin(training(trainer, text, work / "straight"), {}, work / "log")) == 0, "the straight run fails");
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - before);

  long kills = 0, sequences = 0;
  for (; kills < wanted && failures == 0; ++sequences) {
    fs::remove_all(work / "killed");
    for (int attempt = 0;; ++attempt) {
      const pid_t child = begin(resumed(training(trainer, text, work / "killed")), {}, work / "log");
      const bool let_it_end = attempt == 40;  // starting takes most of a run's time: not each attempt saves a step
      if (!let_it_end) {
        std::this_thread::sleep_for(whole * (random() % 1000) / 1000);
        kill(child, SIGKILL);
      }
      const int status = end(child);
      if (status == 0) break;
      ++kills;
      expect(status == 128 + SIGKILL, "status " + std::to_string(status) + ":\n" + content(work / "log"));
      if (failures) break;
    }
    expect_same_run(work / "straight", work / "killed", "after " + std::to_string(kills) + " kills");
  }
  std::printf("%ld kills in %ld runs, failures: %d\n", kills, sequences, failures);
  return failures ? 1 : 0;
}
