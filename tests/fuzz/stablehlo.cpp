// tests/fuzz/stablehlo.cpp: any bytes as StableHLO text, bytecode or a file of jax.export: a module whose text reads back, or a message.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/stablehlo/reader/read_bytecode.hpp>
#include <tokamax/stablehlo/reader/read_text.hpp>
#include <tokamax/stablehlo/writer/print_module.hpp>

#include "fuzz/fuzz.hpp"

void fuzz(std::string_view bytes) {
  using namespace tokamax::stablehlo;
  const auto data = std::as_bytes(std::span(bytes));
  only_errors([&] {
    const program_module m = read_text(bytes);
    const std::string once = detail::module_printer().run(m);
    if (detail::module_printer().run(read_text(once)) != once) std::abort();
  });
  only_errors([&] { read_bytecode(data); });
  only_errors([&] { read_bytecode(detail::module_in_export(data)); });
}
