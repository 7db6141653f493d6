// examples/42_memory.cpp: where the memory of a training step goes, and how to need less. New here: memory_peaks, peak_of.
#include <tokamax/profile.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
namespace profile = tokamax::profile;

// Eight blocks of four layers. What each layer computes is kept until the backward pass has used it, unless `remat` says that the
// backward pass computes the block again.
const auto block = [](const tk::array& w, tk::array x) {
  for (int i = 0; i < 4; ++i) x = tk::tanh(tk::matmul(x, w));
  return x;
};
template <bool Again>
const auto loss = [](const tk::array& w, tk::array x) {
  for (int i = 0; i < 8; ++i) {
    if constexpr (Again)
      x = tk::remat(block)(w, x);
    else
      x = block(w, x);
  }
  return tk::mean(x);
};

// The memory of the largest program that runs while a function is recorded. It is in the program's plan, so it is the same in every
// run; `profile::memory_text(all)` says all of what follows in one go, as `tokamax_profile memory FILE` does for a file.
profile::program_memory memory_of(auto f, const auto&... args) {
  const auto run = tk::jit(f, tk::cpu, tk::at_run_time);
  const profile::session recording;
  run(args...);
  const profile::recording all = recording.read();
  return all.tables.at(profile::memory_peaks(all).front().first)->memory;
}

void print(const char* what, const profile::program_memory& m) {
  const profile::memory_peak p = profile::peak_of(m);
  fmt::print("{}: {} bytes at step {} of {}, {} for arguments, {} for values of layers\n", what, p.bytes, p.step,
             m.steps, p.by_role[0], p.by_role[3]);
  for (std::size_t i = 0; i < 3; ++i) {
    const profile::program_buffer& b = m.buffers[p.lives[i]];
    fmt::print("  {} bytes from step {} to {}: {} {}\n", b.bytes, b.first, b.last, b.type, b.name);
  }
}

int main() {
  const tk::array weights = tk::full({64, 64}, 0.01f), rows = tk::full({512, 64}, 1.0f);
  const auto slope = [](auto f) { return [f](const tk::array& w, const tk::array& x) { return tk::grad(f)(w, x); }; };
  print("all values kept", memory_of(slope(loss<false>), weights, rows));
  print("blocks computed again", memory_of(slope(loss<true>), weights, rows));

  // Beyond the programs there are the arrays that your own code keeps. A counter with a name that begins with "memory" is drawn
  // beside the programs' memory in the page, and a growing one is suggested as a leak.
}
