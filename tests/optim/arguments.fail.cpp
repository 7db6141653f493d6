// tests/optim/arguments.fail.cpp: updates that cannot be, at the line that asks for them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/indexing/slice.hpp>
#include <tokamax/optim.hpp>

#include "support/wrong_program.hpp"

using namespace wrong;
using tk::array;
constexpr auto optimizer = tk::optim::adam({.learning_rate = 1e-3});

int main() {
  // expects: "update: gradient".*"f32\[2\]".*"the shape of its parameter, f32\[3\]"
  trace<vector>([](array p) {
    const array g = tk::slice(p, {0}, {pick(2, 3)});
    return optimizer.update(g, optimizer.init(p), p).first;
  });
  // expects: "apply_updates: update".*"f32\[1\]".*"the shape of its parameter, f32\[3\]"
  trace<vector>([](array p) {
    const array u = tk::slice(p, {0}, {pick(1, 3)});
    return tk::optim::apply_updates(p, u);
  });
  // expects: "orthogonalize: matrix".*"f32\[3\]".*"rank 2 or more"
  trace<vector, matrix>([](array v, array m) { return tk::optim::orthogonalize(pick(v, m)); });
}
