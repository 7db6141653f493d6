// examples/cookbook/cookbook.cpp: ten programs that newcomers write. Each function is one; cookbook.md explains them.
#include <tokamax/checkpoint.hpp>
#include <tokamax/nn.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

#include <fstream>
#include <sstream>
#include <thread>
#include <variant>

#include "service.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;

// Trains any model on any data: traced at the first step, because its sizes may come from the command line.
template <class Model, class Loss, class... Data>
Model fit(Model model, Loss loss, int steps, double rate, const Data&... data) {
  const auto optimizer = tk::optim::adam({.learning_rate = rate});
  auto opt_state = optimizer.init(model);
  const auto step = tk::jit(
      [=](const Model& m, const decltype(opt_state)& s, const Data&... d) {
        auto [value, grads] = tk::value_and_grad(loss)(m, d...);
        auto [updates, next] = optimizer.update(grads, s, m);
        return std::tuple{tk::optim::apply_updates(m, updates), next, value};
      },
      tk::cpu, tk::at_run_time);
  tk::array value;
  for (int i = 0; i < steps; ++i)
    std::tie(model, opt_state, value) = step(std::move(model), std::move(opt_state), data...);
  return model;
}
constexpr auto accuracy = [](const auto& m, const tk::array& x, const tk::array& labels) {
  return tk::mean(tk::argmax(m(x)) == labels).item();
};
constexpr auto cross_entropy = [](const auto& m, const tk::array& x, const tk::array& labels) {
  return tk::mean(tk::softmax_cross_entropy(m(x), labels));
};

// 1. A file of numbers: one row a line, commas between columns, the names of the columns above.
tk::array read_csv(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line, cell;
  std::vector<float> numbers;
  std::int64_t rows = 0;
  std::getline(file, line);
  for (; std::getline(file, line); ++rows)
    for (std::istringstream cells(line); std::getline(cells, cell, ',');) numbers.push_back(std::stof(cell));
  return tk::array::from(numbers, {rows, static_cast<std::int64_t>(numbers.size()) / rows});
}
struct line {
  tk::array slope = tk::zeros({2}), start = tk::zeros({});
  tk::array operator()(const tk::array& v) const { return tk::matmul(v, slope) + start; }
};
void own_data(const std::filesystem::path& folder) {
  std::ofstream(folder / "flats.csv") << "size,rooms,price\n30,1,110\n50,2,180\n80,3,280\n100,3,340\n120,4,410\n";
  const tk::array table = read_csv(folder / "flats.csv");
  const tk::array x = table(tk::whole, tk::range{0, 2}), price = table(tk::whole, 2);
  const tk::array middle = tk::mean(x, 0), spread = tk::std_(x, 0);
  const auto loss = [](const line& m, const tk::array& v, const tk::array& y) {
    return tk::mean(tk::square(m(v) - y));
  };
  const line m = fit(line{}, loss, 2000, 1.0, (x - middle) / spread, price);
  const tk::array flat = tk::array{90.0f, 3.0f};
  fmt::print("1. a flat of 90 with 3 rooms: {:.0f}\n", m((flat - middle) / spread).item());
}

// 2. A network for images: [n, height, width, channels].
struct image_network {
  nn::conv first{1, 8}, second{.in = 8, .out = 16, .strides = {2, 2}};
  nn::linear last{16, 2};
  tk::array operator()(const tk::array& x) const {
    return last(tk::mean(tk::relu(second(tk::relu(first(x)))), {1, 2}));
  }
};
void images() {
  const tk::array label = tk::arange(32) % 2, kind = tk::reshape(label, {32, 1, 1, 1});
  const tk::array rows = tk::iota(tk::i32, {1, 8, 8, 1}, 1) % 2, columns = tk::iota(tk::i32, {1, 8, 8, 1}, 2) % 2;
  const tk::array noise = tk::random::normal(tk::random::key(1), {32, 8, 8, 1}) * 0.3f;
  const tk::array x = tk::where(kind == 0, rows, columns) + noise;
  const auto m = fit(tk::init<image_network>(tk::random::key(0)), cross_entropy, 60, 1e-2, x, label);
  fmt::print("2. accuracy on stripes: {:.2f}\n", accuracy(m, x, label));
}

// 3. A recurrent network: [n, time, features]. It must remember what came first.
struct memory_network {
  nn::rnn<nn::lstm_cell> layer{.cell = {.in = 1, .width = 8}};
  nn::linear last{8, 2};
  tk::array operator()(const tk::array& x) const { return last(layer(x)(tk::whole, -1)); }
};
void sequences() {
  const tk::array x = tk::random::normal(tk::random::key(2), {64, 6, 1});
  const tk::array label = tk::astype(x(tk::whole, 0, 0) > 0, tk::i32);
  const auto m = fit(tk::init<memory_network>(tk::random::key(0)), cross_entropy, 150, 2e-2, x, label);
  fmt::print("3. accuracy of memory: {:.2f}\n", accuracy(m, x, label));
}

// 4. Weights that others have published, under their names. PyTorch keeps the kernel of a linear layer as [out, in].
struct two_layers {
  nn::linear first{2, 4}, second{4, 1};
  tk::array operator()(const tk::array& x) const { return second(tk::relu(first(x))); }
};
two_layers published(const std::filesystem::path& path) {
  const tk::checkpoint::safetensors_file file(path);
  two_layers m;
  m.first.kernel = tk::transpose(file.read("fc1.weight")), m.first.bias = file.read("fc1.bias");
  m.second.kernel = tk::transpose(file.read("fc2.weight")), m.second.bias = file.read("fc2.bias");
  return m;
}
void weights(const std::filesystem::path& folder) {
  tk::checkpoint::write_safetensors(folder / "published.safetensors", {{"fc1.weight", tk::ones({4, 2})},
                                                                       {"fc1.bias", tk::zeros({4})},
                                                                       {"fc2.weight", tk::full({1, 4}, 0.5f)},
                                                                       {"fc2.bias", tk::ones({1})}});
  fmt::print("4. published weights say {:.1f}\n", published(folder / "published.safetensors")(tk::ones({1, 2})).item());
}

// 5. Requests of any size: one program, traced once.
void batches() {
  const auto model = tk::init<two_layers>(tk::random::key(0));
  const auto serve = tk::jit([](const two_layers& m, const tk::array& x) { return m(x); }, tk::cpu);
  std::string sizes;
  for (const int n : {1, 3, 8}) sizes += fmt::format(" {}", serve(model, tk::symbolic(tk::ones({n, 2}))).extent(0));
  fmt::print("5. answers to batches of{}\n", sizes);
}

// 6. A class in a header and a source file: service.hpp, service.cpp.
void classes() {
  const service s(0);
  fmt::print("6. the sum of probabilities is {:.2f}\n", tk::sum(s.answer(tk::ones({1, 2}))).item());
}

// 7. Several threads call one function at the same time.
void threads() {
  const auto square = tk::jit([](const tk::array& x) { return x * x; }, tk::cpu);
  std::vector<float> results(4);
  std::vector<std::thread> callers;
  for (std::size_t t = 0; t < 4; ++t)
    callers.emplace_back([&, t] { results[t] = square(tk::array(static_cast<float>(t))).item(); });
  for (std::thread& c : callers) c.join();
  fmt::print("7. squares by threads: {} {} {} {}\n", results[0], results[1], results[2], results[3]);
}

// 8. Sizes that are known when the program runs.
struct perceptron {
  std::vector<nn::linear> layers;
  tk::array operator()(tk::array x) const {
    for (std::size_t k = 0; k < layers.size(); ++k) x = k == 0 ? layers[k](x) : layers[k](tk::relu(x));
    return x;
  }
};
perceptron perceptron_of(const std::vector<int>& widths) {
  perceptron m;
  for (std::size_t k = 0; k + 1 < widths.size(); ++k) m.layers.push_back({widths[k], widths[k + 1]});
  return m;
}
void sizes(const std::vector<int>& widths) {
  const tk::array x = tk::random::normal(tk::random::key(3), {64, 2});
  const tk::array label = tk::astype(x(tk::whole, 0) * x(tk::whole, 1) > 0, tk::i32);
  const auto m = fit(tk::init(perceptron_of(widths), tk::random::key(0)), cross_entropy, 200, 1e-2, x, label);
  fmt::print("8. accuracy with {} layers: {:.2f}\n", m.layers.size(), accuracy(m, x, label));
}

// 9. One of several layers, chosen when the program runs: a variant in the place of a base class.
struct chosen {
  std::variant<nn::linear, nn::mlp> layer;
  tk::array operator()(const tk::array& x) const {
    return std::visit([&](const auto& l) { return l(x); }, layer);
  }
};
void variants(bool deep) {
  chosen model{nn::linear{4, 4}};
  if (deep) model.layer = nn::mlp{.width = 4, .hidden = 8};
  const tk::array y = tk::init(model, tk::random::key(0))(tk::ones({1, 4}));
  fmt::print("9. a chosen layer gives {} numbers\n", y.size());
}

// 10. Products in bf16, parameters and sums in f32: one word around the loss.
void precision() {
  const tk::array x = tk::random::normal(tk::random::key(4), {64, 2}), label = tk::astype(tk::sum(x, 1) > 0, tk::i32);
  const auto loss = tk::with_precision<tk::bf16_products>(cross_entropy);
  const auto m = fit(tk::init(perceptron_of({2, 16, 2}), tk::random::key(0)), loss, 100, 1e-2, x, label);
  fmt::print("10. accuracy in bf16: {:.2f}\n", accuracy(m, x, label));
}

int main(int argc, char** argv) {
  std::vector<int> widths{2};
  for (int i = 1; i < argc; ++i) widths.push_back(std::stoi(argv[i]));
  if (argc == 1) widths.insert(widths.end(), {32, 32});
  widths.push_back(2);
  const auto folder = std::filesystem::temp_directory_path() / "tokamax_cookbook";
  std::filesystem::create_directories(folder);
  own_data(folder);
  images();
  sequences();
  weights(folder);
  batches();
  classes();
  threads();
  sizes(widths);
  variants(argc > 2);
  precision();
  std::filesystem::remove_all(folder);
}
