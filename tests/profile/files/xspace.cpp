// tests/profile/files/xspace.cpp: recordings as XSpace files and back, and files that are none.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/analysis/op_table.hpp>
#include <tokamax/profile/files/file_bytes.hpp>
#include <tokamax/profile/files/from_xspace.hpp>
#include <tokamax/profile/files/read_xspace.hpp>
#include <tokamax/profile/files/to_xspace.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/recorded.hpp"

namespace {
namespace tk = tokamax;
using namespace tokamax::profile;
const roofline limits{1e11, 4e11, 2e10};

// Three steps of a thread and a device, with all kinds of marks.
recording example() {
  std::vector<recorded_row> rows;
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::int64_t b = 5'000'000 + i * 2'000'000;
    rows.push_back({"main", "#wait data.prefetch", b, b + 100'000});
    rows.push_back({"main", "dot_general f32[8,8] f32[8,8]", b + 100'000, b + 700'000, 3e7, 1e6, "blocks[0].attend",
                    "gpt.cpp:41"});
    rows.push_back({"main", "loop [8] mul", b + 700'000, b + 900'000, 8, 64, "blocks[0]", "gpt.cpp:42"});
    rows.push_back({"main", "scan", b + 100'000, b + 950'000});
    rows.push_back({"gpu:0", "dot narrow", b + 300'000, b + 800'000 + i, 0, 1e6, "head", "gpt.cpp:50", 6e7});
    rows.push_back({"main", "#counter loss", b + 960'000, b + 960'000, 3.5 - double(i)});
    rows.push_back({"main", "#span log", b + 960'000, b + 990'000});
    rows.push_back({"main", "#step", b, b + 1'000'000, double(i)});
  }
  rows.push_back({"main", "#compile f", 0, 4'000'000});
  recording all = recorded(rows);
  all.tracks[0].dropped = 17;
  return all;
}
void check_same(const recording& a, const recording& b) {
  CHECK(b.begin == a.begin);
  CHECK(b.end == a.end);
  for (const group_by by : {group_by::op, group_by::kind, group_by::scope, group_by::place, group_by::track}) {
    const auto x = op_table(a, limits, by), y = op_table(b, limits, by);
    REQUIRE(x.size() == y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(x[i].name == y[i].name);
      CHECK(x[i].count == y[i].count);
      CHECK(x[i].total == y[i].total);
      CHECK(x[i].self == y[i].self);
      CHECK(x[i].work.flops == y[i].work.flops);
      CHECK(x[i].work.bfloat16_flops == y[i].work.bfloat16_flops);
      CHECK(x[i].work.bytes == y[i].work.bytes);
      CHECK(x[i].best == Approx(y[i].best));
    }
  }
  const step_breakdown x = breakdown_of(a), y = breakdown_of(b);
  REQUIRE(x.steps.size() == y.steps.size());
  for (std::size_t i = 0; i < x.steps.size(); ++i) {
    CHECK(x.steps[i].number == y.steps[i].number);
    CHECK(x.steps[i].time == y.steps[i].time);
    CHECK(x.steps[i].by == y.steps[i].by);
  }
}
std::string varint(std::uint64_t v) {
  wire_writer w;
  w.number(1, v);
  return w.bytes().substr(1);
}
}  // namespace

TEST_CASE("a recording comes back from its XSpace") {
  const recording all = example();
  const std::string bytes = to_bytes(to_xspace(all, limits, "here"));
  CHECK(bytes.size() < 8000);
  const xspace read = read_xspace(bytes, "a file");
  CHECK(to_bytes(read) == bytes);
  CHECK(read.hostnames == std::vector<std::string>{"here"});
  REQUIRE(read.planes.size() == 3);
  CHECK(read.planes[0].name == "/device:TPU:0");
  CHECK(read.planes[2].name == "/host:CPU");
  const recording again = to_recording(read);
  check_same(all, again);
  REQUIRE(again.tracks.size() == 2);
  CHECK(again.tracks[0].name == "main");
  CHECK(again.tracks[0].dropped == 17);
  CHECK(!again.tracks[0].device);
  CHECK(again.tracks[1].name == "gpu:0");
  CHECK(again.tracks[1].device);
  int counters = 0;
  for (const record& r : again.tracks[0].records)
    if (const mark_name* m = again.mark(r); m && m->kind == mark_kind::counter) {
      CHECK(m->name == "loss");
      CHECK(r.value == 3.5 - counters++);
    }
  CHECK(counters == 3);
  CHECK(limits_of(read).flops == limits.flops);
  CHECK(limits_of(read).bfloat16_flops == limits.bfloat16_flops);
  CHECK(limits_of(read).bytes == limits.bytes);
  CHECK(std::isinf(limits_of({}).flops));
  CHECK(std::string_view(op_table(all, limits_of({})).at(0).bound_by) == "none");
  check_same({}, to_recording(read_xspace(to_bytes(to_xspace({}, limits)), "")));
}

// Other programs read it too: cmake/profile_test.cmake, and XProf, Perfetto and JAX by tests/golden/compare_*.py.
TEST_CASE("the kept file has the bytes that are written today") {
  CHECK(read_bytes(TOKAMAX_ROOT "/tests/golden/profile/three_steps.xplane.pb") ==
        to_bytes(to_xspace(example(), limits)));
}

TEST_CASE("files of others become tracks, ops and spans") {
  xplane_builder device(1, "/device:GPU:0"), host(2, "/host:CPU");
  const auto dot = device.kind("dot", [&] {
    return xevent_kind{"fusion.1",
                       "dot",
                       {device.stat("flops", std::int64_t{100}), device.stat("bytes_accessed", std::uint64_t{50}),
                        device.stat("tf_op", std::string("jit(f)/layer/dot_general"))}};
  });
  device.line("Stream #7", "", 1000).events = {{dot, 2'000'000, 3'000'000}, {dot, 6'000'000, 3'000'000}, {99, 0, 1000}};
  device.line("XLA Modules", "", 1000).events = {{dot, 0, 9'000'000}};
  const auto train = host.kind("train"), op = host.kind("tanh.3"), other = host.kind("ExecuteHelper");
  host.line("python", "", 500).events = {{train, 0, 9'000'000, {host.stat("step_num", std::int64_t{4})}},
                                         {other, 0, 5000}};
  const xstat module = host.stat("tanh.3", std::int64_t{0});
  host.line("tf_XLAEigen/1", "", 500).events = {
      {op, 0, 4'000'000, {host.stat("hlo_op", xstat::reference{static_cast<std::uint64_t>(module.id)})}}};
  const recording all = to_recording({{std::move(device).plane(), std::move(host).plane()}, {}});
  REQUIRE(all.tracks.size() == 3);
  CHECK(all.tracks[0].name == "/device:GPU:0/Stream #7");
  CHECK(all.tracks[0].device);
  CHECK(all.tracks[0].records[0].begin == 3000);
  CHECK(all.tracks[0].records[0].end == 6000);
  const event* work = all.work(all.tracks[0].records[1]);
  REQUIRE(work);
  CHECK(work->name == "fusion.1");
  CHECK(work->flops == 100);
  CHECK(work->bytes == 50);
  CHECK(work->scope == "jit(f)/layer");
  CHECK(name_of(all, all.tracks[0].records[2]) == "unknown");
  CHECK(all.mark(all.tracks[1].records[0])->kind == mark_kind::step);
  CHECK(all.tracks[1].records[0].value == 4);
  CHECK(all.mark(all.tracks[1].records[1])->kind == mark_kind::span);
  CHECK(all.work(all.tracks[2].records[0])->name == "tanh.3");
  CHECK(all.begin == 500);
  CHECK(all.end == 10'000);
}

TEST_CASE("a file that is cut off at any byte gives a sentence or a shorter recording") {
  const std::string bytes = to_bytes(to_xspace(example(), limits));
  std::size_t refused = 0;
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    try {
      to_recording(read_xspace(std::string_view(bytes).substr(0, n), "cut.xplane.pb"));
    } catch (const tk::error& e) {
      CHECK(e.kind == tk::error_kind::file);
      CHECK(e.where == "cut.xplane.pb");
      ++refused;
    }
  }
  CHECK(refused > bytes.size() - 10);
}

TEST_CASE("hostile bytes are refused, and ids that name nothing are passed over") {
  struct row {
    std::string bytes, message;
  };
  const std::vector<row> rows = {
      {"\x0A" + varint(~0ull),
       "found a field of 18446744073709551615 bytes, expected at most the 0 that are left (x.pb)"},
      {"\x0A" + varint(5) + "abc", "found a field of 5 bytes, expected at most the 3 that are left"},
      {"\x0A\x80", "found a field of 1 bytes, expected at most the 0 that are left"},
      {std::string("\x00\x01", 2), "found the field number 0, expected 1 to"},
      {"\x0B", "found a field of wire type 3, expected 0, 1, 2 or 5"},
      {"\x0F", "found a field of wire type 7"},
      {"\x08" + std::string(11, '\xFF'), "found a number of more than 10 bytes"},
      {"\x09"
       "1234567",
       "found a field of 8 bytes, expected at most the 7 that are left"},
      {"\x0D"
       "123",
       "found a field of 4 bytes, expected at most the 3 that are left"},
      {"\x0A\x02\x1A\x05", "found a field of 5 bytes, expected at most the 0 that are left"},
  };
  for (const row& r : rows) CHECK_THROWS_WITH(read_xspace(r.bytes, "x.pb"), contains(r.message));

  wire_writer unknown;
  unknown.number(77, 1);
  unknown.real(78, 2);
  unknown.text(79, "text");
  CHECK(read_xspace(unknown.bytes(), "").planes.empty());

  xplane p{1, "/host:CPU"};
  p.lines.push_back({1, "line", "", std::numeric_limits<std::int64_t>::max()});
  p.lines[0].events = {
      {5, std::numeric_limits<std::int64_t>::min(), -3, {{9, std::string("x")}, {8, xstat::reference{~0ull}}}},
      {-1, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max()}};
  p.stats = {{3, 1.0}};
  const recording all = to_recording(read_xspace(to_bytes({{p}, {}}), ""));
  REQUIRE(all.tracks.size() == 1);
  CHECK(all.tracks[0].records.size() == 2);
  CHECK(breakdown_of(all).steps.size() == 1);
  p.lines[0].events = std::vector<xevent>(600, {5, 0, std::numeric_limits<std::int64_t>::max()});
  CHECK_THROWS_WITH(to_recording({{p}, {}}), contains("a profile: found events of more than 146 years"));
  p.lines[0].events.resize(1);
  xstat step{1, std::numeric_limits<double>::quiet_NaN()};
  p.stat_names[1] = "step_num";
  p.lines[0].events[0].stats = {step};
  CHECK(breakdown_of(to_recording({{p}, {}})).steps.size() == 1);
}

TEST_CASE("files are written and read whole") {
  const auto file = std::filesystem::temp_directory_path() / "tokamax_bytes.pb";
  const std::string bytes("a\0b\r\n\xFF", 6);
  write_bytes(file, bytes);
  CHECK(read_bytes(file) == bytes);
  std::filesystem::remove(file);
  CHECK_THROWS_WITH(read_bytes(file), contains("profile: found no file"));
  CHECK_THROWS_WITH(read_bytes("/"), contains("profile: found no file"));
  CHECK_THROWS_WITH(write_bytes("/nowhere/x.pb", bytes), contains("found a file that cannot be written"));
  if (std::filesystem::exists("/dev/full"))
    CHECK_THROWS_WITH(write_bytes("/dev/full", bytes), contains("found a file that cannot be written"));
}
