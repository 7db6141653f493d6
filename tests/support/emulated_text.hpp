// tests/support/emulated_text.hpp: compiles device text for the host, where a kernel runs block by block.
// SPDX-License-Identifier: Apache-2.0
//
// The threads of a block take turns on one thread of the host. A thread that waits for others gives its turn away, so shared
// memory, barriers and exchanges within warps work as on a GPU. Only the order of the threads is fixed.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "support/temporary_folder.hpp"

namespace tokamax::test {

/// What stands before the text: the names that device text may use without including anything.
inline constexpr std::string_view emulation = R"text(
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <memory>
#include <vector>
#define __global__
#define __shared__ static thread_local

namespace {
struct place_in_grid { unsigned x = 0, y = 0, z = 0; };
thread_local place_in_grid blockIdx, threadIdx, blockDim, gridDim;

struct meeting { unsigned arrived = 0, round = 0, alive = 0; };
struct team {
  struct member {
    ucontext_t where;
    std::unique_ptr<char[]> stack{new char[1 << 16]};
    bool ended = false;
    unsigned long long word = 0;
  };
  std::vector<member> members;
  std::vector<meeting> warps;
  meeting all;
  ucontext_t home;
  unsigned now = 0, idle = 0;
  void (*body)(const void*) = nullptr;
  const void* record = nullptr;

  void give_turn() {
    if (++idle > 4 * members.size()) abort();  // all wait for each other
    swapcontext(&members[now].where, &home);
    threadIdx.x = now;
  }
  void meet(meeting& m) {
    if (++m.arrived == m.alive) return next_round(m);
    for (const unsigned round = m.round; m.round == round;) give_turn();
  }
  void leave(meeting& m) {
    if (--m.alive > 0 && m.arrived == m.alive) next_round(m);
  }
  void next_round(meeting& m) {
    m.arrived = 0;
    ++m.round;
    idle = 0;
  }
};
thread_local team* block = nullptr;
void run_member() {
  threadIdx.x = block->now;
  block->body(block->record);
  block->idle = 0;
  block->members[block->now].ended = true;
  block->leave(block->all);
  block->leave(block->warps[block->now / 32]);
}
void run_team(team& t, unsigned threads) {
  block = &t;
  t.members.resize(threads);
  t.warps.assign((threads + 31) / 32, {});
  t.all = {0, 0, threads};
  for (unsigned i = 0; i < threads; ++i) {
    ++t.warps[i / 32].alive;
    auto& m = t.members[i];
    m.ended = false;
    getcontext(&m.where);
    m.where.uc_stack.ss_sp = m.stack.get();
    m.where.uc_stack.ss_size = 1 << 16;
    m.where.uc_link = &t.home;
    makecontext(&m.where, run_member, 0);
  }
  for (bool any = true; any;) {
    any = false;
    for (unsigned i = 0; i < threads; ++i) {
      if (t.members[i].ended) continue;
      any = true;
      t.now = i;
      swapcontext(&t.home, &t.members[i].where);
    }
  }
}
void emulate(const unsigned* grid, bool meets, void (*body)(const void*), const void* record) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {grid[3], 1, 1};
  team t;
  t.body = body;
  t.record = record;
  for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x) {
        if (meets) run_team(t, grid[3]);
        else for (threadIdx.x = 0; threadIdx.x < grid[3]; ++threadIdx.x) body(record);
      }
}

inline void __syncthreads() { block->meet(block->all); }
template <class T> T __shfl_xor_sync(unsigned, T v, int far) {
  meeting& warp = block->warps[block->now / 32];
  memcpy(&block->members[block->now].word, &v, sizeof v);
  block->meet(warp);
  const unsigned other = block->now ^ (unsigned)far;
  T r = v;
  if (other < block->members.size()) memcpy(&r, &block->members[other].word, sizeof r);
  block->meet(warp);
  return r;
}
inline unsigned __ballot_sync(unsigned, int v) {
  meeting& warp = block->warps[block->now / 32];
  block->members[block->now].word = v != 0;
  block->meet(warp);
  unsigned all = 0;
  const unsigned first = block->now / 32 * 32;
  for (unsigned i = first; i < first + 32 && i < block->members.size(); ++i)
    all |= (unsigned)(!block->members[i].ended && block->members[i].word) << (i - first);
  block->meet(warp);
  return all;
}
// Which threads of the warp have the same value.
template <class T> unsigned __match_any_sync(unsigned, T v) {
  meeting& warp = block->warps[block->now / 32];
  block->members[block->now].word = (unsigned long long)v;
  block->meet(warp);
  unsigned all = 0;
  const unsigned first = block->now / 32 * 32;
  for (unsigned i = first; i < first + 32 && i < block->members.size(); ++i)
    all |= (unsigned)(!block->members[i].ended && block->members[i].word == (unsigned long long)v) << (i - first);
  block->meet(warp);
  return all;
}
template <class T> T atomicAdd(T* place, T v) { const T before = *place; *place += v; return before; }
inline void cudaGraphSetConditional(unsigned long long condition, unsigned value) { *(unsigned*)condition = value; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
#define __expf expf
inline float cospif(float x) { return (float)cos(M_PI * x); }
inline float sinpif(float x) { return (float)sin(M_PI * x); }
inline double cospi(double x) { return cos(M_PI * x); }
inline double sinpi(double x) { return sin(M_PI * x); }
template <class To, class From> To same_bits(From x) { To r; memcpy(&r, &x, sizeof r); return r; }
inline unsigned __float_as_uint(float x) { return same_bits<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return same_bits<float>(x); }
inline double __longlong_as_double(long long x) { return same_bits<double>(x); }
}  // namespace

#define KERNEL(name, data)                                                                    \
  static void body_of_##name(const data& d);                                                  \
  extern "C" const unsigned long bytes_of_##name;                                             \
  const unsigned long bytes_of_##name = sizeof(data);                                         \
  extern "C" void name(const unsigned* grid, const void* record) {                            \
    emulate(grid, MEETS, [](const void* r) { body_of_##name(*(const data*)r); }, record);     \
  }                                                                                           \
  static void body_of_##name(const data& d)
)text";

/// Is there a compiler for it?
inline constexpr bool emulates_text =
#if defined(TOKAMAX_TEST_COMPILER)
    true;
#else
    false;
#endif

/// A library of the kernels of a text, as the bytes of its file; empty if it does not compile, and then `messages` says why.
/// A kernel is a function of the extents of its grid {x, y, z, threads} and of its record, which has bytes_of_NAME bytes.
inline std::string compiled_for_host(std::string_view text, std::string& messages) {
  const std::string_view defined = "#define KERNEL(";
  std::string body(text);
  if (const auto at = body.find(defined); at != std::string::npos) body.erase(at, body.find('\n', at) - at);
  const bool meets = body.find("__syncthreads") != std::string::npos || body.find("_sync(") != std::string::npos;
  const temporary_folder folder;
  const std::string source =
      folder.write("text.cpp", std::string(meets ? "#define MEETS true\n" : "#define MEETS false\n") +
                                   std::string(emulation) + body);
  const std::string library = folder.path / "text.so", log = folder.path / "log";
#if defined(TOKAMAX_TEST_COMPILER)
  const std::string command = std::string(TOKAMAX_TEST_COMPILER) +
                              " -std=gnu++20 -O1 -w -fwrapv -ffp-contract=off -fno-strict-aliasing -fPIC -shared " +
                              source + " -o " + library + " 2> " + log;
  const bool made = std::system(command.c_str()) == 0;
#else
  const bool made = false;
#endif
  const auto content = [](const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  messages = content(log);
  return made ? content(library) : std::string();
}

}  // namespace tokamax::test
