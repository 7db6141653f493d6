// tokamax/backend/cpu/loop/interpreted.hpp: run a fused loop that is only known at run time, line by line over tiles in the cache.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/compiled.cpp
#pragma once

#include <tokamax/backend/cpu/loop/loop.hpp>             // run_loop
#include <tokamax/backend/cpu/loop/transposed_copy.hpp>  // copy_transposed
#include <tokamax/backend/cpu/vector/element.hpp>        // apply_element, read, write
#include <tokamax/base/compiled_once.hpp>                // TOKAMAX_COMPILED_ONCE

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <algorithm>  // all_of, min
#endif

namespace tokamax::cpu_backend {

/// The number of elements of a tile. A register for f32 has 2 KiB then, so that some tens of them stay in the first-level
/// cache, and choosing a function for each line costs little.
inline constexpr std::int64_t tile_size = 512;

namespace detail {

/// The bytes of an element in a tile register, which holds elements as they are computed: 4, or 8 for 64-bit dtypes. A bool
/// is 0 or 1 in 4 bytes.
template <dtype T>
inline constexpr std::int64_t tile_bytes = T == bool_ ? 4 : size_of(compute_dtype(T));

template <dtype T>
register_t<T> from_tile(const void* p) noexcept {
  if constexpr (T == bool_)
    return int_to_mask(load<i32v>(static_cast<const std::int32_t*>(p)));
  else if constexpr (is_pack<register_t<T>>)
    return read<T, true>(static_cast<const std::byte*>(p), width);
  else
    return load<register_t<T>>(static_cast<const typename register_t<T>::value_type*>(p));
}
inline void to_tile(void* p, f32v v) noexcept { store(static_cast<float*>(p), v); }
inline void to_tile(void* p, i32v v) noexcept { store(static_cast<std::int32_t*>(p), v); }
inline void to_tile(void* p, u32v v) noexcept { store(static_cast<std::uint32_t*>(p), v); }
inline void to_tile(void* p, mask m) noexcept { to_tile(p, mask_to_int(m)); }
template <class T>
void to_tile(void* p, const pack<T>& v) noexcept {
  std::memcpy(p, v.lane, sizeof v.lane);
}

/// Calls f with the number of the first element of each vector.
template <class F>
void each_vector(std::int64_t n, F f) noexcept {
  for (std::int64_t i = 0; i < n; i += width) f(i);
}
/// Reads and writes the vector that begins with element `at` of a register of dtype T.
template <dtype T>
register_t<T> tile_at(const void* p, std::int64_t at) noexcept {
  return from_tile<T>(static_cast<const std::byte*>(p) + at * tile_bytes<T>);
}
template <dtype T, class V>
void set_tile(void* p, std::int64_t at, const V& v) noexcept {
  to_tile(static_cast<std::byte*>(p) + at * tile_bytes<T>, v);
}

// Applies the element function of Op to n elements of registers: the same function that compiled loops use, so that both
// give the same bits.
template <const op& Op, dtype T, int Arity>
void tile_loop(void* out, const void* const* in, std::int64_t n) {
  constexpr dtype first = &Op == &select_p ? bool_ : T;
  const auto put = [out](std::int64_t at, const auto& v) {  // truth values take 4 bytes
    constexpr std::int64_t bytes = std::is_same_v<decltype(v), const mask&> ? 4 : tile_bytes<T>;
    to_tile(static_cast<std::byte*>(out) + at * bytes, v);
  };
  each_vector(n, [&](std::int64_t at) {
    if constexpr (Arity == 1)
      put(at, apply_element<Op, f32>(tile_at<T>(in[0], at)));
    else if constexpr (Arity == 2)
      put(at, apply_element<Op, f32>(tile_at<T>(in[0], at), tile_at<T>(in[1], at)));
    else
      put(at, apply_element<Op, f32>(tile_at<first>(in[0], at), tile_at<T>(in[1], at), tile_at<T>(in[2], at)));
  });
}

// Is the op defined for operands of this dtype?
constexpr bool takes(const op& o, dtype t) {
  if (t == bool_) return o.dtypes == accepts::all || o.dtypes == accepts::booleans;
  return o.dtypes == accepts::all || o.dtypes == accepts::numbers ||
         o.dtypes == (is_integer(t) ? accepts::integers : accepts::floating);
}

template <const op& Op>
constexpr int arity() {
  if constexpr (requires(double x) { element_of<Op>::apply(x); })
    return 1;
  else if constexpr (requires(double x) { element_of<Op>::apply(x, x); })
    return 2;
  else
    return 3;
}

}  // namespace detail

/// The tile loop of an elementwise op for operands of a dtype; null if the op is not defined for it.
template <const op& Op>
tile_function tile_of(dtype operand) {
  if constexpr (&Op == &convert_element_type_p)
    return nullptr;
  else {
    constexpr int n = detail::arity<Op>();
    return dispatch(compute_dtype(operand), []<dtype T>() -> tile_function {
      if constexpr (T == compute_dtype(T) && detail::takes(Op, T))
        return detail::tile_loop<Op, T, n>;
      else
        return nullptr;
    });
  }
}

/// Runs any fused loop from its instructions. It works on blocks, which are several whole rows if rows are short, or a part
/// of one row.
void run_interpreted(const loop_arguments& a);

#if defined(TOKAMAX_COMPILED_ONCE)
namespace detail {

template <dtype To, dtype From>
void convert_loop(void* out, const void* const* in, std::int64_t n) {
  each_vector(n, [&](std::int64_t at) { set_tile<To>(out, at, convert<To, From>(tile_at<From>(in[0], at))); });
}
template <dtype T>
void narrow_tile(void* p, std::int64_t n) noexcept {
  each_vector(n, [&](std::int64_t at) { set_tile<T>(p, at, narrowed<T>(tile_at<T>(p, at))); });
}
template <dtype T>
void saturate_tile(void* p, std::int64_t n) noexcept {
  each_vector(n, [&](std::int64_t at) { set_tile<T>(p, at, saturated<T>(tile_at<T>(p, at))); });
}
/// Converts a register between dtypes: first between the types in which they are computed, then to the narrow dtype.
inline void convert_tile(dtype to, dtype from, void* out, const void* const* in, std::int64_t n) {
  dispatch(compute_dtype(to), [&]<dtype To>() {
    dispatch(compute_dtype(from), [&]<dtype From>() {
      if constexpr (To == compute_dtype(To) && From == compute_dtype(From)) convert_loop<To, From>(out, in, n);
    });
  });
  if (to == from || to == compute_dtype(to)) return;
  dispatch(to, [&]<dtype T>() {
    if constexpr (is_narrow<T>) {
      if (is_integer(T) && is_floating(from))
        saturate_tile<T>(out, n);
      else
        narrow_tile<T>(out, n);
    }
  });
}

struct tile_scratch;

/// A block of a loop that fits into registers. Its rows follow one another in a register.
struct tile_block {
  std::int64_t rows, columns;  // of the block; rows * columns <= tile_size
  std::byte* const* bases;     // the first element of the block in each slot
  const loop_arguments& loop;
  std::int64_t elements() const { return rows * columns; }
  std::int64_t column_stride(int slot) const { return loop.strides[slot * loop.rank + loop.rank - 1]; }
  std::int64_t row_stride(int slot) const { return loop.rank > 1 ? loop.strides[slot * loop.rank + loop.rank - 2] : 0; }
};

/// Loads a row into a register. The vector of the last elements may be written behind the end of the row.
template <dtype T>
void load_row(std::byte* to, const std::byte* p, std::int64_t stride, std::int64_t columns) noexcept {
  constexpr std::int64_t bytes = tokamax::size_of(T);
  const std::int64_t full = columns - columns % width;
  if (stride == 0) {
    const register_t<T> v = read_strided<T>(p, 0, width);
    for (std::int64_t j = 0; j < columns; j += width) set_tile<T>(to, j, v);
  } else if (stride == 1) {
    for (std::int64_t j = 0; j < full; j += width) set_tile<T>(to, j, read<T, true>(p + j * bytes, width));
    if (full < columns) set_tile<T>(to, full, read<T, false>(p + full * bytes, columns - full));
  } else {
    for (std::int64_t j = 0; j < columns; j += width)
      set_tile<T>(to, j, read_strided<T>(p + j * stride * bytes, stride, std::min(width, columns - j)));
  }
}
/// Loads a block into a register. Rows are written in order, because a vector may write behind the end of its row, and the
/// next row overwrites that. Rows that follow one another in memory too are one.
template <dtype T>
void load_block(std::byte* to, const tile_block& b, int slot) noexcept {
  const std::int64_t stride = b.column_stride(slot), apart = b.row_stride(slot), columns = b.columns, rows = b.rows;
  const std::byte* p = b.bases[slot];
  if (apart == columns * stride) return load_row<T>(to, p, stride, rows * columns);
  for (std::int64_t r = 0; r < rows; ++r)
    load_row<T>(to + r * columns * tile_bytes<T>, p + r * apart * tokamax::size_of(T), stride, columns);
}
// Fills a register with the elements of a slot that counts.
template <dtype T>
void count_block(std::byte* to, const tile_block& b, int slot) noexcept {
  const auto first = reinterpret_cast<std::int64_t>(b.bases[slot]);
  for (std::int64_t r = 0; r < b.rows; ++r)
    for (std::int64_t j = 0; j < b.columns; j += width)
      set_tile<T>(to, r * b.columns + j,
                  count_from<T>(first + r * b.row_stride(slot) + j * b.column_stride(slot), b.column_stride(slot)));
}
template <dtype T>
void store_row(std::byte* p, const std::byte* from, std::int64_t at, std::int64_t columns) noexcept {
  constexpr std::int64_t bytes = tokamax::size_of(T);
  const std::int64_t full = columns - columns % width;
  for (std::int64_t j = 0; j < full; j += width) write<T, true>(p + j * bytes, tile_at<T>(from, at + j), width);
  if (full < columns) write<T, false>(p + full * bytes, tile_at<T>(from, at + full), columns - full);
}
template <dtype T>
void store_block(const std::byte* from, const tile_block& b, int slot) noexcept {
  const std::int64_t apart = b.row_stride(slot), columns = b.columns, rows = b.rows;
  std::byte* const p = b.bases[slot];
  if (apart == columns) return store_row<T>(p, from, 0, rows * columns);
  for (std::int64_t r = 0; r < rows; ++r) store_row<T>(p + r * apart * tokamax::size_of(T), from, r * columns, columns);
}

/// Is a slot one element for the whole loop?
inline bool is_scalar(const loop_arguments& loop, int slot) noexcept {
  for (std::int64_t d = 0; d < loop.rank; ++d)
    if (loop.strides[slot * loop.rank + d] != 0) return false;
  return true;
}

/// Are elements of a dtype computed as they lie in memory?
constexpr bool lies_as_computed(dtype t) { return t != bool_ && t == compute_dtype(t); }

/// What a loop may do with memory where a block of it is dense: a load names the memory as its register, and the last line
/// that computes writes its result where it is stored.
struct memory_registers {
  bool loads = false;    ///< nothing is computed behind the first store, which may be over an operand
  int last_result = -1;  ///< the line, whose store follows it; -1: none

  explicit memory_registers(const loop_arguments& a) noexcept {
    const instruction* const l = a.instructions;
    const int n = a.kernel->count;
    int first_store = 0;
    while (first_store < n && l[first_store].kind != instruction_kind::store) ++first_store;
    loads = std::all_of(l + first_store, l + n, [](const instruction& i) { return i.kind == instruction_kind::store; });
    if (loads && first_store == n - 1 && first_store > 0 && l[n - 1].a == n - 2 &&
        l[n - 2].kind == instruction_kind::apply && l[n - 2].type == l[n - 1].type && lies_as_computed(l[n - 1].type))
      last_result = n - 2;
  }
};

/// Do the elements of a block lie one behind the other in a slot, in whole vectors?
inline bool is_dense(const tile_block& b, int slot) noexcept {
  return b.elements() % width == 0 && b.column_stride(slot) == 1 && (b.rows == 1 || b.row_stride(slot) == b.columns);
}

/// The registers of a loop on one thread, of `bytes` bytes for each element.
struct tile_registers {
  std::byte* own;
  std::int64_t bytes;
  std::byte** places;  ///< of each line: its own register, or memory

  std::byte* of(int line) const noexcept { return own + line * (tile_size + width) * bytes; }
};

/// Runs the lines of a loop on one block. If the registers are `fresh`, they do not hold the constants and single elements yet.
inline void interpret(const tile_block& b, const tile_registers& registers, const memory_registers& memory,
                      bool fresh) noexcept {
  const loop_arguments& loop = b.loop;
  std::byte** const place = registers.places;
  for (int i = 0; i < loop.kernel->count; ++i) {
    const instruction& l = loop.instructions[i];
    place[i] = registers.of(i);
    switch (l.kind) {
      case instruction_kind::constant:
        if (fresh)
          dispatch(l.type, [&]<dtype T>() {
            each_vector(tile_size, [&](std::int64_t at) { set_tile<T>(place[i], at, splat<T>(loop.constants[l.a])); });
          });
        break;
      case instruction_kind::load:
        if (memory.loads && lies_as_computed(l.type) && is_dense(b, l.a))
          place[i] = b.bases[l.a];
        else if (!is_scalar(loop, l.a))
          dispatch(l.type, [&]<dtype T>() { load_block<T>(place[i], b, l.a); });
        else if (fresh)  // a later block may be larger
          dispatch(l.type, [&]<dtype T>() { load_row<T>(place[i], b.bases[l.a], 0, tile_size); });
        break;
      case instruction_kind::iota:
        dispatch(l.type, [&]<dtype T>() { count_block<T>(place[i], b, l.a); });
        break;
      case instruction_kind::store:
        if (place[l.a] != b.bases[l.b]) dispatch(l.type, [&]<dtype T>() { store_block<T>(place[l.a], b, l.b); });
        break;
      case instruction_kind::apply: {
        const void* in[3] = {place[l.a], place[l.b < 0 ? 0 : l.b], place[l.c < 0 ? 0 : l.c]};
        if (const int slot = loop.instructions[loop.kernel->count - 1].b; i == memory.last_result && is_dense(b, slot))
          place[i] = b.bases[slot];
        if (l.function == &convert_element_type_p) {
          convert_tile(l.type, l.operand, place[i], in, b.elements());
        } else {
          loop.tiles[i](place[i], in, b.elements());
          if (l.type != compute_dtype(l.type))
            dispatch(l.type, [&]<dtype T>() { narrow_tile<T>(place[i], b.elements()); });
        }
        break;
      }
    }
  }
}

}  // namespace detail

TOKAMAX_COMPILED_ONCE void run_interpreted(const loop_arguments& a) {
  if (const instruction* const l = a.instructions; a.kernel->count == 2 && l[0].kind == instruction_kind::load &&
                                                   l[1].kind == instruction_kind::store && l[0].type == l[1].type)
    if (copy_transposed(a, l[0].a, l[1].b)) return;
  const std::int64_t n = a.extents[a.rank - 1], inner_rows = a.rank > 1 ? a.extents[a.rank - 2] : 1;
  std::int64_t bytes = 4;  // of an element in a register
  for (int i = 0; i < a.kernel->count; ++i)
    if (bits_of(a.instructions[i].type) == 64) bytes = 8;
  const detail::memory_registers memory(a);
  each_part(a, [&](std::int64_t at, std::int64_t count) {
    std::byte* places[max_loop_lines];
    const detail::tile_registers registers{
        scratch<detail::tile_scratch, std::byte>(a.kernel->count * (tile_size + width) * bytes), bytes, places};
    bool fresh = true;
    for (const std::int64_t end = at + count; at < end;) {
      const std::int64_t row = at / n, column = at % n, left = end - at;
      const bool whole = column == 0 && n <= std::min(left, tile_size);  // some rows, else a part of one
      const std::int64_t rows = whole ? std::min({left / n, tile_size / n, inner_rows - row % inner_rows}) : 1;
      const std::int64_t columns = whole ? n : std::min({n - column, left, tile_size});
      std::byte* p[max_loop_slots];
      detail::locate(a, row, column, p);
      detail::interpret({rows, columns, p, a}, registers, memory, fresh);
      fresh = false;
      at += rows * columns;
    }
  });
}
#endif

}  // namespace tokamax::cpu_backend
