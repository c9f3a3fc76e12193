#include "studies/probe/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "hardware/cpu_features.h"
#include "hardware/isa_cap.h"
#include "hardware/recorded_tree.h"
#include "studies/probe/cache.h"
#include "studies/shared/engine.h"

namespace assay {
namespace {

constexpr MatmulShape small{.rows = 32, .in = 128, .out = 128};

/// A machine with AMX as the probe would have filled it.
MachineFacts filled_facts() {
  MachineFacts facts;
  facts.processor = "Xeon Recorded";
  facts.operating_system = "Debian GNU/Linux 12 (bookworm)";
  facts.kernel = "Linux 6.1.0";
  facts.cores = 2;
  facts.threads = 2;
  facts.memory_bytes = 24'000'000'000;
  facts.available_bytes = 20'000'000'000;
  facts.caches = {{.level = 3, .bytes = 105 << 20, .shared_by_cores = 2}};
  facts.isa = find_isa_cap("amx").allowed;
  facts.power_sources = {{.name = "rapl", .readable = false, .why = "no /sys/class/powercap", .path = {}}};
  facts.bandwidth_one_core_gbs = 12.5;
  facts.bandwidth_gbs = 20.25;
  facts.bandwidth_readings_gbs = {20.25};
  facts.measured_share = 0.99;
  const std::string evidence = "amx_bf16; matmul 2450 GFLOP/s, 7.00x fp32, 41 % of the instruction's peak (a kernel)";
  facts.peaks = {
      {DType::f32, 440, 350, "f32 kernel", Verdict::native, "avx512; the reference", "vfmadd231ps zmm", {}},
      {DType::bf16,
       6000,
       2450,
       "bf16 kernel",
       Verdict::native,
       evidence,
       "tdpbf16ps",
       {{DType::bf16, DType::bf16, {"linear", "amx bf16 tiles"}, "bf16 kernel", Arithmetic::instructions, 2450},
        {DType::bf16, DType::f64, {"linear", "reference loops"}, "loops", Arithmetic::scalar_loops, 1}},
       {{DType::bf16, DType::bf16, {"linear", "few rows"}, "row kernel", Arithmetic::instructions, 40, 20}}},
      {DType::f16, 0, 340, "f16 kernel", Verdict::emulated, "no f16 product instruction", "", {}},
  };
  return facts;
}

/// The cache folder of the tests, gone with the object.
class OwnCache {
 public:
  OwnCache() { ::setenv("XDG_CACHE_HOME", tree_.root().c_str(), 1); }
  ~OwnCache() { ::unsetenv("XDG_CACHE_HOME"); }

 private:
  RecordedTree tree_;
};

MachineFacts without_measurements(MachineFacts facts) {
  facts.peaks.clear();
  facts.bandwidth_one_core_gbs = 0;
  facts.bandwidth_gbs = 0;
  facts.bandwidth_readings_gbs.clear();
  facts.measured_share = 0;
  return facts;
}

TEST(ProbeCache, GivesBackWhatWasMeasured) {
  const OwnCache cache;
  const MachineFacts facts = filled_facts();
  MachineFacts again = without_measurements(facts);
  EXPECT_FALSE(load_measurements(again));
  store_measurements(facts);
  ASSERT_TRUE(load_measurements(again));
  EXPECT_EQ(machine_json(again), machine_json(facts));
}

TEST(ProbeCache, ABoundLiesAsFarAboveTheReadingsAsTheyDiffer) {
  MachineFacts facts = filled_facts();
  EXPECT_DOUBLE_EQ(facts.bandwidth_high_gbs(), 20.25) << "one reading says nothing of its uncertainty";
  facts.bandwidth_readings_gbs = {47.5, 52.2, 74.1};
  EXPECT_DOUBLE_EQ(facts.bandwidth_high_gbs(), 74.1 + (74.1 - 47.5));
  facts.peaks[1].instruction_readings_gflops = {5900, 6000};
  EXPECT_DOUBLE_EQ(facts.peaks[1].instruction_high_gflops(), 6100);
}

TEST(ProbeCache, EveryProcessAddsAReadingUntilThereAreEnough) {
  const OwnCache cache;
  ProbeOptions options;
  options.shape = small;
  options.seconds_each = 0.001;
  MachineFacts facts = probe(options);
  EXPECT_EQ(facts.bandwidth_readings_gbs.size(), 3U);
  if (facts.was_busy()) GTEST_SKIP() << "others have the processors";
  for (int i = 0; i < 6; ++i) facts = probe(options);
  EXPECT_EQ(facts.bandwidth_readings_gbs.size(), 8U);
  EXPECT_GE(facts.bandwidth_high_gbs(), facts.bandwidth_gbs);
  options.cache = ProbeCache::renew;
  EXPECT_EQ(probe(options).bandwidth_readings_gbs.size(), 11U) << "earlier ones are kept";
}

TEST(ProbeCache, AnotherCapProcessorOrThreadCountIsAnotherFile) {
  const MachineFacts facts = filled_facts();
  MachineFacts capped = facts;
  capped.cap = "avx2";
  EXPECT_NE(probe_cache_file(capped), probe_cache_file(facts));
  MachineFacts other = facts;
  other.processor = "Xeon Other";
  EXPECT_NE(probe_cache_file(other), probe_cache_file(facts));
  MachineFacts threads = facts;
  threads.threads = 1;
  EXPECT_NE(probe_cache_file(threads), probe_cache_file(facts));
}

TEST(ProbeCache, AFileThatDoesNotFitIsNoCache) {
  const OwnCache cache;
  MachineFacts facts = without_measurements(filled_facts());
  std::filesystem::create_directories(probe_cache_file(facts)->parent_path());
  for (const char* text : {"{", "[]", "{\"bandwidth_gbs\": \"fast\"}",
                           "{\"bandwidth_one_core_gbs\": 1, "
                           "\"bandwidth_gbs\": 2, \"peaks\": [{\"operand\": \"f77\"}]}"}) {
    write_file_atomically(*probe_cache_file(facts), text);
    EXPECT_FALSE(load_measurements(facts)) << text;
    EXPECT_TRUE(facts.peaks.empty()) << text;
  }
}

TEST(ProbeCache, WhatABusyMachineGaveIsNotKeptForLong) {
  const OwnCache cache;
  MachineFacts facts = filled_facts();
  facts.measured_share = 0.2;
  store_measurements(facts);
  MachineFacts again = without_measurements(facts);
  EXPECT_TRUE(load_measurements(again));
  const std::filesystem::path file = *probe_cache_file(facts);
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) - std::chrono::hours(1));
  again = without_measurements(facts);
  EXPECT_FALSE(load_measurements(again));
}

TEST(ProbeReport, NamesEveryVerdictAndWhyPowerCannotBeRead) {
  const OrderedJson json = to_json(machine_document(filled_facts()));
  EXPECT_EQ(json["processor"], "Xeon Recorded");
  EXPECT_DOUBLE_EQ(json["peaks"][1]["over_fp32"].get<double>(), 7);
  EXPECT_EQ(json["peaks"][2]["verdict"], "emulated");
  EXPECT_EQ(json["peaks"][1]["rates"][1]["plain_loops"], true);
  EXPECT_EQ(json["power_sources"][0]["why"], "no /sys/class/powercap");
  EXPECT_EQ(to_json(machine_document(without_measurements(filled_facts())))["notes"][0], "Peaks were not measured.");
}

TEST(ProbeReport, SaysThatTheMachineWasBusy) {
  MachineFacts facts = filled_facts();
  EXPECT_TRUE(to_json(machine_document(facts))["notes"].empty());
  facts.measured_share = 0.4;
  const OrderedJson json = to_json(machine_document(facts));
  EXPECT_NE(json["notes"][0].get<std::string>().find("measuring got 40 %"), std::string::npos);
}

TEST(ProbeReport, WhatIsNotKnownIsNull) {
  const OrderedJson json = machine_json(without_measurements(filled_facts()));
  EXPECT_TRUE(json.at("bandwidth_gbs").is_null());
  EXPECT_TRUE(json.at("frequency_mhz").is_null());
  EXPECT_TRUE(json.at("hypervisor").is_null());
  EXPECT_TRUE(json.at("cap").is_null());
  EXPECT_TRUE(machine_json(filled_facts()).at("peaks")[2].at("instruction").is_null());
}

TEST(Matmuls, LoopsForFewRowsAreTimedWithOneRowOnly) {
  const MachineFacts facts = read_machine_facts();
  if (!facts.isa.avx2) GTEST_SKIP() << "no AVX2 here";
  const MatmulRates rates = measure_matmuls(facts, small, 0.001);
  const auto is_few = [](const MatmulRate& rate) { return rate.key.implementation == "f32, few rows"; };
  EXPECT_EQ(std::count_if(rates.rates.begin(), rates.rates.end(), is_few), 0);
  EXPECT_GE(std::count_if(rates.row_rates.begin(), rates.row_rates.end(), is_few), 3) << "f32, f16, bf16";
  EXPECT_GT(rates.row_rates.size(), rates.rates.size()) << "the others take one row too";
}

TEST(Matmuls, EveryOperandDtypeIsTimedAndEveryKernelSaysWhatItIs) {
  const std::vector<MatmulRate> rates = measure_matmuls(read_machine_facts(), small, 0.001).rates;
  for (const DType operand : {DType::f32, DType::f16, DType::bf16, DType::s8}) {
    bool found = false;
    for (const MatmulRate& rate : rates) found = found || (rate.operand == operand && rate.gflops > 0);
    EXPECT_TRUE(found) << name(operand);
  }
  bool f32_in_f32 = false;
  for (const MatmulRate& rate : rates) {
    EXPECT_FALSE(rate.kernel.empty());
    f32_in_f32 = f32_in_f32 || (rate.operand == DType::f32 && rate.computed == DType::f32);
    EXPECT_TRUE(rate.streaming_gflops > 0 || rate.arithmetic == Arithmetic::scalar_loops) << rate.kernel;
  }
  EXPECT_TRUE(f32_in_f32);
}

/// This machine's, with verdicts.
MachineFacts judged_facts(const char* cap, int threads) {
  MachineFacts facts = read_machine_facts({.max_isa = cap, .threads = threads, .root = "/"});
  measure_peaks(facts, small, 0.02);
  return facts;
}

/// "bf16=native" of probe and of the ledger under one cap, which have to be the same.
[[noreturn]] void compare_verdicts_and_exit(const char* cap) {
  const MachineFacts facts = judged_facts(cap, 1);
  const Model model = open_model(ASSAY_SOURCE_DIR "/tests/fixtures/models/gpt2", {});
  int differences = 0;
  for (const auto& [precision, operand] : std::map<std::string, DType>{
           {"fp32", DType::f32}, {"fp16", DType::f16}, {"bf16", DType::bf16}, {"int8", DType::s8}}) {
    const auto instance = make_instance(model, precision, {}, facts);
    const Plan plan(*instance, {.extent = {1, 8}});
    for (const LedgerRow& row : plan.ledger().rows) {
      if (row.operation != "linear" && row.operation != "quantized_linear") continue;
      if (row.verdict == facts.peak(operand)->verdict) continue;
      fmt::print(stderr, "{} {}: ledger {} ({}), probe {} ({})\n", cap, precision, name(row.verdict), row.evidence,
                 name(facts.peak(operand)->verdict), facts.peak(operand)->evidence);
      ++differences;
    }
  }
  fmt::print(stderr, "{} differences\n", differences);
  std::exit(0);
}

TEST(ProbeCapDeathTest, ProbeAndLedgerJudgeAlikeUnderEveryCap) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::set<std::string> left;  // Caps that leave the same are the same.
  for (const char* cap : {"baseline", "avx2", "avx512", "vnni", "bf16", "fp16", "amx"}) {
    if (!left.insert(to_string(detect_instruction_sets() & find_isa_cap(cap).allowed)).second) continue;
    EXPECT_EXIT(compare_verdicts_and_exit(cap), testing::ExitedWithCode(0), "^0 differences") << cap;
  }
}

/// Prints the verdicts under a cap and ends the process: oneDNN's own limit can be set once a process.
[[noreturn]] void print_verdicts_and_exit(const char* cap) {
  const MachineFacts facts = judged_facts(cap, 0);
  std::string line;
  for (const MatmulPeak& peak : facts.peaks) line += fmt::format("{}={} ", name(peak.operand), name(peak.verdict));
  fmt::print(stderr, "{}\n", line);
  std::exit(0);
}

TEST(ProbeCapDeathTest, TheCapChangesTheVerdicts) {
  if (!read_machine_facts().isa.avx512_bf16) GTEST_SKIP() << "this machine has no bf16 instruction to take away";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(print_verdicts_and_exit("avx2"), testing::ExitedWithCode(0), "f32=native .*bf16=emulated");
  EXPECT_EXIT(print_verdicts_and_exit("amx"), testing::ExitedWithCode(0), "f32=native .*bf16=(native|slow|widened)");
}

}  // namespace
}  // namespace assay
