#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/testing.h"
#include "base/write_file.h"
#include "statistics/statistics.h"
#include "studies/sensitivity/run.h"
#include "studies/tune/run.h"
#include "studies/tune/search.h"

namespace assay {
namespace {

constexpr const char* tuning_identity = "a model; data";

/// A state of two mixes, of which tests spoil a copy.
class TuneState : public testing::Test {
 protected:
  TuneState() {
    UnitQuality loss;
    loss.kl = {0.25, Interval{0.125, 0.5}};
    loss.delta_nll = Change{-0.5};
    write_losses(file_, {tuning_identity, 3}, {{"a = \"int8\"\n", loss}, {"b = \"int8\"\n", loss}});
  }
  /// Of the state with `part` replaced, behind the file's name.
  std::string fault(const std::string& part, const std::string& by) const {
    std::string text = read_file(file_);
    text.replace(text.find(part), part.size(), by);
    return fault_of(text);
  }
  std::string fault_of(const std::string& text) const {
    const std::filesystem::path spoilt = folder_.file("spoilt.json", text);
    const std::string error = user_error_of([&] { losses_from(spoilt, tuning_identity); });
    EXPECT_TRUE(error.starts_with(spoilt.string() + ": ")) << error;
    EXPECT_EQ(error.find_first_of("[{\""), std::string::npos) << error << ": quotes the file";
    return error.substr(spoilt.string().size() + 2);
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "state.json";
};

TEST_F(TuneState, IsReadAsItWasWritten) {
  const MeasuredLosses read = losses_from(file_, tuning_identity);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(searched_batches_in(file_), 3U);
  EXPECT_FALSE(searched_batches_in(folder_.path() / "absent.json"));
  const UnitQuality& loss = read.begin()->second;
  EXPECT_EQ(loss.kl.value, 0.25);
  EXPECT_EQ(loss.kl.interval->high, 0.5);
  EXPECT_EQ(loss.delta_nll->value, -0.5);
  EXPECT_FALSE(loss.accuracy_change);
}

TEST_F(TuneState, ThatIsDamagedSaysInWhat) {
  const auto damaged = [](const std::string& fault) {
    return "is damaged: " + fault + "; without the file 'assay tune' starts anew";
  };
  const std::string whole = read_file(file_);
  EXPECT_EQ(fault_of(whole.substr(0, whole.size() / 2)), damaged("it is no JSON, or not all of it"));
  EXPECT_EQ(fault_of(""), damaged("it is no JSON, or not all of it"));
  EXPECT_EQ(fault_of("[1]"), "is no state of 'assay tune'");
  EXPECT_EQ(fault("assay-tune-state-2", "assay-tune-state-9"), "is no state of 'assay tune'");
  EXPECT_EQ(fault("\"identity\"", "\"idea\""), damaged("it lacks 'identity'"));
  EXPECT_EQ(fault("\"mixes\"", "\"mixed\""), damaged("it lacks 'mixes'"));
  EXPECT_EQ(fault("0.25", "\"much\""), damaged("of mix 1 of 2 it lacks a loss"));
  EXPECT_EQ(fault("a model; data", "another"), "is of another model, data, limit or machine: another");
}

}  // namespace
}  // namespace assay
