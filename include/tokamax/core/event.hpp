// tokamax/core/event.hpp: the end of work that a device does asynchronously.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/far/device.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <atomic>  // atomic
#include <memory>  // unique_ptr

namespace tokamax {

class device;

/// The end of work that was submitted to the queue of a device. The buffers that the work writes share it.
class event {
 public:
  event() = default;
  event(const event&) = delete;
  /// Waits until the work has ended. Any number of threads may wait.
  /// errors  the exception of the work
  virtual void wait() = 0;
  /// Makes work that a device is given from now on begin after this. A device with a queue in hardware need not wait for it.
  /// errors  the exception of the work, if it is known
  virtual void precede(device&) { wait(); }
  /// Has the work ended, whether successfully or not?
  virtual bool is_done() const noexcept = 0;

  void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  virtual ~event() = default;

 private:
  std::atomic<int> refs_{1};
};

struct event_release {
  void operator()(event* e) const noexcept { e->release(); }
};
/// A share of an event, which is released at its end.
using event_share = std::unique_ptr<event, event_release>;
/// One more share of an event, or of none.
inline event_share share_of(event* e) {
  if (e) e->retain();
  return event_share(e);
}

}  // namespace tokamax
