#include "published/figure.h"

#include <cmath>

#include <gtest/gtest.h>

#include "published/column.h"
#include "rules/known_devices.h"
#include "rules/known_models.h"

namespace assay {
namespace {

void expect_value(const char* cell, double value, Dimension dimension) {
  const auto figure = read_figure(cell);
  ASSERT_TRUE(figure.has_value()) << cell;
  EXPECT_NEAR(in_base_unit(*figure).value, value, 1e-9 * std::abs(value)) << cell;
  EXPECT_EQ(figure->unit.dimension, dimension) << cell;
}

TEST(PrintedFigure, IsReadAsPeopleWriteIt) {
  expect_value("~0.7ms", 0.7, Dimension::time);
  expect_value("**4.6x**", 4.6, Dimension::ratio);
  expect_value("×1.75", 1.75, Dimension::ratio);
  expect_value("370mJ ✓", 0.37, Dimension::energy);
  expect_value("1,234.5", 1234.5, Dimension::none);
  expect_value("1.234,5", 1234.5, Dimension::none);
  expect_value("0,7 s", 700, Dimension::time);
  expect_value("12 µs", 0.012, Dimension::time);
  expect_value("❌ **13.5 ms**[^2]", 13.5, Dimension::time);
  expect_value("91.3%", 0.913, Dimension::percent);
  expect_value("128.6M", 128.6e6, Dimension::none);
  expect_value("−2.7 ms", -2.7, Dimension::time);
  expect_value("1.2e-3 s", 1.2, Dimension::time);
  expect_value("82 samp/s ❌", 82, Dimension::rate);
  expect_value("<b>3.4</b> ms<br>", 3.4, Dimension::time);
  expect_value("225 mJ!)", 0.225, Dimension::energy);
}

TEST(PrintedFigure, WordsAndBoundsAreNone) {
  for (const char* cell : {"", "N/A", "OOM", "-", "—", "XX.X", "<10", "v2", "FP16", "n/a†", "✓", "..", ",", "."})
    EXPECT_FALSE(read_figure(cell).has_value()) << cell;
}

TEST(PrintedFigure, KnowsItsSpread) {
  const auto figure = read_figure("0.024990±0.003563");
  ASSERT_TRUE(figure && figure->spread);
  EXPECT_DOUBLE_EQ(*figure->spread, 0.003563);
  EXPECT_DOUBLE_EQ(*in_base_unit(*read_figure("1.5 ± 0.2 s")).spread, 200);
  EXPECT_DOUBLE_EQ(*read_figure("10ms ± 5%")->spread, 0.5);
}

TEST(PrintedFigure, IsAsWideAsItsLastDigit) {
  EXPECT_NEAR(read_figure("0.7")->range.low, 0.65, 1e-12);
  EXPECT_NEAR(read_figure("0.7")->range.high, 0.75, 1e-12);
  EXPECT_NEAR(read_figure("40-50 mJ")->range.high, 50.5, 1e-12);
}

TEST(Column, IsKnownByNameAndUnit) {
  const struct {
    const char* header;
    Quantity quantity;
    Dimension dimension;
  } cases[] = {
      {"Latency (ms)", Quantity::latency, Dimension::time},
      {"latency_ms", Quantity::latency, Dimension::time},
      {"Latency [ms]", Quantity::latency, Dimension::time},
      {"**Mean time** (s)", Quantity::latency, Dimension::time},
      {"fwd_avg", Quantity::forward, Dimension::none},
      {"Backward Std (ms)", Quantity::backward_std, Dimension::time},
      {"fwd+bwd (ms)", Quantity::step, Dimension::time},
      {"Energy/sample (mJ)", Quantity::energy, Dimension::energy},
      {"energy_per_sample_mj", Quantity::energy, Dimension::energy},
      {"Avg Power (W)", Quantity::power, Dimension::power},
      {"Throughput (samples/s)", Quantity::throughput, Dimension::rate},
      {"throughput_samples_s", Quantity::throughput, Dimension::rate},
      {"tokens/s", Quantity::tokens_per_s, Dimension::token_rate},
      {"Model Size (MB)", Quantity::size, Dimension::bytes},
      {"Peak memory (GB)", Quantity::memory, Dimension::bytes},
      {"Speed-up", Quantity::speedup, Dimension::none},
      {"Energy Reduction (%)", Quantity::energy_ratio, Dimension::percent},
      {"PPL", Quantity::perplexity, Dimension::none},
      {"accuracy_%", Quantity::accuracy, Dimension::percent},
      {"batch_size", Quantity::batch, Dimension::none},
      {"Context length", Quantity::seq, Dimension::none},
      {"Precision", Quantity::precision, Dimension::none},
      {"d_model", Quantity::width, Dimension::none},
      {"num_layers", Quantity::layers, Dimension::none},
      {"p99 (ms)", Quantity::p99, Dimension::time},
      {"Colour", Quantity::none, Dimension::none},
  };
  for (const auto& one : cases) {
    const ColumnMeaning meaning = read_column(one.header);
    EXPECT_STREQ(name(meaning.quantity), name(one.quantity)) << one.header;
    EXPECT_EQ(meaning.unit.dimension, one.dimension) << one.header;
  }
}

TEST(PrecisionWords, AreReadWhereverTheyStand) {
  EXPECT_EQ(read_precision("**INT8 (OLD - CPU)**").precision, PrecisionName::int8);
  EXPECT_TRUE(read_precision("INT8 (OLD - CPU)").is_on_cpu);
  EXPECT_EQ(read_precision("FP-16").precision, PrecisionName::fp16);
  EXPECT_EQ(read_precision("bfloat16").precision, PrecisionName::bf16);
  EXPECT_EQ(read_precision("BF16 mixed precision").precision, PrecisionName::mixed_bf16);
  EXPECT_EQ(read_precision("AMP").precision, PrecisionName::mixed);
  EXPECT_EQ(read_precision("FP16 as INT8").stands_in, PrecisionName::int8);
  EXPECT_EQ(read_precision("lamp").precision, PrecisionName::unknown);
}

TEST(KnownDevices, AreFoundByTheirUsualNames) {
  EXPECT_STREQ(find_known_device("NVIDIA GeForce RTX 2080 Ti")->name, "RTX 2080 Ti");
  EXPECT_STREQ(find_known_device("Tesla T4")->name, "T4");
  EXPECT_STREQ(find_known_device("a100-sxm4-80gb")->name, "A100");
  EXPECT_STREQ(find_known_device("NVIDIA RTX PRO 6000 Blackwell Server Edition")->name, "RTX PRO 6000");
  EXPECT_EQ(find_known_device("abacus"), nullptr);
  EXPECT_EQ(find_known_device("my T4 box"), nullptr) << "--device wants a name and nothing else";
  EXPECT_EQ(known_device_named_in("V100 or T4"), nullptr) << "two devices are none";
  EXPECT_EQ(support(*find_known_device("T4"), PrecisionName::bf16), Support::emulated);
  EXPECT_EQ(support(*find_known_device("P40"), PrecisionName::fp16), Support::slow);
  EXPECT_EQ(support(*find_known_device("A100"), PrecisionName::bf16), Support::native);
  for (const KnownDevice& device : known_devices()) EXPECT_LT(device.idle_w, device.awake_w) << device.name;
}

TEST(KnownDevices, ASuffixIsAnotherBoard) {
  for (const KnownDevice& device : known_devices()) {
    ASSERT_NE(known_device_named_in(device.name), nullptr) << device.name;
    EXPECT_STREQ(known_device_named_in(device.name)->name, device.name);
    EXPECT_STREQ(find_known_device(device.name)->name, device.name);
    for (const char* suffix : {" Ti", "Ti", " Super", " SUPER", "-Ti Super"}) {
      const KnownDevice* other = known_device_named_in(std::string("on the ") + device.name + suffix + ", batch 1");
      const bool is_base =
          other == &device && std::string_view(device.spellings).find("super") == std::string_view::npos;
      EXPECT_FALSE(is_base) << device.name << suffix;
    }
  }
  EXPECT_STREQ(known_device_named_in("an RTX3060Ti")->name, "RTX 3060 Ti");
  EXPECT_STREQ(known_device_named_in("GeForce RTX 4070 Ti SUPER")->name, "RTX 4070 Ti Super");
  EXPECT_STREQ(find_known_device("rtx 2070 super")->name, "RTX 2070");
  EXPECT_EQ(known_device_named_in("RTX 4090 Ti"), nullptr);
  EXPECT_DOUBLE_EQ(peak_tops(*find_known_device("RTX 4090"), PrecisionName::bf16), 165.2);
  EXPECT_DOUBLE_EQ(peak_tops(*find_known_device("P40"), PrecisionName::fp16), 12);
  EXPECT_DOUBLE_EQ(peak_tops(*find_known_device("K80"), PrecisionName::mixed), 8.7);
}

TEST(KnownModels, AreFoundByTheirUsualNames) {
  EXPECT_STREQ(find_known_model("GPT-2")->name, "gpt2");
  EXPECT_STREQ(find_known_model("distilbert-base-uncased")->name, "distilbert");
  EXPECT_STREQ(known_model_named_in("GPT-2 Benchmark Results")->name, "gpt2");
  EXPECT_STREQ(known_model_named_in("gpt2-xl on one GPU")->name, "gpt2-xl");
  EXPECT_EQ(known_model_named_in("DistilBERT and GPT-2"), nullptr) << "two models are none";
  EXPECT_EQ(known_model_named_in("a small table"), nullptr);
  EXPECT_EQ(find_known_model("small"), nullptr);
  EXPECT_STREQ(find_known_model("2.7B", "Stanford CS336 benchmarks")->name, "cs336-2.7b");
}

}  // namespace
}  // namespace assay
