// tests/runtime/program/traced_program.cpp
#include <tokamax/runtime/program/traced_program.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/used_at_rest.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <variant>

namespace tk = tokamax;
using tk::array;
using tokamax::test::used_at_rest;

TEST_CASE("programs are kept by shape and dtype") {
  int traces = 0;
  const auto f = tk::jit(
      [&](const array& x) {
        ++traces;
        return tk::sum(x * 2);
      },
      tk::cpu);
  CHECK(f(array::from<float>({1, 2})).item() == 6.0f);
  CHECK(f(array::from<float>({3, 4})).item() == 14.0f);
  CHECK(traces == 1);
  CHECK(f(array::from<float>({1, 2, 3})).item() == 12.0f);
  CHECK(f(array::from<std::int32_t>({1, 2, 3})).item<int>() == 12);
  CHECK(f(array::from<float>({5, 2})).item() == 14.0f);
  CHECK(traces == 3);
}

TEST_CASE("and by static fields") {
  struct layer {
    array w;
    int power = 1;
  };
  const auto f =
      tk::jit([](const layer& l, const array& x) { return l.power == 2 ? x * l.w * l.w : x * l.w; }, tk::cpu);
  const array x = array::from<float>({1}), w = array::from<float>({3});
  CHECK(f(layer{w, 1}, x).item() == 3.0f);
  CHECK(f(layer{w, 2}, x).item() == 9.0f);
  CHECK(f(layer{w, 1}, x).item() == 3.0f);
}

TEST_CASE("models whose size is chosen at run time") {
  struct stack {
    std::vector<tk::nn::linear> layers;
    array operator()(array x) const {
      for (const auto& l : layers) x = tk::tanh(l(x));
      return x;
    }
  };
  const auto loss = [](const stack& m, const array& x) { return tk::sum(m(x)); };
  const auto step = tk::jit([&](const stack& m, const array& x) { return tk::grad(loss)(m, x); }, tk::cpu);
  for (int depth : {1, 3}) {
    const stack m = tk::init(stack{std::vector<tk::nn::linear>(static_cast<std::size_t>(depth), tk::nn::linear{4, 4})},
                             tk::random::key(0));
    const array x = tk::random::normal(tk::random::key(1), {2, 4});
    const stack compiled = step(m, x), eager = tk::grad(loss)(m, x);
    REQUIRE(compiled.layers.size() == static_cast<std::size_t>(depth));
    tk::for_each_leaf(
        [](const array& a, const array& b) {
          for (std::size_t i = 0; i < a.values<float>().size(); ++i)
            CHECK(a.values<float>()[i] == b.values<float>()[i]);
        },
        compiled, eager);
  }
}

namespace {
struct branches {
  tk::nn::linear in{4, 4};
  std::optional<array> gain;
  std::variant<tk::nn::layer_norm, tk::nn::linear> norm{tk::nn::layer_norm{4}};
  std::map<std::string, tk::nn::linear> heads;
  std::unique_ptr<branches> next;
  array operator()(const array& x) const {
    array h = in(x);
    if (gain) h = h * *gain;
    h = std::visit([&](const auto& layer) { return layer(h); }, norm);
    for (const auto& [name, head] : heads) h = h + head(h);
    if (next) return (*next)(h);
    return h;
  }
};
}  // namespace

TEST_CASE("models with optionals, variants, maps and unique_ptrs are initialised, differentiated and compiled") {
  const auto loss = [](const branches& m, const array& x) { return tk::sum(m(x)); };
  int traces = 0;
  const auto step = tk::jit(
      [&](const branches& m, const array& x) {
        ++traces;
        auto grads = tk::grad(loss)(m, x);
        return tk::tree_map([](const array& p, const array& g) { return p - 0.1f * g; }, m, grads);
      },
      tk::cpu);
  branches like;
  like.gain = tk::full({4}, 2);
  like.heads["value"] = like.heads["policy"] = tk::nn::linear{4, 4};
  like.next = std::make_unique<branches>();
  like.next->norm = tk::nn::linear{4, 4};
  const branches m = tk::init(like, tk::random::key(0));
  const array x = tk::random::normal(tk::random::key(1), {2, 4});
  const branches compiled = step(m, x), eager = tk::grad(loss)(m, x);
  CHECK(tk::count_leaves(compiled) == 2 + 1 + 2 + 4 + 4);
  tk::for_each_leaf(
      [](const array& after, const array& before, const array& g) {
        const array expected = before - 0.1f * g;
        for (std::size_t i = 0; i < after.values<float>().size(); ++i)
          CHECK(after.values<float>()[i] == expected.values<float>()[i]);
      },
      compiled, m, eager);
  CHECK(static_cast<bool>(step(compiled, x).next));
  CHECK(traces == 1);
  branches shorter = tk::copy_tree(m);
  shorter.gain.reset();
  CHECK_FALSE(step(shorter, x).gain.has_value());
  shorter.next.reset();
  CHECK_FALSE(step(shorter, x).next);
  CHECK(traces == 3);
  auto renamed = shorter.heads.extract("value");
  renamed.key() = "other";  // as many keys, but not the same
  shorter.heads.insert(std::move(renamed));
  CHECK(step(shorter, x).heads.count("other") == 1);
  CHECK(traces == 4);
}

TEST_CASE("eight threads that need one new program trace it once, and all get its error") {
  constexpr int callers = 8;
  std::atomic<int> traces = 0, asked = 0, right = 0, errors = 0;
  const auto f = tk::jit(
      [&](const std::pair<array, int>& x) {
        ++traces;
        while (asked < callers) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(200));  // so that they wait
        if (x.second < 0) throw tk::error("the function", "a negative number", "another one");
        return tk::sum(x.first) * static_cast<float>(x.second);
      },
      tk::cpu);
  const auto ask = [&](auto call) {
    std::vector<std::thread> threads;
    traces = asked = right = errors = 0;
    std::vector<std::exception_ptr> kept(callers);
    for (int t = 0; t < callers; ++t)
      threads.emplace_back([&, t] {
        ++asked;
        try {
          right += call(t);
        } catch (const tk::error& e) {
          errors += std::string(e.what()).find("a negative number") != std::string::npos;
          kept[static_cast<std::size_t>(t)] = std::current_exception();
        }
      });
    for (std::thread& t : threads) t.join();
  };
  const array x = array::from<float>({1, 2});
  ask([&](int) { return f(std::pair{x, 2}).item() == 6; });
  CHECK((traces == 1 && right == callers));
  ask([&](int) { return f(std::pair{x, -1}).item() == 6; });
  CHECK((traces == 1 && errors == callers));
  ask([&](int t) { return f(std::pair{x, 3 + t % 2}).item() == 9 + 3 * (t % 2); });  // programs by static value
  CHECK((traces == 2 && right == callers));
}

TEST_CASE("a function that calls its own program while it is traced has that call in its trace") {
  int traces = 0;
  std::function<array(const array&)> inner;
  const auto f = tk::jit(
      [&](const array& x) {
        if (++traces == 1) return x * 2.0f + inner(array::from<float>({1, 2}));
        return x * 2.0f;
      },
      tk::cpu);
  inner = [&](const array& x) { return f(x); };
  CHECK(f(array::from<float>({3, 4})).values<float>()[1] == 12);
  CHECK(traces == 2);
  CHECK(f(array::from<float>({5, 6})).values<float>()[1] == 16);
  CHECK(traces == 2);
}

TEST_CASE("an argument without data is refused") {
  const auto f = tk::jit([](const array& x) { return x + 1; }, tk::cpu);
  CHECK_THROWS_WITH(f(array(tk::array_type{tk::f32, false, {2}})), contains("without data"));
}

TEST_CASE("programs for many shapes are bounded and share their memory") {
  int traces = 0;
  const auto f = tk::jit(
      [&](const array& x) {
        ++traces;
        return tk::sum(tk::matmul(tk::tanh(x), tk::transpose(x)));
      },
      tk::cpu);
  const array x = tk::random::normal(tk::random::key(0), {1000, 8});
  const auto first_rows = [&](std::int64_t k) { return tk::slice_in_dim(x, 0, k, 0); };
  const std::size_t before = used_at_rest();
  const float most = f(first_rows(1000)).item();
  CHECK(used_at_rest() - before <= 100000);  // the arena of 4 MB went back to the pool
  for (std::int64_t k = 1; k <= 600; ++k) f(first_rows(k));
  CHECK(traces == 601);
  CHECK(used_at_rest() - before <= 100000);
  for (std::int64_t k = 600; k > 400; --k) f(first_rows(k));  // those used last are still there
  CHECK(traces == 601);
  CHECK(f(first_rows(1000)).item() == most);
  CHECK(traces == 602);
  f.keep_programs(2);
  f(first_rows(1000)), f(first_rows(401));
  CHECK(traces == 602);
  f(first_rows(402));
  CHECK(traces == 603);
  f.clear();
  CHECK(used_at_rest() - before <= 100000);
  CHECK(f(first_rows(1000)).item() == most);
}

namespace {
// What it computes on the processor, and what on a device that is derived from it.
inline constexpr tk::op answer_p{.name = "answer",
                                 .infer = [](const tk::call& c) { return c[0].type(); },
                                 .compose = [](const tk::call& c) -> tk::arrays { return c[0] * 2.0f; }};
struct oracle_tag : tk::cpu_tag {
  static constexpr std::string_view name = "oracle";
  using kernels = tk::kernel_list<answer_p, tk::reverse_p>;
};
struct later_oracle_tag : oracle_tag {};
void kernel(tk::op_c<answer_p>, oracle_tag, const tk::kernel_arguments& a) {
  for (std::int64_t i = 0; i < a.out[0].size(); ++i) a.out[0].as<float>()[i] = 42.0f;
}
void kernel(tk::op_c<tk::reverse_p>, oracle_tag, const tk::kernel_arguments& a) {  // forgets to reverse
  for (std::int64_t i = 0; i < a.out[0].size(); ++i) a.out[0].as<float>()[i] = a.in[0].as<float>()[i];
}
constexpr auto ask = [](const tk::tensor<tk::f32, 3>& x) {
  return tk::reverse(tk::bind(answer_p, {x}, tk::words{}, tk::source_line::current()) + x, {0}) +
         tk::sum(x);  // sum: the processor's kernel
};
}  // namespace

TEST_CASE("kernels of a derived device are found while compiling and at run time") {
  const tk::tensor<tk::f32, 3> x(array::from<float>({1, 2, 3}));
  const auto values = [](const array& y) {
    return std::vector<float>(y.values<float>().begin(), y.values<float>().end());
  };
  const std::vector<float> here{15, 12, 9}, there{49, 50, 51};
  CHECK(values(tk::jit(ask, tk::cpu, tk::at_run_time)(x)) == here);
  CHECK(values(tk::jit(ask, oracle_tag{}, tk::at_run_time)(x)) == there);
  CHECK(values(tk::jit(ask, later_oracle_tag{}, tk::at_run_time)(x)) == there);
  CHECK(values(tk::jit(ask, oracle_tag{}, tk::while_compiling)(x)) == there);
}

namespace {
// A user's op that doubles by its meaning and triples by its kernel, so that results tell which of them ran.
inline constexpr tk::op tripled_p{.name = "tripled",
                                  .infer = [](const tk::call& c) { return c[0].type(); },
                                  .compose = [](const tk::call& c) -> tk::arrays { return c[0] * 2.0f; },
                                  .kernels = tk::kernels_of<tripled_p>};
}  // namespace
namespace tokamax {
inline void kernel(op_c<tripled_p>, cpu_tag, const kernel_arguments& a) {
  CHECK(&a.context->where == &cpu.get());
  for (std::int64_t i = 0; i < a.out[0].size(); ++i) a.out[0].as<float>()[i] = 3 * a.in[0].as<float>()[i];
}
}  // namespace tokamax
TEST_CASE("a user's kernel for the CPU is found while compiling, at run time and in eager calls") {
  constexpr auto f = [](const tk::tensor<tk::f32, 2>& x) {
    return tk::bind(tripled_p, {x}, tk::words{}, tk::source_line::current()) + 1.0f;
  };
  const tk::tensor<tk::f32, 2> x(array::from<float>({1, 2}));
  CHECK(f(x).values<float>()[1] == 7);
  CHECK(tk::jit(f, tk::cpu, tk::while_compiling)(x).values<float>()[1] == 7);
  CHECK(tk::jit(f, tk::cpu, tk::at_run_time)(x).values<float>()[1] == 7);
}

TEST_CASE("a literal that is an argument keeps its weakness, and a program of its own") {
  const auto product = tk::jit([](const array& x, const array& a) { return x * a; }, tk::cpu, tk::at_run_time);
  const array x = tk::astype(array::from<float>({1.5f}), tk::bf16), strong = array::from<float>({2.0f});
  for (int i = 0; i < 2; ++i) {
    CHECK(product(x, array(2.0)).dtype() == tk::bf16);
    CHECK(product(x, strong).dtype() == tk::f32);
  }
  const array weak = product(array(3), array(2.0));
  CHECK((weak.type().weak && weak.dtype() == tk::f32));
  CHECK((x * weak).dtype() == tk::bf16);
  CHECK(!tk::tensor<tk::f32>(array(2.0)).type().weak);
}
