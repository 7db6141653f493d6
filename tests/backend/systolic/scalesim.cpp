// tests/backend/systolic/scalesim.cpp: SCALE-Sim's numbers, against runs of SCALE-Sim v3 and against arrays that do the work.
#include <tokamax/backend/systolic/scalesim.hpp>

#include <tokamax/backend/systolic/mxu.hpp>
#include <tokamax/backend/systolic/os_array.hpp>
#include <tokamax/backend/systolic/pe_array.hpp>

#include <cstdint>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;
using sys::dataflow;

TEST_CASE("SCALE-Sim v3's own reports", "[systolic]") {
  std::ifstream file(TOKAMAX_ROOT "/tests/golden/scalesim.txt");
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    std::string id, flow;
    sys::array_shape a;
    sys::product_shape p;
    long long cycles = 0, printed = 0, ifmap = 0, filter = 0, ofmap = 0;
    double utilisation = 0, mapping = 0;
    in >> id >> a.rows >> a.columns >> flow >> p.m >> p.n >> p.k >> cycles >> printed >> utilisation >> mapping >>
        ifmap >> filter >> ofmap;
    REQUIRE(in);
    CAPTURE(id);
    const sys::scalesim_report r = sys::scalesim(flow == "ws"   ? dataflow::weight_stationary
                                                 : flow == "is" ? dataflow::input_stationary
                                                                : dataflow::output_stationary,
                                                 a, p);
    CHECK(r.cycles == cycles);
    CHECK(r.cycles - 1 == printed);
    CHECK(100 * r.utilisation == Approx(utilisation).margin(1e-6));
    CHECK(100 * r.mapping_efficiency == Approx(mapping).margin(1e-6));
    CHECK(r.a_reads == ifmap);
    CHECK(r.b_reads == filter);
    CHECK(r.out_writes == ofmap);
    ++rows;
  }
  CHECK(rows == 10);
}

namespace {

using words = std::vector<std::uint32_t>;

words transposed(const words& x, long long rows, long long columns) {
  words y(x.size());
  for (long long r = 0; r < rows; ++r)
    for (long long c = 0; c < columns; ++c)
      y[static_cast<std::size_t>(c * rows + r)] = x[static_cast<std::size_t>(r * columns + c)];
  return y;
}

/// An array that keeps weights and loads them apart from the product: a fold at a time.
sys::pe_run<std::uint32_t> run_weight_stationary(const sys::array_shape& shape, const words& a, const words& b,
                                                 const sys::product_shape& p) {
  sys::pe_run<std::uint32_t> all;
  all.values.assign(static_cast<std::size_t>(p.m * p.n), 0);
  for (long long n0 = 0; n0 < p.n; n0 += shape.columns)
    for (long long k0 = 0; k0 < p.k; k0 += shape.rows) {
      const long long k = std::min(shape.rows, p.k - k0), n = std::min(shape.columns, p.n - n0);
      words left, right;
      for (long long m = 0; m < p.m; ++m)
        for (long long i = 0; i < k; ++i) left.push_back(a[static_cast<std::size_t>(m * p.k + k0 + i)]);
      for (long long i = 0; i < k; ++i)
        for (long long j = 0; j < n; ++j) right.push_back(b[static_cast<std::size_t>((k0 + i) * p.n + n0 + j)]);
      const auto one = sys::pe_array<std::uint32_t>(shape).run(left.data(), right.data(), {p.m, k, n});
      all.cycles += one.cycles, all.a_reads += one.a_reads, all.b_reads += one.b_reads;
      all.out_writes += one.out_writes, all.macs += one.macs;
      for (long long m = 0; m < p.m; ++m)
        for (long long j = 0; j < n; ++j)
          all.values[static_cast<std::size_t>(m * p.n + n0 + j)] += one.values[static_cast<std::size_t>(m * n + j)];
    }
  return all;
}

}  // namespace

TEST_CASE("SCALE-Sim's forms are what arrays do, on 10,000 products in each dataflow", "[systolic]") {
  std::mt19937 random(7);
  const auto size = [&](unsigned most) { return static_cast<long long>(random() % most + 1); };
  long long wrong = 0;
  for (int i = 0; i < 10000; ++i) {
    const sys::array_shape shape{size(5), size(5)};
    const sys::product_shape p{size(9), size(9), size(9)};
    words a(static_cast<std::size_t>(p.m * p.k)), b(static_cast<std::size_t>(p.k * p.n));
    for (auto* x : {&a, &b})
      for (auto& value : *x) value = static_cast<std::uint32_t>(random());
    words expected(static_cast<std::size_t>(p.m * p.n));
    for (long long m = 0; m < p.m; ++m)
      for (long long k = 0; k < p.k; ++k)
        for (long long n = 0; n < p.n; ++n)
          expected[static_cast<std::size_t>(m * p.n + n)] +=
              a[static_cast<std::size_t>(m * p.k + k)] * b[static_cast<std::size_t>(k * p.n + n)];

    const auto same = [&](dataflow flow, const sys::pe_run<std::uint32_t>& run, long long a_reads, long long b_reads) {
      const sys::scalesim_report r = sys::scalesim(flow, shape, p);
      const long long extra = flow == dataflow::output_stationary ? r.folds * (shape.rows + shape.columns) : 0;
      // A cell that has work multiplies once for each value that streams past it: `macs` count these cells, fold by fold.
      const long long streamed = flow == dataflow::output_stationary   ? p.k
                                 : flow == dataflow::weight_stationary ? p.m
                                                                       : p.n;
      const auto macs = static_cast<double>(run.macs), cells = static_cast<double>(shape.rows * shape.columns);
      return r.mapping_efficiency == macs / (static_cast<double>(streamed * r.folds) * cells) &&
             r.utilisation == macs / (static_cast<double>(run.cycles - 1) * cells) && run.cycles == r.cycles &&
             a_reads == r.a_reads && b_reads == r.b_reads && run.out_writes + extra == r.out_writes;
    };
    const auto ws = run_weight_stationary(shape, a, b, p);
    if (ws.values != expected || !same(dataflow::weight_stationary, ws, ws.a_reads, ws.b_reads)) ++wrong;
    const auto os = sys::run_output_stationary(shape, a.data(), b.data(), p);
    if (os.values != expected || !same(dataflow::output_stationary, os, os.a_reads, os.b_reads)) ++wrong;
    // An array that keeps inputs computes the transposed product: (a b)^T = b^T a^T.
    const auto is = run_weight_stationary(shape, transposed(b, p.k, p.n), transposed(a, p.m, p.k), {p.n, p.k, p.m});
    if (transposed(is.values, p.n, p.m) != expected || !same(dataflow::input_stationary, is, is.b_reads, is.a_reads))
      ++wrong;
    if (sys::pipelined_cycles(shape, p).total() > ws.cycles) ++wrong;  // loading in the shadow never costs
  }
  CHECK(wrong == 0);
}

TEST_CASE("SCALE-Sim's forms reject sizes below 1", "[systolic]") {
  CHECK_THROWS_WITH(sys::scalesim(dataflow::weight_stationary, {8, 0}, {1, 1, 1}), contains("found 8 x 0"));
}
