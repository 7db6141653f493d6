// tests/profile/files/traces.cpp: recordings as trace events, Perfetto traces and folded stacks.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/files/folded.hpp>
#include <tokamax/profile/files/perfetto.hpp>
#include <tokamax/profile/files/trace_json.hpp>

#include "support/catch.hpp"
#include "support/recorded.hpp"

namespace {
using namespace tokamax::profile;

const std::string hostile = std::string("</script>\"'\\\n\t") + '\0' + "\xFF\xC0\xE2\x80\xAE;" + "end";

recording example() {
  return recorded({{"main", "dot", 1100, 1600, 8, 4, "blocks[0].attend"},
                   {"main", "#span f", 1050, 1700},
                   {"main", "#counter loss", 1800, 1800, 2.5},
                   {"main", "#step", 1000, 2000, 7},
                   {"gpu:0", "dot", 1300, 1900, 8, 4, "blocks[0].attend"}});
}

// The packets of a trace, as "time type track name".
std::vector<std::string> packets(const std::string& trace) {
  std::vector<std::string> all;
  std::map<std::uint64_t, std::string> names;
  wire_reader reader(trace, "trace");
  for (wire_field p; reader.next(p);) {
    std::uint64_t time = 0;
    std::string text;
    const auto each = [](std::string_view message, auto take) {
      wire_reader r(message, "trace");
      for (wire_field f; r.next(f);) take(f);
    };
    each(p.bytes, [&](const wire_field& f) {
      if (f.number != 12) return;
      each(f.bytes, [&](const wire_field& named) {
        std::uint64_t id = 0;
        each(named.bytes, [&](const wire_field& g) { g.number == 1 ? void(id = g.value) : void(names[id] = g.bytes); });
      });
    });
    each(p.bytes, [&](const wire_field& f) {
      if (f.number == 8) time = f.value;
      if (f.number == 11)
        each(f.bytes, [&](const wire_field& g) {
          if (g.number == 9) text += g.value == 1 ? "begin" : g.value == 2 ? "end" : "counter";
          if (g.number == 11) text += " on " + std::to_string(g.value);
          if (g.number == 10) text += " " + names.at(g.value);
          if (g.number == 44) text += " " + std::to_string(g.real());
        });
      if (f.number == 60) text = "track";
    });
    all.push_back(std::to_string(time) + ' ' + text);
  }
  return all;
}
}  // namespace

TEST_CASE("a recording becomes trace events, by microseconds from its begin") {
  CHECK(to_trace_json(example()) ==
        "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
        "{\"ph\": \"M\", \"pid\": 1, \"tid\": 1, \"name\": \"thread_name\", \"args\": {\"name\": \"main\"}},\n"
        "{\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"name\": \"dot\", \"ts\": 0.100, \"dur\": 0.500, \"args\": "
        "{\"flops\": 8, "
        "\"bytes\": 4, \"scope\": \"blocks[0].attend\"}},\n"
        "{\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"name\": \"f\", \"ts\": 0.050, \"dur\": 0.650},\n"
        "{\"ph\": \"C\", \"pid\": 1, \"tid\": 1, \"name\": \"loss\", \"ts\": 0.800, \"args\": {\"value\": 2.5}},\n"
        "{\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"name\": \"step\", \"ts\": 0.000, \"dur\": 1.000, \"args\": "
        "{\"step\": 7}},\n"
        "{\"ph\": \"M\", \"pid\": 1, \"tid\": 2, \"name\": \"thread_name\", \"args\": {\"name\": \"gpu:0\"}},\n"
        "{\"ph\": \"X\", \"pid\": 1, \"tid\": 2, \"name\": \"dot\", \"ts\": 0.300, \"dur\": 0.600, \"args\": "
        "{\"flops\": 8, "
        "\"bytes\": 4, \"scope\": \"blocks[0].attend\"}}\n]}\n");
  CHECK(to_trace_json({}) == "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n]}\n");
}

TEST_CASE("hostile names and numbers leave trace events valid") {
  const std::string text =
      to_trace_json(recorded({{hostile, hostile, 0, 5, std::numeric_limits<double>::infinity(), 0, hostile},
                              {hostile, "#counter " + hostile, 5, 5, std::numeric_limits<double>::quiet_NaN()}}));
  CHECK(text.find('\0') == std::string::npos);
  CHECK(text.find("\"flops\": null") != std::string::npos);
  CHECK(text.find("\"value\": null") != std::string::npos);
  CHECK(text.find("</script>\\\"'\\\\\\u000a\\u0009\\u0000\xEF\xBF\xBD\xEF\xBF\xBD\xE2\x80\xAE;end") !=
        std::string::npos);
}

TEST_CASE("a recording becomes a trace of Perfetto whose slices nest") {
  CHECK(packets(to_perfetto(example())) ==
        std::vector<std::string>{"0 track", "0 track", "0 begin step on 2", "50 begin f on 2", "100 begin dot on 2",
                                 "600 end on 2", "700 end on 2", "0 track", "800 counter on 3 2.500000",
                                 "1000 end on 2", "0 track", "300 begin dot on 4", "900 end on 4"});
  // a record that ends after the one around it
  CHECK(packets(to_perfetto(recorded({{"main", "a", 0, 10}, {"main", "b", 5, 15}, {"main", "c", 20, 20}}))) ==
        std::vector<std::string>{"0 track", "0 track", "0 begin a on 2", "5 begin b on 2", "10 end on 2", "10 end on 2",
                                 "20 begin c on 2", "20 end on 2"});
  CHECK(packets(to_perfetto(recorded({{hostile, hostile, 0, 5, 0, 0, hostile}}))).size() == 4);
  CHECK(packets(to_perfetto({})).size() == 1);
}

TEST_CASE("a recording becomes stacks of tracks, spans, scopes and steps") {
  CHECK(to_folded(example()) ==
        "gpu:0;blocks[0];attend;dot 600\n"
        "main;step 350\n"
        "main;step;f 150\n"
        "main;step;f;blocks[0];attend;dot 500\n");
  CHECK(to_folded(recorded({{"a;b", "x\ny", 0, 5, 0, 0, "..p..q/"}})) == "a:b;p;q;x y 5\n");
  CHECK(to_folded({}).empty());
}
