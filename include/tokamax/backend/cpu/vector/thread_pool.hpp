// tokamax/backend/cpu/vector/thread_pool.hpp: teams of threads that share the chunks of loops; in between they spin briefly, then sleep.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/vector/threads.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#include <atomic>   // atomic
#include <cstdint>  // int64_t

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/core/context.hpp>              // context_of_helpers
  #include <tokamax/core/memory/step_scratch.hpp>  // step_scratch

  #include <algorithm>     // min
  #include <array>         // array
  #include <chrono>        // steady_clock
  #include <cstdlib>       // getenv, strtol
  #include <exception>     // exception_ptr
  #include <mutex>         // mutex
  #include <new>           // placement new
  #include <system_error>  // system_error
  #include <thread>        // thread

  #if defined(__unix__) || defined(__APPLE__)
    #include <pthread.h>  // pthread_atfork, pthread_sigmask
    #include <signal.h>   // sigset_t
  #endif
  #if defined(__linux__)
    #include <sched.h>  // sched_getaffinity
  #endif
#endif

namespace tokamax::cpu_backend {

inline constexpr int most_threads = 256;  ///< threads of one loop

namespace detail {
/// Calls chunk(f, i) once for each i in [0, n), on at most `threads` threads, of which the caller is number 0.
///
/// errors  the first exception of a chunk is thrown again here; chunks that nobody has begun by then are left out
void run_chunks(int threads, std::int64_t n, void (*chunk)(void* f, std::int64_t i), void* f);
/// How many threads the loops of the calling thread have: 1 if it works on a chunk of a loop, what its context says, or 0 for
/// the limit of the process.
int own_threads() noexcept;
/// Is the calling thread at work on a chunk of a loop that has several threads?
bool within_loop() noexcept;
/// Number of the calling thread in the loop that it works on, 0 outside.
int number_in_loop() noexcept;
/// What OMP_NUM_THREADS asked for when the process began, else the processors that it may run on.
int default_threads() noexcept;

inline std::atomic<int> thread_limit{0};  // of the process; 0: default_threads
}  // namespace detail

#if defined(TOKAMAX_COMPILED_ONCE)
/// The worker threads of this process.
///
/// A loop is a number of chunks, which are cut into one range for each thread. A thread takes the chunks of its own range
/// one by one, and then chunks of other ranges that nobody has begun. So if the system runs a thread late, the others wait
/// only for the chunks that it holds.
///
/// Loops of several threads run side by side, each with a team: its caller and workers that are free. Loops that share the
/// limit of the process have so many threads together; one that begins when all are busy runs on its caller. A thread that
/// has a number of its own gets so many, whatever others do. A loop that begins inside a chunk runs on its caller.
///
/// Workers have the context of the thread whose loop they help with.
///
/// Workers are made when a loop first needs them, and block all signals. They live as long as the process, and nothing is
/// destroyed at its end. A child made by fork() starts without workers and makes its own.
class thread_pool {
 public:
  static thread_pool& instance() {
    static thread_pool* const pool = make();
    return *pool;
  }

  void run(int threads, std::int64_t n, void (*chunk)(void* f, std::int64_t i), void* f) {
    if (threads > n) threads = static_cast<int>(n);
    busy_threads mine(busy_);
    if (threads > 1 && !within()) {
      const int others = mine.begin();
      if (current_context.threads == 0) threads = std::min(threads, limit() - others);
      if (threads > 1 && run_by_team(threads, n, chunk, f, mine)) return;
    }
    for (std::int64_t i = 0; i < n; ++i) chunk(f, i);
  }

  static bool& within() noexcept {
    static constinit thread_local bool yes = false;
    return yes;
  }
  static int& thread_index() noexcept {
    static constinit thread_local int number = 0;
    return number;
  }
  static int default_threads() noexcept {
    static const int n = [] {
      const char* const wanted = std::getenv("OMP_NUM_THREADS");
      const long given = wanted ? std::strtol(wanted, nullptr, 10) : 0;
      const long found = given > 0 ? given : processors();
      return static_cast<int>(found < most_threads ? found : most_threads);
    }();
    return n;
  }

 private:
  using clock = std::chrono::steady_clock;
  /// It takes about this long to wake a sleeping thread, so a waiting thread spins for this time before it sleeps.
  static constexpr std::chrono::microseconds patience{50};

  struct alignas(64) chunk_range {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  /// The threads of one loop. Number 0 is its owner. Teams are used again, and keep their workers if these are free.
  struct alignas(64) team {
    std::atomic<std::uint32_t> inside{0};  // workers that may be at work, and whether the owner sleeps
    std::atomic<bool> failed{false};
    std::exception_ptr error;
    int threads = 1;
    void (*run)(void*, std::int64_t) = nullptr;
    void* f = nullptr;
    context around;                                     // of the workers
    team* next = nullptr;                               // in the list of idle teams
    std::array<std::uint16_t, most_threads> members{};  // workers, from 1 on
    std::array<chunk_range, most_threads> ranges;
  };
  static constexpr std::uint32_t owner_sleeps = std::uint32_t{1} << 31;

  /// The state of a worker is 0 if it is free, the address of the team that invites it, or an odd number: that address + 1
  /// if it is at work, or `taken` if somebody is about to invite it.
  static constexpr std::uintptr_t entered = 1, taken = 1;
  struct alignas(64) worker {
    std::atomic<std::uintptr_t> state{taken};
    int number = 0;  // in the team
    std::atomic<int> asleep{0};
  };
  static std::uintptr_t address(const team& t) { return reinterpret_cast<std::uintptr_t>(&t); }

  /// Counts the threads of a loop while it runs.
  class busy_threads {
   public:
    explicit busy_threads(std::atomic<int>& all) : all_(all) {}
    busy_threads(const busy_threads&) = delete;
    ~busy_threads() {
      if (mine_ > 0) all_.fetch_sub(mine_, std::memory_order_relaxed);
    }
    /// Counts the caller, and returns how many others there are.
    int begin() noexcept {
      mine_ = 1;
      return all_.fetch_add(1, std::memory_order_relaxed);
    }
    void add(int workers) noexcept {
      mine_ += workers;
      all_.fetch_add(workers, std::memory_order_relaxed);
    }

   private:
    std::atomic<int>& all_;
    int mine_ = 0;
  };

  thread_pool() = default;

  static thread_pool* make() {
    auto* const pool = new thread_pool;  // never destroyed, as workers and loops may outlive every static object
  #if defined(__unix__) || defined(__APPLE__)
    static thread_pool* forked;
    forked = pool;
    pthread_atfork(nullptr, nullptr, [] { new (forked) thread_pool; });  // a child has none of its parent's threads
  #endif
    return pool;
  }

  static long processors() noexcept {
  #if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  #endif
    const unsigned n = std::thread::hardware_concurrency();
    return n > 0 ? static_cast<long>(n) : 1;
  }

  static std::size_t index(int t) { return static_cast<std::size_t>(t); }
  static int limit() noexcept {
    const int set = detail::thread_limit.load(std::memory_order_relaxed);
    return set > 0 ? set : default_threads();
  }

  /// Runs a loop with the workers that are free; false if there are none.
  bool run_by_team(int threads, std::int64_t n, void (*chunk)(void* f, std::int64_t i), void* f, busy_threads& mine) {
    team& t = *take_team();
    const int workers = claim(t, threads - 1);
    if (workers == 0) {
      give_team(&t);
      return false;
    }
    mine.add(workers);
    t.threads = threads = 1 + workers;
    t.run = chunk;
    t.f = f;
    t.around = context_of_helpers();
    for (int k = 0; k < threads; ++k) {
      t.ranges[index(k)].next.store(n * k / threads, std::memory_order_relaxed);
      t.ranges[index(k)].end = n * (k + 1) / threads;
    }
    open(t);
    within() = true;
    help(t, 0);
    within() = false;
    close(t);
    std::exception_ptr error;
    if (t.failed.load(std::memory_order_relaxed)) {
      error.swap(t.error);
      t.failed.store(false, std::memory_order_relaxed);
    }
    give_team(&t);
    if (error) std::rethrow_exception(error);
    return true;
  }

  team* take_team() {
    if (team* const t = ready_.exchange(nullptr, std::memory_order_acquire)) return t;
    const std::lock_guard lock(mutex_);
    team* const t = more_;
    if (!t) return new team;
    more_ = t->next;
    return t;
  }
  void give_team(team* t) noexcept {
    team* none = nullptr;
    if (ready_.compare_exchange_strong(none, t, std::memory_order_release, std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex_);
    t->next = more_;
    more_ = t;
  }

  /// Takes workers for a team: those that it had last, whose caches know its data, then others, then new ones. Returns how
  /// many.
  int claim(team& t, int wanted) noexcept {
    int count = 0;
    const auto take = [&](int w) {
      std::uintptr_t is = 0;
      if (!workers_[index(w)].state.compare_exchange_strong(is, taken, std::memory_order_acquire)) return;
      t.members[index(++count)] = static_cast<std::uint16_t>(w);
    };
    for (int k = 1; k < t.threads && count < wanted; ++k) take(t.members[index(k)]);
    const int made = made_.load(std::memory_order_acquire);
    for (int w = 1; w <= made && count < wanted; ++w) take(w);
    while (count < wanted) {
      const int w = make_worker();
      if (w == 0) break;
      t.members[index(++count)] = static_cast<std::uint16_t>(w);
    }
    return count;
  }

  void open(team& t) noexcept {
    t.inside.store(static_cast<std::uint32_t>(t.threads - 1), std::memory_order_relaxed);
    for (int k = 1; k < t.threads; ++k) {
      worker& w = workers_[t.members[index(k)]];
      w.number = k;
      w.state.store(address(t));
      if (w.asleep.load() && w.asleep.exchange(0)) w.asleep.notify_one();
    }
  }

  /// Takes back the invitations of workers that have not come, and waits for the others.
  void close(team& t) noexcept {
    std::uint32_t late = 0;
    for (int k = 1; k < t.threads; ++k) {
      std::uintptr_t is = address(t);
      if (workers_[t.members[index(k)]].state.compare_exchange_strong(is, 0, std::memory_order_acq_rel)) ++late;
    }
    std::uint32_t inside = t.inside.fetch_sub(late, std::memory_order_acq_rel) - late;
    if (spin_until([&] { return (inside = t.inside.load(std::memory_order_acquire)) == 0; })) return;
    inside = t.inside.fetch_or(owner_sleeps, std::memory_order_acq_rel) | owner_sleeps;
    while (inside != owner_sleeps) {
      t.inside.wait(inside, std::memory_order_acquire);
      inside = t.inside.load(std::memory_order_acquire);
    }
  }

  template <class Ready>
  static bool spin_until(Ready ready) noexcept {
    const clock::time_point begin = clock::now();
    do {
      for (int i = 0; i < 32; ++i) {
        if (ready()) return true;
  #if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
  #endif
      }
    } while (clock::now() - begin < patience);
    return ready();
  }

  /// Runs the chunks of a thread's own range, then those of other ranges that nobody has begun.
  static void help(team& t, int number) noexcept {
    try {
      for (int k = 0; k < t.threads; ++k) {
        chunk_range& range = t.ranges[index((number + k) % t.threads)];
        while (range.next.load(std::memory_order_relaxed) < range.end && !t.failed.load(std::memory_order_relaxed)) {
          const std::int64_t i = range.next.fetch_add(1, std::memory_order_relaxed);
          if (i < range.end) t.run(t.f, i);
        }
      }
    } catch (...) {
      if (!t.failed.exchange(true)) t.error = std::current_exception();
    }
  }

  void work(worker& self) noexcept {
    within() = true;
    const step_scratch lent;  // kept from loop to loop, and given back before it sleeps
    for (;;) {
      std::uintptr_t state = 0;
      const auto invited = [&] { return ((state = self.state.load()) & 1) == 0 && state != 0; };
      if (!spin_until(invited)) {
        lent.give_back();
        self.asleep.store(1);
        if (!invited()) self.asleep.wait(1);
        self.asleep.store(0);
        continue;
      }
      if (!self.state.compare_exchange_strong(state, state + entered, std::memory_order_acquire)) continue;
      team& t = *reinterpret_cast<team*>(state);
      thread_index() = self.number;
      {
        const context_scope scope(t.around);
        help(t, self.number);
      }
      self.state.store(0, std::memory_order_release);
      if (t.inside.fetch_sub(1, std::memory_order_release) == (owner_sleeps | 1)) t.inside.notify_one();
    }
  }

  /// Makes a worker that is taken. Returns its index, or 0 if there can be no more.
  int make_worker() noexcept {
    const std::lock_guard lock(mutex_);
    const int w = made_.load(std::memory_order_relaxed) + 1;
    if (w >= most_threads) return 0;
  #if defined(__unix__) || defined(__APPLE__)
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // workers inherit the mask: signals go to the program's own threads
  #endif
    bool failed = false;
    try {
      std::thread([this, w] { work(workers_[index(w)]); }).detach();
    } catch (const std::system_error&) {
      failed = true;
    }
  #if defined(__unix__) || defined(__APPLE__)
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  #endif
    if (failed) return 0;
    made_.store(w, std::memory_order_release);
    return w;
  }

  alignas(64) std::atomic<team*> ready_{nullptr};  // an idle team
  alignas(64) std::atomic<int> busy_{0};           // threads in loops
  std::mutex mutex_;                               // of the next member, and of making workers
  team* more_ = nullptr;                           // more idle teams
  std::atomic<int> made_{0};                       // workers
  std::array<worker, most_threads> workers_;       // from 1 on
};

namespace detail {
TOKAMAX_COMPILED_ONCE void run_chunks(int threads, std::int64_t n, void (*chunk)(void* f, std::int64_t i), void* f) {
  thread_pool::instance().run(threads, n, chunk, f);
}
TOKAMAX_COMPILED_ONCE int own_threads() noexcept { return thread_pool::within() ? 1 : current_context.threads; }
TOKAMAX_COMPILED_ONCE bool within_loop() noexcept { return thread_pool::within(); }
TOKAMAX_COMPILED_ONCE int number_in_loop() noexcept { return thread_pool::thread_index(); }
TOKAMAX_COMPILED_ONCE int default_threads() noexcept { return thread_pool::default_threads(); }
}  // namespace detail
#endif

}  // namespace tokamax::cpu_backend
