// tokamax/backend/cuda/libraries/cudnn.hpp: the functions of NVIDIA's library cuDNN, and the objects that it is told problems by.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/backend/cuda/driver/driver.hpp>  // stream

#include <algorithm>  // min
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <utility>    // exchange, swap
#include <vector>     // vector

namespace tokamax::cuda_backend {

/// The functions of cuDNN, which are found once; one that is not there is null. The functions and numbers are facts of its
/// documentation (cuDNN 9, backend interface). Tests pass functions of their own.
struct cudnn {
  using handle_type = struct cudnn_record*;
  using object = void*;
  /// What an object describes.
  enum object_kind : int {
    pointwise = 0,
    engine = 2,
    engine_choice = 3,
    engine_choices = 4,
    execution_plan = 5,
    knob_choice = 7,
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
    of_knob_kind = 9,
    of_numerical_note = 11,
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

  /// In what order engines are proposed.
  enum heuristic : int { fallback = 2, by_model = 3 };
  static constexpr int note_nondeterministic = 4;  ///< of an engine whose sums depend on the order of threads

  std::string absent_library = {};  ///< what was not found, and why

  std::size_t (*version)() = nullptr;
  int (*create)(handle_type*) = nullptr;
  int (*set_stream)(handle_type, stream) = nullptr;
  int (*create_object)(int, object*) = nullptr;
  int (*destroy_object)(object) = nullptr;
  int (*set)(object, int, int, std::int64_t, const void*) = nullptr;
  int (*get)(object, int, int, std::int64_t, std::int64_t*, void*) = nullptr;
  int (*finish)(object) = nullptr;
  int (*execute)(handle_type, object, object) = nullptr;

  static const cudnn& loaded() {
    static const cudnn& one = *new cudnn(found());
    return one;
  }
  /// Calls f(pointer, name in the library) for each function.
  template <class Library, class F>
  static void each_function(Library& l, const F& f) {
    f(l.version, "cudnnGetVersion");
    f(l.create, "cudnnCreate");
    f(l.set_stream, "cudnnSetStream");
    f(l.create_object, "cudnnBackendCreateDescriptor");
    f(l.destroy_object, "cudnnBackendDestroyDescriptor");
    f(l.set, "cudnnBackendSetAttribute");
    f(l.get, "cudnnBackendGetAttribute");
    f(l.finish, "cudnnBackendFinalize");
    f(l.execute, "cudnnBackendExecute");
  }
  /// What is missing: the library, or a function of one that is too old. Empty if nothing is.
  std::string missing() const { return missing_of(*this, "cuDNN"); }
  bool is_complete() const { return has_all_functions(*this); }

 private:
  static cudnn found() { return found_in<cudnn>({"TOKAMAX_CUDA_DNN", {"libcudnn.so.9", "libcudnn.so"}}); }
};

/// An object of the library. A failure is remembered, and `ok()` of a finished object says whether all went well.
class cudnn_object {
 public:
  cudnn_object(const cudnn& library, cudnn::object_kind kind) : library_(&library) {
    note(library.create_object(kind, &made_));
  }
  cudnn_object(cudnn_object&& other) noexcept
      : library_(other.library_), made_(std::exchange(other.made_, nullptr)), result_(other.result_) {}
  cudnn_object& operator=(cudnn_object&& other) noexcept {
    std::swap(library_, other.library_), std::swap(made_, other.made_), std::swap(result_, other.result_);
    return *this;
  }
  ~cudnn_object() {
    if (made_) library_->destroy_object(made_);
  }
  /// Sets an attribute, by its number in the documentation, to some values of a kind.
  template <class T>
  cudnn_object& set(int attribute, cudnn::value_kind kind, const T* values, std::size_t count) {
    if (ok()) note(library_->set(made_, attribute, kind, static_cast<std::int64_t>(count), values));
    return *this;
  }
  template <class T>
  cudnn_object& set(int attribute, cudnn::value_kind kind, const T& value) {
    return set(attribute, kind, &value, 1);
  }
  /// After this the object is complete, and other objects may refer to it.
  cudnn_object& finish() {
    if (ok()) note(library_->finish(made_));
    return *this;
  }
  /// The values of an attribute, at most `most`; none if it has none.
  template <class T>
  std::vector<T> numbers(int attribute, cudnn::value_kind kind, std::int64_t most) const {
    std::vector<T> all(static_cast<std::size_t>(most), T{});
    std::int64_t found = 0;
    if (library_->get(made_, attribute, kind, most, &found, all.data()) != 0) found = 0;
    all.resize(static_cast<std::size_t>(std::min(found, most)));
    return all;
  }
  /// The one value of an attribute; `otherwise` if it has none.
  template <class T>
  T value(int attribute, cudnn::value_kind kind, T otherwise) const {
    const std::vector<T> found = numbers<T>(attribute, kind, 1);
    return found.empty() ? otherwise : found[0];
  }
  /// The objects that an attribute names. They have places made for them first, each of one kind.
  std::vector<cudnn_object> objects(int attribute, cudnn::object_kind kind, std::int64_t most) const {
    std::vector<cudnn_object> all;
    std::vector<cudnn::object> places;
    for (std::int64_t i = 0; i < most; ++i) places.push_back(all.emplace_back(*library_, kind).get());
    std::int64_t found = 0;
    if (library_->get(made_, attribute, cudnn::of_object, most, &found, places.data()) != 0) found = 0;
    while (static_cast<std::int64_t>(all.size()) > found) all.pop_back();
    return all;
  }
  bool ok() const { return result_ == 0; }
  int result() const { return result_; }
  cudnn::object get() const { return made_; }

 private:
  void note(int result) {
    if (result_ == 0) result_ = result;
  }
  const cudnn* library_;
  cudnn::object made_ = nullptr;
  int result_ = 0;
};

}  // namespace tokamax::cuda_backend
