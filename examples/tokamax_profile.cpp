// examples/tokamax_profile.cpp: what a recording says, as text or JSON, two recordings compared, and files for other tools.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/files/file_bytes.hpp>
#include <tokamax/profile/files/from_xspace.hpp>
#include <tokamax/profile/files/perfetto.hpp>
#include <tokamax/profile/files/read_xspace.hpp>
#include <tokamax/profile/files/to_xspace.hpp>
#include <tokamax/profile/report/page.hpp>
#include <tokamax/profile/report/to_text.hpp>

#include <fmt/core.h>

#include "program_main.hpp"

namespace tk = tokamax::profile;

struct settings {
  CLI::App* command = nullptr;
  std::filesystem::path file, after, out;
  std::string by = "op";
  std::size_t lines = 20;
  bool json = false;
};

struct opened {
  tk::recording all;
  tk::roofline limits;

  explicit opened(const std::filesystem::path& file) : opened(tk::read_xspace(tk::read_bytes(file), file.string())) {}

 private:
  explicit opened(const tk::xspace& read) : all(tk::to_recording(read)), limits(tk::limits_of(read)) {}
};

tk::group_by group_named(const std::string& name) {
  constexpr std::string_view names[] = {"op", "kind", "scope", "line", "track"};
  return static_cast<tk::group_by>(std::ranges::find(names, name) - names);
}

void declare_options(CLI::App& app, settings& s) {
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* about) {
    CLI::App* const command = app.add_subcommand(name, about);
    command->add_option("file", s.file, "a file of a profile (*.xplane.pb), of tokamax or of JAX")->required();
    command->callback([&s, command] { s.command = command; });
    return command;
  };
  const auto add_table = [&](CLI::App* command) {
    command->add_option("--by", s.by, "what the rows are: op, kind, scope, line or track")
        ->capture_default_str()
        ->check(CLI::IsMember({"op", "kind", "scope", "line", "track"}));
    command->add_option("--lines", s.lines, "the most rows that are printed")->capture_default_str();
  };
  CLI::App* const summary = add("summary", "steps, input, utilization, suggestions and the longest ops");
  CLI::App* const top = add("top", "the ops by their own time, with what bounds them");
  CLI::App* const steps = add("steps", "what steps are spent on");
  CLI::App* const diff = add("diff", "compares a recording with a later one");
  diff->add_option("after", s.after, "the later recording")->required();
  for (CLI::App* command : {top, diff}) add_table(command);
  for (CLI::App* command : {summary, top, steps, diff}) command->add_flag("--json", s.json, "print JSON");
  CLI::App* const convert = add("convert", "writes a page or a file for another tool");
  convert
      ->add_option(
          "out", s.out,
          "*.html (a page), *.json (trace events), *.perfetto-trace, *.folded (flame graphs) or *.xplane.pb (XProf)")
      ->required();
}

std::string converted(const settings& s, const opened& from) {
  const std::string kind = s.out.extension().string();
  if (kind == ".html") return tk::to_html(from.all, from.limits, s.file.filename().string());
  if (kind == ".json") return tk::to_trace_json(from.all);
  if (kind == ".perfetto-trace") return tk::to_perfetto(from.all);
  if (kind == ".folded") return tk::to_folded(from.all);
  if (kind == ".pb") return tk::to_bytes(tk::to_xspace(from.all, from.limits));
  throw tokamax::error("convert", kind.empty() ? "a name without an ending" : kind,
                       ".html, .json, .perfetto-trace, .folded or .xplane.pb", s.out.string());
}

int run(const settings& s) {
  const std::string command = s.command->get_name();
  const opened from(s.file);
  const auto print = [&](const std::string& json, const std::string& text) {
    fmt::print("{}", s.json ? json + '\n' : text);
  };
  if (command == "convert") {
    tk::write_bytes(s.out, converted(s, from));
  } else if (command == "diff") {
    const opened after(s.after);
    const tk::comparison c = tk::compare(from.all, after.all, from.limits, group_named(s.by));
    print(tk::to_json(c), tk::to_text(c, s.lines));
  } else if (command == "steps") {
    const tk::step_breakdown steps = tk::breakdown_of(from.all);
    print(tk::to_json(steps, from.all.begin), tk::to_text(steps));
  } else if (command == "top") {
    const auto rows = tk::op_table(from.all, from.limits, group_named(s.by));
    print(tk::to_json(rows), tk::to_text(rows, s.lines));
  } else {
    print(tk::summary_json(from.all, from.limits), tk::summary_text(from.all, from.limits));
  }
  return 0;
}

int main(int argc, char** argv) {
  return program_main<settings>(argc, argv, "tokamax_profile",
                                "Shows where a recorded program spends its time, and writes files for other tools.",
                                declare_options, run);
}
