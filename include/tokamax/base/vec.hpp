// tokamax/base/vec.hpp: a growable array that costs the constant evaluator little.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>           // size_t
#include <initializer_list>  // initializer_list
#include <utility>           // move

namespace tokamax {

/// A minimal std::vector for the node tables. Every pass runs inside the compiler too, where each call is an
/// evaluator step: std::vector costs g++ 12 a quarter more time and memory on the same trace.
template <class T>
class vec {
 public:
  using value_type = T;

  constexpr vec() = default;
  constexpr explicit vec(std::size_t n, const T& value = T{}) : data_(n ? new T[n] : nullptr), size_(n), capacity_(n) {
    for (std::size_t i = 0; i < n; ++i) data_[i] = value;
  }
  constexpr vec(std::initializer_list<T> values) {
    reserve(values.size());
    for (const T& v : values) data_[size_++] = v;
  }
  constexpr vec(const vec& o) : data_(o.size_ ? new T[o.size_] : nullptr), size_(o.size_), capacity_(o.size_) {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = o.data_[i];
  }
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
  constexpr ~vec() { delete[] data_; }

  constexpr void swap(vec& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    std::swap(capacity_, o.capacity_);
  }
  constexpr void reserve(std::size_t n) {
    if (n <= capacity_) return;
    T* grown = new T[n];
    for (std::size_t i = 0; i < size_; ++i) grown[i] = std::move(data_[i]);
    delete[] data_;
    data_ = grown;
    capacity_ = n;
  }
  constexpr void push_back(T value) {
    if (size_ == capacity_) reserve(capacity_ ? 2 * capacity_ : 8);
    data_[size_++] = std::move(value);
  }
  constexpr void resize(std::size_t n, const T& value = T{}) {
    reserve(n);
    for (std::size_t i = size_; i < n; ++i) data_[i] = value;
    size_ = n;
  }
  constexpr void pop_back() { --size_; }
  constexpr void clear() { size_ = 0; }
  constexpr std::size_t size() const { return size_; }
  constexpr int count() const { return static_cast<int>(size_); }  ///< size as the signed index type of the tables
  constexpr bool empty() const { return size_ == 0; }
  template <class I>
  constexpr T& operator[](I i) {
    return data_[i];
  }
  template <class I>
  constexpr const T& operator[](I i) const {
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
  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace tokamax
