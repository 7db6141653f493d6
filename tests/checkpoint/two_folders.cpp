// tests/checkpoint/two_folders.cpp: a run goes on from whichever folder has the newest whole step.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/two_folders.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using namespace tokamax::checkpoint;

TEST_CASE("the newest whole step of two folders is restored") {
  const temporary_folder made;
  struct state {
    tk::array count;
  };
  const auto open = [&] {
    return two_folders(manager(made.path / "near", {.every = 2, .keep = 1}), manager(made.path / "safe", {.every = 5}));
  };
  {
    two_folders both = open();
    CHECK(!both.latest());
    state nothing{tk::array(-1)};
    CHECK(!both.restore(nothing));
    for (std::int32_t step = 1; step <= 9; ++step)
      CHECK(both.save_async(step, state{tk::array(step)}) == (step % 2 == 0 || step % 5 == 0));
    both.wait();
    CHECK(both.latest() == 8);
    CHECK(both.near().steps() == std::vector<std::int64_t>{8});
    CHECK(both.safe().steps() == std::vector<std::int64_t>{5});
  }
  const auto restored = [&] {
    state s{tk::array(tk::array_type{tk::i32, false, {}})};
    const auto about = open().restore(s);
    CHECK((about && about->step == s.count.item<int>()));
    return s.count.item<int>();
  };
  CHECK(restored() == 8);
  made.write("near/8/arrays.safetensors", "damaged");
  CHECK(restored() == 5);
  std::filesystem::remove_all(made.path / "near");
  CHECK(restored() == 5);
  std::filesystem::remove_all(made.path / "safe");
  state s{tk::array(7)};
  CHECK(!open().restore(s));
  CHECK(s.count.item<int>() == 7);
}
