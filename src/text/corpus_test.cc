#include <algorithm>

#include "text/corpus.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "formats/npy.h"
#include "formats/testing.h"
#include "text/bundled.h"

namespace assay {
namespace {

std::string tsv_error(std::string_view content) {
  const TemporaryFolder folder;
  const auto path = folder.file("set.tsv", content);
  const std::string message = user_error_of([&] { load_labelled_tsv(path); });
  EXPECT_EQ(message.find(path.string()), 0u) << message;
  return message.substr(std::min(message.size(), path.string().size()));
}

std::string json_error(std::string_view content) {
  return user_error_of([&] { parse_token_json(content, "F.json"); });
}

TEST(LabelledTsv, SentencesAndLabelsInFileOrder) {
  const TemporaryFolder folder;
  const std::string content = "sentence\tlabel\na fine film \t1\r\n\xC3\xA9t\xC3\xA9\t0";
  const LabelledSet set = load_labelled_tsv(folder.file("set.tsv", content));
  EXPECT_EQ(set.sentences, (std::vector<std::string>{"a fine film ", "été"}));
  EXPECT_EQ(set.labels, (std::vector<std::int32_t>{1, 0}));
}

TEST(LabelledTsv, AnEmptySentenceIsOne) {
  const TemporaryFolder folder;
  EXPECT_EQ(load_labelled_tsv(folder.file("set.tsv", "sentence\tlabel\n\t3\n")).sentences.size(), 1u);
}

TEST(LabelledTsv, PairsHaveTwoSentencesAndALabelThatMayBeANumber) {
  const TemporaryFolder folder;
  const LabelledSet classes = load_labelled_tsv(folder.file("mnli.tsv", "premise\thypothesis\tlabel\na b\tc\t2\n"));
  EXPECT_EQ(classes.sentences, std::vector<std::string>{"a b"});
  EXPECT_EQ(classes.seconds, std::vector<std::string>{"c"});
  EXPECT_EQ(classes.labels, std::vector<std::int32_t>{2});
  const auto path = folder.file("sts.tsv", "sentence1\tsentence2\tscore\na\tb\t3.25\nc\td\t0\n");
  const LabelledSet numbers = load_labelled_tsv(path, LabelKind::numbers);
  EXPECT_EQ(numbers.numbers, (std::vector<double>{3.25, 0}));
  EXPECT_TRUE(numbers.labels.empty());
  EXPECT_NE(user_error_of([&] { load_labelled_tsv(path); }).find(":2: the label '3.25'"), std::string::npos);
  EXPECT_EQ(tsv_error("sentence1\tsentence2\tlabel\na\t1\n"), ":2: has 1 tabs, 2 are needed");
}

TEST(LabelledTsv, ErrorsNameFileAndLine) {
  EXPECT_EQ(tsv_error(""),
            ":1: the header is neither sentence<TAB>label nor sentence1<TAB>sentence2<TAB>label or such a pair");
  EXPECT_EQ(tsv_error("sentence\tlabel\n"), ": holds no sentences");
  EXPECT_EQ(tsv_error("sentence\tlabel\na\t1\n\nb\t1\n"), ":3: is blank");
  EXPECT_EQ(tsv_error("sentence\tlabel\na 1\n"), ":2: has no tab between sentence and label");
  EXPECT_EQ(tsv_error("sentence\tlabel\na\tb\t1\n"), ":2: has more than one tab");
  EXPECT_EQ(tsv_error("sentence\tlabel\n\xFF\t1\n"), ":2: is not UTF-8: byte 0xff at offset 0");
  for (const std::string label : {"", "x", "-1", "1.0", "1 ", "2147483648"}) {
    EXPECT_NE(tsv_error("sentence\tlabel\na\t" + label + "\n").find(":2: the label '" + label), std::string::npos);
  }
}

TEST(TokenJson, ReadsIdsMaskAndLabels) {
  const TokenBatch batch = parse_token_json(
      R"({"input_ids": [[1,2,3],[4,5,0]], "attention_mask": [[1,1,1],[1,1,0]], "labels": [0,1]})", "F");
  EXPECT_EQ(batch.batch, 2);
  EXPECT_EQ(batch.seq, 3);
  EXPECT_EQ(batch.input_ids, (std::vector<std::int32_t>{1, 2, 3, 4, 5, 0}));
  EXPECT_EQ(batch.attention_mask, (std::vector<std::uint8_t>{1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(batch.labels, (std::vector<std::int32_t>{0, 1}));
}

TEST(TokenJson, MaskAndLabelsMayBeMissing) {
  const TokenBatch batch = parse_token_json(R"({"input_ids": [[7]], "attention_mask": null})", "F");
  EXPECT_TRUE(batch.attention_mask.empty());
  EXPECT_TRUE(batch.labels.empty());
  EXPECT_EQ(parse_token_json(R"({"input_ids": [[7, 8]], "labels": [[-100, 8]]})", "F").labels[0], -100);
}

TEST(TokenJson, OneLineSaysWhatIsWrong) {
  EXPECT_EQ(json_error("[]"), "F.json: is not an object with 'input_ids'");
  EXPECT_EQ(json_error(R"({"input_ids": []})"), "F.json: input_ids: is an empty list");
  EXPECT_EQ(json_error(R"({"input_ids": [[]]})"), "F.json: input_ids: holds no tokens");
  EXPECT_EQ(json_error(R"({"input_ids": [1]})"), "F.json: input_ids: has shape (1), (rows, seq) is needed");
  EXPECT_EQ(json_error(R"({"input_ids": [[1], 2]})"), "F.json: input_ids: mixes numbers and lists");
  EXPECT_EQ(json_error(R"({"input_ids": [[1, 2], [3]]})"),
            "F.json: input_ids: is ragged: row 0 has 2 values, row 1 has 1");
  EXPECT_EQ(json_error(R"({"input_ids": [[-1]]})"),
            "F.json: input_ids: row 0, position 0 is -1, outside 0 to 2147483647");
  for (const std::string odd : {"1.0", "\"1\"", "null", "true", "[1]", "18446744073709551615", "1e400"}) {
    EXPECT_EQ(json_error("{\"input_ids\": [[" + odd + "]]}").find("F.json: "), 0u) << odd;
  }
  EXPECT_EQ(json_error(R"({"input_ids": [[1]], "attention_mask": [[2]]})"),
            "F.json: attention_mask: row 0, position 0 is 2, outside 0 to 1");
  EXPECT_EQ(json_error(R"({"input_ids": [[1]], "attention_mask": [[1, 1]]})"),
            "F.json: attention_mask: has shape (1, 2), input_ids have (1, 1)");
  EXPECT_EQ(json_error(R"({"input_ids": [[1]], "labels": [-5]})"),
            "F.json: labels: row 0 is -5; of the labels below 0 only -100 is one");
  EXPECT_NE(json_error(R"({"input_ids": [[1]], "token_type_ids": [[0]]})").find("'token_type_ids'"), std::string::npos);
}

TEST(NpyFolder, ShapesMustAgree) {
  const TemporaryFolder folder;
  const std::vector<std::int32_t> ids = {5, 6, 7, 8};
  const std::vector<std::uint8_t> mask = {1, 1, 1, 0};
  write_npy(folder.path() / "input_ids.npy", NpyType::s32, {2, 2}, std::as_bytes(std::span(ids)));
  write_npy(folder.path() / "attention_mask.npy", NpyType::u8, {2, 2}, std::as_bytes(std::span(mask)));
  EXPECT_EQ(load_npy_folder(folder.path()).input_ids, ids);
  EXPECT_EQ(load_npy_folder(folder.path()).attention_mask, mask);
  write_npy(folder.path() / "attention_mask.npy", NpyType::u8, {4}, std::as_bytes(std::span(mask)));
  const std::string message = user_error_of([&] { load_npy_folder(folder.path()); });
  EXPECT_NE(message.find("attention_mask.npy: has shape (4), input_ids have (2, 2)"), std::string::npos) << message;
}

TEST(NpyFolder, PublishedSets) {
  const std::filesystem::path data = ASSAY_SHARED_DIR "/data";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "no shared folder";
  const TokenBatch sst2 = load_npy_folder(data / "sst2_distilbert_padded");
  EXPECT_EQ(sst2.batch, 872);
  EXPECT_EQ(sst2.seq, 128);
  EXPECT_EQ(sst2.labels.size(), 872u);
  EXPECT_EQ(std::count(sst2.attention_mask.begin(), sst2.attention_mask.end(), 1), 21'943);
  const TokenBatch wikitext2 = load_npy_folder(data / "gpt2_wikitext2_padded");
  EXPECT_EQ(std::count(wikitext2.attention_mask.begin(), wikitext2.attention_mask.end(), 1), 197'913);
}

TEST(BundledText, IsFrozenSoThatFiguresOnItCompareBetweenVersions) {
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span(bundled_text()))),
            "7d848c1cf346e444b7d81035cdf955c7f35ec16921b3d5762f700df0b0ff6f5d");
}

}  // namespace
}  // namespace assay
