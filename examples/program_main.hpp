// examples/program_main.hpp: the main of a program with options.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <new>

/// Reads the options that `declare` names into Settings, and runs with them. The status is that of `run`, or 1 after an error,
/// which is printed behind the program's name; 0 after --help.
template <class Settings>
int program_main(int argc, char** argv, const char* name, const char* about, void (*declare)(CLI::App&, Settings&),
                 int (*run)(const Settings&)) {
  try {
    Settings s;
    CLI::App app(about);
    declare(app, s);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      return app.exit(e) == 0 ? 0 : 1;
    }
    return run(s);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory\n", name);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
  }
  return 1;
}
