// tokamax/kernel/grid_run.hpp: how the steps of a grid run on the host.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/kernel/grid_loop.hpp>    // kernel_attributes

#include <algorithm>  // min
#include <string>     // to_string
#include <vector>     // vector

namespace tokamax::detail {

/// Runs f(of, i, worker) for i from 0 to n - 1, on `workers` threads or fewer.
struct grid_threads {
  using step = void (*)(void* of, std::int64_t i, int worker);
  int workers = 1;
  void (*each)(std::int64_t n, step f, void* of) = nullptr;
};

/// Runs a grid_loop. The steps along parallel axes are chunks, which threads share.
void run_grid_on(const kernel_arguments& a, const grid_threads& threads);

#if defined(TOKAMAX_COMPILED_ONCE)

/// A box of memory: extents, and strides in elements of so many bytes.
struct memory_box {
  std::byte* data;
  shape strides;
};

/// Copies a box, in runs that are as long as both sides allow.
TOKAMAX_COMPILED_ONCE void copy_box(device& where, const memory_box& to, const memory_box& from, const shape& extents,
                                    std::int64_t element) {
  int rows = extents.rank();
  std::int64_t run = 1;
  while (rows > 0 && (extents[rows - 1] == 1 || (to.strides[rows - 1] == run && from.strides[rows - 1] == run)))
    run *= extents[--rows];
  std::int64_t count = run > 0;
  for (int i = 0; i < rows; ++i) count *= extents[i];
  for (std::int64_t c = 0; c < count; ++c) {
    std::int64_t left = c, at = 0, source = 0;
    for (int i = rows - 1; i >= 0; --i) {
      at += left % extents[i] * to.strides[i];
      source += left % extents[i] * from.strides[i];
      left /= extents[i];
    }
    where.copy_in_step(to.data + at * element, from.data + source * element, static_cast<std::size_t>(run * element));
  }
}

/// Fills memory with what `unwritten` gives: NaN, the least integer, false.
TOKAMAX_COMPILED_ONCE void poison(device& where, std::byte* data, dtype type, std::int64_t count) {
  dispatch(type, [&]<dtype T>() {
    using element = element_t<T>;
    element value{};
    if constexpr (std::numeric_limits<element>::has_quiet_NaN)
      value = std::numeric_limits<element>::quiet_NaN();
    else if constexpr (is_floating(T))
      value = static_cast<element>(std::numeric_limits<float>::quiet_NaN());
    else if constexpr (is_integer(T))
      value = std::numeric_limits<element>::lowest();
    if (where.is_host()) {
      std::fill_n(reinterpret_cast<element*>(data), count, value);
    } else {
      const std::vector<std::byte> pattern = [&] {
        std::vector<std::byte> bytes(static_cast<std::size_t>(count) * sizeof(element));
        for (std::int64_t i = 0; i < count; ++i)
          std::copy_n(reinterpret_cast<const std::byte*>(&value), sizeof value,
                      bytes.data() + static_cast<std::size_t>(i) * sizeof value);
        return bytes;
      }();
      where.write_in_step(data, pattern.data(), pattern.size());
    }
  });
}

/// What the workers of one grid_loop share.
class grid_run {
 public:
  grid_run(const kernel_arguments& a)
      : arguments(a), layout(unpack<kernel_attributes>(a.attributes)), where(a.context->where) {
    for (int i = layout.parallel; i < layout.grid.rank(); ++i) steps *= layout.grid[i];
    for (int i = 0; i < layout.parallel; ++i) chunks *= layout.grid[i];
  }
  const kernel_arguments& arguments;
  const kernel_attributes layout;
  device& where;
  std::int64_t chunks = 1, steps = 1;  ///< number of chunks, and of steps in each

  const array_view& array_of(int r) const {
    return r < layout.inputs ? arguments.in[layout.prefetch + r] : arguments.out[r - layout.inputs];
  }
  /// Gives outputs the values with which they begin.
  void begin_outputs() const;

 private:
  /// Do the blocks of an output cover it, as far as its indices tell?
  bool covers(const block_info& b) const {
    for (int i = 0; i < b.block.rank(); ++i) {
      if (b.index[i] == block_info::by_map) return false;
      const std::int64_t steps_along = b.index[i] < 0 ? 1 : layout.grid[static_cast<int>(b.index[i])];
      if (steps_along * b.unit(i) < b.array.shape[i]) return false;
    }
    return chunks * steps > 0;
  }
};

TOKAMAX_COMPILED_ONCE void grid_run::begin_outputs() const {
  for (int o = 0; o < layout.outputs; ++o) {
    const block_info& b = layout.output(o);
    const array_view& to = arguments.out[o];
    const auto bytes = static_cast<std::size_t>(to.size() * size_of(to.type));
    if (b.alias >= 0) {
      if (arguments.in[b.alias].data != to.data)
        where.copy_in_step(to.as<std::byte>(), arguments.in[b.alias].as<std::byte>(), bytes);
    } else if (b.reads || !covers(b)) {
      poison(where, to.as<std::byte>(), to.type, to.size());
    }
  }
}

/// One thread's blocks, and the steps that it runs.
class grid_worker {
 public:
  grid_worker(const grid_run& run, body_runs& bodies);
  void run_chunk(std::int64_t chunk);

 private:
  struct place {
    std::byte *block = nullptr, *spare = nullptr;  ///< memory of the worker; a spare if the body cannot write in place
    std::byte* now = nullptr;                      ///< where the ref is
    shape start;                                   ///< of the block in the array
    bool entered = false, direct = false;          ///< direct: the ref is memory of the array
  };
  void step();
  void find_blocks();
  void enter(int r, const shape& start);
  void leave(int r);
  memory_box in_array(int r) const;
  shape valid(int r) const;
  bool lies_dense(int r) const;

  const grid_run& run_;
  const kernel_attributes& k_;
  body_runs& bodies_;
  handle memory_;
  std::int32_t ids_[max_rank] = {};
  std::vector<std::int32_t> numbers_;  // results of the maps
  std::byte *id_memory_ = nullptr, *number_memory_ = nullptr;
  std::vector<place> places_;
  std::vector<std::byte*> inputs_, outputs_, map_inputs_, map_outputs_;
};

TOKAMAX_COMPILED_ONCE grid_worker::grid_worker(const grid_run& run, body_runs& bodies)
    : run_(run), k_(run.layout), bodies_(bodies), places_(k_.refs.size()) {
  std::int64_t bytes = 64;
  const auto reserve = [&](std::int64_t n) {
    const std::int64_t at = bytes;
    bytes += (n + 127) / 64 * 64;  // kernels may read a vector behind the end
    return at;
  };
  int mapped = 0;
  for (const block_info& b : k_.refs)
    for (const std::int64_t i : b.index) mapped += i == block_info::by_map;
  numbers_.resize(static_cast<std::size_t>(mapped));
  const std::int64_t ids = reserve(4 * max_rank), numbers = reserve(4 * mapped);
  std::vector<std::int64_t> at(2 * places_.size(), 0);
  for (int r = 0; r < k_.refs.count(); ++r) {
    const block_info& b = k_.refs[r];
    if (b.window) continue;
    const std::int64_t block = size(b.block) * size_of(b.array.dtype);
    at[2 * static_cast<std::size_t>(r)] = reserve(block);
    const bool in_place = r < k_.inputs || !b.reads || bodies.donor(0, r - k_.inputs) == k_.input_of(r);
    if (!in_place) at[2 * static_cast<std::size_t>(r) + 1] = reserve(block);
  }
  memory_ = run.where.allocate(static_cast<std::size_t>(bytes));
  std::byte* const base = run.where.kernel_address(memory_->data);
  id_memory_ = base + ids;
  number_memory_ = base + numbers;
  for (std::size_t r = 0; r < places_.size(); ++r) {
    if (at[2 * r]) places_[r].block = base + at[2 * r];
    if (at[2 * r + 1]) places_[r].spare = base + at[2 * r + 1];
  }
  for (int i = 0; i < k_.grid.rank(); ++i) inputs_.push_back(id_memory_ + 4 * i);
  for (int i = 0; i < k_.prefetch; ++i) inputs_.push_back(run.arguments.in[i].as<std::byte>());
  map_inputs_ = inputs_;
  inputs_.resize(inputs_.size() + places_.size());
  outputs_.resize(static_cast<std::size_t>(k_.writable()));
  for (int i = 0; i < mapped; ++i) map_outputs_.push_back(number_memory_ + 4 * i);
}

TOKAMAX_COMPILED_ONCE void grid_worker::run_chunk(std::int64_t chunk) {
  for (int i = k_.parallel - 1; i >= 0; --i) {
    ids_[i] = static_cast<std::int32_t>(chunk % k_.grid[i]);
    chunk /= k_.grid[i];
  }
  for (int r = 0; r < k_.refs.count(); ++r) {
    place& p = places_[static_cast<std::size_t>(r)];
    p.entered = false;
    if (r < k_.inputs + k_.outputs) continue;
    p.now = p.block;
    const block_info& b = k_.refs[r];
    if (b.reads) poison(run_.where, p.now, b.space == memory_space::semaphore ? u32 : b.array.dtype, size(b.block));
  }
  for (std::int64_t s = 0; s < run_.steps; ++s) {
    std::int64_t left = s;
    for (int i = k_.grid.rank() - 1; i >= k_.parallel; --i) {
      ids_[i] = static_cast<std::int32_t>(left % k_.grid[i]);
      left /= k_.grid[i];
    }
    step();
  }
  for (int r = k_.inputs; r < k_.inputs + k_.outputs; ++r) leave(r);
}

TOKAMAX_COMPILED_ONCE void grid_worker::step() {
  run_.where.write_in_step(id_memory_, reinterpret_cast<const std::byte*>(ids_),
                           sizeof(std::int32_t) * static_cast<std::size_t>(k_.grid.rank()));
  find_blocks();
  for (int r = 0; r < k_.refs.count(); ++r) {
    place& p = places_[static_cast<std::size_t>(r)];
    inputs_[static_cast<std::size_t>(k_.input_of(r))] = p.now;
    if (r < k_.inputs) continue;
    std::byte* const next = !p.spare ? p.now : p.now == p.spare ? p.block : p.spare;
    outputs_[static_cast<std::size_t>(r - k_.inputs)] = next;
  }
  bodies_.run(0, inputs_.data(), outputs_.data());
  for (int r = k_.inputs; r < k_.refs.count(); ++r)
    places_[static_cast<std::size_t>(r)].now = outputs_[static_cast<std::size_t>(r - k_.inputs)];
}

/// Moves the refs to the blocks of this step.
TOKAMAX_COMPILED_ONCE void grid_worker::find_blocks() {
  if (!numbers_.empty()) {
    bodies_.run(1, map_inputs_.data(), map_outputs_.data());
    run_.where.read_in_step(reinterpret_cast<std::byte*>(numbers_.data()), number_memory_, 4 * numbers_.size());
  }
  std::size_t mapped = 0;
  for (int r = 0; r < k_.inputs + k_.outputs; ++r) {
    const block_info& b = k_.refs[r];
    shape start;
    for (int i = 0; i < b.block.rank(); ++i) {
      const std::int64_t index = b.index[i];
      const std::int64_t number = index == block_info::by_map ? numbers_[mapped++] : index < 0 ? 0 : ids_[index];
      start.push_back(number * b.unit(i));
      if (number < 0 || (start[i] >= b.array.shape[i] && b.array.shape[i] > 0))
        throw error("block_spec: index_map", "block " + std::to_string(number) + " of axis " + std::to_string(i),
                    "a block of " + std::string(message(b.array).view()));
    }
    const place& p = places_[static_cast<std::size_t>(r)];
    if (p.entered && p.start == start) continue;
    if (r >= k_.inputs) leave(r);
    enter(r, start);
  }
}

TOKAMAX_COMPILED_ONCE memory_box grid_worker::in_array(int r) const {
  const array_view& a = run_.array_of(r);
  const shape strides = row_major(a.extents);
  std::int64_t offset = 0;
  for (int i = 0; i < strides.rank(); ++i) offset += places_[static_cast<std::size_t>(r)].start[i] * strides[i];
  return {a.as<std::byte>() + offset * size_of(a.type), strides};
}
/// The extents of the part of the block that is inside of the array.
TOKAMAX_COMPILED_ONCE shape grid_worker::valid(int r) const {
  const block_info& b = k_.refs[r];
  shape inside = b.block;
  for (int i = 0; i < inside.rank(); ++i)
    inside[i] = std::min(inside[i], b.array.shape[i] - places_[static_cast<std::size_t>(r)].start[i]);
  return inside;
}
/// Is the block whole, and its memory in the array that of a dense array?
TOKAMAX_COMPILED_ONCE bool grid_worker::lies_dense(int r) const {
  const block_info& b = k_.refs[r];
  return valid(r) == b.block && is_row_major(b.block, row_major(b.array.shape));
}
TOKAMAX_COMPILED_ONCE void grid_worker::enter(int r, const shape& start) {
  const block_info& b = k_.refs[r];
  place& p = places_[static_cast<std::size_t>(r)];
  p.start = start;
  p.entered = true;
  const memory_box from = in_array(r);
  p.direct = b.window || (!p.spare && lies_dense(r));
  p.now = p.direct ? from.data : p.block;
  if (p.direct || !b.reads) return;
  const shape inside = valid(r);
  if (!(inside == b.block)) poison(run_.where, p.now, b.array.dtype, size(b.block));
  copy_box(run_.where, {p.now, row_major(b.block)}, from, inside, size_of(b.array.dtype));
}
/// Brings what a step wrote into the array.
TOKAMAX_COMPILED_ONCE void grid_worker::leave(int r) {
  place& p = places_[static_cast<std::size_t>(r)];
  if (!p.entered || p.direct) return;
  const block_info& b = k_.refs[r];
  copy_box(run_.where, in_array(r), {p.now, row_major(b.block)}, valid(r), size_of(b.array.dtype));
}

TOKAMAX_COMPILED_ONCE void run_grid_on(const kernel_arguments& a, const grid_threads& threads) {
  const grid_run run(a);
  run.begin_outputs();
  if (run.chunks * run.steps == 0) return;
  const int count = static_cast<int>(std::min<std::int64_t>(threads.workers, run.chunks));
  std::vector<std::unique_ptr<grid_worker>> workers;
  for (int i = 0; i < count; ++i) workers.push_back(std::make_unique<grid_worker>(run, a.bodies->worker(i)));
  if (count == 1) {
    for (std::int64_t c = 0; c < run.chunks; ++c) workers[0]->run_chunk(c);
  } else {
    const auto step = [](void* of, std::int64_t c, int worker) {
      static_cast<std::unique_ptr<grid_worker>*>(of)[worker]->run_chunk(c);
    };
    threads.each(run.chunks, step, workers.data());
  }
}
TOKAMAX_COMPILED_ONCE void run_grid(const kernel_arguments& a) { run_grid_on(a, {}); }
#endif

}  // namespace tokamax::detail
