// tokamax/profile/recorder.hpp: the rings of all threads, and the names of what is in them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/session.cpp
#pragma once

#include <tokamax/profile/ring.hpp>  // ring

#include <pthread.h>  // pthread_getname_np

#include <algorithm>      // find_if, max
#include <chrono>         // steady_clock
#include <deque>          // deque
#include <memory>         // shared_ptr
#include <mutex>          // mutex
#include <string>         // string
#include <string_view>    // string_view
#include <unordered_map>  // unordered_map
#include <utility>        // move

namespace tokamax::profile::detail {

/// Hears all threads while sessions are open. There is one, which lives as long as the process, because a thread may be about to
/// call it when the last session ends.
class recorder final : public observer {
 public:
  static recorder& instance() {
    static recorder* const one = new recorder;  // never destroyed: threads may outlive main
    return *one;
  }

  std::int64_t now() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void record(const std::shared_ptr<const step_table>& program, int step, std::int64_t begin, std::int64_t end,
              std::shared_ptr<time_mark> from, std::shared_ptr<time_mark> until) override {
    std::uint32_t number = program->number.load(std::memory_order_relaxed);
    if (number == 0) number = number_of(program);
    const profile::record r{begin, end, number, static_cast<std::uint32_t>(step)};
    if (from && until) return add_on_device(program, r, std::move(from), std::move(until));
    add(r);
  }
  /// Adds to the records of this thread.
  void add(const profile::record& r) {
    if (!here_ || here_->session != session_.load(std::memory_order_relaxed)) [[unlikely]]
      enter();
    here_->records.add(r);
  }
  /// The number of a name of the user.
  std::uint32_t name(std::string_view text, mark_kind kind) {
    std::string key(1, static_cast<char>(kind));
    key += text;
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = name_numbers_.try_emplace(std::move(key), static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back({std::string(text), kind});
    return at->second;
  }

  /// A session begins. Each thread has a ring of so many bytes, if no other session has made it. Returns its time.
  std::int64_t open(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (open_++ == 0) {
      bytes_ = bytes;
      session_.fetch_add(1, std::memory_order_relaxed);
    }
    observer_of_all.store(this, std::memory_order_release);
    return now();
  }
  /// What has been recorded since `begin`. Waits for devices whose work has been recorded.
  recording read(std::int64_t begin) {
    recording all;
    all.begin = begin;
    all.end = now();
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<thread_records>& t : threads_) {
      track& of = all.tracks.emplace_back(track{t->name, false, {}, 0});
      of.dropped = t->records.read(0, of.records);
      if (of.dropped > 0 && !of.records.empty() && of.records.front().begin < begin) of.dropped = 0;  // they were older
      std::erase_if(of.records, [&](const profile::record& r) { return r.begin < begin; });
    }
    for (on_device& d : device_work_) append_device(all, d, begin);
    std::erase_if(all.tracks, [](const track& t) { return t.records.empty() && t.dropped == 0; });
    all.names = names_;
    for (const track& t : all.tracks)
      for (const profile::record& r : t.records)
        if (r.table != 0) all.tables.emplace(r.table, tables_[r.table]);
    return all;
  }
  /// A session ends. With the last one the records go, and the tables of programs that are gone.
  void close() {
    const std::lock_guard lock(mutex_);
    if (--open_ > 0) return;
    observer_of_all.store(nullptr, std::memory_order_release);
    threads_.clear();
    device_work_.clear();
    std::erase_if(tables_, [](const auto& t) { return t.second.use_count() == 1; });
  }

 private:
  /// The records of a thread in the sessions that overlap. The thread has a share, because it may be adding one when they end.
  struct thread_records {
    thread_records(std::string n, std::size_t bytes, std::uint64_t of)
        : name(std::move(n)), records(bytes), session(of) {}
    std::string name;
    ring records;
    std::uint64_t session;
  };
  /// Work of a device with a clock of its own.
  struct on_device {
    std::shared_ptr<const step_table> program;
    profile::record record;
    std::shared_ptr<time_mark> from, until;

    void settle() {
      if (!from) return;
      const std::int64_t begin = from->time();
      record.begin = begin, record.end = begin + until->since(*from);
      from = until = nullptr;
    }
  };
  recorder() = default;

  void enter() {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    const std::lock_guard lock(mutex_);
    owner_ = std::make_shared<thread_records>(name, bytes_, session_.load(std::memory_order_relaxed));
    here_ = owner_.get();
    threads_.push_back(owner_);
  }
  std::uint32_t number_of(const std::shared_ptr<const step_table>& program) {
    const std::lock_guard lock(mutex_);
    std::uint32_t n = program->number.load(std::memory_order_relaxed);
    if (n != 0) return n;
    n = ++last_table_;
    tables_[n] = program;
    program->number.store(n, std::memory_order_relaxed);
    return n;
  }
  void add_on_device(const std::shared_ptr<const step_table>& program, const profile::record& r,
                     std::shared_ptr<time_mark> from, std::shared_ptr<time_mark> until) {
    const std::lock_guard lock(mutex_);
    device_work_.push_back({program, r, std::move(from), std::move(until)});
    if (device_work_.size() * sizeof(on_device) <= std::max(bytes_, sizeof(on_device))) return;
    device_work_.pop_front();
    ++device_dropped_;
  }
  void append_device(recording& all, on_device& d, std::int64_t begin) {
    if (d.record.begin < begin) return;
    d.settle();
    const std::string& name = d.program->steps[d.record.step].device;
    auto of = std::ranges::find_if(all.tracks, [&](const track& t) { return t.device && t.name == name; });
    if (of == all.tracks.end()) {
      all.tracks.push_back({name, true, {}, device_dropped_});
      of = all.tracks.end() - 1;
    }
    of->records.push_back(d.record);
  }

  static constinit inline thread_local thread_records* here_ = nullptr;
  static inline thread_local std::shared_ptr<thread_records> owner_;
  std::mutex mutex_;
  int open_ = 0;
  std::size_t bytes_ = 0;
  std::atomic<std::uint64_t> session_{0};
  std::vector<std::shared_ptr<thread_records>> threads_;
  std::deque<on_device> device_work_;
  std::int64_t device_dropped_ = 0;
  std::map<std::uint32_t, std::shared_ptr<const step_table>> tables_;
  std::uint32_t last_table_ = 0;
  std::vector<mark_name> names_;
  std::unordered_map<std::string, std::uint32_t> name_numbers_;
};

}  // namespace tokamax::profile::detail
