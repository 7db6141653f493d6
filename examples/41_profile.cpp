// examples/41_profile.cpp: what bounds a training loop, three suggestions followed, and a counter of your own. New here: session, step,
// span, counter, suggestions, the page, a file for XProf.
#include <tokamax/backend/cpu/roofline.hpp>
#include <tokamax/profile.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace tk = tokamax;
namespace profile = tokamax::profile;
using namespace std::chrono_literals;

// A model of one matrix. What is around it in a loop is what this lesson is about.
const auto loss = [](const tk::array& w, const tk::array& x) { return tk::mean(tk::square(tk::matmul(x, w) - x)); };
const auto update = [](tk::array w, const tk::array& x) {
  const auto [value, slope] = tk::value_and_grad(loss)(w, x);
  return std::pair{w - 0.1f * slope, value};
};

// What is done well or badly.
struct habits {
  bool reads_in_each_step = true;  // else the batches are read before the loop
  bool saves_in_each_step = true;  // else after the loop
  bool keeps_all_updates = true;   // else only the last one
};

// Trains and says what was recorded meanwhile.
profile::recording train(habits h) {
  const auto read = [] {
    const profile::span wait("data.read",
                             profile::mark_kind::wait);  // a wait whose name begins with "data" is for data
    std::this_thread::sleep_for(8ms);                    // a slow disk
    return tk::full({64, 64}, 0.5f);
  };
  const auto save = [] {
    const profile::span wait("save", profile::mark_kind::wait);
    std::this_thread::sleep_for(3ms);
  };
  const auto step = tk::jit(update, tk::cpu);
  const tk::array first = read();
  std::vector<tk::array> kept;
  tk::array w = tk::eye(64);
  const profile::session recording;  // from here on all threads are recorded
  for (int i = 0; i < 16; ++i) {
    const profile::step mark(i);
    const tk::array x = h.reads_in_each_step ? read() : first;
    auto [next, value] = step(w, x);
    w = next;
    if (h.keeps_all_updates) kept.push_back(w);
    if (h.saves_in_each_step) save();
    // A counter of your own. Counters whose names begin with "memory" are watched for growth.
    profile::counter("memory of updates", static_cast<double>(kept.size()) * 64 * 64 * 4);
  }
  return recording.read();
}

// The rules that lead to a suggestion among those that this lesson is about. On a busy machine others may have reasons too.
void print_rules(const char* when, const profile::recording& all, const profile::roofline& limits) {
  fmt::print("{}:", when);
  for (const profile::suggestion& s : profile::suggestions(all, limits))
    if (s.rule == "input-bound" || s.rule == "host wait" || s.rule == "growing memory") fmt::print(" {};", s.rule);
  fmt::print("\n");
}

int main() {
  // The limits of this machine: how fast it multiplies, and how fast it reads memory. Ops are measured against them.
  const profile::roofline limits = tk::measure_roofline();

  const profile::recording slow = train({});
  print_rules("at first", slow, limits);
  for (const profile::suggestion& s : profile::suggestions(slow, limits))
    if (s.rule == "input-bound") fmt::print("{}\n", s.cure);

  // The suggestion with the greatest saving comes first. Follow it, record again, go on.
  print_rules("read before", train({.reads_in_each_step = false}), limits);
  print_rules("saved after", train({.reads_in_each_step = false, .saves_in_each_step = false}), limits);
  const profile::recording fast = train({false, false, false});
  print_rules("one kept", fast, limits);

  // Two recordings side by side; `c.text` says whether their steps differ by more than noise, `c.ops` which ones.
  const profile::comparison c = profile::compare(slow, fast, limits);
  fmt::print("a step takes less than half the time: {}\n", c.ratio < 0.5 ? "yes" : "no");

  // What a step is spent on, and the ops by their own time.
  const profile::step_breakdown steps = profile::breakdown_of(slow);
  fmt::print("{} steps; waiting for data takes more than a tenth of them: {}\n", steps.steps.size(),
             steps.share(profile::activity::input) > 0.1 ? "yes" : "no");
  for (const profile::op_row& o : profile::op_table(fast, limits))
    if (o.name.starts_with("dot_general")) fmt::print("{} ran {} times\n", o.name, o.count);

  // A page that opens without a network, and a file from which XProf (`xprof --logdir FOLDER`), TensorBoard and `tokamax_profile`
  // make their tables.
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "tokamax_41_profile";
  const std::filesystem::path run = folder / "plugins/profile/first";
  std::filesystem::create_directories(run);
  profile::write_bytes(folder / "report.html", profile::to_html(slow, limits, "the slow run"));
  profile::write_bytes(run / "here.xplane.pb", profile::to_bytes(profile::to_xspace(slow, limits)));
  const auto again = profile::to_recording(profile::read_xspace(profile::read_bytes(run / "here.xplane.pb"), "here"));
  print_rules("from the file", again, limits);
  std::filesystem::remove_all(folder);
}
