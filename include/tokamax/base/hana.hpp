// tokamax/base/hana.hpp: Boost.Hana's structs and tuples as records; the only header of base that includes Hana.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (programs that use Hana include it: it is dear)
#pragma once
#include <tokamax/base/tree/reflect.hpp>  // fields_of

#include <boost/hana/accessors.hpp>       // accessors
#include <boost/hana/concept/struct.hpp>  // Struct
#include <boost/hana/core/to.hpp>         // to
#include <boost/hana/first.hpp>           // first
#include <boost/hana/length.hpp>          // length
#include <boost/hana/second.hpp>          // second
#include <boost/hana/string.hpp>          // field names
#include <boost/hana/tuple.hpp>           // tuple
#include <boost/hana/unpack.hpp>          // unpack

#include <cstddef>      // size_t
#include <string_view>  // field names

namespace tokamax {

/// A class that is adapted with `BOOST_HANA_ADAPT_STRUCT` and is not an aggregate, so that reflect.hpp cannot read it.
template <class T>
concept hana_record = boost::hana::Struct<T>::value && !aggregate_record<T> && !described_record<T>;

template <hana_record T>
struct fields_of<T> {
  static constexpr std::size_t count = decltype(boost::hana::length(boost::hana::accessors<T>()))::value;
  static constexpr decltype(auto) visit(auto& it, auto&& f) {
    return boost::hana::unpack(boost::hana::accessors<T>(), [&](auto... accessor) -> decltype(auto) {
      return f(boost::hana::second(accessor)(it)...);
    });
  }
  template <std::size_t Index>
  static constexpr std::string_view name() {
    return boost::hana::to<const char*>(boost::hana::first(boost::hana::at_c<Index>(boost::hana::accessors<T>())));
  }
};

template <class... T>
struct fields_of<boost::hana::tuple<T...>> {
  static constexpr std::size_t count = sizeof...(T);
  static constexpr bool positional = true;
  static constexpr decltype(auto) visit(auto& it, auto&& f) { return boost::hana::unpack(it, f); }
};

}  // namespace tokamax
