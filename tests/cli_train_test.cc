#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "base/handle.h"
#include "cli_fixture.h"

namespace assay {
namespace {

class CliTrain : public Cli {
 protected:
  Arguments on_tokens(const Arguments& more) const {
    Arguments arguments = {"train", "model", "--tokens", "tokens.json", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  /// A model of bytes, and two texts.
  Arguments on_text(const Arguments& more) const {
    Json config = tiny_config();
    config["vocab_size"] = 256;
    write_tiny_model(folder_.path() / "bytes", config);
    std::string text;
    for (int i = 0; i < 900; ++i) text += static_cast<char>('a' + i * i % 19);
    write_text(folder_.path() / "text.txt", text);
    write_text(folder_.path() / "other.txt", text.substr(0, 200) + text.substr(300, 55));
    Arguments arguments = {"train",     "bytes",   "--data", "text.txt", "--bytes", "--eval",
                           "other.txt", "--batch", "2",      "--seq",    "16",      "--json"};
    if (std::find(more.begin(), more.end(), "--lr") == more.end()) arguments.insert(arguments.end(), {"--lr", "0.02"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Json on_text_json(const Arguments& more) const {
    const Outcome outcome = run(on_text(more));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return parse_json(outcome.out, "stdout");
  }
  Json losses(const Arguments& more) const {
    const Outcome outcome = run(on_tokens(more));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return parse_json(outcome.out, "stdout").at("losses");
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_.path())) found.insert(entry.path().filename().string());
    return found;
  }
  std::string file(const char* name) const { return read_file(folder_.path() / name); }
};

TEST_F(CliTrain, OneBatchIsLearnt) {
  const Json all = losses({"--steps", "8", "--lr", "0.01"});
  ASSERT_EQ(all.size(), 8U);
  EXPECT_LT(all[7].get<double>(), all[0].get<double>());
}

TEST_F(CliTrain, ATrainingIsADocumentInEveryFormat) {
  const Outcome outcome = run({"train", "model", "--tokens", "tokens.json", "--steps", "3", "--json", "t.json", "--csv",
                               "t.csv", "--markdown", "t.md", "--latex", "t.tex", "--html", "t.html"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("steps done   3"), std::string::npos) << outcome.out;
  const Json json = parse_json(file("t.json"), "t.json");
  EXPECT_EQ(json.at("losses").size(), 3U);
  EXPECT_TRUE(file("t.csv").starts_with("step,loss")) << file("t.csv");
  EXPECT_NE(file("t.html").find("<svg"), std::string::npos);
  const Outcome again = run({"report", "t.json", "--csv", "again.csv"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(file("again.csv"), file("t.csv"));
}

TEST_F(CliTrain, PartsOfAStepAreTheStep) {
  write_text(folder_.path() / "tokens.json", R"({"input_ids": [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]})");
  const Json whole = losses({"--steps", "4"});
  const Json parts = losses({"--steps", "4", "--accumulate", "2"});
  for (std::size_t step = 0; step < 4; ++step)
    EXPECT_NEAR(whole[step].get<double>(), parts[step].get<double>(), 1e-5) << step;
}

TEST_F(CliTrain, AResumedTrainingIsTheSameToTheBit) {
  const Json whole = losses({"--steps", "6", "--out", "six"});
  losses({"--steps", "3", "--out", "three"});
  EXPECT_EQ(losses({"--steps", "6", "--out", "three", "--resume"}), whole);
  EXPECT_EQ(file("three/model.safetensors"), file("six/model.safetensors"));
  EXPECT_EQ(file("three/optimizer.safetensors"), file("six/optimizer.safetensors"));
}

TEST_F(CliTrain, WhatWasTrainedRuns) {
  losses({"--steps", "2", "--out", "trained"});
  const Outcome outcome = run({"dump", "trained", "--tokens", "tokens.json", "--out", "out.safetensors"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

/// The losses go on where they were, in `bench` it is a checkpoint like any other.
TEST_F(CliTrain, WhatWasTrainedIsTimedAndHasTheLossItWasTrainedTo) {
  const Json going_on = losses({"--steps", "3"});
  losses({"--steps", "2", "--out", "trained"});
  const Outcome next = run({"train", "trained", "--tokens", "tokens.json", "--steps", "1", "--json"});
  ASSERT_EQ(next.exit_code, 0) << next.err;
  EXPECT_NEAR(parse_json(next.out, "stdout").at("losses")[0].get<double>(), going_on[2].get<double>(), 1e-6);
  const Outcome timed = run({"bench", "trained", "--precision", "fp32", "--seq", "4", "--rounds", "3", "--quality",
                             "none", "--json", "bench.json"});
  ASSERT_EQ(timed.exit_code, 0) << timed.err;
  const Json record = parse_json(file("bench.json"), "bench.json").at("records")[0];
  EXPECT_EQ(record.at("status"), "ok");
  EXPECT_TRUE(record.at("weights").get<std::string>().starts_with("sha256:")) << record.at("weights");
  EXPECT_EQ(record.at("samples"), 3);
}

TEST_F(CliTrain, BytesOfATextNeedAsManyIds) {
  write_text(folder_.path() / "text.txt", std::string(100, 'a'));
  expect_failure({"train", "model", "--data", "text.txt", "--bytes", "--seq", "8", "--steps", "1"}, 2,
                 "bytes need 256");
}

TEST_F(CliTrain, BadInputIsOneLine) {
  const auto fails = [&](const Arguments& more, const std::string& part) {
    Arguments arguments = {"train", "model"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_failure(arguments, 2, part);
  };
  write_text(folder_.path() / "empty.txt", "");
  fs::create_directory(folder_.path() / "other");
  write_text(folder_.path() / "other" / "notes.txt", "mine");
  fails({"--steps", "1"}, "--data TEXT or --tokens");
  fails({"--data", "empty.txt", "--steps", "1", "--seq", "16"}, "empty.txt: is empty");
  fails({"--data", "absent.txt", "--steps", "1", "--seq", "16"}, "absent.txt");
  fails({"--tokens", "tokens.json"}, "--steps N is needed");
  fails({"--tokens", "tokens.json", "--steps", "1", "--precision", "int8"}, "int8");
  fails({"--tokens", "tokens.json", "--steps", "1", "--out", "other"}, "no training of ours");
  fails({"--tokens", "tokens.json", "--steps", "1", "--out", "absent/out"}, "cannot be written");
  fails({"--tokens", "tokens.json", "--steps", "1", "--resume"}, "needs --out");
  fails({"--tokens", "tokens.json", "--steps", "1", "--resume", "--out", "none"}, "holds no training");
  fails({"--tokens", "tokens.json", "--steps", "1", "--labels", "2"}, "language model");
  fails({"--tokens", "tokens.json", "--steps", "1", "--lr", "nan"}, "--lr");
  EXPECT_FALSE(fs::exists(folder_.path() / "none")) << "made for nothing";
  losses({"--steps", "1", "--out", "kept"});
  fails({"--tokens", "tokens.json", "--steps", "2", "--out", "kept", "--resume", "--lr", "0.5"}, "--lr 0.001, not 0.5");
  fails({"--tokens", "tokens.json", "--steps", "2", "--out", "kept"},
        "kept: holds a training; --resume goes on with it");
  fails({"--tokens", "tokens.json", "--steps", "2", "--out", "kept", "--resume", "--overwrite"}, "--overwrite");
  fails({"--tokens", "tokens.json", "--steps", "1", "--batch", "4"}, "--tokens excludes --batch");
  fails({"--tokens", "tokens.json", "--steps", "1", "--eval", "empty.txt"}, "--eval: goes with --data");
  fails({"--tokens", "tokens.json", "--steps", "1", "--eval-every", "2"}, "--eval-every requires --eval");
  fails({"--tokens", "tokens.json", "--steps", "1", "--save-every", "2"}, "--save-every requires --out");
  fails({"--tokens", "tokens.json", "--steps", "1", "--overwrite"}, "--overwrite requires --out");
  for (const Arguments& idle : {Arguments{"--optimizer", "sgd", "--beta2", "0.5"},
                                {"--optimizer", "sgd", "--eps", "1"},
                                {"--optimizer", "sgd", "--adamw", "cs336"},
                                {"--precision", "mixed-bf16", "--stochastic-rounding"},
                                {"--min-lr-share", "0.1"},
                                {"--lora-dropout", "0.1"},
                                {"--epochs", "2"},
                                {"--bytes"}}) {
    Arguments arguments = {"--tokens", "tokens.json", "--steps", "1"};
    arguments.insert(arguments.end(), idle.begin(), idle.end());
    fails(arguments, "does nothing where");
  }
  write_text(folder_.path() / "unlabelled.json", R"({"input_ids": [[1], [2]]})");
  fails({"--tokens", "unlabelled.json", "--steps", "1"}, "unlabelled.json: no label counts");
  write_text(folder_.path() / "labelled.tsv", "sentence\tlabel\nabc\t1\n");
  Arguments labelled = on_text({"--steps", "1"});
  std::replace(labelled.begin(), labelled.end(), std::string("other.txt"), std::string("labelled.tsv"));
  expect_failure(labelled, 2, "labelled.tsv: labelled sentences need a classifier");
}

TEST_F(CliTrain, WhatIsReadOrWrittenBesideIsNotReplacedByTheOptimizersState) {
  const auto fails = [&](const Arguments& more, const std::string& part) {
    Arguments arguments = {"train", "model", "--tokens", "tokens.json", "--steps", "1", "--optimizer-to"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_failure(arguments, 2, part);
  };
  fails({"tokens.json"}, "--optimizer-to tokens.json: would replace what --tokens tokens.json reads");
  fails({"model/model.safetensors"}, "would replace what model model reads");
  fails({"y", "--json=y"}, "is also what --");
  fails({"y", "--merge", "y", "--lora", "2"}, "--merge y: is also what --optimizer-to writes");
  fails({"x", "--merge", "y", "--lora", "2", "--out", "y"}, "--merge y: is also what --out writes");
  fails({"run", "--out", "run"}, "--optimizer-to run: lies in the folder that --out writes");
  fails({"run/optimizer.safetensors", "--out", "run"}, "lies in the folder that --out writes");
}

TEST_F(CliTrain, AnEarlierTrainingIsReplacedWhereThatIsAskedFor) {
  losses({"--steps", "3", "--out", "again"});
  const Json two = losses({"--steps", "2", "--out", "again", "--overwrite"});
  EXPECT_EQ(two.size(), 2U);
  EXPECT_EQ(parse_json(file("again/training.json"), "training.json").at("steps"), 2);
}

TEST_F(CliTrain, AScheduleThatIsGoneOnWithMayEndLater) {
  losses({"--steps", "2", "--out", "longer", "--schedule", "cosine"});
  const Outcome outcome =
      run(on_tokens({"--steps", "4", "--out", "longer", "--schedule", "cosine", "--resume", "--recompute", "block"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("was to end at step 2, now ends at 4"), std::string::npos) << outcome.err;
  EXPECT_EQ(parse_json(outcome.out, "stdout").at("losses").size(), 4U);
}

/// The losses until then are told, and the last checkpoint that is finite stays.
TEST_F(CliTrain, ATrainingThatDivergesEndsThereAndSaysSo) {
  const Arguments wild = {"--steps", "20", "--lr", "1e6", "--optimizer", "sgd", "--save-every", "1", "--out", "wild"};
  const Outcome outcome = run(on_tokens(wild));
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  const Json told = parse_json(outcome.out, "stdout").at("losses");
  ASSERT_GT(told.size(), 1U);
  ASSERT_LT(told.size(), 20U);
  EXPECT_NE(outcome.err.find(fmt::format("step {}: ", told.size())), std::string::npos) << outcome.err;
  EXPECT_EQ(run({"dump", "wild", "--tokens", "tokens.json", "--what", "loss", "--out", "loss.safetensors"})
                .err.find("wild/model.safetensors"),
            std::string::npos)
      << "its weights load";
  const Json kept = parse_json(file("wild/training.json"), "training.json");
  EXPECT_EQ(kept.at("steps"), told.size() - 1);
  for (const Json& loss : kept.at("losses")) EXPECT_TRUE(loss.is_number());
  const Outcome unsaved = run(on_tokens({"--steps", "20", "--lr", "1e6", "--optimizer", "sgd"}));
  EXPECT_EQ(unsaved.exit_code, 2) << unsaved.err;
  EXPECT_NE(unsaved.err.find("not finite"), std::string::npos) << unsaved.err;
  Arguments skipping = wild;
  skipping.back() = "skipping";
  skipping.insert(skipping.end(), {"--nonfinite", "skip"});
  EXPECT_EQ(losses(skipping).size(), 20U);
  EXPECT_GT(parse_json(file("skipping/training.json"), "training.json").at("loss_scale").at("skipped"), 0);
}

TEST_F(CliTrain, NothingOfTheUsersGoesAndNothingOfOursStaysBeside) {
  fs::create_directory(folder_.path() / "run.tmp-20261122");
  write_text(folder_.path() / "run.tmp-20261122" / "data", "mine");
  std::set<std::string> expected = names();
  expected.insert("run");
  losses({"--steps", "2", "--save-every", "1", "--out", "run"});
  write_text(folder_.path() / "run" / "notes.txt", "mine");
  losses({"--steps", "3", "--out", "run", "--resume"});
  EXPECT_EQ(names(), expected);
  EXPECT_EQ(file("run/notes.txt"), "mine");
  EXPECT_EQ(file("run.tmp-20261122/data"), "mine");
}

TEST_F(CliTrain, AModelIsScoredOnHeldOutTextAndTheBestIsKept) {
  // A rate that rises without end: it gets better, then worse.
  const Json all =
      on_text_json({"--steps", "12", "--eval-every", "3", "--out", "run", "--warmup-steps", "200", "--lr", "4"});
  const Json& scores = all.at("held_out");
  ASSERT_EQ(scores.size(), 4U);
  std::size_t best = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(scores[i].at("step"), 3 * (i + 1));
    EXPECT_EQ(scores[i].at("scored"), 255 - 16) << "every id but the first of each of 16 windows";
    EXPECT_NEAR(scores[i].at("perplexity").get<double>(), std::exp(scores[i].at("mean_loss").get<double>()), 1e-6);
    if (scores[i].at("mean_loss") < scores[best].at("mean_loss")) best = i;
  }
  EXPECT_EQ(all.at("best_step"), 3 * (best + 1));
  EXPECT_EQ(parse_json(file("run/best/training.json"), "").at("steps"), all.at("best_step"));
  EXPECT_EQ(parse_json(file("run/training.json"), "").at("steps"), 12);
  const Outcome opened = run({"dump", "run/best", "--tokens", "tokens.json", "--out", "out.safetensors"});
  EXPECT_EQ(opened.exit_code, 0) << opened.err;
}

TEST_F(CliTrain, ScoresChangeNoStepAndAreGoneOnWith) {
  const Json whole = on_text_json({"--steps", "6", "--eval-every", "2", "--out", "six"});
  EXPECT_EQ(on_text_json({"--steps", "6"}).at("losses"), whole.at("losses"));
  on_text_json({"--steps", "4", "--eval-every", "2", "--out", "four"});
  on_text_json({"--steps", "6", "--eval-every", "2", "--out", "four", "--resume"});
  EXPECT_EQ(file("four/training.json"), file("six/training.json"));
  EXPECT_EQ(file("four/best/model.safetensors"), file("six/best/model.safetensors"));
}

/// As after an interrupt that ended the last score.
TEST_F(CliTrain, AScoreThatIsDueIsMadeBeforeTheNextStep) {
  const Json whole = on_text_json({"--steps", "4", "--eval-every", "2", "--out", "four"});
  on_text_json({"--steps", "4", "--eval-every", "4", "--out", "due"});
  Json progress = parse_json(file("due/training.json"), "training.json");
  progress["held_out"] = Json::array();
  write_text(folder_.path() / "due" / "training.json", progress.dump());
  fs::remove(folder_.path() / "due" / "manifest.json");
  fs::remove_all(folder_.path() / "due" / "best");
  const Json resumed = on_text_json({"--steps", "4", "--eval-every", "4", "--out", "due", "--resume"});
  ASSERT_EQ(resumed.at("held_out").size(), 1U);
  EXPECT_EQ(resumed.at("held_out")[0].at("mean_loss"), whole.at("held_out")[1].at("mean_loss"));
  EXPECT_EQ(parse_json(file("due/best/training.json"), "").at("steps"), 4);
  EXPECT_EQ(parse_json(file("due/training.json"), "").at("held_out").size(), 1U) << "whoever goes on knows it";
}

TEST_F(CliTrain, ABestThatIsNoLongerThereIsNotClaimed) {
  const Arguments rising = {"--eval-every", "3", "--out", "run", "--warmup-steps", "200", "--lr", "4"};
  const auto with = [&](Arguments more) {
    more.insert(more.end(), rising.begin(), rising.end());
    return more;
  };
  ASSERT_LT(on_text_json(with({"--steps", "12"})).at("best_step"), 12);
  std::ofstream(folder_.path() / "run" / "best" / "model.safetensors") << "torn";
  const Outcome damaged = run(on_text(with({"--steps", "15", "--resume"})));
  EXPECT_EQ(damaged.exit_code, 0) << damaged.err;
  EXPECT_NE(damaged.err.find("what is best is found anew"), std::string::npos) << damaged.err;
  EXPECT_EQ(parse_json(damaged.out, "stdout").at("best_step"), 15);
  fs::remove_all(folder_.path() / "run" / "best");
  on_text_json(with({"--steps", "15", "--resume"}));
  EXPECT_EQ(parse_json(file("run/best/training.json"), "").at("steps"), 15) << "what did best at this step";
}

TEST_F(CliTrain, AShareOfTheStepsGoesWithTheirNumber) {
  losses({"--steps", "2", "--out", "longer", "--warmup-share", "0.5"});
  const Outcome outcome = run(on_tokens({"--steps", "8", "--out", "longer", "--warmup-share", "0.5", "--resume"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("was to take 1 steps, now takes 4"), std::string::npos) << outcome.err;
}

TEST_F(CliTrain, PrecisionsAreComparedOnHeldOutText) {
  Arguments arguments = on_text({"--steps", "4", "--precision", "fp32,bf16"});
  arguments.front() = "compare-training";
  std::replace(arguments.begin(), arguments.end(), std::string("--json"), std::string("--json=c.json"));
  const Outcome outcome = run(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json rows = parse_json(file("c.json"), "c.json").at("precisions");
  const auto loss_alone = [&](const char* precision) {
    return on_text_json({"--steps", "4", "--precision", precision}).at("held_out").back().at("mean_loss").get<double>();
  };
  const double fp32 = loss_alone("fp32");
  EXPECT_NEAR(rows[0].at("held_out_loss").get<double>(), fp32, 1e-9);
  EXPECT_TRUE(rows[0].at("held_out_difference").is_null());
  EXPECT_NEAR(rows[1].at("held_out_difference").get<double>(), loss_alone("bf16") - fp32, 1e-9);
  EXPECT_LT(rows[1].at("held_out_difference_low"), rows[1].at("held_out_difference"));
}

TEST_F(CliTrain, WhatAnEarlierTrainingDidBestGoesWithIt) {
  on_text_json({"--steps", "2", "--out", "run"});
  EXPECT_TRUE(fs::exists(folder_.path() / "run" / "best"));
  losses({"--steps", "1", "--out", "run", "--overwrite"});
  EXPECT_FALSE(fs::exists(folder_.path() / "run" / "best"));
}

TEST_F(CliTrain, ParametersOfAGroupAreUpdatedAsItSays) {
  const Json alike = losses({"--steps", "3", "--weight-decay", "0.5"});
  EXPECT_NE(losses({"--steps", "3", "--weight-decay", "0.5", "--no-decay", "usual"}), alike);
  EXPECT_EQ(losses({"--steps", "3", "--weight-decay", "0.5", "--lr-by-role", "head=0.001,mlp=1e-3"}), alike);
  const Json slow = losses({"--steps", "3", "--weight-decay", "0.5", "--lr-by-role", "head=0"});
  EXPECT_NE(slow, alike);
  write_text(folder_.path() / "groups.toml", "[precision]\n[training]\nlr-by-role = \"head=0\"\n");
  EXPECT_EQ(losses({"--steps", "3", "--weight-decay", "0.5", "--recipe", "groups.toml"}), slow);
  losses({"--steps", "1", "--out", "kept", "--no-decay", "norms"});
  expect_failure(on_tokens({"--steps", "2", "--out", "kept", "--resume"}), 2, "--no-decay \"norms\", not \"\"");
  expect_failure(on_tokens({"--steps", "2", "--no-decay", "heads"}), 2, "--no-decay: 'heads'");
}

/// A training goes on with states and gradients as they were, and with no others.
TEST_F(CliTrain, StatesInFewerBitsGoOnAsTheyAre) {
  const Arguments stored = {"--states", "8bit", "--gradients", "bf16"};
  const auto with = [&](Arguments more) {
    more.insert(more.end(), stored.begin(), stored.end());
    return more;
  };
  const Json whole = losses(with({"--steps", "4"}));
  losses(with({"--steps", "2", "--out", "run"}));
  EXPECT_EQ(losses(with({"--steps", "4", "--out", "run", "--resume"})), whole);
  expect_failure(on_tokens({"--steps", "5", "--out", "run", "--resume"}), 2, "was trained with --gradients \"bf16\"");
  expect_failure(on_tokens({"--steps", "1", "--states", "int8"}), 2, "8bit");
  expect_failure(on_tokens({"--steps", "1", "--gradients", "e4m3"}), 2, "weights, f32, f16 and bf16 are known");
  expect_failure({"memory", "model", "--states", "8bit"}, 2, "--mode infer");
}

TEST_F(CliTrain, ASecondTrainingIntoOneFolderIsRefused) {
  fs::create_directory(folder_.path() / "run");
  const Handle<int, ::close, -1> held(::open((folder_.path() / "run").c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(held.get(), LOCK_EX | LOCK_NB), 0);
  expect_failure(on_tokens({"--steps", "1", "--out", "run"}), 2, "run: another process trains into it");
}

TEST_F(CliTrain, LabelsOutOfRangeAreRefused) {
  write_text(folder_.path() / "tokens.json", R"({"input_ids": [[1, 2, 3]], "labels": [[1, 2, 64]]})");
  expect_failure(on_tokens({"--steps", "1"}), 2, "label 64");
}

}  // namespace
}  // namespace assay
