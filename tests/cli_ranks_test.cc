// Trainings by several ranks: threads of one process, and processes that Open MPI starts where it is installed.

#include <algorithm>
#include <fstream>
#include <thread>

#include "cli_ranks.h"
#include "hardware/cpu_features.h"

namespace assay {
namespace {

TEST_F(CliRanks, ThreadsEqualOneProcessThatAccumulates) {
  const Json parts = json_of(run(training({"--steps", "6", "--accumulate", "4", "--clip", "1", "--out", "parts"})));
  const Json ranks = json_of(run(training({"--steps", "6", "--ranks", "4", "--clip", "1", "--out", "ranks"})));
  EXPECT_EQ(ranks.at("losses"), parts.at("losses"));
  EXPECT_EQ(file("ranks/model.safetensors"), file("parts/model.safetensors"));
  EXPECT_EQ(file("ranks/optimizer.safetensors"), file("parts/optimizer.safetensors"));
  EXPECT_EQ(ranks.at("ranks"), 4);
}

TEST_F(CliRanks, ScoresAreTheSameAndAnyNumberGoesOn) {
  const Arguments scored = {"--eval", "other.txt", "--eval-every", "2"};
  const auto with = [&](Arguments more) {
    more.insert(more.end(), scored.begin(), scored.end());
    return json_of(run(training(more)));
  };
  const Json whole = with({"--steps", "6", "--ranks", "2", "--out", "whole"});
  with({"--steps", "2", "--ranks", "2", "--out", "parts"});
  const Json went_on = with({"--steps", "6", "--ranks", "2", "--zero", "1", "--resume", "--out", "parts"});
  EXPECT_EQ(went_on.at("losses"), whole.at("losses"));
  EXPECT_EQ(file("parts/optimizer.safetensors"), file("whole/optimizer.safetensors"));
  EXPECT_EQ(file("parts/best/model.safetensors"), file("whole/best/model.safetensors"));
  const Json alone = with({"--steps", "8", "--resume", "--out", "whole"});
  EXPECT_EQ(alone.at("losses").size(), 8U);
}

/// Into how many parts a step is divided is as free as the number of ranks, when a training goes on.
TEST_F(CliRanks, OneProcessGoesOnWithPartsInRanksPlaces) {
  json_of(run(training({"--steps", "6", "--ranks", "2", "--out", "whole"})));
  json_of(run(training({"--steps", "2", "--ranks", "2", "--zero", "1", "--out", "parts"})));
  json_of(run(training({"--steps", "4", "--accumulate", "2", "--resume", "--out", "parts"})));
  json_of(run(training({"--steps", "6", "--ranks", "2", "--zero", "2", "--resume", "--out", "parts"})));
  for (const char* name : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_TRUE(file(std::string("parts/") + name) == file(std::string("whole/") + name)) << name;
}

/// One row of three ranks: rank 0, which tells, has none.
TEST_F(CliRanks, ARankMayHaveNoRowsInItsFirstStep) {
  const Outcome outcome = run({"train", "model", "--tokens", "tokens.json", "--steps", "2", "--recompute", "attention",
                               "--threads", "1", "--ranks", "3", "--json"});
  EXPECT_EQ(json_of(outcome).at("losses").size(), 2U);
  EXPECT_NE(outcome.err.find("--recompute attention changes nothing"), std::string::npos) << outcome.err;
}

TEST_F(CliRanks, BadOptionsAreOneLine) {
  expect_failure(training({"--steps", "1", "--ranks", "9"}), 2, "--batch 8: has no row for each of 9 ranks");
  expect_failure(training({"--steps", "1", "--ranks", "2", "--reduce", "int3"}), 2, "--reduce 'int3'");
  expect_failure(training({"--steps", "1", "--ranks", "2", "--reduce", "bf16-f32sum", "--reduce-by", "library"}), 2,
                 "library sums");
  expect_failure({"train", "absent", "--data", "text.txt", "--steps", "1", "--ranks", "2"}, 2, "absent");
}

/// The value of that column in each row of the table.
std::vector<double> column_of(const Json& document, const char* table, const char* column) {
  std::vector<double> values;
  for (const Json& row : document.at(table)) values.push_back(row.at(column).get<double>());
  return values;
}

TEST_F(CliRanks, MemoryOfRanksFallsWithTheirShareOfTheOptimizer) {
  const Outcome outcome =
      run({"memory", "cs336-small", "--mode", "train", "--precision", "fp32", "--recompute", "none", "--batch", "1",
           "--seq", "32", "--ranks", "2,8,4096", "--step-ms", "400", "--json", "memory.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = parse_json(file("memory.json"), "memory.json");
  const std::vector<double> moments = column_of(json, "ranks", "optimizer_bytes");
  const std::vector<double> sent = column_of(json, "ranks", "sent_bytes");
  const std::vector<double> step = column_of(json, "ranks", "step_ms");
  const std::vector<double> gradients = column_of(json, "ranks", "gradient_bytes");
  ASSERT_EQ(moments.size(), 9U) << "three numbers of ranks, --zero 0, 1, 2 each";
  EXPECT_EQ(moments[0], moments[3]) << "every rank holds all";
  EXPECT_LT(moments[1], 0.55 * moments[0]);
  EXPECT_LT(moments[4], 0.2 * moments[0]) << "eight ranks";
  EXPECT_EQ(moments[4], moments[5]);
  EXPECT_EQ(gradients[3], gradients[4]);
  EXPECT_LT(gradients[5], gradients[4]);
  EXPECT_LT(sent[0], sent[3]);
  EXPECT_LT(sent[3], sent[6]);
  constexpr double embedding_bytes = 10000.0 * 768 * sizeof(float);
  EXPECT_GE(sent[7], 4095 * embedding_bytes) << "its owner hands it to all others";
  EXPECT_NEAR(sent[1], 1.25 * sent[0], 0.02 * sent[0]) << "two ranks own half each; of a share half goes to the other";
  EXPECT_GE(step[0], 400);
  EXPECT_LE(step[0], step[6]);
  EXPECT_NE(outcome.out.find("Times are predicted, not measured"), std::string::npos) << outcome.out;
  for (const double share : column_of(json, "ranks", "backward_share")) {
    EXPECT_LT(share, 0.68) << "two products for each of the forward's";
    EXPECT_GT(share, 0.55) << "of few tokens the update counts too";
  }
  expect_failure({"memory", "cs336-small", "--ranks", "2"}, 2, "--mode train");
}

TEST_F(CliRanks, SumsOverRanksAreSimulatedOnRealGradients) {
  const Outcome outcome =
      run({"accumulate", "--ranks", "2,32", "--wire", "bf16", "--sum", "f32", "--rank-tokens", "16", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = parse_json(outcome.out, "stdout");
  const std::vector<double> errors = column_of(json, "rank_sums", "error");
  ASSERT_EQ(errors.size(), 6U) << "ring, tree, direct, of 2 and of 32 ranks each";
  EXPECT_GT(errors[1], errors[3]) << "a ring rounds more often than a tree";
  EXPECT_GT(errors[3], errors[5]) << "and that more often than direct exchange";
  expect_failure({"accumulate", "--ranks", "2", "--wire", "int8"}, 2, "--wire");
  expect_failure({"accumulate", "--ranks", "1"}, 2, "--ranks 1");
}

TEST_F(CliRanks, WhatTheWireCostsInLossIsCompared) {
  const Outcome outcome = run({"compare-training", "bytes", "--precision", "fp32", "--reduce", "f32,bf16", "--ranks",
                               "2", "--data", "text.txt", "--bytes", "--steps", "4", "--batch", "4", "--seq", "16"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("fp32 (reduce f32)"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("fp32 (reduce bf16)"), std::string::npos) << outcome.out;
  expect_failure({"compare-training", "bytes", "--precision", "fp32", "--reduce", "f32", "--data", "text.txt",
                  "--bytes", "--steps", "1", "--batch", "4", "--seq", "16"},
                 2, "--reduce: is between ranks");
}

/// A record's figure with its interval, which holds it.
void expect_interval(const Json& record, const std::string& figure) {
  ASSERT_TRUE(record.at(figure).is_number()) << figure;
  const double value = record.at(figure).get<double>();
  EXPECT_GT(value, 0) << figure;
  EXPECT_LE(record.at(figure + "_low").get<double>(), value) << figure;
  EXPECT_GE(record.at(figure + "_high").get<double>(), value) << figure;
}

TEST_F(CliMpi, StepsOfRanksAreRecordsOfTheStore) {
  const Outcome outcome =
      run_ranks(2, {"train",   "--benchmark", "bytes",    "--batch", "4",          "--seq",    "16",
                    "--steps", "8",           "--warmup", "1",       "--reduce",   "f32,bf16", "--threads",
                    "1",       "--store",     "own.db",   "--json",  "steps.json", "--jsonl",  "steps.jsonl"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = parse_json(file("steps.json"), "steps.json");
  const Json& records = json.at("records");
  ASSERT_EQ(records.size(), 2U);
  for (const Json& record : records) {
    EXPECT_EQ(record.at("status"), "ok") << record.at("reason");
    EXPECT_EQ(record.at("ranks"), 2);
    EXPECT_EQ(record.at("mode"), "step");
    EXPECT_EQ(record.at("raw_ms").size(), 8U) << "of all ranks, behind the warm-up";
    EXPECT_EQ(record.at("raw_alone_part_ms").size(), 8U);
    EXPECT_TRUE(record.at("trust").is_string()) << "every row is graded";
    for (const char* figure : {"exposed_of_step", "weak_efficiency", "rank_speedup"}) expect_interval(record, figure);
    EXPECT_LT(record.at("exposed_of_step").get<double>(), 1);
    EXPECT_EQ(record.at("ledger").back().at("operation"), "sum_over_ranks");
    EXPECT_TRUE(record.at("speedup").is_null()) << "that is over a baseline's precision";
  }
  EXPECT_EQ(records[0].at("sent_bytes").get<double>(), 2 * records[1].at("sent_bytes").get<double>())
      << "bf16 is half of f32";
  EXPECT_TRUE(records[0].at("step").is_null());
  EXPECT_EQ(records[1].at("step"), "reduce bf16");
  const std::string lines = file("steps.jsonl");
  EXPECT_EQ(std::ranges::count(lines, '\n'), 2);
  const Outcome history = run({"history", "--store", "own.db", "--json"});
  ASSERT_EQ(history.exit_code, 0) << history.err;
  EXPECT_EQ(parse_json(history.out, "history").at("records").size(), 2U);
  const Outcome compared = run({"compare", "steps.json", "steps.json"});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  const Outcome shown = run({"report", "steps.json"});
  EXPECT_NE(shown.out.find("2 ranks"), std::string::npos) << shown.out << shown.err;
}

/// One process of two threads where two ranks have one each: where the machine has two processors at least.
TEST_F(CliMpi, RanksAreHeldAgainstOneProcessWithTheirThreads) {
  const Outcome outcome = run_ranks(2, {"train", "--benchmark", "bytes", "--batch", "4", "--seq", "16", "--steps", "6",
                                        "--threads", "1", "--store", "none", "--json", "-"});
  const Json record = json_of(outcome).at("records")[0];
  if (record.at("one_process_threads").is_null()) {
    EXPECT_EQ(std::thread::hardware_concurrency(), 1U);
    return;
  }
  EXPECT_EQ(record.at("one_process_threads"), 2);
  EXPECT_EQ(record.at("raw_one_process_ms").size(), 6U);
  expect_interval(record, "one_process_ratio");
}

/// A meter that ticks slowly, of a made-up machine: a step is too short a window for it.
TEST_F(CliMpi, JoulesOfWindowsThatAreTooShortAreNone) {
  write_text(folder_.path() / "meter.sh", "while true; do echo \"$(date +%s.%N) 40\"; sleep 0.2; done\n");
  const Outcome outcome =
      run_ranks(2, {"train", "--benchmark", "bytes", "--batch", "4", "--seq", "16", "--steps", "6", "--threads", "1",
                    "--store", "none", "--meter-command", "sh meter.sh", "--meter-unit", "watts", "--json", "-"});
  const Json record = json_of(outcome).at("records")[0];
  EXPECT_TRUE(record.at("energy_j").is_null());
  EXPECT_NE(record.at("energy_status").get<std::string>().find("shorter than"), std::string::npos)
      << record.at("energy_status");
}

TEST_F(CliMpi, ExchangeBetweenRanksIsMeasuredForThePrediction) {
  const Outcome outcome = run_ranks(2, {"probe", "--threads", "1", "--json"});
  const Json link = json_of(outcome).at("link");
  EXPECT_EQ(link.at("ranks"), 2);
  EXPECT_GT(link.at("bandwidth_gb_s").get<double>(), 0);
  EXPECT_LE(link.at("latency_us_low").get<double>(), link.at("latency_us").get<double>());
}

TEST_F(CliMpi, ProcessesEqualOneThatAccumulates) {
  for (const int ranks : {2, 4}) {
    const std::string name = std::to_string(ranks);
    const Json parts = json_of(run(training({"--steps", "20", "--accumulate", name, "--out", "parts" + name})));
    const Outcome outcome =
        run_ranks(ranks, training({"--steps", "20", "--check-every", "5", "--out", "ranks" + name}));
    EXPECT_EQ(json_of(outcome).at("losses"), parts.at("losses"));
    EXPECT_EQ(file("ranks" + name + "/model.safetensors"), file("parts" + name + "/model.safetensors"));
    EXPECT_NE(outcome.err.find("MPI ("), std::string::npos) << outcome.err;
  }
  const Json zero = json_of(run_ranks(2, training({"--steps", "20", "--zero", "1", "--out", "zero"})));
  EXPECT_EQ(file("zero/model.safetensors"), file("ranks2/model.safetensors"));
  EXPECT_EQ(file("zero/optimizer.safetensors"), file("ranks2/optimizer.safetensors"));
  json_of(run_ranks(2, training({"--steps", "20", "--zero", "2", "--out", "zero2"})));
  EXPECT_EQ(file("zero2/model.safetensors"), file("ranks2/model.safetensors"));
  for (const char* format : {"bf16", "f16", "bf16-f32sum"})
    json_of(run_ranks(2, training({"--steps", "3", "--reduce", format, "--check-every", "1"})));
  for (const char* format : {"f32", "bf16"})
    json_of(
        run_ranks(3, training({"--steps", "3", "--reduce", format, "--reduce-by", "library", "--check-every", "1"})));
}

TEST_F(CliMpi, RanksThatDifferAreRefusedAtStart) {
  const auto refused = [&](const Arguments& second, const std::string& part) {
    const Outcome outcome = run_program(mpirun, folder_.path(), beside(second));
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  };
  write_text(folder_.path() / "text2.txt", std::string(600, 'q'));
  Arguments other_data = training({"--steps", "2", "--check-every", "1"});
  other_data[3] = "text2.txt";
  refused(other_data, "assay: rank 1: has other data than rank 0");
  refused(training({"--steps", "3", "--check-every", "1"}), "assay: rank 1: has other options than rank 0");
  Json config = tiny_config();
  config["vocab_size"] = 257;
  write_tiny_model(folder_.path() / "bytes2", config);
  Arguments other_model = training({"--steps", "2", "--check-every", "1"});
  other_model[1] = "bytes2";
  refused(other_model, "assay: rank 1: has another model than rank 0");
  other_model[1] = "absent";
  refused(other_model, "assay: rank 1: ");
  refused({"train", "--benchmark", "bytes", "--batch", "8", "--seq", "16"},
          "assay: rank 1: was started for assay train --benchmark bytes --batch 8 --seq 16, rank 0 for a training: ");
  refused({"bench", "bytes", "--shard", "auto"},
          "assay: rank 1: was started for a grid in parts, rank 0 for a training");
}

/// They have more to agree on than a training has.
TEST_F(CliMpi, RanksThatMeasureOtherThingsAreRefused) {
  const auto benchmark = [](const char* batch) {
    return Arguments{"train", "--benchmark", "bytes", "--batch", batch, "--seq", "16", "--steps", "2"};
  };
  const Outcome outcome = run_program(mpirun, folder_.path(), beside(benchmark("4"), benchmark("8")));
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("assay: rank 1: was started for assay train --benchmark bytes --batch 4"),
            std::string::npos)
      << outcome.err;
  const fs::path other = folder_.path() / "assay";  // The same program but for a byte behind its end.
  fs::copy_file(ASSAY_PROGRAM, other);
  fs::copy_file(fs::path(ASSAY_PROGRAM).parent_path() / "assay_mpi.so", folder_.path() / "assay_mpi.so");
  std::ofstream(other, std::ios::app) << '\0';
  Arguments both = beside(benchmark("8"), benchmark("8"));
  *std::find(both.rbegin(), both.rend(), std::string(ASSAY_PROGRAM)) = other.string();
  const Outcome programs = run_program(mpirun, folder_.path(), both);
  EXPECT_EQ(programs.exit_code, 2) << programs.err;
  EXPECT_NE(programs.err.find("assay: rank 1: has another program than rank 0"), std::string::npos) << programs.err;
}

TEST_F(CliMpi, OtherInstructionSetsAreAllowedAndSaid) {
  const Arguments four = {"--steps", "4", "--check-every", "1"};
  const Arguments capped = {"--steps", "4", "--check-every", "1", "--max-isa", "baseline"};
  for (const bool is_first : {true, false}) {
    const Outcome outcome = run_program(mpirun, folder_.path(),
                                        beside(training(is_first ? four : capped), training(is_first ? capped : four)));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const bool differs = detect_instruction_sets().avx2;
    EXPECT_EQ(outcome.err.find("all take those that every rank has (none)") != std::string::npos, differs)
        << outcome.err;
  }
}

TEST_F(CliMpi, ARankThatDiesEndsTheOthersAndLeavesAWholeCheckpoint) {
  std::chrono::steady_clock::time_point killed;
  std::thread killer([&] {
    signal_rank_once_saved(1, SIGKILL);
    killed = std::chrono::steady_clock::now();
  });
  const Outcome outcome = run_ranks(3, training({"--steps", "20000", "--save-every", "5", "--out", "run"}));
  const auto ended = std::chrono::steady_clock::now();
  killer.join();
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_LT(ended - killed, std::chrono::seconds(60));
  EXPECT_NE(outcome.err.find("assay: rank 1 "), std::string::npos) << outcome.err;
  const auto steps = parse_json(file("run/training.json"), "training.json").at("steps").get<std::int64_t>();
  const Json on = json_of(run(training({"--steps", std::to_string(steps + 2), "--resume", "--out", "run"})));
  EXPECT_EQ(on.at("losses").size(), static_cast<std::size_t>(steps + 2));
}

TEST_F(CliMpi, AnInterruptOfOneRankEndsAllBehindOneStep) {
  std::thread interrupter([&] { signal_rank_once_saved(1, SIGINT); });
  const Outcome outcome = run_ranks(2, training({"--steps", "20000", "--save-every", "5", "--out", "run"}));
  interrupter.join();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  const Json progress = parse_json(file("run/training.json"), "training.json");
  EXPECT_EQ(parse_json(outcome.out, "stdout").at("losses").size(), progress.at("steps").get<std::size_t>());
}

}  // namespace
}  // namespace assay
