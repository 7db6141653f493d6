// tokamax/serve/http/sse.hpp: server-sent events, as clients of OpenAI read them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/http/protocol.cpp
#pragma once

#include <tokamax/serve/http/http_error.hpp>  // ordered_json

namespace tokamax::serve {

/// An event with a JSON text, which has no line ends.
inline std::string event_of(const ordered_json& v) { return "data: " + json_text(v) + "\n\n"; }
/// The last event of a stream.
inline constexpr const char* last_event = "data: [DONE]\n\n";

}  // namespace tokamax::serve
