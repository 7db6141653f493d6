// tokamax/text/chat_template.hpp: a chat as the text that a model was trained on, by the template in the model's files.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
#pragma once

#include <tokamax/text/tokenizer.hpp>  // TOKAMAX_TEXT_COMPILED_ONCE

#include <ctime>  // time_t

#if defined(TOKAMAX_TEXT_COMPILED_ONCE)
  #include <tokamax/text/chat_template_parts.hpp>  // chat_template_parts
#endif

namespace tokamax::text {

namespace detail {
struct chat_template_parts;
}

/// What someone says in a chat.
struct chat_message {
  std::string role, content;
  std::string fields =
      {};  ///< further fields as a JSON record, such as {"tool_calls": [...]}; it may have another content
};

/// What a template sees beside messages, by the names that `transformers` gives.
struct chat_options {
  bool add_generation_prompt = false;   ///< does the text end where the model shall go on?
  std::string tools = {};               ///< a JSON list of functions with their JSON schemas
  std::string variables = {};           ///< a JSON record of other variables, such as {"enable_thinking": false}
  std::optional<std::time_t> now = {};  ///< the time of strftime_now, if not that of the call
};

/// A chat as a text. `generated` has the first byte, and that behind the last one, of what stands in generation blocks: what an
/// assistant says, where a template marks it.
struct rendered_chat {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>> generated;
};

/// A chat template: the language is Jinja, as `transformers` sets it up. Copies share what was read, and any number of threads
/// may use it at once. A run takes at most ten million steps and writes at most 64 MiB.
///
/// Statements are if, for, set, macro, call, filter, with, raw, generation, break and continue; there are no imports. What is not
/// known is an error with its name and line. Methods that change lists and dicts are refused, as in the sandbox of `transformers`.
class chat_template {
 public:
  /// A template that is a text. Special tokens are variables, such as {"bos_token", "<s>"}.
  /// errors  tokamax::error of the kind `file` with the line of what is not a template
  explicit chat_template(std::string_view source,
                         const std::vector<std::pair<std::string, std::string>>& special_tokens = {},
                         const std::string& where = "chat_template.jinja");
  /// Reads tokenizer_config.json, chat_template.jinja, a GGUF file, or a folder with one of the first two. Special tokens come with
  /// it. If there are several templates, `tool_use` is for chats with tools, and `default` is for others.
  /// errors  tokamax::error of the kind `file` if there is none, or it is not one
  static chat_template from_file(const std::filesystem::path& path);

  /// The text of a chat.
  /// errors  tokamax::error of the kind `argument` if the template does not take these messages; `resource` if it has no end
  std::string render(std::span<const chat_message> messages, const chat_options& options = {}) const;
  /// The same for a JSON record of variables: {"messages": [{"role": "user", "content": "Hello"}], "add_generation_prompt": true}.
  rendered_chat render_json(std::string_view variables, std::optional<std::time_t> now = {}) const;

 private:
  explicit chat_template(std::shared_ptr<const detail::chat_template_parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const detail::chat_template_parts> parts_;
};

#if defined(TOKAMAX_TEXT_COMPILED_ONCE)
TOKAMAX_TEXT_COMPILED_ONCE chat_template::chat_template(
    std::string_view source, const std::vector<std::pair<std::string, std::string>>& special_tokens,
    const std::string& where) {
  auto parts = std::make_shared<detail::chat_template_parts>();
  parts->where = where;
  for (const auto& [name, token] : special_tokens) parts->special_tokens[name] = token;
  parts->add("default", source, where);
  parts_ = std::move(parts);
}
TOKAMAX_TEXT_COMPILED_ONCE chat_template chat_template::from_file(const std::filesystem::path& path) {
  auto parts = std::make_shared<detail::chat_template_parts>();
  parts->read(path);
  return chat_template(std::move(parts));
}
TOKAMAX_TEXT_COMPILED_ONCE std::string chat_template::render(std::span<const chat_message> messages,
                                                             const chat_options& options) const {
  return parts_->render(
      [&](jinja::limits& run, std::map<std::string, jinja::value>& to) {
        std::vector<jinja::value> all;
        for (const chat_message& m : messages) {
          if (valid_utf8(m.role) != m.role.size() || valid_utf8(m.content) != m.content.size())
            run.refuse("a message", "a byte that is not UTF-8", "UTF-8", error_kind::argument);
          jinja::dictionary fields{{{"role", run.text(m.role)}, {"content", run.text(m.content)}}};
          if (!m.fields.empty()) {
            const jinja::value more = jinja::value_of_json(run, m.fields, "a message");
            if (!more.dict()) jinja::refuse_type(run, "fields of a message", more, "a record");
            for (const auto& [name, v] : more.dict()->items) {
              const auto is_it = [&](const auto& field) { return *field.first.text() == *name.text(); };
              const auto at = std::find_if(fields.items.begin(), fields.items.end(), is_it);
              at != fields.items.end() ? void(at->second = v) : void(fields.items.emplace_back(name, v));
            }
          }
          all.push_back(run.dict(std::move(fields)));
        }
        to["messages"] = run.list(std::move(all));
        to["add_generation_prompt"] = options.add_generation_prompt;
        if (!options.tools.empty()) to["tools"] = jinja::value_of_json(run, options.tools, "tools");
        if (!options.variables.empty())
          detail::chat_template_parts::put_fields(run, to, options.variables, "variables");
      },
      options.now, nullptr);
}
TOKAMAX_TEXT_COMPILED_ONCE rendered_chat chat_template::render_json(std::string_view variables,
                                                                    std::optional<std::time_t> now) const {
  rendered_chat result;
  result.text = parts_->render(
      [&](jinja::limits& run, std::map<std::string, jinja::value>& to) {
        detail::chat_template_parts::put_fields(run, to, variables, "variables");
      },
      now, &result.generated);
  return result;
}
#endif

}  // namespace tokamax::text
