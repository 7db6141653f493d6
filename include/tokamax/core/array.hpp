// tokamax/core/array.hpp: the one array type, abstract, traced or concrete.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/error.hpp>          // error
#include <tokamax/base/tree.hpp>           // is_leaf
#include <tokamax/core/graph.hpp>          // graph, location

#include <algorithm>    // fill_n, copy_n
#include <concepts>     // integral
#include <span>         // span
#include <type_traits>  // is_arithmetic_v

namespace tokamax {

template <class T>
concept arithmetic = std::is_arithmetic_v<T>;

namespace detail {
/// g++ folds a constructor that never asks this: each function that makes a model would hold the model's value, as one
/// assignment for every number in it.
constexpr void stay_a_call() {
  if (std::is_constant_evaluated()) return;
}
}  // namespace detail

/// A multidimensional array whose dtype and shape are values. It is one of
///   abstract  a type only: a parameter in a model's default value
///   traced    a node of a graph: what a function sees while it is traced, in the compiler or at run time
///   literal   one known value in every element: `0.5f`, `zeros({3})`
///   concrete  a buffer with data
/// Copies share data and are cheap; an array is never changed through another one.
class array {
 public:
  constexpr array() = default;
  /// An abstract array.
  constexpr explicit array(array_type type) : type_(type) { detail::stay_a_call(); }
  /// A scalar literal: weakly typed, so that `2 * x` keeps the dtype of x.
  template <arithmetic T>
  constexpr array(T value)  // NOLINT: scalars are arrays
      : array(static_cast<double>(value), array_type{std::is_same_v<T, bool> ? bool_
                                                     : std::is_integral_v<T> ? i32
                                                                             : f32,
                                                     !std::is_same_v<T, bool>,
                                                     {}}) {}
  constexpr array(double value, array_type type) : type_(type), value_(value), literal_(true) { detail::stay_a_call(); }
  constexpr array(graph* g, int id, array_type type, handle owner = {})
      : type_(type), graph_(g), id_(id), block_(std::move(owner)) {}
  array(handle storage, array_type type) : type_(type), block_(std::move(storage)) {}

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
  /// A concrete array whose elements have no value yet.
  static array uninitialized(const array_type& type) {
    check_extents(type);
    const auto bytes =
        static_cast<std::size_t>(tokamax::size(type.extents)) * static_cast<std::size_t>(size_of(type.type));
    return array(handle(buffer_pool::instance().allocate(bytes)), type);
  }

  constexpr const array_type& type() const { return type_; }
  constexpr tokamax::dtype dtype() const { return type_.type; }
  constexpr const tokamax::shape& shape() const { return type_.extents; }
  constexpr std::int64_t extent(int axis) const { return type_.extents[axis]; }
  constexpr int rank() const { return type_.extents.rank(); }
  constexpr std::int64_t size() const { return tokamax::size(type_.extents); }

  constexpr bool is_traced() const { return graph_ != nullptr; }
  constexpr bool is_literal() const { return literal_; }
  constexpr bool is_concrete() const { return !graph_ && (block_ || literal_); }
  constexpr bool is_abstract() const { return !graph_ && !block_ && !literal_; }
  constexpr bool exists() const { return type_.type != dtype::none; }  ///< false for a default-made array

  constexpr graph* trace() const { return graph_; }
  constexpr int id() const { return id_; }
  constexpr double literal() const { return value_; }
  /// The same literal with another type.
  constexpr array retyped(const array_type& type) const { return array(value_, type); }
  constexpr const handle& storage() const { return block_; }

  /// The elements, row-major.
  /// errors  tokamax::error if the array is abstract or traced, or T is not the C++ type of its dtype
  template <class T>
  T* data() {
    check<T>();
    return reinterpret_cast<T*>(block_->data);
  }
  template <class T>
  const T* data() const {
    return const_cast<array*>(this)->data<T>();
  }
  template <class T>
  std::span<const T> values() const {
    return {data<T>(), static_cast<std::size_t>(size())};
  }
  /// The value of an array of one element, as T.
  template <class T = float>
  T item() const {
    if (size() != 1) throw error("item: number of elements", std::string(text{type_}.view()), "one element");
    switch (type_.type) {
      case bool_:
        return static_cast<T>(*data<bool>());
      case i8:
        return static_cast<T>(*data<std::int8_t>());
      case i32:
        return static_cast<T>(*data<std::int32_t>());
      case u32:
        return static_cast<T>(*data<std::uint32_t>());
      case bf16:
        return static_cast<T>(static_cast<float>(*data<bfloat16>()));
      default:
        return static_cast<T>(*data<float>());
    }
  }
  /// A concrete array with one value in every element.
  static array filled(const array_type& type, double value);
  /// Gives a literal its buffer; every other array stays as it is.
  void materialize() {
    if (literal_) *this = filled(type_, value_);
  }

 private:
  static void check_extents(const array_type& type);
  static array copy_of(const void* values, std::size_t count, const array_type& type);
  template <class T>
  void check() {
    if (graph_ || is_abstract())
      throw error("data: array without data", std::string(text{type_}.view()) + (graph_ ? " (traced)" : " (abstract)"),
                  "a concrete array");
    if (dtype_of<T> != type_.type)
      throw error("data: element type", std::string(name(dtype_of<T>)), std::string(name(type_.type)));
    materialize();
  }

  array_type type_;
  graph* graph_ = nullptr;
  int id_ = -1;
  handle block_;
  double value_ = 0;
  bool literal_ = false;
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void array::check_extents(const array_type& type) {
  const char* const expected = is_dynamic(type.extents) ? "known extents" : unmet(type);
  if (expected) throw error("array: shape", std::string(text{type}.view()), expected);
}
TOKAMAX_COMPILED_ONCE array array::copy_of(const void* values, std::size_t count, const array_type& type) {
  if (static_cast<std::int64_t>(count) != tokamax::size(type.extents))
    throw error("array::from: number of values", std::to_string(count), std::string(text{type}.view()));
  array a = uninitialized(type);
  std::copy_n(static_cast<const std::byte*>(values), count * static_cast<std::size_t>(tokamax::size_of(type.type)),
              a.block_->data);
  return a;
}
TOKAMAX_COMPILED_ONCE array array::filled(const array_type& type, double value) {
  array a = uninitialized(type);
  const auto n = static_cast<std::size_t>(a.size());
  switch (type.type) {
    case bool_:
      std::fill_n(a.data<bool>(), n, value != 0);
      break;
    case i8:
      std::fill_n(a.data<std::int8_t>(), n, static_cast<std::int8_t>(static_cast<std::int64_t>(value)));
      break;
    case i32:
      std::fill_n(a.data<std::int32_t>(), n, static_cast<std::int32_t>(value));
      break;
    case u32:
      std::fill_n(a.data<std::uint32_t>(), n, static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
      break;
    case bf16:
      std::fill_n(a.data<bfloat16>(), n, bfloat16(static_cast<float>(value)));
      break;
    default:
      std::fill_n(a.data<float>(), n, static_cast<float>(value));
      break;
  }
  return a;
}
#endif

template <>
inline constexpr bool is_leaf<array> = true;

// g++ 12 releases an array twice in constant expressions where an argument is written `c ? f() : x`, and where a
// parameter taken by value is converted to. Code on arrays uses `if` and references instead.

/// A right operand that knows the line it stands on.
struct located {
  array value;
  location where;
  constexpr located(const array& a, std::source_location l = std::source_location::current()) : value(a), where(l) {}
  template <arithmetic T>
  constexpr located(T v, std::source_location l = std::source_location::current()) : value(v), where(l) {}
};

}  // namespace tokamax
