// tests/support/main.cpp: the entry point shared by all test programs, which verify each program that they make.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/compiler/verify.hpp>

#include <cstdlib>

#if __has_include(<catch2/catch_all.hpp>)
  #include <catch2/catch_session.hpp>
#else
  #define CATCH_CONFIG_RUNNER
  #include <catch2/catch.hpp>
#endif

int main(int count, char** words) {
  if (!std::getenv("TOKAMAX_VERIFY")) tokamax::verify_programs(true);
  return Catch::Session().run(count, words);
}
