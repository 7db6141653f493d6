// tokamax/backend/systolic/report/measurements.hpp: published times of real chips, and what the model says about them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/chips.hpp>            // tpus
#include <tokamax/backend/systolic/collective.hpp>       // collective_program
#include <tokamax/backend/systolic/matmul.hpp>           // simulate_matmul
#include <tokamax/backend/systolic/two_core_matmul.hpp>  // two_core_matmul_program
#include <tokamax/base/error.hpp>                        // error

#include <fmt/format.h>  // format

#include <algorithm>    // max
#include <array>        // array
#include <charconv>     // from_chars
#include <cmath>        // abs
#include <map>          // map
#include <span>         // span
#include <string>       // string
#include <string_view>  // string_view
#include <vector>       // vector

namespace tokamax::systolic_backend {

/// What was measured. The numbers of a case are `measurement::numbers`.
enum class measured_case : unsigned char {
  matmul,           ///< us of a blocked product with its launch: m, k, n, and those of a block
  copy,             ///< cycles of a DMA: from, to, KiB
  copies,           ///< cycles of DMAs from HBM that are issued together: how many, KiB of each
  two_cores,        ///< cycles of a further KiB for each of two cores that read HBM at once: KiB before it
  send,             ///< cycles of a message to another chip: links on the way, KiB
  send_slope,       ///< cycles of a further KiB of such a message: links on the way, KiB before it
  all_reduce,       ///< cycles of a ring that sums f32 on every chip: chips, directions, KiB on each chip
  two_core_matmul,  ///< cycles of a 2048^3 product on both cores: panels, one by one, split last, rows of a chunk
  product,          ///< cycles of a bf16 product in VMEM, between two readings of the counter: m, k, n
  products,         ///< the same for products of 8 rows with weights that are there: how many
  roots,            ///< the same for EUP instructions, without waiting for their results: how many
  pops,             ///< the same for results of a transpose that are taken out: how many
  transpose,        ///< the same for a transpose with all results: registers
  instructions,     ///< instructions of a function for one register: the function
  intensity,        ///< operations per byte of HBM at which both limit
  vmem_ratio,       ///< bandwidth of VMEM over that of HBM
  message,          ///< bytes that a link carries in the time of a hop
  row_group,        ///< cycles of 8 rows in an array
  batch,            ///< rows per chip at which an exchange over links takes as long as the arrays: links
  none              ///< nothing: a question without a number
};
constexpr std::string_view measured_case_names[] = {
    "matmul",          "copy",       "copies",   "two_cores", "send",  "send_slope", "all_reduce",
    "two_core_matmul", "product",    "products", "roots",     "pops",  "transpose",  "instructions",
    "intensity",       "vmem_ratio", "message",  "row_group", "batch", "none"};

/// A published number. One from which a constant of the model was read, or to which it was fitted, proves nothing about the
/// model, and is not judged.
struct measurement {
  std::string id, group;
  const chip* on = nullptr;
  measured_case what = measured_case::none;
  std::array<double, 6> numbers = {};
  double value = 0;
  std::string fits = {};  ///< the constant of the chip that this number was used for; "": none
  std::string source = {};
};

namespace detail {

/// The fields of a line between its bars, without the spaces around them.
inline std::vector<std::string_view> fields_of(std::string_view line, char bar) {
  std::vector<std::string_view> fields;
  for (bool more = true; more;) {
    const std::size_t end = line.find(bar);
    std::string_view f = line.substr(0, end);
    while (!f.empty() && f.front() == ' ') f.remove_prefix(1);
    while (!f.empty() && f.back() == ' ') f.remove_suffix(1);
    fields.push_back(f);
    more = end != std::string_view::npos;
    if (more) line.remove_prefix(end + 1);
  }
  return fields;
}
/// The number of a name in a list; its length if it is not there.
template <class Names, class Name>
std::size_t number_of(const Names& names, std::string_view name, Name of) {
  std::size_t n = 0;
  for (const auto& x : names) {
    if (of(x) == name) break;
    ++n;
  }
  return n;
}
/// A number, or that of a memory or of a vector function.
inline double measured_number(std::string_view text, const std::string& where) {
  double v = 0;
  if (const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), v);
      code == std::errc() && end == text.data() + text.size())
    return v;
  constexpr std::string_view memories[] = {"hbm", "cmem", "vmem", "other_core"};  // as in `memory`
  const std::size_t m = number_of(memories, text, [](std::string_view s) { return s; });
  if (m < std::size(memories)) return static_cast<double>(m);
  const std::size_t f = number_of(vector_functions, text, [](const vector_function& x) { return x.name; });
  if (f < vector_functions.size()) return static_cast<double>(f);
  throw error(error_kind::file, "systolic measurements: number", std::string(text),
              "a number, a memory or a vector function", where);
}
/// One line of `read_measurements`.
inline measurement measurement_of(std::string_view line, const std::string& where) {
  const std::vector<std::string_view> f = fields_of(line, '|');
  if (f.size() != 8)
    throw error(error_kind::file, "systolic measurements: fields", std::to_string(f.size()),
                "number | group | chip | case | numbers | value | fits | source", where);
  measurement m{
      .id = std::string(f[0]), .group = std::string(f[1]), .fits = std::string(f[6]), .source = std::string(f[7])};
  const std::size_t what = number_of(measured_case_names, f[3], [](std::string_view s) { return s; });
  if (what == std::size(measured_case_names))
    throw error(error_kind::file, "systolic measurements: case", std::string(f[3]), "a name of measured_case", where);
  m.what = static_cast<measured_case>(what);
  if (m.what == measured_case::none) return m;
  for (const chip& c : tpus)
    if (c.name == f[2]) m.on = &c;
  if (m.on == nullptr)
    throw error(error_kind::file, "systolic measurements: chip", std::string(f[2]), "a chip of `tpus`", where);
  std::size_t k = 0;
  for (const std::string_view n : fields_of(f[4], ' '))
    if (!n.empty() && k < m.numbers.size()) m.numbers[k++] = measured_number(n, where);
  m.value = measured_number(f[5], where);
  return m;
}

}  // namespace detail

/// Published numbers from text, one a line: `number | group | chip | case | numbers | value | fits | source`. Lines that are
/// empty or begin with # say nothing.
///
/// errors  "systolic measurements: fields", "case", "chip", "number", with the line
inline std::vector<measurement> read_measurements(std::string_view text) {
  std::vector<measurement> all;
  int number = 0;
  for (const std::string_view line : detail::fields_of(text, '\n')) {
    ++number;
    if (!line.empty() && line.front() != '#')
      all.push_back(detail::measurement_of(line, "line " + std::to_string(number)));
  }
  return all;
}

namespace detail {

/// Cycles of copies that begin together on `cores` cores.
inline double copy_cycles(const chip& c, memory from, memory to, double size, int count = 1, int cores = 1) {
  program p;
  for (int core = 0; core < cores; ++core) {
    p.at({core, "copy"});
    for (int i = 0; i < count; ++i) p.transfer(from, to, size * 1024);
  }
  return simulate(c, p).cycles;
}
inline double send_cycles(const chip& c, int links, double size) {
  program p;
  std::vector<int> way;
  for (int i = 0; i < links; ++i) way.push_back(i);
  p.send(way, size * 1024, std::span<const event_id>());
  return simulate(c, p).cycles;
}

}  // namespace detail

/// What the model says about a published number, on `c` in place of the chip of the number.
inline double predicted(const measurement& m, const chip& c) {
  constexpr double counter = 13;  // cycles of two readings of v4's counter
  const auto& n = m.numbers;
  const auto size = [&](std::size_t i) { return static_cast<long long>(n[i]); };
  switch (m.what) {
    case measured_case::matmul: {
      const matmul_options o{.block = {size(3), size(4), size(5)}};
      return simulate_matmul(c, {size(0), size(1), size(2)}, o).microseconds() + c.launch_us;
    }
    case measured_case::copy:
      return detail::copy_cycles(c, static_cast<memory>(size(0)), static_cast<memory>(size(1)), n[2]);
    case measured_case::copies:
      return detail::copy_cycles(c, memory::hbm, memory::vmem, n[1], static_cast<int>(n[0]));
    case measured_case::two_cores: {
      const auto both = [&](double each) { return detail::copy_cycles(c, memory::hbm, memory::vmem, each, 1, 2); };
      return (both(2 * n[0]) - both(n[0])) / n[0];
    }
    case measured_case::send:
      return detail::send_cycles(c, static_cast<int>(n[0]), n[1]);
    case measured_case::send_slope: {
      const auto cycles = [&](double each) { return detail::send_cycles(c, static_cast<int>(n[0]), each); };
      return (cycles(2 * n[1]) - cycles(n[1])) / n[1];
    }
    case measured_case::all_reduce: {
      const ring_options o{.chips = static_cast<int>(n[0]), .both_directions = n[1] > 1};
      return simulate(c, collective_program(c, collective::all_reduce, n[2] * 1024, o)).cycles;
    }
    case measured_case::two_core_matmul: {
      const two_core_options o{static_cast<int>(n[0]), n[1] != 0, n[2] != 0, static_cast<int>(n[3])};
      return simulate(c, two_core_matmul_program({2048, 2048, 2048}, o)).cycles;
    }
    case measured_case::product:
      return counter + product_cost(c, {size(0), size(1), size(2)}).total();
    case measured_case::products:
      return counter + c.mxu_near.latency + (n[0] - 1) * c.mxu_near.interval;
    case measured_case::roots:
      return counter + (n[0] - 1) * c.eup.interval;
    case measured_case::pops:
      return counter + (n[0] - 1) * c.transpose.interval;
    case measured_case::transpose:
      return counter + vector_cost(c, vector_function_of("transpose"), n[0]).total();
    case measured_case::instructions:
      return vector_functions[static_cast<std::size_t>(n[0])].instructions;
    case measured_case::intensity:
      return c.critical_intensity(element::bf16);
    case measured_case::vmem_ratio:
      return c.vmem_over_hbm;
    case measured_case::message:
      return 1024 * c.ici_hop / c.ici.per_kib;
    case measured_case::row_group:
      return 8 / c.rows_bf16;
    case measured_case::batch:  // peak / bandwidth, both per cycle
      return c.cores * c.peak_per_cycle(element::bf16) * c.ici.per_kib / (1024 * n[0]);
    case measured_case::none:
      break;
  }
  return 0;
}
inline double predicted(const measurement& m) { return predicted(m, *m.on); }

/// How far the model is from the numbers of a group that fitted nothing: the mean and the largest |predicted / value - 1|.
struct model_error {
  int judged = 0, fitted = 0;
  double mean = 0, worst = 0;

  void add(double error) {
    mean = (mean * judged + error) / (judged + 1);
    worst = std::max(worst, error);
    ++judged;
  }
};

inline std::map<std::string, model_error> model_errors(std::span<const measurement> all) {
  std::map<std::string, model_error> groups;
  for (const measurement& m : all) {
    model_error& e = groups[m.group];
    if (m.what == measured_case::none) continue;
    if (!m.fits.empty()) {
      ++e.fitted;
      continue;
    }
    e.add(std::abs(predicted(m) / m.value - 1));
  }
  return groups;
}

/// All numbers with the model's, and the errors by group, as text. Numbers that fitted a constant name it, and groups without
/// a number that was held out say so.
inline std::string measurement_table(std::span<const measurement> all) {
  std::string s = fmt::format("{:<14} {:<10} {:>11} {:>11} {:>8}\n", "group", "number", "published", "model", "error");
  for (const measurement& m : all) {
    if (m.what == measured_case::none) continue;
    const double p = predicted(m);
    s += fmt::format("{:<14} {:<10} {:>11.6g} {:>11.6g} {:>+7.1f}%{}\n", m.group, m.id, m.value, p,
                     100 * (p / m.value - 1), m.fits.empty() ? "" : fmt::format("  fitted {}", m.fits));
  }
  for (const auto& [group, e] : model_errors(all))
    if (e.judged > 0)
      s += fmt::format("{:<14} mean {:.1f}%, worst {:.1f}% of {} numbers, {} more fitted constants\n", group,
                       100 * e.mean, 100 * e.worst, e.judged, e.fitted);
    else if (e.fitted > 0)
      s += fmt::format("{:<14} not judged: no number was held out, its {} fitted constants\n", group, e.fitted);
    else
      s += fmt::format("{:<14} not judged: no number is at hand\n", group);
  return s;
}

}  // namespace tokamax::systolic_backend
