// tests/backend/systolic/simulate.cpp: the clock of the machine: queues, bandwidth, memory, and what must hold for any program.
#include <tokamax/backend/systolic/simulate.hpp>

#include <tokamax/backend/systolic/chips.hpp>

#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;
using sys::memory;

TEST_CASE("transfers overlap their fixed costs and share the bandwidth", "[systolic]") {
  sys::program one;
  one.transfer(memory::hbm, memory::vmem, 64 * 1024);
  CHECK(sys::simulate(sys::v4, one).cycles == Approx(483.6 + 1.105 * 64));

  sys::program four;
  for (int i = 0; i < 4; ++i) four.transfer(memory::hbm, memory::vmem, 64 * 1024);
  CHECK(sys::simulate(sys::v4, four).cycles == Approx(483.6 + 4 * 1.105 * 64));
  sys::chip one_port = sys::v4;
  one_port.transfers.value = 1;
  CHECK(sys::simulate(one_port, four).cycles == Approx(4 * (483.6 + 1.105 * 64)));

  sys::program cores;
  for (int core = 0; core < 2; ++core) {
    cores.at({core});
    cores.transfer(memory::hbm, memory::vmem, 64 * 1024);
  }
  CHECK(sys::simulate(sys::v4, cores).cycles == Approx(483.6 + 2.156 * 64));
  CHECK(sys::simulate(sys::v4, cores).hbm_bytes == 2 * 64 * 1024);

  sys::program paths;  // CMEM has a path of its own
  paths.transfer(memory::hbm, memory::vmem, 64 * 1024);
  paths.transfer(memory::cmem, memory::vmem, 64 * 1024);
  CHECK(sys::simulate(sys::v4, paths).cycles == Approx(483.6 + 1.105 * 64));
}

TEST_CASE("messages cross links in order", "[systolic]") {
  const int first[] = {0}, second[] = {1}, both[] = {0, 1};
  sys::program p;
  p.send(both, 1024, {});
  CHECK(sys::simulate(sys::v4, p).cycles == Approx(1941.1 + 967.5 + 24.77));  // two hops
  p.send(first, 1024, {});  // the message before holds the first link until it has crossed the second one
  CHECK(sys::simulate(sys::v4, p).cycles == Approx(1941.1 + 967.5 + 2 * 24.77));
  sys::program q;
  q.send(first, 1024, {}), q.send(second, 1024, {});
  CHECK(sys::simulate(sys::v4, q).cycles == Approx(1941.1 + 24.77));
}

TEST_CASE("units work in order and wait for what they need", "[systolic]") {
  sys::program p;
  const auto a = p.transfer(memory::hbm, memory::vmem, 128);
  const auto product = p.product({8, 8, 8}, sys::element::bf16, {a});
  const auto sum = p.vector("add", 4, {product});
  p.transfer(memory::vmem, memory::hbm, 256, {sum});
  const auto t = sys::simulate(sys::toy8x8, p);
  CHECK(t.spans[0].end == 10 + 8);
  CHECK(t.spans[1].end == 18 + 8 + 8 + 8 + 8 - 2);
  CHECK(t.spans[2].end == 48 + 3 + 1);
  CHECK(t.cycles == 52 + 10 + 16);
  CHECK(t.utilisation() == Approx(8.0 / 78));
  CHECK(t.stalls[0][sys::bucket::useful] == 8);
  CHECK(t.stalls[0][sys::bucket::fill] == 22);
  CHECK(t.stalls[0][sys::bucket::vector] == 4);
  CHECK(t.stalls[0][sys::bucket::read] == 18);
  CHECK(t.stalls[0][sys::bucket::write] == 26);
  CHECK(t.stalls[0].worst() == sys::bucket::write);

  sys::program queue;  // the second product starts while the last results of the first one drain
  queue.product({8, 8, 8}), queue.product({8, 8, 8});
  CHECK(sys::simulate(sys::toy8x8, queue).cycles == 30 + 30 - 14);
}

TEST_CASE("an empty program takes no time", "[systolic]") {
  const auto t = sys::simulate(sys::v5e, {});
  CHECK(t.cycles == 0);
  CHECK(t.utilisation() == 0);
  CHECK(t.stalls.at(0).total() == 0);
}

TEST_CASE("what does not fit, and what waits for the future, is rejected", "[systolic]") {
  sys::program p;
  p.reserve("a", 3000, 2), p.reserve("sums", 100, 1);
  CHECK_THROWS_WITH(sys::simulate(sys::toy8x8, p),
                    contains("VMEM of core 0: found 6100 bytes: a 2 x 3000, sums 1 x 100, "
                             "expected at most 4096 (toy8x8)"));
  CHECK_THROWS_WITH(p.scalar(1, 0, {3}), contains("event to wait for: found 3, expected one of the 0 before it"));
}

namespace {

/// Any work, in any order, on several cores.
sys::program random_program(std::mt19937& random) {
  sys::program p;
  const int cores = static_cast<int>(random() % 3 + 1), count = static_cast<int>(random() % 60 + 1);
  const char* functions[] = {"add", "exp", "transpose", "sigmoid", "lane_reduce"};
  const memory places[] = {memory::hbm, memory::vmem, memory::cmem, memory::other_core};
  for (int i = 0; i < count; ++i) {
    p.at({static_cast<int>(random() % static_cast<unsigned>(cores)), "x", i});
    std::vector<sys::event_id> after;
    for (unsigned w = 0; w < random() % 4 && i > 0; ++w)
      after.push_back(static_cast<int>(random() % static_cast<unsigned>(i)));
    const auto size = [&](unsigned most) { return static_cast<long long>(random() % most + 1); };
    switch (random() % 6) {
      case 0:
        p.product({size(300), size(300), size(300)}, sys::element::bf16, after, random() % 2 == 0);
        break;
      case 1:
        p.vector(functions[random() % 5], static_cast<double>(size(200)), after);
        break;
      case 2:
        p.scalar(static_cast<double>(size(50)), 1, after);
        break;
      case 3: {
        const int links[] = {static_cast<int>(random() % 3), static_cast<int>(random() % 3) + 3};
        p.send(std::span(links, random() % 2 + 1), static_cast<double>(size(30000)), after);
        break;
      }
      default:
        p.transfer(random() % 2 == 0 ? memory::hbm : memory::cmem, places[random() % 4],
                   static_cast<double>(size(200000)), after);
    }
  }
  return p;
}

}  // namespace

TEST_CASE("stalls add up to all cycles, and no program ends earlier on a slower chip", "[systolic]") {
  std::mt19937 random(11);
  int faster = 0, sums = 0, negative = 0, slower_runs = 0;
  for (int i = 0; i < 4000; ++i) {
    const sys::program p = random_program(random);
    const sys::chip c = sys::tpus[random() % 5];
    sys::chip slower = c;
    // Bandwidths, ports and units: of some, take some.
    sys::fact* costs[] = {&slower.hbm_to_vmem.per_kib,
                          &slower.vmem_to_hbm.per_kib,
                          &slower.cmem_to_vmem.per_kib,
                          &slower.hbm_to_cmem.per_kib,
                          &slower.shared_per_kib,
                          &slower.hbm_to_vmem.fixed,
                          &slower.ici.per_kib,
                          &slower.ici_hop,
                          &slower.vector_f32.interval,
                          &slower.eup.interval,
                          &slower.transpose.interval,
                          &slower.swap_bubble,
                          &slower.step,
                          &slower.mxu_far.latency};
    for (sys::fact* f : costs)
      if (random() % 4 == 0) f->value = f->value * (1 + static_cast<double>(random() % 64) / 16) + 1;
    if (random() % 2 == 0) slower.transfers.value = static_cast<double>(random() % 15 + 1);
    if (random() % 4 == 0) slower.mxus.value = 1;
    const auto t = sys::simulate(c, p), s = sys::simulate(slower, p);
    if (s.cycles < t.cycles - 1e-6) ++faster;
    if (s.cycles > t.cycles) ++slower_runs;
    for (const auto* run : {&t, &s})
      for (const auto& stalls : run->stalls) {
        if (std::abs(stalls.total() - run->cycles) > 1e-6 * run->cycles) ++sums;
        for (const double cycles : stalls.cycles)
          if (cycles < -1e-6) ++negative;
      }
  }
  CHECK(faster == 0);
  CHECK(sums == 0);
  CHECK(negative == 0);
  CHECK(slower_runs > 2000);
}
