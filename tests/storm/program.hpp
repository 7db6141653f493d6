// tests/storm/program.hpp: what the storms share: programs that are run, killed and compared.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fs = std::filesystem;
using words = std::vector<std::string>;

inline std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline int failures = 0;
inline void expect(bool fits, const std::string& message) {
  if (fits) return;
  ++failures;
  std::fprintf(stderr, "FAILED: %s\n", message.c_str());
}

/// A program that runs; its output goes to the file `log`.
inline pid_t begin(const words& command, const std::vector<std::pair<std::string, std::string>>& environment,
                   const fs::path& log) {
  const pid_t child = fork();
  if (child != 0) return child;
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  dup2(file, 1);
  dup2(file, 2);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(126);
}
/// The exit status, or 128 and the number of the signal that ended it; after a minute it is killed.
inline int end(pid_t child) {
  for (int wait = 0, status = 0; wait < 60000; ++wait) {
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  return 128 + SIGALRM;
}

/// A small training run of `trainer`, whose result depends on nothing but its options.
inline words training(const std::string& trainer, const fs::path& text, const fs::path& out) {
  return {trainer, "--data",       text.string(), "--out",        out.string(), "--layers",        "1", "--width",
          "8",     "--heads",      "2",           "--context",    "8",          "--batch",         "2", "--steps",
          "24",    "--eval-every", "8",           "--save-every", "4",          "--sample-tokens", "2", "--threads",
          "1"};
}
inline words resumed(words command) {
  command.push_back("--resume");
  return command;
}
inline void expect_same_run(const fs::path& expected, const fs::path& found, const std::string& what) {
  for (const char* name :
       {"metrics.jsonl", "loss.svg", "checkpoints/24/arrays.safetensors", "checkpoints/24/metadata.json"})
    expect(fs::exists(found / name) && content(expected / name) == content(found / name),
           what + ": " + name + " differs from the straight run");
}
