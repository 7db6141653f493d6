// tests/storm/faults.cpp: lets each system call of a save, also of one in the background, and of a resumed training run, fail
// once in several ways: nothing is lost, every error has a message, and the next run ends with the bytes of one that had no
// fault.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/system/folder.hpp>
#include <tokamax/checkpoint.hpp>

#include "storm/program.hpp"

namespace tk = tokamax;

namespace {

struct state {
  tk::array weight, count;
};
state at(std::int32_t step) {
  const auto value = static_cast<float>(step);
  return {tk::array::from<float>({value, value, value}), tk::array::from<std::int32_t>({step})};
}
// Saves of a tree, or of items in the background, of which the best stays beside the latest two.
tk::checkpoint::manager manager_of(const fs::path& folder, bool background) {
  using namespace tk::checkpoint;
  if (!background) return manager(folder / "saved", {.every = 1, .keep = 2});
  return manager(folder / "saved", {.every = 1, .preserve = keep_any({keep_latest(2), keep_best(1, "loss")})});
}
void save_step(const fs::path& folder, bool background, std::int32_t step) {
  tk::checkpoint::manager manager = manager_of(folder, background);
  if (!background) return manager.save_now(step, at(step));
  const auto all =
      tk::checkpoint::items().tree("state", at(step)).record("position", step).bytes("tokenizer", "some\nbytes");
  manager.save_async_now(step, all, tk::checkpoint::metadata{}.set("loss", step));
  manager.wait();
}

// A checkpoint for Orbax and a model's folder of two files with an index, each in a folder of its own.
void save_for_others(const fs::path& folder, std::int32_t step) {
  const fs::path name = std::to_string(step), shards = folder / "shards" / name;
  tk::checkpoint::save_orbax(folder / "orbax" / name, at(step), {.use_ocdbt = true});
  tk::make_folders(shards);
  tk::checkpoint::write_safetensors_folder(shards, {{"weight", at(step).weight}, {"count", at(step).count}}, 1);
}

// The process that saves: 0 if it says that it did, 1 after an error of the library, 3 after one that left the step there,
// 2 after any other exception.
int save(const fs::path& folder, const std::string& how) {
  try {
    if (how == "for_others")
      save_for_others(folder, 3);
    else
      save_step(folder, how == "save_async", 3);
    return 0;
  } catch (const tk::error& e) {
    return e.subject.starts_with("checkpoint: saved") ? 3 : 1;
  } catch (...) {
    return 2;
  }
}

struct fault {
  const char *mode, *number;
};
constexpr fault faults[] = {{"fail", "5"},   // EIO
                            {"fail", "13"},  // EACCES
                            {"fail", "24"},  // EMFILE
                            {"full", "28"},  // ENOSPC from there on
                            {"short", "28"}, {"before", ""}, {"after", ""}};

std::vector<std::pair<std::string, std::string>> injected(const std::string& shim, const fs::path& root, long n,
                                                          fault f, const fs::path& count) {
  return {{"LD_PRELOAD", shim},    {"INJECT_ROOT", root.string()}, {"INJECT_AT", std::to_string(n)},
          {"INJECT_MODE", f.mode}, {"INJECT_ERRNO", f.number},     {"INJECT_COUNT", count.string()}};
}

void check_save(const fs::path& folder, bool background, int status, const std::string& what) {
  expect(status == 0 || status == 1 || status == 3 || status == 77, what + ": status " + std::to_string(status));
  const tk::checkpoint::manager manager = manager_of(folder, background);
  for (const std::int64_t step : manager.steps()) {
    state s = at(0);
    manager.restore(step, s, {.item = background ? "state" : ""});
    if (background)
      expect(tk::checkpoint::about(manager.folder(step)).get<std::int64_t>("position") == step &&
                 tk::checkpoint::read_bytes(manager.folder(step), "tokenizer") == "some\nbytes",
             what + ": wrong items");
    expect(s.count.item<int>() == step && s.weight.values<float>()[2] == static_cast<float>(step),
           what + ": wrong state");
  }
  const std::int64_t latest = manager.latest().value_or(0);
  expect(latest >= 2, what + ": the older checkpoint is lost");
  if (status == 0 || status == 3) expect(latest == 3, what + ": the saved step is not there");
  if (status == 1) expect(latest == 2, what + ": an error, but the step is there");
  save_step(folder, background, 4);
  const std::ptrdiff_t left = background ? 3 : 2;
  expect(std::ssize(manager.steps()) == left && std::distance(fs::directory_iterator(folder / "saved"), {}) == left,
         what + ": the next save leaves something");
}

long storm_of_saves(const std::string& self, const std::string& shim, const fs::path& work, long stride,
                    bool background) {
  const fs::path folder = work / "save", count = work / "count";
  const auto run = [&](long n, fault f) {
    fs::remove_all(folder);
    for (const int step : {1, 2}) save_step(folder, background, step);
    return end(begin({self, background ? "save_async" : "save", folder.string()}, injected(shim, folder, n, f, count),
                     work / "log"));
  };
  expect(run(0, faults[0]) == 0, "a save without a fault fails");
  const long calls = std::atol(content(count).c_str());
  expect(calls > 20, "only " + std::to_string(calls) + " calls are seen");
  long tried = 0;
  for (long n = 1; n <= calls; n += stride) {
    for (const fault f : faults) {
      const std::string what = std::string(background ? "save_async" : "save") + ", call " + std::to_string(n) + " " +
                               f.mode + " " + f.number;
      check_save(folder, background, run(n, f), what);
      ++tried;
    }
  }
  return tried;
}

// Is the step whole, absent, or, if it may be so, an error of the library?
void check_for_others(const fs::path& folder, std::int32_t step, bool may_lack, const std::string& what) {
  const fs::path name = std::to_string(step), orbax = folder / "orbax" / name, shards = folder / "shards" / name;
  state s = at(0);
  const bool there = fs::exists(orbax);
  expect(there || may_lack, what + ": the checkpoint for Orbax is not there");
  if (there) tk::checkpoint::restore_orbax(orbax, s);
  expect(!there || s.weight.values<float>()[2] == static_cast<float>(step), what + ": wrong state");
  if (!fs::exists(shards / "model.safetensors.index.json")) return expect(may_lack, what + ": the index is not there");
  const tk::checkpoint::safetensors_folder read(shards);
  expect(read.read("count").item<int>() == step && read.read("weight").values<float>()[2] == static_cast<float>(step),
         what + ": wrong arrays behind the index");
}

long storm_for_others(const std::string& self, const std::string& shim, const fs::path& work, long stride) {
  const fs::path folder = work / "others", count = work / "count";
  const auto run = [&](long n, fault f) {
    fs::remove_all(folder);
    save_for_others(folder, 2);
    return end(begin({self, "for_others", folder.string()}, injected(shim, folder, n, f, count), work / "log"));
  };
  expect(run(0, faults[0]) == 0, "a save without a fault fails");
  const long calls = std::atol(content(count).c_str());
  expect(calls > 20, "only " + std::to_string(calls) + " calls are seen");
  long tried = 0;
  for (long n = 1; n <= calls; n += stride) {
    for (const fault f : faults) {
      const std::string what = "for_others, call " + std::to_string(n) + " " + f.mode + " " + f.number;
      const int status = run(n, f);
      expect(status == 0 || status == 1 || status == 3 || status == 77, what + ": status " + std::to_string(status));
      check_for_others(folder, 2, false, what);
      check_for_others(folder, 3, status != 0, what);
      ++tried;
    }
  }
  return tried;
}

long storm_of_runs(const words& given, const fs::path& work, long stride) {
  const fs::path text = given[3], straight = work / "straight", before = work / "before", run = work / "run",
                 log = work / "log", count = work / "count";
  const words command = training(given[1], text, run);
  const auto with = [&](long n, fault f) { return injected(given[2], run, n, f, count); };
  fs::remove_all(run);
  expect(end(begin(command, with(0, faults[0]), log)) == 0, "the straight run fails:\n" + content(log));
  const long all = std::atol(content(count).c_str());
  fs::rename(run, straight);
  expect(end(begin(command, with(all / 2, {"before", ""}), log)) == 77, "half a run does not end where it should");
  fs::rename(run, before);
  const auto again = [&](long n, fault f) {
    fs::remove_all(run);
    fs::copy(before, run, fs::copy_options::recursive);
    return end(begin(resumed(command), with(n, f), log));
  };
  expect(again(0, faults[0]) == 0, "the resumed run fails:\n" + content(log));
  expect_same_run(straight, run, "the resumed run");
  const long calls = std::atol(content(count).c_str());
  long tried = 0;
  for (long n = 1; n <= calls && failures < 20; n += stride) {
    for (const fault f : faults) {
      const std::string what =
          "run, call " + std::to_string(n) + " of " + std::to_string(calls) + " " + f.mode + " " + f.number;
      const int status = again(n, f);
      const std::string output = content(log);
      expect(status == 0 || status == 1 || status == 77, what + ": status " + std::to_string(status) + "\n" + output);
      expect(status != 1 || output.find("tokamax_train: ") != std::string::npos, what + ": no message");
      if (status == 0) expect_same_run(straight, run, what + ", status 0");
      expect(end(begin(resumed(command), {}, log)) == 0, what + ": the next run fails\n" + content(log));
      expect_same_run(straight, run, what + ", and the next run");
      ++tried;
    }
  }
  return tried;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 3) return save(arguments[2], arguments[1]);
  if (count != 6) return std::fprintf(stderr, "usage: faults TRAINER SHIM TEXT WORK STRIDE\n"), 2;
  const words given(arguments, arguments + count);
  const fs::path work = fs::absolute(given[4]);
  const long stride = std::atol(given[5].c_str());
  fs::remove_all(work);
  fs::create_directories(work);
  const fs::path self = fs::read_symlink("/proc/self/exe");
  const long saves = storm_of_saves(self, given[2], work, stride, false) +
                     storm_of_saves(self, given[2], work, stride, true) +
                     storm_for_others(self, given[2], work, stride);
  const long runs = storm_of_runs(given, work, stride);
  std::printf("%ld faults in saves, %ld in runs, failures: %d\n", saves, runs, failures);
  return failures ? 1 : 0;
}
