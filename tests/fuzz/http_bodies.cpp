// tests/fuzz/http_bodies.cpp: any bytes as the body of a chat, a completion and embeddings.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/http/completion_request.hpp>
#include <tokamax/serve/http/embeddings.hpp>

#include "fuzz/fuzz.hpp"

namespace serve = tokamax::serve;

void fuzz(std::string_view bytes) {
  const auto refused = [&](const auto& read) {
    try {
      read(serve::parse_body(std::string(bytes)));
    } catch (const serve::http_error& e) {
      if (e.code < 400 || e.code > 499 || serve::error_body(e).empty()) std::abort();
    }
  };
  refused([](const serve::ordered_json& body) { serve::read_completion(body, true); });
  refused([](const serve::ordered_json& body) { serve::read_completion(body, false); });
  refused([](const serve::ordered_json& body) { serve::read_embeddings(body); });
}
