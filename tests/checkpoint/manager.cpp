// tests/checkpoint/manager.cpp: which steps are saved, which stay, and what a kill leaves.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/manager.hpp>
#include <tokamax/data.hpp>
#include <tokamax/profile/session.hpp>
#include <tokamax/tokamax.hpp>

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
namespace checkpoint = tokamax::checkpoint;
namespace fs = std::filesystem;
using steps = std::vector<std::int64_t>;

namespace {
struct state {
  tk::array weight, count;
};
state at(std::int64_t step, std::int64_t size = 4) {
  tk::array weight = tk::array::uninitialized({tk::f32, false, {size}});
  std::fill_n(weight.mutable_data<float>(), size, static_cast<float>(step));
  return {weight, tk::array::from<std::int32_t>({static_cast<std::int32_t>(step)})};
}
std::size_t names_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}
}  // namespace

TEST_CASE("a run is saved at its interval, restored at its latest step") {
  const temporary_folder folder;
  checkpoint::manager manager(folder.path / "runs" / "one", {.every = 10, .keep = 2});
  state s = at(0);
  CHECK(manager.steps().empty());
  CHECK_FALSE(manager.latest());
  CHECK_FALSE(manager.restore(s));
  for (std::int64_t step = 0; step <= 45; ++step)
    CHECK(manager.save(step, at(step), checkpoint::metadata{}.set("twice", 2 * step)) == (step > 0 && step % 10 == 0));
  CHECK(manager.steps() == steps{30, 40});
  const auto about = manager.restore(s);
  REQUIRE(about);
  CHECK(about->step == 40);
  CHECK(about->get<int>("twice") == 80);
  CHECK(s.weight.values<float>()[3] == 40);
  CHECK(manager.restore(30, s).step == 30);
  CHECK(s.count.item<int>() == 30);
  CHECK_THROWS_WITH(manager.restore(20, s), contains("found 20") && contains("one of 30, 40"));
  CHECK(fs::exists(folder.path / "runs" / "one" / "40" / "metadata.json"));
}

TEST_CASE("old steps are deleted but for the kept period") {
  const temporary_folder folder;
  checkpoint::manager manager(folder.path, {.every = 1, .keep = 2, .keep_period = 4});
  for (std::int64_t step = 1; step <= 11; ++step) manager.save(step, at(step));
  CHECK(manager.steps() == steps{4, 8, 10, 11});
  CHECK(names_in(folder.path) == 4);
  checkpoint::manager all(folder.path, {.every = 1, .keep = 0});
  for (std::int64_t step = 12; step <= 16; ++step) all.save(step, at(step));
  CHECK(all.steps().size() == 9);
}

TEST_CASE("a step is saved once") {
  const temporary_folder folder;
  checkpoint::manager manager(folder.path, {.every = 5});
  manager.save_now(0, at(0));
  manager.save_now(7, at(7));
  CHECK(manager.steps() == steps{0, 7});
  CHECK_THROWS_WITH(manager.save_now(7, at(8)), contains("exists already"));
  CHECK_THROWS_WITH(manager.save_now(-1, at(0)), contains("found -1"));
  CHECK_THROWS_WITH(checkpoint::manager(folder.path, {.every = 0}), contains("found 0, 3, 0"));
}

TEST_CASE("only finished steps count") {
  const temporary_folder folder;
  for (const char* name : {"12.tokamax-tmp-1", "0012", "step", "-3", "9.tokamax-tmp-deleted"})
    fs::create_directory(folder.path / name);
  folder.write("13", "a file");
  checkpoint::manager manager(folder.path);
  CHECK(manager.steps().empty());
  CHECK(names_in(folder.path) == 6);  // looking changes nothing
  manager.save_now(1, at(1));
  CHECK(manager.steps() == steps{1});
  CHECK(names_in(folder.path) == 5);
}

TEST_CASE("a kill at any moment leaves whole checkpoints") {
  const temporary_folder folder;
  constexpr std::int64_t size = 20000;
  std::mt19937 random(1);
  std::int64_t last = 0;
  // The kills fall anywhere in the time of a few saves on this disk.
  const temporary_folder trial;
  const auto before = std::chrono::steady_clock::now();
  for (std::int64_t step = 1; step <= 4; ++step)
    checkpoint::manager(trial.path, {.every = 1, .keep = 2}).save(step, at(step, size));
  const std::chrono::microseconds four_saves =
      std::chrono::ceil<std::chrono::microseconds>(std::chrono::steady_clock::now() - before);
  for (int run = 0; run < 60 || (last == 0 && run < 2000); ++run) {  // a busy machine may let none of 60 save
    const pid_t child = fork();
    if (child == 0) {
      try {
        checkpoint::manager manager(folder.path, {.every = 1, .keep = 2});
        for (std::int64_t step = manager.latest().value_or(0) + 1;; ++step)
          run % 2 == 0 ? manager.save(step, at(step, size)) : manager.save_async(step, at(step, size));
      } catch (...) {
        _exit(1);
      }
    }
    REQUIRE(child > 0);
    std::this_thread::sleep_for(four_saves * (random() % 1000) / 1000 + std::chrono::milliseconds(run % 4));
    kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));

    checkpoint::manager manager(folder.path);
    const steps saved = manager.steps();
    CHECK(saved.size() <= 3);  // two, and one whose deletion had not begun
    CHECK(manager.latest().value_or(0) >= last);
    last = manager.latest().value_or(0);
    for (const std::int64_t step : saved) {
      state s{tk::array({tk::f32, false, {size}}), tk::array({tk::i32, false, {1}})};
      REQUIRE(manager.restore(step, s).step == step);
      REQUIRE(s.count.item<int>() == step);
      REQUIRE(std::ranges::all_of(s.weight.values<float>(), [&](float w) { return w == static_cast<float>(step); }));
    }
  }
  CHECK(last > 0);
  checkpoint::manager manager(folder.path, {.keep = 2});
  manager.save_now(last + 1, at(last + 1));
  CHECK(names_in(folder.path) == 2);
}

TEST_CASE("a step before the latest is refused, for it would be deleted at once") {
  const temporary_folder folder;
  checkpoint::manager manager(folder.path, {.every = 1, .keep = 2});
  for (const std::int64_t step : {50, 60}) manager.save_now(step, at(step));
  CHECK_THROWS_WITH(manager.save(10, at(10)), contains("found 10") && contains("after 60"));
  CHECK(manager.steps() == steps{50, 60});
}

TEST_CASE("a folder that cannot be read is not taken for an empty one") {
  const temporary_folder folder;
  state s = at(0);
  checkpoint::manager manager(folder.write("file", ""));
  CHECK_THROWS_WITH(manager.steps(), contains("Not a directory") && contains("/file"));
  CHECK_THROWS_AS(manager.latest(), tk::error);
  CHECK_THROWS_AS(manager.restore(s), tk::error);
  CHECK_THROWS_AS(manager.about(), tk::error);
  fs::create_symlink("loop", folder.path / "loop");
  CHECK_THROWS_WITH(checkpoint::manager(folder.path / "loop").restore(s), contains("symbolic links"));
  if (geteuid() != 0) {  // root may read everything
    fs::create_directory(folder.path / "secret");
    fs::permissions(folder.path / "secret", fs::perms::none);
    CHECK_THROWS_WITH(checkpoint::manager(folder.path / "secret").restore(s), contains("Permission denied"));
  }
}

TEST_CASE("readers beside a saver always find a checkpoint") {
  const temporary_folder folder;
  checkpoint::manager(folder.path, {.every = 1, .keep = 1}).save_now(1, at(1));
  const pid_t child = fork();
  if (child == 0) {
    try {
      checkpoint::manager manager(folder.path, {.every = 1, .keep = 1});
      for (std::int64_t step = 2;; ++step) manager.save(step, at(step));
    } catch (...) {
      _exit(1);
    }
  }
  REQUIRE(child > 0);
  const checkpoint::manager manager(folder.path);
  int failures = 0;
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
       std::chrono::steady_clock::now() < end;) {
    state s = at(0);
    try {
      const auto about = manager.restore(s);
      failures += !about || s.count.item<int>() != about->step || !manager.about();
    } catch (const tk::error&) {
      ++failures;
    }
  }
  kill(child, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(failures == 0);
}

TEST_CASE("where the newest step is damaged, the newest whole one is named") {
  const temporary_folder folder;
  checkpoint::manager manager(folder.path, {.every = 1, .keep = 0});
  for (std::int64_t step = 1; step <= 4; ++step) manager.save(step, at(step));
  fs::resize_file(folder.path / "4" / "arrays.safetensors", 9);
  fs::remove(folder.path / "3" / "metadata.json");
  state s = at(0);
  CHECK_THROWS_WITH(manager.restore(s), contains("/4/arrays.safetensors") && contains("checkpoint 2 is whole: move"));
  fs::rename(folder.path / "4", folder.path / "damaged-4");
  CHECK_THROWS_WITH(manager.about(), contains("/3/metadata.json") && contains("checkpoint 2 is whole"));
  fs::remove_all(folder.path / "3");
  CHECK(manager.restore(s)->step == 2);
  struct other {
    tk::array weight;
  } different{s.weight};
  CHECK_THROWS_WITH(manager.restore(different), contains("no such leaf") && !contains("whole"));
  for (const char* step : {"1", "2"}) fs::remove(folder.path / step / "arrays.safetensors");
  CHECK_THROWS_WITH(manager.restore(s), contains("no older checkpoint is whole"));
}

TEST_CASE("data goes on exactly where a checkpoint was made") {
  struct example {
    tk::array inputs, targets;
  };
  const auto data = tk::data::tokens("a text that is long enough for a few batches") | tk::data::windows(5) |
                    tk::data::shuffle({.seed = 3}) | tk::data::batch<example>(6) | tk::data::prefetch(2);
  const temporary_folder folder;
  checkpoint::manager manager(folder.path, {.every = 5, .keep = 1});
  auto reader = data.from();
  for (std::int64_t step = 1; step <= 9; ++step) {
    reader.next();
    manager.save(step, at(step), checkpoint::metadata{}.set("data", reader.position()));
  }
  state s = at(0);
  auto resumed = data.from(manager.restore(s)->get<tk::data::position>("data"));
  auto whole = data.from();
  for (int i = 0; i < 5; ++i) whole.next();
  for (int i = 0; i < 20; ++i) {
    const auto expected = whole.next(), found = resumed.next();
    CHECK(found.step == expected.step);
    CHECK(
        std::ranges::equal(found.value.targets.values<std::int32_t>(), expected.value.targets.values<std::int32_t>()));
  }
}

TEST_CASE("a save in the background shares the arrays and stops nobody") {
  const temporary_folder folder;
  checkpoint::manager manager(folder.path, {.every = 10, .keep = 2});
  state s = at(10, 1 << 20);
  CHECK_FALSE(manager.save_async(9, s));
  CHECK(manager.save_async(10, s, checkpoint::metadata{}.set("loss", 0.5)));
  s.weight.mutable_data<float>()[3] = -1;  // a write after the call is not saved
  manager.wait();
  CHECK(manager.restore(10, s).get<double>("loss") == 0.5);
  CHECK(s.weight.values<float>()[3] == 10);
  manager.save_async(20, at(20));
  manager.save_async(30, at(30));
  state small = at(0);
  CHECK(manager.restore(small)->step == 30);  // waits
  CHECK_FALSE(manager.is_saving());
  CHECK(manager.steps() == steps{20, 30});
  manager.save_async_now(31, at(31));
  manager.wait();
  CHECK(manager.latest() == 31);
  {
    checkpoint::manager other(folder.path, {.keep = 0});
    state big = at(40, 1 << 20);
    other.save_async_now(40, big);
    big = at(0);
  }  // the end of a manager waits for its save
  state big = at(0, 1 << 20);
  CHECK(manager.restore(40, big).step == 40);
  CHECK(std::ranges::all_of(big.weight.values<float>(), [](float w) { return w == 40; }));
}

TEST_CASE("an error in the background reaches the next call, once") {
  const temporary_folder folder;
  checkpoint::manager manager(folder.write("file", "") / "runs", {.every = 1});
  manager.save_async(1, at(1));
  CHECK_THROWS_WITH(manager.save_async(2, at(2)), contains("Not a directory"));
  manager.save_async(3, at(3));
  CHECK_THROWS_WITH(manager.wait(), contains("Not a directory"));
  manager.wait();
  manager.save_async(4, at(4));
  state s = at(0);
  CHECK_THROWS_WITH(manager.restore(s), contains("Not a directory"));
  manager.save_async(5, at(5));
  CHECK_THROWS_WITH(manager.save(6, at(6)), contains("Not a directory"));
  state hollow = at(1);
  hollow.weight = tk::array(hollow.weight.type());
  CHECK_THROWS_WITH(manager.save_async(7, hollow), contains("leaf weight") && contains("without data"));  // at once
  manager.wait();
  manager.save_async(8, at(8));  // nobody asks: the manager says so on stderr, and ends
}

TEST_CASE("names of steps, managers that only read, and the best step") {
  const temporary_folder folder;
  checkpoint::manager manager(folder.path, {.every = 1, .keep = 0, .prefix = "step_", .digits = 4});
  const double loss[] = {3, 1, 2, 1};
  for (std::int64_t step = 1; step <= 4; ++step)
    manager.save(step, at(step), checkpoint::metadata{}.set("loss", loss[step - 1]));
  manager.save_now(12345, at(12345));
  CHECK(fs::exists(folder.path / "step_0003" / "metadata.json"));
  CHECK(fs::exists(folder.path / "step_12345"));
  fs::create_directory(folder.path / "step_00007");
  fs::create_directory(folder.path / "0007");
  CHECK(manager.steps() == steps{1, 2, 3, 4, 12345});
  CHECK(manager.best("loss") == 4);
  CHECK(manager.best("loss", checkpoint::better::higher) == 1);
  CHECK_FALSE(manager.best("accuracy"));
  checkpoint::manager reader(folder.path, {.every = 1, .keep = 1, .prefix = "step_", .digits = 4, .read_only = true});
  CHECK_FALSE(reader.save(20000, at(20000)));
  CHECK_FALSE(reader.save_async(20000, at(20000)));
  CHECK_THROWS_WITH(reader.save_now(20000, at(20000)), contains("read_only"));
  state s = at(0);
  CHECK(reader.restore(s)->step == 12345);
  CHECK(names_in(folder.path) == 7);
  CHECK_THROWS_WITH(checkpoint::manager(folder.path, {.prefix = "a/b"}), contains("'a/b'"));
  CHECK_THROWS_WITH(checkpoint::manager(folder.path, {.prefix = "v2_"}), contains("without digits"));
  CHECK_THROWS_WITH(checkpoint::manager(folder.path, {.digits = 19}), contains("0 to 18"));
}

TEST_CASE("training steps go on while their state is saved") {
  const temporary_folder folder;
  checkpoint::manager manager(folder.path, {.every = 1, .keep = 0});
  const auto step = tk::jit([](const tk::array& w) { return w + 1.0; }, tk::cpu, tk::at_run_time);
  tk::array w = at(0, 1 << 18).weight;
  for (std::int64_t i = 1; i <= 12; ++i) {
    w = step(std::move(w));
    manager.save_async(i, state{w, tk::array::from<std::int32_t>({static_cast<std::int32_t>(i)})});
  }
  manager.wait();
  for (std::int64_t i = 1; i <= 12; ++i) {
    state s = at(0, 1 << 18);
    manager.restore(i, s);
    REQUIRE(std::ranges::all_of(s.weight.values<float>(), [&](float v) { return v == static_cast<float>(i); }));
  }
}

TEST_CASE("a recording has saves and restores where they happen, and waits for them") {
  namespace profile = tk::profile;
  const temporary_folder folder;
  const profile::session s;
  checkpoint::manager manager(folder.path, {.every = 1, .saved = [](const checkpoint::save_report&) {
                                              std::this_thread::sleep_for(std::chrono::milliseconds(100));
                                            }});
  manager.save_async(1, at(1));
  manager.wait();
  manager.wait();  // for nothing
  state read = at(0);
  manager.restore(1, read);
  const profile::recording all = s.read();
  REQUIRE(all.tracks.size() == 2);
  std::map<std::string, std::vector<std::string>> names;
  for (const profile::track& t : all.tracks)
    for (const profile::record& r : t.records) {
      const profile::mark_name& m = *all.mark(r);
      names[t.name == "checkpoint" ? "saver" : "here"].push_back(m.name);
      CHECK((m.kind == profile::mark_kind::wait) == (m.name == "checkpoint"));
      if (m.name != "checkpoint.restore") CHECK(r.end - r.begin >= 1'000'000);
    }
  CHECK(names["saver"] == std::vector<std::string>{"checkpoint.save"});
  const std::vector<std::string>& here = names["here"];
  REQUIRE(here.size() >= 2);
  CHECK(here[0] == "checkpoint");
  CHECK(
      std::ranges::all_of(here.begin() + 1, here.end(), [](const auto& name) { return name == "checkpoint.restore"; }));
}

TEST_CASE("a manager is made without a look at its folder, and deletes or moves steps") {
  const temporary_folder made;
  const fs::path root = made.path / "run";
  std::vector<checkpoint::save_report> reports;
  const checkpoint::manager_options options{
      .every = 1, .keep = 2, .moved_to = "old", .saved = [&](const checkpoint::save_report& r) {
        reports.push_back(r);
      }};
  checkpoint::manager manager(root, options);
  CHECK(!fs::exists(root));
  for (std::int64_t step = 1; step <= 4; ++step) manager.save_async(step, at(step));
  manager.wait();
  REQUIRE(reports.size() == 4);
  CHECK(reports[3].step == 4);
  CHECK(reports[3].folder == root / "4");
  CHECK(reports[3].bytes == 20);
  CHECK(reports[3].seconds >= 0);
  CHECK(manager.steps() == steps{3, 4});
  CHECK(checkpoint::about(root / "old" / "2").step == 2);
  manager.remove(3);
  CHECK(manager.steps() == steps{4});
  CHECK(fs::exists(root / "old" / "3"));
  CHECK_THROWS_WITH(manager.remove(3), contains("found 3, expected one of 4"));
  checkpoint::manager(root, {.moved_to = made.path / "elsewhere"}).remove(4);
  CHECK(checkpoint::about(made.path / "elsewhere" / "4").step == 4);
  checkpoint::manager plain(root, {.every = 1});
  plain.save(5, at(5));
  CHECK_THROWS_WITH(checkpoint::manager(root, {.read_only = true}).remove(5), contains("read_only"));
  plain.remove(5);
  CHECK(names_in(root) == 1);  // the folder `old`
}

TEST_CASE("a run has metadata of its own") {
  const temporary_folder folder;
  const checkpoint::manager manager(folder.path / "run", {.every = 1});
  CHECK(!manager.root_metadata());
  for (const int width : {3, 4}) {
    manager.save_root_metadata(checkpoint::metadata{}.set("width", width));
    CHECK(manager.root_metadata()->get<int>("width") == width);
  }
  CHECK(manager.steps().empty());
  CHECK(names_in(folder.path / "run") == 1);
  CHECK_THROWS_WITH(checkpoint::manager(folder.path, {.read_only = true}).save_root_metadata({}),
                    contains("read_only"));
}
