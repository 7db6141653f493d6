// tokamax/backend/cpu/vector/thread_pool.hpp: threads that share the chunks of a loop; between loops they spin briefly, then sleep.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/vector/threads.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#include <cstdint>  // int64_t

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <array>         // array
  #include <atomic>        // atomic
  #include <chrono>        // steady_clock
  #include <cstdlib>       // getenv, strtol
  #include <exception>     // exception_ptr
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
/// Is the calling thread at work on a chunk of a loop that has several threads?
bool within_loop() noexcept;
/// Number of the calling thread in the loop that it works on, 0 outside.
int number_in_loop() noexcept;
/// What OMP_NUM_THREADS asked for when the process began, else the processors that it may run on.
int default_threads() noexcept;
}  // namespace detail

#if defined(TOKAMAX_COMPILED_ONCE)
/// The worker threads of this process.
///
/// A loop is a number of chunks, which are cut into one range for each thread. A thread takes the chunks of its own range
/// one by one, and then chunks of other ranges that nobody has begun. So if the system runs a thread late, the others wait
/// only for the chunks that it holds. One loop at a time has the workers; a loop that another thread begins meanwhile, or
/// that begins inside a chunk, runs on its caller.
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
    if (threads <= 1 || within() || taken_.exchange(true, std::memory_order_acquire)) {
      for (std::int64_t i = 0; i < n; ++i) chunk(f, i);
      return;
    }
    threads = with_workers(threads);
    run_ = chunk;
    f_ = f;
    for (int t = 0; t < threads; ++t) {
      ranges_[index(t)].next.store(n * t / threads, std::memory_order_relaxed);
      ranges_[index(t)].end = n * (t + 1) / threads;
    }
    open(threads);
    within() = true;
    help(0, threads);
    within() = false;
    close();
    std::exception_ptr error;
    if (failed_.load(std::memory_order_relaxed)) {
      error.swap(error_);
      failed_.store(false, std::memory_order_relaxed);
    }
    taken_.store(false, std::memory_order_release);
    if (error) std::rethrow_exception(error);
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
  struct alignas(64) worker {
    std::atomic<int> asleep{0};
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

  // The gate is one atomic number, so that a worker can test that a loop is open and enter it in one step. Its bits are:
  // how many workers are inside, how many threads the loop is for, whether it is open, whether its owner sleeps, and the
  // number of the loop, which may repeat.
  static constexpr std::uint32_t one_inside = 1, inside_mask = 0x1ff, one_thread = 0x200, opened = 1u << 18,
                                 owner_sleeps = 1u << 19, one_loop = 1u << 20;
  static int threads_of(std::uint32_t gate) { return static_cast<int>(gate / one_thread % 0x200); }
  static bool invites(std::uint32_t gate, int number, std::uint32_t last) {
    return (gate & opened) != 0 && gate / one_loop != last && number < threads_of(gate);
  }

  void open(int threads) noexcept {
    loop_ += one_loop;
    gate_.store(loop_ + static_cast<std::uint32_t>(threads) * one_thread + opened);
    for (int t = 1; t < threads; ++t) {
      worker& w = workers_[index(t)];
      if (w.asleep.load() && w.asleep.exchange(0)) w.asleep.notify_one();
    }
  }

  /// Closes the loop to workers, and waits for those inside.
  void close() noexcept {
    std::uint32_t gate = gate_.fetch_and(~opened, std::memory_order_acq_rel) & ~opened;
    const auto quiet = [&] { return ((gate = gate_.load(std::memory_order_acquire)) & inside_mask) == 0; };
    if (spin_until(quiet)) return;
    gate = gate_.fetch_or(owner_sleeps, std::memory_order_acq_rel) | owner_sleeps;
    while ((gate & inside_mask) != 0) {
      gate_.wait(gate, std::memory_order_acquire);
      gate = gate_.load(std::memory_order_acquire);
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
  void help(int number, int threads) noexcept {
    try {
      for (int t = 0; t < threads; ++t) {
        chunk_range& range = ranges_[index((number + t) % threads)];
        while (range.next.load(std::memory_order_relaxed) < range.end && !failed_.load(std::memory_order_relaxed)) {
          const std::int64_t i = range.next.fetch_add(1, std::memory_order_relaxed);
          if (i < range.end) run_(f_, i);
        }
      }
    } catch (...) {
      if (!failed_.exchange(true)) error_ = std::current_exception();
    }
  }

  void work(int number) noexcept {
    within() = true;
    thread_index() = number;
    for (std::uint32_t last = ~std::uint32_t{0};;) {
      std::uint32_t gate = 0;
      const auto invited = [&] { return invites(gate = gate_.load(), number, last); };
      if (!spin_until(invited)) {
        std::atomic<int>& asleep = workers_[index(number)].asleep;
        asleep.store(1);
        if (!invited()) asleep.wait(1);
        asleep.store(0);
        continue;
      }
      while (!gate_.compare_exchange_weak(gate, gate + one_inside, std::memory_order_acquire))
        if (!invites(gate, number, last)) break;
      if (!invites(gate, number, last)) continue;
      last = gate / one_loop;
      help(number, threads_of(gate));
      gate = gate_.fetch_sub(one_inside, std::memory_order_release);
      if ((gate & inside_mask) == 1 && (gate & owner_sleeps) != 0) gate_.notify_one();
    }
  }

  /// Makes the workers of a loop for `threads` threads. Returns how many threads there are, including the caller.
  int with_workers(int threads) noexcept {
    if (threads > most_threads) threads = most_threads;
    for (; made_ + 1 < threads; ++made_) {
  #if defined(__unix__) || defined(__APPLE__)
      sigset_t all, before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);  // workers inherit the mask: signals go to the program's own threads
  #endif
      bool failed = false;
      try {
        std::thread([this, number = made_ + 1] { work(number); }).detach();
      } catch (const std::system_error&) {
        failed = true;
      }
  #if defined(__unix__) || defined(__APPLE__)
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
  #endif
      if (failed) break;
    }
    return threads < made_ + 1 ? threads : made_ + 1;
  }

  alignas(64) std::atomic<std::uint32_t> gate_{0};
  alignas(64) std::atomic<bool> taken_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
  std::uint32_t loop_ = 0;
  int made_ = 0;  // workers
  void (*run_)(void*, std::int64_t) = nullptr;
  void* f_ = nullptr;
  std::array<chunk_range, most_threads> ranges_;
  std::array<worker, most_threads> workers_;
};

namespace detail {
TOKAMAX_COMPILED_ONCE void run_chunks(int threads, std::int64_t n, void (*chunk)(void* f, std::int64_t i), void* f) {
  thread_pool::instance().run(threads, n, chunk, f);
}
TOKAMAX_COMPILED_ONCE bool within_loop() noexcept { return thread_pool::within(); }
TOKAMAX_COMPILED_ONCE int number_in_loop() noexcept { return thread_pool::thread_index(); }
TOKAMAX_COMPILED_ONCE int default_threads() noexcept { return thread_pool::default_threads(); }
}  // namespace detail
#endif

}  // namespace tokamax::cpu_backend
