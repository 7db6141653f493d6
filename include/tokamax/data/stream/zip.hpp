// tokamax/data/stream/zip.hpp: streams that are read side by side.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/stream/stream.hpp>  // stream_base

namespace tokamax::data {

namespace detail {

template <class... Cursors>
class zipping {
  using ticket = std::tuple<ticket_of<Cursors>...>;

 public:
  explicit zipping(Cursors... cursors) : cursors_(std::move(cursors)...) {}
  std::optional<ticket> take() {
    return std::apply(
        [](auto&... c) {
          std::tuple<std::optional<ticket_of<Cursors>>...> taken{c.take()...};
          return std::apply(
              [](auto&... t) {
                if (!(t.has_value() && ...)) return std::optional<ticket>();
                return std::optional<ticket>(ticket(std::move(*t)...));
              },
              taken);
        },
        cursors_);
  }
  std::tuple<made_by<Cursors>...> make(ticket t) const {
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return std::tuple<made_by<Cursors>...>(std::get<Index>(cursors_).make(std::move(std::get<Index>(t)))...);
    }(std::index_sequence_for<Cursors...>{});
  }
  std::tuple<state_of<Cursors>...> state() const {
    return std::apply([](const auto&... c) { return std::tuple<state_of<Cursors>...>(c.state()...); }, cursors_);
  }
  void set_state(const std::tuple<state_of<Cursors>...>& state) {
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (std::get<Index>(cursors_).set_state(std::get<Index>(state)), ...);
    }(std::index_sequence_for<Cursors...>{});
  }

 private:
  std::tuple<Cursors...> cursors_;
};

template <readable... Sources>
class zipped : public stream_base<zipped<Sources...>> {
 public:
  explicit zipped(Sources... sources) : sources_(std::move(sources)...) {}
  auto cursor() const {
    return std::apply([](const auto&... s) { return zipping<cursor_type<Sources>...>(cursor_of(s)...); }, sources_);
  }

 private:
  std::tuple<Sources...> sources_;
};

}  // namespace detail

/// Elements that are tuples of the elements of each. It ends with the shortest.
/// source  grain.experimental.ZipIterDataset
template <readable... Sources>
auto zip(Sources... sources) {
  return detail::zipped<Sources...>(std::move(sources)...);
}

}  // namespace tokamax::data
