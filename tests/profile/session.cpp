// tests/profile/session.cpp: what all threads do is recorded, within its memory, and read as values.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/session.hpp>

#include <tokamax/profile/timeline.hpp>

#include <tokamax/backend/far.hpp>
#include <tokamax/tokamax.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <thread>

#include "support/catch.hpp"

namespace {
namespace tk = tokamax;
namespace profile = tk::profile;
using profile::mark_kind;

/// The names of the records of a track, in their order.
std::vector<std::string> names_of(const profile::recording& all, const profile::track& t) {
  std::vector<std::string> names;
  for (const profile::record& r : t.records) names.push_back(all.mark(r) ? all.mark(r)->name : all.work(r)->name);
  return names;
}
// Memory of this process without mapped files, in MiB.
double memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8)) / 1024;
  return 0;
}
const auto layer = [](const tk::array& x, const tk::array& w) {
  const tk::named_scope scope("layer");
  return tk::tanh(tk::matmul(x, w) * 0.5f);
};
}  // namespace

TEST_CASE("a session records the programs of all threads, also those that are gone when it is read") {
  const tk::array x = tk::full({4, 8}, 0.5f), w = tk::full({8, 16}, 0.25f);
  CHECK_FALSE(profile::is_recording());
  const profile::session s;
  CHECK(profile::is_recording());
  std::thread([&] {
    pthread_setname_np(pthread_self(), "worker");
    tk::jit(layer, tk::cpu, tk::at_run_time)(x, w);
  }).join();
  const auto run = tk::jit(layer, tk::cpu, tk::at_run_time);
  run(x, w), run(x, w);
  const profile::recording all = s.read();
  REQUIRE(all.tracks.size() == 2);
  const std::vector<std::string> once{"dot_general f32[4,8] f32[8,16]", "loop [64] mul tanh"};
  CHECK(all.tracks[0].name == "worker");
  CHECK(names_of(all, all.tracks[0]) == std::vector<std::string>{"compile", once[0], once[1]});
  CHECK(names_of(all, all.tracks[1]) == std::vector<std::string>{"compile", once[0], once[1], once[0], once[1]});
  CHECK(all.mark(all.tracks[0].records[0])->kind == mark_kind::compile);
  for (const profile::track& t : all.tracks) {
    CHECK_FALSE(t.device);
    CHECK(t.dropped == 0);
    std::int64_t last = all.begin;
    for (const profile::record& r : t.records) {
      CHECK(r.begin >= last);
      CHECK(r.end > r.begin);
      CHECK(r.end <= all.end);
      last = r.end;
    }
  }
  const profile::record& dot = all.tracks[0].records[1];
  CHECK(all.work(dot)->flops == 2 * 4 * 8 * 16);
  CHECK(all.work(dot)->scope == "layer");
  CHECK(all.work(dot)->device == "cpu");
  CHECK(all.tables.at(dot.table)->places[dot.step].find("session.cpp:") != std::string::npos);
  CHECK(all.tables.size() == 2);
}

TEST_CASE("the same steps are in a recording and in a timeline of the thread, which hears them alone") {
  const tk::array x = tk::arange(8) * 1.0f;
  const auto sums = [](const tk::array& v) {
    return tk::scan([](const tk::array& sum, const tk::array& e) { return std::pair{sum + e, sum * e}; },
                    tk::full({}, 0.0f), v);
  };
  const auto run = tk::jit(sums, tk::cpu);
  const profile::session s;
  run(x);
  std::vector<std::string> names{"compile"};  // of the first run
  {
    const profile::timeline inner;
    run(x);
    for (const profile::event& e : inner.events()) names.push_back(e.name);
  }
  const profile::recording all = s.read();
  REQUIRE(all.tracks.size() == 1);
  CHECK(names_of(all, all.tracks[0]) == names);
  CHECK(names.back() == "scan");
  CHECK(all.work(all.tracks[0].records.back())->outer);
  CHECK(all.tracks[0].records.back().begin <= all.tracks[0].records.end()[-2].begin);
}

TEST_CASE("copies to a device are transfers, and arrays that are there are not copied") {
  const tk::array x = tk::array::from<float>({1, 2, 3});
  const profile::session s;
  tk::device_put(tk::device_put(x, tk::cpu), tk::far_device(1));
  const profile::recording all = s.read();
  REQUIRE(all.tracks.size() == 1);
  CHECK(names_of(all, all.tracks[0]) == std::vector<std::string>{"transfer"});
}

TEST_CASE("spans, steps and counters of the user are among the records, by their ends") {
  { const profile::span before("before"); }
  profile::counter("loss", 9);
  const profile::session s;
  {
    const profile::step step(12);
    { const profile::span read("read", mark_kind::wait); }
    profile::counter("loss", 0.25);
  }
  const profile::recording all = s.read();
  REQUIRE(all.tracks.size() == 1);
  const auto& r = all.tracks[0].records;
  CHECK(names_of(all, all.tracks[0]) == std::vector<std::string>{"read", "loss", "step"});
  CHECK(all.mark(r[0])->kind == mark_kind::wait);
  CHECK(all.mark(r[1])->kind == mark_kind::counter);
  CHECK(r[1].value == 0.25);
  CHECK(all.mark(r[2])->kind == mark_kind::step);
  CHECK(r[2].value == 12);
  CHECK(r[2].begin <= r[0].begin);
  CHECK(r[2].end >= r[1].end);
  CHECK(all.work(r[0]) == nullptr);
}

TEST_CASE("a session keeps the last records that its memory holds, and counts the others") {
  const int count = GENERATE(1, 8, 9, 20);
  const profile::session s({.bytes = 8 * 32 + 31});
  for (int i = 0; i < count; ++i) profile::counter("queue", i);
  const profile::recording all = s.read();
  REQUIRE(all.tracks.size() == 1);
  const profile::track& t = all.tracks[0];
  CHECK(t.records.size() == static_cast<std::size_t>(std::min(count, 8)));
  CHECK(t.dropped == std::max(0, count - 8));
  CHECK(t.records.back().value == count - 1);
}

TEST_CASE("a session without room keeps one record of a thread, and one without records has no tracks") {
  const profile::session s({.bytes = 0});
  CHECK(s.read().tracks.empty());
  profile::counter("queue", 1), profile::counter("queue", 2);
  CHECK(s.read().tracks.at(0).records.size() == 1);
}

TEST_CASE("sessions overlap, and each reads what happened in its own time") {
  std::optional<profile::session> outer(std::in_place);
  profile::counter("n", 1);
  {
    const profile::session inner;
    profile::counter("n", 2);
    CHECK(inner.read().tracks.at(0).records.size() == 1);
    CHECK(outer->read().tracks.at(0).records.size() == 2);
  }
  CHECK(profile::is_recording());
  profile::counter("n", 3);
  CHECK(outer->read().tracks.at(0).records.size() == 3);
  CHECK(outer->read_last(0).tracks.empty());
  outer.reset();
  CHECK_FALSE(profile::is_recording());
  const profile::session next;
  CHECK(next.read().tracks.empty());
}

TEST_CASE("a step that fails ends its record with the session's others unharmed") {
  const profile::session s;
  CHECK_THROWS_AS(
      [] {
        const profile::step step(1);
        throw tk::error("session", "a failure", "none");
      }(),
      tk::error);
  CHECK(names_of(s.read(), s.read().tracks.at(0)) == std::vector<std::string>{"step"});
}

TEST_CASE("threads record while sessions are read and end") {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&stop, k] {
      for (int i = 0; !stop; ++i) {
        const profile::step step(i);
        profile::counter(k % 2 ? "odd" : "even", i);
      }
    });
  std::size_t seen = 0;
  for (int i = 0; i < 60; ++i) {
    const profile::session s({.bytes = 4096});
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (const profile::track& t : s.read().tracks)
      for (const profile::record& r : t.records) {
        ++seen;
        CHECK_FALSE(r.end < r.begin);
        CHECK(r.value >= 0);
      }
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  CHECK(seen > 0);
}

TEST_CASE("threads that have ended leave their records, and give back the rest of their memory") {
  const profile::session s;
  const double before = memory();
  for (int k = 0; k < 40; ++k)
    std::thread([k] {
      for (int i = 0; i <= k; ++i) profile::counter("n", i);
    }).join();
  const profile::recording all = s.read();
  REQUIRE(all.tracks.size() == 40);
  for (std::size_t k = 0; k < 40; ++k) {
    CHECK(all.tracks[k].records.size() == k + 1);
    CHECK(all.tracks[k].records.back().value == static_cast<double>(k));
    CHECK(all.tracks[k].dropped == 0);
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(memory() - before < 100);  // a ring has 16 MiB
#endif
}

TEST_CASE("threads that have ended have the room of one, which the last of them get") {
  const profile::session s({.bytes = 8 * 32});
  for (int k = 0; k < 5; ++k)
    std::thread([k] {
      for (int i = 0; i < 3; ++i) profile::counter("n", 10 * k + i);
    }).join();
  const profile::recording all = s.read();
  REQUIRE(all.tracks.size() == 5);
  for (std::size_t k = 0; k < 5; ++k) {
    CHECK(all.tracks[k].records.size() == (k < 3 ? 0 : 3));
    CHECK(all.tracks[k].dropped == (k < 3 ? 3 : 0));
  }
}

TEST_CASE("threads end while a session is read, and none of their records is lost") {
  const profile::session s({.bytes = 1 << 20});
  std::atomic<bool> stop{false};
  std::vector<std::thread> makers;
  for (int k = 0; k < 3; ++k)
    makers.emplace_back([] {
      for (int i = 0; i < 60; ++i)
        std::thread([] {
          const profile::step step(1);
          profile::counter("n", 2);
        }).join();
    });
  std::thread reader([&] {
    while (!stop)
      for (const profile::track& t : s.read().tracks) CHECK(t.records.size() <= 2);
  });
  for (std::thread& t : makers) t.join();
  stop = true;
  reader.join();
  const profile::recording all = s.read();
  CHECK(all.tracks.size() == 180);
  for (const profile::track& t : all.tracks) CHECK(t.records.size() == 2);
}

TEST_CASE("what an object of a thread records when the thread's records have been taken is left out") {
  struct late {
    ~late() { profile::counter("late", 1); }
  };
  const profile::session s;
  std::thread([] {
    static thread_local late first;  // destroyed after what the thread makes later
    static_cast<void>(&first);
    profile::counter("n", 1);
  }).join();
  const profile::recording all = s.read();
  REQUIRE(all.tracks.size() == 1);
  CHECK(names_of(all, all.tracks[0]) == std::vector<std::string>{"n"});
}

TEST_CASE("a child that is forked while a thread reads goes on with the recording") {
  const profile::session s({.bytes = 1 << 20});
  for (int i = 0; i < 1 << 15; ++i) profile::counter("n", i);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) s.read();  // it takes long, so nearly every child is made meanwhile
  });
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      { const profile::span mark("in the child"); }
      const profile::recording all = s.read();
      const profile::record& last = all.tracks.at(0).records.back();
      _exit(all.mark(last)->name == "in the child" ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  stop = true;
  reader.join();
}
