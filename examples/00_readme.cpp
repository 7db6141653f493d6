// examples/00_readme.cpp: the program of README.md: train a model, save it, load it again, and serve it in batches.
#include <cstdio>
#include <tokamax/checkpoint.hpp>
#include <tokamax/tokamax.hpp>

namespace tk = tokamax;
using points = tk::tensor<tk::f32, 64, 1>;

struct network {  // any struct of layers and arrays is a model
  tk::nn::linear hidden{1, 32}, out{32, 1};
  constexpr tk::array operator()(const tk::array& x) const { return out(tk::tanh(hidden(x))); }  // [n, 1] -> [n, 1]
};
constexpr auto loss = [](const network& f, const points& x) { return tk::mean(tk::square(f(x) - tk::sin(3 * x))); };
constexpr auto optimizer = tk::optim::adam({.learning_rate = 2e-2});
struct state {
  network f;
  decltype(optimizer.init(network{})) opt_state = optimizer.init(network{});
};
constexpr auto step = [](const state& s, const points& x) {
  auto [value, grads] = tk::value_and_grad(loss)(s.f, x);
  auto [updates, opt_state] = optimizer.update(grads, s.opt_state, s.f);
  return std::pair{state{tk::optim::apply_updates(s.f, updates), opt_state}, value};
};

int main() {
  const points x = tk::reshape(tk::arange(64) / 32.0f - 1, {64, 1});
  const auto train = tk::jit(step, tk::cpu);  // the C++ compiler has traced, differentiated, fused and planned it
  state s{tk::init<network>(tk::random::key(0))};
  for (int i = 0; i <= 1000; ++i) {
    auto [next, value] = train(std::move(s), x);  // arguments that are moved in lend their memory to the results
    s = std::move(next);
    if (i % 500 == 0) std::printf("step %4d  loss %.4f\n", i, value.item());
  }
  const auto folder = std::filesystem::temp_directory_path() / "tokamax_sine";
  std::filesystem::remove_all(folder);
  tk::checkpoint::save(folder, s.f);  // a folder with a safetensors file, written as a whole or not at all
  network loaded;
  tk::checkpoint::restore(folder, loaded);
  const auto serve = tk::jit([](const network& f, const tk::array& inputs) { return f(inputs); }, tk::cpu);
  for (int rows : {1, 4, 64}) {  // one program for every batch size, traced at the first call
    const tk::array y = serve(loaded, tk::symbolic(tk::full({rows, 1}, 0.5f)));
    std::printf("sin(1.5) in a batch of %2d: %.3f\n", rows, y[0].item());
  }
}
