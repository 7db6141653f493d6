// examples/25_devices.cpp: one binary, on the devices that its options name. New here: device_named, on, copies between devices.
#include <tokamax/tokamax.hpp>
#include <tokamax/train/device_named.hpp>

#include <fmt/core.h>

namespace tk = tokamax;

struct network {
  tk::nn::linear hidden{2, 16}, out{16, 1};
  constexpr tk::array operator()(const tk::array& x) const { return out(tk::tanh(hidden(x))); }  // [n, 2] -> [n, 1]
};
constexpr auto loss = [](const network& f, const tk::array& x) {
  const tk::array product = tk::slice_in_dim(x, 0, 1, 1) * tk::slice_in_dim(x, 1, 2, 1);
  return tk::mean(tk::square(f(x) - product));
};
constexpr auto step = [](const network& f, const tk::array& x) {
  auto [value, grads] = tk::value_and_grad(loss)(f, x);
  return std::pair{tk::tree_map([](auto p, auto g) { return p - 0.3f * g; }, f, grads), value};
};

int main(int argc, char** argv) {
  // Options such as `cuda cuda:1` name GPUs. A far device is the CPU behind a queue and a memory of its own: what a program does
  // wrong with a GPU, it does wrong there, so tests need no GPU.
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) names = {"cpu", "far:0", "far:1"};

  // The device of this function is known when the program runs, and so it is traced then. Other devices may be asked for later;
  // those with the same kernels share the trace and the plan.
  const auto train = tk::jit(step, tk::any_device(tk::train::device_named(names[0])));
  const tk::array points = tk::random::uniform(tk::random::key(1), {64, 2});
  network f = tk::init<network>(tk::random::key(0));
  for (const std::string& name : names) {
    // The network goes on to the next device. Between GPUs it does not pass through the host, and nobody waits for the copy but
    // the step that reads it.
    tk::device& where = tk::train::device_named(name);
    f = tk::device_put(std::move(f), where);
    const tk::array x = tk::device_put(points, where);
    const auto run = train.on(where);
    tk::array value;
    for (int i = 0; i < 100; ++i) std::tie(f, value) = run(std::move(f), x);
    fmt::print("{:<6} loss {:.5f}\n", value.device().name(), value.item());
  }
}
