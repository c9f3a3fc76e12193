#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli_fixture.h"
#include "hardware/cpu_features.h"
#include "hardware/isa_cap.h"

namespace assay {
namespace {

using CliRun = Cli;

TEST_F(CliRun, ASoundModelRuns) {
  const Outcome outcome = dump({});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(open_safetensors(folder_.path() / "out.safetensors").find("logits"), nullptr);
  EXPECT_EQ(run({"explain", (model_ / ".").string(), "--seq", "8"}).exit_code, 0) << "a path of several scripts";
}

TEST_F(CliRun, WhatCannotRunIsARowWithItsReason) {
  struct Case {
    Arguments arguments;
    std::string status;
    std::string reason;
  };
  const std::vector<Case> cases = {
      {{"--device", "mps", "--precision", "fp32,bf16"}, "unsupported", "mps"},
      {{"--precision", "tf32", "--no-baseline", "--batch", "1,2"}, "unsupported", "CUDA"},
  };
  for (const Case& one : cases) {
    Arguments arguments = one.arguments;
    arguments.insert(arguments.end(), {"--json", "out.json"});
    const Outcome outcome = bench(arguments);
    ASSERT_EQ(outcome.exit_code, 3) << "no row is an answer";
    EXPECT_NE(outcome.err.find("assay: nothing was measured: "), std::string::npos) << outcome.err;
    const Json records = records_of("out.json");
    EXPECT_EQ(records.size(), 2U);
    for (const Json& record : records) {
      EXPECT_EQ(record.at("status"), one.status);
      EXPECT_NE(record.at("reason").get<std::string>().find(one.reason), std::string::npos) << record.at("reason");
    }
  }
}

TEST_F(CliRun, Fp8IsEmulatedByItsNameAndNoPartOfAll) {
  const Outcome named = bench({"--precision", "fp8", "--json", "out.json"});
  ASSERT_EQ(named.exit_code, 0) << named.err;
  const Json left_out = records_of("out.json").at(1);
  EXPECT_EQ(left_out.at("status"), "emulated");
  const std::string reason = left_out.at("reason").get<std::string>();
  EXPECT_NE(reason.find("no e4m3 product instruction on this processor; computed in "), std::string::npos) << reason;

  ASSERT_EQ(bench({"--precision", "fp8", "--emulated", "--json", "out.json"}).exit_code, 0);
  const Json measured = records_of("out.json").at(1);
  EXPECT_EQ(measured.at("status"), "ok");
  int products = 0;
  for (const Json& row : measured.at("ledger")) {
    if (row.at("operation") != "quantized_linear") continue;
    EXPECT_EQ(row.at("verdict"), "emulated");
    ++products;
  }
  EXPECT_GT(products, 0);

  ASSERT_EQ(bench({"--precision", "all", "--json", "out.json"}).exit_code, 0);
  for (const Json& record : records_of("out.json")) EXPECT_NE(record.at("precision"), "fp8");
}

TEST_F(CliRun, AnEmulatedRowNamesItsReason) {
  const Outcome outcome = bench({"--max-isa", "avx2", "--precision", "bf16", "--json", "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json record = records_of("out.json").at(1);
  EXPECT_EQ(record.at("status"), "emulated");
  const std::string reason = record.at("reason").get<std::string>();
  EXPECT_TRUE(reason.starts_with("bf16 computes ")) << reason;
  EXPECT_NE(reason.find("no bf16 product instruction under the cap 'avx2'"), std::string::npos) << reason;
  EXPECT_EQ(record.at("energy_status"), "not run");
  EXPECT_EQ(bench({"--max-isa", "avx2", "--precision", "bf16", "--emulated", "--json", "out.json"}).exit_code, 0);
  EXPECT_EQ(records_of("out.json").at(1).at("status"), "ok");
}

TEST_F(CliRun, WhatIsAskedTwiceRunsOnce) {
  const Outcome outcome =
      bench({"model", "--precision", "fp32,fp32", "--batch", "1,1", "--seq", "8,8", "--json", "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(records_of("out.json").size(), 1U);
}

TEST_F(CliRun, OneSeedIsRecorded) {
  ASSERT_EQ(bench({"--precision", "fp32", "--seed", "7", "--json", "out.json"}).exit_code, 0);
  EXPECT_EQ(records_of("out.json").at(0).at("seed"), 7);
}

TEST_F(CliRun, FlopsAreTheModelsWhateverPrecisionAndFusion) {
  ASSERT_EQ(bench({"--precision", "fp32,bf16,int8,mixed-bf16", "--emulated", "--json", "on.json"}).exit_code, 0);
  ASSERT_EQ(bench({"--precision", "fp32", "--fusion", "off", "--json", "off.json"}).exit_code, 0);
  const Json flops = records_of("off.json").at(0).at("flops");
  EXPECT_GT(flops.get<double>(), 0);
  for (const Json& record : records_of("on.json")) EXPECT_EQ(record.at("flops"), flops) << record.at("precision");
}

TEST_F(CliRun, CachesMayBeColdAndGraphsAreOfCudaOnly) {
  ASSERT_EQ(bench({"--precision", "fp32", "--caches", "cold", "--graphs", "off", "--json", "out.json"}).exit_code, 0);
  const Json record = records_of("out.json").at(0);
  EXPECT_EQ(record.at("caches"), "cold");
  EXPECT_TRUE(record.at("energy_status").get<std::string>().starts_with("no meter: what empties the caches"));
  for (const char* field : {"graphs", "device_ms", "enqueue_ms", "throttled_rounds", "throttle"})
    EXPECT_TRUE(record.at(field).is_null()) << field;
}

TEST_F(CliRun, TheFirstRunIsToldOncePerPackedModel) {
  Arguments arguments = {"bench", "model", "--rounds", "1", "--seconds", "0.05", "--seq", "8,16", "--quality", "none"};
  arguments.insert(arguments.end(), {"--precision", "fp32", "--json", "out.json"});
  ASSERT_EQ(run(arguments).exit_code, 0);
  const Json records = records_of("out.json");
  EXPECT_TRUE(records.at(0).at("first_ms").is_number());
  EXPECT_TRUE(records.at(1).at("first_ms").is_null()) << "its weights had been packed";
}

TEST_F(CliRun, TextIsNoDataForAPreset) {
  write_text(folder_.path() / "README.md", "some text");
  expect_failure({"bench", "cs336-small", "--data", "README.md", "--rounds", "1"}, 2,
                 "README.md: cs336-small is a preset");
}

TEST_F(CliRun, ALossThatNothingCountsTowardsIsRefused) {
  write_text(folder_.path() / "one.json", R"({"input_ids": [[5]]})");
  expect_failure({"dump", "model", "--tokens", "one.json", "--what", "loss", "--out", "out.safetensors"}, 2,
                 "one.json: the batch of 1 x 1 tokens has no label that counts");
}

TEST_F(CliRun, ExplainPrintsEachPass) {
  const Outcome outcome = run({"explain", "model", "--seq", "8", "--precision", "bf16", "--passes"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* pass : {"after build", "after assign_dtypes", "after fuse"})
    EXPECT_NE(outcome.out.find(pass), std::string::npos) << pass;
  const Outcome json = run({"explain", "model", "--seq", "8", "--precision", "int8", "--passes", "--json"});
  EXPECT_EQ(parse_json(json.out, "explain").at("passes").size(), 3U);
  EXPECT_NE(json.out.find("int8: activations are "), std::string::npos);
}

TEST_F(CliRun, HelpNamesTheWordsOfAChoice) {
  const std::string help = run({"bench", "--help"}).out;
  for (const char* words : {"all|last", "every-call|once", "off|on", "auto|none", "padded-lines|stride|window"})
    EXPECT_NE(help.find(words), std::string::npos) << words << "\n" << help;
  EXPECT_EQ(help.find("ENUM"), std::string::npos) << help;
}

TEST_F(CliRun, ACellThatDoesNotFitIsARow) {
  const Outcome outcome = run({"bench", "cs336-10b", "--precision", "fp32", "--batch", "1048576", "--seq", "1024",
                               "--rounds", "1", "--quality", "none", "--json", "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json record = records_of("out.json").at(0);
  EXPECT_EQ(record.at("status"), "oom");
  EXPECT_NE(record.at("reason").get<std::string>().find("are available"), std::string::npos);
  EXPECT_LT(outcome.peak_bytes, most_bytes);
}

TEST_F(CliRun, AnInterruptWhileSamplingKeepsWhatIsMeasured) {
  const Outcome outcome = interrupt_assay(folder_.path(),
                                          {"bench", "model", "--precision", "fp32", "--seq", "8", "--seconds", "60",
                                           "--width", "0.0001", "--quality", "none", "--json", "out.json"},
                                          "sampling");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_NE(outcome.out.find("fp32"), std::string::npos) << outcome.out;
  const Json record = records_of("out.json").at(0);
  EXPECT_EQ(record.at("precision"), "fp32");
  if (record.at("samples") == 0) {
    EXPECT_EQ(record.at("status"), "interrupted");
  } else {
    EXPECT_EQ(record.at("stopped_by"), "interrupted");
    EXPECT_FALSE(record.at("median_ms").is_null());
  }
}

TEST_F(CliRun, AnInterruptedProfileSaysSoAndTellsNothing) {
  for (const char* mode : {"infer", "train"}) {
    const Outcome outcome = interrupt_assay(
        folder_.path(), {"profile", "model", "--mode", mode, "--seq", "8", "--seconds", "60", "--json", "out.json"},
        "round");
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    EXPECT_NE(outcome.err.find("profile: interrupted, nothing is told"), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(folder_.path() / "out.json"));
  }
}

TEST_F(CliRun, AnInterruptWhileScoringKeepsWhatIsMeasured) {
  const fs::path data = folder_.path() / "data";
  fs::create_directory(data);
  write_text(data / "input_ids.npy", npy_text(40'000, 64, [](std::int64_t i) { return i * i % 61; }));
  const Outcome outcome = interrupt_assay(
      folder_.path(),
      {"bench", "model", "--precision", "fp32", "--seq", "8", "--rounds", "20", "--data", "data", "--json", "out.json"},
      "quality on");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  const Json record = records_of("out.json").at(0);
  EXPECT_EQ(record.at("status"), "ok");
  EXPECT_EQ(record.at("samples"), 20);
  const std::string quality = record.at("quality_status").get<std::string>();
  EXPECT_TRUE(quality.starts_with("interrupted ")) << quality;
  if (record.at("scored").is_number()) {
    EXPECT_NE(quality.find("of 2,560,000 tokens"), std::string::npos) << quality;
    EXPECT_LT(record.at("scored"), 40'000 * 63);
  }
}

TEST_F(CliRun, GenerateRefusesWhatItHasNoUseFor) {
  const std::vector<Arguments> misfits = {{"--seq", "8"},
                                          {"--logits", "all"},
                                          {"--inputs", "data"},
                                          {"--order", "sorted"},
                                          {"--caches", "cold"},
                                          {"--skip-padding", "off"},
                                          {"--isolate"},
                                          {"--trial-seconds", "3"},
                                          {"--processes", "2"},
                                          {"--baseline", "model"},
                                          {"--protocol", "padded-lines"},
                                          {"--stride", "4"},
                                          {"--explain-perplexity"},
                                          {"--resume"}};
  for (const Arguments& misfit : misfits) {
    Arguments arguments = {"bench", "model", "--generate"};
    arguments.insert(arguments.end(), misfit.begin(), misfit.end());
    expect_failure(arguments, 2, fmt::format("--generate with {}: ", misfit[0]));
  }
  for (const char* option : {"--prompt-tokens", "--new", "--depth", "--continuations"})
    expect_failure({"bench", "model", option, "4"}, 2, fmt::format("{}: it is a part of --generate", option));
}

TEST_F(CliRun, GenerateTakesTheDatasOptions) {
  fs::create_directory(folder_.path() / "ids");
  write_text(folder_.path() / "ids" / "input_ids.npy", npy_text(6, 20, [](std::int64_t i) { return i * i * 7 % 64; }));
  const Outcome outcome =
      run({"bench", "model",           "--generate", "--precision", "fp32",    "--prompt-tokens", "4",   "--new",
           "4",     "--rounds",        "1",          "--seconds",   "0.05",    "--data",          "ids", "--tokens",
           "60",    "--continuations", "2",          "--json",      "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json decode = records_of("out.json").at(1);
  EXPECT_EQ(decode.at("scored"), 3 * 19) << "60 ids are three rows of 20";
  EXPECT_EQ(decode.at("equal_tokens").size(), 2U);
}

TEST_F(CliRun, IsolatedRowsTellTheirResidentMemory) {
  const Outcome outcome = bench({"--precision", "fp32,int8", "--isolate", "--json", "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const Json& record : records_of("out.json")) {
    if (record.at("status") != "ok") continue;
    ASSERT_TRUE(record.at("resident_bytes").is_number()) << record.at("precision");
    const auto resident = record.at("resident_bytes").get<double>();
    EXPECT_GT(resident, record.at("peak_bytes").get<double>());
    EXPECT_LT(resident, record.at("peak_bytes").get<double>() + 64 * 1024 * 1024);
  }
}

TEST_F(CliRun, ACellIsTimedInAsManyProcessesAsAsked) {
  ASSERT_EQ(bench({"--precision", "bf16", "--emulated", "--with", "norm=f32", "--processes", "3", "--json", "out.json"})
                .exit_code,
            0);
  const Json records = Json::parse(read_file(folder_.path() / "out.json"))["records"];
  ASSERT_EQ(records.size(), 2U);
  for (const Json& record : records) {
    EXPECT_EQ(record["process_samples"], Json({1.0, 1.0, 1.0})) << record["precision"];
    EXPECT_EQ(record["raw_ms"].size(), 3U);
    EXPECT_EQ(record["interval_by"], "between processes 1");
  }
  EXPECT_EQ(records[1]["speedup_by"], "between processes 1");
  EXPECT_EQ(run({"verify", "out.json"}).exit_code, 0) << "the figures follow from the samples of all";
}

TEST_F(CliRun, ACellWhoseProcessDiesIsARowAndTheRunGoesOn) {
  if (!fs::exists(fmt::format("/proc/self/task/{}/children", ::getpid()))) GTEST_SKIP() << "no list of children here";
  const std::vector<std::pair<int, std::string>> deaths = {
      {SIGSEGV, "its process died of SIGSEGV"}, {SIGKILL, "its process was killed (SIGKILL): memory ran out, likely"}};
  for (const auto& [signal, reason] : deaths) {
    const Outcome outcome = run_assay_and_signal_its_child(
        folder_.path(),
        {"bench", "model", "--rounds", "1", "--seconds", "0.05", "--seq", "8", "--quality", "none", "--precision",
         "int8-weights", "--isolate", "--json", "out.json"},
        signal);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("crashed: " + reason), std::string::npos) << outcome.out;
    const Json records = records_of("out.json");
    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(records[0].at("status"), "crashed");
    EXPECT_TRUE(records[0].at("reason").get<std::string>().starts_with(reason)) << records[0].at("reason");
    EXPECT_EQ(records[0].at("samples"), 0);
    EXPECT_EQ(records[1].at("status"), "ok");
    EXPECT_EQ(records[1].at("samples"), 1);
  }
}

TEST_F(CliRun, ACellWhoseProcessTakesTooLongIsARow) {
  const Outcome outcome = bench({"--precision", "fp32", "--isolate", "--trial-seconds", "0.001", "--json", "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json record = records_of("out.json").at(0);
  EXPECT_EQ(record.at("status"), "too_slow") << "a process needs longer than that to start";
  EXPECT_EQ(record.at("reason"), "its process gave no answer within 0.001 s: it hung, or is too slow");
}

/// Largest difference over largest magnitude.
double difference(const Safetensors& a, const Safetensors& b) {
  const auto* x = a.find("logits")->view().as<float>();
  const auto* y = b.find("logits")->view().as<float>();
  double largest = 0;
  double apart = 0;
  for (std::int64_t i = 0; i < a.find("logits")->view().count(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(x[i])));
    apart = std::max(apart, std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
  }
  return apart / largest;
}

class CliCap : public Cli, public testing::WithParamInterface<const char*> {};

TEST_P(CliCap, ComputesTheSame) {
  const InstructionSets machine = detect_instruction_sets();
  const InstructionSets allowed = find_isa_cap(GetParam()).allowed;
  if (to_string(machine & allowed) != to_string(allowed)) GTEST_SKIP() << "this machine has less than " << GetParam();
  ASSERT_EQ(run({"dump", "model", "--tokens", "tokens.json", "--out", "reference", "--device", "reference"}).exit_code,
            0);
  const Safetensors reference = open_safetensors(folder_.path() / "reference");
  for (const auto& [precision, tolerance] :
       std::map<std::string, double>{{"fp32", 2e-5}, {"bf16", 5e-2}, {"fp16", 1e-2}, {"int8", 1e-1}}) {
    const Outcome outcome = dump({"--max-isa", GetParam(), "--precision", precision});
    ASSERT_EQ(outcome.exit_code, 0) << precision << ": " << outcome.err;
    EXPECT_LT(difference(reference, open_safetensors(folder_.path() / "out.safetensors")), tolerance) << precision;
  }
}

INSTANTIATE_TEST_SUITE_P(Caps, CliCap, testing::Values("baseline", "avx2", "avx512", "vnni", "bf16", "fp16", "amx"),
                         [](const auto& cap) { return std::string(cap.param); });

/// What the kernels of every linear say of themselves.
std::string kernels(const Json& explained) {
  std::string text;
  for (const Json& step : explained.at("steps")) {
    const std::string operation = step.at("operation").get<std::string>();
    if (operation == "linear" || operation == "quantized_linear") {
      text += step.at("kernel").get<std::string>() + " " + step.at("verdict").get<std::string>() + "\n";
    }
  }
  return text;
}

TEST_F(CliRun, CappingTheInstructionSetChangesKernelsAndVerdicts) {
  const Outcome whole = run({"probe", "--json"});
  const Outcome capped = run({"probe", "--json", "--max-isa", "avx2"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  ASSERT_EQ(capped.exit_code, 0) << capped.err;
  const auto verdict = [](const Outcome& outcome) {
    const Json machine = parse_json(outcome.out, "probe");
    for (const Json& peak : machine.at("peaks")) {
      if (peak.at("operand") == "bf16") return peak.at("verdict").get<std::string>();
    }
    return std::string("none");
  };
  EXPECT_TRUE(verdict(capped) == "emulated" || verdict(capped) == "widened") << verdict(capped);
  if (whole.out.find("avx512_bf16") == std::string::npos) GTEST_SKIP() << "this processor has no AVX512-BF16 to cap";
  EXPECT_NE(verdict(whole), verdict(capped));
  for (const char* precision : {"bf16", "int8"}) {
    Arguments arguments = {"explain", "model", "--seq", "8", "--json", "--precision", precision};
    const Outcome with = run(arguments);
    arguments.insert(arguments.end(), {"--max-isa", "avx2"});
    const Outcome without = run(arguments);
    ASSERT_EQ(with.exit_code, 0) << with.err;
    ASSERT_EQ(without.exit_code, 0) << without.err;
    EXPECT_NE(kernels(parse_json(with.out, "explain")), kernels(parse_json(without.out, "explain"))) << precision;
  }
}

TEST_F(CliRun, EverySubcommandHasHelpWithAnExample) {
  const Outcome help = run({"--help"});
  ASSERT_EQ(help.exit_code, 0);
  for (const char* command : {"accumulate", "bench", "dump", "explain", "generate", "memory", "models", "probe",
                              "profile", "pull", "resident", "tokenize"}) {
    EXPECT_EQ(help.out.find(command) != std::string::npos, std::string(command) != "resident") << command;
    const Outcome outcome = run({command, "--help"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(outcome.out.find(fmt::format("example: assay {}", command)) != std::string::npos ||
                outcome.out.find(fmt::format("examples: assay {}", command)) != std::string::npos)
        << outcome.out;
  }
  EXPECT_TRUE(run({"--version"}).out.starts_with("assay "));
}

}  // namespace
}  // namespace assay
