#include "text/json_lines.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing.h"
#include "text/data_file.h"

namespace assay {
namespace {

std::string labelled_error(std::string_view content) {
  return user_error_of([&] { parse_labelled_json_lines(content, "F"); });
}

std::string text_error(std::string_view content) {
  return user_error_of([&] { parse_json_lines_text(content, "F"); });
}

TEST(JsonLines, SentencesAndLabelsInFileOrder) {
  const std::string content =
      "{\"idx\": 7, \"sentence\": \"a\\tfine film \", \"label\": 1}\r\n{\"label\": 0, \"text\": \"\\u00e9t\xC3\xA9\"}";
  const LabelledSet set = parse_labelled_json_lines(content, "F");
  EXPECT_EQ(set.sentences, (std::vector<std::string>{"a\tfine film ", "été"}));
  EXPECT_EQ(set.labels, (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(set.place_of(1), "F:2");
}

TEST(JsonLines, TheFirstLineSaysWhetherThereAreLabels) {
  EXPECT_TRUE(has_labels("{\"text\": \"\", \"label\": 0}\nnot read", "F"));
  EXPECT_FALSE(has_labels("{\"text\": \"\", \"labels\": 0}\n{\"label\": 1}", "F"));
}

TEST(JsonLines, PairsStandUnderTheNamesOfDataSets) {
  const std::string mnli = "{\"premise\": \"a b\", \"hypothesis\": \"c\", \"label\": 2}\n";
  const LabelledSet classes = parse_labelled_json_lines(mnli, "F");
  EXPECT_EQ(classes.sentences, std::vector<std::string>{"a b"});
  EXPECT_EQ(classes.seconds, std::vector<std::string>{"c"});
  const std::string sts = "{\"sentence1\": \"a\", \"sentence2\": \"b\", \"score\": 3.25}\n";
  EXPECT_TRUE(has_labels(sts, "F"));
  EXPECT_FALSE(has_labels("{\"text\": \"\", \"score\": 1}", "F")) << "of what is no pair it is no label";
  EXPECT_EQ(parse_labelled_json_lines(sts, "F", LabelKind::numbers).numbers, std::vector<double>{3.25});
  EXPECT_EQ(labelled_error(mnli + "{\"text\": \"a\", \"label\": 1}"),
            "F:2: is one sentence, the lines before are pairs");
  EXPECT_EQ(
      user_error_of([&] { parse_labelled_json_lines("{\"text\": \"a\", \"label\": \"x\"}", "F", LabelKind::numbers); }),
      "F:1: the label \"x\" is no number");
}

TEST(JsonLines, ALabelMayBeANameOfTheModelsClasses) {
  const ClassNames names = {"CONTRADICTION", "neutral", "Entailment"};
  const std::string lines = "{\"text\": \"a\", \"label\": \"entailment\"}\n{\"text\": \"b\", \"label\": 1}\n";
  EXPECT_EQ(parse_labelled_json_lines(lines, "F", LabelKind::classes, names).labels, (std::vector<std::int32_t>{2, 1}));
  const auto fault = [&](const ClassNames& known) {
    return user_error_of(
        [&] { parse_labelled_json_lines("{\"text\": \"a\", \"label\": \"other\"}", "F", LabelKind::classes, known); });
  };
  EXPECT_EQ(fault(names),
            "F:1: the label \"other\" is none of the model's classes: CONTRADICTION, neutral, Entailment");
  EXPECT_NE(fault({}).find("names no classes"), std::string::npos) << fault({});
  const TaggedSet tagged =
      parse_tagged_json_lines("{\"tokens\": [\"Oslo\", \".\"], \"tags\": [\"B-LOC\", \"O\"]}", "F", {"O", "B-LOC"});
  EXPECT_EQ(tagged.rows[0].tags, (std::vector<std::int32_t>{1, 0}));
}

TEST(JsonLines, WordsHaveATagEach) {
  const std::string line = "{\"tokens\": [\"EU\", \"rejects\"], \"ner_tags\": [3, -100]}\n";
  EXPECT_TRUE(has_tags(line, "F"));
  EXPECT_FALSE(has_tags("{\"tokens\": [], \"label\": 1}", "F"));
  const TaggedSet set = parse_tagged_json_lines(line + line, "F");
  ASSERT_EQ(set.rows.size(), 2U);
  EXPECT_EQ(set.rows[1].words, (std::vector<std::string>{"EU", "rejects"}));
  EXPECT_EQ(set.rows[1].tags, (std::vector<std::int32_t>{3, -100}));
  EXPECT_EQ(set.rows[1].place, "F:2");
  const auto fault = [](std::string_view bad) { return user_error_of([&] { parse_tagged_json_lines(bad, "F"); }); };
  EXPECT_EQ(fault("{\"tokens\": [\"a\"], \"tags\": [1, 2]}"), "F:1: 'tokens' and 'tags' are no lists of one length");
  EXPECT_EQ(fault("{\"tokens\": [\"a\"], \"tags\": [-1]}").find("F:1: the tag -1 "), 0U);
  EXPECT_EQ(fault("{\"tokens\": [1], \"tags\": [1]}"), "F:1: the word 1 is no string");
}

TEST(JsonLines, EveryTextEndsALine) {
  EXPECT_EQ(parse_json_lines_text("{\"text\": \"one\"}\n{\"text\": \"\"}\n{\"text\": \"two\\nthree\\n\"}\n", "F"),
            "one\n\ntwo\nthree\n");
}

TEST(JsonLines, ErrorsNameFileAndLine) {
  const std::string good = "{\"text\": \"a\", \"label\": 1}\n";
  EXPECT_EQ(labelled_error(""), "F: holds no lines");
  EXPECT_EQ(labelled_error(good + "\n" + good), "F:2: is blank");
  EXPECT_EQ(labelled_error(good + good + " \r\n"), "F:3: is blank");
  EXPECT_EQ(labelled_error(good + "[]"), "F:2: is not a JSON object");
  EXPECT_EQ(labelled_error(good + "{\"text\": \"a\"}"), "F:2: has no 'label'");
  EXPECT_EQ(labelled_error(good + "{\"label\": 1}"), "F:2: has neither 'text' nor 'sentence'");
  EXPECT_EQ(text_error(R"({"text": "a", "sentence": "b"})"), "F:1: has both 'text' and 'sentence'");
  EXPECT_EQ(text_error(R"({"text": ["a"]})"), "F:1: its text is [\"a\"], not a string");
  EXPECT_EQ(labelled_error(good + "{\"text\": ").find("F:2: "), 0U);
  EXPECT_EQ(text_error("{\"text\": \"\xFF\"}").find("F:1: "), 0U);
  EXPECT_EQ(text_error("{\"text\": \"\\ud800\"}").find("F:1: "), 0U) << "half of a surrogate pair is no text";
  for (const std::string label : {"-1", "1.0", "\"1\"", "null", "true", "2147483648", "18446744073709551616", "[1]"}) {
    const std::string message = labelled_error("{\"text\": \"a\", \"label\": " + label + "}");
    EXPECT_EQ(message.find("F:1: the label "), 0U) << message;
  }
}

TEST(DataFiles, AreReadByTheirEndings) {
  const TemporaryFolder folder;
  const auto tsv = folder.file("a.tsv", "sentence\tlabel\nfine\t1\n");
  const auto labelled = folder.file("b.jsonl", "{\"sentence\": \"fine\", \"label\": 1}\n");
  const auto text = folder.file("c.jsonl", "{\"text\": \"fine\"}\n");
  EXPECT_TRUE(holds_labelled(tsv));
  EXPECT_TRUE(holds_labelled(labelled));
  EXPECT_FALSE(holds_labelled(text));
  EXPECT_FALSE(holds_labelled(folder.file("d.txt", "{\"sentence\": \"fine\", \"label\": 1}\n")));
  EXPECT_FALSE(holds_labelled(folder.path()));
  EXPECT_EQ(load_labelled(tsv).sentences, load_labelled(labelled).sentences);
  EXPECT_EQ(load_labelled(tsv).labels, load_labelled(labelled).labels);
  EXPECT_EQ(load_text(text), "fine\n");
  EXPECT_EQ(load_text(folder.file("e.txt", "fine\r\n\n")), "fine\r\n\n");
  EXPECT_EQ(user_error_of([&] { load_labelled(text); }), text.string() + ":1: has no 'label'");
}

TEST(DataFiles, WhatIsNotReadSaysWhatIs) {
  const TemporaryFolder folder;
  for (const char* name : {"train.parquet", "train.jsonl.gz"}) {
    const auto path = folder.file(name, "PAR1");
    const std::string ending = path.extension().string();
    const std::string advice =
        "; python3 -c 'import pandas; pandas.read_parquet(\"train.parquet\").to_json(\"train.jsonl\", "
        "orient=\"records\", "
        "lines=True)' (packages pandas and pyarrow) makes a .jsonl of it";
    const std::string expected = path.string() + ": " + ending +
                                 " files are not read; .tsv, .jsonl, text and folders of .npy arrays are" +
                                 (ending == ".parquet" ? advice : "");
    EXPECT_EQ(user_error_of([&] { load_text(path); }), expected);
    EXPECT_EQ(user_error_of([&] { load_labelled(path); }), expected);
    EXPECT_EQ(user_error_of([&] { holds_labelled(path); }), expected);
  }
}

}  // namespace
}  // namespace assay
