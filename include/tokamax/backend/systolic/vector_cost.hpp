// tokamax/backend/systolic/vector_cost.hpp: how many instructions a function of a vector register takes, and on which unit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/chip.hpp>  // chip
#include <tokamax/base/error.hpp>             // error

#include <algorithm>    // max
#include <array>        // array
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::systolic_backend {

/// The units of a core, and what moves data to and from it. Each does its work in the order in which it is given.
enum class unit : unsigned char { mxu, vpu, eup, xlu, scalar, dma, ici };
inline constexpr int units = 7;
constexpr std::string_view name_of(unit u) {
  constexpr std::string_view names[] = {"MXU", "VPU", "EUP", "XLU", "scalar", "DMA", "ICI"};
  return names[static_cast<int>(u)];
}

/// Instructions for one register of 8 x 128 words.
struct vector_function {
  std::string_view name;
  unit on;
  int instructions;  ///< of the vector unit in all, those of `transcendental` among them
  int transcendental = 0;
};

/// source  ayaka14732/pallas-tpu-tutorial, chapter01/06_elementwise: the instructions that Mosaic emits for a TPU v4.
///         Which of them the EUP takes follows from the function (one power, logarithm, root or tanh each).
inline constexpr std::array vector_functions = {
    vector_function{"add", unit::vpu, 1},          vector_function{"mul", unit::vpu, 1},
    vector_function{"max", unit::vpu, 1},          vector_function{"select", unit::vpu, 1},
    vector_function{"convert", unit::vpu, 1},      vector_function{"exp", unit::eup, 3, 1},
    vector_function{"exp2", unit::eup, 2, 1},      vector_function{"log", unit::eup, 3, 1},
    vector_function{"tanh", unit::eup, 2, 1},      vector_function{"reciprocal", unit::eup, 15, 1},
    vector_function{"divide", unit::eup, 16, 1},   vector_function{"rsqrt", unit::eup, 11, 1},
    vector_function{"sqrt", unit::eup, 13, 1},     vector_function{"sigmoid", unit::eup, 19, 2},
    vector_function{"sin", unit::vpu, 198},        vector_function{"multiply_i32", unit::vpu, 33},
    vector_function{"divide_u32", unit::vpu, 318}, vector_function{"transpose", unit::xlu, 1},
    vector_function{"lane_reduce", unit::xlu, 1},  vector_function{"lane_permute", unit::xlu, 1}};

/// The row of `vector_functions` with this name.
///
/// errors  tokamax::error for a name that the table does not have
constexpr const vector_function& vector_function_of(std::string_view name) {
  for (const vector_function& f : vector_functions)
    if (f.name == name) return f;
  throw error("systolic vector unit: function", std::string(name), "a name of vector_functions");
}

/// What a unit does for a function of `registers` registers: cycles until it takes other work, and until all results are
/// there.
struct vector_cycles {
  double busy = 0, latency = 0;

  constexpr double total() const { return busy + latency; }
};

/// busy = interval * (instructions - 1), then the latency of the last one. Two vector instructions start in a cycle, but f32
/// additions only in one of the slots, and f32 products only in the other, so a chain of one kind takes a cycle each.
/// A function with transcendentals takes the longer of its two units' cycles.
constexpr vector_cycles vector_cost(const chip& c, const vector_function& f, double registers) {
  if (registers <= 0) return {};
  const auto last = [](double count, const unit_cost& u) { return vector_cycles{(count - 1) * u.interval, u.latency}; };
  if (f.name == "transpose") return last(2 * registers, c.transpose);  // all enter before the first one leaves
  if (f.on == unit::xlu) return last(registers, f.name == "lane_reduce" ? c.lane_reduce : c.lane_permute);
  // Several instructions of a register are of several kinds: they fill the slots.
  const int plain = f.instructions - f.transcendental;
  const double slot_count = plain > 1 ? c.vector_slots : fact{1};
  const vector_cycles vector = last(std::max(1.0, registers * plain / slot_count), c.vector_f32);
  if (f.transcendental == 0) return vector;
  const vector_cycles eup = last(registers * f.transcendental, c.eup);
  return {std::max(vector.busy, eup.busy), plain * c.vector_f32.latency + f.transcendental * c.eup.latency};
}

}  // namespace tokamax::systolic_backend
