// tokamax/backend/systolic/program.hpp: the work of a simulated TPU, as instructions that wait for each other.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/systolic/simulate.cpp
#pragma once

#include <tokamax/backend/systolic/array_shape.hpp>  // product_shape
#include <tokamax/backend/systolic/chip.hpp>         // element
#include <tokamax/backend/systolic/vector_cost.hpp>  // unit, vector_function

#include <initializer_list>  // initializer_list
#include <span>              // span
#include <string>            // string
#include <vector>            // vector

namespace tokamax::systolic_backend {

/// An instruction of a program: the number of those before it.
using event_id = int;

/// Where data is. `other_core` is the VMEM of another core of the chip.
enum class memory : unsigned char { hbm, cmem, vmem, other_core };
constexpr std::string_view name_of(memory m) {
  constexpr std::string_view names[] = {"HBM", "CMEM", "VMEM", "other core"};
  return names[static_cast<int>(m)];
}

/// One instruction. It knows amounts (bytes, rows, registers) and no cycles: those are the chip's. Programs have millions of
/// them, so each is one cache line.
struct instruction {
  unit on = unit::scalar;
  memory from = memory::vmem, to = memory::vmem;  // dma
  element type = element::bf16;                   // mxu
  bool accumulates = false;                       // mxu: adds to what the result's block held
  int core = 0;
  int name = 0;                               // of the program's names
  int step = -1;                              // of the grid; -1: of none
  int product = -1;                           // mxu: of program::products()
  event_id first_wait = 0, waits = 0;         // the part of the program's waits that is its own
  int first_link = 0, links = 0;              // ici: the part of the program's links that it crosses, in order
  const vector_function* function = nullptr;  // vpu, eup, xlu
  double amount = 0;                          // bytes (dma, ici), registers (vector units), cycles (scalar)
  double steps = 0;                           // scalar: so many times the chip's cost of a grid step
};
static_assert(sizeof(instruction) <= 64);

/// Memory of a core that holds a block for the whole program: VMEM is handed out before the first cycle.
struct reserved {
  std::string name;
  double bytes = 0;  ///< of one buffer, padded to tiles
  int buffers = 1;
  int core = 0;

  double total() const { return bytes * buffers; }
};

/// Instructions in the order in which the cores issue them. Each waits for those that it names, and for its unit: units do
/// their work in order. What drives the machine (a kernel's grid, a collective) only calls these functions; `simulate` says
/// when everything happens on a chip, and the same program can be simulated on other chips.
class program {
 public:
  /// What later instructions are made for: the core, a name for pictures, and the grid step. It holds until changed.
  struct place {
    int core = 0;
    std::string_view name = {};
    int step = -1;
  };
  void at(place p) {
    core_ = p.core, step_ = p.step, name_ = name_of_text(p.name);
    if (core_ >= cores_) cores_ = core_ + 1;
  }

  /// A DMA. The next instructions go on at once; who needs the data waits for this one.
  event_id transfer(memory from, memory to, double bytes, std::span<const event_id> after) {
    instruction i = make(unit::dma);
    i.from = from, i.to = to, i.amount = bytes;
    return append(i, after);
  }
  /// a [m, k] x b [k, n] on the arrays of the core.
  event_id product(const product_shape& p, element type, std::span<const event_id> after, bool accumulates = false) {
    instruction i = make(unit::mxu);
    if (products_.empty() || products_.back() != p) products_.push_back(p);  // kernels do one product over and over
    i.product = static_cast<int>(products_.size()) - 1, i.type = type, i.accumulates = accumulates;
    return append(i, after);
  }
  /// A function of so many vector registers. Fractions are allowed: an average over lanes, for example.
  event_id vector(std::string_view function, double registers, std::span<const event_id> after) {
    const vector_function& f = vector_function_of(function);
    instruction i = make(f.on);
    i.function = &f, i.amount = registers;
    return append(i, after);
  }
  /// Scalar work of `cycles`, and of `steps` grid steps at the chip's cost of one.
  event_id scalar(double cycles, double steps, std::span<const event_id> after) {
    instruction i = make(unit::scalar);
    i.amount = cycles, i.steps = steps;
    return append(i, after);
  }
  /// A message to the VMEM of another chip, over `links` in order. Links have numbers that the caller gives.
  event_id send(std::span<const int> links, double bytes, std::span<const event_id> after) {
    instruction i = make(unit::ici);
    i.amount = bytes, i.first_link = static_cast<int>(links_.size()), i.links = static_cast<int>(links.size());
    links_.insert(links_.end(), links.begin(), links.end());
    return append(i, after);
  }
  /// Holds memory for a block, on the core of `at`.
  void reserve(std::string_view name, double bytes, int buffers) {
    reserved_.push_back({std::string(name), bytes, buffers, core_});
  }

  // The same with a list of what to wait for.
  using events = std::initializer_list<event_id>;
  event_id transfer(memory from, memory to, double bytes, events after = {}) {
    return transfer(from, to, bytes, span(after));
  }
  event_id product(const product_shape& p, element type = element::bf16, events after = {}, bool accumulates = false) {
    return product(p, type, span(after), accumulates);
  }
  event_id vector(std::string_view function, double registers, events after = {}) {
    return vector(function, registers, span(after));
  }
  event_id scalar(double cycles, double steps = 0, events after = {}) { return scalar(cycles, steps, span(after)); }

  const std::vector<instruction>& instructions() const { return instructions_; }
  std::span<const event_id> waits(const instruction& i) const {
    return {waits_.data() + i.first_wait, static_cast<std::size_t>(i.waits)};
  }
  std::span<const int> links(const instruction& i) const {
    return {links_.data() + i.first_link, static_cast<std::size_t>(i.links)};
  }
  const product_shape& product(const instruction& i) const { return products_[static_cast<std::size_t>(i.product)]; }
  const std::string& name(const instruction& i) const { return names_[static_cast<std::size_t>(i.name)]; }
  const std::vector<reserved>& reservations() const { return reserved_; }
  int cores() const { return cores_; }

 private:
  static std::span<const event_id> span(events e) { return {e.begin(), e.size()}; }
  instruction make(unit on) const {
    instruction i;
    i.on = on, i.core = core_, i.name = name_, i.step = step_;
    return i;
  }
  event_id append(instruction i, std::span<const event_id> after) {
    const event_id id = static_cast<event_id>(instructions_.size());
    i.first_wait = static_cast<event_id>(waits_.size());
    for (const event_id e : after) {
      if (e < 0) continue;  // nothing to wait for: what a driver has before its first event
      if (e >= id)
        throw error("systolic program: event to wait for", std::to_string(e),
                    "one of the " + std::to_string(id) + " before it", names_[static_cast<std::size_t>(i.name)]);
      waits_.push_back(e);
    }
    i.waits = static_cast<event_id>(waits_.size()) - i.first_wait;
    instructions_.push_back(i);
    return id;
  }
  int name_of_text(std::string_view text) {
    for (std::size_t n = names_.size(); n-- > 0;)  // names come again soon
      if (names_[n] == text) return static_cast<int>(n);
    names_.emplace_back(text);
    return static_cast<int>(names_.size() - 1);
  }

  std::vector<instruction> instructions_;
  std::vector<event_id> waits_;
  std::vector<int> links_;
  std::vector<product_shape> products_;
  std::vector<std::string> names_{""};
  std::vector<reserved> reserved_;
  int core_ = 0, step_ = -1, name_ = 0, cores_ = 1;
};

}  // namespace tokamax::systolic_backend
