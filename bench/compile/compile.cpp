// bench/compile/compile.cpp: user time and peak memory of compilers, with limits; one JSON line a figure.
// SPDX-License-Identifier: Apache-2.0
//
// Reads a file of cases, one a line, fields separated by tabs: case, compiler, seconds allowed (+30: 30 % more than the first
// case with a limit takes, which is the umbrella), MB allowed (0: no limit), command and its arguments. A second argument
// runs only the cases whose name contains it. The exit status is 1 when a command fails or goes over a limit.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields{""};
  for (const char c : line) {
    if (c == '\t') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

struct cost {
  bool succeeded;
  double seconds;    // user time of the command and its children
  double megabytes;  // of its largest process
};

cost run_once(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const double seconds =
      static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
  return {WIFEXITED(status) && WEXITSTATUS(status) == 0, seconds, static_cast<double>(usage.ru_maxrss) * 1024e-6};
}

/// The least of five runs if they are short: what else the machine does only adds.
cost run(const std::vector<std::string>& words) {
  cost least = run_once(words);
  for (int k = 1; k < 5 && least.succeeded && least.seconds < 5; ++k) {
    const cost again = run_once(words);
    if (again.seconds < least.seconds) least = again;
  }
  return least;
}

bool print(const std::string& name, const std::string& compiler, double value, double limit, const char* unit) {
  std::printf(R"({"suite":"compile","case":"%s","impl":"tokamax %s","value":%.2f,"unit":"%s","limit":%.1f})",
              name.c_str(), compiler.c_str(), value, unit, limit);
  std::printf("\n");
  std::fflush(stdout);
  if (limit == 0 || value <= limit) return true;
  std::fprintf(stderr, "%s, %s: %.2f %s, expected at most %.1f\n", name.c_str(), compiler.c_str(), value, unit, limit);
  return false;
}

}  // namespace

int main(int count, char** words) {
  std::ifstream cases(count > 1 ? words[1] : TOKAMAX_COMPILE_CASES);
  const std::string only = count > 2 ? words[2] : "";
  bool good = true;
  double umbrella = 0;  // seconds
  for (std::string line; std::getline(cases, line);) {
    const std::vector<std::string> fields = split(line);
    if (fields.size() < 5 || fields[0].find(only) == std::string::npos) continue;
    const cost used = run({fields.begin() + 4, fields.end()});
    if (!used.succeeded) {
      std::fprintf(stderr, "%s, %s: does not compile\n", fields[0].c_str(), fields[1].c_str());
      good = false;
      continue;
    }
    double seconds = std::stod(fields[2]);
    if (fields[2][0] == '+')
      seconds = umbrella * (1 + seconds / 100);
    else if (seconds > 0 && umbrella == 0)
      umbrella = used.seconds;
    good &= print(fields[0], fields[1], used.seconds, seconds, "s");
    good &= print(fields[0], fields[1], used.megabytes, std::stod(fields[3]), "MB");
  }
  return good ? 0 : 1;
}
