// tokamax/backend/cuda/run/recorded_launches.hpp: the launches of a program as CUDA graphs, which the driver repeats by one call.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/run/recorded_launches.cpp
#pragma once

#include <tokamax/backend/cuda/driver/driver.hpp>    // driver
#include <tokamax/backend/cuda/run/body_memory.hpp>  // body_memory
#include <tokamax/core/device.hpp>                   // kept_launches

#include <algorithm>  // find_if, rotate
#include <memory>     // unique_ptr
#include <vector>     // vector

namespace tokamax::cuda_backend {

/// Thrown by a step that must wait for the GPU or reads memory of the host, because a recording has no place for that.
struct cannot_record {};

/// The launches of one run of a program for each set of addresses that it was given lately. Steps that donate their state get
/// few sets, which come again and again; what gets new addresses each time is never recorded.
class recorded_launches final : public kept_launches {
 public:
  /// A graph with conditions must live as long as what was made of it.
  struct recording {
    std::vector<std::byte*> memory;
    executable_graph code = nullptr;
    launch_graph graph = nullptr;
    std::unique_ptr<body_memory> of_bodies = nullptr;
  };
  bool has_conditions = false;  ///< do the launches have steps that the GPU decides about?

  recorded_launches(const driver& d, context c) : driver_(d), context_(c) {}
  recorded_launches(const recorded_launches&) = delete;
  ~recorded_launches() override {
    driver_.set_context(context_);
    for (const recording& r : recent_) drop(r);
  }

  /// May launches be recorded? Not if that has failed before.
  bool possible() const { return possible_; }
  void give_up() { possible_ = false; }

  /// The recording for these addresses, which becomes the most recent one; null if they are new. They are known from then on,
  /// in the place of those that were not given for the longest time.
  recording* find(const std::vector<std::byte*>& memory) {
    const auto known = std::find_if(recent_.begin(), recent_.end(), [&](const auto& r) { return r.memory == memory; });
    const bool found = known != recent_.end();
    if (found) {
      std::rotate(recent_.begin(), known, known + 1);
      return &recent_.front();
    }
    if (recent_.size() == most) {
      drop(recent_.back());
      recent_.pop_back();
    }
    recent_.insert(recent_.begin(), recording{.memory = memory});
    return nullptr;
  }

 private:
  // A result that the caller keeps until the next step has two places in turn, and a batch that was put ahead has a few.
  static constexpr std::size_t most = 16;
  void drop(const recording& r) const {
    if (r.code) driver_.destroy_executable(r.code);  // which a run that is under way survives
    if (r.graph) driver_.destroy_graph(r.graph);
  }
  const driver& driver_;
  context context_;
  std::vector<recording> recent_;
  bool possible_ = true;
};

}  // namespace tokamax::cuda_backend
