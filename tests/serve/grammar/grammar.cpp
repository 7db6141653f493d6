// tests/serve/grammar/grammar.cpp: masks are those of a check of every token; filters, the cache of grammars, and limits.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/grammar/structured_output.hpp>

#include <ctime>

#include "support/byte_tokenizer.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"
#include "support/grammar_checks.hpp"

using namespace tokamax;
using kind = serve::structured_output::kind;

namespace {

const serve::structured_output structures[] = {
    {.what = kind::object},
    {.what = kind::schema,
     .text = R"({"properties":{"name":{"type":"string","maxLength":4},"n":{"type":"integer"}},"required":["name"]})"},
    {.what = kind::schema, .text = R"({"type":"array","items":{"enum":["ab","abc",true,null]}})"},
    {.what = kind::regex, .text = "(ab|é|日本)*[0-9]{1,3}(\\.5)?"},
    {.what = kind::choice, .choices = {"ab", "abab", "name", "日本"}},
    {.what = kind::grammar, .text = "root ::= \"{\" root \"}\" | \"ab\" | \"\""}};

// Of the processor, since others may use the machine.
double seconds_of(const auto& f) {
  const std::clock_t begin = std::clock();
  f();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("Masks are those of a check of every token") {
  const auto v = test::small_vocabulary();
  std::mt19937 random(3);
  std::vector<std::uint64_t> bits((v->bytes.size() + 63) / 64);
  for (const serve::structured_output& s : structures) {
    INFO(s.text);
    const serve::byte_program program(serve::rules_of(s));
    const auto masks = std::make_shared<serve::token_masks>(program, v);
    for (int walk = 0; walk < 20; ++walk) {
      serve::byte_states states(program);  // the same language, asked byte by byte
      std::int32_t state = states.start();
      serve::grammar_filter f(masks);
      for (int step = 0; step < 40 && !f.finished(); ++step) {
        f.allowed(bits);
        std::vector<std::int32_t> expected;
        for (std::size_t id = 0; id < v->bytes.size(); ++id) {
          std::int32_t to = state;
          for (const char c : v->bytes[id])
            if (to != serve::byte_states::dead) to = states.next(to, static_cast<std::uint8_t>(c));
          if (id == 0 ? states.accepts(state) : !v->bytes[id].empty() && to != serve::byte_states::dead)
            expected.push_back(static_cast<std::int32_t>(id));
        }
        REQUIRE(test::ids_of(bits) == expected);
        const std::int32_t id = expected[random() % expected.size()];
        for (std::int32_t other = 0; other < std::ssize(v->bytes); ++other)  // and accept agrees with the mask
          if (serve::grammar_filter copy = f;
              copy.accept(other) != std::binary_search(expected.begin(), expected.end(), other))
            FAIL("token " << other);
        REQUIRE(f.accept(id));
        if (id == 0) break;
        for (const char c : v->bytes[static_cast<std::size_t>(id)])
          state = states.next(state, static_cast<std::uint8_t>(c));
      }
    }
  }
}

TEST_CASE("A filter ends where nothing may follow, and clones go their own ways") {
  const auto v = test::small_vocabulary();
  serve::grammar_cache cache(v);
  const auto id = [&](std::string_view text) {
    return static_cast<std::int32_t>(std::find(v->bytes.begin() + 1, v->bytes.end(), text) - v->bytes.begin());
  };
  const auto f = cache.filter({.what = kind::choice, .choices = {"ab", "name", "ab1"}});
  CHECK_FALSE(f->accept(0));
  CHECK_FALSE(f->accept(id("x")));
  CHECK_FALSE(f->accept(-1));
  CHECK_FALSE(f->accept(100000));
  CHECK_FALSE(f->finished());
  const auto other = f->clone();
  CHECK(f->accept(id("ab")));
  CHECK_FALSE(f->finished());
  const auto third = f->clone();
  CHECK(f->accept(0));
  CHECK(f->finished());
  CHECK_FALSE(f->accept(0));
  CHECK(other->accept(id("name")));
  CHECK(other->finished());
  CHECK(third->accept(id("1")));
  CHECK(third->finished());
  CHECK(test::error_of([&] { cache.filter({.what = kind::choice}); }) ==
        "grammar: found no text, expected one or more");
  CHECK_THAT(test::error_of([&] { cache.filter({.what = kind::regex, .text = "("}); }),
             contains("regex: found the end"));
}

TEST_CASE("Nesting has an end, and a recursion on the right needs no stack") {
  const auto v = test::small_vocabulary();
  serve::byte_states states{serve::byte_program(serve::json_schema_reader::any_object())};
  std::string deep = "{\"a\":";
  for (int i = 0; i < 40; ++i) deep += "[";
  std::string open = deep + "1";
  for (int i = 0; i < 40; ++i) open += "]";
  CHECK(test::has_text(states, open + "}"));
  for (int i = 0; i < 400; ++i) deep += "[";
  CHECK_FALSE(test::has_text(states, deep));
  CHECK(states.size() < 3000);
  serve::byte_states list{serve::byte_program(serve::ebnf_grammar("root ::= \"a\" root | \"\""))};
  CHECK(test::has_text(list, std::string(100'000, 'a')));
  CHECK(list.size() < 5);
  CHECK_THAT(test::error_of([] {
               serve::byte_states s{serve::byte_program(serve::regex_grammar("(a|b)*a(a|b){20}"))};
               std::mt19937 random(1);
               for (std::int32_t at = s.start();;) at = s.next(at, random() % 2 ? 'a' : 'b');
             }),
             contains("grammar: states: found more"));
}

TEST_CASE("Bytes of tokens are what they add to a text") {
  const text::tokenizer t = test::byte_tokenizer("low lower lowest {\"name\": \"é\"}", 300);
  const std::vector<std::string> bytes = serve::token_bytes(t);
  CHECK(bytes[0].empty());  // <|endoftext|>
  for (const std::string text : {" lower lowest", "{\"name\": \"é\"}", "日本"}) {
    std::string joined;
    for (const std::int32_t id : t.ids(text)) joined += bytes[static_cast<std::size_t>(id)];
    CHECK(joined == text);
  }
}

TEST_CASE("Masks of a large vocabulary take little time") {
  std::mt19937 random(5);
  std::vector<std::string> bytes(1);
  for (int b = 0; b < 256; ++b) bytes.push_back(std::string(1, static_cast<char>(b)));
  while (bytes.size() < 49152) {  // words as those of a language, a third of them with a space before
    std::string word(random() % 3 == 0 ? " " : "");
    for (std::size_t n = 2 + random() % 9; n > 0; --n)
      word += static_cast<char>("etaoinshrdlucmfwypvbgkjqxz"[std::min(random() % 26, random() % 26)]);
    bytes.push_back(word);
  }
  const auto v = std::make_shared<const serve::vocabulary>(std::move(bytes), std::vector<std::int32_t>{0});
  std::string schema = R"({"type":"object","properties":{)";
  for (int i = 0; schema.size() < 10'000; ++i)
    schema += (i ? "," : "") + ("\"field_" + std::to_string(i)) +
              R"(":{"type":"object","properties":{"text":{"type":"string","maxLength":100},)" +
              R"("n":{"type":"integer","minimum":0,"maximum":)" + std::to_string(i * 7) +
              R"(},"list":{"type":"array","items":{"type":"number"}}}})";
  schema += "}}";
  std::shared_ptr<serve::token_masks> masks;
  const double compiling = seconds_of([&] {
    masks = std::make_shared<serve::token_masks>(serve::byte_program(serve::json_schema_grammar(schema)), v);
  });
  std::vector<double> times;
  std::vector<std::uint64_t> bits((v->bytes.size() + 63) / 64);
  for (int walk = 0; walk < 8; ++walk) {
    serve::grammar_filter f(masks);
    for (int step = 0; step < 300 && !f.finished(); ++step) {
      times.push_back(seconds_of([&] { f.allowed(bits); }));
      const auto ids = test::ids_of(bits);
      REQUIRE(f.accept(ids[random() % ids.size()]));
    }
  }
  std::sort(times.begin(), times.end());
  const double p99 = times[times.size() * 99 / 100];
  WARN("a schema of 10 kB: " << compiling * 1e3 << " ms; a mask: median " << times[times.size() / 2] * 1e6
                             << " us, p99 " << p99 * 1e6 << " us, most " << times.back() * 1e6 << " us");
  CHECK(compiling < 5);  // far above what they take, since tests are not optimised and share the machine
  CHECK(p99 < 0.1);
}
