#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/testing.h"
#include "base/write_file.h"
#include "statistics/statistics.h"
#include "studies/sensitivity/run.h"
#include "studies/tune/state.h"

namespace assay {
namespace {

constexpr const char* tuning_identity = "a model; data";

/// A state of two mixes, of which tests spoil a copy.
class TuneStateFile : public testing::Test {
 protected:
  TuneStateFile() {
    UnitQuality loss;
    loss.kl = {0.25, Interval{0.125, 0.5}};
    loss.delta_nll = Change{-0.5};
    state_.identity = tuning_identity;
    state_.searched_on = "data, the first 12 rows";
    state_.batches = 3;
    state_.losses = {{"a = \"int8\"\n", loss}, {"b = \"int8\"\n", loss}};
    state_.costs_of = "1 x 128";
    take_units(study(), state_);
    state_.estimates_of = "16 rows";
    state_.estimated = {"int8"};
    write_state(file_, state_);
  }
  /// Two layers in int8 and in bf16, where only int8 has estimates.
  static ModelSensitivity study() {
    ModelSensitivity found = blank_study();
    for (UnitRow& row : found.rows_by_unit) {
      row.cost = UnitCost{.fp32_ms = 2, .low_ms = 1, .fp32_bytes = 8, .low_bytes = 2, .read_bytes = 3};
      row.error = LayerError{.snr_db = 30, .kurtosis = 3.5};
      if (row.precision == "int8" && row.unit.name == "a") row.estimate = GradientEstimate{0.5, 0.75};
    }
    return found;
  }
  static ModelSensitivity blank_study() {
    ModelSensitivity blank;
    for (const char* precision : {"int8", "bf16"}) {
      for (const char* unit : {"a", "b"}) {
        blank.rows_by_unit.emplace_back();
        blank.rows_by_unit.back().unit.name = unit;
        blank.rows_by_unit.back().precision = precision;
      }
    }
    return blank;
  }
  /// Of the state with `part` replaced, behind the file's name.
  std::string fault(const std::string& part, const std::string& by) const {
    std::string text = read_file(file_);
    text.replace(text.find(part), part.size(), by);
    return fault_of(text);
  }
  std::string fault_of(const std::string& text) const {
    const std::filesystem::path spoilt = folder_.file("spoilt.json", text);
    const std::string error =
        user_error_of([&] { check_identity(state_from(spoilt).value(), spoilt, tuning_identity); });
    EXPECT_TRUE(error.starts_with(spoilt.string() + ": ")) << error;
    EXPECT_EQ(error.find_first_of("[{\""), std::string::npos) << error << ": quotes the file";
    return error.substr(spoilt.string().size() + 2);
  }

  TuneState state_;
  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "state.json";
};

TEST_F(TuneStateFile, IsReadAsItWasWritten) {
  const TuneState read = state_from(file_).value();
  ASSERT_EQ(read.losses.size(), 2U);
  EXPECT_EQ(read.batches, 3U);
  EXPECT_FALSE(state_from(folder_.path() / "absent.json"));
  EXPECT_NO_THROW(check_searched_on(read, file_, "data, the first 12 rows"));
  EXPECT_THROW(check_searched_on(read, file_, "data, the first 4 rows"), Error);
  const UnitQuality& loss = read.losses.begin()->second;
  EXPECT_EQ(loss.kl.value, 0.25);
  EXPECT_EQ(loss.kl.interval->high, 0.5);
  EXPECT_EQ(loss.delta_nll->value, -0.5);
  EXPECT_FALSE(loss.accuracy_change);
}

TEST_F(TuneStateFile, GivesBackWhatItKnowsOfAllUnits) {
  const TuneState read = state_from(file_).value();
  ModelSensitivity found = blank_study();
  give_errors(read, found);
  ASSERT_TRUE(give_costs(read, "1 x 128", found));
  EXPECT_EQ(found.find("b", "bf16")->cost->low_ms, 1);
  EXPECT_EQ(found.find("b", "bf16")->error->snr_db, 30);
  EXPECT_FALSE(found.find("b", "bf16")->error->weight_snr_db);
  EXPECT_FALSE(give_estimates(read, "16 rows", found)) << "bf16 was not estimated";
  EXPECT_FALSE(found.find("a", "int8")->estimate);
  found.rows_by_unit.resize(2);
  EXPECT_TRUE(give_estimates(read, "16 rows", found));
  EXPECT_EQ(found.find("a", "int8")->estimate->fisher, 0.75);
  EXPECT_FALSE(found.find("b", "int8")->estimate) << "gradients foretell none";
}

TEST_F(TuneStateFile, GivesNoCostsOfAnotherShapeNorOfSomeRowsAlone) {
  const TuneState read = state_from(file_).value();
  ModelSensitivity found = blank_study();
  EXPECT_FALSE(give_costs(read, "8 x 128", found));
  found.rows_by_unit.back().precision = "fp16";
  EXPECT_FALSE(give_costs(read, "1 x 128", found)) << "what was measured at other times compares with nothing";
  EXPECT_FALSE(found.rows_by_unit.front().cost);
  EXPECT_FALSE(give_estimates(read, "32 rows", found));
}

TEST_F(TuneStateFile, ThatIsDamagedSaysInWhat) {
  const auto damaged = [](const std::string& fault) {
    return "is damaged: " + fault + "; without the file 'assay tune' starts anew";
  };
  const std::string whole = read_file(file_);
  EXPECT_EQ(fault_of(whole.substr(0, whole.size() / 2)), damaged("it is no JSON, or not all of it"));
  EXPECT_EQ(fault_of(""), damaged("it is no JSON, or not all of it"));
  EXPECT_EQ(fault_of("[1]"), "is no state of 'assay tune'");
  EXPECT_EQ(fault("assay-tune-state-3", "assay-tune-state-9"), "is no state of 'assay tune'");
  EXPECT_EQ(fault("\"identity\"", "\"idea\""), damaged("it lacks 'identity'"));
  EXPECT_EQ(fault("\"mixes\"", "\"mixed\""), damaged("it lacks 'mixes'"));
  EXPECT_EQ(fault("0.25", "\"much\""), damaged("of mix 1 of 2 it lacks a loss"));
  EXPECT_EQ(fault("\"low_ms\"", "\"low\""), damaged("of a layer it lacks a cost, an error or an estimate"));
  EXPECT_EQ(fault("\"batches\"", "\"pieces\""), damaged("it lacks 'batches'"));
  EXPECT_EQ(fault("a model; data", "another"), "is of another model, data, or machine: another");
}

}  // namespace
}  // namespace assay
