// tests/text/chat_template.cpp: chats as texts beside jinja2, what templates may not do, files that hold them, and bounds.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/system/file.hpp>
#include <tokamax/text/chat_template.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <fstream>
#include <random>
#include <thread>

#include "support/catch.hpp"
#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

using nlohmann::json;
using tokamax::test::error_of;
using tokamax::text::chat_message;
using tokamax::text::chat_template;

namespace {

const std::string folder = TOKAMAX_ROOT "/tests/golden/chat/";
constexpr std::time_t now = 1700000000;
const std::vector<std::pair<std::string, std::string>> tokens{{"bos_token", "<s>"}, {"eos_token", "</s>"}};

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> result;
  std::ifstream in(folder + file);
  for (std::string line; std::getline(in, line);) result.push_back(line);
  return result;
}
chat_template from_folder(const std::string& name) {
  return chat_template(tokamax::read_file(folder + name + ".jinja"), tokens, name);
}
std::string rendered(const std::string& source, const std::string& variables = "{}") {
  return chat_template(source, {}, "t").render_json(variables, now).text;
}
std::string error_of_template(const std::string& source, const std::string& variables = "{}") {
  return error_of([&] { rendered(source, variables); });
}
std::string repeated(const std::string& s, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += s;
  return all;
}

}  // namespace

TEST_CASE("Templates give what jinja2 gives, or are refused where it refuses them") {
  setenv("TZ", "UTC", 1);
  tzset();
  const std::vector<std::string> chats = lines_of("chats.jsonl");
  REQUIRE(chats.size() > 15);
  for (const std::string name : {"chatml", "headers", "brackets", "turns", "schema"}) {
    const chat_template t = from_folder(name);
    const std::vector<std::string> rows = lines_of(name + ".txt");
    REQUIRE(rows.size() == chats.size());
    for (std::size_t i = 0; i < chats.size(); ++i) {
      CAPTURE(name, i);
      std::string found = "!";
      try {
        found = json(t.render_json(chats[i], now).text).dump();
      } catch (const tokamax::error& e) {
        CAPTURE(e.what());
        CHECK(rows[i] == "!");
      }
      CHECK(found == rows[i]);
    }
  }
}

TEST_CASE("Each part of the language gives what jinja2 gives, or is refused where it is") {
  const std::vector<std::string> rows = lines_of("features.jsonl");
  REQUIRE(rows.size() > 80);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const json row = json::parse(rows[i]);
    CAPTURE(row[0]);
    if (row[1].is_null()) {
      CHECK(error_of_template(row[0], rows[0]).starts_with("chat template: "));
    } else {
      std::string found;
      try {
        found = rendered(row[0], rows[0]);
      } catch (const tokamax::error& e) {
        found = e.what();
      }
      CHECK(found == row[1].get<std::string>());
    }
  }
}

TEST_CASE("Messages, functions and variables may be given one by one") {
  const chat_template t = from_folder("chatml");
  const std::vector<chat_message> messages{{"system", "Be brief."}, {"user", "Hello!"}};
  CHECK(t.render(messages) == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello!<|im_end|>\n");
  CHECK(t.render(messages, {.add_generation_prompt = true, .variables = R"({"enable_thinking": false})"})
            .ends_with("assistant\n<think>\n\n</think>\n\n"));
  CHECK(t.render(messages, {.tools = R"([{"name": "f"}])"}).find("<tools>\n{\"name\": \"f\"}\n</tools>") !=
        std::string::npos);
  const std::vector<chat_message> call{{"user", "x"},
                                       {"assistant", "", R"({"tool_calls": [{"name": "f", "arguments": {}}]})"}};
  CHECK(t.render(call).find("{\"name\": \"f\", \"arguments\": {}}") != std::string::npos);
  CHECK(chat_template("{{ messages[0].content }}")
            .render(std::vector<chat_message>{{"user", "", R"({"content": [1]})"}}) == "[1]");
  CHECK(chat_template("{{ messages|length }}{{ tools }}{{ documents }}{{ add_generation_prompt }}").render({}) ==
        "0NoneNoneFalse");
  CHECK(chat_template("{{ strftime_now('%Y') }}").render({}, {.now = now}) == "2023");
  CHECK(error_of([&] {
          t.render(std::vector<chat_message>{{"user", "\xFF"}});
        }).starts_with("chat template: a message: found a byte that is not UTF-8"));
  CHECK(error_of([&] { t.render(messages, {.tools = "[1"}); }).find("json of tools") != std::string::npos);
  CHECK(error_of([&] {
          t.render(messages, {.variables = "[1]"});
        }).find("found a value of type list, expected a record") != std::string::npos);
}

TEST_CASE("What stands in generation blocks is marked") {
  const auto r = from_folder("chatml").render_json(
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "bé"}, {"role": "user", "content": "c"},
                       {"role": "assistant", "content": "d"}]})");
  REQUIRE(r.generated.size() == 2);
  const auto part = [&](std::size_t i) {
    return r.text.substr(r.generated[i].first, r.generated[i].second - r.generated[i].first);
  };
  CHECK(part(0) == "bé<|im_end|>\n");
  CHECK(part(1) == "d<|im_end|>\n");
}

TEST_CASE("Templates come from the files of models") {
  const temporary_folder own;
  const std::vector<chat_message> hello{{"user", "Hi"}};
  const std::string config =
      R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "special": true}, "pad_token": null,
    "additional_special_tokens": ["<x>"], "chat_template": )";
  const std::string source =
      "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ additional_special_tokens }}{{ pad_token }}";
  std::filesystem::create_directories(own.path / "a/additional_chat_templates");
  const auto text = own.write("a/tokenizer_config.json", config + json(source).dump() + "}");
  CHECK(chat_template::from_file(text).render(hello) == "<s>Hi</s>['<x>']");
  CHECK(chat_template::from_file(text.parent_path()).render(hello) == "<s>Hi</s>['<x>']");
  own.write("a/chat_template.jinja", "{{ bos_token }}own");
  CHECK(chat_template::from_file(text.parent_path()).render(hello) == "<s>own");
  own.write("a/additional_chat_templates/tool_use.jinja", "tools");
  CHECK(chat_template::from_file(text.parent_path()).render(hello, {.tools = "[1]"}) == "tools");
  CHECK(chat_template::from_file(text.parent_path() / "chat_template.jinja").render(hello) == "own");
  const auto list =
      own.write("b.json", config + R"([{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]})");
  CHECK(chat_template::from_file(list).render(hello) == "d");
  CHECK(chat_template::from_file(list).render(hello, {.tools = "[]"}) == "d");
  CHECK(chat_template::from_file(list).render(hello, {.tools = "[1]"}) == "t");
  for (const auto& [file, message] : {
           std::pair{own.write("c.json", "{}"),
                     "chat template: found none, expected chat_template in tokenizer_config.json"},
           {own.write("d.json", R"({"chat_template": 5})"), "chat_template: found 5, expected a text"},
           {own.write("e.json", R"({"chat_template": [{"name": "x"}]})"), "chat_template[0].template: found nothing"},
           {own.write("f.jinja", "\n\n{% if %}"), "chat template: text: found %}, expected an expression"},
           {own.write("g.jinja", "\xFF"), "chat template: text: found a byte that is not UTF-8"},
           {own.write("h.gguf", "GGUF"), "gguf: bytes"},
       }) {
    const std::string found = error_of([&] { chat_template::from_file(file); });
    CAPTURE(found, message);
    CHECK(found.find(message) != std::string::npos);
  }
  CHECK(error_of([&] {
          chat_template::from_file(own.write("i.json", R"({"chat_template": [{"name": "x", "template": ""}]})"))
              .render({});
        }).find("no template of the name default") != std::string::npos);
}

TEST_CASE("Errors name the template, its line and what is wrong") {
  for (const auto& [source, message] : {
           std::pair{"a\n{{ raise_exception('No ' ~ 5) }}",
                     "chat template: raise_exception: found No 5, expected messages that the template takes (t:2)"},
           {"\n\n{{ x.y }}", "chat template: a value: found no x, expected a value that is defined (t:3)"},
           {"{{ 1 | nothing }}", "chat template: filter: found nothing, expected one that is known (t:1)"},
           {"{% if x %}{{ 1 is nothing }}{% endif %}", "none"},
           {"{% if 1 %}\n{{ 1 is nothing }}{% endif %}", "chat template: test: found nothing, expected defined"},
           {"{% extends 'a' %}", "chat template: text: found extends, expected if, for, set"},
           {"{% break %}", "chat template: text: found break"},
           {"{{ [].append(1) }}", "chat template: list.append: found what a template may not use here"},
           {"{{ ''.__class__ }}", "chat template: str.__class__: found"},
           {"{{ cycler }}", "chat template: name: found cycler"},
           {"{% for x in [1] recursive %}{% endfor %}", "found recursive"},
           {"{{ 9223372036854775807 + 1 }}", "expected integers of 64 bits"},
           {"{{ 9223372036854775808 }}", "expected a number of 64 bits"},
           {"{% for x in [1] %}{{ loop.nothing }}{% endfor %}", "chat template: loop.nothing"},
           {"{{ '{:>5}'.format(1) }}", "chat template: format: found {:>5}"},
           {"{{ [1].items }}{{ range }}", "expected a value whose text is known"},
       }) {
    const std::string found = error_of_template(source);
    CAPTURE(source, found, message);
    CHECK(found.find(message) != std::string::npos);
  }
}

TEST_CASE("Steps, texts and depths are bounded") {
  for (const auto& [source, message] : {
           std::pair<std::string, std::string>{
               "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "steps"},
           {"{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
            "expected at most"},
           {"{% for i in range(99999) %}" + repeated("x", 9999) + "{% endfor %}", "a text: found"},
           {"{{ 'a' * 999999999999 }}", "expected at most"},
           {"{{ [[0] * 99999] * 99999 }}", "expected at most"},
           {"{{ 'a'.center(999999999999) }}", "expected at most"},
           {"{{ 'a'|indent(999999999999) }}", "expected at most"},
           {"{{ ('a' * 99999).replace('', 'b' * 99999) }}", "expected at most"},
           {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "chat template: depth: found more"},
           {"{% set n = namespace(l=[]) %}{% for i in range(999) %}{% set n.l = [n.l] %}{% endfor %}",
            "depth of a value: found more"},
           {"{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l == [] "
            "}}{{ n.l }}",
            "expected at most"},
           {"{{ " + repeated("(", 9999) + "1" + repeated(")", 9999) + "}}", "fewer parts"},
           {"{{ " + repeated("-", 99999) + "1 }}", "fewer parts"},
           {"{{ 1 " + repeated("+ 1 ", 99999) + "}}", "fewer parts"},
           {"{{ x" + repeated(".y", 99999) + "}}", "fewer parts"},
           {"{{ x" + repeated("|list", 99999) + "}}", "fewer parts"},
           {repeated("{% if x %}", 9999), "fewer parts"},
       }) {
    const std::string found = error_of_template(source);
    CAPTURE(source.substr(0, 99), found, message);
    CHECK(found.find(message) != std::string::npos);
  }
  CHECK(error_of_template("", "{\"a\": " + repeated("[", 9999)).find("expected at most 50") != std::string::npos);
  CHECK(rendered("{{ ['a'] * 3 }}" + repeated("{% if true %}", 40) + "x" + repeated("{% endif %}", 40)) ==
        "['a', 'a', 'a']x");
  CHECK(error_of([] { chat_template(std::string((1 << 20) + 1, 'x')); }).find("expected at most 1048576") !=
        std::string::npos);
}

TEST_CASE("Changed templates and variables end in an error or a text") {
  const std::vector<std::string> chats = lines_of("chats.jsonl");
  std::mt19937 random(3);
  int texts = 0;
  for (const std::string name : {"chatml", "headers", "brackets", "turns", "schema"}) {
    const std::string whole = tokamax::read_file(folder + name + ".jinja");
    for (int i = 0; i < 200; ++i) {
      std::string source = whole, chat = chats[random() % chats.size()];
      std::string& changed = i % 4 ? source : chat;
      for (unsigned change = 0; change < 1 + random() % 3; ++change) {
        const std::size_t from = random() % changed.size(), to = random() % changed.size();
        changed.replace(to, random() % 9, changed.substr(from, random() % 9));
      }
      try {
        texts += !chat_template(source, tokens).render_json(chat, now).text.empty();
      } catch (const tokamax::error& e) {
        CHECK(std::string_view(e.what()).size() < 10000);
      }
    }
  }
  CHECK(texts > 50);
}

TEST_CASE("Threads share a template") {
  const chat_template t = from_folder("schema");
  const std::vector<std::string> chats = lines_of("chats.jsonl");
  std::array<bool, 4> equal{};
  std::vector<std::thread> threads;
  for (bool& e : equal)
    threads.emplace_back([&, expected = t.render_json(chats[5], now).text] {
      e = true;
      for (int i = 0; i < 50; ++i) e = e && t.render_json(chats[5], now).text == expected;
    });
  for (std::thread& one : threads) one.join();
  CHECK(equal == std::array{true, true, true, true});
}
