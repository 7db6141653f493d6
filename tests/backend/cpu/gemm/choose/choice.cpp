// tests/backend/cpu/gemm/choose/choice.cpp: the fastest implementation is chosen, once for each shape, kept, saved and restored.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/execute.hpp>
#include <tokamax/backend/cpu/gemm/choose/choice.hpp>
#include <tokamax/backend/cpu/gemm/gemm.hpp>
#include <tokamax/numpy/matmul.hpp>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#if defined(_OPENMP)
  #include <omp.h>
#endif

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;
using floats = std::vector<float>;

namespace {

// Far slower than ours, on a busy machine too: it sleeps and leaves C as it is.
std::atomic<int> slow_runs{0};
const cpu_backend::gemm_implementation slow{"slow", [](const cpu_backend::gemm_product&) noexcept { return true; },
                                            [](const cpu_backend::gemm_product&) noexcept {
                                              ++slow_runs;
                                              std::this_thread::sleep_for(std::chrono::milliseconds(250));
                                            }};

// Far faster than ours: of C it sets, or adds to, the first element alone.
constexpr float mark = 1e6f;
std::atomic<int> quick_runs{0}, quick_threads{0};
void quick_run(const cpu_backend::gemm_product& p) noexcept {
  ++quick_runs;
#if defined(_OPENMP)
  quick_threads = omp_get_max_threads();
#endif
  *p.c = p.mode == cpu_backend::gemm_mode::assign ? mark : *p.c + mark;
}
bool lies_well(const cpu_backend::matrix_view& v, std::int64_t rows, std::int64_t columns) {
  return is_transposed(v) ? v.row_stride == 1 && v.column_stride >= rows : v.row_stride >= columns;
}
std::atomic<bool> all_lie_well{true};
const cpu_backend::gemm_implementation quick{"quick",
                                             [](const cpu_backend::gemm_product& p) noexcept {
                                               if (!lies_well(p.a, p.m, p.k) || !lies_well(p.b, p.k, p.n))
                                                 all_lie_well = false;
                                               return p.m != 101;
                                             },
                                             quick_run};

// Nothing of a test is left for the next.
struct fresh_choices {
  fresh_choices() { reset(); }
  ~fresh_choices() { reset(); }
  static void reset() {
    tokamax::blas::choices().clear();
    cpu_backend::set_num_threads(0);
    slow_runs = quick_runs = quick_threads = 0;
    all_lie_well = true;
  }
};

struct product {
  std::int64_t m = 100, n = 90, k = 80;
  floats a = floats(static_cast<std::size_t>(m * k), 0.5f), b = floats(static_cast<std::size_t>(k * n), 0.25f);
  floats c = floats(static_cast<std::size_t>(m * n), 7.0f);

  float first(cpu_backend::gemm_mode mode = cpu_backend::gemm_mode::assign, cpu_backend::gemm_epilogue epilogue = {}) {
    cpu_backend::gemm(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, c.data(), n, mode, epilogue);
    return c[0];
  }
  float ours() const { return 0.125f * static_cast<float>(k); }
};

// The rest of the line of a key for as many threads as there are now.
std::string chosen(const std::string& key) {
  const std::string text = tokamax::blas::choices().to_text(),
                    line = "\n" + key + " " + std::to_string(cpu_backend::num_threads()) + " ";
  const auto at = text.find(line);
  return at == text.npos ? "none" : text.substr(at + line.size(), text.find('\n', at + 1) - at - line.size());
}

}  // namespace

TEST_CASE("gemm_choice: without other implementations all products are ours") {
  const fresh_choices fresh;
  product p;
  CHECK(cpu_backend::detail::gemm_override.load() == nullptr);
  CHECK(p.first() == p.ours());
  CHECK(tokamax::blas::choices().to_text() == "# m n k a b precision mode threads fastest GFLOP/s\n");
}

TEST_CASE("gemm_choice: the fastest is chosen, and measured once") {
  const fresh_choices fresh;
  cpu_backend::set_num_threads(2);
  tokamax::blas::choices().add(slow);
  product p;
  CHECK(p.first() == p.ours());
  const int runs = slow_runs;
  CHECK(runs >= 2);
  for (int i = 0; i < 3; ++i) CHECK(p.first() == p.ours());
  CHECK(slow_runs == runs);
  CHECK(chosen("100 90 80 f32 f32 f32 assign").starts_with("tokamax tokamax="));
  CHECK(chosen("100 90 80 f32 f32 f32 assign").find(" slow=") != std::string::npos);

  tokamax::blas::choices().add(quick);  // the shape keeps its choice, others try the newcomer
  CHECK(p.first() == p.ours());
  CHECK(quick_runs == 0);
  product q{.m = 99};
  CHECK(q.first() == mark);
  CHECK(q.c[1] == 7.0f);  // what was measured wrote elsewhere
  const int slows = slow_runs, quicks = quick_runs;
  CHECK(q.first() == mark);
  CHECK(slow_runs == slows);
  CHECK(quick_runs == quicks + 1);
  CHECK(chosen("99 90 80 f32 f32 f32 assign").starts_with("quick tokamax="));
}

TEST_CASE("gemm_choice: each key has its choice") {
  const fresh_choices fresh;
  tokamax::blas::choices().add(quick);
  product other{.m = 101};  // one that `quick` cannot do
  CHECK(other.first() == other.ours());
  CHECK(quick_runs == 0);
  CHECK(chosen("101 90 80 f32 f32 f32 assign") == "none");
  product p;
  cpu_backend::set_num_threads(1);
  CHECK(p.first() == mark);
  CHECK(chosen("100 90 80 f32 f32 f32 assign").starts_with("quick"));
  cpu_backend::set_num_threads(2);
  CHECK(p.first() == mark);
  CHECK(chosen("100 90 80 f32 f32 f32 assign").starts_with("quick"));
  cpu_backend::gemm(p.m, p.n, p.k, {p.a.data(), 1, p.m}, {p.b.data(), p.n, 1}, p.c.data(), p.n,
                    cpu_backend::gemm_mode::assign, {}, cpu_backend::gemm_precision::bfloat16);
  CHECK(chosen("100 90 80 f32^T f32 bf16 assign").starts_with("quick"));
  const std::vector<std::int8_t> a(8000, 1), b(7200, 1);
  std::vector<std::int32_t> c(9000);
  cpu_backend::gemm(100, 90, 80, {a.data(), 80, 1, cpu_backend::gemm_element::int8},
                    {b.data(), 1, 80, cpu_backend::gemm_element::int8}, c.data(), 90);
  CHECK(chosen("100 90 80 i8 i8^T f32 assign").starts_with("quick"));
}

TEST_CASE("gemm_choice: a sum is added once") {
  const fresh_choices fresh;
  tokamax::blas::choices().add(quick);
  product p;
  CHECK(p.first(cpu_backend::gemm_mode::accumulate) == 7.0f + mark);
  CHECK(p.first(cpu_backend::gemm_mode::accumulate) == 7.0f + mark + mark);
  tokamax::blas::choices().clear();
  tokamax::blas::choices().add(slow);
  product q;
  CHECK(q.first(cpu_backend::gemm_mode::accumulate) == 7.0f + q.ours());
  CHECK(slow_runs > 0);
}

TEST_CASE("gemm_choice: implementations get operands with contiguous rows or columns") {
  const fresh_choices fresh;
  tokamax::blas::choices().add(quick);
  const floats x(4000, 1.0f);
  floats c(400);
  const auto runs_of = [&](std::int64_t m, std::int64_t n, std::int64_t k, cpu_backend::matrix_view a,
                           cpu_backend::matrix_view b) {
    const int before = quick_runs;
    cpu_backend::gemm(m, n, k, a, b, c.data(), n);
    return quick_runs - before;
  };
  const cpu_backend::matrix_view rows{x.data(), 20, 1}, columns{x.data(), 1, 20};
  CHECK(runs_of(20, 20, 20, rows, columns) > 0);
  CHECK(runs_of(9, 8, 7, {x.data(), 11, 1}, {x.data(), 1, 13}) > 0);  // gaps
  CHECK(runs_of(1, 20, 20, {x.data(), 0, 1}, rows) > 0);              // extents of 1 have any stride
  CHECK(runs_of(1, 20, 20, {x.data(), 0, 5}, rows) > 0);              // one row: columns are contiguous
  CHECK(runs_of(20, 1, 20, rows, {x.data(), 1, 0}) > 0);
  CHECK(runs_of(20, 20, 1, {x.data(), 1, 0}, {x.data(), 0, 1}) > 0);
  CHECK(runs_of(1, 1, 1, {x.data(), 0, 0}, {x.data(), 0, 0}) > 0);
  CHECK(runs_of(20, 20, 20, {x.data(), 60, 2}, rows) == 0);  // strides that are nowhere one
  CHECK(runs_of(20, 20, 20, rows, {x.data(), 0, 1}) == 0);   // a broadcast row
  CHECK(runs_of(0, 20, 20, rows, rows) == 0);
  CHECK(all_lie_well);
}

TEST_CASE("gemm_choice: epilogues stay ours, batches of large products do not") {
  const fresh_choices fresh;
  tokamax::blas::choices().add(quick);
  product p;
  const cpu_backend::gemm_epilogue nothing{
      [](const void*, float*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t) noexcept {}};
  CHECK(p.first(cpu_backend::gemm_mode::assign, nothing) == p.ours());
  CHECK(quick_runs == 0);
  product two{.m = 400, .n = 130, .k = 170};
  cpu_backend::gemm_batched(2, 200, 130, 170, {two.a.data(), 170, 1}, 200 * 170, {two.b.data(), 130, 1}, 0,
                            two.c.data(), 130, 200 * 130);
  CHECK(two.c[0] == mark);
  CHECK(two.c[200 * 130] == mark);
}

TEST_CASE("gemm_choice: nothing is measured among threads") {
  const fresh_choices fresh;
  cpu_backend::set_num_threads(2);
  tokamax::blas::choices().add(quick);
  std::vector<product> all(4);
  const auto all_first = [&] {
    cpu_backend::parallel_for(4, [&](std::int64_t i) { all[static_cast<std::size_t>(i)].first(); });
  };
#if !defined(TOKAMAX_ONE_THREAD)
  all_first();
  CHECK(quick_runs == 0);
  for (const product& p : all) CHECK(p.c[0] == p.ours());
#endif
  cpu_backend::set_num_threads(1);  // a choice for one thread is taken there
  CHECK(product{}.first() == mark);
  cpu_backend::set_num_threads(2);
  const int runs = quick_runs;
  all_first();
  CHECK(quick_runs == runs + 4);
  for (const product& p : all) CHECK(p.c[0] == mark);
}

TEST_CASE("gemm_choice: other threads than ours may multiply at the same time") {
  const fresh_choices fresh;
  tokamax::blas::choices().add(quick);
  std::vector<product> all(4);
  std::vector<std::thread> threads;
  for (product& p : all)
    threads.emplace_back([&p] {
      for (int i = 0; i < 50; ++i) p.first();
    });
  for (std::thread& t : threads) t.join();
  for (const product& p : all) CHECK(p.c[0] == mark);
}

#if defined(_OPENMP)
TEST_CASE("gemm_choice: implementations run on as many threads as ours") {
  const fresh_choices fresh;
  tokamax::blas::choices().add(quick);
  const int before = omp_get_max_threads();
  for (const int n : {3, 1}) {
    cpu_backend::set_num_threads(n);
    product{}.first();
    CHECK(quick_threads == n);
    CHECK(omp_get_max_threads() == before);
  }
}
#endif

TEST_CASE("gemm_choice: a text restores the choices, and nothing is measured again") {
  const fresh_choices fresh;
  cpu_backend::set_num_threads(2);
  tokamax::blas::choices().add(slow);
  tokamax::blas::choices().add(quick);
  product p, q{.m = 101};
  CHECK(p.first() == mark);
  CHECK(q.first() == q.ours());
  const std::string text = tokamax::blas::choices().to_text();

  tokamax::blas::choices().clear();
  slow_runs = quick_runs = 0;
  tokamax::blas::choices().add(slow);
  tokamax::blas::choices().add(quick);
  tokamax::blas::choices().from_text(text);
  CHECK(p.first() == mark);
  CHECK(q.first() == q.ours());
  CHECK(quick_runs == 1);
  CHECK(slow_runs == 0);
  CHECK(tokamax::blas::choices().to_text() == text);

  const std::string threads = std::to_string(cpu_backend::num_threads());  // a choice of the user
  tokamax::blas::choices().from_text("\n# a comment\r\n \r\n100 90 80 f32 f32 f32 assign " + threads + " tokamax\r\n");
  CHECK(p.first() == p.ours());
  tokamax::blas::choices().measure(false);
  product r{.m = 98};
  CHECK(r.first() == r.ours());
  CHECK(quick_runs == 1);
  tokamax::blas::choices().measure(true);
  CHECK(r.first() == mark);
}

TEST_CASE("gemm_choice: what a wrong text or name is told") {
  const fresh_choices fresh;
  auto& choices = tokamax::blas::choices();
  choices.add(quick);
  const auto told = [&](const std::string& text) {
    const std::string before = choices.to_text();
    std::string message = "nothing";
    try {
      choices.from_text("# first\n8 8 8 f32 f32 f32 assign 1 quick\n" + text, "choices.txt");
    } catch (const tokamax::error& e) {
      message = e.what();
    }
    CHECK(choices.to_text() == before);
    return message;
  };
  CHECK(told("8 8") == "gemm_choice: k: found the end of the line, expected a number from 1 on (choices.txt, line 3)");
  CHECK(told("8 8 8 f32 f32 f32 assign 9223372036854775807 quick\n8 8") ==  // D9
        "gemm_choice: k: found the end of the line, expected a number from 1 on (choices.txt, line 4)");
  CHECK(told("8 0 8 f32 f32 f32 assign 1 quick") ==
        "gemm_choice: n: found 0, expected a number from 1 on (choices.txt, line 3)");
  CHECK(told("8 8x 8") == "gemm_choice: n: found 8x, expected a number from 1 on (choices.txt, line 3)");
  CHECK(told("\n8 8 8 f64 f32") ==
        "gemm_choice: a: found f64, expected one of f32, f32^T, bf16, bf16^T, i8, i8^T (choices.txt, line 4)");
  CHECK(told("8 8 8 f32 f32 tf32") ==
        "gemm_choice: precision: found tf32, expected one of f32, bf16, bf16_x3, bf16_x6 (choices.txt, line 3)");
  CHECK(told("8 8 8 f32 f32 f32 add 1 quick") ==
        "gemm_choice: mode: found add, expected one of assign, accumulate (choices.txt, line 3)");
  CHECK(told("8 8 8 f32 f32 f32 assign 1") ==
        "gemm_choice: fastest: found the end of the line, expected one of tokamax, quick (choices.txt, line 3)");
  CHECK(told("8 8 8 f32 f32 f32 assign 1 onednn") ==
        "gemm_choice: fastest: found onednn, expected one of tokamax, quick (choices.txt, line 3)");
  CHECK(told("8 8 8 f32 f32 f32 assign 1 quick 12.5") ==
        "gemm_choice: GFLOP/s: found 12.5, expected name=number (choices.txt, line 3)");
  CHECK(told("8 8 8 f32 f32 f32 assign 1 quick quick=") ==
        "gemm_choice: GFLOP/s: found quick=, expected name=number (choices.txt, line 3)");
  CHECK(told("8 8 8 f32 f32 f32 assign 1 quick quick=fast") ==
        "gemm_choice: GFLOP/s: found quick=fast, expected name=number (choices.txt, line 3)");
  std::string many;
  for (std::size_t i = 1; i <= cpu_backend::gemm_choice::most; ++i)
    many += std::to_string(i) + " 9 9 f32 f32 f32 assign 1 quick\n";
  CHECK(told(many) == "gemm_choice: shapes: found 2049, expected at most 2048 (choices.txt)");
  choices.from_text(many);
  CHECK(told("") == "gemm_choice: shapes: found 2049, expected at most 2048 (choices.txt)");
  product full;
  CHECK(full.first() == full.ours());  // no room: ours

  const auto refused = [&](std::string_view name) {
    try {
      choices.add({name, slow.can, slow.run});
    } catch (const tokamax::error& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  CHECK(refused("two words") == "gemm_choice: name: found 'two words', expected a word without = and #");
  CHECK(refused("quick") == "gemm_choice: name: found quick, expected a name that is not taken");
  CHECK(refused("tokamax") == "gemm_choice: name: found tokamax, expected a name that is not taken");
  for (const char* name : {"b", "c", "d", "e", "f", "g", "h"}) CHECK(refused(name) == "nothing");
  CHECK(refused("i") == "gemm_choice: implementations: found 9, expected at most 8");
}

TEST_CASE("gemm_choice: programs take part") {
  const fresh_choices fresh;
  const tokamax::array x = tokamax::full({30, 40}, 1.0f), y = tokamax::full({40, 50}, 1.0f);
  CHECK(tokamax::matmul(x, y).data<float>()[0] == 40.0f);
  tokamax::blas::choices().add(quick);
  CHECK(tokamax::matmul(x, y).data<float>()[0] == mark);
}
