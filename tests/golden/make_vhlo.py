# make_vhlo.py: writes include/tokamax/stablehlo/generated/vhlo_properties.hpp, the properties of the operations of VHLO.
# python3 tests/golden/make_vhlo.py .../stablehlo/dialect/VhloOps.td
import pathlib
import re
import sys

text = re.sub(r"//.*", "", pathlib.Path(sys.argv[1]).read_text())
rows = []
for m in re.finditer(r'def VHLO_\w+\s*:\s*VHLO_Op<\s*"([\w-]+)"', text):
    body = text[m.end():]
    body = body[:re.search(r"\ndef |\Z", body).start()]
    arguments = re.search(r"let arguments = \(\s*ins(.*?)\);", body, re.S)
    names = re.findall(r"VHLO_AnyAttr:\$(\w+)", arguments.group(1)) if arguments else []
    rows.append(f'    "{" ".join([m.group(1), *sorted(names)])}",')
head = """// tokamax/stablehlo/generated/vhlo_properties.hpp: the names of the properties of each operation of VHLO, in the order of the bytecode.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/stablehlo/reader/read_bytecode.cpp
// tests/golden/make_vhlo.py has written this file, from VhloOps.td.
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::stablehlo::detail {

// clang-format off
inline constexpr std::string_view vhlo_properties[] = {
"""
out = pathlib.Path(__file__).resolve().parents[2] / "include/tokamax/stablehlo/generated/vhlo_properties.hpp"
out.write_text(head + "\n".join(rows) + "\n};\n// clang-format on\n\n}  // namespace tokamax::stablehlo::detail\n")
