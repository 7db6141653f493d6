// bench/busy.cpp: the times of a training step and of a short call while other processes use the same processors.
// SPDX-License-Identifier: Apache-2.0
//
// It starts 0 to 3 processes that only keep a processor busy (at most as many as its argument says). It prints mean times
// with all threads and, for comparison, with one. A short call takes some 20 us, like a small network that answers a request.
// Then it prints each time relative to the quiet one, with the limit for two processors. A larger machine is measured as one
// of two by `taskset -c 0,1 tokamax_bench_busy`: the other processes stay on these too.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/gpt_step.hpp"
#include "support/measure.hpp"

namespace tk = tokamax;

/// Processes that run during the lifetime of this object.
class neighbours {
 public:
  explicit neighbours(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (std::atomic<unsigned> n = 0;; ++n) {}
      }
      children_.push_back(child);
    }
  }
  neighbours(const neighbours&) = delete;
  ~neighbours() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }

 private:
  std::vector<pid_t> children_;
};

/// The mean seconds of f(), which is called for about a second.
template <class F>
double mean_seconds(F f) {
  using clock = std::chrono::steady_clock;
  f();
  const auto begin = clock::now();
  double seconds = 0;
  int calls = 0;
  for (; seconds < 1.0; ++calls, seconds = std::chrono::duration<double>(clock::now() - begin).count()) f();
  return seconds / calls;
}

struct network {
  tk::nn::mlp layers{.width = 64, .hidden = 256};
};
constexpr auto answer = [](const network& n, const tk::tensor<tk::f32, 16, 64>& x) { return n.layers(x); };

int main(int argc, char** argv) {
  const int most = argc > 1 ? std::atoi(argv[1]) : 3;
  using work =
      bench::gpt_step<tk::models::gpt_config{.vocabulary = 256, .context = 64, .width = 128, .heads = 4, .layers = 2},
                      8>;
  const auto step = tk::jit(work::step, tk::cpu, tk::while_compiling);
  work::state state = work::start();
  const auto x = work::repeating(0), y = work::repeating(7);
  const auto train = [&] { state = step(std::move(state), x, y).first; };
  const auto call = tk::jit(answer, tk::cpu, tk::while_compiling);
  const network net = tk::init<network>(tk::random::key(0));
  const tk::tensor<tk::f32, 16, 64> row(tk::array(tk::full({16, 64}, 0.5f)) + 0);
  const auto short_call = [&] { call(net, row); };
  std::string ratios;
  for (const int threads : {0, 1}) {
    tk::cpu_backend::set_num_threads(threads);
    const std::string_view with = threads == 0 ? "all threads" : "one thread";
    double quiet_step = 0, quiet_call = 0;
    for (int count = 0; count <= most; ++count) {
      const neighbours others(count);
      const std::string beside = fmt::format(" beside {}, {}", count, with);
      const double step_seconds = mean_seconds(train), call_seconds = mean_seconds(short_call);
      bench::report("busy", "training step" + beside, "tokamax", step_seconds * 1e3, "ms");
      bench::report("busy", "short call" + beside, "tokamax", call_seconds * 1e6, "us");
      if (count == 0) {
        quiet_step = step_seconds;
        quiet_call = call_seconds;
        continue;
      }
      ratios += fmt::format(
          "beside {}, {}: a step takes {:.2f}x its quiet time (limit {}), a call {:.1f} us, {:.2f}x (limit 60 us)\n",
          count, with, step_seconds / quiet_step, count == 1 ? 2.1 : 4.0, call_seconds * 1e6,
          call_seconds / quiet_call);
    }
  }
  tk::cpu_backend::set_num_threads(0);
  fmt::print("of {} threads:\n{}", tk::cpu_backend::num_threads(), ratios);
}
