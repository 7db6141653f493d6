// tests/odr/lax_only.cpp: ops are traced, differentiated and described in a program that has no backend.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/print.hpp>
#include <tokamax/core/trace.hpp>
#include <tokamax/lax.hpp>

namespace tk = tokamax;

static_assert(tk::exp(tk::array(tk::array_type{tk::f32, false, {3}})).shape() == tk::shape{3});

int main() {
  tk::graph g;
  tk::array result;
  tk::trace_into(
      g, [](const tk::array& x) { return tk::exp(tk::transpose(x) * x); }, result,
      tk::array(tk::array_type{tk::f32, false, {4, 4}}));
  if (g.outputs.count() != 1 || result.shape() != tk::shape{4, 4}) return 1;
  try {
    tk::exp(tk::array::from<float>({1, 2, 3}));
  } catch (const tk::error& e) {
    return std::string_view(e.what()).find("no backend") == std::string_view::npos;
  }
  return 2;
}
