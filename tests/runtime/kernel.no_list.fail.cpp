// expects: names the ops that it has kernels for
// tests/runtime/kernel.no_list.fail.cpp: programs traced at run time could not find the kernels of a derived device.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

struct my_tag : tk::cpu_tag {
#ifdef TOKAMAX_FIXED
  using kernels = tk::kernel_list<>;
#endif
};

int main() {
  (void)tk::jit([](const tk::array& a) { return a * 2.0f; }, my_tag{}, tk::at_run_time)(tk::array(1.0f));
}
