// tests/stablehlo/op_programs.cpp: the programs with which check_op checks ops, as StableHLO: they read back as they were written, and have
// the same values. The other test programs keep them in the folder TOKAMAX_PROGRAMS.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/device.hpp>
#include <tokamax/compiler/text/parse.hpp>
#include <tokamax/core/graph/inline.hpp>
#include <tokamax/linalg.hpp>
#include <tokamax/stablehlo.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "support/catch.hpp"
#include "support/functions.hpp"

namespace {

namespace tk = tokamax;
using tk::array;
namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void add_names(std::set<std::string>& names, const tk::graph& g) {
  for (const tk::node& n : g.nodes)
    if (n.op) names.emplace(n.op->name);
  for (const tk::graph& body : g.bodies) add_names(names, body);
}
bool has_effects(const tk::graph& g) {
  for (const tk::node& n : g.nodes)
    if (n.op && n.op->effect != tk::effect_kind::none) return true;
  return std::any_of(g.bodies.begin(), g.bodies.end(), has_effects);
}
/// The inputs of a program from their bytes.
std::vector<array> inputs_of(const tk::graph& g, const std::string& bytes) {
  std::vector<array> list;
  std::size_t at = 0;
  for (const int id : g.inputs) {
    const tk::array_type t{g[id].type.dtype, false, g[id].type.shape};
    list.push_back(array::uninitialized(t));
    const auto count = static_cast<std::size_t>(tk::size(t.shape) * tk::size_of(t.dtype));
    REQUIRE(at + count <= bytes.size());
    if (count) std::memcpy(list.back().mutable_bytes(), bytes.data() + at, count);
    at += count;
  }
  return list;
}
void write_bytes(const fs::path& path, const std::vector<array>& list) {
  std::ofstream file(path, std::ios::binary);
  for (const array& a : list)
    file.write(reinterpret_cast<const char*>(a.bytes()),
               static_cast<std::streamsize>(a.size() * tk::size_of(a.dtype())));
}
/// The bound of differences, relative to the largest element. Angles of far positions are rounded where they are multiplied, which
/// the kernel of the op avoids.
double bound_of(const std::set<std::string>& names) { return names.contains("rotary_embedding") ? 5e-3 : 2e-5; }
/// Values that are unique up to signs or phases are compared by their sizes.
bool is_ambiguous(const std::set<std::string>& names) {
  return names.contains("qr") || names.contains("svd") || names.contains("eigh") || names.contains("eig") ||
         names.contains("schur");
}

}  // namespace

TEST_CASE("to_stablehlo: programs of the tests of ops read back as they were written", "[.]") {
  const char *const folder = std::getenv("TOKAMAX_PROGRAMS"), *const out = std::getenv("TOKAMAX_STABLEHLO_OUT");
  if (!folder || fs::is_empty(folder)) {
    std::puts("skipped: no programs in TOKAMAX_PROGRAMS");
    return;
  }
  tk::vec<const tk::op*> ops = tk::library_ops();
  for (const tk::op* o :
       {&tk::linalg::cholesky_p, &tk::linalg::triangular_solve_p, &tk::linalg::lu_p, &tk::linalg::qr_p,
        &tk::linalg::svd_p, &tk::linalg::eigh_p, &tk::linalg::eig_p, &tk::linalg::schur_p})
    ops.push_back(o);
  int programs = 0;
  std::set<std::string> met;
  std::map<std::string, int> refused;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".graph") continue;
    const std::string graph_text = content(entry.path());
    INFO(graph_text);
    tk::graph g;
    try {
      g = tk::parse_graph(graph_text, ops);
    } catch (const tk::error&) {
      continue;  // an op that a test has made
    }
    if (has_effects(g)) continue;
    std::set<std::string> names;
    add_names(names, g);
    std::string text;
    try {
      text = tk::stablehlo::to_text(tk::stablehlo::module_of(g));
    } catch (const tk::error& e) {
      ++refused[e.subject + ": " + e.found];
      continue;
    }
    ++programs;
    INFO(text);
    try {
      const tk::stablehlo::program p = tk::read_stablehlo(text);
      CHECK(tk::stablehlo::to_text(p.source()) == text);
      const std::vector<array> in = inputs_of(g, content(fs::path(entry.path()).replace_extension(".inputs")));
      const std::vector<array> expected = tk::test::listed(tk::execute_graph(g, tk::test::listed(in)));
      if (!is_ambiguous(names))
        CHECK(tk::test::difference(tk::test::to_values(p(tk::cpu, in)), tk::test::to_values(expected),
                                   bound_of(names)) == "");
      met.merge(names);
      if (!out) continue;
      const fs::path to = fs::path(out) / entry.path().stem();
      std::ofstream(to.string() + ".mlir", std::ios::binary) << text;
      std::ofstream(to.string() + ".bound") << bound_of(names);
      write_bytes(to.string() + ".in", in);
      write_bytes(to.string() + ".out", expected);
    } catch (const tk::error& e) {
      FAIL_CHECK(e.what());
    }
  }
  for (const auto& [what, count] : refused) {
    UNSCOPED_INFO(what << ", " << count << " times");
  }
  CHECK(refused.empty());
  CHECK(programs >= 200);
  // Those that exist in kernels, on several devices, as parts of graphs or while compiling only, and those that check_op does
  // not check.
  const std::set<std::string> elsewhere = {"all_gather",
                                           "axis_index",
                                           "captured",
                                           "copy_start",
                                           "copy_wait",
                                           "dense",
                                           "eig",
                                           "grid_loop",
                                           "kernel_call",
                                           "placeholder",
                                           "ref_empty",
                                           "ref_get",
                                           "ref_set",
                                           "schur",
                                           "semaphore_signal",
                                           "semaphore_wait",
                                           "stand_in",
                                           "variable",
                                           "differentiated_custom_vjp"};
  for (const tk::op* o : ops) {
    if (o->effect != tk::effect_kind::none || elsewhere.contains(std::string(o->name))) continue;
    INFO(std::string(o->name));
    CHECK(met.contains(std::string(o->name)));
  }
  std::printf("%d programs with %d ops\n", programs, static_cast<int>(met.size()));
}
