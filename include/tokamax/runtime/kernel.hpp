// tokamax/runtime/kernel.hpp: how the kernel of an op on a device is found, and the arguments of loops.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/run/executable.cpp
#pragma once

#include <tokamax/compiler/plan.hpp>          // loop_kernel, instruction
#include <tokamax/core/kernel_arguments.hpp>  // kernel_arguments
#include <tokamax/core/op.hpp>                // op_c

#include <atomic>       // atomic
#include <memory>       // shared_ptr
#include <string>       // string
#include <type_traits>  // is_base_of_v, is_same_v
#include <vector>       // vector

namespace tokamax {

/// What a device runs for one elementwise op, and operands of one dtype, in loops that are interpreted. The device defines it.
struct interpreted_op;

/// What a device makes of a program before it runs, for those that need more than kernels: code for its loops, and its
/// constants in the memory of the device. The runs of a program share it.
class device_code {
 public:
  virtual ~device_code() = default;
  /// Where the kernels of a device find the data of a constant of the program, which is buffer `buffer` of its plan.
  virtual std::byte* constant(int buffer, device& where) const = 0;
  /// Runs loops of one kernel that may run at the same time, see `plan_step::together`.
  virtual void run_together(const struct loop_arguments* loops, int count) const;
};

/// Code that a device has made of a loop while the program ran.
class loop_program {
 public:
  virtual ~loop_program() = default;
  virtual void run(const struct loop_arguments& a) const = 0;
};
/// What a device keeps of a loop from run to run. An executable has one for each of its steps, and copies of it start anew.
struct kept_loop {
  std::atomic<const loop_program*> program = nullptr;  ///< null until it is worth its time
  std::atomic<std::int64_t> work = 0;                  ///< that was done without it
  std::shared_ptr<const loop_program> owner;

  kept_loop() = default;
  kept_loop(const kept_loop&) noexcept {}
  kept_loop& operator=(const kept_loop&) noexcept {
    program = nullptr;
    work = 0;
    owner = nullptr;
    return *this;
  }
};

/// The arguments of a fused loop. A slot is an operand or a result. For a slot that counts, the "pointer" is the number with
/// which it starts.
struct loop_arguments {
  int rank = 0, slot_count = 0;
  const std::int64_t* extents = nullptr;
  std::byte* const* pointers = nullptr;         ///< one for each slot
  const std::int64_t* strides = nullptr;        ///< `rank` numbers for each slot, in elements
  const std::int64_t* element_bytes = nullptr;  ///< one for each slot; 1 for a slot that counts
  const element_bits* constants = nullptr;
  const loop_kernel* kernel = nullptr;  ///< for loops that are interpreted
  const instruction* instructions = nullptr;
  const interpreted_op* const* ops = nullptr;  ///< one for each instruction; null if it is not an `apply`
  execution* context = nullptr;                ///< where the loop runs
  const device_code* code = nullptr;           ///< what its device has made of the program; null if nothing
  int number = 0;                              ///< of the loop in its plan
  kept_loop* kept = nullptr;                   ///< for loops that are interpreted
  /// The part that runs, on the calling thread: `count` elements from `first` on, in row-major order; -1: all of them.
  std::int64_t first = 0, count = -1;
};
using loop_function = void (*)(const loop_arguments&);
inline void device_code::run_together(const loop_arguments*, int) const {}

/// Does the kernel of an op read operands with any strides? Specialise it to true next to such a kernel. The planner then
/// passes transposed, sliced and broadcast operands without copying them. For a kernel of a derived device, specialise it
/// for that device.
template <const op& Op, class DerivedDevice = void>
inline constexpr bool takes_views = false;

/// Does the kernel of an op take a producer? That is a fused loop that makes the first operand piece by piece, into memory
/// of the kernel. `kernel_arguments::producer` is that loop, or null. Specialise to true like `takes_views`.
template <const op& Op, class DerivedDevice = void>
inline constexpr bool takes_producer = false;

/// Does the kernel of an op add further operands to its result (see compiler/passes/sums.hpp)? Specialise to true like `takes_views`.
template <const op& Op, class DerivedDevice = void>
inline constexpr bool takes_sums = false;

/// Does the kernel of an op write results with any strides? The planner then lets it write parts of a larger array. Specialise
/// to true like `takes_views`.
template <const op& Op, class DerivedDevice = void>
inline constexpr bool writes_strides = false;

/// Another way to compute an op on a device than by its kernel. Which one runs is chosen for each call, see runtime/choice.hpp.
struct implementation {
  std::string name;                ///< one word of a to z, 0 to 9 and _
  kernel_function run = nullptr;   ///< computes what the kernel computes, within rounding
  std::int64_t configuration = 0;  ///< `kernel_arguments::configuration` of its runs
  /// Why it cannot compute a call with its configuration; empty: it can. It is asked before a program runs: the operands have no
  /// data then.
  std::string (*refuses)(const kernel_arguments&) = nullptr;
};
using implementation_list = std::vector<implementation> (*)();

/// The other implementations of an op on a device: a function that returns them. Specialise it next to them, like
/// `takes_views`. Every op has two without that: `kernel`, and `compose` if it has that rule.
template <const op& Op, class DerivedDevice = void>
inline constexpr implementation_list implementations_of = nullptr;

/// The operand over which a kernel may write its first result, or -1. The kernel then also works if both are one memory.
/// Specialise it like `takes_views`, for ops whose descriptor does not say so for all devices.
template <const op& Op, class DerivedDevice = void>
inline constexpr int overwrites_operand = -1;

/// The kernel that a linked library has for an op. Generated headers specialise `linked_kernel`.
struct linkage {
  bool present = false;
  kernel_takes takes = {};
};
template <const op& Op, class Device>
inline constexpr linkage linked_kernel{};

namespace detail {
/// The tag whose kernels the value of a device runs: its member type `tag`, or its own type. Values with the same tag share
/// programs.
template <class Device>
struct tag_of_value {
  using type = Device;
};
template <class Device>
  requires requires { typename Device::tag; }
struct tag_of_value<Device> {
  using type = typename Device::tag;
};
template <class Device>
using tag_of = typename tag_of_value<Device>::type;

/// The device of the library that a tag is, or from which it is derived: its member type `library`.
template <class Device>
struct library_of {
  using type = Device;
};
template <class Device>
  requires requires { typename Device::library; }
struct library_of<Device> {
  using type = typename Device::library;
};
// Two types for overload resolution: one converts only to this tag, and the other to the tags between this one and the
// device of the library. So they find kernels of derived devices, and not those of the library.
template <class Device>
struct exactly {
  template <class T>
    requires std::is_same_v<T, Device>
  constexpr operator T() const;
};
template <class Device>
struct derived_part {
  template <class T>
    requires(std::is_base_of_v<T, Device> && !std::is_same_v<T, typename library_of<Device>::type>)
  constexpr operator T() const;
};
}  // namespace detail

/// Is the device derived from that of the library, and does it have a kernel of its own, or inherit one from such a device?
template <const op& Op, class Device>
concept has_own_kernel = !std::is_same_v<Device, typename detail::library_of<Device>::type> &&
                         (requires(const kernel_arguments& a) { kernel(op_c<Op>{}, detail::exactly<Device>{}, a); } ||
                          requires(const kernel_arguments& a) { kernel(op_c<Op>{}, detail::derived_part<Device>{}, a); });

/// Does the device have a kernel for the op? A kernel is an overload `void kernel(op_c<name_p>, Device, const
/// kernel_arguments&)`, in the namespace of the device or of tokamax. Device tags inherit, so the nearest kernel wins.
template <const op& Op, class Device>
concept has_kernel = linked_kernel<Op, typename detail::library_of<Device>::type>.present || Op.run != nullptr ||
                     requires(const kernel_arguments& a) { kernel(op_c<Op>{}, Device{}, a); };

template <const op& Op, class Device>
inline constexpr kernel_takes taken_by_kernel = [] {
  if constexpr (has_own_kernel<Op, Device>)
    return kernel_takes{takes_views<Op, Device>, takes_producer<Op, Device>, takes_sums<Op, Device>,
                        writes_strides<Op, Device>, overwrites_operand<Op, Device>};
  else if constexpr (linked_kernel<Op, typename detail::library_of<Device>::type>.present)
    return linked_kernel<Op, typename detail::library_of<Device>::type>.takes;
  else if constexpr (!std::is_same_v<Device, typename detail::library_of<Device>::type>)
    return taken_by_kernel<Op, typename detail::library_of<Device>::type>;
  else
    return kernel_takes{takes_views<Op>, takes_producer<Op>, takes_sums<Op>, writes_strides<Op>,
                        overwrites_operand<Op>};
}();

/// The functions of a device for one op, for programs that are traced at run time.
struct kernel_set {
  kernel_function run = nullptr;
  kernel_takes takes = {};
  const interpreted_op* (*interpreted)(dtype operand) = nullptr;  ///< elementwise ops: for operands of this dtype
  implementation_list others = nullptr;                           ///< its other implementations, if there are any
};

/// The function that runs an op on a device. It comes from the linked library or is compiled here.
template <const op& Op, class Device>
kernel_function kernel_for() {
  if constexpr (!has_own_kernel<Op, Device> && linked_kernel<Op, typename detail::library_of<Device>::type>.present)
    return kernels_of<Op>().run;
  else if constexpr (Op.run != nullptr && !requires(const kernel_arguments& a) { kernel(op_c<Op>{}, Device{}, a); })
    return Op.run;
  else
    return [](const kernel_arguments& a) { kernel(op_c<Op>{}, Device{}, a); };
}

/// The other implementations of an op on a device, which a program asks for when it runs for the first time.
template <const op& Op, class Device>
implementation_list other_implementations() {
  if constexpr (has_own_kernel<Op, Device>)
    return implementations_of<Op, Device>;
  else if constexpr (linked_kernel<Op, typename detail::library_of<Device>::type>.present)
    return kernels_of<Op>().others;
  else
    return implementations_of<Op>;
}

/// The kernels of a device, for programs that are traced at run time.
struct kernel_table {
  std::string_view device;         ///< its name, for errors
  kernel_set (*find)(const op&);   ///< the kernels of an op; it is empty if there are none
  loop_function interpreted_loop;  ///< runs any fused loop from its instructions
  /// Do kernels take producers (see `takes_producer`)? An interpreted loop gains nothing when a kernel runs it part by part:
  /// its instructions cost more than the memory that it saves. Compiled loops do gain, so static programs do not ask this.
  bool joins_loops = false;
  /// Do loops compute values again rather than read them, when that reads no more bytes? See compiler/passes/materialize.hpp.
  bool computes_again = false;
  /// Do kernels take sums (see `takes_sums`)?
  bool joins_sums = false;
  /// Does the code of the device run several loops at once? See compiler/passes/group.hpp.
  bool groups_loops = false;
  /// Makes what the device needs to run a plan; null if that is nothing.
  std::shared_ptr<const device_code> (*make_code)(const plan_view&) = nullptr;
};

/// The kernels of the host for an op: those that its descriptor names, or a function in host code.
inline kernel_set kernels_on_host(const op& o) { return o.kernels ? o.kernels() : kernel_set{.run = o.run}; }

template <class Device>
kernel_set kernels_on(const op& o);

/// The ops for which a derived device has kernels, as its member type `kernels`. A program that is traced at run time needs
/// this list, because it only has the address of an op and overloads cannot be found by that.
template <const op&... Ops>
struct kernel_list {
  template <class Device>
  static kernel_set find(const op& o) {
    static_assert((has_own_kernel<Ops, Device> && ...),
                  "tokamax: kernel_list names an op that the device has no kernel for");
    static_assert(((Ops.memory.kind == op_kind::general) && ...),
                  "tokamax: elementwise ops and views have no kernels of a device");
    kernel_set k = kernels_on<typename detail::library_of<Device>::type>(o);
    ((&o == &Ops ? void(k = {kernel_for<Ops, Device>(), taken_by_kernel<Ops, Device>, k.interpreted,
                             implementations_of<Ops, Device>})
                 : void()),
     ...);
    return k;
  }
};

/// The kernels of a device for programs traced at run time.
template <class Device>
kernel_set kernels_on(const op& o) {
  if constexpr (requires { Device::find_kernels(o); }) {
    return Device::find_kernels(o);
  } else if constexpr (std::is_same_v<Device, typename detail::library_of<Device>::type>) {
    return kernels_on_host(o);
  } else {
    static_assert(
        requires { typename Device::kernels; },
        "tokamax: a device that is derived from another one names the ops that it has kernels for, so that "
        "programs traced at run time find them: using kernels = tokamax::kernel_list<name_p, ...>;");
    return Device::kernels::template find<Device>(o);
  }
}

/// Does a device make code of printed loops when it gets a program? Its tag says so by a member function
/// `std::shared_ptr<const device_code> make_code(const plan_view&)`.
template <class Device>
concept prints_loops = requires(const plan_view& p) { Device::make_code(p); };

/// The kernel table of a device that is known by its tag.
template <class Device>
const kernel_table& kernel_table_of() {
  static const kernel_table table = [] {
    kernel_table t{Device::name, kernels_on<Device>, Device::interpreted_loop()};
    if constexpr (prints_loops<Device>) t.make_code = [](const plan_view& p) { return Device::make_code(p); };
    t.computes_again = t.groups_loops = t.joins_sums = prints_loops<Device>;  // compiled loops wait for memory only
    return t;
  }();
  return table;
}
/// The kernel table for programs that are traced at run time for the value of a device: that of its tag, or its own if its device
/// is chosen at run time.
template <class Device>
const kernel_table& kernel_table_for(const Device& value) {
  if constexpr (requires { value.table(); })
    return value.table();
  else
    return kernel_table_of<detail::tag_of<Device>>();
}

}  // namespace tokamax
