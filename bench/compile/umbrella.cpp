// bench/compile/umbrella.cpp: what including the whole library costs.
// SPDX-License-Identifier: Apache-2.0
// limits: 2 s, 600 MB
// nvcc: yes
#include <tokamax/tokamax.hpp>
