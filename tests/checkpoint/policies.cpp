// tests/checkpoint/policies.cpp: which steps are saved, and which checkpoints stay.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/manager.hpp>

#include <csignal>
#include <limits>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using namespace tokamax::checkpoint;
using steps = std::vector<std::int64_t>;

namespace {
// The steps of 0 to `last` that a manager with this policy saves; a second passes between two steps.
steps saved_by(save_policy policy, std::int64_t last) {
  steps result;
  double since = 0;
  for (std::int64_t step = 0; step <= last; ++step) {
    const save_moment now{step, [&] { return result.empty() ? std::nullopt : std::optional(result.back()); }, since++};
    if (policy(now)) result.push_back(step), since = 1;
  }
  return result;
}
}  // namespace

TEST_CASE("policies say which steps are saved") {
  CHECK(saved_by(save_every(4), 12) == steps{4, 8, 12});
  CHECK(saved_by(save_at({7, 0, 3}), 12) == steps{0, 3, 7});
  CHECK(saved_by(save_after(5), 12) == steps{5, 10});
  CHECK(saved_by(save_first(), 12) == steps{0});
  CHECK(saved_by(save_any({save_every(5), save_first(), save_at({6})}), 12) == steps{0, 5, 6, 10});
  CHECK(saved_by(save_any({}), 12).empty());
  CHECK(saved_by([](const save_moment& now) { return now.step == 2; }, 12) == steps{2});
  CHECK_THROWS_WITH(save_every(0), contains("found 0"));
  CHECK_THROWS_WITH(save_after(-1), contains("save_after"));
}

TEST_CASE("a signal saves the next step and ends nothing") {
  auto policy = save_on_signal(SIGUSR1);
  const save_moment now{5, [] { return std::nullopt; }, 0};
  CHECK_FALSE(policy(now));
  CHECK_FALSE(got_signal(SIGUSR1));
  std::raise(SIGUSR1);
  CHECK(got_signal(SIGUSR1));
  CHECK(policy(now));
  CHECK_FALSE(policy(now));
  CHECK_THROWS_WITH(save_on_signal(SIGKILL), contains("found 9"));
}

TEST_CASE("rules say which checkpoints stay") {
  const temporary_folder folder;
  std::vector<saved_step> all;
  const auto now = std::filesystem::file_time_type::clock::now();
  const double loss[] = {5, 1, 4, 1, 2, std::numeric_limits<double>::quiet_NaN()};
  for (std::int64_t step = 0; step < 6; ++step) {
    metadata about;
    if (step != 2) about.set("loss", loss[step]);
    about.set("name", "text");
    all.push_back({step, folder.path / std::to_string(step)});
    save(all.back().folder, tk::array::from<float>({1}), about);
    std::filesystem::last_write_time(all.back().folder / "metadata.json", now - std::chrono::seconds(1050 - 10 * step));
  }
  const auto kept = [&](const preservation& rule) {
    const std::vector<bool> stays = rule(all);
    steps result;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (stays[i]) result.push_back(all[i].step);
    return result;
  };
  CHECK(kept(keep_all()).size() == 6);
  CHECK(kept(keep_latest(2)) == steps{4, 5});
  CHECK(kept(keep_latest(9)).size() == 6);
  CHECK(kept(keep_every(3)) == steps{0, 3});
  CHECK(kept(keep_closest(4)) == steps{0, 4, 5});
  CHECK(kept(keep_closest(1)).size() == 6);
  CHECK(kept(keep_closest(100)) == steps{0, 5});
  CHECK(keep_closest(3)({}).empty());
  CHECK(kept(keep_recent(1025)) == steps{3, 4, 5});
  CHECK(kept(keep_recent(1)).empty());
  CHECK(kept(keep_recent(1e18)).size() == 6);
  CHECK_THROWS_WITH(keep_closest(0), contains("found 0"));
  CHECK_THROWS_WITH(keep_recent(-1), contains("keep_recent"));
  CHECK(kept(keep_steps({1, 9})) == steps{1});
  CHECK(kept(keep_spaced(20)) == steps{0, 2, 4});
  CHECK(kept(keep_best(2, "loss")) == steps{1, 2, 3, 5});
  CHECK(kept(keep_best(1, "loss")) == steps{2, 3, 5});
  CHECK(kept(keep_best(1, "loss", better::higher)) == steps{0, 2, 5});
  CHECK(kept(keep_best(1, "name")).size() == 6);
  CHECK(kept(keep_any({keep_latest(1), keep_every(4)})) == steps{0, 4, 5});
  CHECK(kept(keep_any({})).empty());
  CHECK_THROWS_WITH(keep_latest(0), contains("found 0"));
  CHECK_THROWS_WITH(keep_best(0, "loss"), contains("found 0"));
  CHECK_THROWS_WITH(keep_spaced(-1), contains("keep_spaced"));
}

TEST_CASE("a manager keeps the best and the latest, saved in the background") {
  const temporary_folder folder;
  manager run(folder.path, {.when = save_any({save_every(2), save_first()}),
                            .preserve = keep_any({keep_best(2, "loss"), keep_latest(1)})});
  for (std::int64_t step = 0; step <= 12; ++step)
    run.save_async(step, tk::array::from<float>({1}), metadata{}.set("loss", step < 7 ? 10 - step : step));
  run.wait();
  CHECK(run.steps() == steps{4, 6, 12});
  CHECK(run.best("loss") == 6);
  // Checkpoints for which a rule has no answer stay.
  manager other(folder.path, {.every = 1, .preserve = [](const auto&) { return std::vector<bool>{false}; }});
  other.save(13, tk::array::from<float>({1}));
  CHECK(other.steps() == steps{12, 13});
}
