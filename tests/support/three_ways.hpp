// tests/support/three_ways.hpp: replaces `jit` in an example that is compiled with it. Each function then runs three times
// on the same arguments: compiled, traced at run time, and eagerly. The program stops if the results have different bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/tokamax.hpp>

#include <cstdio>   // fprintf
#include <cstdlib>  // exit
#include <cstring>  // memcmp

namespace tokamax {

template <class F, class Device, trace_time When>
struct three_ways : jit_function<F, Device, When> {
  static constexpr int most = 4;  ///< number of calls that are compared, because eager ones take long
  F f;
  jit_function<F, Device, trace_time::at_run_time> late;
  mutable int calls = 0;

  three_ways(const F& g, const Device& where) : jit_function<F, Device, When>(g, where), f(g), late(g, where) {}

  template <class... Args>
  auto operator()(Args&&... args) const {
    const auto run = [&] { return jit_function<F, Device, When>::operator()(std::forward<Args>(args)...); };
    if (calls == most || trace_of(args...)) return run();
    ++calls;
    const arrays traced = leaves(late(std::as_const(args)...)), eager = leaves(f(std::as_const(args)...));
    auto result = run();
    const arrays compiled = leaves(result);
    for (int i = 0; i < compiled.count(); ++i) {
      check("traced at run time", traced[i], compiled[i], i);
      check("run eagerly", eager[i], compiled[i], i);
    }
    return result;
  }

 private:
  void check(const char* how, const array& found, const array& expected, int leaf) const {
    array a = found, b = expected;
    a.materialize(), b.materialize();
    if (a.type() == b.type() &&
        std::memcmp(a.bytes(), b.bytes(), static_cast<std::size_t>(a.size() * size_of(a.dtype()))) == 0)
      return;
    std::fprintf(stderr, "three ways: call %d, leaf %d of the result has other bits when it is %s\n", calls, leaf, how);
    std::exit(1);
  }
};

template <class F, class Device>
auto jit_three_ways(F f, Device where) {
  return three_ways<F, Device, trace_time::earliest>(f, where);
}
template <class F>
auto jit_three_ways(F f, any_device where) {
  return three_ways<F, any_device, trace_time::at_run_time>(f, where);
}
template <class F, class Device, trace_time When>
auto jit_three_ways(F f, Device where, trace_tag<When>) {
  return three_ways<F, Device, When>(f, where);
}

}  // namespace tokamax

#define jit jit_three_ways
