// tokamax/checkpoint/preservation.hpp: which checkpoints of a run stay.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/checkpoint/policies.cpp
#pragma once

#include <tokamax/checkpoint/state.hpp>  // about

#include <optional>  // optional

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <chrono>   // duration
  #include <cmath>    // isnan
  #include <cstdlib>  // abs
#endif

namespace tokamax::checkpoint {

/// A checkpoint of a run.
struct saved_step {
  std::int64_t step;
  std::filesystem::path folder;
  /// A number among its metadata; nothing if it has none of this name, or it is NaN.
  std::optional<double> metric(const std::string& name) const;
  /// When it was written, in seconds since the same moment for all.
  double seconds() const;
};

/// Says for each of the checkpoints, which are in the order of their steps, whether it stays. Any function of this form is
/// one.
using preservation = std::function<std::vector<bool>(const std::vector<saved_step>&)>;

enum class better : std::uint8_t { lower, higher };

preservation keep_all();
preservation keep_latest(std::int64_t count);
/// Steps that are multiples of `steps`.
preservation keep_every(std::int64_t steps);
/// The first checkpoint, and each that was written at least so many seconds after the one that stays before it.
preservation keep_spaced(double seconds);
/// Of the checkpoints nearest to each multiple of `steps` the one that is closest, of equal ones the later; and the latest.
preservation keep_closest(std::int64_t steps);
/// Those that were written at most so many seconds ago.
preservation keep_recent(double seconds);
preservation keep_steps(std::vector<std::int64_t> steps);
/// The best `count` by a number among the metadata; of equal ones the latest. Checkpoints without the number stay.
preservation keep_best(std::int64_t count, std::string metric, better which = better::lower);
/// What one of them keeps.
preservation keep_any(std::vector<preservation> rules);

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
TOKAMAX_FILES_COMPILED_ONCE std::optional<double> saved_step::metric(const std::string& name) const {
  try {
    const metadata all = about(folder);
    if (const double value = all.has(name) ? all.get<double>(name) : std::nan(""); !std::isnan(value)) return value;
  } catch (const error&) {  // a damaged checkpoint, or an entry that is no number
  }
  return std::nullopt;
}
TOKAMAX_FILES_COMPILED_ONCE double saved_step::seconds() const {
  std::error_code failure;
  const auto time = std::filesystem::last_write_time(folder / "metadata.json", failure);
  return failure ? 0 : std::chrono::duration<double>(time.time_since_epoch()).count();
}

namespace detail {
// A rule that looks at one checkpoint at a time.
template <class Stays>
preservation keep_where(const Stays& stays) {
  return [=](const std::vector<saved_step>& all) {
    std::vector<bool> result;
    for (std::size_t i = 0; i < all.size(); ++i) result.push_back(stays(all, i));
    return result;
  };
}
TOKAMAX_FILES_COMPILED_ONCE std::size_t at_least_one(std::int64_t count, const char* what) {
  if (count < 1) throw error(what, std::to_string(count), "1 or more");
  return static_cast<std::size_t>(count);
}
}  // namespace detail

TOKAMAX_FILES_COMPILED_ONCE preservation keep_all() {
  return detail::keep_where([](const auto&, std::size_t) { return true; });
}
TOKAMAX_FILES_COMPILED_ONCE preservation keep_latest(std::int64_t count) {
  const std::size_t least = detail::at_least_one(count, "keep_latest: count");
  return detail::keep_where([=](const auto& all, std::size_t i) { return i + least >= all.size(); });
}
TOKAMAX_FILES_COMPILED_ONCE preservation keep_every(std::int64_t steps) {
  detail::at_least_one(steps, "keep_every: steps");
  return detail::keep_where([=](const auto& all, std::size_t i) { return all[i].step % steps == 0; });
}
TOKAMAX_FILES_COMPILED_ONCE preservation keep_steps(std::vector<std::int64_t> steps) {
  return detail::keep_where(
      [=](const auto& all, std::size_t i) { return std::ranges::find(steps, all[i].step) != steps.end(); });
}
TOKAMAX_FILES_COMPILED_ONCE preservation keep_closest(std::int64_t steps) {
  detail::at_least_one(steps, "keep_closest: steps");
  return [=](const std::vector<saved_step>& all) {
    std::vector<bool> result(all.size(), false);
    const auto multiple = [&](std::size_t i) { return (all[i].step + steps / 2) / steps * steps; };
    const auto distance = [&](std::size_t i) { return std::abs(all[i].step - multiple(i)); };
    for (std::size_t i = 0, best = 0; i < all.size(); ++i) {
      if (multiple(i) != multiple(best) || distance(i) <= distance(best)) best = i;
      if (i + 1 == all.size() || multiple(i + 1) != multiple(best)) result[best] = true;
    }
    if (!result.empty()) result.back() = true;
    return result;
  };
}
TOKAMAX_FILES_COMPILED_ONCE preservation keep_recent(double seconds) {
  if (!(seconds >= 0)) throw error("keep_recent: seconds", std::to_string(seconds), "0 or more");
  return [=](const std::vector<saved_step>& all) {
    const auto now = std::filesystem::file_time_type::clock::now().time_since_epoch();
    std::vector<bool> result;
    for (const saved_step& one : all)
      result.push_back(std::chrono::duration<double>(now).count() - one.seconds() <= seconds);
    return result;
  };
}
TOKAMAX_FILES_COMPILED_ONCE preservation keep_spaced(double seconds) {
  if (!(seconds >= 0)) throw error("keep_spaced: seconds", std::to_string(seconds), "0 or more");
  return [=](const std::vector<saved_step>& all) {
    std::vector<bool> result;
    std::optional<double> last;
    for (const saved_step& one : all) {
      const double time = one.seconds();
      result.push_back(!last || time - *last >= seconds);
      if (result.back()) last = time;
    }
    return result;
  };
}
TOKAMAX_FILES_COMPILED_ONCE preservation keep_best(std::int64_t count, std::string metric, better which) {
  const std::size_t most = detail::at_least_one(count, "keep_best: count");
  return [=](const std::vector<saved_step>& all) {
    std::vector<std::pair<double, std::size_t>> known;
    std::vector<bool> result(all.size(), true);
    for (std::size_t i = all.size(); i-- > 0;) {  // the latest first, which a stable sort leaves before its equals
      const std::optional<double> value = all[i].metric(metric);
      if (value) known.emplace_back(which == better::lower ? *value : -*value, i);
    }
    std::ranges::stable_sort(known, {}, [](const auto& one) { return one.first; });
    for (std::size_t i = most; i < known.size(); ++i) result[known[i].second] = false;
    return result;
  };
}
TOKAMAX_FILES_COMPILED_ONCE preservation keep_any(std::vector<preservation> rules) {
  return [=](const std::vector<saved_step>& all) {
    std::vector<bool> result(all.size(), false);
    for (const preservation& rule : rules) {
      const std::vector<bool> stays = rule(all);
      for (std::size_t i = 0; i < all.size() && i < stays.size(); ++i) result[i] = result[i] || stays[i];
    }
    return result;
  };
}
#endif

}  // namespace tokamax::checkpoint
