// examples/03_vmap.cpp: functions of one example as functions of a batch. New here: vmap, per-example gradients, named axes.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;

constexpr auto loss = [](const tk::array& w, const tk::array& x, const tk::array& y) {  // one example: x [3], y []
  return tk::square(tk::sum(w * x) - y);
};

int main() {
  const tk::array w = tk::array::from<float>({1, 2, 3});
  const tk::array xs = tk::array::from<float>({1, 0, 0, 0, 1, 0, 1, 1, 1, 2, 0, 1}, {4, 3});
  const tk::array ys = tk::array::from<float>({0, 0, 0, 0});
  // The gradient of every example by itself, as one batched computation: [4, 3].
  const tk::array per_example = tk::vmap(tk::grad(loss), {.in_axes = {tk::not_mapped, 0, 0}})(w, xs, ys);
  for (int i = 0; i < 4; ++i) {
    fmt::print("example {}:", i);
    for (int k = 0; k < 3; ++k) fmt::print(" {:g}", per_example.values<float>()[static_cast<std::size_t>(3 * i + k)]);
    fmt::print("\n");
  }
  const tk::array mean = tk::mean(per_example, {.axis = {0}});
  fmt::print("mean: {:g} {:g} {:g}\n", mean.values<float>()[0], mean.values<float>()[1], mean.values<float>()[2]);
  // Functions may ask what the other examples have, by the name of the axis.
  const tk::array centred =
      tk::vmap([](const tk::array& x) { return tk::sum(x - tk::pmean(x, "batch")); }, {.axis_name = "batch"})(xs);
  fmt::print("sums of centred rows:");
  for (float v : centred.values<float>()) fmt::print(" {:g}", v);
  fmt::print("\n");
}
