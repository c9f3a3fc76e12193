#include "base/json.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace assay {
namespace {

/// The message with which the text is refused; empty where it is accepted.
std::string refusal(const std::string& text) {
  try {
    parse_json(text, "config.json");
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::user);
    return error.what();
  }
}

std::string nested(int depth, const std::string& open, const std::string& close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += "1";
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(ParseJson, ReadsWhatIsRight) {
  const Json json = parse_json(" {\"a\": [1, -2.5e3, true, null], \"\\u00e4\": \"\xF0\x9F\x98\x80\"} \n", "x");
  EXPECT_EQ(json["a"][1], -2500.0);
  EXPECT_EQ(json["ä"], "\xF0\x9F\x98\x80");
}

TEST(ParseJson, NestingIsReadTo64AndRefusedBeyond) {
  EXPECT_EQ(refusal(nested(64, "[", "]")), "");
  EXPECT_EQ(refusal(nested(65, "[", "]")), "config.json: JSON nested deeper than 64");
  EXPECT_EQ(refusal(nested(65, "{\"k\":", "}")), "config.json: JSON nested deeper than 64");
}

TEST(ParseJson, AHundredThousandBracketsAreRefusedAtThe65th) {
  EXPECT_EQ(refusal(std::string(100'000, '[')), "config.json: JSON nested deeper than 64");
  EXPECT_EQ(refusal(nested(100'000, "{\"a\":", "}")), "config.json: JSON nested deeper than 64");
}

TEST(ParseJson, DuplicateKeysAreRefusedInEveryObject) {
  EXPECT_EQ(refusal(R"({"a": 1, "b": 2, "a": 3})"), "config.json: the key 'a' stands twice in one object");
  EXPECT_EQ(refusal(R"([{"x": {"y": 1, "\u0079": 2}}])"), "config.json: the key 'y' stands twice in one object");
  EXPECT_EQ(refusal(R"({"a": {"a": 1}, "b": {"a": 2}})"), "") << "the same key in different objects is right";
}

TEST(ParseJson, WhatIsReadIsWhatWasWritten) {
  const std::string text =
      R"({"a":[[],{},[{"b":[1,[2]],"c":-3}],"x"],"d":{"e":{"f":[18446744073709551615,0.5,false]}},"g":null})";
  EXPECT_EQ(parse_json(text, "x").dump(), text);
  for (const std::string one : {"7", "\"s\"", "[]", "{}", "null", "-1.5"}) EXPECT_EQ(parse_json(one, "x").dump(), one);
}

// A reader that looks through the array again after each object takes minutes for this.
TEST(ParseJson, AHundredThousandObjectsInOneArrayAreReadOnceEach) {
  std::string text = "[{}";
  for (int i = 1; i < 100'000; ++i) text += ",{}";
  EXPECT_EQ(parse_json(text + "]", "x").size(), 100'000U);
}

TEST(ParseJson, MalformedTextIsRefusedInOneLineThatNamesTheFile) {
  const std::string bad[] = {"",
                             "{",
                             "{} {}",
                             "[1, 2,]",
                             "{\"a\" 1}",
                             "nul",
                             "1 trailing",
                             "[1]\n\n]",
                             "\"\x01\"",
                             "\"line\nbreak\"",
                             "{\"a\n\n\": 1, \"a",
                             "\"\xff\"",
                             "\"\xc0\xaf\"",
                             "\"\xed\xa0\x80\"",
                             "[NaN]",
                             "[01]",
                             std::string("{}\0", 3),
                             "[\"\xe2\x82\"]"};
  for (const std::string& text : bad) {
    const std::string message = refusal(text);
    EXPECT_EQ(message.rfind("config.json: ", 0), 0U) << "text: " << text;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_LT(message.size(), 300U);
  }
}

}  // namespace
}  // namespace assay
