#include "studies/sensitivity/train.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/testing.h"
#include "formats/npy.h"
#include "hardware/machine.h"
#include "studies/sensitivity/run.h"
#include "studies/shared/training_step.h"
#include "training/step.h"

namespace assay {
namespace {

std::vector<float> of_every_size(std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values;
  values.reserve(4000);
  for (int i = 0; i < 4000; ++i)
    values.push_back(static_cast<float>(std::exp2(150 * random.next_uniform() - 130) * random.next_normal()));
  values.push_back(0);
  return values;
}

/// Shares by magnitude are those that the conversions themselves make.
TEST(FormatLoss, AgreesWithTheConversions) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::e4m3, DType::e5m2, DType::f32}) {
    std::vector<float> values = of_every_size(7);
    // On both sides of each threshold, and on it.
    for (const float edge : {65520.0F, 0x1p-25F, 464.0F, 0x1p-10F, 61440.0F, 0x1p-17F, 0x1p-134F}) {
      for (const float value : {std::nextafter(edge, 0.0F), edge, std::nextafter(edge, 1e30F)}) values.push_back(value);
    }
    const double scale = 4;
    double under = 0;
    double over = 0;
    double nonzero = 0;
    for (const float value : values) {
      const float scaled = static_cast<float>(value * scale);
      if (scaled == 0) continue;
      ++nonzero;
      const float rounded = round_to(dtype, scaled);
      under += rounded == 0 ? 1 : 0;
      over += std::isfinite(rounded) ? 0 : 1;
    }
    const FormatLoss loss = format_loss(values, dtype, scale);
    EXPECT_NEAR(loss.under, under / nonzero, 1e-12) << name(dtype);
    EXPECT_NEAR(loss.over, over / nonzero, 1e-12) << name(dtype);
  }
}

TEST(FormatLoss, AScaleOfItsOwnLetsNothingOverflow) {
  const std::vector<float> values = of_every_size(8);
  for (const DType dtype : {DType::e4m3, DType::e5m2}) {
    const FormatLoss all = scaled_format_loss(values, dtype, 0);
    const FormatLoss tiles = scaled_format_loss(values, dtype, 128);
    EXPECT_EQ(all.over, 0);
    EXPECT_EQ(tiles.over, 0);
    EXPECT_LT(tiles.under, all.under) << "smaller blocks reach further down";
    EXPECT_GT(tiles.under, 0);
  }
}

class TrainSensitivityOf : public testing::Test {
 protected:
  SensitivityRequest request() const {
    SensitivityRequest request;
    request.models = {ASSAY_SOURCE_DIR "/tests/fixtures/models/cs336"};
    request.mode = RunMode::train;
    request.precisions = {"fp32", "bf16", "mixed-bf16", "mixed-fp16", "fp16", "mixed-fp8"};
    request.window = 16;
    std::vector<std::int32_t> ids;
    ids.reserve(1024);
    for (std::int32_t i = 0; i < 1024; ++i) ids.push_back((i * 17 + i / 50 * 7) % 40 + 1);
    write_npy(folder_.path() / "input_ids.npy", NpyType::s32, {64, 16}, std::as_bytes(std::span(ids)));
    request.data = {folder_.path()};
    return request;
  }

  TemporaryFolder folder_;
};

double share_of_all(const TrainSensitivity& study, std::size_t precision, double (*share)(const TrainedRow&)) {
  double sum = 0;
  double parameters = 0;
  for (const TrainedLayer& layer : study.layers) {
    sum += share(layer.rows[precision]) * static_cast<double>(layer.parameters);
    parameters += static_cast<double>(layer.parameters);
  }
  return sum / parameters;
}

TEST_F(TrainSensitivityOf, EveryPrecisionLosesWhatItsFormatsCannotHold) {
  const std::vector<TrainSensitivity> studies =
      train_sensitivity_of(request(), [] { return read_machine_facts(); }, {});
  ASSERT_EQ(studies.size(), 1U);
  const TrainSensitivity& study = studies.front();
  ASSERT_FALSE(study.layers.empty());
  const auto lost = [](const TrainedRow& row) { return row.lost; };
  const double fp32 = share_of_all(study, 0, lost);
  const double bf16 = share_of_all(study, 1, lost);
  EXPECT_LT(fp32, 0.01);
  EXPECT_GT(bf16, fp32) << "8 bits of significand";
  for (const TrainedLayer& layer : study.layers) {
    EXPECT_GT(layer.weight_rms, 0) << layer.path;
    EXPECT_EQ(layer.rows[2].lost, layer.rows[0].lost) << layer.path << ": mixed-bf16 updates f32 weights";
    EXPECT_EQ(layer.rows[1].formats.weights, DType::bf16);
    EXPECT_EQ(layer.rows[3].formats.loss_scale, 65536) << "mixed-fp16 scales its loss";
    EXPECT_LE(layer.rows[0].gradients.under + layer.rows[0].gradients.over, 0);
    if (layer.rows[3].formats.output == DType::f16 && layer.rows[4].output) {
      EXPECT_LE(layer.rows[3].output->under, layer.rows[4].output->under) << layer.path << ": what the scale is for";
    }
  }
  const auto linear = std::ranges::find_if(
      study.layers, [](const TrainedLayer& layer) { return layer.rows[5].formats.output == DType::e5m2; });
  ASSERT_NE(linear, study.layers.end()) << "linear layers of mixed-fp8 multiply gradients in e5m2";
  EXPECT_EQ(linear->rows[5].output->over, 0);
  const Document document = to_document(studies, read_machine_facts());
  EXPECT_EQ(document.tables.size(), 3U);
  EXPECT_FALSE(sentences_of(study).empty());
}

/// What the study says of bf16 is what a training in bf16 counts, but for the other numbers that it then has.
TEST_F(TrainSensitivityOf, LostUpdatesAreThoseThatATrainingCounts) {
  SensitivityRequest asked = request();
  asked.precisions = {"bf16"};
  const TrainSensitivity study = train_sensitivity_of(asked, [] { return read_machine_facts(); }, {}).front();
  const double foretold = share_of_all(study, 0, [](const TrainedRow& row) { return row.lost; });
  const MachineFacts facts = read_machine_facts();
  const Model model = open_model(asked.models.front(), {});
  const QualitySet set = set_for(model, asked, 0);
  TrainingOptions options = whole_step(choose_precision("bf16", "", std::nullopt), {}, model);
  options.count_lost_updates = true;
  options.storage.states = &find_state_format("f32", "");
  Trainer trainer(model.config, model.weights, options, cpu_backend(), facts);
  UpdateResult last;
  for (std::int64_t step = 0; step < asked.steps; ++step) {
    const QualityBatch& rows = set.batches[static_cast<std::size_t>(step) % set.batches.size()];
    last = run_step(trainer, {rows.extent, rows.ids, rows.mask, rows.targets}, step, {}).update;
  }
  const double counted = static_cast<double>(last.lost) / static_cast<double>(model.weights.parameters());
  EXPECT_GT(counted, 0);
  EXPECT_NEAR(foretold, counted, 0.1) << "on the same batches, from weights that three steps have moved apart";
}

TEST_F(TrainSensitivityOf, APrecisionForInferenceIsRefused) {
  SensitivityRequest asked = request();
  asked.precisions = {"int8"};
  EXPECT_NE(user_error_of([&] {
              train_sensitivity_of(asked, [] { return read_machine_facts(); }, {});
            }).find("a precision for inference"),
            std::string::npos);
}

}  // namespace
}  // namespace assay
