// tokamax/serve/http/http_error.hpp: what a client has done wrong, or the server, as JSON that clients of OpenAI read.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/http/protocol.cpp
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <nlohmann/json.hpp>  // ordered_json

namespace tokamax::serve {

using ordered_json = nlohmann::ordered_json;

/// The text of a value. Bytes that are no UTF-8 become U+FFFD, since messages may quote anything.
inline std::string json_text(const ordered_json& v) {
  return v.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

/// An answer with a status of 400 and more. `param` is the path of the field that is wrong, such as "messages[0].role".
struct http_error : std::runtime_error {
  http_error(int code_, const std::string& message, std::string param_ = {}, std::string name_ = {})
      : std::runtime_error(message), code(code_), param(std::move(param_)), name(std::move(name_)) {}
  int code;
  std::string param;
  std::string name;  ///< the field `code` of the answer, such as "model_not_found"
};

/// {"error": {"message", "type", "param", "code"}}
inline std::string error_body(const http_error& e) {
  const char* const type = e.code == 401   ? "authentication_error"
                           : e.code == 429 ? "rate_limit_error"
                           : e.code == 503 ? "service_unavailable_error"
                           : e.code >= 500 ? "server_error"
                                           : "invalid_request_error";
  const auto text_or_null = [](const std::string& text) { return text.empty() ? ordered_json() : ordered_json(text); };
  return json_text(
      {{"error",
        {{"message", e.what()}, {"type", type}, {"param", text_or_null(e.param)}, {"code", text_or_null(e.name)}}}});
}
inline std::string internal_error_body() { return error_body(http_error(500, "the request ended without an answer")); }

/// An error of the library as an answer: the subject "sampling_params: top_p" names the field top_p, and `param` stands for others.
inline http_error http_error_of(const error& e, const std::string& param = {}) {
  if (e.kind == error_kind::resource) return {503, e.what(), {}, "overloaded"};
  if (e.kind == error_kind::device || e.kind == error_kind::internal) return {500, e.what()};
  constexpr std::string_view of_params = "sampling_params: ", of_request = "request: ";
  if (e.subject.starts_with(of_params)) return {400, e.what(), e.subject.substr(of_params.size())};
  if (!param.empty() || !e.subject.starts_with(of_request)) return {400, e.what(), param};
  return {400, e.what(), e.subject.substr(of_request.size())};
}

}  // namespace tokamax::serve
