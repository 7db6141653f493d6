// tokamax/base/vec.hpp: a growable array that costs the constant evaluator little.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstddef>           // size_t
#include <initializer_list>  // initializer_list
#include <memory>            // allocator, construct_at
#include <type_traits>       // is_trivially_default_constructible_v
#include <utility>           // move

namespace tokamax {

/// A minimal std::vector for the node tables. Every pass also runs inside the compiler, where each call is a step of the
/// constant evaluator: with std::vector, g++ 12 takes a quarter more time and memory for the same trace. Memory beyond
/// the size holds no objects, because the evaluator would build each of them and never free it.
template <class T>
class vec {
 public:
  using value_type = T;

  constexpr vec() = default;
  constexpr explicit vec(std::size_t n, const T& value = T{}) : data_(allocate(n)), size_(n), capacity_(n) {
    fill(0, n, value);
  }
  constexpr vec(std::initializer_list<T> values) : vec(values.begin(), values.size()) {}
  constexpr vec(const T* values, std::size_t n) : data_(allocate(n)), size_(n), capacity_(n) {
    if constexpr (plain()) {
      for (std::size_t i = 0; i < n; ++i) data_[i] = values[i];
    } else {
      for (std::size_t i = 0; i < n; ++i) std::construct_at(data_ + i, values[i]);
    }
  }
  constexpr vec(const vec& o) : vec(o.data_, o.size_) {}
  constexpr vec(vec&& o) noexcept : data_(o.data_), size_(o.size_), capacity_(o.capacity_) {
    o.data_ = nullptr;
    o.size_ = o.capacity_ = 0;
  }
  // Two overloads, because a by-value parameter would need T complete and vec<graph> sits inside graph.
  constexpr vec& operator=(const vec& o) {
    vec copy(o);
    swap(copy);
    return *this;
  }
  constexpr vec& operator=(vec&& o) noexcept {
    swap(o);
    return *this;
  }
  constexpr ~vec() {
    if (data_) release();
  }

  constexpr void swap(vec& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    std::swap(capacity_, o.capacity_);
  }
  constexpr void reserve(std::size_t n) {
    if (n <= capacity_) return;
    T* grown = allocate(n);
    if constexpr (plain()) {
      for (std::size_t i = 0; i < size_; ++i) grown[i] = data_[i];
    } else {
      for (std::size_t i = 0; i < size_; ++i) std::construct_at(grown + i, std::move(data_[i]));
    }
    if (data_) release();
    data_ = grown;
    capacity_ = n;
  }
  constexpr void push_back(const T& value) {
    if (size_ == capacity_) return push_back(T(value));  // a copy, as value may be an element of the memory that moves
    if constexpr (plain())
      data_[size_++] = value;
    else
      std::construct_at(data_ + size_++, value);
  }
  constexpr void push_back(T&& value) {
    if (size_ == capacity_) reserve(grown());
    if constexpr (plain())
      data_[size_++] = value;
    else
      std::construct_at(data_ + size_++, std::move(value));
  }
  constexpr void resize(std::size_t n, const T& value = T{}) {
    reserve(n);
    fill(size_, n, value);
    if (n < size_) truncate(n);
    size_ = n;
  }
  constexpr void pop_back() { truncate(size_ - 1); }
  constexpr void clear() { truncate(0); }
  constexpr std::size_t size() const { return size_; }
  constexpr int count() const { return static_cast<int>(size_); }  ///< size as the signed index type of the tables
  constexpr bool empty() const { return size_ == 0; }
  template <class Index>
  constexpr T& operator[](Index i) {
    return data_[i];
  }
  template <class Index>
  constexpr const T& operator[](Index i) const {
    return data_[i];
  }
  constexpr T& back() { return data_[size_ - 1]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  constexpr T* data() { return data_; }
  constexpr const T* data() const { return data_; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }

 private:
  // Numbers are assigned, because their lifetime needs no constructor. Other objects are constructed in place.
  static consteval bool plain() { return std::is_trivially_default_constructible_v<T>; }
  /// Grows generously: the constant evaluator pays for each object that moves, and not for unused memory.
  constexpr std::size_t grown() const {
    if (capacity_ == 0) return 8;
    return (std::is_constant_evaluated() ? 16 : 2) * capacity_;
  }
  static constexpr T* allocate(std::size_t n) {
    if (n == 0) return nullptr;
    if constexpr (plain())
      return new T[n];
    else
      return std::allocator<T>().allocate(n);
  }
  constexpr void fill(std::size_t from, std::size_t to, const T& value) {
    if constexpr (plain()) {
      for (std::size_t i = from; i < to; ++i) data_[i] = value;
    } else {
      for (std::size_t i = from; i < to; ++i) std::construct_at(data_ + i, value);
    }
  }
  constexpr void truncate(std::size_t n) {
    if constexpr (!std::is_trivially_destructible_v<T>)
      for (std::size_t i = n; i < size_; ++i) std::destroy_at(data_ + i);
    size_ = n;
  }
  constexpr void release() {
    if constexpr (!std::is_trivially_destructible_v<T>)
      for (std::size_t i = 0; i < size_; ++i) std::destroy_at(data_ + i);
    if constexpr (plain())
      delete[] data_;
    else
      std::allocator<T>().deallocate(data_, capacity_);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace tokamax
