// tests/backend/cpu/features.cpp: what we find of the processor is what the system says of it.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/features.hpp>
#include <tokamax/backend/cpu/gemm/dispatch.hpp>

#include "support/catch.hpp"

#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace cpu_backend = tokamax::cpu_backend;

#if defined(__x86_64__) && defined(__linux__)
TEST_CASE("features of the processor are those that the system lists") {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> listed;
  for (std::string line; listed.empty() && std::getline(file, line);)
    if (line.starts_with("flags")) {
      std::istringstream words(line);
      listed = {std::istream_iterator<std::string>(words), {}};
    }
  if (listed.empty()) return;  // a system without that file
  const auto has = [&](std::initializer_list<const char*> all) {
    for (const char* name : all)
      if (!listed.contains(name)) return false;
    return true;
  };
  const cpu_backend::processor_features& found = cpu_backend::features();
  CHECK(found.x86_64_v2 == has({"sse4_2", "popcnt"}));
  CHECK(found.x86_64_v3 == has({"avx2", "fma", "bmi2"}));
  CHECK(found.avx512f == has({"avx512f"}));
  CHECK(found.avx512 == has({"avx512f", "avx512vl", "avx512bw", "avx512dq"}));
  CHECK(found.avx512_bf16 == (found.avx512 && has({"avx512_bf16"})));
  CHECK(found.avx512_vnni == (found.avx512 && has({"avx512_vnni"})));
  if (cpu_backend::has_amx()) CHECK(has({"amx_tile", "amx_bf16", "amx_int8"}));
}
#endif

TEST_CASE("a higher level of features includes the lower ones, and decides how matrices are multiplied") {
  const cpu_backend::processor_features& found = cpu_backend::features();
  CHECK((!found.x86_64_v3 || found.x86_64_v2));
  CHECK((!found.avx512 || (found.avx512f && found.x86_64_v3)));
  CHECK((cpu_backend::best_gemm_machine() == cpu_backend::gemm_machine::avx512) == found.avx512);
  if (!found.avx512_bf16) CHECK(cpu_backend::best_bfloat16_unit() == cpu_backend::bfloat16_unit::none);
  if (!found.avx512_vnni) CHECK(cpu_backend::best_int8_unit() == cpu_backend::int8_unit::none);
}
