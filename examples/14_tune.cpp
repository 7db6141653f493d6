// examples/14_tune.cpp: measure a program, and let it run what is fastest here. New here: benchmark, autotune, use_implementation.
#include <tokamax/benchmarking.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
using tk::array;

using tokens = tk::tensor<tk::f32, 2, 64, 4, 16>;  // [batch, tokens, heads, features of a head]
constexpr auto encode = [](const tokens& x) {
  const array y = tk::layer_norm(x);
  return x + tk::dot_product_attention(y, y, y, {.is_causal = true});
};
constexpr tk::array_type input{tk::f32, false, {2, 64, 4, 16}};  // an argument that is a type gets random data

// What is measured of a function is a mode: its value, or its value and the gradients of its arguments, among others.
template <tk::benchmark_mode Mode>
void measure() {
  const tk::benchmark_data d = tk::benchmark<Mode>(encode, {.iterations = 9}, input);
  fmt::print("{:<16} {:.3f} ms, {:.3f} MB, {} kinds of steps\n", d.metadata.mode, d.median_evaluation_time_ms(),
             d.peak_memory_mb, d.metadata.steps.size());
}

int main() {
  measure<tk::benchmark_mode::forward>();
  measure<tk::benchmark_mode::forward_and_vjp>();

  // An op can have several implementations: the device's kernel, its meaning in smaller ops (compose), and others that a device
  // knows. autotune runs a program once, and measures all of them for each call that it meets, in the backward pass too.
  const auto tuned = tk::autotune<tk::benchmark_mode::forward_and_vjp>(encode, {.iterations = 3}, input);
  for (const tk::tuned_call& c : tuned.calls)
    fmt::print("{:<14} {} is the fastest\n", c.call.substr(0, c.call.find('(')), c.fastest());

  // The measurements are a value. A file merges those of several runs, and knows the machine and version they hold for.
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "tokamax_14_tune.json";
  std::filesystem::remove(file);
  tk::save_autotuning(file, tuned);
  const tk::autotuning_result loaded = tk::load_autotuning(file);
  fmt::print("loaded {} calls\n", loaded.calls.size());

  // Programs that run in the scope of a result take the fastest, whether they are eager, or traced at run time or while
  // compiling. What the program itself names goes before that.
  const auto run = tk::jit(encode, tk::cpu);
  const tokens x = tk::random::normal(tk::random::key(0), {2, 64, 4, 16});
  const array plain = run(x);
  const auto difference = [&] { return tk::max(tk::abs(run(x) - plain)).item(); };
  {
    const tk::autotuning_scope fast(loaded);
    fmt::print("tuned: the same to 1e-5: {}\n", difference() < 1e-5f ? "yes" : "no");
  }
  const auto by = [](const tk::implementation_names& names) {
    return [names](const array& q) {
      const tk::use_implementation attention_by("attention", names, q);
      return encode(q);
    };
  };
  for (const char* name : {"kernel", "compose"})  // the second one keeps all scores in memory
    fmt::print("attention by {}: {} kinds of steps\n", name, tk::benchmark(by(name), input).metadata.steps.size());
  try {
    by({"cudnn", "triton"})(x);  // the first that can compute the call, if there is one
  } catch (const tk::error& e) {
    fmt::print("{}: {}\n", e.subject, e.found);
  }
  std::filesystem::remove(file);
}
