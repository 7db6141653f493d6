// tokamax/core/array.hpp: the one array type, abstract, traced or concrete.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>        // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/error.hpp>                // error
#include <tokamax/base/tree.hpp>                 // is_leaf
#include <tokamax/base/vec.hpp>                  // vec
#include <tokamax/core/device.hpp>               // device
#include <tokamax/core/graph.hpp>                // graph, location
#include <tokamax/core/memory/literal_data.hpp>  // literal_storage
#include <tokamax/core/number_dtype.hpp>         // arithmetic, number_dtype

#include <algorithm>    // copy_n
#include <iterator>     // size, data
#include <memory>       // make_unique
#include <span>         // span
#include <type_traits>  // common_type_t

namespace tokamax {

struct index_list;
struct array_index;
struct index_expression;
class indexed_part;
namespace detail {
extern const index_expression no_index;
}
class array;

namespace detail {
/// Keeps g++ from folding a constructor. Otherwise each function that makes a model would contain the value of the whole
/// model, as one assignment for every number in it.
constexpr void stay_a_call() {
  if (std::is_constant_evaluated()) return;
}
/// An array of these elements. It has data; in a constant expression it is a node of a graph. See core/bind.hpp.
constexpr array table_of(const array_type& type, const vec<element_bits>& values);
}  // namespace detail

/// A multidimensional array whose dtype and shape are values. It is one of
///   abstract  a type only: a parameter in a model's default value
///   traced    a node of a graph: what a function sees while it is traced, in the compiler or at run time
///   literal   one known value in every element: `0.5f`, `zeros({3})`
///   concrete  a buffer with data
///
/// An array is a value. Copies share data, so they are cheap, and reading never writes. Writing into one array, by
/// `mutable_data`, changes no other. An array that was moved from holds nothing until it is assigned to.
class array {
 public:
  constexpr array() = default;
  /// An abstract array.
  constexpr explicit array(array_type type) : type_(type) { detail::stay_a_call(); }
  /// A scalar literal. It is weakly typed, so that `2 * x` has the dtype of x, and a float keeps all its digits until it
  /// meets an x. Integers are i32, or u32 if they are unsigned and do not fit; floats are f32.
  /// errors  tokamax::error "array: literal" for an integer of more than 32 bits
  template <arithmetic T>
  constexpr array(T value)  // NOLINT: scalars are arrays
      : type_{detail::literal_dtype(value), !std::is_same_v<T, bool>, {}} {
    if constexpr (std::is_floating_point_v<T>) {
      value_ = element_bits::of(static_cast<double>(value));
      holds_ = contents::digits;
    } else {
      value_ = detail::kept_of(value, type_.dtype);
      holds_ = contents::number;
    }
    if (!__builtin_is_constant_evaluated()) block_ = detail::literal_storage();
  }
  /// One value in every element, rounded or wrapped to the dtype.
  template <arithmetic T>
  constexpr array(T value, const array_type& type) : array(detail::kept_of(value, type.dtype), type) {}
  constexpr array(element_bits value, const array_type& type) : type_(type), value_(value), holds_(contents::number) {
    if (!__builtin_is_constant_evaluated()) block_ = detail::literal_storage();
  }
  /// Numbers along one axis, in the dtype of their common type: `array{1, 2, 3}`. The result is not weak. A single number
  /// is a scalar, in braces too.
  /// errors  "array: number" if an integer does not fit its dtype
  template <arithmetic First, arithmetic Second, arithmetic... Rest>
  constexpr array(First first, Second second, Rest... rest)  // NOLINT: lists of numbers are arrays
      : array(list_of({static_cast<std::common_type_t<First, Second, Rest...>>(first),
                       static_cast<std::common_type_t<First, Second, Rest...>>(second),
                       static_cast<std::common_type_t<First, Second, Rest...>>(rest)...})) {}
  /// A node of a graph.
  constexpr array(graph* g, int id, array_type type, handle owner = {})
      : type_(type),
        graph_(g),
        id_(id),
        block_(std::move(owner)),
        value_{__builtin_is_constant_evaluated() ? 0 : g->life.number()} {}
  array(handle storage, array_type type) : type_(type), block_(std::move(storage)), holds_(contents::data) {}

  constexpr array(const array&) = default;
  constexpr array(array&&) = default;
  constexpr array& operator=(const array&) & = default;
  constexpr array& operator=(array&&) & = default;
  /// `x[0] = y` does not compile, because it would change an array that ends with the statement, and not x.
  template <class T = array>
  void operator=(const T&) && {
    static_assert(sizeof(T) == 0, "tokamax: x[0] = y and x(0) = y do not change x: write x = x.at(0).set(y)");
  }

  /// A concrete array with a copy of `values`.
  /// errors  tokamax::error if the number of values is not that of the shape
  template <class T>
    requires(dtype_of<T> != dtype::none)
  static array from(std::span<const T> values, const tokamax::shape& extents) {
    return copy_of(values.data(), values.size(), {dtype_of<T>, false, extents});
  }
  template <class T>
  static array from(std::initializer_list<T> values, const tokamax::shape& extents) {
    return from(std::span<const T>(values.begin(), values.size()), extents);
  }
  template <class T>
  static array from(std::initializer_list<T> values) {
    return from(values, {static_cast<std::int64_t>(values.size())});
  }
  /// The same of a vector, span or std::array of numbers, by default along one axis: `array::from(numbers)`.
  template <number_list Numbers>
  static array from(const Numbers& values, const tokamax::shape& extents) {
    using number = std::remove_cvref_t<decltype(*std::begin(values))>;
    if constexpr (dtype_of<number> != dtype::none && requires { std::data(values) + 1; }) {
      return copy_of(std::data(values), std::size(values), {dtype_of<number>, false, extents});
    } else {  // vector<bool>, and numbers whose dtype has another C++ type
      using element = element_t<detail::dtype_like<number>>;
      const auto copy = std::make_unique<element[]>(std::size(values));
      std::copy(std::begin(values), std::end(values), copy.get());
      return copy_of(copy.get(), std::size(values), {detail::dtype_like<number>, false, extents});
    }
  }
  template <number_list Numbers>
  static array from(const Numbers& values) {
    return from(values, {static_cast<std::int64_t>(std::size(values))});
  }
  /// A concrete array whose elements have no value yet.
  static array uninitialized(const array_type& type) {
    check_extents(type);
    return array(memory_for(type, nullptr), type);
  }
  /// The same in the memory of a device.
  static array uninitialized(const array_type& type, tokamax::device& where);

  constexpr const array_type& type() const { return type_; }
  constexpr tokamax::dtype dtype() const { return type_.dtype; }
  constexpr const tokamax::shape& shape() const { return type_.shape; }
  constexpr std::int64_t extent(int axis) const { return type_.shape[axis]; }
  constexpr int rank() const { return type_.shape.rank(); }
  constexpr std::int64_t size() const { return tokamax::size(type_.shape); }

  constexpr bool is_traced() const { return graph_ != nullptr; }
  constexpr bool is_literal() const { return holds_ == contents::number || holds_ == contents::digits; }
  constexpr bool is_concrete() const { return is_literal() || (holds_ == contents::data && block_); }
  constexpr bool is_abstract() const { return !graph_ && holds_ == contents::nothing; }
  constexpr bool exists() const { return type_.dtype != dtype::none; }  ///< false for a default-made array
  /// Was this array moved from, either in C++ or as an argument that gave its buffer to a result?
  constexpr bool is_moved_from() const { return holds_ == contents::data && !block_; }
  /// Is this a node of a graph that no longer exists? Such an array has left the function that was traced.
  bool outlived_its_trace() const { return graph_ && trace_life::has_ended(value_.value); }

  constexpr graph* trace() const { return graph_; }
  constexpr int id() const { return id_; }
  /// The value of a literal: as a number, which is exact except for integers beyond 2^53, and as the bits of its dtype.
  constexpr double literal() const { return as_double(literal_bits(), type_.dtype); }
  constexpr element_bits literal_bits() const { return holds_ == contents::digits ? literal_as(type_.dtype) : value_; }
  /// The same, converted to another dtype from all the digits with which it was written.
  constexpr element_bits literal_as(tokamax::dtype type) const {
    return holds_ == contents::digits ? converted(value_, f64, type) : converted(value_, type_.dtype, type);
  }
  /// The same literal with another shape.
  constexpr array reshaped(const tokamax::shape& s) const {
    array a(value_, {type_.dtype, type_.weak, s});
    a.holds_ = holds_;
    return a;
  }
  constexpr const handle& storage() const { return block_; }

  /// The device that the data lies on; of a literal, which lies nowhere, the host's.
  /// errors  tokamax::error if there is no data
  tokamax::device& device() const;

  /// The elements in row-major order, whatever their dtype.
  const std::byte* bytes(source_line l = source_line::current()) const { return bytes_of(type_.dtype, l); }
  /// The same, for writing.
  std::byte* mutable_bytes(source_line l = source_line::current()) {
    require_data(type_.dtype, l);
    own_data();
    return block_->data;
  }
  /// The elements in row-major order, for reading. They stay in place while this array or a copy of it exists. For an array
  /// of another device this is a copy in host memory, which is made when the array has been computed and stays as long;
  /// `device_put(a, tk::cpu)` makes one that has its own life.
  /// errors  tokamax::error if the array is abstract, traced or moved from, or T is not the C++ type of its dtype
  template <class T>
  const T* data(source_line l = source_line::current()) const {
    return reinterpret_cast<const T*>(bytes_of(dtype_of<T>, l));
  }
  /// The elements, for writing. If another array or a compiled program shares them, this array gets a copy first. An array
  /// of another device moves to the host.
  /// errors  those of `data`
  template <class T>
  T* mutable_data(source_line l = source_line::current()) {
    require_data(dtype_of<T>, l);
    own_data();
    return reinterpret_cast<T*>(block_->data);
  }
  /// The elements as a span.
  template <class T>
  std::span<const T> values(source_line l = source_line::current()) const {
    return {data<T>(l), static_cast<std::size_t>(size())};
  }
  /// A part along the first axes, see lax/indexing/index.hpp: `x[0]`, `x[range{1, 3}]`, `x[{whole, -1}]`.
  constexpr array operator[](const index_list& at) const;
  /// The rows that an array of indices or a mask names, as x(indices): see numpy/indexing/index_expression.hpp.
  constexpr array operator[](const array_index& indices) const;
  /// A part by up to eight indices of any kind, see numpy/indexing/index_expression.hpp: `x(0, range{1, 5, 2}, newaxis)`,
  /// `x(ellipsis, i)` and `x(mask)`; and the array with that part changed, see numpy/indexing/at.hpp: `x.at(i).add(y)`.
  constexpr array operator()(const index_expression& a, const index_expression& b = detail::no_index,
                             const index_expression& c = detail::no_index, const index_expression& d = detail::no_index,
                             const index_expression& e = detail::no_index, const index_expression& f = detail::no_index,
                             const index_expression& g = detail::no_index,
                             const index_expression& h = detail::no_index) const;
  constexpr indexed_part at(const index_expression& a, const index_expression& b = detail::no_index,
                            const index_expression& c = detail::no_index, const index_expression& d = detail::no_index,
                            const index_expression& e = detail::no_index, const index_expression& f = detail::no_index,
                            const index_expression& g = detail::no_index,
                            const index_expression& h = detail::no_index) const;

  /// The value of an array of one element, as T.
  template <class T = float>
  T item(source_line l = source_line::current()) const {
    const element_bits one = only_element(l);
    if (is_floating(type_.dtype)) return static_cast<T>(as_double(one, type_.dtype));
    return is_signed(type_.dtype) ? static_cast<T>(static_cast<std::int64_t>(one.value)) : static_cast<T>(one.value);
  }
  /// A concrete array with one value in every element.
  static array filled(const array_type& type, element_bits value);
  static array filled(const array_type& type, double value) { return filled(type, kept(value, type.dtype)); }
  /// Gives a literal a buffer of its own; every other array stays as it is.
  void materialize() {
    if (is_literal()) *this = filled(type_, literal_bits());
  }

 private:
  template <class T>
  static constexpr array list_of(std::initializer_list<T> list) {
    using element = element_t<detail::number_dtype<T>>;
    vec<element_bits> values;
    for (const T v : list) {
      if constexpr (std::is_integral_v<T>)
        if (static_cast<T>(static_cast<element>(v)) != v)
          throw error("array: number", std::to_string(v),
                      std::string("a number of ") + std::string(name(dtype_of<element>)));
      values.push_back(element_bits::of(static_cast<element>(v)));
    }
    return detail::table_of({dtype_of<element>, false, {static_cast<std::int64_t>(list.size())}}, values);
  }

  enum class contents : std::uint8_t { nothing, number, digits, data };  // digits: a number as a double

  /// Memory of the host, if `where` is null, or of a device.
  static handle memory_for(const array_type& type, tokamax::device* where);
  static void check_extents(const array_type& type);
  static array copy_of(const void* values, std::size_t count, const array_type& type);
  void require_data(tokamax::dtype element, location where) const;
  const std::byte* bytes_of(tokamax::dtype element, location where) const;
  element_bits only_element(location where) const;
  void own_data();

  array_type type_;
  graph* graph_ = nullptr;
  int id_ = -1;
  handle block_;        ///< the data; of a literal, its elements after they were read; in constant expressions, a graph
  element_bits value_;  ///< the value of a literal; of a node at run time, the number of its trace
  contents holds_ = contents::nothing;
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void array::check_extents(const array_type& type) {
  const char* const expected = is_dynamic(type.shape) ? "known extents" : unmet(type);
  if (expected) throw error(error_kind::shape, "array: shape", std::string(message{type}.view()), expected);
}
TOKAMAX_COMPILED_ONCE array array::copy_of(const void* values, std::size_t count, const array_type& type) {
  if (static_cast<std::int64_t>(count) != tokamax::size(type.shape))
    throw error(error_kind::shape, "array::from: number of values", std::to_string(count),
                std::string(message{type}.view()));
  array a = uninitialized(type);
  std::copy_n(static_cast<const std::byte*>(values), count * static_cast<std::size_t>(tokamax::size_of(type.dtype)),
              a.block_->data);
  return a;
}
TOKAMAX_COMPILED_ONCE array array::filled(const array_type& type, element_bits value) {
  array a = uninitialized(type);
  detail::fill_elements(a.block_->data, type.dtype, static_cast<std::size_t>(a.size()), value);
  return a;
}
/// Refuses an array that has no data, or data of another dtype than `element`.
TOKAMAX_COMPILED_ONCE void array::require_data(tokamax::dtype element, location where) const {
  const auto refuse = [&](const char* kind, const char* expected) {
    throw error("data: array without data", std::string(message{type_}.view()) + kind, expected,
                detail::place_text({}, where));
  };
  if (outlived_its_trace())
    refuse(" (of a trace that has ended)", "a result of the traced function, or data");
  else if (graph_)
    refuse(" (traced)", "data: return the value from the traced function, or print it there by debug_print");
  else if (is_abstract())
    refuse(" (abstract)", "data; init or restore gives them to a model");
  else if (!is_concrete())
    refuse(" (moved from)", "data: an argument that was moved in is empty after the call");
  if (element != type_.dtype)
    throw error(error_kind::shape, "data: element type", std::string(message{type_}.view()),
                "elements of " + std::string(name(element)), detail::place_text({}, where));
}
TOKAMAX_COMPILED_ONCE const std::byte* array::bytes_of(tokamax::dtype element, location where) const {
  require_data(element, where);
  if (!is_literal()) return detail::bytes_on_host(*block_);
  check_extents(type_);
  return detail::literal_data(block_, type_, literal_bits());
}
TOKAMAX_COMPILED_ONCE element_bits array::only_element(location where) const {
  if (size() != 1)
    throw error(error_kind::shape, "item: number of elements", std::string(message{type_}.view()), "one element",
                detail::place_text({}, where));
  if (is_literal()) return literal_bits();
  require_data(type_.dtype, where);
  return dispatch(type_.dtype, [this]<tokamax::dtype E>() {
    element_t<E> one;
    detail::read_on_host(*block_, 0, reinterpret_cast<std::byte*>(&one), sizeof one);
    return element_bits::of(one);
  });
}
/// Makes this array the only owner of its data.
TOKAMAX_COMPILED_ONCE void array::own_data() {
  materialize();
  if (!block_->where && block_.unique()) return;
  array own = uninitialized(type_);
  detail::read_on_host(*block_, 0, own.block_->data,
                       static_cast<std::size_t>(size()) * static_cast<std::size_t>(size_of(type_.dtype)));
  *this = std::move(own);
}
TOKAMAX_COMPILED_ONCE array array::uninitialized(const array_type& type, tokamax::device& where) {
  if (where.is_host()) return uninitialized(type);
  check_extents(type);
  return array(memory_for(type, &where), type);
}
TOKAMAX_COMPILED_ONCE handle array::memory_for(const array_type& type, tokamax::device* where) {
  const auto bytes =
      static_cast<std::size_t>(tokamax::size(type.shape)) * static_cast<std::size_t>(size_of(type.dtype));
  try {
    return where ? where->allocate(bytes) : handle(buffer_pool::instance().allocate(bytes));
  } catch (const std::bad_alloc& cause) {
    throw memory_error(cause, std::string(message{type}.view()), where ? std::string(where->name()) : std::string());
  }
}
TOKAMAX_COMPILED_ONCE tokamax::device& array::device() const {
  require_data(type_.dtype, {});
  return is_literal() ? host_device() : detail::device_of(*block_);
}
#endif

template <class T>
  requires std::is_base_of_v<array, T>  // arrays, and kinds of arrays
inline constexpr bool is_leaf<T> = true;
template <class T>
  requires std::is_base_of_v<shape, T>  // extents, and axes
inline constexpr bool is_static<T> = true;

// In constant expressions g++ 12 releases an array twice if an argument is written `c ? f() : x`, or if a parameter that
// is taken by value needs a conversion. So code on arrays uses `if` and references instead.

/// The right operand of an operator, with the line of the expression: operators cannot have a defaulted parameter.
struct located {
  array value;
  source_line where;
  constexpr located(const array& a, source_line l = source_line::current()) : value(a), where(l) {}
  template <arithmetic T>
  constexpr located(T v, source_line l = source_line::current()) : value(v), where(l) {}
};

}  // namespace tokamax
