// tokamax/backend/eigen/linalg/matrices.hpp: the operands and results of host functions as Eigen's matrices, one after another.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (backend/eigen/linalg.hpp includes it)
// tested by tests/linalg/cholesky.cpp
#pragma once

#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/linalg/host_functions.hpp>       // array_view, kernel_arguments, f64

#include <limits>  // quiet_NaN
#include <memory>  // unique_ptr
#include <vector>  // vector

// The threads here share the matrices of a batch. Threads of Eigen's own would divide sums by their number, so results would
// depend on it.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Dense>

namespace tokamax::linalg::detail {

template <class T>
using matrix =
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;  // columns are contiguous, as Eigen's algorithms prefer
template <class T>
using row_major = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

/// Has an algorithm of Eigen succeeded? Its name for that is a macro of X11.
bool succeeded(const auto& solver) { return solver.info() == Eigen::ComputationInfo{}; }

/// Calls f(arguments) with operands and results in memory of the host. On another device they are copied there and back.
template <class F>
void on_host(const kernel_arguments& a, const F& f) {
  if (!a.context || a.context->where.is_host()) return f(a);
  device& where = a.context->where;
  const int n = a.in_count + a.out_count;
  std::vector<array_view> views;
  std::vector<std::unique_ptr<std::byte[]>> copies;
  const auto bytes = [](const array_view& v) { return static_cast<std::size_t>(v.size() * size_of(v.type)); };
  for (int k = 0; k < n; ++k) {
    const array_view& v = k < a.in_count ? a.in[k] : a.out[k - a.in_count];
    copies.push_back(std::make_unique<std::byte[]>(bytes(v)));
    if (k < a.in_count) where.read_in_step(copies.back().get(), v.as<std::byte>(), bytes(v));
    views.push_back(v);
    views.back().data = copies.back().get();
  }
  kernel_arguments there = a;
  there.in = views.data();
  there.out = views.data() + a.in_count;
  f(there);
  for (int k = 0; k < a.out_count; ++k)
    where.write_in_step(a.out[k].as<std::byte>(), there.out[k].as<std::byte>(), bytes(a.out[k]));
}

/// Matrix number i of a batch, for reading and for writing.
template <class T>
Eigen::Map<const row_major<T>> matrix_of(const array_view& v, std::int64_t i) {
  const std::int64_t m = v.extent(v.rank() - 2), n = v.extent(v.rank() - 1);
  return {v.as<const T>() + i * m * n, m, n};
}
template <class T>
Eigen::Map<row_major<T>> matrix_to(const array_view& v, std::int64_t i) {
  const std::int64_t m = v.extent(v.rank() - 2), n = v.extent(v.rank() - 1);
  return {v.as<T>() + i * m * n, m, n};
}
/// Vector number i of a batch.
template <class T>
Eigen::Map<vector<T>> vector_to(const array_view& v, std::int64_t i) {
  const std::int64_t n = v.extent(v.rank() - 1);
  return {v.as<T>() + i * n, n};
}

/// Calls f(i) for each matrix of the batch of the first operand, with a value of its element type. Small matrices share a
/// task.
template <class F>
void for_each_matrix(const kernel_arguments& call, const F& f) {
  on_host(call, [&](const kernel_arguments& a) {
    const array_view& x = a.in[0];
    std::int64_t batch = 1, work = 1;
    for (int i = 0; i + 2 < x.rank(); ++i) batch *= x.extent(i);
    for (int i = x.rank() - 2; i < x.rank(); ++i) work *= std::max<std::int64_t>(1, x.extent(i));
    const std::int64_t grain = std::max<std::int64_t>(1, 4096 / work);
    cpu_backend::parallel_for((batch + grain - 1) / grain, [&](std::int64_t task) {
      for (std::int64_t i = task * grain; i < std::min(batch, (task + 1) * grain); ++i)
        x.type == f64 ? f(a, i, double{}) : f(a, i, float{});
    });
  });
}

/// NaN in every element of a result for one matrix: what a decomposition gives of a matrix that it cannot decompose.
template <class T>
void fill_with_nan(const array_view& v, std::int64_t i, int axes) {
  std::int64_t n = 1;
  for (int k = v.rank() - axes; k < v.rank(); ++k) n *= v.extent(k);
  std::fill_n(v.as<T>() + i * n, n, std::numeric_limits<T>::quiet_NaN());
}

}  // namespace tokamax::linalg::detail
