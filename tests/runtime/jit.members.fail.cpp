// expects: unsuitable_member[^\n]*shared_ptr<int>.*with_base|unsuitable_member[^\n]*with_base.*with_constructor.*optional<.*map<.*shared_ptr<int>
// lines: 75
// tests/runtime/jit.members.fail.cpp: members that no tree can have are named, in at most 15 lines each.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/runtime/jit.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace tk = tokamax;

struct with_constructor {
  tk::array w;
  with_constructor() = default;
  explicit with_constructor(int) {}
};
struct base {
  tk::array w;
};
struct with_base : base {
  tk::array v;
};
struct model {
  tk::array w;
#ifndef TOKAMAX_FIXED
  std::shared_ptr<int> shared;
  std::map<std::string, tk::array> by_name;
  std::optional<tk::array> maybe;
  with_constructor constructed;
  with_base derived;
#endif
};

int main() {
  (void)tk::jit([](const model& m) { return m.w * 2.0f; }, tk::cpu)(model());
}
