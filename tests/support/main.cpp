// tests/support/main.cpp: the entry point shared by all test programs.
// SPDX-License-Identifier: Apache-2.0
#if __has_include(<catch2/catch_all.hpp>)
  #include <catch2/catch_session.hpp>
int main(int count, char** words) { return Catch::Session().run(count, words); }
#else
  #define CATCH_CONFIG_MAIN
  #include <catch2/catch.hpp>
#endif
