// examples/33_best_checkpoints.cpp: saves that stop no step. New here: save_async, policies, rules for what stays, items.
#include <tokamax/checkpoint.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <csignal>

namespace tk = tokamax;
namespace checkpoint = tokamax::checkpoint;

struct line {
  tk::array slope{0.0f}, offset{0.0f};
};
constexpr auto loss = [](const line& m, const tk::array& x, const tk::array& y) {
  return tk::mean(tk::square(m.slope * x + m.offset - y));
};
constexpr auto update = [](const line& m, const tk::array& x, const tk::array& y) {
  return tk::tree_map([](const tk::array& p, const tk::array& g) { return p - 0.1f * g; }, m, tk::grad(loss)(m, x, y));
};

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "tokamax_33_best";
  std::filesystem::remove_all(folder);
  const tk::array x = tk::array::from<float>({-1, 0, 1, 2}), y = 3.0f * x + 0.5f;
  const auto step = tk::jit(update, tk::cpu, tk::at_run_time);

  // The first step, each fifth one, and the one after SIGTERM are saved. The two best and the latest stay.
  checkpoint::manager checkpoints(
      folder, {.when = checkpoint::save_any(
                   {checkpoint::save_first(), checkpoint::save_every(5), checkpoint::save_on_signal(SIGTERM)}),
               .preserve = checkpoint::keep_any({checkpoint::keep_best(2, "loss"), checkpoint::keep_latest(1)}),
               .prefix = "step_",
               .digits = 4});
  line model;
  for (std::int64_t i = 1; i <= 23; ++i) {
    model = step(std::move(model), x, y);
    // The score of a run goes up and down; here it is made to.
    const double score = loss(model, x, y).item() + (i > 12 ? 0.25 * static_cast<double>(i - 12) : 0);
    if (i == 22) std::raise(SIGTERM);
    // Nothing is copied: the save shares the arrays, and steps go on beside it.
    checkpoints.save_async(i, checkpoint::items().tree("model", model).bytes("notes", "a line"),
                           checkpoint::metadata{}.set("loss", score));
    if (checkpoint::got_signal(SIGTERM)) break;
  }
  checkpoints.wait();  // an error of the save would be thrown here, or by the next call
  fmt::print("steps that stayed: {}\n", fmt::join(checkpoints.steps(), ", "));

  const std::int64_t best = checkpoints.best("loss").value();
  line found;
  const auto about = checkpoints.restore(best, found, {.item = "model"});
  fmt::print("the best is {}: loss {:.3f}, slope {:.2f}\n", checkpoints.folder(best).filename().string(),
             about.get<double>("loss"), found.slope.item());

  // Another program has other names and wants a part: it says so.
  struct {
    tk::array weight{0.0f};
  } other;
  checkpoint::restore(checkpoints.folder(best), other, {.partial = true, .rename = {{"weight", "model.slope"}}});
  fmt::print("by another name: {:.2f}, and {} bytes of notes\n", other.weight.item(),
             checkpoint::read_bytes(checkpoints.folder(best), "notes").size());
  std::filesystem::remove_all(folder);
}
