// tokamax/backend/cuda/cudnn.hpp: graphs of operations that NVIDIA's library cuDNN runs as one kernel.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/backend/cuda/driver.hpp>  // stream

#include <array>    // array
#include <cstdint>  // int64_t
#include <memory>   // unique_ptr
#include <string>   // to_string
#include <utility>  // exchange
#include <vector>   // vector

namespace tokamax::cuda_backend {

/// cuDNN, found once. The functions and numbers are facts of its documentation (cuDNN 9, backend interface).
struct cudnn {
  library file{"TOKAMAX_CUDA_DNN", {"libcudnn.so.9", "libcudnn.so"}};
  using handle_type = struct cudnn_record*;
  using object = void*;
  /// What an object describes.
  enum object_kind : int {
    pointwise = 0,
    engine_choice = 3,
    engine_choices = 4,
    execution_plan = 5,
    pointwise_operation = 13,
    operation_graph = 15,
    variant_pack = 16,
    tensor = 17,
    matrix_product = 18,
    matrix_product_operation = 19,
    reduction = 21,
    reduction_operation = 22,
    reshape_operation = 31
  };
  /// Of what kind the values of an attribute are.
  enum value_kind : int {
    of_handle = 0,
    of_data_type = 1,
    of_boolean = 2,
    of_int64 = 3,
    of_pointer = 6,
    of_heuristic = 8,
    of_pointwise_mode = 14,
    of_object = 15,
    of_reduction = 18
  };
  /// The dtypes of arrays and of computations.
  enum data_type : int { f32 = 0, i32 = 4, bf16 = 9, boolean = 11 };
  /// What is computed for each element.
  enum pointwise_mode : int {
    add = 0,
    multiply = 1,
    divide = 6,
    subtract = 9,
    exponential = 13,
    logarithm = 15,
    identity = 21,
    greater_or_equal = 303,
    positions = 501,
    select = 601
  };
  /// How elements are combined.
  enum reduction_mode : int { sum = 0, maximum = 3 };

  // The names in the library stand in the constructor.
  std::size_t (*version)();
  int (*create)(handle_type*);
  int (*set_stream)(handle_type, stream);
  int (*create_object)(int, object*);
  int (*destroy_object)(object);
  int (*set)(object, int, int, std::int64_t, const void*);
  int (*get)(object, int, int, std::int64_t, std::int64_t*, void*);
  int (*finish)(object);
  int (*execute)(handle_type, object, object);

  static const cudnn& loaded() {
    static const cudnn& one = *new cudnn;
    return one;
  }
  bool is_complete() const { return complete_; }

 private:
  cudnn() {
    complete_ = file.get(version, "cudnnGetVersion") && file.get(create, "cudnnCreate") &&
                file.get(set_stream, "cudnnSetStream") && file.get(create_object, "cudnnBackendCreateDescriptor") &&
                file.get(destroy_object, "cudnnBackendDestroyDescriptor") &&
                file.get(set, "cudnnBackendSetAttribute") && file.get(get, "cudnnBackendGetAttribute") &&
                file.get(finish, "cudnnBackendFinalize") && file.get(execute, "cudnnBackendExecute");
  }
  bool complete_ = false;
};

/// An object of the library. A failure is remembered, and `ok()` of a finished object says whether all went well.
class cudnn_object {
 public:
  explicit cudnn_object(cudnn::object_kind kind) { note(library().create_object(kind, &made_)); }
  cudnn_object(cudnn_object&& other) noexcept : made_(std::exchange(other.made_, nullptr)), result_(other.result_) {}
  ~cudnn_object() {
    if (made_) library().destroy_object(made_);
  }
  /// Sets an attribute, by its number in the documentation, to some values of a kind.
  template <class T>
  cudnn_object& set(int attribute, cudnn::value_kind kind, const T* values, std::size_t count) {
    if (ok()) note(library().set(made_, attribute, kind, static_cast<std::int64_t>(count), values));
    return *this;
  }
  template <class T>
  cudnn_object& set(int attribute, cudnn::value_kind kind, const T& value) {
    return set(attribute, kind, &value, 1);
  }
  /// After this the object is complete, and other objects may refer to it.
  cudnn_object& finish() {
    if (ok()) note(library().finish(made_));
    return *this;
  }
  bool ok() const { return result_ == 0; }
  int result() const { return result_; }
  cudnn::object get() const { return made_; }

 private:
  static const cudnn& library() { return cudnn::loaded(); }
  void note(int result) {
    if (result_ == 0) result_ = result;
  }
  cudnn::object made_ = nullptr;
  int result_ = 0;
};

/// A graph of operations on arrays of four axes, and the plan that runs it. Arrays are known by numbers from 1 on. One that
/// is not in memory is an intermediate value of the graph.
class cudnn_graph {
 public:
  using extents = std::array<std::int64_t, 4>;
  enum place { in_memory, on_host, within };  ///< on_host: one number that is given by its address on the host

  /// The strides of an array without gaps.
  static extents dense(const extents& e) { return {e[1] * e[2] * e[3], e[2] * e[3], e[3], 1}; }

  /// Adds an array and returns its number.
  int array(cudnn::data_type type, const extents& e, const extents& strides, place where) {
    const auto id = static_cast<std::int64_t>(arrays_.size() + 1), alignment = std::int64_t{16};
    const bool is_virtual = where == within, by_value = where == on_host;
    cudnn_object o(
        cudnn::tensor);  // type, number, alignment; extents, strides; is it an intermediate value, or on the host
    o.set(901, cudnn::of_data_type, type).set(906, cudnn::of_int64, id).set(900, cudnn::of_int64, alignment);
    o.set(902, cudnn::of_int64, e.data(), 4).set(903, cudnn::of_int64, strides.data(), 4);
    o.set(907, cudnn::of_boolean, is_virtual).set(908, cudnn::of_boolean, by_value);
    keep(arrays_, std::move(o));
    return static_cast<int>(id);
  }
  /// Adds an intermediate value.
  int value(cudnn::data_type type, const extents& e) { return array(type, e, dense(e), within); }
  /// Adds an f32 on the host.
  int number() { return array(cudnn::f32, {1, 1, 1, 1}, {1, 1, 1, 1}, on_host); }

  /// y = mode(x, b, t). Operands that a mode does not have are 0.
  int pointwise(cudnn::pointwise_mode mode, int x, int b, int y, int t = 0, std::int64_t axis = -1,
                cudnn::data_type compute = cudnn::f32) {
    cudnn_object how(cudnn::pointwise);
    how.set(0, cudnn::of_pointwise_mode, mode).set(1, cudnn::of_data_type, compute);
    if (axis >= 0) how.set(9, cudnn::of_int64, axis);
    cudnn_object o(cudnn::pointwise_operation);
    o.set(750, cudnn::of_object, keep(details_, std::move(how)));
    o.set(751, cudnn::of_object, at(x));
    if (b) o.set(752, cudnn::of_object, at(b));
    if (t) o.set(758, cudnn::of_object, at(t));
    o.set(753, cudnn::of_object, at(y));
    keep(operations_, std::move(o));
    return y;
  }
  /// c = a b
  int product(int a, int b, int c) {
    const auto compute = cudnn::f32;
    cudnn_object how(cudnn::matrix_product);
    how.set(1500, cudnn::of_data_type, compute);
    cudnn_object o(cudnn::matrix_product_operation);
    o.set(1523, cudnn::of_object, keep(details_, std::move(how)));
    o.set(1520, cudnn::of_object, at(a)).set(1521, cudnn::of_object, at(b)).set(1522, cudnn::of_object, at(c));
    keep(operations_, std::move(o));
    return c;
  }
  /// y = the elements of x along the axes of extent 1 in y, combined.
  int reduce(cudnn::reduction_mode mode, int x, int y) {
    const auto compute = cudnn::f32;
    cudnn_object how(cudnn::reduction);
    how.set(1600, cudnn::of_reduction, mode).set(1601, cudnn::of_data_type, compute);
    cudnn_object o(cudnn::reduction_operation);
    o.set(1612, cudnn::of_object, keep(details_, std::move(how)));
    o.set(1610, cudnn::of_object, at(x)).set(1611, cudnn::of_object, at(y));
    keep(operations_, std::move(o));
    return y;
  }
  /// y = x with other extents or strides
  int reshape(int x, int y) {
    cudnn_object o(cudnn::reshape_operation);
    o.set(2200, cudnn::of_object, at(x)).set(2201, cudnn::of_object, at(y));
    keep(operations_, std::move(o));
    return y;
  }

  /// Finds an engine for the graph. False if the library has none.
  bool prepare(cudnn::handle_type handle);
  std::size_t workspace() const { return static_cast<std::size_t>(workspace_); }
  /// Why `prepare` has failed: the number of the library's result, and the stage.
  const std::string& reason() const { return reason_; }

  /// Runs the plan on arrays in memory, each with its number.
  bool run(cudnn::handle_type handle, const std::vector<std::int64_t>& numbers, const std::vector<void*>& pointers,
           void* workspace) const {
    cudnn_object pack(cudnn::variant_pack);
    // numbers, addresses, workspace
    pack.set(1000, cudnn::of_int64, numbers.data(), numbers.size());
    pack.set(1001, cudnn::of_pointer, pointers.data(), pointers.size());
    pack.set(1003, cudnn::of_pointer, workspace);
    return pack.finish().ok() && cudnn::loaded().execute(handle, plan_->get(), pack.get()) == 0;
  }

 private:
  /// Completes an object that the graph owns. The first failure becomes the reason.
  cudnn::object keep(std::vector<cudnn_object>& to, cudnn_object&& made) {
    made.finish();
    if (!made.ok() && reason_.empty())
      reason_ = "object " + std::to_string(arrays_.size()) + "/" + std::to_string(operations_.size()) + ": " +
                std::to_string(made.result());
    to.push_back(std::move(made));
    return to.back().get();
  }
  cudnn::object at(int number) const { return arrays_[static_cast<std::size_t>(number - 1)].get(); }
  /// Makes the plan for one choice of an engine.
  bool plan_with(cudnn::handle_type handle, cudnn::object choice);

  std::vector<cudnn_object> arrays_, details_, operations_, choices_;
  std::unique_ptr<cudnn_object> graph_, plan_;
  std::int64_t workspace_ = 0;
  std::string reason_;
};

inline bool cudnn_graph::plan_with(cudnn::handle_type handle, cudnn::object choice) {
  auto plan = std::make_unique<cudnn_object>(cudnn::execution_plan);
  // the handle, and the choice of an engine
  plan->set(400, cudnn::of_handle, handle).set(401, cudnn::of_object, choice);
  if (!plan->finish().ok()) {
    reason_ = "plan: " + std::to_string(plan->result());
    return false;
  }
  std::int64_t count = 0;
  if (cudnn::loaded().get(plan->get(), 402, cudnn::of_int64, 1, &count, &workspace_) != 0) return false;
  plan_ = std::move(plan);
  return true;
}

inline bool cudnn_graph::prepare(cudnn::handle_type handle) {
  if (!reason_.empty()) return false;
  std::vector<cudnn::object> operations;
  for (const cudnn_object& o : operations_) operations.push_back(o.get());
  graph_ = std::make_unique<cudnn_object>(cudnn::operation_graph);
  // the handle, and the operations
  graph_->set(800, cudnn::of_handle, handle).set(801, cudnn::of_object, operations.data(), operations.size());
  if (!graph_->finish().ok()) {
    reason_ = "graph: " + std::to_string(graph_->result());
    return false;
  }
  const cudnn::object graph = graph_->get();
  for (const int mode : {3, 2}) {  // by heuristics, then what the library falls back to
    cudnn_object heuristics(cudnn::engine_choices);
    // the graph, and the mode
    heuristics.set(201, cudnn::of_object, graph).set(200, cudnn::of_heuristic, mode);
    std::int64_t count = 0;
    if (!heuristics.finish().ok() ||
        cudnn::loaded().get(heuristics.get(), 202, cudnn::of_object, 0, &count, nullptr) != 0) {
      reason_ = "engines: " + std::to_string(heuristics.result());
      continue;
    }
    std::vector<cudnn_object> all;
    std::vector<cudnn::object> objects;
    for (std::int64_t i = 0; i < count; ++i) {
      all.emplace_back(cudnn::engine_choice);
      objects.push_back(all.back().get());
    }
    std::int64_t found = 0;
    cudnn::loaded().get(heuristics.get(), 202, cudnn::of_object, count, &found, objects.data());
    for (std::int64_t i = 0; i < found; ++i)
      if (plan_with(handle, objects[static_cast<std::size_t>(i)])) {
        choices_ = std::move(all);
        return true;
      }
    if (found == 0) reason_ = "no engine";
  }
  return false;
}

}  // namespace tokamax::cuda_backend
