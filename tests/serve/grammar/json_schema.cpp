// tests/serve/grammar/json_schema.cpp: texts that a schema has, random texts that validate, and keywords that are refused by their path.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/grammar/json_schema.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"
#include "support/grammar_checks.hpp"
#include "support/json_schema_check.hpp"

using namespace tokamax;
using test::has_text;

namespace {

struct schema_row {
  const char* schema;
  std::vector<std::string> yes, no;
};
const schema_row rows[] = {
    {"{}",
     {"1", "\"a\"", "[]", "{}", "null", "true", "-1.5e+3", R"({"a":[1,{"b":null}]})", "[ ]", "{\n  \"a\": 1\n}"},
     {"", "01", "tru", "{\"a\"}", "[1,]", "{,}", "1.", "\"\n\"", "1 ", "\"\xff\""}},
    {"true", {"0"}, {"x"}},
    {R"({"type":"string"})",
     {R"("")", R"("é日😀")", R"("\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00")"},
     {"\"", "a", R"("\x")", R"("\ud83d")", R"("\ude00")", "\"\x01\"", "\"\xC3\""}},
    {R"({"type":"string","minLength":2,"maxLength":3})",
     {R"("ab")", R"("日本é")", R"("\n\"😀")", R"("\ud83d\ude00x")"},
     {R"("a")", R"("abcd")"}},
    {R"({"type":"string","pattern":"^a+$"})", {R"("a")", R"("aaa")"}, {R"("")", R"("ab")"}},
    {R"({"type":"string","pattern":"b\"\\\\\n"})", {R"("b\"\\\n")", R"("xb\"\\\ny")"}, {R"("b")"}},
    {R"({"pattern":"^[^a]$"})", {R"("b")", R"("\n")", R"("\"")", R"("\u0001")"}, {R"("a")", R"("bb")"}},
    {R"({"type":"string","format":"date"})",
     {R"("2024-02-28")", R"("2023-12-31")"},
     {R"("2024-02-30")", R"("2024-13-01")", R"("x")"}},
    {R"({"format":"date-time"})",
     {R"("2024-01-01T00:00:00Z")", R"("2024-01-01T23:59:59.5+01:00")"},
     {R"("2024-01-01")"}},
    {R"({"format":"time"})", {R"("12:00:00Z")"}, {R"("24:00:00Z")"}},
    {R"({"format":"uuid"})", {R"("123e4567-e89b-12d3-a456-426614174000")"}, {R"("123e4567")"}},
    {R"({"format":"ipv4"})", {R"("127.0.0.1")", R"("255.255.255.255")"}, {R"("256.0.0.1")", R"("1.2.3")"}},
    {R"({"format":"ipv6"})", {R"("2001:db8:0:0:0:0:0:1")"}, {R"("::g")"}},
    {R"({"format":"email"})", {R"("a.b@example.org")"}, {R"("a@b")", R"("@x.y")"}},
    {R"({"format":"hostname"})", {R"("www.example.org")"}, {R"("-a.b")"}},
    {R"({"format":"uri"})", {R"("https://example.org/a/b")"}, {R"("example")"}},
    {R"({"type":"integer"})",
     {"0", "7", "-123", "9999999999999999"},
     {"1.0", "01", "-", "+1", "1e3", "99999999999999999"}},
    {R"({"type":"integer","multipleOf":1,"minimum":0})", {"0", "5"}, {"-1"}},
    {R"({"type":"integer","minimum":-12,"maximum":105})",
     {"-12", "-1", "0", "9", "10", "99", "100", "105"},
     {"-13", "106", "-20", "200", "00"}},
    {R"({"type":"integer","exclusiveMinimum":3,"exclusiveMaximum":6})", {"4", "5"}, {"3", "6"}},
    {R"({"type":"integer","minimum":1.5,"maximum":2.5})", {"2"}, {"1", "3"}},
    {R"({"type":"number"})", {"0", "-1.25", "3e8", "1.5E-7", "-0.0"}, {"1.", ".5", "1e", "1e999", "NaN"}},
    {R"({"type":"number","minimum":0,"maximum":1})", {"0", "1", "0.5", "0.999"}, {"-0.1", "1.1", "2", "5e9"}},
    {R"({"type":"number","exclusiveMinimum":0})", {"1", "0.5", "0.01", "123.0"}, {"0", "0.0", "-1"}},
    {R"({"type":"number","exclusiveMaximum":0})", {"-1", "-0.5"}, {"0", "-0.0", "1"}},
    {R"({"type":"number","minimum":-2.5,"maximum":7.25})", {"-2", "-1.5", "0.5", "6.9", "7"}, {"-2.6", "7.3", "8"}},
    {R"({"type":"boolean"})", {"true", "false"}, {"null", "True"}},
    {R"({"type":"null"})", {"null"}, {"0"}},
    {R"({"type":["string","null"]})", {"null", R"("a")"}, {"1"}},
    {R"({"type":["integer","string"],"maxLength":1,"maximum":9})", {"9", R"("a")"}, {"10", R"("ab")"}},
    {R"({"enum":["a",1,null,{"b":[true]}]})", {R"("a")", "1", "null", R"({"b":[true]})"}, {R"("b")", "2"}},
    {R"({"type":"string","enum":["a\"b",1]})", {R"("a\"b")"}, {"1"}},
    {R"({"const":"é"})", {R"("é")"}, {R"("e")"}},
    {R"({"type":"array"})", {"[]", "[1,\"a\", []]"}, {"[", "[1 2]"}},
    {R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3})",
     {"[1,2]", "[1, 2,3]"},
     {"[]", "[1]", "[1,2,3,4]", "[1,\"a\"]"}},
    {R"({"items":{"type":"integer"},"maxItems":0})", {"[]"}, {"[1]"}},
    {R"({"items":false})", {"[]"}, {"[1]"}},
    {R"({"prefixItems":[{"type":"integer"},{"type":"string"}]})",
     {"[]", "[1]", R"([1,"a"])"},
     {R"(["a"])", R"([1,"a",2])"}},
    {R"({"prefixItems":[{"type":"integer"}],"items":{"type":"null"},"minItems":1})",
     {"[1]", "[1,null,null]"},
     {"[]", "[1,2]"}},
    {R"({"prefixItems":[{"type":"integer"},{"type":"null"}],"items":{"type":"string"},"minItems":1,"maxItems":3})",
     {"[1]", "[1,null]", R"([1,null,"a"])"},
     {"[]", R"([1,null,"a","b"])"}},
    {R"({"type":"object"})", {"{}", R"({"a":1, "b":{}})"}, {"{", R"({"a":1 "b":2})", "[]"}},
    {R"({"properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"null"}},"required":["b"]})",
     {R"({"b":"x"})", R"({"a":1,"b":"x"})", R"({"a":1, "b":"x", "c":null})", R"({"b":"x","c":null})"},
     {"{}", R"({"a":1})", R"({"b":"x","a":1})", R"({"b":"x","d":1})", R"({"b":"x",})", R"({"b":1})"}},
    {R"({"type":"object","properties":{"a":{},"b":{}}})",
     {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"},
     {R"({,"b":1})"}},
    {R"({"properties":{"ab":{"type":"null"},"aé":{"type":"null"}},"additionalProperties":{"type":"integer"}})",
     {"{}", R"({"ab":null,"a":1,"abc":2,"aè":3,"":4})", R"({"x":1})"},
     {R"({"x":1,"ab":2})", R"({"x":"a"})", R"({"x":1,"\u0061b":2})", R"({"x":1,"aé":2})"}},
    {R"({"required":["a"],"additionalProperties":true})", {R"({"a":1})", R"({"a":[],"b":2})"}, {"{}", R"({"b":1})"}},
    {R"({"additionalProperties":{"type":"null"},"minProperties":1,"maxProperties":2})",
     {R"({"a":null})", R"({"a":null,"b":null})"},
     {"{}", R"({"a":null,"b":null,"c":null})"}},
    {R"({"additionalProperties":false})", {"{}", "{ }"}, {R"({"a":1})"}},
    {R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":1}]})", {"12", R"("a")"}, {"null", R"("ab")"}},
    {R"({"oneOf":[{"type":"integer"},{"type":"string"}]})", {"12", R"("ab")"}, {"null"}},
    {R"({"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}},"required":["kind"]},
                  {"type":"object","properties":{"kind":{"enum":["b","c"]}},"required":["kind"]}]})",
     {R"({"kind":"a","x":1})", R"({"kind":"c"})"},
     {R"({"kind":"b","x":1})", R"({"kind":"d"})"}},
    {R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"null"}},"required":["b"]}]})",
     {R"({"a":1,"b":null})"},
     {R"({"a":1})", "{}"}},
    {R"({"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"integer"}}})", {"1"}, {"null"}},
    {R"({"$ref":"#/$defs/t","description":"x","$defs":{"t":{"properties":{"left":{"anyOf":[{"$ref":"#/$defs/t"},{"type":"null"}]}},"required":["left"]}}})",
     {R"({"left":null})", R"({"left":{"left":{"left":null}}})"},
     {"{}", R"({"left":1})"}},
    {R"({"type":"object","properties":{"next":{"$ref":"#"}}})", {"{}", R"({"next":{"next":{}}})"}, {R"({"next":1})"}},
    {R"({"allOf":[{"$ref":"#/definitions/n"}],"maximum":5,"definitions":{"n":{"type":"integer","minimum":2}}})",
     {"2", "5"},
     {"1", "6"}},
    {R"({"title":"T","description":"d","default":1,"examples":[1],"$schema":"x","$comment":"c","deprecated":true,"type":"integer","uniqueItems":false})",
     {"1"},
     {"null"}},
};

}  // namespace

TEST_CASE("A schema has the texts that validate") {
  for (const schema_row& row : rows) {
    INFO(row.schema);
    serve::byte_states states{serve::byte_program(serve::json_schema_grammar(row.schema))};
    const test::schema_json schema = test::schema_json::parse(row.schema);
    for (const std::string& text : row.yes) {
      INFO(text);
      CHECK(has_text(states, text));
      CHECK(test::validates(test::schema_json::parse(text), schema, schema));
    }
    for (const std::string& text : row.no) {
      INFO(text);
      CHECK_FALSE(has_text(states, text));
    }
  }
}

TEST_CASE("Random texts of the masks validate") {
  const auto v = test::small_vocabulary();
  std::mt19937 random(7);
  int done = 0, walks = 0;
  for (const schema_row& row : rows) {
    INFO(row.schema);
    const test::schema_json schema = test::schema_json::parse(row.schema);
    const auto masks =
        std::make_shared<serve::token_masks>(serve::byte_program(serve::json_schema_grammar(row.schema)), v);
    for (int i = 0; i < 20; ++i, ++walks) {
      const auto text = test::random_walk(masks, *v, random);
      if (!text) continue;
      ++done;
      INFO(*text);
      const test::schema_json value = test::schema_json::parse(*text, nullptr, false);
      REQUIRE_FALSE(value.is_discarded());
      CHECK(test::validates(value, schema, schema));
    }
  }
  CHECK(done > walks * 9 / 10);
}

TEST_CASE("Keywords that cannot be held to are refused by their path") {
  const std::pair<const char*, const char*> refused[] = {
      {"[]", "json schema: #: found [], expected a schema"},
      {"false", "json schema: #: found false"},
      {R"({"not":{}})", "json schema: #/not: found a keyword that answers cannot be held to"},
      {R"({"properties":{"a":{"items":{"if":{}}}}})", "json schema: #/properties/a/items/if"},
      {R"({"properties":{"a":{"type":"strin"}}})", "json schema: #/properties/a/type: found \"strin\""},
      {R"({"type":[]})", "#/type"},
      {R"({"type":"integer","multipleOf":3})", "#/multipleOf"},
      {R"({"uniqueItems":true})", "#/uniqueItems"},
      {R"({"patternProperties":{}})", "#/patternProperties"},
      {R"({"format":"regex"})", "#/format: found \"regex\""},
      {R"x({"pattern":"a(?=b)"})x", "#/pattern: found '=b)' at byte 3"},
      {R"({"pattern":"a","maxLength":3})", "#/pattern: found another demand"},
      {R"({"minLength":3,"maxLength":2})", "#/maxLength"},
      {R"({"minLength":-1})", "#/minLength: found -1, expected 0 to 100000"},
      {R"({"maxLength":1.5})", "#/maxLength"},
      {R"({"minItems":3,"maxItems":2})", "#/maxItems"},
      {R"({"items":false,"minItems":1})", "#/maxItems"},
      {R"({"type":"integer","minimum":3,"maximum":2})", "#: found bounds without an integer"},
      {R"({"minimum":"a"})", "#/minimum"},
      {R"({"enum":[]})", "#/enum"},
      {R"({"type":"string","enum":[1]})", "#: found no value of the type"},
      {R"({"enum":[1],"minimum":0})", "#/minimum: found a keyword beside const or enum"},
      {R"({"required":["a"],"additionalProperties":false})", "#/required: found 'a', which is no property"},
      {R"({"required":1})", "#/required"},
      {R"({"properties":[]})", "#/properties"},
      {R"({"properties":{"a":{}},"minProperties":1})", "#/minProperties"},
      {R"({"$ref":"http://x"})", "#/$ref: found 'http://x', which is elsewhere"},
      {R"({"$ref":"#/a"})", "#/$ref: found '#/a', which is not there"},
      {R"({"$ref":"#"})", "grammar: rule: found '#' at its own beginning"},
      {R"({"anyOf":[]})", "#/anyOf"},
      {R"({"anyOf":[{"not":{}}]})", "#/anyOf/0/not"},
      {R"({"oneOf":[{"type":"integer"},{"type":"number"}]})",
       "#/oneOf: found schemas 0 and 1 that may have a value in common"},
      {R"({"allOf":[{"maximum":1},{"maximum":2}]})", "#/allOf/maximum: found two of them"},
      {R"({"a":1,"a":2})", "a twice"},
      {"{", "json"}};
  for (const auto& [schema, message] : refused) {
    INFO(schema);
    CHECK_THAT(test::error_of([&, s = schema] { serve::byte_program p(serve::json_schema_grammar(s)); }),
               contains(message));
  }
}
