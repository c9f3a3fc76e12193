#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "cli_fixture.h"

namespace assay {
namespace {

/// A meter of so many watts that prints a line every 10 ms.
/// Its seconds are the clock's: on a busy machine a loop that counts its own turns falls behind.
std::string meter_of(double watts) {
  return fmt::format("while :; do echo $(date +%s.%N) {:.1f}; sleep 0.01; done", watts);
}

/// A meter that knows the time: each round of its loop has `now_s` since its start and prints what `figure` gives.
std::string script_meter(const std::string& unit, const std::string& figure) {
  return fmt::format(
      "exec /usr/bin/python3 -u -c \"\nimport os, time\nbegin = time.time()\nprint('# seconds {}')\n"
      "while True:\n  now_s = time.time() - begin\n  figure = {}\n"
      "  if figure is not None: print('%.4f %.4f' % (now_s, figure))\n  time.sleep(0.01)\n\"",
      unit, figure);
}

class CliMeasure : public Cli {
 protected:
  /// `measure` with its records in out.json.
  Json measured(const Arguments& more, int exit_code = 0) {
    Arguments arguments = {"measure", "--json", "out.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    last_ = run(arguments);
    EXPECT_EQ(last_.exit_code, exit_code) << last_.err;
    return last_.exit_code == exit_code ? records_of("out.json") : Json::array();
  }
  Outcome last_;
};

TEST_F(CliMeasure, AProgramIsARecordWithTimeMemoryAndTrust) {
  const Json records = measured({"--runs", "7", "--meter", "none", "--", "sleep", "0.02"});
  ASSERT_EQ(records.size(), 1u);
  const Json& record = records[0];
  EXPECT_EQ(record.at("mode"), "program");
  EXPECT_EQ(record.at("command"), "sleep 0.02");
  EXPECT_EQ(record.at("samples"), 7);
  EXPECT_GE(record.at("median_ms"), 20);
  EXPECT_LT(record.at("user_ms"), record.at("median_ms"));
  EXPECT_TRUE(record.at("resident_bytes").is_null()) << "it holds less than assay, from whose memory the kernel counts";
  EXPECT_EQ(record.at("energy_status"), "no meter: none was asked for");
  EXPECT_TRUE(record.at("trust").is_string());
  EXPECT_NE(last_.out.find("sleep 0.02"), std::string::npos) << last_.out;
}

TEST_F(CliMeasure, NoMeterAndAMeterAtOnceIsRefused) {
  for (const char* none : {"none", "None"}) {
    expect_failure({"measure", "--meter", none, "--meter-command", "echo 0 1", "--", "true"}, 2, "--meter none: ");
    expect_failure({"measure", "--meter", none, "--meter-url", "http://127.0.0.1:1", "--", "true"}, 2,
                   "--meter none: ");
  }
  EXPECT_EQ(measured({"--runs", "1", "--meter", "None", "--", "true"}).at(0).at("energy_status"),
            "no meter: none was asked for");
}

TEST_F(CliMeasure, WhatFollowsTheDashesIsTheProgramsWhateverStandsBefore) {
  const Json records = measured({"--runs", "2", "--meter", "none", "--vs", "true", "--", "sh", "-c", "true"});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].at("command"), "sh -c true");
}

TEST_F(CliMeasure, TwoProgramsAreComparedRoundByRound) {
  const Json records = measured({"--runs", "8", "--meter", "none", "--vs", "sleep 0.4 || true", "--", "sleep", "0.02"});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].at("command"), "sleep 0.4 || true");
  EXPECT_EQ(records[0].at("speedup"), 1);
  EXPECT_LT(records[1].at("speedup"), 1) << "a program that sleeps longer is no faster, however busy the machine is";
  EXPECT_LE(records[1].at("speedup_low"), records[1].at("speedup"));
  EXPECT_NE(last_.out.find("B        sleep 0.4 || true"), std::string::npos) << last_.out;
}

TEST_F(CliMeasure, AProgramThatFailsHasNoFigures) {
  expect_failure({"measure", "--", "sh -c 'exit 3'"}, 2, "exit code 3; a program that fails has no figures");
  expect_failure({"measure", "--", "kill -9 $$"}, 2, "was ended by signal 9");
  expect_failure({"measure", "--", "no-such-program-anywhere"}, 2, "no-such-program-anywhere: No such file");
  expect_failure({"measure", "--vs", " ", "--", "true"}, 2, "a command is empty");
  expect_failure({"measure", "--claims", "fp99", "--", "true"}, 2, "fp99");
  expect_failure({"measure", "--meter", "rapl-no-such", "--", "true"}, 3, "no such meter");
  expect_failure({"measure", "--meter-command", "echo hello", "--", "true"}, 3, "line 'hello'");
  expect_failure({"measure", "--price", "nan", "--", "true"}, 2, "must be between");
}

TEST_F(CliMeasure, WhatAFailingProgramSaidIsShownThoughRunsAreQuiet) {
  const Outcome outcome = run({"measure", "--quiet", "--", "echo the cause >&2; exit 1"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(outcome.err.starts_with("the cause\nassay: ")) << outcome.err;
}

TEST_F(CliMeasure, OutputIsShownOnceOrAlwaysOrNever) {
  const auto lines = [&](const std::string& which) {
    const Outcome outcome = run({"measure", "--runs", "6", "--meter", "none", "--output", which, "--", "echo said"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find("\nsaid\n"), std::string::npos) << "stdout is ours alone";
    return std::count(outcome.err.begin(), outcome.err.end(), '\n');
  };
  EXPECT_EQ(lines("first"), 1);
  EXPECT_GT(lines("all"), 6);
  EXPECT_EQ(lines("none"), 0);
}

TEST_F(CliMeasure, PhasesThatTheProgramMarksAreRecordsOfTheirOwn) {
  const Json records = measured({"--runs", "6", "--meter", "none", "--quiet", "--", ASSAY_MARKED_LOOP});
  ASSERT_EQ(records.size(), 3u) << last_.err;
  EXPECT_EQ(records[1].at("mode"), "phase");
  EXPECT_EQ(records[1].at("phase"), "fill");
  const Json& sum = records[2];
  EXPECT_EQ(sum.at("phase"), "sum");
  EXPECT_EQ(sum.at("items"), sum.at("timed_runs").get<double>() * (1 << 20));
  EXPECT_EQ(sum.at("samples"), 3 * 6 * records[0].at("repetitions").get<int>());
  EXPECT_GT(sum.at("samples_per_s"), 0);
  EXPECT_LT(sum.at("timed_s"), records[0].at("timed_s"));
  EXPECT_TRUE(last_.says("a phase of a program")) << last_.out;
  const std::string report = run({"report", "out.json"}).out;
  for (const char* part : {", runs of a program", "phase fill", "phase sum, 1,048,576 items a time ", "A, sum"}) {
    EXPECT_NE(report.find(part), std::string::npos) << part << " is not in " << report;
  }
  EXPECT_EQ(report.find("forward pass"), std::string::npos) << report;
}

TEST_F(CliMeasure, TheProgramSeesTheEnvironmentOfTheUser) {
  measured({"--runs", "1", "--meter", "none", "--", "env"});
  EXPECT_NE(last_.err.find("PATH="), std::string::npos) << last_.err;
  EXPECT_EQ(last_.err.find("GOMP_SPINCOUNT"), std::string::npos) << last_.err;
}

TEST_F(CliMeasure, ThePythonHelperTakesWhateverIsANumber) {
  if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no python3 to run the helper with";
  const std::string program =
      "import sys; sys.path.insert(0, '" ASSAY_SOURCE_DIR
      "/python'); import assay_markers as assay\n"
      "class Scalar:\n  def __float__(self): return 2.0\n"
      "for name, items in (('scalar', Scalar()), ('none', 'many'), ('nan', float('nan')), ('\u6a21' * 90, 1)):\n"
      "  with assay.phase(name, items=items): pass\n";
  const Json records = measured({"--runs", "1", "--meter", "none", "--quiet", "--", "/usr/bin/python3", "-c", program});
  ASSERT_EQ(records.size(), 5u) << last_.err;
  EXPECT_EQ(records[1].at("items"), 2);
  EXPECT_TRUE(records[2].at("items").is_null());
  EXPECT_TRUE(records[3].at("items").is_null());
  EXPECT_EQ(records[4].at("phase").get<std::string>().size(), 99u) << "33 characters of three bytes";
}

TEST_F(CliMeasure, ThePythonHelperMarksPhases) {
  if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no python3 to run the example with";
  const std::string loop = ASSAY_SOURCE_DIR "/examples/measured_loop.py";
  const Json records = measured({"--runs", "1", "--meter", "none", "--", "/usr/bin/python3", loop});
  ASSERT_EQ(records.size(), 5u) << last_.err;
  EXPECT_EQ(records[1].at("phase"), "data");
  EXPECT_EQ(records[2].at("phase"), "forward");
  EXPECT_EQ(records[2].at("items"), 4 * 64);
  EXPECT_EQ(records[2].at("samples"), 4);
  const Outcome alone = run(
      {"measure", "--runs", "1", "--meter", "none", "--", "env", "-u", "ASSAY_MARKERS_FD", "/usr/bin/python3", loop});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_FALSE(alone.says("a phase of a program")) << "without the variable the helper does nothing";
}

TEST_F(CliMeasure, PyTorchsLoopMarksPhases) {
  if (std::system("/usr/bin/env python3 -c 'import torch' 2>/dev/null") != 0) GTEST_SKIP() << "torch is not installed";
  const Json records =
      measured({"--runs", "1", "--meter", "none", "--", "python3", ASSAY_SOURCE_DIR "/examples/measured_torch.py"});
  EXPECT_EQ(records.size(), 4u);
}

TEST_F(CliMeasure, LinesThatAreNoMarkersCostASentence) {
  const Outcome outcome = run({"measure", "--runs", "1", "--meter", "none", "--",
                               "head -c 300000 /dev/zero >/proc/self/fd/$ASSAY_MARKERS_FD; "
                               "echo '{\"phase\": [[[' >/proc/self/fd/$ASSAY_MARKERS_FD"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("were no markers"), std::string::npos) << outcome.err;
  EXPECT_LT(outcome.peak_bytes, most_bytes);
}

TEST_F(CliMeasure, AClaimAboveTheMachinesPeakIsImpossible) {
  const Json records =
      measured({"--runs", "6", "--meter", "none", "--flops", "1e18", "--claims", "fp32", "--", "true"});
  ASSERT_EQ(records.size(), 1u) << last_.err;
  if (records[0].at("peaks_measured_share") < 0.5) GTEST_SKIP() << "the machine was too busy to measure its peaks";
  EXPECT_EQ(records[0].at("status"), "impossible") << records[0];
  EXPECT_EQ(records[0].at("trust"), "D");
}

TEST_F(CliMeasure, EnergyOfAConstantMeterIsItsPowerTimesTheTime) {
  const Json records = measured({"--seconds", "1.5", "--meter-command", meter_of(40), "--meter-unit", "watts",
                                 "--price", "0.30", "--carbon", "400", "--", "sleep", "0.05"});
  ASSERT_EQ(records.size(), 1u) << last_.err;
  const Json& record = records[0];
  EXPECT_EQ(record.at("energy_status"), "command: what the command reads");
  EXPECT_NEAR(record.at("power_w"), 40, 2);
  EXPECT_NEAR(record.at("idle_power_w"), 40, 2);
  EXPECT_GT(record.at("energy_j"), 40 * 0.05);
  EXPECT_GT(record.at("energy_uncertainty_j"), 0);
  EXPECT_LT(record.at("energy_net_j"), record.at("energy_j"));
  EXPECT_NEAR(record.at("cost_per_million_tokens").get<double>(), record.at("energy_j").get<double>() / 3.6 * 0.30,
              1e-6);
  EXPECT_NEAR(record.at("carbon_g_per_million_tokens").get<double>(), record.at("energy_j").get<double>() / 3.6 * 400,
              1e-3);
}

/// Net energy and its bound, J; NaN where there is none.
struct NetEnergy {
  double joules = NAN;
  double bound = NAN;
};

NetEnergy net_energy_of(const Json& record) {
  if (!record.at("energy_net_j").is_number()) return {};
  return {record.at("energy_net_j"), record.at("energy_net_uncertainty_j")};
}

/// Whether one of three measurements is as `holds` says. Meters here are scripts: where others use the cores, one that
/// is kept waiting tells of another load than there was.
bool one_of_three(const std::function<bool()>& holds) {
  for (int measurement = 0; measurement < 3; ++measurement) {
    if (holds()) return true;
  }
  return false;
}

TEST_F(CliMeasure, EnergyOfALoadIsWhatTheMetersScriptAdds) {
  std::string found;
  EXPECT_TRUE(one_of_three([&] {
    const Json record =
        measured({"--seconds", "1.5", "--meter-command", script_meter("watts", "40 if os.path.exists('works') else 10"),
                  "--", "sh", "-c", "touch works; sleep 0.3; rm works"})
            .at(0);
    const double truth_j = 30 * record.at("median_ms").get<double>() / 1000;
    const NetEnergy net = net_energy_of(record);
    const double idle_w = record.at("idle_power_w").is_number() ? record.at("idle_power_w").get<double>() : NAN;
    found += fmt::format("{}: {} +- {} J where {} J were, {} W idle\n", record.at("energy_status").dump(), net.joules,
                         net.bound, truth_j, idle_w);
    return std::abs(net.joules - truth_j) <= net.bound + 0.1 * truth_j && std::abs(idle_w - 10) <= 3;
  })) << found;
}

TEST_F(CliMeasure, EnergyHoldsTheTruthWhileIdlenessDrifts) {
  std::string found;
  EXPECT_TRUE(one_of_three([&] {
    const Json record =
        measured({"--seconds", "1.5", "--meter-command", script_meter("watts", "20 + 2 * now_s"), "--", "sleep", "0.1"})
            .at(0);
    // Nothing is drawn for the program: its net energy is zero, and what idleness gained meanwhile must be in the
    // bound.
    const NetEnergy net = net_energy_of(record);
    found +=
        fmt::format("{}: {} +- {} J where nothing was\n", record.at("energy_status").dump(), net.joules, net.bound);
    return std::abs(net.joules) <= net.bound;
  })) << found;
}

TEST_F(CliMeasure, AMeterThatFreezesOrStartsAgainIsNoMeter) {
  const std::pair<const char*, const char*> faults[] = {{"20 * now_s if now_s < 1.2 else None", "no figure came"},
                                                        {"20 * now_s if now_s < 1.2 else 3", "stepped back"}};
  for (const auto& [figure, words] : faults) {
    const Json record =
        measured({"--runs", "6", "--meter-command", script_meter("joules", figure), "--", "sleep", "0.2"}).at(0);
    const auto status = record.at("energy_status").get<std::string>();
    EXPECT_TRUE(status.starts_with("no meter: ")) << status;
    EXPECT_NE(status.find(words), std::string::npos) << status;
    EXPECT_TRUE(record.at("median_ms").is_number()) << "the times stand";
    EXPECT_TRUE(record.count("energy_j") == 0 || record.at("energy_j").is_null());
  }
}

TEST_F(CliMeasure, BenchTakesTheSameMeters) {
  const Outcome outcome = bench({"--precision", "fp32", "--meter-command", meter_of(40), "--meter-unit", "watts",
                                 "--price", "0.30", "--json", "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json record = records_of("out.json").at(0);
  EXPECT_NEAR(record.at("power_w"), 40, 2);
  EXPECT_NEAR(record.at("energy_per_token_j").get<double>() * 8, record.at("energy_j"), 1e-9);
  EXPECT_TRUE(record.at("cost_per_million_tokens").is_number());
}

TEST_F(CliMeasure, AnInterruptEndsTheProgramToo) {
  const Outcome outcome = interrupt_assay(
      folder_.path(), {"measure", "--meter", "none", "--json", "out.json", "--", "sleep 1000; true"}, "first run");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_EQ(records_of("out.json").at(0).at("status"), "interrupted");
}

}  // namespace
}  // namespace assay
