// tokamax/serve/grammar/schema_formats.hpp: the formats of strings that JSON schemas name.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/grammar/json_schema.cpp
#pragma once

#include <tokamax/base/requirements.hpp>

#include <optional>     // optional
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::serve {

/// The regular expression of a format; nothing if it is not known. Each one has texts that all checkers take, not all that some do.
inline std::optional<std::string> regex_of_format(std::string_view name) {
  const std::string date =
      "[1-9][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2["
      "0-8]))";
  const std::string time =
      "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";
  const std::string byte = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])", group = "[0-9a-fA-F]{1,4}";
  // Names of hosts are in small letters, and those of users have no quotes.
  const std::string label = "[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?", host = label + "(\\." + label + "){1,4}";
  if (name == "date") return date;
  if (name == "time") return time;
  if (name == "date-time") return date + "T" + time;
  if (name == "uuid") return "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
  if (name == "ipv4") return byte + "(\\." + byte + "){3}";
  if (name == "ipv6") return group + "(:" + group + "){7}";
  if (name == "hostname") return host;
  if (name == "email") return "[A-Za-z0-9_+-]{1,24}(\\.[A-Za-z0-9_+-]{1,16}){0,2}@" + host;
  if (name == "uri") return "https?://" + host + "(/[A-Za-z0-9_~-]{1,32}){0,8}/?";
  return std::nullopt;
}

}  // namespace tokamax::serve
