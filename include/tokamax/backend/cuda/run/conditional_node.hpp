// tokamax/backend/cuda/run/conditional_node.hpp: a node of a CUDA graph whose bodies run as often as a value on the GPU says.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/run/conditional_node.cpp
#pragma once

#include <tokamax/backend/cuda/driver/driver.hpp>          // driver
#include <tokamax/backend/cuda/run/recorded_launches.hpp>  // cannot_record

#include <cstddef>  // offsetof

namespace tokamax::cuda_backend {

/// How a node uses its condition: its only body is repeated while the condition is not 0, or the body whose number it is runs
/// once.
/// source  CUDA Driver API Reference, 13.0: CUgraphConditionalNodeType; the second kind came with CUDA 12.8
enum class condition_kind : int { repeats = 1, chooses = 2 };

/// What a node is made of.
/// source  CUDA Driver API Reference, 12.4 and 13.0: CUgraphNodeParams and CUDA_CONDITIONAL_NODE_PARAMS
struct conditional_node_parameters {
  int type = 13, zeros[3] = {};
  unsigned long long condition = 0;
  condition_kind kind = condition_kind::repeats;
  unsigned body_count = 1;
  launch_graph* bodies = nullptr;  ///< set by the driver, which owns them
  context where = nullptr;
  long long more_zeros[26] = {};
};
static_assert(sizeof(conditional_node_parameters) == 256 && offsetof(conditional_node_parameters, condition) == 16 &&
              offsetof(conditional_node_parameters, bodies) == 32 &&
              offsetof(conditional_node_parameters, where) == 40);

/// A node that is added to what a stream records. First a kernel sets the condition, then comes the node, and then its bodies
/// are recorded by other streams.
///
/// A body may have kernels, copies and fills within the GPU, and further nodes of this kind. Drivers do not survive a call in a
/// body that ends its recording, so no such call may be tried there.
/// source  CUDA C++ Programming Guide, 13.0: conditional graph nodes
///
/// errors  cannot_record if the driver has no such nodes
class conditional_node {
 public:
  conditional_node(const driver& d, context c, stream recorder) : driver_(d), recorder_(recorder) {
    parameters_.where = c;
    require(driver_.create_condition(&parameters_.condition, graph(), c, 0, 0));
  }
  unsigned long long condition() const { return parameters_.condition; }

  /// Adds the node behind all that was recorded until now.
  void add(condition_kind kind, int bodies) {
    parameters_.kind = kind;
    parameters_.body_count = static_cast<unsigned>(bodies);
    const graph_node* before = nullptr;
    std::size_t count = 0;
    launch_graph to = graph(&before, &count);
    graph_node made = nullptr;
    require(driver_.add_node(&made, to, before, count, &parameters_));
    require(driver_.go_on_behind(recorder_, &made, 1, set_dependencies));
  }
  /// Records what `launch` launches on `body_recorder` as body `b`.
  template <class F>
  void record_body(int b, stream body_recorder, const F& launch) const {
    require(driver_.begin_capture_to(body_recorder, parameters_.bodies[b], nullptr, nullptr, 0, capture_of_thread));
    const auto end = [&] {
      launch_graph same = nullptr;
      return driver_.end_capture(body_recorder, &same);
    };
    try {
      launch();
    } catch (...) {
      end();
      throw;
    }
    require(end());
  }

 private:
  static constexpr unsigned set_dependencies = 1;
  static void require(int result) {
    if (result != driver_success) throw cannot_record();
  }
  /// What the stream records to, and the nodes behind which it goes on.
  launch_graph graph(const graph_node** before = nullptr, std::size_t* count = nullptr) const {
    int status = 0;
    launch_graph now = nullptr;
    require(driver_.capture_of(recorder_, &status, nullptr, &now, before, count));
    if (!now) throw cannot_record();
    return now;
  }

  const driver& driver_;
  stream recorder_;
  conditional_node_parameters parameters_;
};

}  // namespace tokamax::cuda_backend
