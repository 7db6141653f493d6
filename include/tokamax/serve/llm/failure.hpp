// tokamax/serve/llm/failure.hpp: what an exception says, for the output of the request that it ends.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
// tested by tests/serve/llm/engine.cpp
#pragma once

#include <tokamax/base/error.hpp>  // error

namespace tokamax::serve {

struct failure {
  std::string what;
  error_kind kind = error_kind::internal;

  /// The exception that is being handled.
  static failure current() {
    try {
      throw;
    } catch (const error& e) {
      return {e.what(), e.kind};
    } catch (const std::bad_alloc&) {
      return {"no memory", error_kind::resource};
    } catch (const std::exception& e) {
      return {e.what()};
    } catch (...) {
      return {"an exception of an unknown type"};
    }
  }
};

}  // namespace tokamax::serve
