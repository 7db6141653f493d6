// tokamax/base/tree/reflect.hpp: fields and field names of plain structs.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <tokamax/base/tree/field_count.hpp>  // aggregate_record

#include <cstddef>      // size_t
#include <string_view>  // field names
#include <tuple>        // what fields() returns
#include <type_traits>  // remove_cv_t
#include <utility>      // declval

namespace tokamax {

/// A class that lists its own fields, because it is no aggregate or wants to show only some of them:
/// `static constexpr auto tokamax_fields(auto& self) { return std::tie(self.weight, self.bias); }`.
/// A struct that adds fields to those of a base: `return std::tuple_cat(base_fields<base>(self), std::tie(self.extra));`.
/// Names follow from the members; `static constexpr std::array<std::string_view, N> tokamax_field_names` overrides them.
template <class T>
concept described_record = requires(T& it) { T::tokamax_fields(it); };

/// Extension point: the fields of `T`. A specialisation has `count`, `visit(it, f)`, which calls `f` with a reference to
/// each field, and optionally `template <std::size_t I> static constexpr std::string_view name()`.
template <class T>
struct fields_of;

namespace detail {

// A structured binding needs its number of names in the source text, so there is one specialisation for each count.
template <std::size_t Count>
struct binding {
  static_assert(Count <= max_fields, "tokamax: a record has at most 64 fields; group some of them into a struct");
};
template <>
struct binding<0> {
  static constexpr decltype(auto) visit(auto&, auto&& f) { return f(); }
};
#define TOKAMAX_BIND(Count, ...)                                      \
  template <>                                                         \
  struct binding<Count> {                                             \
    static constexpr decltype(auto) visit(auto& it, auto&& visitor) { \
      auto& [__VA_ARGS__] = it;                                       \
      return visitor(__VA_ARGS__);                                    \
    }                                                                 \
  };
TOKAMAX_BIND(1, a)
TOKAMAX_BIND(2, a, b)
TOKAMAX_BIND(3, a, b, c)
TOKAMAX_BIND(4, a, b, c, d)
TOKAMAX_BIND(5, a, b, c, d, e)
TOKAMAX_BIND(6, a, b, c, d, e, f)
TOKAMAX_BIND(7, a, b, c, d, e, f, g)
TOKAMAX_BIND(8, a, b, c, d, e, f, g, h)
TOKAMAX_BIND(9, a, b, c, d, e, f, g, h, i)
TOKAMAX_BIND(10, a, b, c, d, e, f, g, h, i, j)
TOKAMAX_BIND(11, a, b, c, d, e, f, g, h, i, j, k)
TOKAMAX_BIND(12, a, b, c, d, e, f, g, h, i, j, k, l)
TOKAMAX_BIND(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
TOKAMAX_BIND(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
TOKAMAX_BIND(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
TOKAMAX_BIND(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
TOKAMAX_BIND(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
TOKAMAX_BIND(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
TOKAMAX_BIND(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
TOKAMAX_BIND(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
TOKAMAX_BIND(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
TOKAMAX_BIND(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
TOKAMAX_BIND(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
TOKAMAX_BIND(24, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
TOKAMAX_BIND(25, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y)
TOKAMAX_BIND(26, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z)
TOKAMAX_BIND(27, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1)
TOKAMAX_BIND(28, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1)
TOKAMAX_BIND(29, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1)
TOKAMAX_BIND(30, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1)
TOKAMAX_BIND(31, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1)
TOKAMAX_BIND(32, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1)
TOKAMAX_BIND(33, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1)
TOKAMAX_BIND(34, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1)
TOKAMAX_BIND(35, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1)
TOKAMAX_BIND(36, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1)
TOKAMAX_BIND(37, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1)
TOKAMAX_BIND(38, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1)
TOKAMAX_BIND(39, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1)
TOKAMAX_BIND(40, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1)
TOKAMAX_BIND(41, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1)
TOKAMAX_BIND(42, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1)
TOKAMAX_BIND(43, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1)
TOKAMAX_BIND(44, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1)
TOKAMAX_BIND(45, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1)
TOKAMAX_BIND(46, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1)
TOKAMAX_BIND(47, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1)
TOKAMAX_BIND(48, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1)
TOKAMAX_BIND(49, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1)
TOKAMAX_BIND(50, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1)
TOKAMAX_BIND(51, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1)
TOKAMAX_BIND(52, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1, z1)
TOKAMAX_BIND(53, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1, z1, a2)
TOKAMAX_BIND(54, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1, z1, a2, b2)
TOKAMAX_BIND(55, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1, z1, a2, b2, c2)
TOKAMAX_BIND(56, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1, z1, a2, b2, c2, d2)
TOKAMAX_BIND(57, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1, z1, a2, b2, c2, d2, e2)
TOKAMAX_BIND(58, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1, z1, a2, b2, c2, d2, e2, f2)
TOKAMAX_BIND(59, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1, z1, a2, b2, c2, d2, e2, f2, g2)
TOKAMAX_BIND(60, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1, z1, a2, b2, c2, d2, e2, f2, g2,
             h2)
TOKAMAX_BIND(61, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1, z1, a2, b2, c2, d2, e2, f2, g2,
             h2, i2)
TOKAMAX_BIND(62, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1, z1, a2, b2, c2, d2, e2, f2, g2,
             h2, i2, j2)
TOKAMAX_BIND(63, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1, z1, a2, b2, c2, d2, e2, f2, g2,
             h2, i2, j2, k2)
TOKAMAX_BIND(64, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1,
             g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1, w1, x1, y1, z1, a2, b2, c2, d2, e2, f2, g2,
             h2, i2, j2, k2, l2)
#undef TOKAMAX_BIND

}  // namespace detail

template <aggregate_record T>
  requires(!described_record<T>)
struct fields_of<T> {
  static constexpr std::size_t count = detail::aggregate_size<T>();
  static constexpr decltype(auto) visit(auto& it, auto&& f) { return detail::binding<count>::visit(it, f); }
};

template <described_record T>
struct fields_of<T> {
  static constexpr std::size_t count = std::tuple_size_v<decltype(T::tokamax_fields(std::declval<T&>()))>;
  static constexpr decltype(auto) visit(auto& it, auto&& f) { return std::apply(f, T::tokamax_fields(it)); }
  template <std::size_t Index>
    requires requires { T::tokamax_field_names[Index]; }
  static constexpr std::string_view name() {
    return T::tokamax_field_names[Index];
  }
};

/// A type whose fields are known.
template <class T>
concept record = requires { fields_of<std::remove_cv_t<T>>::count; };

/// The number of fields of `T`.
template <record T>
inline constexpr std::size_t field_count = fields_of<std::remove_cv_t<T>>::count;

/// Calls `f` with a reference to each field of `it`, in the order of declaration, and returns what it returns.
template <record T>
constexpr decltype(auto) visit_fields(T& it, auto&& f) {
  return fields_of<std::remove_cv_t<T>>::visit(it, f);
}

/// References to the fields of `it`, in the order of declaration.
template <record T>
constexpr auto fields(T& it) {
  return visit_fields(it, [](auto&... field) { return std::tuple<decltype(field)...>(field...); });
}

/// References to the fields of the base class `Base` of `it`.
template <record Base, class T>
constexpr auto base_fields(T& it) {
  return fields(static_cast<std::conditional_t<std::is_const_v<T>, const Base, Base>&>(it));
}

namespace detail {

// The name of a field is cut out of __PRETTY_FUNCTION__ of a template whose argument is the address of that field. The
// object is declared and never defined, as only the address is spelled.
#if defined(__clang__)
  #pragma clang diagnostic push
  #pragma clang diagnostic ignored "-Wundefined-internal"
  #pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
#if defined(__CUDACC__)
// nvcc names the wrong fields if the object is a member of a class template. So it gets a variable template instead,
// with which it cannot name the fields of local structs.
template <class T>
extern const T ghost;
template <class T>
constexpr const T& ghost_value() {
  return ghost<T>;
}
#else
template <class T>
struct haunted {
  T value;
};
template <class T>
extern const haunted<T> ghost;
template <class T>
constexpr const T& ghost_value() {
  return ghost<T>.value;
}
#endif

template <class Pointer>
struct address {
  Pointer pointer;
};
template <class T, std::size_t Index>
constexpr auto field_address() {
  auto& field = std::get<Index>(fields(ghost_value<T>()));
  return address<decltype(&field)>{&field};
}
#if defined(__clang__)
  #pragma clang diagnostic pop
#endif

template <auto Address>
constexpr std::string_view last_name() {
  std::string_view text = __PRETTY_FUNCTION__;  // "... &ghost<T>.T::name)}]", in each compiler's own variant
  text = text.substr(0, text.rfind('}'));
  text = text.substr(0, text.find_last_not_of(")}") + 1);
  return text.substr(text.find_last_of(".:>&") + 1);
}

template <class T, std::size_t Index>
constexpr std::string_view name_of_field() {
  if constexpr (requires { fields_of<T>::template name<Index>(); })
    return fields_of<T>::template name<Index>();
  else
    return last_name<field_address<T, Index>()>();
}

}  // namespace detail

/// The name of field `I` of `T`, as it is written in the struct.
template <record T, std::size_t Index>
inline constexpr std::string_view field_name = detail::name_of_field<std::remove_cv_t<T>, Index>();

}  // namespace tokamax
