#include "measure/markers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace assay {
namespace {

std::string marker(const std::string& phase, const std::string& at, double time_s, int items = 0) {
  return fmt::format("{{\"phase\": \"{}\", \"at\": \"{}\", \"time\": {:.6f}, \"items\": {}}}\n", phase, at, time_s,
                     items);
}

MarkerReader read(const std::string& text) {
  MarkerReader reader(100);
  reader.take(text);
  reader.finish(200);
  return reader;
}

TEST(Markers, PairsBeginAndEndOfEachPhase) {
  const MarkerReader reader =
      read(marker("forward", "begin", 110, 32) + marker("forward", "end", 111.5) + marker("backward", "begin", 112) +
           marker("backward", "end", 114, 8) + marker("forward", "begin", 120, 32) + marker("forward", "end", 122));
  ASSERT_EQ(reader.phases().size(), 2u);
  EXPECT_EQ(reader.phases()[0].name, "forward");
  ASSERT_EQ(reader.phases()[0].spans.size(), 2u);
  EXPECT_DOUBLE_EQ(reader.phases()[0].spans[0].end_s - reader.phases()[0].spans[0].begin_s, 1.5);
  EXPECT_DOUBLE_EQ(reader.phases()[0].spans[1].items, 32);
  EXPECT_DOUBLE_EQ(reader.phases()[1].spans[0].items, 8) << "items may stand at the end";
  EXPECT_EQ(reader.faults(), 0) << reader.first_fault();
}

TEST(Markers, PhasesNestInOneAnotherAndInThemselves) {
  const MarkerReader reader =
      read(marker("step", "begin", 110) + marker("forward", "begin", 111) + marker("forward", "begin", 112) +
           marker("forward", "end", 113) + marker("forward", "end", 115) + marker("step", "end", 120));
  ASSERT_EQ(reader.phases().size(), 2u);
  EXPECT_DOUBLE_EQ(reader.phases()[0].spans[0].end_s, 120);
  ASSERT_EQ(reader.phases()[1].spans.size(), 2u);
  EXPECT_DOUBLE_EQ(reader.phases()[1].spans[0].begin_s, 112) << "the inner one ends first";
  EXPECT_EQ(reader.faults(), 0);
}

TEST(Markers, ReadTheSameInPiecesOfAnyLength) {
  const std::string text =
      marker("a", "begin", 110) + marker("a", "end", 111) + marker("b", "begin", 112) + marker("b", "end", 113);
  for (std::size_t piece = 1; piece < 80; piece += 7) {
    MarkerReader reader(100);
    for (std::size_t at = 0; at < text.size(); at += piece) reader.take(std::string_view(text).substr(at, piece));
    reader.finish(200);
    EXPECT_EQ(reader.phases().size(), 2u) << piece;
    EXPECT_EQ(reader.faults(), 0) << piece;
  }
}

TEST(Markers, WhatBreaksTheProtocolIsAFaultAndNothingElse) {
  const auto fault = [](const std::string& text) {
    const MarkerReader reader = read(text);
    EXPECT_TRUE(reader.phases().empty()) << text;
    return reader.first_fault();
  };
  const auto says = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(fault(text).find(part), std::string::npos) << text << " gave: " << fault(text);
  };
  says("hello\n", "hello");
  says("[]\n", "is no object");
  says("{\"phase\": \"a\"}\n", "no text 'at'");
  says("{\"phase\": 3, \"at\": \"begin\", \"time\": 110}\n", "no text 'phase'");
  says("{\"phase\": \"a\", \"at\": \"middle\", \"time\": 110}\n", "neither begin nor end");
  says("{\"phase\": \"a\", \"at\": \"begin\"}\n", "has no 'time'");
  says("{\"phase\": \"a\", \"at\": \"begin\", \"time\": 1e999}\n", "");
  says("{\"phase\": \"\", \"at\": \"begin\", \"time\": 110}\n", "1 to 200 bytes");
  says(marker(std::string(201, 'x'), "begin", 110), "1 to 200 bytes");
  says(marker("a", "begin", 110, -1), "not from 0 to 1e15");
  says(marker("a", "begin", 99), "before the program's start");
  says(marker("a", "end", 110), "ends what was not begun");
  says(marker("a", "begin", 110) + marker("a", "end", 109), "ends before it began");
  says(marker("a", "begin", 110), "begun and not ended");
  says(marker("a", "begin", 110) + marker("a", "end", 300), "ends after the program did");
  says("{\"phase\"", "has no end");
  says(std::string(100000, '[') + "\n", "longer than 4096 bytes");
  says(std::string(3000, '[') + "\n", "[[[");
  says(std::string("\0\xff\xfe\n", 4), "\\x00");
}

TEST(Markers, GoOnAfterALineThatIsTooLong) {
  const MarkerReader reader =
      read(std::string(1 << 20, 'x') + "\n" + marker("a", "begin", 110) + marker("a", "end", 111));
  EXPECT_EQ(reader.phases().size(), 1u);
  EXPECT_EQ(reader.faults(), 1);
}

TEST(Markers, AProgramCannotFillTheMemory) {
  MarkerReader reader(100);
  for (int i = 0; i < 2000; ++i) reader.take(marker("phase " + std::to_string(i), "begin", 110));
  for (int i = 0; i < 2000; ++i) reader.take(marker("phase 0", "begin", 110));
  reader.take(std::string(64 << 20, 'x'));
  for (int i = 0; i < 2000; ++i) reader.take(marker("phase 1", "end", 110));
  reader.finish(200);
  EXPECT_LE(reader.phases().size(), most_phases);
  EXPECT_GT(reader.faults(), 3000);
}

TEST(Markers, RandomBytesAreFaults) {
  Random random(5);
  const std::string alphabet = "{}[]\":,abegin0123456789.eE-\n phasetm\\u\xff";
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 500; ++i) text += alphabet[random.below(alphabet.size())];
    EXPECT_TRUE(read(text + "\n").phases().empty());
  }
}

}  // namespace
}  // namespace assay
