// tokamax/stablehlo/writer/lapack_writer.hpp: decompositions as the calls of LAPACK that JAX writes for the CPU.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of write)
// tested by tests/stablehlo/write.cpp
#pragma once

#include <tokamax/linalg/eig.hpp>                          // eig_p
#include <tokamax/linalg/eigh.hpp>                         // eigh_p
#include <tokamax/linalg/lu.hpp>                           // lu_p
#include <tokamax/linalg/qr.hpp>                           // qr_p
#include <tokamax/linalg/schur.hpp>                        // schur_p
#include <tokamax/linalg/svd.hpp>                          // svd_p
#include <tokamax/stablehlo/writer/operation_builder.hpp>  // operation_builder
#include <tokamax/transforms/control_flow/fori_loop.hpp>   // fori_loop

#include <limits>  // quiet_NaN

namespace tokamax::stablehlo::detail {

/// Is this a decomposition that XLA leaves to LAPACK?
inline bool is_decomposition(const op& o) {
  for (const op* known :
       {&linalg::eig_p, &linalg::eigh_p, &linalg::lu_p, &linalg::qr_p, &linalg::schur_p, &linalg::svd_p})
    if (&o == known) return true;
  return false;
}

/// Writes the calls of LAPACK.
struct lapack_writer {
  operation_builder& to;
  array_type a;  ///< of the matrices

  /// The type of an array for each matrix.
  array_type like(const shape& last, dtype t = dtype::none) const {
    array_type y{t == dtype::none ? a.dtype : t, false, {}};
    for (int i = 0; i + 2 < a.shape.rank(); ++i) y.shape.push_back(a.shape[i]);
    for (std::int64_t e : last) y.shape.push_back(e);
    return y;
  }
  /// The order of the axes of an array in memory, the innermost one first: matrices lie in columns.
  attribute layout(const array_type& t) const {
    std::vector<element_bits> order;
    const int rank = t.shape.rank();
    for (int i = rank; i-- > 0;) order.push_back({static_cast<std::uint64_t>(i)});
    if (rank == a.shape.rank()) std::swap(order[0], order[1]);
    attribute e;
    e.is = attribute::form::elements;
    e.type = {.is = value_type::form::array, .dtype = i64, .extents = {rank}, .other = "index"};
    elements_of_numbers(e.type, order, false, e.elements);
    return e;
  }
  /// A letter or number as an option.
  static attribute letter(char c) {
    attribute a = whole(c);
    a.type.dtype = u8;
    return a;
  }
  /// A call whose name has the letter of the dtype.
  std::vector<written> call(const std::string& name, const std::vector<written>& in,
                            const std::vector<array_type>& results, const operation_builder::attributes& options = {}) {
    attribute target, none, record, of_operands, of_results;
    target.is = none.is = attribute::form::text;
    target.text = "lapack_" + std::string(a.dtype == f64 ? "d" : "s") + name + "_ffi";
    record.is = attribute::form::record;
    for (const auto& [key, value] : options) {
      record.names.push_back(key);
      record.items.push_back(value);
    }
    of_operands.is = of_results.is = attribute::form::list;
    for (const written& w : in) of_operands.items.push_back(layout(w.type));
    for (const array_type& t : results) of_results.items.push_back(layout(t));
    return to.add_all("stablehlo.custom_call", in, results,
                      {{"call_target_name", target},
                       {"backend_config", none},
                       {"mhlo.backend_config", record},
                       {"operand_layouts", of_operands},
                       {"result_layouts", of_results}});
  }
};

/// x where a decomposition did not fail, and NaN elsewhere.
inline array unless_failed(const array& x, const array& info) {
  array ok = info == 0;
  for (int i = info.rank(); i < x.rank(); ++i) ok = expand_dims(ok, -1);
  return select(broadcast_to(ok, x.shape()), x, full_like(x, std::numeric_limits<double>::quiet_NaN()));
}
/// The order of m rows after exchanges, of which each one names the row that took the place of the next one.
inline array order_of_rows(const array& pivots, std::int64_t m) {
  const shape s = linalg::detail::batch_type(expand_dims(pivots, -1), {m}).shape;
  const array row = iota(i32, s, s.rank() - 1), step = iota(i32, pivots.shape(), pivots.rank() - 1);
  const auto at = [](const array& which, const array& x) {
    return expand_dims(sum(select(which, x, zeros_like(x)), -1), -1);
  };
  return fori_loop(
      0, pivots.extent(-1),
      [&](const array& i, const array& order) -> array {
        const array there = row == at(step == i, pivots), here = row == i;
        return select(here, broadcast_to(at(there, order), s), select(there, broadcast_to(at(here, order), s), order));
      },
      row);
}

/// q and r from reflections. `described` writes a function of arrays on some values.
template <class Describe>
std::vector<written> written_qr(const call& c, const written& x, lapack_writer w, const Describe& described) {
  const int rank = x.type.shape.rank();
  const std::int64_t m = x.type.shape[rank - 2], n = x.type.shape[rank - 1], k = std::min(m, n);
  const std::int64_t width = c.attrs<linalg::qr_attributes>().full_matrices ? m : k;
  const std::vector<written> r = w.call("geqrf", {x}, {w.like({m, n}), w.like({k})});
  const std::vector<written> parts = described(r, [&](const arrays& in) -> arrays {
    array vectors = slice_in_dim(in[0], 0, std::min(n, width), -1);
    if (width > n) vectors = concatenate({vectors, zeros(w.like({m, width - n}).shape, vectors.dtype())}, -1);
    return {vectors, slice_in_dim(linalg::detail::upper_triangle(in[0]), 0, width, -2)};
  });
  return {w.call("orgqr", {parts[0], r[1]}, {w.like({m, width})})[0], parts[1]};
}
template <class Describe>
std::vector<written> written_svd(const call& c, const written& x, lapack_writer w, const Describe& described) {
  const auto o = c.attrs<linalg::svd_attributes>();
  const int rank = x.type.shape.rank();
  const std::int64_t m = x.type.shape[rank - 2], n = x.type.shape[rank - 1], k = std::min(m, n);
  const std::int64_t rows = o.full_matrices ? m : k, columns = o.full_matrices ? n : k;
  const std::vector<written> r =
      w.call("gesdd", {x}, {w.like({m, n}), w.like({k}), w.like({m, rows}), w.like({columns, n}), w.like({}, i32)},
             {{"mode", lapack_writer::letter(!o.compute_uv     ? 'N'
                                             : o.full_matrices ? 'A'
                                                               : 'S')}});
  return described({r[1], r[2], r[3], r[4]}, [&](const arrays& in) -> arrays {
    const array s = unless_failed(in[0], in[3]);
    if (!o.compute_uv) return s;
    return {unless_failed(in[1], in[3]), s, unless_failed(in[2], in[3])};
  });
}
template <class Describe>
std::vector<written> written_eigh(const call& c, const written& x, lapack_writer w, const Describe& described) {
  const bool vectors = c.attrs<linalg::eigh_attributes>().compute_vectors;
  const std::int64_t n = x.type.shape[x.type.shape.rank() - 1];
  const std::vector<written> both =
      described({x}, [](const arrays& in) -> arrays { return linalg::detail::symmetric_part(in[0]); });
  const std::vector<written> r =
      w.call("syevd", both, {w.like({n, n}), w.like({n}), w.like({}, i32)},
             {{"mode", lapack_writer::letter(vectors ? 'V' : 'N')}, {"uplo", lapack_writer::letter('L')}});
  return described({r[0], r[1], r[2]}, [&](const arrays& in) -> arrays {
    const array values = unless_failed(in[1], in[2]);
    if (!vectors) return values;
    return {values, unless_failed(in[0], in[2])};
  });
}
template <class Describe>
std::vector<written> written_eig(const written& x, lapack_writer w, const Describe& described) {
  const std::int64_t n = x.type.shape[x.type.shape.rank() - 1];
  const std::vector<written> r =
      w.call("geev", {x}, {w.like({n}), w.like({n}), w.like({n, n}), w.like({n, n}), w.like({}, i32)},
             {{"compute_left", lapack_writer::letter('N')}, {"compute_right", lapack_writer::letter('V')}});
  for (const std::size_t vectors : {2u, 3u}) w.to.last().types[vectors].complex = true;
  const written re = w.to.add("stablehlo.real", {r[3]}, r[3].type), im = w.to.add("stablehlo.imag", {r[3]}, r[3].type);
  return described({r[0], r[1], re, im, r[4]}, [](const arrays& in) -> arrays {
    arrays out;
    for (int i = 0; i < 4; ++i) out.push_back(unless_failed(in[i], in[4]));
    return out;
  });
}
/// The results of a decomposition of x.
template <class Describe>
std::vector<written> written_decomposition(const call& c, const written& x, operation_builder& to,
                                           const Describe& described) {
  lapack_writer w{to, x.type};
  if (c.self == &linalg::qr_p) return written_qr(c, x, w, described);
  if (c.self == &linalg::svd_p) return written_svd(c, x, w, described);
  if (c.self == &linalg::eigh_p) return written_eigh(c, x, w, described);
  if (c.self == &linalg::eig_p) return written_eig(x, w, described);
  const int rank = x.type.shape.rank();
  const std::int64_t m = x.type.shape[rank - 2], n = x.type.shape[rank - 1], k = std::min(m, n);
  const array_type info = w.like({}, i32);
  if (c.self == &linalg::lu_p) {
    const std::vector<written> r = w.call("getrf", {x}, {w.like({m, n}), w.like({k}, i32), info});
    return described({r[0], r[1]}, [&](const arrays& in) -> arrays {
      const array pivots = in[1] - 1;
      return {in[0], pivots, order_of_rows(pivots, m)};
    });
  }
  const std::vector<written> r =
      w.call("gees", {x}, {w.like({n, n}), w.like({n, n}), w.like({n}), w.like({n}), info, info},
             {{"mode", lapack_writer::letter('V')}, {"sort", lapack_writer::letter('N')}});
  return described({r[0], r[1], r[5]}, [](const arrays& in) -> arrays {
    return {unless_failed(in[0], in[2]), unless_failed(in[1], in[2])};
  });
}

}  // namespace tokamax::stablehlo::detail
