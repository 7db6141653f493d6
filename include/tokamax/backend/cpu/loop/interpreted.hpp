// tokamax/backend/cpu/loop/interpreted.hpp: run a fused loop that is only known at run time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/loop/operation.hpp>  // tile_size, place, operation
#include <tokamax/base/compiled_once.hpp>          // TOKAMAX_COMPILED_ONCE

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/backend/cpu/loop/copied_rows.hpp>      // read_rows, write_rows, count_row
  #include <tokamax/backend/cpu/loop/loop.hpp>             // each_part, locate
  #include <tokamax/backend/cpu/loop/loop_code.hpp>        // loop_code
  #include <tokamax/backend/cpu/loop/loop_program.hpp>     // loop_program_of
  #include <tokamax/backend/cpu/loop/transposed_copy.hpp>  // copy_transposed
  #include <tokamax/backend/cpu/vector/prefetch.hpp>       // address_behind

  #include <algorithm>   // all_of, min
  #include <functional>  // multiplies
  #include <numeric>     // accumulate, gcd
#endif

namespace tokamax::cpu_backend {

/// Runs any fused loop from its instructions. It works on blocks, which are several whole rows if rows are short, or a part
/// of one row. The operations of the loop read and write arrays where they lie, if a block of an array is dense and has whole
/// tiles; else they work on a copy of the block, in which its rows follow one another.
void run_interpreted(const loop_arguments& a);

#if defined(TOKAMAX_COMPILED_ONCE)
namespace detail {

/// The most elements of a block of which some array is copied. Copies of several arrays stay in the first-level cache.
inline constexpr std::int64_t copied_elements = 512;
static_assert(copied_elements % tile_size == 0);

/// Arrays of a loop that have more bytes come from memory.
inline constexpr std::int64_t cache_bytes = std::int64_t{32} << 20;

struct tiles_tag;
struct places_tag;
struct copies_tag;

/// How the operations of a loop see a slot.
struct slot_view {
  instruction_kind kind;  // load, store or iota
  dtype type;
  std::int64_t bytes;                      // of an element in memory; iota: in a tile
  std::int64_t column_stride, row_stride;  // of the last two axes, in elements
  bool single;                             // one element for the whole loop
  bool copied;                             // even where it is dense

  /// Do the elements of a block lie one behind the other?
  bool is_dense(std::int64_t rows, std::int64_t columns) const {
    return kind != instruction_kind::iota && !copied && column_stride == 1 && (rows == 1 || row_stride == columns);
  }
  /// Can blocks of one row be used without a copy of all elements?
  bool is_long() const {
    return column_stride == 0 || (kind != instruction_kind::iota && !copied && column_stride == 1);
  }
};

/// Is the memory of two slots one, at least in part?
inline bool overlap(const loop_arguments& a, int k, int j) noexcept {
  const auto range = [&](int slot) {
    std::int64_t low = 0, high = 1;
    for (int d = 0; d < a.rank; ++d) {
      const std::int64_t reach = (a.extents[d] - 1) * a.strides[slot * a.rank + d];
      (reach < 0 ? low : high) += reach;
    }
    const auto at = reinterpret_cast<std::intptr_t>(a.pointers[slot]);
    return std::pair{at + low * a.element_bytes[slot], at + high * a.element_bytes[slot]};
  };
  const auto x = range(k), y = range(j);
  return x.first < y.second && y.first < x.second;
}

inline void fill_slot_views(const loop_arguments& a, const loop_code& code, slot_view* views) noexcept {
  for (int i = 0; i < a.kernel->count; ++i) {
    const instruction& l = a.instructions[i];
    const bool stores = l.kind == instruction_kind::store;
    if (!stores && l.kind != instruction_kind::load && l.kind != instruction_kind::iota) continue;
    const int k = stores ? l.b : l.a;
    const std::int64_t* const strides = a.strides + k * a.rank;
    views[k] = {l.kind,
                l.type,
                size_of(l.kind == instruction_kind::iota ? compute_dtype(l.type) : l.type),
                strides[a.rank - 1],
                a.rank > 1 ? strides[a.rank - 2] : 0,
                false,
                false};
    if (l.kind == instruction_kind::iota) views[k].bytes = std::max<std::int64_t>(4, views[k].bytes);
    views[k].single = l.kind == instruction_kind::load &&
                      std::all_of(strides, strides + a.rank, [](std::int64_t s) { return s == 0; });
  }
  for (int j = 0; j < a.slot_count; ++j)
    if (views[j].kind == instruction_kind::store)
      for (int k = 0; k < a.slot_count; ++k)
        if (views[k].kind == instruction_kind::load && code.reads_after_store(k, j) && overlap(a, k, j))
          views[k].copied = true;
}

/// A part of a loop on one thread.
class interpreted_part {
 public:
  interpreted_part(const loop_arguments& a, const loop_code& code, const slot_view* views, bool has_64_bits);
  void run(std::int64_t at, std::int64_t count);

 private:
  void run_block(std::byte* const* first, std::int64_t rows, std::int64_t columns);
  void run_tiles(std::byte* const* first, std::int64_t elements);
  void set_place(int k, std::byte* first, std::int64_t rows, std::int64_t columns);
  void count_elements(std::byte* to, dtype t, const strided_rows& b);
  std::byte* copy_of(int k) const { return copies_ + k * (copied_elements + tile_size) * 8; }

  const loop_arguments& loop_;
  const loop_code& code_;
  const slot_view* const slots_;
  place* const places_;
  std::byte* const copies_;
  bool long_ = true;  // no slot needs copies of long blocks
  bool large_;        // the arrays are larger than caches
};

inline interpreted_part::interpreted_part(const loop_arguments& a, const loop_code& code, const slot_view* views,
                                          bool has_64_bits)
    : loop_(a),
      code_(code),
      slots_(views),
      places_(scratch<places_tag, place>(code.places())),
      copies_(scratch<copies_tag, std::byte>(a.slot_count * (copied_elements + tile_size) * 8)),
      large_(std::accumulate(a.extents, a.extents + a.rank, std::int64_t{4} * a.slot_count, std::multiplies<>()) >
             cache_bytes) {
  const std::int64_t bytes = tile_size * (has_64_bits ? 8 : 4);
  const int constants = a.kernel->constants;
  std::byte* tile = scratch<tiles_tag, std::byte>((constants + code.places() - code.first_tile()) * bytes);
  for (int p = code.place_of_constant(0); p < code.places(); ++p, tile += bytes) places_[p] = {tile, 0};
  for (int i = 0; i < a.kernel->count; ++i)
    if (const instruction& l = a.instructions[i]; l.kind == instruction_kind::constant)
      dispatch(l.type, [&]<dtype T>() {
        each_vector(tile_size, [&](std::int64_t at) {
          set_tile<T>(places_[code.place_of_constant(l.a)].base, at, splat<T>(a.constants[l.a]));
        });
      });
  for (int k = 0; k < a.slot_count; ++k) {
    long_ = long_ && views[k].is_long();
    if (views[k].single) {
      read_rows(copy_of(k), views[k].bytes, {a.pointers[k], 1, tile_size, 0, 0});
      places_[code.place_of_slot(k)] = {copy_of(k), 0};
    }
  }
}

/// `count` elements of the loop from number `at` on.
inline void interpreted_part::run(std::int64_t at, std::int64_t count) {
  const std::int64_t n = loop_.extents[loop_.rank - 1], inner_rows = loop_.rank > 1 ? loop_.extents[loop_.rank - 2] : 1;
  for (const std::int64_t end = at + count; at < end;) {
    const std::int64_t row = at / n, column = at % n, left = end - at;
    std::int64_t rows = 1, columns = std::min(n - column, left);
    if (column == 0 && n <= left && n < copied_elements) {
      rows = std::min({left / n, copied_elements / n, inner_rows - row % inner_rows});
      const std::int64_t whole_tiles = tile_size / std::gcd(n, tile_size);  // so many rows have whole tiles
      if (rows > whole_tiles) rows -= rows % whole_tiles;
    }
    if (rows == 1) {
      if (!long_) columns = std::min(columns, copied_elements);
      if (columns > tile_size) columns -= columns % tile_size;
    }
    std::byte* first[max_loop_slots];
    locate(loop_, row, column, first);
    run_block(first, rows, columns);
    at += rows * columns;
  }
}

inline void interpreted_part::run_block(std::byte* const* first, std::int64_t rows, std::int64_t columns) {
  for (int k = 0; k < loop_.slot_count; ++k)
    if (!slots_[k].single) set_place(k, first[k], rows, columns);
  places_[0] = {nullptr, rows * columns};
  run_tiles(first, rows * columns);
  for (int k = 0; k < loop_.slot_count; ++k)
    if (slots_[k].kind == instruction_kind::store && places_[code_.place_of_slot(k)].base != first[k])
      write_rows(copy_of(k), slots_[k].bytes, {first[k], rows, columns, slots_[k].row_stride, 1});
}

/// Runs the operations of the loop for each tile of a block. An operation reads the lines of a tile in the order that the
/// compiler likes, which the hardware does not foresee, so arrays that are larger than caches are prefetched.
inline void interpreted_part::run_tiles(std::byte* const* first, std::int64_t elements) {
  constexpr std::int64_t line = 64, tiles_ahead = 4;
  place arrays[max_loop_slots];
  int count = 0;
  for (int k = 0; k < loop_.slot_count; ++k)
    if (const place& p = places_[code_.place_of_slot(k)]; large_ && p.base == first[k] && p.step > 0)
      arrays[count++] = p;
  const operation* const o = code_.operations();
  const operation::vector none{};
  for (std::int64_t at = 0; at < elements; at += tile_size) {
    for (int k = 0; k < count; ++k)
      for (std::int64_t i = at * arrays[k].step, end = i + tile_size * arrays[k].step; i < end; i += line)
        __builtin_prefetch(address_behind(arrays[k].base, i + tiles_ahead * tile_size * arrays[k].step));
    o->run.pointer(o, places_, at, none, none, none, none, none, none, none, none);
  }
}

inline void interpreted_part::set_place(int k, std::byte* first, std::int64_t rows, std::int64_t columns) {
  const slot_view& s = slots_[k];
  place& p = places_[code_.place_of_slot(k)];
  if (s.is_dense(rows, columns) && rows * columns % tile_size == 0) {
    p = {first, s.bytes};
  } else {
    const bool one = s.kind != instruction_kind::store && s.column_stride == 0 && rows == 1;  // element for all
    const strided_rows b{first, rows, one ? tile_size : columns, s.row_stride, s.column_stride};
    if (s.kind == instruction_kind::load)
      read_rows(copy_of(k), s.bytes, b);
    else if (s.kind == instruction_kind::iota)
      count_elements(copy_of(k), s.type, b);
    p = {copy_of(k), one ? 0 : s.bytes};
  }
}

/// The elements of a slot that counts. Its "pointer" is the first number.
inline void interpreted_part::count_elements(std::byte* to, dtype t, const strided_rows& b) {
  dispatch(t, [&]<dtype T>() {
    for (std::int64_t r = 0; r < b.rows; ++r)
      count_row<T>(to + r * b.columns * tile_bytes<T>, reinterpret_cast<std::int64_t>(b.first) + r * b.row_stride,
                   b.column_stride, b.columns);
  });
}

}  // namespace detail

TOKAMAX_COMPILED_ONCE void run_interpreted(const loop_arguments& a) {
  if (const instruction* const l = a.instructions; a.kernel->count == 2 && l[0].kind == instruction_kind::load &&
                                                   l[1].kind == instruction_kind::store && l[0].type == l[1].type)
    if (copy_transposed(a, l[0].a, l[1].b)) return;
  if (const loop_program* const p = loop_program_of(a)) return p->run(a);
  const loop_code code(a);
  detail::slot_view views[max_loop_slots];
  detail::fill_slot_views(a, code, views);
  const bool wide = std::any_of(a.instructions, a.instructions + a.kernel->count,
                                [](const instruction& l) { return bits_of(l.type) == 64; });
  each_part(
      a, [&](std::int64_t at, std::int64_t count) { detail::interpreted_part(a, code, views, wide).run(at, count); });
}
#endif

}  // namespace tokamax::cpu_backend
