// tokamax/text/chat_template_parts.hpp: the templates of a model's files, and how a chat goes through them.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/base/system/file.hpp>        // read_file
#include <tokamax/text/gguf.hpp>               // gguf_metadata
#include <tokamax/text/jinja/check_names.hpp>  // check_names
#include <tokamax/text/jinja/evaluator.hpp>    // evaluator
#include <tokamax/text/jinja/json_value.hpp>   // value_of_json
#include <tokamax/text/jinja/parser.hpp>       // parser
#include <tokamax/text/tokenizer_json.hpp>     // json_field

namespace tokamax::text::detail {

/// A template and the special tokens of a tokenizer, by their names.
struct chat_template_parts {
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 26;  // of a file
  static constexpr std::size_t longest = std::size_t{1} << 20;         // of a template

  std::map<std::string, jinja::node> trees;  // "default", "tool_use" and others
  std::map<std::string, jinja::value> special_tokens;
  std::string where;

  void add(const std::string& name, std::string_view source, const std::string& place) {
    if (source.size() > longest)
      throw error(error_kind::file, "chat template: text", std::to_string(source.size()) + " bytes",
                  "at most " + std::to_string(longest), place);
    if (valid_utf8(source) != source.size())
      throw error(error_kind::file, "chat template: text", "a byte that is not UTF-8", "UTF-8", place);
    jinja::node tree = jinja::parser(source, place).whole();
    check_names(tree, place);
    trees.insert_or_assign(name, std::move(tree));
  }

  /// What tokenizer_config.json says: chat_template is a text, or a list of {"name", "template"}.
  void read_config(const std::filesystem::path& path) {
    const std::string place = path.string();
    const tokenizer_json config = parse_tokenizer_json(read_file(path, most_bytes), place);
    const json_field whole(config.rest, "", place);
    const json_field given = whole["chat_template"];
    if (given.value().is_array()) {
      for (const json_field& one : given.elements()) add(one["name"].text(), one["template"].text(), place);
    } else if (!given.absent()) {
      add("default", given.text(), place);
    }
    for (const auto& [name, v] : config.rest.items()) {
      const json_field field(v, name, place);
      if (name == "additional_special_tokens" && v.is_array()) {
        jinja::sequence all;
        for (const json_field& one : field.elements()) all.items.emplace_back(content_of(one));
        special_tokens[name] = jinja::value::of(std::move(all), [] {});
      } else if (name.ends_with("_token") && (v.is_string() || (v.is_object() && v.contains("content")))) {
        special_tokens[name] = content_of(field);
      }
    }
  }
  void read_gguf(const std::filesystem::path& path) {
    const gguf_metadata file(path);
    const std::string key = "tokenizer.chat_template";
    add("default", file.get<std::string>(key), path.string() + ": " + key);
    if (file.has(key + "s"))
      for (const std::string& name : file.get<gguf_metadata::texts>(key + "s"))
        add(name, file.get<std::string>(key + "." + name), path.string() + ": " + key + "." + name);
    for (const char* name : {"bos", "eos", "unknown", "seperator", "padding", "cls", "mask"}) {
      const std::string id = "tokenizer.ggml." + std::string(name) + "_token_id";
      if (!file.has(id)) continue;
      const auto& tokens = file.get<gguf_metadata::texts>("tokenizer.ggml.tokens");
      const double number = file.get<double>(id);
      if (!(number >= 0 && number < static_cast<double>(tokens.size())))
        file.refuse(id, std::to_string(number), "the id of a token");
      const std::string_view short_name = name == std::string_view("unknown")     ? "unk"
                                          : name == std::string_view("seperator") ? "sep"
                                          : name == std::string_view("padding")   ? "pad"
                                                                                  : name;
      special_tokens[std::string(short_name) + "_token"] = tokens[static_cast<std::size_t>(number)];
    }
  }
  /// A folder, or one of the files that hold templates.
  void read(const std::filesystem::path& path) {
    where = path.string();
    if (std::filesystem::is_directory(path)) {
      if (const auto config = path / "tokenizer_config.json"; std::filesystem::exists(config)) read_config(config);
      if (const auto own = path / "chat_template.jinja"; std::filesystem::exists(own)) read_text("default", own);
      if (const auto more = path / "additional_chat_templates"; std::filesystem::is_directory(more))
        for (const auto& one : std::filesystem::directory_iterator(more))
          if (one.path().extension() == ".jinja") read_text(one.path().stem().string(), one.path());
    } else if (path.extension() == ".gguf") {
      read_gguf(path);
    } else if (path.extension() == ".json") {
      read_config(path);
    } else {
      read_text("default", path);
    }
    if (trees.empty())
      throw error(error_kind::file, "chat template", "none",
                  "chat_template in tokenizer_config.json, or chat_template.jinja", where);
  }
  void read_text(const std::string& name, const std::filesystem::path& path) {
    add(name, read_file(path, most_bytes), path.string());
  }

  /// Runs the template for chats with tools, if there are tools and such a template, or else the default one.
  template <class F>
  std::string render(F put_variables, std::optional<std::time_t> now,
                     std::vector<std::pair<std::size_t, std::size_t>>* generated) const {
    jinja::limits run(where);
    std::map<std::string, jinja::value> variables = special_tokens;
    variables.insert_or_assign("messages", jinja::undefined{});
    for (const char* name : {"tools", "documents"}) variables.insert_or_assign(name, jinja::none{});
    variables.insert_or_assign("add_generation_prompt", false);
    put_variables(run, variables);
    auto tree = jinja::truth(variables["tools"]) ? trees.find("tool_use") : trees.end();
    if (tree == trees.end()) tree = trees.find("default");
    if (tree == trees.end())
      throw error(error_kind::file, "chat template", "no template of the name default", "one", where);
    jinja::dictionary all;
    for (auto& [name, v] : variables) all.items.emplace_back(name, std::move(v));
    jinja::evaluator runs(run, all, now.value_or(std::time(nullptr)));
    std::string text = runs.render(tree->second);
    if (generated) *generated = std::move(runs.generated);
    return text;
  }
  /// Puts the fields of a JSON record.
  static void put_fields(jinja::limits& run, std::map<std::string, jinja::value>& to, std::string_view json,
                         const std::string& what) {
    const jinja::value v = jinja::value_of_json(run, json, what);
    if (!v.dict()) jinja::refuse_type(run, "json of " + what, v, "a record");
    for (const auto& [name, field] : v.dict()->items) to.insert_or_assign(*name.text(), field);
  }

 private:
  static std::string content_of(const json_field& token) {
    return token.value().is_object() ? token["content"].text() : token.text();
  }
};

}  // namespace tokamax::text::detail
