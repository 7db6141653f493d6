// tokamax/serve/http/embeddings.hpp: texts that become rows of numbers, as clients of OpenAI ask for them.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// tested by tests/serve/http/protocol.cpp
#pragma once

#include <tokamax/serve/http/completion_answer.hpp>   // token_usage
#include <tokamax/serve/http/completion_request.hpp>  // prompt_input

#include <cstring>  // memcpy

namespace tokamax::serve {

struct embeddings_request {
  std::string model;
  std::vector<prompt_input> inputs;
  bool base64 = false;                     ///< little-endian floats in base64, or else lists of numbers
  std::optional<std::int64_t> dimensions;  ///< which must be those of the model
};

/// Reads a body of /v1/embeddings.
/// errors  http_error 400 with the path of the field
inline embeddings_request read_embeddings(const ordered_json& body) {
  body_fields from(body);
  embeddings_request to;
  to.model = from.text("model", {});
  to.inputs = detail::read_prompts(from, "input", 2048);
  const std::string format = from.text("encoding_format", "float");
  if (format != "float" && format != "base64") from.refuse("encoding_format", "float or base64");
  to.base64 = format == "base64";
  to.dimensions = from.integer("dimensions", 1, INT32_MAX);
  from.ignore({"user"});
  from.require_known();
  return to;
}

/// source  RFC 4648, section 4
inline std::string base64_of(std::string_view bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t j) {
      return i + j < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i + j])) : 0u;
    };
    const unsigned three = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? digits[three >> (18 - 6 * static_cast<int>(j)) & 63] : '=';
  }
  return text;
}

/// The answer: a row for each input.
/// errors  http_error 400 if the rows have another length than `dimensions`
inline ordered_json embeddings_json(const embeddings_request& asked,
                                    const std::vector<std::vector<std::int32_t>>& inputs,
                                    const std::vector<std::vector<float>>& rows, const std::string& model) {
  ordered_json data = ordered_json::array();
  token_usage usage;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (asked.dimensions.value_or(std::ssize(rows[i])) != std::ssize(rows[i]))
      throw http_error(400, "dimensions must be " + std::to_string(rows[i].size()) + ", as the model has them",
                       "dimensions");
    std::string bytes(rows[i].size() * sizeof(float), '\0');
    if (!bytes.empty()) std::memcpy(bytes.data(), rows[i].data(), bytes.size());
    data.push_back({{"object", "embedding"},
                    {"index", i},
                    {"embedding", asked.base64 ? ordered_json(base64_of(bytes)) : ordered_json(rows[i])}});
    usage.prompt_tokens += std::ssize(inputs[i]);
  }
  return {{"object", "list"},
          {"data", std::move(data)},
          {"model", model},
          {"usage", {{"prompt_tokens", usage.prompt_tokens}, {"total_tokens", usage.prompt_tokens}}}};
}

}  // namespace tokamax::serve
