// tests/support/loop_dialect.hpp: the functions that printed loops call, for one element at a time and with the CPU's
// arithmetic. A file of loops includes it once for each program, in a namespace of its own, after loop_dialect_includes.
#if !defined(TOKAMAX_LOOP_DIALECT)
  #define TOKAMAX_LOOP_DIALECT
  #include <tokamax/backend/cpu/loop/loop.hpp>
  #include <tokamax/backend/cpu/vector/element.hpp>
  #include <tokamax/lax/elementwise/division.hpp>
#else

using f32 = float;
using bf16 = tokamax::bfloat16;
using i8 = std::int8_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;
enum step { none, unit, any };

struct place {
  std::byte* const* slots;
  const std::int64_t* strides;
  const tokamax::element_bits* constants;
  std::int64_t i;
};

// Numbers are computed in f32, i32, u32 and bool.
inline float number(tokamax::bfloat16 x) { return x; }
inline i32 number(i8 x) { return x; }
template <class T>
T number(T x) {
  return x;
}
template <class T, class N>
auto as(N x) {
  if constexpr (std::is_same_v<T, N>)
    return x;
  else if constexpr (std::is_same_v<T, bf16>)
    return tokamax::cpu_backend::round_to_bfloat16(tokamax::cpu_backend::f32v(static_cast<float>(x))).get(0);
  else
    return number(tokamax::converted<T>(x));
}
template <class T, step Inner>
auto load(const place& at, int slot) {
  const std::int64_t i = Inner == none ? 0 : Inner == unit ? at.i : at.i * at.strides[slot];
  return number(reinterpret_cast<const T*>(at.slots[slot])[i]);
}
template <class T, step Inner>
auto count(const place& at, int slot) {
  const std::int64_t i = Inner == none ? 0 : Inner == unit ? at.i : at.i * at.strides[slot];
  return as<T>(static_cast<i32>(reinterpret_cast<std::int64_t>(at.slots[slot]) + i));
}
template <class T>
auto constant(const place& at, int k) {
  return number(at.constants[k].as<T>());
}
template <class T, class N>
void store(const place& at, int slot, N x) {
  reinterpret_cast<T*>(at.slots[slot])[at.i] = static_cast<T>(x);
}

template <class T>
T select(bool c, T a, T b) {
  return c ? a : b;
}
inline i32 abs(i32 x) { return x < 0 ? -x : x; }
inline u32 abs(u32 x) { return x; }
template <class T>
T maximum(T a, T b) {
  return a > b ? a : b;
}
template <class T>
T minimum(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T last_shift(T) {
  return static_cast<T>(8 * sizeof(T) - 1);
}
template <class T>
T quotient(T a, T b) {
  return b == 0 ? static_cast<T>(-1) : tokamax::detail::wraps(a, b) ? a : a / b;
}
template <class T>
T rem(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmod(a, b);
  else
    return b == 0 ? a : tokamax::detail::wraps(a, b) ? T(0) : a % b;
}

// These call the CPU's functions, which work on registers, with one element.
inline tokamax::cpu_backend::f32v all(float x) { return tokamax::cpu_backend::f32v(x); }
inline float one(tokamax::cpu_backend::f32v x) { return x.get(0); }
inline float abs(float x) { return one(xsimd::abs(all(x))); }
inline float ceil(float x) { return one(xsimd::ceil(all(x))); }
inline float cos(float x) { return one(xsimd::cos(all(x))); }
inline float erf(float x) { return one(xsimd::erf(all(x))); }
inline float floor(float x) { return one(xsimd::floor(all(x))); }
inline float log(float x) { return one(xsimd::log(all(x))); }
inline float nearbyint(float x) { return one(xsimd::nearbyint(all(x))); }
inline float sin(float x) { return one(xsimd::sin(all(x))); }
inline float sqrt(float x) { return one(xsimd::sqrt(all(x))); }
inline float exp(float x) { return one(tokamax::cpu_backend::exp(all(x))); }
inline float expm1(float x) { return one(tokamax::cpu_backend::expm1(all(x))); }
inline float log1p(float x) { return one(tokamax::cpu_backend::log1p(all(x))); }
inline float tanh(float x) { return one(tokamax::cpu_backend::tanh_rational(all(x))); }
inline float pow(float x, float y) { return one(tokamax::cpu_backend::power(all(x), all(y))); }
inline float fma(float x, float y, float z) { return one(tokamax::cpu_backend::fma(all(x), all(y), all(z))); }
inline float maximum(float x, float y) { return one(tokamax::cpu_backend::maximum(all(x), all(y))); }
inline float minimum(float x, float y) { return one(tokamax::cpu_backend::minimum(all(x), all(y))); }
inline float op_logistic(float x) { return one(tokamax::cpu_backend::logistic(all(x))); }
inline float op_logaddexp(float x, float y) { return one(tokamax::cpu_backend::logaddexp(all(x), all(y))); }
inline float op_normal_cdf(float x) { return one(tokamax::cpu_backend::normal_cdf(all(x))); }
inline float op_gelu(float x) { return one(tokamax::cpu_backend::gelu(all(x))); }
#endif
