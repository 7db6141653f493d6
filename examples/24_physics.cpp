// examples/24_physics.cpp: throw a ball, aim, and measure the air. New here: derivatives of a whole simulation, scan, jacfwd.
#include <tokamax/linalg.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
using tk::array;

// A ball in the air: where it is, x ahead and y up, and how fast it moves.
struct ball {
  tk::tensor<tk::f32, 2> place, velocity;
};

// Newton's law: gravity, and a drag that grows with the square of the speed.
constexpr ball change(const ball& b, const array& drag) {
  const array speed = tk::sqrt(tk::sum(b.velocity * b.velocity));
  return {b.velocity, array{0.0f, -9.81f} - drag * speed * b.velocity};
}
constexpr ball after(const ball& b, const array& time, const ball& rate) {
  return tk::tree_map([&](const array& value, const array& r) { return value + time * r; }, b, rate);
}
// One step of the classical method of Runge and Kutta, whose error is of the fifth power of the time.
constexpr ball step(const ball& b, const array& time, const array& drag) {
  const ball k1 = change(b, drag), k2 = change(after(b, time / 2, k1), drag);
  const ball k3 = change(after(b, time / 2, k2), drag), k4 = change(after(b, time, k3), drag);
  return after(after(after(after(b, time / 6, k1), time / 3, k2), time / 3, k3), time / 6, k4);
}
// A flight of some time in 100 steps: its end, and all places on the way, [100, 2]. The loop's body is traced once.
constexpr int steps = 100;
constexpr auto flight = [](const array& velocity, const array& time, const array& drag) {
  const auto next = [&](const ball& b, const tk::nothing&) {
    const ball moved = step(b, time / steps, drag);
    return std::pair{moved, moved.place};
  };
  return tk::scan(next, ball{tk::zeros({2}), velocity}, tk::nothing{}, {.length = steps});
};

// Aiming: the throw and its duration are right if the ball ends at the target, and falls there at 45 degrees. These are three
// equations for three numbers. Newton's method solves them with the Jacobian of the whole simulation.
using unknowns = tk::tensor<tk::f32, 3>;  // velocity ahead, velocity up, time
constexpr auto miss = [](const unknowns& u, const tk::tensor<tk::f32, 2>& target, const tk::tensor<tk::f32>& drag) {
  const ball end = flight(u[tk::range{0, 2}], u[2], drag).first;
  return tk::concatenate({end.place - target, tk::reshape(end.velocity[0] + end.velocity[1], {1})}, 0);
};
constexpr auto newton = [](const unknowns& u, const tk::tensor<tk::f32, 2>& target, const tk::tensor<tk::f32>& drag) {
  const array error = miss(u, target, drag);
  return std::pair{u - tk::linalg::solve(tk::jacfwd(miss)(u, target, drag), error), tk::sqrt(tk::sum(error * error))};
};

// Measuring: how a ball was thrown, and its drag, follow from the places that a shaky camera saw. Least squares, by the method of
// Gauss and Newton: the places are taken to be linear in the unknowns, until that is true.
constexpr auto misfit = [](const unknowns& u, const tk::tensor<tk::f32, steps, 2>& seen) {  // velocity, drag in percent
  return tk::reshape(flight(u[tk::range{0, 2}], array(2.0f), u[2] / 100).second - seen, {2 * steps});
};
constexpr auto improve = [](const unknowns& u, const tk::tensor<tk::f32, steps, 2>& seen) {
  const array r = misfit(u, seen), j = tk::jacfwd(misfit)(u, seen);  // [2 * steps], [2 * steps, 3]
  const array squares = tk::matmul(tk::transpose(j), j);
  const array next = u - tk::linalg::solve(squares, tk::matmul(tk::transpose(j), r));
  const array noise = tk::mean(r * r), spread = tk::sqrt(noise * tk::diagonal(tk::linalg::inv(squares)));
  return std::tuple{next, tk::sqrt(noise), spread};
};

int main() {
  const array velocity{15.0f, 15.0f}, time = 2.0f, drag = 0.02f;
  const auto end = [](const array& v, const array& t, const array& d) { return flight(v, t, d).first.place; };
  const array free = end(velocity, time, array(0.0f)), braked = end(velocity, time, drag);
  fmt::print("after 2 s without air {:.2f} m ahead, {:.2f} m up\n", free[0].item(), free[1].item());
  fmt::print("with air {:.2f} m ahead, {:.2f} m up\n", braked[0].item(), braked[1].item());
  // The derivatives of the end with respect to how the ball is thrown, [2, 2]: with air, ahead and up depend on each other.
  const array slopes = tk::jacfwd(end)(velocity, time, drag);
  for (int i : {0, 1})
    fmt::print("1 m/s more {} moves that by {:.2f}, {:.2f}\n", i == 0 ? "ahead" : "up", slopes[{0, i}].item(),
               slopes[{1, i}].item());

  const array target{20.0f, 3.0f};
  unknowns u = array{12.0f, 15.0f, 2.0f};
  const auto aim = tk::jit(newton, tk::cpu);
  for (int i = 1; i <= 3; ++i) {
    auto [next, error] = aim(u, target, drag);
    fmt::print("throw {} misses by {:.2f}\n", i, error.item());
    u = next;
  }
  fmt::print("aimed: {:.2f} m/s ahead and {:.2f} up, for {:.2f} s\n", u[0].item(), u[1].item(), u[2].item());

  const array noise = 0.1f * tk::random::normal(tk::random::key(24), {steps, 2});
  const array seen = flight(velocity, time, drag).second + noise;
  // The derivatives also say how sure the fit is: the band of two standard deviations.
  unknowns guess = array{10.0f, 10.0f, 0.0f};
  array spread;
  const auto fit = tk::jit(improve, tk::cpu);
  for (int i = 1; i <= 4; ++i) {
    auto [next, off, now] = fit(guess, seen);
    fmt::print("guess {} is off by {:.2f} m\n", i, off.item());
    guess = next;
    spread = now;
  }
  fmt::print("drag {:.2f} +- {:.2f} percent, thrown at {:.1f} m/s ahead and {:.1f} up\n", guess[2].item(),
             2 * spread[2].item(), guess[0].item(), guess[1].item());
}
