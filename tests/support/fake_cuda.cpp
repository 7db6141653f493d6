// tests/support/fake_cuda.cpp: what the functions of a driver and a compiler of GPUs that are not there do.
// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cuda.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "support/emulated_text.hpp"

namespace tokamax::test {

using namespace cuda_backend;
using cuda_backend::context;  // of a driver, and not that of a thread

namespace {

/// Counts a call of a function by its name; then, unless it is to fail, does `work`, whose result is that of the call.
template <class F>
int call(const char* name, const F& work) {
  fake_cuda& f = fake_cuda::get();
  if (const int result = f.called(name)) return result;
  if constexpr (std::is_void_v<decltype(work(f))>)
    return work(f), 0;
  else
    return work(f);
}
constexpr std::size_t guard = 64;
std::size_t size_of_block(std::size_t bytes) { return (bytes + guard + 255) / 256 * 256; }
std::byte* bytes_at(device_pointer p) { return reinterpret_cast<std::byte*>(p); }

/// Code is a line of this kind, with the number of the bytes that follow.
constexpr std::string_view code_head = "fake code ";
struct module_of_text {
  void* library = nullptr;
  std::string text;  ///< of kernels that do nothing
  std::map<std::string, std::unique_ptr<fake_cuda::kernel>> kernels;
};
struct text_program {
  std::string text, code, messages;
};

text_program& text_of(nvrtc::program p) { return *reinterpret_cast<text_program*>(p); }

int load(module_handle* made, const char* code) {
  const std::string_view head(code, strnlen(code, 64));
  if (!head.starts_with(code_head)) return fake_cuda::unknown;
  char* end = nullptr;
  const std::size_t bytes = std::strtoull(code + code_head.size(), &end, 10);
  auto m = std::make_unique<module_of_text>();
  m->text.assign(end + 1, bytes);
  if (m->text.starts_with("\x7f"
                          "ELF")) {
    const int file = memfd_create("tokamax_fake_code", 0);  // stays open: the loader knows libraries by their paths
    const bool written = ::write(file, m->text.data(), bytes) == static_cast<ssize_t>(bytes);
    if (written) m->library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!m->library) return fake_cuda::unknown;
  }
  *made = reinterpret_cast<module_handle>(m.release());
  return 0;
}

}  // namespace

int fake_cuda::allocate(device_pointer* p, std::size_t bytes, gpu& where) {
  const std::lock_guard lock(mutex_);
  if (bytes > now.memory - std::min(now.memory, used_)) return out_of_memory;
  const std::size_t size = size_of_block(bytes);
  std::vector<device_pointer>& again = idle_[size];
  if (again.empty()) again.push_back(reinterpret_cast<device_pointer>(std::aligned_alloc(256, size)));
  *p = again.back();
  again.pop_back();
  std::memset(bytes_at(*p), 0xa5, size);
  blocks_[*p] = {bytes, &where};
  used_ += bytes;
  return 0;
}
void fake_cuda::free_now(device_pointer p) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(p);
  if (found == blocks_.end()) return;
  const std::size_t bytes = found->second.bytes;
  used_ -= bytes;
  std::memset(bytes_at(p), 0x5a, bytes);
  idle_[size_of_block(bytes)].push_back(p);
  blocks_.erase(found);
}
fake_cuda::gpu* fake_cuda::owner_of(device_pointer p, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto next = blocks_.upper_bound(p);
  if (next == blocks_.begin()) return nullptr;
  --next;
  return p + bytes <= next->first + next->second.bytes ? next->second.owner : nullptr;
}

fake_cuda::graph::~graph() {
  for (const device_pointer p : released) get().free_now(p);
}
int fake_cuda::graph::run() const {
  int result = 0;
  for (const auto& piece : work)
    if (result == 0) result = piece();
  return result;
}

void* fake_cuda::pin(std::size_t bytes) {
  void* const p = std::malloc(bytes);
  const std::lock_guard lock(mutex_);
  pinned_[static_cast<const std::byte*>(p)] = bytes;
  return p;
}
bool fake_cuda::is_pinned(const void* p) const {
  const auto* const byte = static_cast<const std::byte*>(p);
  const std::lock_guard lock(mutex_);
  const auto next = pinned_.upper_bound(byte);
  return next != pinned_.begin() && byte < std::prev(next)->first + std::prev(next)->second;
}
std::size_t fake_cuda::pinned_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t all = 0;
  for (const auto& [p, bytes] : pinned_) all += bytes;
  return all;
}

void fake_cuda::add(queue* q) {
  const std::lock_guard lock(mutex_);
  queues_.push_back(q);
}
void fake_cuda::drain() {
  std::unique_lock lock(mutex_);
  const std::vector<queue*> all = queues_;
  lock.unlock();
  for (queue* const q : all) q->drain();
}

void fake_cuda::queue::add(std::function<int()> work) {
  if (graph* const g = recorded_here()) return g->work.push_back(std::move(work));
  const std::lock_guard lock(mutex);
  if (const int most = get().now.delay) {  // is read here, because tests change `now` in the thread that adds work
    random = random * 1664525u + 1013904223u;
    waiting.push_back([work = std::move(work), wait = (random >> 8) % static_cast<unsigned>(most)] {
      std::this_thread::sleep_for(std::chrono::microseconds(wait));
      return work();
    });
  } else {
    waiting.push_back(std::move(work));
  }
  changed.notify_all();
}
fake_cuda::graph* fake_cuda::queue::recorded_here() {
  const std::lock_guard lock(mutex);
  if (!recording || recording->by == std::this_thread::get_id()) return recording;
  ++get().strays_;
  return nullptr;
}
int fake_cuda::queue::drain() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return waiting.empty() && !busy; });
  return of->result;
}
void fake_cuda::queue::work() {
  while (true) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !waiting.empty(); });
    const std::function<int()> next = std::move(waiting.front());
    waiting.pop_front();
    busy = true;
    lock.unlock();
    const int found = next();
    lock.lock();
    int none = 0;
    if (found) of->result.compare_exchange_strong(none, found);
    busy = false;
    changed.notify_all();
  }
}

fake_cuda::kernel* fake_cuda::find(void* module, const std::string& name) {
  auto& m = *static_cast<module_of_text*>(module);
  const std::lock_guard lock(mutex_);
  auto& known = m.kernels[name];
  if (known) return known.get();
  auto made = std::make_unique<kernel>();
  made->name = name;
  if (m.library) {
    *reinterpret_cast<void**>(&made->run) = dlsym(m.library, name.c_str());
    const void* const bytes = dlsym(m.library, ("bytes_of_" + name).c_str());
    if (!made->run || !bytes) return nullptr;
    made->bytes = *static_cast<const unsigned long*>(bytes);
  } else if (m.text.find("KERNEL(" + name + ",") == std::string::npos) {
    return nullptr;
  }
  known = std::move(made);
  return known.get();
}
int fake_cuda::launch(kernel& k, const unsigned* grid, queue& q, const void* record) {
  if (grid[0] == 0 || grid[1] == 0 || grid[1] > 65535 || grid[3] == 0 || grid[3] > 1024) return 1;
  std::vector<std::byte> copy(k.bytes);
  std::memcpy(copy.data(), record, k.bytes);
  q.add([this, &k, &q, extents = std::array{grid[0], grid[1], grid[2], grid[3]}, copy = std::move(copy)] {
    {
      const std::lock_guard lock(mutex_);
      if (const auto failing = failing_kernels_.find(q.of->device); failing != failing_kernels_.end()) {
        const int result = failing->second;
        failing_kernels_.erase(failing);
        return result;
      }
    }
    if (k.run && q.of->result == 0) k.run(extents.data(), copy.data());
    return 0;
  });
  return 0;
}

namespace {

thread_local context current = nullptr;
thread_local fake_cuda::graph* capturing = nullptr;

/// Does the calling thread record a graph? Then its call fails, and what it records is void. Other threads go on, because the
/// backend records for one thread only.
int refused_while_capturing() {
  if (!capturing) return 0;
  capturing->is_void = true;
  return fake_cuda::not_while_capturing;
}

void fill_device_functions(driver& d) {
  d.initialize = [](unsigned) { return call("cuInit", [](auto&) {}); };
  d.version = [](int* v) { return call("cuDriverGetVersion", [&](fake_cuda& f) { *v = f.now.version; }); };
  d.error_name = [](int result, const char** name) {
    *name = result == fake_cuda::out_of_memory     ? "FAKE_OUT_OF_MEMORY"
            : result == fake_cuda::no_device       ? "FAKE_NO_DEVICE"
            : result == fake_cuda::illegal_address ? "FAKE_ILLEGAL_ADDRESS"
            : result == fake_cuda::launch_failed   ? "FAKE_LAUNCH_FAILED"
                                                   : "FAKE_ERROR";
    return 0;
  };
  d.error_text = [](int, const char** text) { return *text = "as the test wants", 0; };
  d.device_count = [](int* n) { return call("cuDeviceGetCount", [&](fake_cuda& f) { *n = f.now.devices; }); };
  d.device_get = [](int* device, int n) { return call("cuDeviceGet", [&](auto&) { *device = n; }); };
  d.device_name = [](char* name, int size, int) {
    return call("cuDeviceGetName", [&](auto&) { std::snprintf(name, static_cast<std::size_t>(size), "fake"); });
  };
  d.device_attribute = [](int* value, int which, int) {
    return call("cuDeviceGetAttribute", [&](fake_cuda& f) {
      *value = which == attribute_major          ? f.now.major
               : which == attribute_minor        ? f.now.minor
               : which == attribute_memory_pools ? f.now.memory_pools
                                                 : 4;
    });
  };
  d.retain_context = [](context* c, int device) {
    return call("cuDevicePrimaryCtxRetain", [&](auto&) {  // each holder has its own, which others cannot lose
      auto* const of = new fake_cuda::gpu;
      of->device = device;
      *c = reinterpret_cast<context>(of);
    });
  };
  d.set_context = [](context c) { return call("cuCtxSetCurrent", [&](auto&) { current = c; }); };
  d.default_pool = [](memory_pool* p, int device) {
    return call("cuDeviceGetDefaultMemPool",
                [&](auto&) { *p = reinterpret_cast<memory_pool>(static_cast<std::intptr_t>(device) + 1); });
  };
  d.set_pool = [](memory_pool, int, void*) { return call("cuMemPoolSetAttribute", [](auto&) {}); };
  d.can_reach = [](int* can, int, int) {
    return call("cuDeviceCanAccessPeer", [&](fake_cuda& f) { *can = f.now.reach; });
  };
  d.allow_access = [](memory_pool p, const pool_access* who, std::size_t count) {
    return call("cuMemPoolSetAccess", [&](fake_cuda& f) {
      if (!f.now.reach || count != 1 || who->kind != 1 || who->allows != 3) return fake_cuda::unknown;
      f.allow(who->device, static_cast<int>(reinterpret_cast<std::intptr_t>(p)) - 1);
      return 0;
    });
  };
  d.create_stream = [](stream* s, unsigned) {
    return call("cuStreamCreate", [&](auto&) {
      auto* const q = new fake_cuda::queue;  // lives as long as the process, as streams of GPUs do
      q->of = reinterpret_cast<fake_cuda::gpu*>(current);
      fake_cuda::get().add(q);
      std::thread([q] { q->work(); }).detach();
      *s = reinterpret_cast<stream>(q);
    });
  };
  d.synchronize_stream = [](stream s) {
    return call("cuStreamSynchronize", [&](auto&) {
      const int refused = refused_while_capturing();
      return refused ? refused : fake_cuda::of(s).drain();
    });
  };
}

void fill_event_functions(driver& d) {
  d.create_event = [](driver_event* e, unsigned) {
    return call("cuEventCreate", [&](fake_cuda& f) {
      ++f.events_;
      *e = reinterpret_cast<driver_event>(new std::shared_ptr(std::make_shared<fake_cuda::moment>()));
    });
  };
  d.record_event = [](driver_event e, stream s) {
    return call("cuEventRecord", [&](auto&) {
      const auto m = fake_cuda::of(e);
      std::unique_lock now(m->mutex);
      const int recording = ++m->recordings;
      m->reached = false;
      m->in = &fake_cuda::of(s);
      now.unlock();
      fake_cuda::of(s).add([m, recording] {
        const std::lock_guard lock(m->mutex);
        m->reached_recordings = recording;
        m->reached = recording == m->recordings;
        m->time = std::chrono::steady_clock::now();
        m->changed.notify_all();
        return 0;
      });
    });
  };
  d.elapsed = [](float* ms, driver_event a, driver_event b) {
    return call("cuEventElapsedTime", [&](auto&) {
      const auto time_of = [](driver_event e) {
        const std::lock_guard lock(fake_cuda::of(e)->mutex);
        return fake_cuda::of(e)->time;
      };
      *ms = std::chrono::duration<float, std::milli>(time_of(b) - time_of(a)).count();
    });
  };
  d.query_event = [](driver_event e) {
    return call("cuEventQuery", [&](auto&) {
      if (const int refused = refused_while_capturing()) return refused;
      const auto m = fake_cuda::of(e);
      const std::lock_guard lock(m->mutex);
      return m->reached ? m->in ? m->in->of->result.load() : 0 : driver_not_ready;
    });
  };
  d.synchronize_event = [](driver_event e) {
    return call("cuEventSynchronize", [&](auto&) {
      if (const int refused = refused_while_capturing()) return refused;
      const auto m = fake_cuda::of(e);
      std::unique_lock lock(m->mutex);
      m->changed.wait(lock, [&] { return m->reached; });
      return m->in ? m->in->of->result.load() : 0;
    });
  };
  d.destroy_event = [](driver_event e) {
    return call("cuEventDestroy_v2", [&](fake_cuda& f) {
      --f.events_;
      delete &fake_cuda::of(e);
    });
  };
  d.wait_event = [](stream s, driver_event e, unsigned) {
    return call("cuStreamWaitEvent", [&](auto&) {
      const auto m = fake_cuda::of(e);
      std::unique_lock now(m->mutex);
      const int recording = m->recordings;
      now.unlock();
      fake_cuda::of(s).add([m, recording] {
        std::unique_lock lock(m->mutex);
        m->changed.wait(lock, [&] { return m->reached_recordings >= recording; });
        return 0;
      });
    });
  };
}

/// Graphs allocate and release nothing in bodies of nodes with conditions.
bool is_body(stream s) { return fake_cuda::of(s).recording && fake_cuda::of(s).recording->is_body; }

void fill_memory_functions(driver& d) {
  d.allocate = [](device_pointer* p, std::size_t bytes, stream s) {
    return call("cuMemAllocAsync", [&](fake_cuda& f) {
      if (is_body(s)) return fake_cuda::unknown;
      fake_cuda::queue& q = fake_cuda::of(s);
      const bool records = q.recorded_here() != nullptr;
      if (const int lost = q.of->result) return lost;
      const int result = f.allocate(p, bytes, *q.of);
      if (result != fake_cuda::out_of_memory || records) return result;
      f.drain();  // memory that earlier work gives back is free for later work
      return f.allocate(p, bytes, *q.of);
    });
  };
  d.release = [](device_pointer p, stream s) {
    return call("cuMemFreeAsync", [&](fake_cuda& f) {
      if (is_body(s)) return fake_cuda::unknown;
      if (fake_cuda::graph* const g = fake_cuda::of(s).recorded_here())
        g->released.push_back(p);
      else
        fake_cuda::of(s).add([&f, p] { return f.free_now(p), 0; });
      return 0;
    });
  };
  d.allocate_pinned = [](void** p, std::size_t bytes, unsigned) {
    return call("cuMemHostAlloc", [&](fake_cuda& f) {
      if (const int refused = refused_while_capturing()) return refused;
      return *p = f.pin(bytes), 0;
    });
  };
  d.copy_to_device = [](device_pointer to, const void* from, std::size_t bytes, stream s) {
    return call("cuMemcpyHtoDAsync_v2",
                [&](fake_cuda& f) {  // pageable memory of the host is read before the call returns, pinned memory later
                  const auto* const begin = static_cast<const std::byte*>(from);
                  if (f.is_pinned(from))
                    return fake_cuda::of(s).add([&f, to, begin, bytes] {
                      if (!f.owns(to, bytes)) return fake_cuda::illegal_address;
                      return std::memcpy(bytes_at(to), begin, bytes), 0;
                    });
                  fake_cuda::of(s).add([&f, to, data = std::vector<std::byte>(begin, begin + bytes)] {
                    if (!f.owns(to, data.size())) return fake_cuda::illegal_address;
                    return std::memcpy(bytes_at(to), data.data(), data.size()), 0;
                  });
                });
  };
  d.copy_to_host = [](void* to, device_pointer from, std::size_t bytes, stream s) {
    return call("cuMemcpyDtoHAsync_v2", [&](fake_cuda& f) {
      fake_cuda::of(s).add([&f, to, from, bytes] {
        if (!f.owns(from, bytes)) return fake_cuda::illegal_address;
        return std::memcpy(to, bytes_at(from), bytes), 0;
      });
    });
  };
  d.copy_on_device = [](device_pointer to, device_pointer from, std::size_t bytes, stream s) {
    return call("cuMemcpyDtoDAsync_v2", [&](fake_cuda& f) {
      const fake_cuda::gpu* const user = fake_cuda::of(s).of;
      fake_cuda::of(s).add([&f, user, to, from, bytes] {
        const fake_cuda::gpu* const owner = f.owner_of(from, bytes);
        if (!owner || !f.owns(to, bytes)) return fake_cuda::illegal_address;
        if (owner != user) {
          if (!f.is_allowed(user->device, owner->device)) return fake_cuda::illegal_address;
          if (const int lost = owner->result) return lost;
          f.direct_ += bytes;
        }
        return std::memmove(bytes_at(to), bytes_at(from), bytes), 0;
      });
    });
  };
  d.copy_between = [](device_pointer to, context target, device_pointer from, context source, std::size_t bytes,
                      stream s) {
    return call("cuMemcpyPeerAsync", [&](fake_cuda& f) {
      const auto *user = reinterpret_cast<fake_cuda::gpu*>(target), *owner = reinterpret_cast<fake_cuda::gpu*>(source);
      fake_cuda::of(s).add([&f, user, owner, to, from, bytes] {
        if (const int lost = owner->result) return lost;
        if (f.owner_of(from, bytes) != owner || f.owner_of(to, bytes) != user) return fake_cuda::illegal_address;
        f.indirect_ += bytes;
        return std::memmove(bytes_at(to), bytes_at(from), bytes), 0;
      });
    });
  };
  d.fill = [](device_pointer to, unsigned char value, std::size_t bytes, stream s) {
    return call("cuMemsetD8Async", [&](fake_cuda& f) {
      fake_cuda::of(s).add([&f, to, value, bytes] {
        if (!f.owns(to, bytes)) return fake_cuda::illegal_address;
        return std::memset(bytes_at(to), value, bytes), 0;
      });
    });
  };
}

using shared_graph = std::shared_ptr<fake_cuda::graph>;

void fill_graph_functions(driver& d) {
  d.begin_capture = [](stream s, int) {
    return call("cuStreamBeginCapture_v2", [&](auto&) {
      const auto made = std::make_shared<fake_cuda::graph>();
      made->self = made;
      made->by = std::this_thread::get_id();
      fake_cuda::queue& q = fake_cuda::of(s);
      const std::lock_guard lock(q.mutex);
      capturing = q.recording = made.get();
    });
  };
  d.end_capture = [](stream s, launch_graph* made) {
    const int result = call("cuStreamEndCapture", [&](auto&) {});
    fake_cuda::queue& q = fake_cuda::of(s);
    const std::lock_guard lock(q.mutex);
    fake_cuda::graph* const recorded = std::exchange(q.recording, nullptr);
    if (!recorded) return fake_cuda::unknown;
    if (!recorded->is_body) capturing = nullptr;
    const int found = result == 0 && recorded->is_void ? fake_cuda::capture_is_void : result;
    if (found == 0)
      *made = fake_cuda::handle_of(*recorded);
    else if (!recorded->is_body)
      recorded->self.reset();  // the graph is destroyed
    return found;
  };
  d.instantiate = [](executable_graph* made, launch_graph g, unsigned long long) {
    return call("cuGraphInstantiateWithFlags",
                [&](auto&) { *made = reinterpret_cast<executable_graph>(new shared_graph(fake_cuda::of(g).self)); });
  };
  d.run_graph = [](executable_graph g, stream s) {
    return call("cuGraphLaunch", [&](auto&) {
      const shared_graph& all = *reinterpret_cast<shared_graph*>(g);
      if (!all->bodies.empty() && !all->self) return fake_cuda::unknown;  // conditions live as long as their graph
      fake_cuda::of(s).add([all] { return all->run(); });
      return 0;
    });
  };
  d.destroy_graph = [](launch_graph g) {
    return call("cuGraphDestroy", [&](auto&) { fake_cuda::of(g).self.reset(); });
  };
  d.destroy_executable = [](executable_graph g) {
    return call("cuGraphExecDestroy", [&](auto&) { delete reinterpret_cast<shared_graph*>(g); });
  };
}

/// Nodes are not told apart: what comes next is behind all that was recorded.
char place_of_last_node;
const graph_node last_node = reinterpret_cast<graph_node>(&place_of_last_node);

int add_node(fake_cuda::graph& to, const conditional_node_parameters& p, launch_graph** bodies) {
  const auto is_known = [&](unsigned& c) { return reinterpret_cast<unsigned long long>(&c) == p.condition; };
  const auto condition = std::find_if(to.conditions.begin(), to.conditions.end(), is_known);
  const bool chooses = p.kind == condition_kind::chooses;
  if (condition == to.conditions.end() || p.type != 13 || !p.where || p.body_count == 0) return 1;
  if (!chooses && (p.kind != condition_kind::repeats || p.body_count != 1)) return 1;
  auto& made = to.bodies.emplace_back();
  auto& handles = to.handles.emplace_back();
  for (unsigned b = 0; b < p.body_count; ++b) {
    made.push_back(std::make_shared<fake_cuda::graph>());
    made.back()->is_body = true;
    handles.push_back(fake_cuda::handle_of(*made.back()));
  }
  *bodies = handles.data();
  to.work.push_back([&made, &value = *condition, chooses] {
    int result = 0;
    const auto run = [&](unsigned b) {
      ++fake_cuda::get().turns_;
      result = made[b]->run();
    };
    if (chooses && value < made.size()) run(value);
    while (!chooses && value != 0 && result == 0) run(0);
    return result;
  });
  return 0;
}

void fill_condition_functions(driver& d) {
  d.capture_of = [](stream s, int* status, unsigned long long*, launch_graph* g, const graph_node** before,
                    std::size_t* count) {
    return call("cuStreamGetCaptureInfo_v2", [&](auto&) {
      fake_cuda::graph* const recording = fake_cuda::of(s).recording;
      *status = recording != nullptr;
      *g = recording ? fake_cuda::handle_of(*recording) : nullptr;
      if (before) *before = &last_node;
      if (count) *count = 1;
    });
  };
  d.go_on_behind = [](stream s, graph_node*, std::size_t count, unsigned how) {
    return call("cuStreamUpdateCaptureDependencies",
                [&](auto&) { return fake_cuda::of(s).recording && count == 1 && how == 1 ? 0 : 1; });
  };
  d.begin_capture_to = [](stream s, launch_graph g, const graph_node*, const void*, std::size_t, int) {
    return call("cuStreamBeginCaptureToGraph", [&](auto&) {
      fake_cuda::queue& q = fake_cuda::of(s);
      const std::lock_guard lock(q.mutex);
      if (q.recording) return 1;
      q.recording = &fake_cuda::of(g);
      q.recording->by = std::this_thread::get_id();
      return 0;
    });
  };
  d.create_condition = [](unsigned long long* made, launch_graph g, context, unsigned value, unsigned) {
    return call("cuGraphConditionalHandleCreate", [&](auto&) {
      *made = reinterpret_cast<unsigned long long>(&fake_cuda::of(g).conditions.emplace_back(value));
    });
  };
  d.add_node = [](graph_node* made, launch_graph g, const graph_node* before, std::size_t count,
                  conditional_node_parameters* p) {
    return call("cuGraphAddNode", [&](auto&) {
      if (count != 1 || *before != last_node) return 1;
      *made = last_node;
      return add_node(fake_cuda::of(g), *p, &p->bodies);
    });
  };
}

}  // namespace

driver fake_cuda::driver() {
  cuda_backend::driver d;
  fill_device_functions(d);
  fill_event_functions(d);
  fill_memory_functions(d);
  d.load_module = [](module_handle* m, const void* code) {
    return call("cuModuleLoadData", [&](auto&) { return load(m, static_cast<const char*>(code)); });
  };
  d.find_function = [](function_handle* f, module_handle m, const char* name) {
    return call("cuModuleGetFunction", [&](fake_cuda& all) {
      *f = reinterpret_cast<function_handle>(all.find(m, name));
      return *f ? 0 : 500;
    });
  };
  d.launch = [](function_handle f, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned, unsigned,
                stream s, void** parameters, void**) {
    return call("cuLaunchKernel", [&](fake_cuda& all) {
      const unsigned grid[] = {x, y, z, threads};
      return all.launch(*reinterpret_cast<kernel*>(f), grid, of(s), *parameters);
    });
  };
  fill_graph_functions(d);
  fill_condition_functions(d);
  return d;
}

bool fake_cuda::compiles_text() { return emulates_text; }
nvrtc fake_cuda::compiler() {
  using program = cuda_backend::nvrtc::program;
  cuda_backend::nvrtc n;
  n.version = [](int* major, int* minor) {  // code that runs is not found as code that does nothing
    return *major = 13, *minor = fake_cuda::get().now.runs_kernels, 0;
  };
  n.error_text = [](int) { return "fake compiler"; };
  n.create = [](program* p, const char* text, const char*, int, const char* const*, const char* const*) {
    return call("nvrtcCreateProgram", [&](auto&) { *p = reinterpret_cast<program>(new text_program{text, {}, {}}); });
  };
  n.destroy = [](program* p) { return delete &text_of(*p), *p = nullptr, 0; };
  n.compile = [](program p, int, const char* const*) {
    return call("nvrtcCompileProgram", [&](fake_cuda& f) {
      text_program& t = text_of(p);
      const std::string code = f.now.runs_kernels ? compiled_for_host(t.text, t.messages) : t.text;
      t.code = std::string(code_head) + std::to_string(code.size()) + "\n" + code;
      return code.empty() ? 6 : 0;
    });
  };
  n.log_size = [](program p, std::size_t* size) { return *size = text_of(p).messages.size(), 0; };
  n.log = [](program p, char* to) { return text_of(p).messages.copy(to, std::string::npos), 0; };
  n.code_size = [](program p, std::size_t* size) {
    return call("nvrtcGetCUBINSize", [&](auto&) { *size = text_of(p).code.size(); });
  };
  n.code = [](program p, char* to) {
    return call("nvrtcGetCUBIN", [&](auto&) { text_of(p).code.copy(to, std::string::npos); });
  };
  return n;
}

}  // namespace tokamax::test
