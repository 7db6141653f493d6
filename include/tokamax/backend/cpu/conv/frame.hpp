// tokamax/backend/cpu/conv/frame.hpp: which rows and columns of a padded image the window of a convolution covers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/kernels/conv.cpp
#pragma once

#include <tokamax/lax/windows/conv.hpp>  // conv_options
#include <tokamax/runtime/kernel.hpp>    // array_view

#include <algorithm>  // min, max
#include <cstdint>    // int64_t

namespace tokamax::cpu_backend {

/// One axis: the window at place p covers the elements p * stride + k * dilation of the padded image.
struct conv_axis {
  std::int64_t places = 1, window = 1;  ///< extents of the result and of the window
  std::int64_t stride = 1, dilation = 1;
  std::int64_t low = 0, spread = 1, extent = 1;  ///< padding before, lhs_dilation and extent of the image

  /// The number of elements of the padded image that some window covers.
  std::int64_t padded() const noexcept { return (places - 1) * stride + (window - 1) * dilation + 1; }
  /// The element of the image that is element `i` of the padded image; -1 for a zero.
  std::int64_t source(std::int64_t i) const noexcept {
    const std::int64_t at = i - low;
    if (at < 0) return -1;
    if (spread == 1) return at < extent ? at : -1;
    return at % spread == 0 && at / spread < extent ? at / spread : -1;
  }
  bool plain() const noexcept { return low == 0 && spread == 1 && padded() <= extent; }
};

/// All axes of a dense image [N, space..., C]. The last axis of space has the columns. The batch and the other axes of space
/// together are the rows. A place of the result is (row, column), and so is a place of the window.
struct conv_frame {
  conv_axis lead[max_rank], last;
  int leads = 1;
  std::int64_t channels;                        ///< of the image
  std::int64_t row_places = 1, row_window = 1;  ///< of all leading axes together
  bool plain = true;                            ///< the padded image is the image

  /// Of an image, a window [window..., C / groups, O] and a result [N, places..., O].
  conv_frame(const array_view& x, const array_view& w, const array_view& y, const conv_options& o) noexcept
      : channels(x.extent(-1)) {
    const int d = o.strides.rank();
    lead[0] = {.places = y.extent(0), .extent = y.extent(0)};
    for (int i = 0; i < d; ++i) {
      conv_axis& a = i + 1 < d ? lead[leads++] : last;
      a = {y.extent(i + 1), w.extent(i), o.strides[i], o.rhs_dilation[i], o.low[i], o.lhs_dilation[i], x.extent(i + 1)};
      plain = plain && a.plain();
    }
    for (int i = 0; i < leads; ++i) {
      row_places *= lead[i].places;
      row_window *= lead[i].window;
    }
  }

  /// Rows and columns that the padded image is made of.
  std::int64_t height(const conv_axis& a) const noexcept { return plain ? a.extent : a.padded(); }
  std::int64_t columns() const noexcept { return height(last); }

  /// The padded row where the window begins at the place `row` of the result.
  std::int64_t row_at(std::int64_t row) const noexcept {
    return joined(row, [](const conv_axis& a) { return a.places; }, [](const conv_axis& a) { return a.stride; });
  }
  /// The distance from the first row of the window to its row `k`, in padded rows.
  std::int64_t row_of_window(std::int64_t k) const noexcept {
    return joined(k, [](const conv_axis& a) { return a.window; }, [](const conv_axis& a) { return a.dilation; });
  }
  /// The row of the image at a padded row, -1 for zeros.
  std::int64_t source_row(std::int64_t padded) const noexcept {
    std::int64_t at = 0, step = 1;
    for (int i = leads - 1; i >= 0; --i) {
      const std::int64_t n = height(lead[i]), from = plain ? padded % n : lead[i].source(padded % n);
      if (from < 0) return -1;
      at += from * step;
      step *= lead[i].extent;
      padded /= n;
    }
    return at;
  }
  /// The number of rows of the result that are computed together: about `most`, as whole images or equal parts of one.
  std::int64_t band(std::int64_t most) const noexcept {
    const std::int64_t image = row_places / lead[0].places, rows = std::max<std::int64_t>(1, most);
    if (rows >= image) return std::min(row_places, rows / image * image);
    const std::int64_t parts = (image + rows - 1) / rows;
    return (image + parts - 1) / parts;
  }

 private:
  template <class Extent, class Step>
  std::int64_t joined(std::int64_t index, Extent extent, Step by) const noexcept {
    std::int64_t at = 0, step = 1;
    for (int i = leads - 1; i >= 0; --i) {
      at += index % extent(lead[i]) * by(lead[i]) * step;
      index /= extent(lead[i]);
      step *= height(lead[i]);
    }
    return at;
  }
};

}  // namespace tokamax::cpu_backend
