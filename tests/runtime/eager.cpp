// tests/runtime/eager.cpp: ops on data become programs that are kept.
#include <tokamax/runtime/program_device.hpp>

#include <tokamax/tokamax.hpp>

#include <thread>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::array;

namespace {
std::size_t kept() { return static_cast<const tk::program_device&>(tk::cpu.get()).eager_programs(); }
}  // namespace

TEST_CASE("an eager op is traced once for its operands' types, attributes and literals") {
  const array x = array::from<float>({1, 2, 3}), y = array::from<float>({4, 5, 6});
  CHECK((x + y).values<float>()[2] == 9);
  const std::size_t before = kept();
  for (int i = 0; i < 10; ++i) CHECK((x + y).values<float>()[0] == 5);
  CHECK((y + x + x).values<float>()[1] == 9);
  CHECK(kept() == before);
  CHECK((x * 2.0f).values<float>()[1] == 4);
  CHECK((x * 3.0f).values<float>()[1] == 6);
  CHECK((x * 1.0f).values<float>()[1] == 2);
  CHECK(tk::sum(tk::reshape(x, {3, 1}), {{0}}).shape() == tk::shape{1});
  CHECK(tk::sum(tk::reshape(x, {1, 3}), {{0}}).shape() == tk::shape{3});
  CHECK(tk::sum(tk::reshape(x, {1, 3}), {{1}}).shape() == tk::shape{1});
  CHECK((x * array(2)).dtype() == tk::f32);
  CHECK((tk::astype(x, tk::bf16) * array(2.0)).dtype() == tk::bf16);
  CHECK((array(2.0) * array(3)).type().weak);
}

TEST_CASE("eager ops are kept up to a bound, refuse what they must, and may be called by threads") {
  for (int i = 0; i < 1500; ++i) (void)(tk::ones({1 + i % 1400}) + array::from<float>({static_cast<float>(i)}));
  CHECK(kept() <= 1024);
  array gone = array::from<float>({1});
  const array there = std::move(gone);
  CHECK_THROWS_WITH(gone + there, contains("moved from"));
  std::vector<std::thread> threads;
  std::vector<float> sums(4);
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const array v = array::from<float>({static_cast<float>(t), 1});
      for (int i = 0; i < 50; ++i) sums[t] = tk::sum(v * v + v).item();
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t t = 0; t < 4; ++t) CHECK(sums[t] == static_cast<float>(t * t + t + 2));
}

TEST_CASE("kernels that throw leave an eager op usable") {
  static bool fails = true;
  static constexpr tk::op moody_p{.name = "moody",
                                  .infer = [](const tk::call& c) { return c[0].type(); },
                                  .run =
                                      [](const tk::kernel_arguments& a) {
                                        if (fails) throw std::runtime_error("not now");
                                        *a.out[0].as<float>() = *a.in[0].as<float>();
                                      }};
  const array x = array::from<float>({5});
  const auto call = [&] { return tk::bind(moody_p, {x}, tk::words{}, tk::location{}).item(); };
  CHECK_THROWS_WITH(call(), contains("not now"));
  fails = false;
  CHECK(call() == 5);
  CHECK(call() == 5);
}
