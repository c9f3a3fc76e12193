#include "studies/study/study_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "studies/study/examples.h"

namespace assay {
namespace {

constexpr const char* sound_study = R"(title = "A study"

[defaults]
seconds = 2

[[cells]]
name = "one"
kind = "bench"
model = "gpt2"
precision = ["fp32", "bf16"]
batch = [1, 8]
no-baseline = true
quick = { batch = 1 }

[[expectations]]
text = "bf16 is faster"
cell = "one"
field = "speedup"
of = { precision = "bf16" }
is = "above"
value = 1
)";

std::string fault_of_study(const std::string& text) {
  try {
    parse_study(text, "s.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::user);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "";
}

TEST(StudyFile, HoldsWhatItSays) {
  const StudyFile study = parse_study(sound_study, "s.toml");
  ASSERT_EQ(study.cells.size(), 1U);
  const StudyCell& cell = study.cells[0];
  EXPECT_EQ(cell.kind, "bench");
  ASSERT_EQ(cell.options.size(), 4U);
  EXPECT_EQ(cell.options[1].words, (std::vector<std::string>{"fp32", "bf16"}));
  EXPECT_EQ(cell.options[2].words, (std::vector<std::string>{"1", "8"}));
  EXPECT_EQ(cell.options[3].form, StudyOption::Form::flag);
  EXPECT_EQ(cell.options[0].line, 9);
  EXPECT_EQ(cell.quick.at(0).key, "batch");
  EXPECT_EQ(study.defaults.at(0).words.at(0), "2");
  EXPECT_EQ(study.expectations.at(0).rows.of["precision"], "bf16");
  EXPECT_EQ(study.expectations.at(0).claim, StudyExpectation::Claim::above);
}

TEST(StudyFile, AFaultNamesFileLineAndTheNearestWord) {
  struct Case {
    const char* text;
    const char* begin;
    const char* part;
  };
  const std::string cell = "title = \"t\"\n[[cells]]\nkind = \"bench\"\n";
  const Case cases[] = {
      {"", "s.toml:1: ", "title"},
      {"title = \"t\"\n", "s.toml:1: ", "no [[cells]]"},
      {"title = \"t\"\ncels = 1\n", "s.toml:2: ", "did you mean 'cells'?"},
      {"title = \"t\"\n[[cells]]\nname = \"x\"\n", "s.toml:2: ", "'kind'"},
      {"title = 3\n", "s.toml:1: ", "'title' must be a text"},
      {"title = \"t\"\ncells = 3\n", "s.toml:2: ", "[[cells]]"},
      {"title = \"t\"\n[[cells]]\nkind = \"bench\"\nbatch = 1979-05-27\n", "s.toml:4: ", "'batch' must be"},
      {"title = \"t\"\n[[cells]]\nkind = \"bench\"\nbatch = []\n", "s.toml:4: ", "'batch' must be"},
      {"title = \"t\"\n[[cells]]\nkind = \"bench\"\n[[cells]]\nkind = \"bench\"\n", "s.toml:4: ", "line 2"},
      {"title = \"t\"\n[[cells]]\nkind = \"bench\"\nweights = \"reel\"\n", "s.toml:4: ", "did you mean 'real'?"},
      {"title = \"t\"\n[[cells]\n", "s.toml:2: ", ""},
      {"title = \"t\"\ntitle = \"u\"\n", "s.toml:2: ", ""}};
  for (const Case& one : cases) {
    const std::string fault = fault_of_study(one.text);
    EXPECT_TRUE(fault.starts_with(one.begin)) << one.text << "\n" << fault;
    EXPECT_NE(fault.find(one.part), std::string::npos) << one.text << "\n" << fault;
  }
}

TEST(StudyFile, AnExpectationIsAboutWhatThereIs) {
  const std::string cell = "title = \"t\"\n[[cells]]\nkind = \"bench\"\n[[expectations]]\ntext = \"x\"\n";
  const auto fault = [&](const std::string& more) { return fault_of_study(cell + more); };
  EXPECT_NE(fault("cell = \"bensh\"\nfield = \"speedup\"\nis = \"above\"\nvalue = 1\n").find("'bench'"),
            std::string::npos);
  EXPECT_NE(fault("field = \"speed_up\"\nis = \"above\"\nvalue = 1\n").find("'speedup'"), std::string::npos);
  EXPECT_NE(fault("field = \"speedup\"\nof = { precison = 1 }\nis = \"above\"\nvalue = 1\n").find("'precision'"),
            std::string::npos);
  EXPECT_NE(fault("field = \"speedup\"\nis = \"above\"\n").find("'than'"), std::string::npos);
  EXPECT_NE(fault("field = \"speedup\"\nis = \"abov\"\nvalue = 1\n").find("'above'"), std::string::npos);
  EXPECT_NE(fault("field = \"speedup\"\nvalue = 1\n").find("'is'"), std::string::npos);
  EXPECT_EQ(fault("field = \"speedup\"\nis = \"above\"\nvalue = 1\n"), "");
}

TEST(StudyFile, WhatEndsEarlyIsAStudyOrALineThatSaysWhyNot) {
  const std::string text = sound_study;
  for (std::size_t end = 0; end < text.size(); ++end) fault_of_study(text.substr(0, end));
  fault_of_study(std::string(100'000, '['));
  EXPECT_NE(fault_of_study(std::string("title = \"\xff\"\n")), "");
}

TEST(ExampleStudies, AreReadAndFoundByName) {
  EXPECT_GE(example_studies().size(), 5U);
  for (const ExampleStudy& study : example_studies()) {
    const StudyFile file = parse_study(study.text(), study.name);
    EXPECT_FALSE(file.title.empty());
    EXPECT_FALSE(file.about.empty()) << study.name << " says what is random";
    EXPECT_FALSE(file.expectations.empty()) << study.name;
    EXPECT_EQ(find_example_study(study.name)->name, std::string(study.name));
  }
  EXPECT_EQ(find_example_study("inferenc"), nullptr);
}

}  // namespace
}  // namespace assay
