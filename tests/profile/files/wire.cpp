// tests/profile/files/wire.cpp: fields of messages, written and read.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/files/wire.hpp>

#include "support/catch.hpp"

using tokamax::profile::wire_field, tokamax::profile::wire_reader, tokamax::profile::wire_writer;

TEST_CASE("fields have the bytes that the encoding says") {
  wire_writer inner, w;
  inner.number(1, 150);
  w.number(1, 150);
  w.text(2, "testing");
  w.message(3, inner);
  w.real(4, 1.0);
  using namespace std::string_literals;
  CHECK(w.bytes() == "\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01\x21\0\0\0\0\0\0\xF0\x3F"s);
}

TEST_CASE("fields come back, and those of 32 bits too") {
  wire_writer w;
  for (const std::uint64_t v : {0ull, 127ull, 128ull, 1ull << 63, ~0ull}) w.number(5, v);
  w.text(536'870'911, std::string(300, 'x'));
  w.real(7, -0.25);
  const std::string bytes = w.bytes() + "\x45\x04\x03\x02\x01";
  wire_reader r(bytes, "");
  wire_field f;
  for (const std::uint64_t v : {0ull, 127ull, 128ull, 1ull << 63, ~0ull}) {
    REQUIRE(r.next(f));
    CHECK(f.number == 5);
    CHECK(f.value == v);
    CHECK(f.integer() == static_cast<std::int64_t>(v));
    CHECK(!f.is_text);
  }
  REQUIRE(r.next(f));
  CHECK(f.number == 536'870'911);
  CHECK(f.bytes == std::string(300, 'x'));
  CHECK(f.is_text);
  REQUIRE(r.next(f));
  CHECK(f.real() == -0.25);
  REQUIRE(r.next(f));
  CHECK(f.number == 8);
  CHECK(f.value == 0x01020304);
  CHECK(!r.next(f));
}
