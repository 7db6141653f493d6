// examples/tokamax_run.cpp: runs programs that were exported as StableHLO, shows them, and runs suites that check themselves.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/system/file.hpp>
#include <tokamax/data/sources/npy.hpp>
#include <tokamax/stablehlo.hpp>
#include <tokamax/tokamax.hpp>
#include <tokamax/train/device_named.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "program_main.hpp"

namespace tk = tokamax;
namespace shlo = tokamax::stablehlo;

struct settings {
  std::string program;
  std::vector<std::string> inputs;
  std::string device = "cpu", out;
  int threads = 0;
  bool check = false, verify = false, time = false, text = false, ops = false;
};

void declare_options(CLI::App& app, settings& s) {
  app.add_option("program", s.program, "a file of StableHLO; with --check also a folder of them")->required();
  app.add_option("inputs", s.inputs, "an .npy file for each input; without any they are zeros");
  app.add_option("--device", s.device, "where it runs: cpu, cuda, or cuda:N")->capture_default_str();
  app.add_option("--threads", s.threads, "threads; 0 takes all")->capture_default_str();
  app.add_option("--out", s.out,
                 "write result N to the file with this name and N.npy behind it, instead of printing it");
  app.add_flag("--check", s.check, "run the comparisons that the program asks for by check.expect_* calls");
  app.add_flag("--verify", s.verify, "trace all functions without running them, and count those that are refused");
  app.add_flag("--time", s.time, "say how long it took");
  app.add_flag("--text", s.text, "print the program as text, and do not run it");
  app.add_flag("--ops", s.ops, "count its operations, and do not run it");
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string described(const shlo::argument& a) {
  std::string s(a.name.empty() ? "" : a.name + ": ");
  return s.append(tk::message(a.type).view()).append(a.is_complex ? " (complex)" : "");
}

/// The files of a folder, or the one file that is named.
std::vector<std::filesystem::path> files_of(const settings& s) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(s.program)) {
    for (const auto& f : std::filesystem::directory_iterator(s.program))
      if (f.path().extension() == ".mlir") files.push_back(f.path());
  } else {
    files.emplace_back(s.program);
  }
  std::sort(files.begin(), files.end());
  return files;
}
/// The modules of a file of tests, which lines of "// -----" divide. Files of bytes are one module.
std::vector<std::string> modules_of(const std::filesystem::path& path) {
  const std::string content = tk::read_file(path.string()), line = "\n// -----";
  if (content.find('\0') != content.npos || content.find(line) == content.npos) return {path.string()};
  std::vector<std::string> parts;
  for (std::size_t at = 0; at != content.npos;) {
    const std::size_t end = content.find(line, at);
    parts.push_back("\n" + content.substr(at, end == content.npos ? end : end - at));
    at = end == content.npos ? end : content.find('\n', end + 1);
  }
  return parts;
}

/// Runs what compares itself: @main, or all functions without arguments. Counts files whose comparisons all hold.
int check(const settings& s, tk::device& device) {
  const std::vector<std::filesystem::path> files = files_of(s);
  int passed = 0, failed = 0;
  std::map<std::string, int> refused;
  const auto begin = std::chrono::steady_clock::now();
  for (const std::filesystem::path& f : files) {
    try {
      std::vector<shlo::check_result> all;
      for (const std::string& text : modules_of(f)) {
        const shlo::program_module m = tk::read_module(text);
        for (const shlo::function& each : m.functions) {
          if (m.find("main") ? each.name != "main" : !each.body.arguments.empty() || !each.has_body) continue;
          const std::vector<shlo::check_result> some = shlo::program(m, each.name).check(device);
          all.insert(all.end(), some.begin(), some.end());
        }
      }
      const bool good = !all.empty() && std::all_of(all.begin(), all.end(), [](const auto& c) { return c.passed; });
      (good ? passed : failed) += 1;
      for (const shlo::check_result& c : all)
        if (!c.passed)
          fmt::print("failed: {}: {} at {}, distance {}\n", f.filename().string(), c.kind, c.where.text(), c.distance);
      if (all.empty()) fmt::print("failed: {}: it compares nothing\n", f.filename().string());
    } catch (const tk::error& e) {
      ++refused[e.subject];
      if (files.size() < 200) fmt::print("refused: {}: {}\n", f.filename().string(), e.what());
    }
  }
  int refusals = 0;
  for (const auto& [what, count] : refused) {
    fmt::print("refused: {}: {}\n", what, count);
    refusals += count;
  }
  fmt::print("{} programs: {} passed, {} failed, {} refused\n", files.size(), passed, failed, refusals);
  if (s.time) fmt::print("{:.2f} s\n", seconds_since(begin));
  return failed + refusals > 0;
}

/// Traces all functions of all modules. Modules that say "expected-error" are to be refused. Those are left out whose extents
/// are not known, or that have operations without a rule.
int verify(const settings& s) {
  int refused = 0, wrong = 0, good = 0, accepted = 0, left_out = 0;
  for (const std::filesystem::path& f : files_of(s)) {
    for (const std::string& text : modules_of(f)) {
      const bool expected = text.find("expected-error") != text.npos;
      std::string problem, about;
      try {
        const shlo::program_module m = tk::read_module(text);
        for (const shlo::function& each : m.functions)
          if (each.has_body) shlo::program(m, each.name).verify();
      } catch (const tk::error& e) {
        problem = e.what();
        about = e.subject;
      }
      if (about == "stablehlo: extents" || about == "stablehlo: operations without a rule") {
        ++left_out;
        continue;
      }
      (expected ? wrong : good) += 1;
      if (expected && !problem.empty()) ++refused;
      if (!expected && problem.empty()) ++accepted;
      if (expected && problem.empty())
        fmt::print("accepted: {}: {}\n", f.filename().string(), text.substr(text.find("expected-error"), 150));
      if (!expected && !problem.empty()) fmt::print("refused: {}: {}\n", f.filename().string(), problem);
    }
  }
  fmt::print("{} modules, {} left out: {} accepted of {}, {} refused of {} that are wrong\n", good + wrong + left_out,
             left_out, accepted, good, refused, wrong);
  return accepted < good || refused < wrong;
}

void count_operations(const shlo::region& r, std::map<std::string, int>& counts) {
  for (const shlo::operation& o : r.operations) {
    ++counts[o.name];
    for (const shlo::region& inside : o.regions) count_operations(inside, counts);
  }
}

/// Writes the elements of an array as NumPy's file format has them.
void write_npy(const tk::array& a, const std::string& path) {
  const char kind = tk::is_floating(a.dtype())   ? 'f'
                    : tk::is_unsigned(a.dtype()) ? 'u'
                    : a.dtype() == tk::bool_     ? 'b'
                                                 : 'i';
  std::string header =
      fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': (", kind == 'b' ? '|' : '<',
                  tk::is_floating(a.dtype()) && a.dtype() != tk::f16 && tk::bits_of(a.dtype()) < 32 ? 'V' : kind,
                  tk::size_of(a.dtype()));
  for (const std::int64_t e : a.shape()) header += fmt::format("{},", e);
  header += "), }";
  header.append(63 - (header.size() + 10) % 64, ' ').append("\n");
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY\x01" << '\0' << static_cast<char>(header.size() & 255) << static_cast<char>(header.size() >> 8)
       << header;
  file.write(reinterpret_cast<const char*>(a.bytes()), static_cast<std::streamsize>(a.size() * tk::size_of(a.dtype())));
  if (!file) throw tk::error(tk::error_kind::file, "--out", path, "a file that can be written");
}

int run(const settings& s) {
  if (s.threads < 0 || s.threads > 1024) throw tk::error("--threads", std::to_string(s.threads), "0 to 1024");
  tk::cpu_backend::set_num_threads(s.threads);
  tk::device& device = tk::train::device_named(s.device, "--device");
  if (s.check) return check(s, device);
  if (s.verify) return verify(s);
  auto begin = std::chrono::steady_clock::now();
  const shlo::program p = tk::read_stablehlo(s.program);
  const double reading = seconds_since(begin);
  if (s.text) {
    fmt::print("{}", shlo::to_text(p.source()));
    return 0;
  }
  if (s.ops) {
    std::map<std::string, int> counts;
    for (const shlo::function& f : p.source().functions) count_operations(f.body, counts);
    for (const auto& [name, count] : counts) fmt::print("{:6} {}\n", count, name);
    return 0;
  }
  std::vector<tk::array> inputs;
  for (const std::string& path : s.inputs) {
    tk::array x = tk::data::read_npy(path);
    if (inputs.size() < p.inputs().size()) {  // NumPy has no bfloat16: unsigned integers of its width are its bits
      const tk::dtype expected = p.inputs()[inputs.size()].type.dtype;
      if (tk::is_unsigned(x.dtype()) && tk::is_floating(expected) && tk::bits_of(expected) == tk::bits_of(x.dtype()))
        x = tk::bitcast_convert_type(x, expected);
    }
    inputs.push_back(std::move(x));
  }
  if (inputs.empty())
    for (const shlo::argument& a : p.inputs()) inputs.push_back(tk::array(0, a.type));
  begin = std::chrono::steady_clock::now();
  std::vector<tk::array> results = p(device, inputs);
  for (const tk::array& r : results) r.bytes();
  const double first = seconds_since(begin);
  for (std::size_t k = 0; k < results.size(); ++k) {
    const std::string path = fmt::format("{}{}.npy", s.out, k);
    if (!s.out.empty())
      write_npy(results[k], path);
    else
      fmt::print("{} {}\n{}\n", k, described(p.outputs()[k]), tk::to_string(results[k]));
  }
  if (!s.time) return 0;
  double best = first;
  for (int k = 0; k < 10; ++k) {
    begin = std::chrono::steady_clock::now();
    results = p(device, inputs);
    for (const tk::array& r : results) r.bytes();
    best = std::min(best, seconds_since(begin));
  }
  fmt::print("[read in {:.1f} ms, first call {:.1f} ms, then {:.3f} ms]\n", 1e3 * reading, 1e3 * first, 1e3 * best);
  return 0;
}

int main(int argc, char** argv) {
  return program_main<settings>(argc, argv, "tokamax_run", "Runs a program that was exported as StableHLO.",
                                declare_options, run);
}
