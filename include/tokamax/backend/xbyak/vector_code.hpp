// tokamax/backend/xbyak/vector_code.hpp: an assembler of loops over vectors, with registers to lend and constants behind the code.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/xbyak/loop.cpp
// umbrella: no (the library of kernels includes it, where Xbyak is found)
// needs <xbyak/xbyak.h>
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#if !defined(XBYAK_NO_OP_NAMES)
  #define XBYAK_NO_OP_NAMES  // `and` is a keyword
#endif
#include <xbyak/xbyak.h>  // CodeGenerator

#include <cstddef>   // size_t
#include <cstdint>   // uint32_t, uint8_t
#include <map>       // map
#include <optional>  // optional

namespace tokamax::xbyak {

using Xbyak::Address, Xbyak::Operand, Xbyak::Xmm, Xbyak::Ymm;

/// The predicates of comparisons, as the instruction has them. With NaN all but the last three are false.
enum class compare : std::uint8_t {
  eq = 0x00,
  lt = 0x11,
  le = 0x12,
  ge = 0x1d,
  gt = 0x1e,
  ordered = 0x07,  ///< neither is NaN
  unequal = 0x04,
  not_less_equal = 0x16,
  unordered = 0x03
};

/// Writes code into memory of the caller. The code may be copied to another place, because it is relative to itself.
class vector_code : public Xbyak::CodeGenerator {
 public:
  static constexpr int registers = 16;
  vector_code(void* memory, std::size_t bytes) : CodeGenerator(bytes, memory) {}

  /// A register for an intermediate value, until the end of the line.
  virtual Ymm temporary() = 0;

  Address memory(const Xbyak::RegExp& base, std::int64_t bytes) const {
    return ptr[base + static_cast<std::size_t>(bytes)];
  }
  /// A vector whose lanes all have these bits: a register that holds it, or memory.
  const Operand& literal(std::uint32_t bits) {
    const literal_place& p = place_of(bits);
    return p.held ? static_cast<const Operand&>(*p.held) : *p.memory;
  }
  /// The numbers 0 to 7.
  Address lanes() { return ptr[rip + lanes_]; }
  void compare_floats(const Ymm& to, const Ymm& a, const Operand& b, compare how) {
    vcmpps(to, a, b, static_cast<std::uint8_t>(how));
  }

 protected:
  struct literal_place {
    Xbyak::Label label;
    std::optional<Address> memory;  // behind the code
    std::optional<Ymm> held;
    int uses = 0;
  };
  literal_place& place_of(std::uint32_t bits) {
    literal_place& p = literals_[bits];
    if (!p.memory) p.memory = ptr[rip + p.label];
    ++p.uses;
    return p;
  }
  std::map<std::uint32_t, literal_place>& literals() { return literals_; }
  /// Writes the literals; it is called once, behind the code.
  void write_literals() {
    align(32);
    L(lanes_);
    for (std::uint32_t lane = 0; lane < 8; ++lane) dd(lane);
    for (auto& [bits, place] : literals_) {
      L(place.label);
      for (int lane = 0; lane < 8; ++lane) dd(bits);
    }
  }

 private:
  Xbyak::Label lanes_;
  std::map<std::uint32_t, literal_place> literals_;
};

}  // namespace tokamax::xbyak
