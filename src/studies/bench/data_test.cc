#include <gtest/gtest.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/testing.h"
#include "formats/npy.h"
#include "hardware/facts_testing.h"
#include "model/testing.h"
#include "results/record.h"
#include "studies/bench/calibrated.h"
#include "studies/bench/request.h"
#include "text/bundled.h"

namespace assay {
namespace {

/// Rows of 24 ids, and a label each where there are labels.
class BenchData : public testing::Test {
 protected:
  void write_ids(std::int64_t rows) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < rows * 24; ++i) ids.push_back(static_cast<std::int32_t>(i * i % 59));
    write_npy(folder_.path() / "input_ids.npy", NpyType::s32, {rows, 24}, std::as_bytes(std::span(ids)));
  }
  void write_labels(std::int64_t rows) {
    const std::vector<std::int32_t> labels(static_cast<std::size_t>(rows), 1);
    write_npy(folder_.path() / "labels.npy", NpyType::s32, {rows}, std::as_bytes(std::span(labels)));
  }
  BenchRequest request(const std::string& model) const {
    BenchRequest request;
    request.models = {model};
    request.precisions = {"fp32"};
    request.seqs = {8};
    request.rounds = 2;
    request.seconds = 0.05;
    request.data = folder_.path();
    return request;
  }

  TemporaryFolder folder_;
};

TEST_F(BenchData, TokensBoundRowsThatWereGiven) {
  write_ids(6);
  BenchRequest asked = request(gpt2_folder);
  const auto scored_on = [&] { return bench(asked, facts_without_peaks, {}).records.at(0).quality; };
  EXPECT_EQ(scored_on()->scored, 6 * 23) << "all rows where nothing is asked";
  asked.protocol.most_tokens = 50;
  const auto quality = scored_on();
  EXPECT_EQ(quality->scored, 2 * 23);
  EXPECT_TRUE(quality->quality_data->ends_with(", first 2 of 6 rows, 48 tokens")) << *quality->quality_data;
}

TEST_F(BenchData, LabelledRowsAreNoTextOfALanguageModel) {
  write_ids(3);
  write_labels(3);
  const std::string error = user_error_of([&] { bench(request(gpt2_folder), facts_without_peaks, {}); });
  EXPECT_NE(error.find("labels.npy: labelled sentences need a classifier"), std::string::npos) << error;
}

TEST_F(BenchData, RandomWeightsAreSaidBeforeAnythingIsMeasured) {
  write_ids(3);
  std::string said;
  StudyCallbacks callbacks;
  callbacks.say = [&](const std::string& sentence) { said += sentence + "\n"; };
  const auto stops = []() -> MachineFacts { throw Error(ExitCode::lacking, "measured nothing yet"); };
  EXPECT_THROW(bench(request("distilbert-base"), stops, callbacks), Error);
  EXPECT_NE(said.find("its weights are random, so that no quality follows"), std::string::npos) << said;
}

/// A model of the fixtures, in a folder with a tokenizer of five letters.
class LetterData : public BenchData {
 protected:
  std::string model_of(const char* fixture) const {
    const std::filesystem::path place = folder_.path() / fixture;
    std::filesystem::create_directory(place);
    for (const char* file : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(model_fixtures / fixture / file, place / file);
    folder_.file(place / "tokenizer.json",
                 R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
                 "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "Ċ": 4}, "merges": []}})");
    return place.string();
  }
  Record first_record(const std::string& model, const char* name, std::string_view content) const {
    BenchRequest asked = request(model);
    asked.data = folder_.file(name, content);
    asked.batches = {2};
    return bench(asked, facts_without_peaks, {}).records.at(0);
  }
};

TEST_F(LetterData, LinesOfJsonAreTheSameSentencesAsATable) {
  const std::string model = model_of("bert-classifier");
  const Record table = first_record(model, "s.tsv", "sentence\tlabel\nabcd\t0\nad\t1\nbbb\t1\n");
  const Record lines = first_record(model, "s.jsonl",
                                    "{\"sentence\": \"abcd\", \"label\": 0}\n{\"label\": 1, \"text\": \"ad\"}\n"
                                    "{\"text\": \"bbb\", \"label\": 1, \"idx\": 2}\n");
  EXPECT_EQ(table.quality->scored, 3);
  EXPECT_EQ(lines.quality->scored, 3);
  EXPECT_EQ(lines.quality->logits_hash, table.quality->logits_hash);
  EXPECT_EQ(lines.quality->accuracy, table.quality->accuracy);
  EXPECT_NE(lines.setting.timed_data->find("s.jsonl, a sentence a row"), std::string::npos);
}

TEST_F(LetterData, LinesOfJsonWithoutLabelsAreTheText) {
  const std::string model = model_of("gpt2");
  const Record text = first_record(model, "t.txt", "abcdabc\nddcba\n\naabbccdd\nabab\n");
  const Record lines = first_record(
      model, "t.jsonl", "{\"text\": \"abcdabc\\nddcba\"}\n{\"text\": \"\\n\"}\n{\"text\": \"aabbccdd\\nabab\"}\n");
  EXPECT_EQ(lines.quality->scored, text.quality->scored);
  EXPECT_EQ(lines.quality->log_perplexity, text.quality->log_perplexity);
  EXPECT_EQ(lines.quality->logits_hash, text.quality->logits_hash);
}

TEST_F(LetterData, LabelledLinesOfJsonAreNoTextOfALanguageModel) {
  const std::string model = model_of("gpt2");
  const std::string error =
      user_error_of([&] { first_record(model, "s.jsonl", "{\"text\": \"abcd\", \"label\": 0}\n"); });
  EXPECT_NE(error.find("s.jsonl: labelled sentences need a classifier"), std::string::npos) << error;
}

/// What int8 is calibrated on must not be scored, whatever it is called.
class CalibratingData : public LetterData {
 protected:
  CalibratingData() {
    folder_.file(std::filesystem::path(model_) / "tokenizer.json",
                 R"({"pre_tokenizer": {"type": "BertPreTokenizer"},
                 "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "ab": 1, "cd": 2, "the": 3, "of": 4, "##s": 5}}})");
  }
  /// The precision takes no calibration: that is said of data that is not scored.
  std::string failure(const std::filesystem::path& scored, const std::filesystem::path& calibration) const {
    BenchRequest asked = request(model_);
    asked.precisions = {"bf16"};
    asked.data = scored;
    asked.calibration = calibration;
    Model model = open_model(model_, {});
    return user_error_of([&] { calibrate_for(asked, model, facts_without_peaks(), {}); });
  }
  static std::string refused(const std::filesystem::path& calibration) {
    return "--calibrate " + calibration.string() +
           ": is scored, too; data that precisions are calibrated on flatters them";
  }

  const std::string model_ = model_of("gpt2");
};

TEST_F(CalibratingData, IsKnownByItsContent) {
  const std::filesystem::path text = folder_.file("t.txt", "ab cd the of\nab the\n");
  const std::filesystem::path copy = folder_.file("copies/u.txt", "ab cd the of\nab the\n");
  const std::filesystem::path lines = folder_.file("t.jsonl", "{\"text\": \"ab cd the of\\nab the\"}\n");
  const std::filesystem::path other = folder_.file("v.txt", "ab cd the ab\nab the\n");
  for (const std::filesystem::path& same : {text, copy, lines}) EXPECT_EQ(failure(text, same), refused(same));
  EXPECT_EQ(failure(text, other), "--calibrate: of the precisions, int8 and int8-static alone take it");
}

TEST_F(CalibratingData, IsNotTheBundledTextThatIsScored) {
  const std::filesystem::path copy = folder_.file("mine.txt", bundled_text());
  EXPECT_EQ(failure("", copy), refused(copy));
  EXPECT_EQ(failure("", folder_.file("other.txt", "ab cd the")),
            "--calibrate: of the precisions, int8 and int8-static alone take it");
}

TEST_F(CalibratingData, InRowsIsKnownByItsIds) {
  write_ids(3);
  const std::filesystem::path copy = folder_.path() / "copies";
  std::filesystem::create_directory(copy);
  std::filesystem::copy_file(folder_.path() / "input_ids.npy", copy / "input_ids.npy");
  EXPECT_EQ(failure(folder_.path(), copy), refused(copy));
}

}  // namespace
}  // namespace assay
