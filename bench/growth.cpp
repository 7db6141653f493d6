// bench/growth.cpp: how time and memory of a GPT's training step grow with layers, width, tokens, length and threads.
// SPDX-License-Identifier: Apache-2.0
//
// One number is changed at a time. Each row runs in a process of its own, so that memory can be measured. Programs are
// traced at run time, so their fused loops are interpreted. The benchmark fails if the memory of intermediate values grows
// faster than the number that is varied, by more than the 5 % that gradients of weights take. Times depend on the load of
// the machine; they are shown beside the growth of the arithmetic.
#include <tokamax/backend/cpu/roofline.hpp>
#include <tokamax/profile.hpp>
#include <tokamax/tokamax.hpp>

#include <cstdlib>
#include <initializer_list>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/measure.hpp"

namespace tk = tokamax;

constexpr auto optimizer = tk::optim::adamw({.learning_rate = 3e-4, .weight_decay = 0.1});
using state = decltype(tk::train::start(tk::models::gpt{}, optimizer));
constexpr auto loss = [](const tk::models::gpt& m, const tk::array& x, const tk::array& y) {
  return tk::mean(tk::softmax_cross_entropy(m(x), y));
};
constexpr auto step = tk::train::step(loss, optimizer);

struct setting {
  tk::models::gpt_config size{.vocabulary = 256, .context = 128, .width = 256, .heads = 4, .layers = 4};
  std::int64_t batch = 8;
  int threads = 0;
};
struct figures {
  double seconds = 0, flops = 0, best_seconds = 0;       // best: what the roofline allows
  double plan_bytes = 0, state_bytes = 0, resident = 0;  // resident: the process at its largest
};

/// Bytes of the arena that the step's intermediate values share.
std::int64_t plan_bytes(const state& s, const tk::array& ids) {
  const auto program =
      tk::detail::owned_program::make(tk::make_graph(step, s, ids, ids), tk::kernel_table_of<tk::cpu_tag>());
  return program->tables.regions[0].arena_bytes;
}

figures measure(const setting& of) {
  tk::cpu_backend::set_num_threads(of.threads);
  figures f;
  state s{tk::init(tk::models::make_gpt(of.size), tk::random::key(0)), {}};
  s.opt_state = optimizer.init(s.model);
  tk::for_each_leaf([&](const tk::array& a) { f.state_bytes += 4 * static_cast<double>(a.size()); }, s);
  const tk::array ids = tk::random::randint(tk::random::key(1), {of.batch, of.size.context}, 0, of.size.vocabulary);
  f.plan_bytes = static_cast<double>(plan_bytes(s, ids));
  const auto run = tk::jit(step, tk::cpu);
  const auto once = [&] {
    auto [next, value] = run(std::move(s), ids, ids);
    s = std::move(next);
  };
  f.seconds = bench::median_seconds(once, 5);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  f.resident = static_cast<double>(used.ru_maxrss) * 1024;
  const tk::profile::timeline recording;
  once();
  const tk::profile::roofline limits = tk::measure_roofline();
  for (const tk::profile::event& e : recording.events()) {
    f.flops += e.flops + e.bfloat16_flops;
    f.best_seconds += limits.bound(e);
  }
  return f;
}

/// Runs f(...) in a new process, whose memory is that of an empty one at first.
figures apart(const setting& of) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    const figures f = measure(of);
    _exit(write(ends[1], &f, sizeof f) == sizeof f ? 0 : 1);
  }
  figures f;
  int status = 1;
  close(ends[1]);
  if (child < 0 || read(ends[0], &f, sizeof f) != sizeof f || waitpid(child, &status, 0) != child || status != 0)
    std::exit(1);
  close(ends[0]);
  return f;
}

/// Runs the base setting with one number set to each of `values`, and adds the rows to the table. Returns whether the
/// memory of intermediate values grows no faster than that number. Threads share these values.
template <class Set>
bool vary(std::string& table, std::string_view name, const std::vector<int>& values, Set set) {
  bool linear = true;
  figures before;
  double value_before = 0;
  for (const int value : values) {
    setting s;
    set(s, value);
    const figures f = apart(s);
    const std::string title = fmt::format("{} {}", name, value);
    bench::report("growth", title + ", step", "tokamax", f.seconds * 1e3, "ms");
    bench::report("growth", title + ", plan", "tokamax", f.plan_bytes * 1e-6, "MB");
    table += fmt::format("{:<12} {:8.1f}", title, f.seconds * 1e3);
    const double more = s.threads ? 1 : value / value_before;
    if (value_before == 0)
      table += fmt::format(" {:14}", "");
    else
      table += fmt::format(" {:6.2f} {:7.2f}", f.seconds / before.seconds,
                           f.flops / before.flops / (s.threads ? value / value_before : 1));
    table += fmt::format(" {:5.0f}% {:9.1f}", 100 * f.best_seconds / f.seconds, f.plan_bytes * 1e-6);
    if (value_before == 0) {
      table += fmt::format(" {:14}", "");
    } else {
      const double grown = f.plan_bytes / before.plan_bytes;
      linear = linear && grown <= 1.05 * more;
      table += fmt::format(" {:6.2f} {:7.2f}", grown, more);
    }
    table += fmt::format(" {:9.1f} {:9.1f}\n", f.state_bytes * 1e-6, f.resident * 1e-6);
    before = f;
    value_before = value;
  }
  return linear;
}

int main() {
  std::vector<int> threads;
  for (int n = 1; n < tk::cpu_backend::num_threads(); n *= 2) threads.push_back(n);
  threads.push_back(tk::cpu_backend::num_threads());

  std::string table = fmt::format("{:<12} {:>8} {:>6} {:>7} {:>6} {:>9} {:>6} {:>7} {:>9} {:>9}\n", "", "ms", "x",
                                  "work x", "roof", "plan MB", "x", "linear", "state MB", "RSS MB");
  bool linear = vary(table, "layers", {2, 4, 8}, [](setting& s, int n) { s.size.layers = n; });
  linear &= vary(table, "width", {128, 256, 512}, [](setting& s, int n) { s.size.width = n; });
  linear &= vary(table, "tokens", {256, 512, 1024, 2048}, [](setting& s, int n) { s.batch = n / s.size.context; });
  linear &= vary(table, "length", {256, 512, 1024, 2048}, [](setting& s, int n) {
    s.batch = 1;
    s.size.context = n;
  });
  linear &= vary(table, "threads", threads, [](setting& s, int n) { s.threads = n; });
  fmt::print(
      "{}x: of the row before; work: operations per thread; roof: share of the time that the measured limits "
      "allow\nmemory of intermediate values grows {}\n",
      table, linear ? "linearly" : "FASTER than what is varied");
  return linear ? 0 : 1;
}
