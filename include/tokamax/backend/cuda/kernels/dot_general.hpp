// tokamax/backend/cuda/kernels/dot_general.hpp: dot_general as (batches of) matrix products on any strides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cuda/kernels/copy.hpp>         // dense_copy
#include <tokamax/backend/cuda/libraries/cublas_lt.hpp>  // products_of
#include <tokamax/backend/cuda/text/products.hpp>        // products
#include <tokamax/lax/dot_general.hpp>                   // dot_general_p

namespace tokamax {

namespace cuda_backend {

/// Several axes of an operand as one: its extent, and its stride if the axes are `regular`, which means that one stride
/// reaches all their elements.
struct joint_axis {
  std::int64_t extent = 1, stride = 0;
  bool regular = true;
  joint_axis(const array_view& v, const axes& which) {
    for (int i = which.rank() - 1; i >= 0; --i) {  // from the innermost outwards; axes of extent 1 do not matter
      const auto a = static_cast<int>(which[i]);
      if (v.extent(a) == 1) continue;
      if (extent == 1)
        stride = v.stride(a);
      else
        regular = regular && v.stride(a) == stride * extent;
      extent *= v.extent(a);
    }
  }
};

/// An operand as matrices [batch, rows, columns], each of which is some of its axes.
struct product_operand {
  array_view v;
  axes batch, rows, columns;
  handle copy{};

  bool is_regular() const {
    return joint_axis(v, batch).regular && joint_axis(v, rows).regular && joint_axis(v, columns).regular;
  }
  /// Replaces the operand by a dense copy of a dtype.
  void make_dense(instance& gpu, dtype t) {
    array_view transposed = v;
    int i = 0;
    for (const axes* const some : {&batch, &rows, &columns})
      for (const std::int64_t axis : *some) {
        transposed.extents[i] = v.extent(static_cast<int>(axis));
        transposed.strides[i++] = v.stride(static_cast<int>(axis));
      }
    copy = dense_copy(gpu, transposed, t);
    v = {copy->data, t, transposed.extents, row_major(transposed.extents)};
    const int nb = batch.rank(), nr = rows.rank();
    batch = iota_axes(nb);
    rows = tokamax::detail::range_axes(nb, nr);
    columns = tokamax::detail::range_axes(nb + nr, columns.rank());
  }
  /// The matrix as the library sees it: rows of ours are its columns. False if neither rows nor columns lie densely.
  bool in_library(library_matrix& m, bool& transposed) const {
    const joint_axis b(v, batch), r(v, rows), c(v, columns);
    const auto step = [](const joint_axis& a, const joint_axis& other) {
      return a.extent > 1 ? a.stride : other.extent;
    };
    transposed = !(c.extent == 1 || c.stride == 1);
    if (transposed && r.extent > 1 && r.stride != 1) return false;
    const joint_axis &inner = transposed ? r : c, &outer = transposed ? c : r;
    m.rows = inner.extent;
    m.columns = outer.extent;
    m.leading = step(outer, inner);
    m.batch_stride = b.stride;
    const auto address = reinterpret_cast<std::uintptr_t>(v.data);
    while (address % static_cast<unsigned>(m.aligned)) m.aligned /= 2;
    return m.leading >= m.rows;
  }
};

inline int library_type(dtype t) {
  return t == f32    ? int{cublas_lt::type_f32}
         : t == f64  ? int{cublas_lt::type_f64}
         : t == bf16 ? int{cublas_lt::type_bf16}
                     : int{cublas_lt::type_f16};
}

/// What is added to a product, see compiler/passes/sums.hpp: one row for all rows, and an array. And how f32 is multiplied.
struct product_terms {
  const array_view *row = nullptr, *all = nullptr;
  std::int64_t columns = 1;  ///< of the row
  bool tf32 = false;         ///< may operands lose digits? Only if the program asks for it

  product_terms() = default;
  /// A product that nothing is added to.
  product_terms without() const {
    product_terms t;
    t.tf32 = tf32;
    return t;
  }
  explicit product_terms(const kernel_arguments& a) {
    for (int k = 2; k < a.in_count; ++k) {
      const array_view& v = a.in[k];
      std::int64_t n = 1;
      bool repeats = false;
      for (int i = v.rank() - 1; i >= 0 && !repeats; --i) {
        repeats = v.extent(i) > 1 && v.stride(i) == 0;
        if (!repeats) n *= v.extent(i);
      }
      const bool is_row = repeats || (a.in_count == 4 && k == 2);  // a row that stands for one row repeats nothing
      (is_row ? row : all) = &v;
      if (is_row) columns = n;
    }
  }
  bool any() const { return row || all; }
};

/// The product by the library. Its matrices are stored by columns, so it computes the transposed product of ours.
inline bool multiply_by_library(instance& gpu, const product_operand& x, const product_operand& y,
                                const product_terms& terms, const array_view& out) {
  const bool floats = x.v.type == f32 || x.v.type == f64 || x.v.type == bf16 || x.v.type == f16;
  if (!floats || (out.type != x.v.type && (out.type != f32 || x.v.type == f64))) return false;
  library_product p;
  p.compute = x.v.type == f64                 ? cublas_lt::compute_f64
              : terms.tf32 && x.v.type == f32 ? cublas_lt::compute_tf32
                                              : cublas_lt::compute_f32;
  p.a.type = p.b.type = library_type(x.v.type);
  p.c.type = library_type(out.type);
  if (!y.in_library(p.a, p.transposed_a) || !x.in_library(p.b, p.transposed_b)) return false;
  const std::int64_t m = joint_axis(x.v, x.rows).extent, n = joint_axis(y.v, y.columns).extent;
  const std::int64_t batches = joint_axis(x.v, x.batch).extent;
  if (m == 0 || n == 0 || p.b.rows * p.b.columns == 0 || batches > 65535) return false;
  if (terms.row && terms.columns != n) return false;
  p.batches = static_cast<int>(batches);
  p.c.rows = n;
  p.c.columns = m;
  p.c.leading = n;
  p.c.batch_stride = m * n;
  p.adds_matrix = terms.all != nullptr;
  p.adds_column = terms.row != nullptr;
  const product_places at{y.v.data, x.v.data, terms.all ? terms.all->data : nullptr,
                          terms.row ? terms.row->data : nullptr, out.data};
  const auto addresses = reinterpret_cast<std::uintptr_t>(out.data) | reinterpret_cast<std::uintptr_t>(at.matrix);
  while (addresses % static_cast<unsigned>(p.c.aligned)) p.c.aligned /= 2;
  return products_of(gpu).multiply(gpu, p, at);
}

/// The product by a kernel of ours, for all dtypes and strides.
inline void multiply_plainly(instance& gpu, const product_operand& x, const product_operand& y, const array_view& out) {
  const joint_axis bx(x.v, x.batch), by(y.v, y.batch), m(x.v, x.rows), n(y.v, y.columns), kx(x.v, x.columns),
      ky(y.v, y.rows);
  kernel_record r;
  r.add(m.extent).add(n.extent).add(kx.extent);
  r.add(bx.stride).add(m.stride).add(kx.stride).add(by.stride).add(ky.stride).add(n.stride);
  r.add(x.v.data).add(y.v.data).add(out.data);
  const bool narrow_sums = is_floating(out.type) && x.v.type != f64;
  launch_template(gpu, cuda_text::products, "products", "product_data",
                  {name(x.v.type), name(out.type), narrow_sums ? "f32" : name(out.type)},
                  bx.extent * ceil_div(m.extent, 16) * ceil_div(n.extent, 16), r);
}

/// The product of two operands of one dtype, by the library if it can.
inline void multiply(instance& gpu, product_operand& x, product_operand& y, const product_terms& terms,
                     const array_view& out) {
  if (multiply_by_library(gpu, x, y, terms, out)) return;
  if (terms.any()) {  // sums in their full width, then the terms and the rounding
    array_view sums = out;
    sums.type = compute_dtype(out.type);
    const handle memory = gpu.allocate(static_cast<std::size_t>(out.size() * size_of(sums.type)));
    sums.data = memory->data;
    multiply(gpu, x, y, terms.without(), sums);
    kernel_record r;
    r.add(out.size()).add(terms.columns).add(sums.data);
    r.add(terms.all ? terms.all->data : nullptr).add(terms.row ? terms.row->data : nullptr).add(out.data);
    return launch_template(gpu, cuda_text::products, "add_terms", "terms_data", {name(out.type)},
                           ceil_div(out.size(), block_threads), r);
  }
  for (product_operand* const o : {&x, &y}) {
    library_matrix m;
    bool transposed = false;
    if (is_floating(o->v.type) && !o->in_library(m, transposed)) o->make_dense(gpu, o->v.type);
  }
  if (!multiply_by_library(gpu, x, y, terms, out)) multiply_plainly(gpu, x, y, out);
}

}  // namespace cuda_backend

/// Finds matrices in the operands: batch, free and contracted axes are each joined into one axis. An operand whose axes do not
/// have one stride each, or that is of another dtype than the product, is copied first. Sums are carried in f32 (f64 of f64); an
/// array and then a row that are further operands are added to them, and the result is rounded once. Operands of f32 are TF32
/// in the library if the program asks for that.
TOKAMAX_BODY void kernel(op_c<dot_general_p>, cuda_tag, const kernel_arguments& a) {
  using namespace cuda_backend;
  const auto d = a.attrs<dot_dimensions>();
  const array_view& out = a.out[0];
  if (out.size() == 0) return;
  instance& gpu = instance_of(a);
  product_operand x{a.in[0], d.lhs_batch,
                    other_axes(a.in[0].rank(), tokamax::detail::merged(d.lhs_contracting, d.lhs_batch)),
                    d.lhs_contracting};
  product_operand y{a.in[1], d.rhs_batch, d.rhs_contracting,
                    other_axes(a.in[1].rank(), tokamax::detail::merged(d.rhs_contracting, d.rhs_batch))};
  dtype type = x.v.type;
  product_terms terms(a);
  if (type == f32 || type == bf16) {
    const dot_algorithm chosen = tokamax::detail::algorithm_of(type, d.algorithm);
    type = chosen == dot_algorithm::bf16_bf16_f32 ? bf16 : f32;
    terms.tf32 = chosen == dot_algorithm::tf32_tf32_f32;
  }
  for (product_operand* const o : {&x, &y})
    if (o->v.type != type || !o->is_regular()) o->make_dense(gpu, type);
  multiply(gpu, x, y, terms, out);
}

}  // namespace tokamax
