#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "base/write_file.h"
#include "formats/safetensors.h"
#include "hardware/machine.h"
#include "model/testing.h"
#include "studies/dump/run.h"
#include "studies/generate/request.h"
#include "studies/shared/engine.h"
#include "text/corpus.h"

// Small random models of every family against what transformers gives for them (tools/generate_model_fixtures.py,
// tools/generate_continuations.py).

namespace assay {
namespace {

namespace fs = std::filesystem;

/// One way to run one model.
struct Setting {
  std::string model;
  std::string device = "cpu";
  Fusion fusion = Fusion::on;
  std::string precision = "fp32";
  std::vector<std::int64_t> chunks = {};
};

std::string described(const Setting& setting, const char* part) {
  return fmt::format("{} on {}, fusion {}, {}, {}", setting.model, setting.device,
                     setting.fusion == Fusion::on ? "on" : "off", setting.precision, part);
}

/// A model folder has its cases with it; a GGUF file borrows those of the folder that it was made from.
fs::path cases_of(const std::string& model) {
  return model_fixtures / fs::path(model).replace_extension() / "cases";
}

class ModelParity : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { facts_ = read_machine_facts({.max_isa = "", .threads = 2}); }
  static void TearDownTestSuite() { logits_.clear(); }

  void SetUp() override {
    std::string name = testing::TempDir() + "/assay pärity XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// What `setting` computes of the token file.
  Safetensors dumped(const Setting& setting, const fs::path& tokens, const std::vector<std::string>& what) const {
    DumpRequest request;
    request.model = (model_fixtures / setting.model).string();
    request.tokens = tokens;
    request.precision = setting.precision;
    request.what = what;
    request.out = folder_ / "out.safetensors";
    request.engine.device = setting.device;
    request.engine.fusion = setting.fusion;
    request.chunks = setting.chunks;
    dump(request, facts_);
    return open_safetensors(request.out);
  }

  /// The logits of one of the model's token files, computed for the first test that asks: what one way to run a model
  /// gives is compared with transformers, with its own weights widened, with a row alone and with one masked.
  const TensorView& logits_of(const Setting& setting, const char* part) const {
    Tensor& logits = logits_[described(setting, part)];
    if (logits.data() == nullptr) {
      const fs::path tokens = cases_of(setting.model) / (std::string(part) + ".json");
      logits = converted(dumped(setting, tokens, {"logits"}).find("logits")->view(), DType::f32);
    }
    return logits.view();
  }

  fs::path tokens_file(const Json& tokens) const {
    write_file_atomically(folder_ / "tokens.json", tokens.dump());
    return folder_ / "tokens.json";
  }

  /// The fixture's folder with ids at which a text ends.
  fs::path ending_model(const Json& end_ids) const {
    fs::path copy = folder_ / "model";
    fs::create_directory(copy);
    for (const fs::directory_entry& entry : fs::directory_iterator(model_fixtures / GetParam()))
      if (entry.is_regular_file()) fs::copy_file(entry.path(), copy / entry.path().filename());
    write_file_atomically(copy / "generation_config.json", Json({{"eos_token_id", end_ids}}).dump());
    return copy;
  }

  static MachineFacts facts_;
  static std::map<std::string, Tensor> logits_;
  fs::path folder_;
};

MachineFacts ModelParity::facts_;
std::map<std::string, Tensor> ModelParity::logits_;

/// Largest difference over largest magnitude, over the positions whose mask is 1. Expected and actual: (B, T, width),
/// (B, width) or a scalar; only the first has positions.
double relative_difference(const TensorView& expected, const TensorView& actual, const TokenBatch& tokens) {
  EXPECT_EQ(expected.shape, actual.shape);
  if (expected.shape != actual.shape) return INFINITY;
  const std::int64_t width = expected.shape.empty() ? 1 : expected.shape.back();
  double difference = 0;
  double magnitude = 0;
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const auto row = static_cast<std::size_t>(i / width);
    if (expected.shape.size() == 3 && !tokens.attention_mask.empty() && tokens.attention_mask[row] == 0) continue;
    const double wanted = expected.as<float>()[i];
    const double got = actual.as<float>()[i];
    if (!std::isfinite(got)) return INFINITY;
    difference = std::max(difference, std::abs(got - wanted));
    magnitude = std::max(magnitude, std::abs(wanted));
  }
  return difference / magnitude;
}

bool all_finite(const TensorView& view) {
  return std::all_of(view.as<float>(), view.as<float>() + view.count(), [](float x) { return std::isfinite(x); });
}

/// Everything that the fixture has: logits, hidden states, and the loss where there is one.
std::vector<std::string> outputs_in(const Safetensors& expected) {
  std::vector<std::string> what = {"logits", "hidden"};
  if (expected.find("loss") != nullptr) what.emplace_back("loss");
  return what;
}

const Setting fp32_settings[] = {
    {"", "cpu", Fusion::on}, {"", "cpu", Fusion::off}, {"", "reference", Fusion::on}, {"", "reference", Fusion::off}};

TEST_P(ModelParity, Fp32AgreesWithTransformersAtEveryRealPosition) {
  for (const char* part : {"plain", "right", "left"}) {
    const fs::path tokens = cases_of(GetParam()) / (std::string(part) + ".json");
    const Safetensors expected = open_safetensors(cases_of(GetParam()) / (std::string(part) + ".safetensors"));
    ASSERT_GE(expected.tensors.size(), 4U);
    for (Setting setting : fp32_settings) {
      setting.model = GetParam();
      SCOPED_TRACE(described(setting, part));
      const Safetensors actual = dumped(setting, tokens, outputs_in(expected));
      ASSERT_EQ(actual.tensors.size(), expected.tensors.size());
      for (const StoredTensor& tensor : expected.tensors) {
        const StoredTensor* got = actual.find(tensor.name);
        ASSERT_NE(got, nullptr) << tensor.name;
        EXPECT_LE(relative_difference(tensor.view(), got->view(), load_token_json(tokens)), 2e-5) << tensor.name;
        EXPECT_TRUE(all_finite(got->view())) << tensor.name << ", padded positions";
      }
    }
  }
}

/// Pieces of 1 to 9 tokens, `columns` in all.
std::vector<std::int64_t> random_pieces(std::int64_t columns, Random& random) {
  std::vector<std::int64_t> pieces;
  for (std::int64_t left = columns; left > 0; left -= pieces.back())
    pieces.push_back(std::min(left, static_cast<std::int64_t>(1 + random.below(9))));
  return pieces;
}

bool is_decoder(const std::string& model) {
  return open_model((model_fixtures / model).string(), {}).config.task == Task::language_model &&
         model.find("masked") == std::string::npos;
}

/// However a text is cut: through a cache it gives what it gives at once.
TEST_P(ModelParity, PiecesThroughACacheAgreeWithTransformers) {
  if (!is_decoder(GetParam())) GTEST_SKIP() << "no decoder: it sees later tokens";
  Random random(11, std::hash<std::string>()(GetParam()));
  for (const char* part : {"plain", "right", "left"}) {
    const fs::path tokens = cases_of(GetParam()) / (std::string(part) + ".json");
    const Safetensors expected = open_safetensors(cases_of(GetParam()) / (std::string(part) + ".safetensors"));
    const TokenBatch batch = load_token_json(tokens);
    for (Setting setting : {fp32_settings[0], fp32_settings[3]}) {
      setting.model = GetParam();
      setting.chunks = random_pieces(batch.seq, random);
      SCOPED_TRACE(described(setting, part) + fmt::format(", pieces of {}", fmt::join(setting.chunks, ", ")));
      const Safetensors actual = dumped(setting, tokens, {"logits", "hidden"});
      for (const StoredTensor& tensor : actual.tensors)
        EXPECT_LE(relative_difference(expected.find(tensor.name)->view(), tensor.view(), batch), 2e-5) << tensor.name;
    }
  }
}

/// Ids up to the first that transformers chose by a hair.
std::vector<std::int32_t> sure_ids(const Json& ids, const Json& margins) {
  constexpr double hair = 1e-3;  // Logits are of size 1, and the same within 2e-5 of the largest.
  std::vector<std::int32_t> sure;
  for (std::size_t i = 0; i < ids.size() && margins[i].get<double>() > hair; ++i) sure.push_back(ids[i]);
  return sure;
}

TEST_P(ModelParity, GreedyIdsAreThoseOfTransformers) {
  const fs::path file = cases_of(GetParam()) / "continued.json";
  if (!fs::exists(file)) GTEST_SKIP() << "transformers generates nothing with it";
  const Json expected = parse_json(read_file(file), file.string());
  const bool is_folder = fs::is_directory(model_fixtures / GetParam());
  GenerateRequest request;
  request.model = (is_folder ? ending_model(expected["end_ids"]) : model_fixtures / GetParam()).string();
  request.most_new = 10;
  request.prompts.tokens_file =
      tokens_file({{"input_ids", expected["input_ids"]}, {"attention_mask", expected["attention_mask"]}});
  const Generated got = generate_text(request, facts_, {});
  std::size_t compared = 0;
  for (std::size_t row = 0; row < expected["sequences"].size(); ++row) {
    const Json& wanted = expected["sequences"][row];
    const std::vector<std::int32_t> sure = sure_ids(wanted, expected["margins"][row]);
    const std::vector<std::int32_t>& mine = got.generation.sequences[row];
    ASSERT_GE(mine.size(), sure.size());
    EXPECT_TRUE(std::equal(sure.begin(), sure.end(), mine.begin())) << "row " << row;
    if (is_folder && sure.size() == wanted.size()) {
      EXPECT_EQ(mine.size(), sure.size()) << "row " << row << " ends where theirs does";
    }
    compared += sure.size();
  }
  EXPECT_GE(compared, 10U);
}

/// A fused and an unfused way, one on each device, by turns: over precisions and fixtures each meets all four.
std::vector<Setting> settings_of_turn(std::size_t turn) {
  if (turn % 2 == 0) return {fp32_settings[0], fp32_settings[3]};
  return {fp32_settings[1], fp32_settings[2]};
}

TEST_P(ModelParity, EveryPrecisionStaysWithinItsTolerance) {
  const fs::path tokens = cases_of(GetParam()) / "right.json";
  const Safetensors expected = open_safetensors(cases_of(GetParam()) / "right.safetensors");
  std::size_t precisions = 0;
  // Where experts are chosen, rounding may send a token to another one.
  const double room = open_model((model_fixtures / GetParam()).string(), {}).config.experts > 0 ? 3 : 1;
  for (const Precision& precision : precision_table()) {
    if (!runs_on(precision, "cpu") || needs_calibration(precision.scheme)) continue;
    for (Setting setting : settings_of_turn(GetParam().size() + precisions++)) {
      if (precision.chunk > 0 && setting.device == "cpu" && !facts_.isa.avx512_fp16) continue;
      setting.model = GetParam();
      setting.precision = precision.name;
      SCOPED_TRACE(described(setting, "right"));
      const TensorView& logits = logits_of(setting, "right");
      EXPECT_LE(relative_difference(expected.find("logits")->view(), logits, load_token_json(tokens)),
                room * precision.tolerance);
      EXPECT_TRUE(all_finite(logits));
    }
  }
  EXPECT_GE(precisions, 8U);
}

/// Whether weights are made of fewer bits, and by what scheme the same ones are only widened.
std::optional<Scheme> widening(Scheme scheme) {
  switch (scheme) {
    case Scheme::dynamic_int8:
    case Scheme::weight_only_int8:
      return Scheme::weight_only_int8;
    case Scheme::dynamic_blocks:
    case Scheme::weight_only_blocks:
      return Scheme::weight_only_blocks;
    default:
      return std::nullopt;
  }
}

/// Logits of the row's own weights, widened and multiplied by the reference in f64 with activations of f32: what its
/// kernels are to come near, however much of the model its bits lose.
Tensor widened_logits(const std::string& name, const Precision& precision, const TokenBatch& tokens,
                      const MachineFacts& facts) {
  PrecisionChoice choice = choose_precision(precision.name, "", std::nullopt);
  choice.row.scheme = *widening(precision.scheme);
  choice.row.operand = choice.row.accumulator = DType::f32;
  EngineOptions engine;
  engine.device = "reference";
  const Model model = open_model((model_fixtures / name).string(), {});
  if (!tokens.token_types.empty()) engine.program.token_types = TokenTypes::given;
  Instance instance(prepared_program(model, choice, engine), choice, model.weights, reference_backend(), facts);
  Plan plan(instance, {.extent = {tokens.batch, tokens.seq}, .mask = AttentionMask::given});
  plan.set_inputs(tokens.input_ids, tokens.attention_mask, tokens.token_types);
  plan.run();
  return plan.output_f32("logits");
}

/// Root of the mean square of the differences over that of what is expected, at real positions.
double rms_difference(const TensorView& expected, const TensorView& actual, const TokenBatch& tokens) {
  EXPECT_EQ(expected.shape, actual.shape);
  if (expected.shape != actual.shape) return INFINITY;
  const std::int64_t width = expected.shape.back();
  double difference = 0;
  double magnitude = 0;
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const bool by_position = expected.shape.size() == 3;
    if (by_position && tokens.attention_mask[static_cast<std::size_t>(i / width)] == 0) continue;
    const double wanted = expected.as<float>()[i];
    difference += std::pow(actual.as<float>()[i] - wanted, 2);
    magnitude += wanted * wanted;
  }
  return std::sqrt(difference / magnitude);
}

/// Activations of 16 bits round by 2^-9 and quantised ones by 2^-8 of the largest beside them, again in every layer:
/// 0.01 and 0.02 in the middle of the fixtures, 0.034 and 0.062 at most. A scale that is dropped or a code that is off
/// by one is far beyond it.
constexpr double widened_tolerance = 5e-2;
constexpr double quantised_tolerance = 1e-1;

/// Fewer bits may lose a model of this size; their kernels lose nothing more.
TEST_P(ModelParity, FewerBitsAreTheirOwnWeightsMultiplied) {
  const Model model = open_model((model_fixtures / GetParam()).string(), {});
  if (model.config.experts > 0) GTEST_SKIP() << "rounding may send a token to another expert";
  const fs::path file = cases_of(GetParam()) / "right.json";
  const TokenBatch tokens = load_token_json(file);
  for (const Precision& precision : precision_table()) {
    if (!widening(precision.scheme)) continue;
    const Tensor expected = widened_logits(GetParam(), precision, tokens, facts_);
    const bool quantises_rows = !widens_weights(precision.scheme);
    for (Setting setting : fp32_settings) {
      setting.model = GetParam();
      setting.precision = precision.name;
      SCOPED_TRACE(described(setting, "right"));
      EXPECT_LE(rms_difference(expected.view(), logits_of(setting, "right"), tokens),
                quantises_rows ? quantised_tolerance : widened_tolerance);
    }
  }
}

/// Row `row` of a padded batch, cut to its real tokens.
Json row_alone(const TokenBatch& batch, std::int64_t row) {
  Json ids = Json::array();
  Json types = Json::array();
  for (std::int64_t i = row * batch.seq; i < (row + 1) * batch.seq; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (batch.attention_mask[at] == 0) continue;
    ids.push_back(batch.input_ids[at]);
    if (!batch.token_types.empty()) types.push_back(batch.token_types[at]);
  }
  Json alone = {{"input_ids", Json::array({ids})}};
  if (!types.empty()) alone["token_type_ids"] = Json::array({types});
  return alone;
}

TEST_P(ModelParity, ARightPaddedRowGivesWhatItGivesAlone) {
  const fs::path tokens = cases_of(GetParam()) / "right.json";
  const TokenBatch batch = load_token_json(tokens);
  for (Setting setting : fp32_settings) {
    setting.model = GetParam();
    SCOPED_TRACE(described(setting, "right"));
    const TensorView& logits = logits_of(setting, "right");
    const std::int64_t per_row = logits.count() / batch.batch;
    for (std::int64_t row = 0; row < batch.batch; ++row) {
      const Safetensors alone = dumped(setting, tokens_file(row_alone(batch, row)), {"logits"});
      const TensorView expected = alone.find("logits")->view();
      // The row's real positions come first; what stands behind them is not compared.
      const std::byte* begin = logits.data + row * per_row * 4;
      EXPECT_LE(relative_difference(expected, {DType::f32, expected.shape, begin}, {}), 2e-5) << "row " << row;
    }
  }
}

TEST_P(ModelParity, AFullyMaskedRowIsFiniteAndDisturbsNoOther) {
  const fs::path tokens = cases_of(GetParam()) / "right.json";
  const TokenBatch batch = load_token_json(tokens);
  Json masked = parse_json(read_file(tokens), tokens.string());
  masked.erase("labels");
  for (Json& one : masked["attention_mask"][1]) one = 0;
  const std::vector<Setting> all_ways(std::begin(fp32_settings), std::end(fp32_settings));
  std::size_t turn = GetParam().size();
  for (const Precision& precision : precision_table()) {
    if (!runs_on(precision, "cpu") || needs_calibration(precision.scheme)) continue;
    if (precision.float8 != Float8Training::none) continue;  // Rows share scales.
    // What masks a row is a kernel's, whether what surrounds it is fused or not; fp32 is tried in all ways.
    const bool is_plain = std::string_view(precision.name) == "fp32";
    for (Setting setting : is_plain ? all_ways : std::vector<Setting>{fp32_settings[turn++ % 2 * 3]}) {
      if (precision.chunk > 0 && setting.device == "cpu" && !facts_.isa.avx512_fp16) continue;
      setting.model = GetParam();
      setting.precision = precision.name;
      SCOPED_TRACE(described(setting, "second row masked"));
      const TensorView& first = logits_of(setting, "right");
      const Safetensors without = dumped(setting, tokens_file(masked), {"logits", "hidden"});
      for (const StoredTensor& tensor : without.tensors) EXPECT_TRUE(all_finite(tensor.view())) << tensor.name;
      const auto per_row = static_cast<std::size_t>(first.count() / batch.batch);
      // The first row has no padding: all of it is real.
      EXPECT_TRUE(
          std::equal(first.as<float>(), first.as<float>() + per_row, without.find("logits")->view().as<float>()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, ModelParity, testing::ValuesIn(fixtures_with("")),
                         [](const auto& tested) { return test_name(tested.param); });

}  // namespace
}  // namespace assay
