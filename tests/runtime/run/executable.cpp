// tests/runtime/run/executable.cpp
#include <tokamax/runtime/run/executable.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

namespace tk = tokamax;
using tk::array;

namespace {
/// Of how many devices this one is which: 10 * size + position.
inline constexpr tk::op place_in_group_p{
    .name = "place_in_group",
    .effect = tk::effect_kind::ordered,
    .infer_all = [](const tk::call& c) -> tk::types { return {c[0].type()}; },
    .run =
        [](const tk::kernel_arguments& a) {
          const tk::device_group* const group = a.context->group;
          *a.out[0].as<float>() = group ? static_cast<float>(10 * group->size() + group->position()) : -1.0f;
          CHECK((!group || &group->member(group->position()) == &a.context->where));
        }};
}  // namespace

TEST_CASE("kernels see the devices that run a program together") {
  tk::graph g;
  const tk::array_type t{tk::f32, false, {}};
  const array x(&g, g.input(t), t);
  g.outputs.push_back(tk::bind_all(place_in_group_p, &x, 1, tk::words{}, tk::location{})[0].id());
  auto p = tk::detail::owned_program::make(g, tk::kernel_table_of<tk::cpu_tag>());
  float in = 0, out = 0;
  std::byte *inputs[] = {reinterpret_cast<std::byte*>(&in)}, *outputs[] = {reinterpret_cast<std::byte*>(&out)};
  tk::execution alone(tk::cpu.get());
  p->code.run(inputs, outputs, nullptr, alone);
  CHECK(out == -1.0f);
  struct three final : tk::device_group {
    int size() const override { return 3; }
    int position() const override { return 2; }
    tk::device& member(int) const override { return tk::cpu.get(); }
  } const group;
  tk::execution together(tk::cpu.get());
  together.group = &group;
  p->code.run(inputs, outputs, nullptr, together);
  CHECK(out == 32.0f);
}

TEST_CASE("a program runs on any buffers, any number of times") {
  tk::graph g;
  const tk::array_type t{tk::f32, false, {3}};
  const array x(&g, g.input(t), t), y(&g, g.input(t), t);
  g.outputs.push_back(((x + y) * x).id());
  auto p = tk::detail::owned_program::make(g, tk::kernel_table_of<tk::cpu_tag>());
  float a[] = {1, 2, 3}, b[] = {10, 20, 30}, c[3] = {};
  std::byte* in[] = {reinterpret_cast<std::byte*>(a), reinterpret_cast<std::byte*>(b)};
  std::byte* out[] = {reinterpret_cast<std::byte*>(c)};
  for (int i = 0; i < 2; ++i) {
    p->code.run(in, out);
    CHECK(c[0] == 11.0f * a[0]);
    CHECK(c[2] == (a[2] + 30.0f) * a[2]);
    a[0] = 5;
    b[0] = 6;
  }
  CHECK(p->code.plan().region_count == 1);
}
