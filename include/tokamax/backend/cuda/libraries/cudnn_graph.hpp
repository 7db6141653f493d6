// tokamax/backend/cuda/libraries/cudnn_graph.hpp: graphs of operations that cuDNN runs as one kernel, by one of its engines.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/backend/cuda/libraries/cudnn.hpp>  // cudnn_object

#include <algorithm>  // none_of
#include <array>      // array
#include <memory>     // unique_ptr
#include <string>     // to_string

namespace tokamax::cuda_backend {

/// One of the library's ways to run a graph: an engine, and how its knobs are set.
struct cudnn_engine {
  cudnn_object choice;
  std::string name;           ///< "engine 7 knobs 2=1 32=3", the same in each process
  bool deterministic = true;  ///< does it give the same bits in each run?
};

/// An engine that is ready to run a graph, and the bytes of memory that it needs meanwhile.
struct cudnn_plan {
  cudnn_object object;
  std::int64_t workspace = 0;
};

/// A graph of operations on arrays of four axes, and the plans that run it. Arrays are known by numbers from 1 on. One that
/// is not in memory is an intermediate value of the graph.
class cudnn_graph {
 public:
  using extents = std::array<std::int64_t, 4>;
  explicit cudnn_graph(const cudnn& library = cudnn::loaded()) : library_(&library) {}
  enum place { in_memory, on_host, within };  ///< on_host: one number that is given by its address on the host

  /// The strides of an array without gaps.
  static extents dense(const extents& e) { return {e[1] * e[2] * e[3], e[2] * e[3], e[3], 1}; }

  /// Adds an array and returns its number.
  int array(cudnn::data_type type, const extents& e, const extents& strides, place where) {
    const auto id = static_cast<std::int64_t>(arrays_.size() + 1), alignment = std::int64_t{16};
    const bool is_virtual = where == within, by_value = where == on_host;
    cudnn_object o(
        *library_,
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
    cudnn_object how(*library_, cudnn::pointwise);
    how.set(0, cudnn::of_pointwise_mode, mode).set(1, cudnn::of_data_type, compute);
    if (axis >= 0) how.set(9, cudnn::of_int64, axis);
    cudnn_object o(*library_, cudnn::pointwise_operation);
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
    cudnn_object how(*library_, cudnn::matrix_product);
    how.set(1500, cudnn::of_data_type, compute);
    cudnn_object o(*library_, cudnn::matrix_product_operation);
    o.set(1523, cudnn::of_object, keep(details_, std::move(how)));
    o.set(1520, cudnn::of_object, at(a)).set(1521, cudnn::of_object, at(b)).set(1522, cudnn::of_object, at(c));
    keep(operations_, std::move(o));
    return c;
  }
  /// y = the elements of x along the axes of extent 1 in y, combined.
  int reduce(cudnn::reduction_mode mode, int x, int y) {
    const auto compute = cudnn::f32;
    cudnn_object how(*library_, cudnn::reduction);
    how.set(1600, cudnn::of_reduction, mode).set(1601, cudnn::of_data_type, compute);
    cudnn_object o(*library_, cudnn::reduction_operation);
    o.set(1612, cudnn::of_object, keep(details_, std::move(how)));
    o.set(1610, cudnn::of_object, at(x)).set(1611, cudnn::of_object, at(y));
    keep(operations_, std::move(o));
    return y;
  }
  /// y = x with other extents or strides
  int reshape(int x, int y) {
    cudnn_object o(*library_, cudnn::reshape_operation);
    o.set(2200, cudnn::of_object, at(x)).set(2201, cudnn::of_object, at(y));
    keep(operations_, std::move(o));
    return y;
  }

  /// Completes the graph. Nothing can be added to it then. False if the library refuses it.
  bool finish(cudnn::handle_type handle);
  /// Adds the engines of one of the library's lists that are not there yet, the ones that it thinks are the fastest first.
  void add_engines(cudnn::heuristic list, std::vector<cudnn_engine>& all);
  /// Makes an engine ready, which may compile its code. Null if it refuses the graph.
  std::unique_ptr<cudnn_plan> plan_with(cudnn::handle_type handle, const cudnn_engine& engine);
  /// Why one of these has failed: the number of the library's result, and the stage.
  const std::string& reason() const { return reason_; }

  /// Runs a plan on arrays in memory, each with its number.
  bool run(cudnn::handle_type handle, const cudnn_plan& plan, const std::vector<std::int64_t>& numbers,
           const std::vector<void*>& pointers, void* workspace) const {
    cudnn_object pack(*library_, cudnn::variant_pack);
    // numbers, addresses, workspace
    pack.set(1000, cudnn::of_int64, numbers.data(), numbers.size());
    pack.set(1001, cudnn::of_pointer, pointers.data(), pointers.size());
    pack.set(1003, cudnn::of_pointer, workspace);
    return pack.finish().ok() && library_->execute(handle, plan.object.get(), pack.get()) == 0;
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
  static cudnn_engine described(cudnn_object choice);

  const cudnn* library_;
  std::vector<cudnn_object> arrays_, details_, operations_;
  std::unique_ptr<cudnn_object> graph_;
  std::string reason_;
};

inline bool cudnn_graph::finish(cudnn::handle_type handle) {
  if (!reason_.empty()) return false;
  std::vector<cudnn::object> operations;
  for (const cudnn_object& o : operations_) operations.push_back(o.get());
  graph_ = std::make_unique<cudnn_object>(*library_, cudnn::operation_graph);
  // the handle, and the operations
  graph_->set(800, cudnn::of_handle, handle).set(801, cudnn::of_object, operations.data(), operations.size());
  if (!graph_->finish().ok()) reason_ = "graph: " + std::to_string(graph_->result());
  return graph_->ok();
}

inline void cudnn_graph::add_engines(cudnn::heuristic list, std::vector<cudnn_engine>& all) {
  constexpr std::int64_t most = 64;
  cudnn_object heuristics(*library_, cudnn::engine_choices);
  const cudnn::object graph = graph_->get();
  // the graph, and the list
  heuristics.set(201, cudnn::of_object, graph).set(200, cudnn::of_heuristic, list);
  if (!heuristics.finish().ok()) {
    reason_ = "engines: " + std::to_string(heuristics.result());
    return;
  }
  for (cudnn_object& choice : heuristics.objects(202, cudnn::engine_choice, most)) {
    cudnn_engine made = described(std::move(choice));
    const auto is_same = [&](const cudnn_engine& e) { return e.name == made.name; };
    if (std::none_of(all.begin(), all.end(), is_same)) all.push_back(std::move(made));
  }
  if (all.empty() && reason_.empty()) reason_ = "no engine";
}

/// Reads the engine's number, its notes and the settings of its knobs.
inline cudnn_engine cudnn_graph::described(cudnn_object choice) {
  cudnn_engine made{std::move(choice), {}};
  constexpr std::int64_t most_knobs = 64, most_notes = 16;
  for (const cudnn_object& e : made.choice.objects(300, cudnn::engine, 1)) {
    made.name = "engine " + std::to_string(e.value(1301, cudnn::of_int64, std::int64_t{-1}));
    for (const int note : e.numbers<int>(1303, cudnn::of_numerical_note, most_notes))
      made.deterministic = made.deterministic && note != cudnn::note_nondeterministic;
  }
  made.name += " knobs";
  for (const cudnn_object& k : made.choice.objects(302, cudnn::knob_choice, most_knobs))
    made.name += " " + std::to_string(k.value(600, cudnn::of_knob_kind, -1)) + "=" +
                 std::to_string(k.value(601, cudnn::of_int64, std::int64_t{-1}));
  return made;
}

inline std::unique_ptr<cudnn_plan> cudnn_graph::plan_with(cudnn::handle_type handle, const cudnn_engine& engine) {
  auto plan = std::make_unique<cudnn_plan>(cudnn_plan{{*library_, cudnn::execution_plan}});
  // the handle, and the choice of an engine
  const cudnn::object choice = engine.choice.get();
  plan->object.set(400, cudnn::of_handle, handle).set(401, cudnn::of_object, choice);
  if (!plan->object.finish().ok()) {
    reason_ = "plan: " + std::to_string(plan->object.result());
    return nullptr;
  }
  plan->workspace = plan->object.value(402, cudnn::of_int64, std::int64_t{-1});
  if (plan->workspace < 0) return nullptr;
  return plan;
}

}  // namespace tokamax::cuda_backend
