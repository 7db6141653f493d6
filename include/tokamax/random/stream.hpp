// tokamax/random/stream.hpp: a source of keys, for layers that need another one in every call.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (layers that draw numbers in their calls include it)
#pragma once

#include <tokamax/core/leaf_kind.hpp>          // not_trained
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/random/key.hpp>              // key, split

namespace tokamax::random {

/// A key and a count of the keys that it has given: u32[3] (with leading axes under vmap). It is a leaf that is no parameter, so
/// a model has fields of it, and programs carry it like any other array:
///
///   struct noisy {
///     random::stream noise;  // init gives it a key
///     constexpr array operator()(const array& x) { return x + random::normal(noise.next(), x.shape()); }
///   };
///
/// A call that takes a key changes the stream, so it is not const; see train::step for losses of such models.
/// source  flax.nnx.RngStream
struct stream : array, not_trained {
  constexpr stream() : array(array_type{u32, false, {3}}) {}
  constexpr explicit stream(const array& words) : array(words) {}
  constexpr explicit stream(const key& k) : array(concatenate({k, zeros(counts_of(k), u32)}, -1)) {}
  template <std::integral Index>
  constexpr explicit stream(Index seed) : stream(key(seed)) {}
  /// What `init` puts in place of a stream without a value.
  constexpr stream init(const key& k) const { return is_abstract() ? stream(k) : *this; }

  /// The next key, fold_in(base(), count()).
  constexpr key next(source_line l = source_line::current()) {
    const key k = fold_in(base(), count(), l);
    static_cast<array&>(*this) = concatenate({base(), reshape(count() + array(1.0, {u32, false, {}}), {1})}, 0);
    return k;
  }
  /// The key from which the others are made, and how many have been.
  constexpr key base() const { return key(slice_in_dim(*this, 0, 2, -1)); }
  constexpr array count() const { return squeeze(slice_in_dim(*this, 2, 3, -1), -1); }
  /// Streams for the entries of a vmap: [extents, 3].
  /// source  flax.nnx.split_rngs
  constexpr stream split(const tokamax::shape& extents, source_line l = source_line::current()) {
    const key each = random::split(next(l), extents, l);
    return stream(each);
  }

 private:
  static constexpr tokamax::shape counts_of(const array& k) {
    tokamax::shape s = k.shape();
    if (s.rank() > 0) s[s.rank() - 1] = 1;
    return s;
  }
};

}  // namespace tokamax::random
