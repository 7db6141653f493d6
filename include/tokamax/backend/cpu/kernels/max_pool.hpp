// tokamax/backend/cpu/kernels/max_pool.hpp: the largest element of each window, and its gradient.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/windows/pool.cpp
#pragma once

#include <tokamax/backend/cpu/conv/frame.hpp>     // conv_frame
#include <tokamax/backend/cpu/device.hpp>         // cpu_tag
#include <tokamax/backend/cpu/vector/floats.hpp>  // dense_floats, float_result
#include <tokamax/lax/windows/pool.hpp>           // max_pool_p

#include <algorithm>    // min, max, clamp, fill_n
#include <limits>       // numeric_limits
#include <type_traits>  // is_floating_point_v

namespace tokamax {

namespace cpu_backend::detail {

struct max_pool_places;

/// A predicate: does b replace a, the largest element so far? A NaN does, and it is recognised as the one value that is not
/// equal to itself.
template <class V>
auto replaces(V b, V largest) noexcept {
  return (b > largest) | !(b == b);
}

/// The frame of a window that moves over all channels of x at once and gives y.
inline conv_frame pool_frame(const array_view& x, const array_view& y, const max_pool_attributes& a) noexcept {
  array_view window;
  window.extents = a.window;
  shape ones = a.window;
  for (int i = 0; i < ones.rank(); ++i) ones[i] = 1;
  return {
      x, window, y, {.strides = a.strides, .low = a.low, .high = a.high, .lhs_dilation = ones, .rhs_dilation = ones}};
}

/// The elements of an image that a window covers: their positions, and their places in the window.
struct pool_window {
  const std::int32_t *at, *place;  // in units of pixels
  std::int64_t count;
};

/// Calls visit(place of the result, its window) for the rows [row0, row1) of the result.
template <class F>
void each_window(const conv_frame& f, std::int64_t row0, std::int64_t row1, F visit) {
  const std::int64_t most = f.row_window * f.last.window;
  auto* const at = scratch<max_pool_places, std::int32_t>(2 * most + f.row_window);
  std::int32_t *const place = at + most, *const rows = place + most;
  for (std::int64_t row = row0; row < row1; ++row) {
    for (std::int64_t k = 0; k < f.row_window; ++k)
      rows[k] = static_cast<std::int32_t>(f.source_row(f.row_at(row) + f.row_of_window(k)));
    for (std::int64_t p = 0; p < f.last.places; ++p) {
      const std::int64_t start = p * f.last.stride - f.last.low;
      const std::int64_t first = std::max<std::int64_t>(0, -start),
                         last = std::min(f.last.window, f.last.extent - start);
      std::int64_t n = 0;
      for (std::int64_t k = 0; k < f.row_window; ++k)
        for (std::int64_t l = first; rows[k] >= 0 && l < last; ++l, ++n) {
          at[n] = static_cast<std::int32_t>(rows[k] * f.last.extent + start + l);
          place[n] = static_cast<std::int32_t>(k * f.last.window + l);
        }
      visit(row * f.last.places + p, pool_window{at, place, n});
    }
  }
}

/// Calls visit(first channel, how many) for vectors of channels [begin, end).
template <class F>
void each_vector_of(std::int64_t begin, std::int64_t end, std::int64_t size, F visit) noexcept {
  for (std::int64_t j = begin; j < end; j += size) visit(j, std::min(size, end - j));
}

template <class T>
void max_pool(const conv_frame& f, const T* x, T* y) {
  using io = lanes<T>;
  const std::int64_t n = f.channels;
  const auto least = std::is_floating_point_v<typename io::scalar>
                         ? -std::numeric_limits<typename io::scalar>::infinity()
                         : std::numeric_limits<typename io::scalar>::lowest();
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, f.last.places * n));
  parallel_for((f.row_places + grain - 1) / grain, [&](std::int64_t chunk) {
    each_window(f, chunk * grain, std::min(f.row_places, (chunk + 1) * grain),
                [&](std::int64_t to, const pool_window& w) {
                  each_vector_of(0, n, io::size, [&](std::int64_t j, std::int64_t count) {
                    auto largest = io::all(least);
                    for (std::int64_t i = 0; i < w.count; ++i) {
                      const T* const from = x + w.at[i] * n + j;
                      const auto b = count == io::size ? io::load(from) : io::load(from, count, T{});
                      if constexpr (std::is_floating_point_v<typename io::scalar>)
                        largest = xsimd::select(replaces(b, largest), b, largest);
                      else
                        largest = xsimd::max(largest, b);
                    }
                    if (count == io::size)
                      io::store(y + to * n + j, largest);
                    else
                      io::store(y + to * n + j, largest, count);
                  });
                });
  });
}

/// Gives the cotangent g of a window to its largest element, and nothing to the others, channel by channel. It is added to
/// `gradient`, or written if windows do not overlap. `Covered` is the number of elements that the window covers, or 0 if
/// that is w.count.
template <int Covered>
void max_pool_vjp_window(pool_window w, std::int64_t channels, std::int64_t begin, std::int64_t end, bool apart,
                         const float* x, const float* g, float* gradient) noexcept {
  using io = lanes<float>;
  std::int64_t at[Covered + 1];  // copies, because the compiler must assume that stores change w.at
  i32v place[Covered + 1];
  for (int i = 0; i < Covered; ++i) {
    at[i] = w.at[i] * channels;
    place[i] = i32v(w.place[i]);
  }
  const std::int64_t count = Covered > 0 ? Covered : w.count;
  const auto begins = [&](std::int64_t i) { return Covered > 0 ? at[i] : w.at[i] * channels; };
  const auto number = [&](std::int64_t i) { return Covered > 0 ? place[i] : i32v(w.place[i]); };
  const auto give = [&](std::int64_t j, auto read, auto write) {
    f32v largest(-std::numeric_limits<float>::infinity());
    i32v where(0);
    for (std::int64_t i = 0; i < count; ++i) {
      const f32v b = read(x + begins(i) + j);
      const mask better = replaces(b, largest);
      largest = select(better, b, largest);
      where = select_bits(better, number(i), where);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      float* const to = gradient + begins(i) + j;
      const f32v part = select(to_mask(where == number(i)), read(g + j), f32v(0.0f));
      write(to, apart ? part : read(to) + part);
    }
  };
  std::int64_t j = begin;
  for (; j + io::size <= end; j += io::size)
    give(j, [](const float* p) { return io::load(p); }, [](float* p, f32v v) { io::store(p, v); });
  const std::int64_t rest = end - j;
  if (rest > 0)
    give(
        j, [rest](const float* p) { return io::load(p, rest, 0.0f); },
        [rest](float* p, f32v v) { io::store(p, v, rest); });
}

inline void max_pool_vjp(const conv_frame& f, const float* x, const float* ct, float* gradient) {
  const std::int64_t n = f.channels, images = f.lead[0].places, rows = f.row_places / images;
  std::int64_t pixels = f.last.extent;  // of an image
  bool apart = f.plain && f.last.stride == f.last.window && f.last.places * f.last.stride == f.last.extent;
  for (int i = 1; i < f.leads; ++i) {
    pixels *= f.lead[i].extent;
    apart = apart && f.lead[i].stride == f.lead[i].window && f.lead[i].places * f.lead[i].stride == f.lead[i].extent;
  }
  // A chunk is an image, or some of its channels if there are few images. It is never a part of the rows, because windows
  // may overlap.
  const std::int64_t parts = std::clamp<std::int64_t>(16 / images, 1, (n + 15) / 16),
                     part = ((n + parts - 1) / parts + 15) / 16 * 16;
  parallel_for(images * parts, [&](std::int64_t chunk) {
    const std::int64_t image = chunk / parts, begin = chunk % parts * part, end = std::min(n, begin + part);
    if (begin >= end) return;
    if (!apart)
      for (std::int64_t p = image * pixels; p < (image + 1) * pixels; ++p)
        std::fill_n(gradient + p * n + begin, end - begin, 0.0f);
    each_window(f, image * rows, (image + 1) * rows, [&](std::int64_t place, const pool_window& w) {
      const auto visit = w.count == 4 ? max_pool_vjp_window<4> : max_pool_vjp_window<0>;  // most windows are 2 x 2
      visit(w, n, begin, end, apart, x, ct + place * n, gradient);
    });
  });
}

}  // namespace cpu_backend::detail

/// The largest element of each window of an image [N, space..., C].
inline void kernel(op_c<max_pool_p>, cpu_tag, const kernel_arguments& a) {
  const array_view &x = a.in[0], &y = a.out[0];
  if (y.size() == 0) return;
  const cpu_backend::conv_frame frame = cpu_backend::detail::pool_frame(x, y, a.attrs<max_pool_attributes>());
  dispatch(x.type, [&]<dtype E>() {
    using T = element_t<E>;
    if constexpr (E != bool_) cpu_backend::detail::max_pool(frame, x.as<const T>(), y.as<T>());
  });
}

/// The gradient of an image, from the image and the cotangents of its windows.
inline void kernel(op_c<max_pool_vjp_p>, cpu_tag, const kernel_arguments& a) {
  const array_view &x = a.in[0], &ct = a.in[1];
  const cpu_backend::float_result<struct max_pool_gradient> g(a.out[0]);
  if (ct.size() == 0) return void(std::fill_n(g.data(), x.size(), 0.0f));
  cpu_backend::detail::max_pool_vjp(cpu_backend::detail::pool_frame(x, ct, a.attrs<max_pool_attributes>()),
                                    cpu_backend::dense_floats<struct max_pool_image>(x),
                                    cpu_backend::dense_floats<struct max_pool_ct>(ct), g.data());
}

}  // namespace tokamax
