// tests/kernel/check/check_kernel.cpp: right kernels have no report, and each mistake is found in every mode of copies.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel/check/check_kernel.hpp>
#include <tokamax/runtime/jit.hpp>

#include <chrono>

#include "kernel/checked_kernels.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {

constexpr copy_mode modes[] = {copy_mode::eager, copy_mode::on_wait, copy_mode::torn};

kernel_report report_of(const function& f, const std::vector<array>& in, const kernel_check_options& o) {
  return check_kernel(o, [&](const std::vector<array>& a) { return listed(f(listed(a))); }, in);
}

struct clean_kernel {
  const char* name;
  function f;
  std::vector<array> in;
};
std::vector<clean_kernel> clean_kernels() {
  using enum copy_bug;
  const auto x = [](const shape& s, unsigned seed = 1) { return noise(s, seed); };
  const auto triple = [](const array& v) { return v * 3.0f; };
  const auto flip = [](const array& v) { return logical_not(v); };
  return {
      {"copies, one part", [](const arrays& a) { return doubled(a); }, {x({4, 8})}},
      {"copies, two parts", [](const arrays& a) { return doubled(a); }, {x({8, 8})}},
      {"copies, five parts", [](const arrays& a) { return doubled(a); }, {x({20, 8})}},
      {"product", [](const arrays& a) { return product(a); }, {x({8, 12}), x({12, 16}, 2)}},
      {"product, one block", [](const arrays& a) { return product(a); }, {x({4, 4}), x({4, 4}, 2)}},
      {"product, blocks of two",
       [](const arrays& a) { return product(a, product_bug::none, 2); },
       {x({4, 6}), x({6, 4}, 2)}},
      {"pipeline", [](const arrays& a) { return pipelined_product(a); }, {x({4, 6}), x({6, 8}, 2)}},
      {"pipeline, one buffer", [](const arrays& a) { return pipelined_product(a, 1); }, {x({4, 6}), x({6, 8}, 2)}},
      {"pipeline, three buffers", [](const arrays& a) { return pipelined_product(a, 3); }, {x({4, 6}), x({6, 8}, 2)}},
      {"masked sums of ragged rows", [](const arrays& a) { return row_sums(a, true); }, {x({7, 10})}},
      {"sums of whole rows", [](const arrays& a) { return row_sums(a, false); }, {x({6, 8})}},
      {"in place", [](const arrays& a) { return in_place(a, false); }, {x({8})}},
      {"two copies, one semaphore", [](const arrays& a) { return two_copies(a, false); }, {x({8})}},
      {"gather", [](const arrays& a) { return gather(a, 0); }, {array::from<std::int32_t>({2, 0, 3, 3}), x({4, 3})}},
      {"running sums", [](const arrays& a) { return running_sums(a, 4); }, {x({12, 4})}},
      {"flash attention",
       [](const arrays& a) { return flash_attention(a, 4); },
       {x({2, 8, 4}), x({2, 8, 4}, 2), x({2, 8, 4}, 3)}},
      {"flash attention, one block",
       [](const arrays& a) { return flash_attention(a, 8); },
       {x({1, 8, 4}), x({1, 8, 4}, 2), x({1, 8, 4}, 3)}},
      {"elementwise", [=](const arrays& a) { return by_blocks(triple, a[0], {2, 4}); }, {x({4, 8})}},
      {"elementwise, ragged", [=](const arrays& a) { return by_blocks(triple, a[0], {2, 4}); }, {x({5, 7})}},
      {"integers, ragged",
       [=](const arrays& a) { return by_blocks([](const array& v) { return v + v; }, a[0], {4}); },
       {astype(x({7}) * 100.0f, i32)}},
      {"bools", [=](const arrays& a) { return by_blocks(flip, a[0], {4}); }, {x({8}) > 0.0f}},
      {"bf16",
       [=](const arrays& a) { return by_blocks([](const array& v) { return v + v; }, a[0], {4}); },
       {astype(x({8}), bf16)}},
      {"without a grid", [=](const arrays& a) { return by_blocks(triple, a[0], {}); }, {x(shape{})}},
      {"parallel copies", [](const arrays& a) { return copied_blocks(a, false); }, {x({8})}},
      {"a batch", vmap_of([](const arrays& a) { return product(a); }, 3, 1), {x({3, 8, 8}), x({8, 4}, 2)}},
      {"tangents",
       jvp_of([](const arrays& a) { return product(a); }, 2),
       {x({4, 8}), x({8, 4}, 2), x({4, 8}, 3), x({8, 4}, 4)}},
      {"a gradient",
       vjp_of([=](const arrays& a) { return by_blocks([](const array& v) { return v * sin(v); }, a[0], {2}); }, 1),
       {x({6}), x({6}, 2)}},
  };
}

struct wrong_kernel {
  const char* name;
  kernel_mistake mistake;
  function f;
  std::vector<array> in;
};
std::vector<wrong_kernel> wrong_kernels() {
  using m = kernel_mistake;
  using enum copy_bug;
  using pb = product_bug;
  const auto x = [](const shape& s, unsigned seed = 1) { return noise(s, seed); };
  std::vector<wrong_kernel> all;
  for (const auto& [name, bug, mistake] : {std::tuple{"copy: no wait", no_wait, m::read_before_wait},
                                           {"copy: shared semaphore", shared_semaphore, m::read_before_wait},
                                           {"copy: wrong slot", wrong_slot, m::read_before_wait},
                                           {"copy: same slot", same_slot, m::write_under_copy},
                                           {"copy: no wait for the store", no_store_wait, m::write_under_copy},
                                           {"copy: late wait for the store", late_store_wait, m::write_under_copy},
                                           {"copy: waits twice", waits_twice, m::wait_without_start},
                                           {"copy: never starts", never_starts, m::wait_without_start},
                                           {"copy: one too many", one_too_many, m::missing_wait},
                                           {"copy: half a wait", half_a_wait, m::semaphore_left},
                                           {"copy: box outside", outside_box, m::out_of_bounds},
                                           {"copy: reads nothing", reads_nothing, m::uninitialized}})
    all.push_back({name, mistake, [=](const arrays& a) { return doubled(a, bug); }, {x({12, 8})}});
  for (const auto& [name, bug, mistake] :
       {std::tuple{"product: no zero", pb::no_zero, m::uninitialized},
        {"product: no result", pb::no_result, m::uninitialized},
        {"product: parallel sum", pb::parallel_sum, m::parallel_race},
        {"product: outer sum", pb::outer_sum, m::revisited_output},
        {"product: wrong map", pb::wrong_map, m::out_of_bounds},
        {"product: zero in the first parallel step", pb::parallel_once, m::uninitialized}})
    all.push_back({name, mistake, [=](const arrays& a) { return product(a, bug); }, {x({8, 8}), x({8, 8}, 2)}});
  const array rows = array::from<std::int32_t>({2, 0, 3, 3});
  all.push_back(
      {"sums of padding", m::uninitialized, [](const arrays& a) { return row_sums(a, false); }, {x({7, 10})}});
  all.push_back({"an argument that was written",
                 m::read_after_alias,
                 [](const arrays& a) { return in_place(a, true); },
                 {x({8})}});
  all.push_back(
      {"the first of two waits", m::read_before_wait, [](const arrays& a) { return two_copies(a, true); }, {x({8})}});
  all.push_back({"gather: a prefetched number too far",
                 m::out_of_bounds,
                 [](const arrays& a) { return gather(a, 1); },
                 {rows, x({4, 3})}});
  all.push_back({"gather: a row that does not exist",
                 m::out_of_bounds,
                 [](const arrays& a) { return gather(a, 0); },
                 {rows, x({3, 3})}});
  all.push_back(
      {"a loop that ends early", m::uninitialized, [](const arrays& a) { return running_sums(a, 3); }, {x({12, 4})}});
  all.push_back({"attention without a first maximum",
                 m::uninitialized,
                 [](const arrays& a) { return flash_attention(a, 4, false); },
                 {x({2, 8, 4}), x({2, 8, 4}, 2), x({2, 8, 4}, 3)}});
  all.push_back({"parallel copies to one place",
                 m::parallel_race,
                 [](const arrays& a) { return copied_blocks(a, true); },
                 {x({8})}});
  return all;
}

}  // namespace

TEST_CASE("right kernels have no report in any mode, and their results are those of the host", "[check]") {
  const auto all = clean_kernels();
  CHECK(all.size() >= 20);
  for (const clean_kernel& k : all) {
    const values expected = to_values(execute_graph(trace(k.f, types_of(k.in)), listed(k.in)));
    for (const copy_mode mode : modes)
      for (const std::uint64_t seed : {1, 2}) {
        INFO(k.name << ", mode " << static_cast<int>(mode));
        const kernel_report r = report_of(k.f, k.in, {.copies = mode, .seed = seed});
        CHECK(r.text() == "");
        CHECK(difference(to_values(r.results), expected, 1e-5) == "");
      }
  }
}
TEST_CASE("every mistake is found in every mode, with two lines of the kernel", "[check]") {
  const auto all = wrong_kernels();
  CHECK(all.size() >= 20);
  for (const wrong_kernel& k : all)
    for (const copy_mode mode : modes)
      for (const std::uint64_t seed : {1, 2}) {
        INFO(k.name << ", mode " << static_cast<int>(mode));
        const kernel_report r = report_of(k.f, k.in, {.copies = mode, .seed = seed});
        bool found = false;
        for (const kernel_problem& p : r.problems)
          if (p.mistake == k.mistake) {
            found = true;
            CHECK(std::string_view(p.first.file).ends_with("checked_kernels.hpp"));
            CHECK(std::string_view(p.second.file).ends_with("checked_kernels.hpp"));
          }
        INFO(r.text());
        CHECK(found);
      }
}
TEST_CASE("a message names what happened, where, in which step, and the other line", "[check]") {
  const auto r = report_of([](const arrays& a) { return doubled(a, copy_bug::wrong_slot); }, {noise({12, 8}, 1)}, {});
  CHECK_THAT(r.text(), contains("read before wait: checked_kernels.hpp:") &&
                           contains("reads scoped memory f32[2,4,8] [1:2, 0:4, 0:8]") &&
                           contains("; see checked_kernels.hpp:"));
  const auto race = report_of([](const arrays& a) { return product(a, product_bug::parallel_sum); },
                              {noise({8, 8}, 1), noise({8, 8}, 2)}, {});
  CHECK_THAT(race.text(), contains("race of parallel steps: checked_kernels.hpp:") && contains("in step ("));
}
TEST_CASE("blocks, scratch memory and scopes that are larger than VMEM are reported with a table", "[check]") {
  const std::vector<array> in{noise({8, 12}, 1), noise({12, 16}, 2)};
  const function f = [](const arrays& a) { return product(a); };
  CHECK(report_of(f, in, {.vmem_bytes = 7 * 4096}).clean());
  const auto r = report_of(f, in, {.vmem_bytes = 7 * 4096 - 1});
  CHECK_THAT(r.text(),
             contains("memory overflow") && contains("needs 28672 bytes of VMEM of 28671") && contains("f32[4,4] x 2"));
  const auto scoped = report_of([](const arrays& a) { return doubled(a); }, {noise({8, 8}, 1)}, {.vmem_bytes = 300});
  CHECK_THAT(scoped.text(), contains("memory overflow"));
}
TEST_CASE("a check takes at most five times as long as the kernel", "[check]") {
  const auto seconds = [](const auto& f) {
    double least = 1e9;
    for (int i = 0; i < 5; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      f();
      least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return least;
  };
  const array a = noise({512, 512}, 1), b = noise({512, 512}, 2), q = noise({4, 512, 64}, 3);
  struct timed {
    const char* name;
    function f;
    std::vector<array> in;
  };
  for (const timed& t : std::vector<timed>{
           {"product", [](const arrays& x) { return product(x, product_bug::none, 128); }, {a, b}},
           {"attention", [](const arrays& x) { return flash_attention(x, 128); }, {q, q, q}},
           {"elementwise",
            [](const arrays& x) { return by_blocks([](const array& v) { return sin(v) * v; }, x[0], {128, 128}); },
            {a}}}) {
    cpu_backend::set_num_threads(1);  // a check has one thread, and the kernel would have all
    const auto step = jit([&](const std::vector<array>& x) { return listed(t.f(listed(x))); }, cpu, at_run_time);
    double plain = 1e9, checked = 1e9;  // the least of several, because other programs run too
    for (int i = 0; i < 10 && (i == 0 || checked > 5 * plain); ++i) {
      plain = std::min(plain, seconds([&] { step(t.in); }));
      checked = std::min(checked, seconds([&] { report_of(t.f, t.in, {}); }));
    }
    cpu_backend::set_num_threads(0);
    INFO(t.name << ": checked / plain " << checked / plain);
    CHECK(checked <= 5 * plain);
  }
}
