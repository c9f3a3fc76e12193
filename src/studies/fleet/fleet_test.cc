#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "studies/fleet/choices.h"
#include "studies/fleet/fleet_testing.h"
#include "studies/fleet/machines.h"
#include "studies/fleet/outliers.h"
#include "studies/fleet/request.h"

namespace assay {
namespace {

std::vector<ExchangedRun> fleet_runs(std::vector<SimulatedMachine> machines, double noise = 0.01) {
  std::vector<ExchangedRun> runs;
  Random random(7);
  for (const SimulatedMachine& machine : machines)
    runs.push_back(simulated_run(machine, simulated_records(machine, 2, noise, random), "uid of " + machine.host));
  return runs;
}

std::vector<SimulatedMachine> alike(int count) {
  std::vector<SimulatedMachine> machines(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    machines[static_cast<std::size_t>(i)].host = fmt::format("node{}", i + 1);
    machines[static_cast<std::size_t>(i)].host_id = fmt::format("{:04}", i + 1);
  }
  return machines;
}

Json fleet_json(std::vector<ExchangedRun> runs) {
  return Json::parse(to_json(fleet_report(std::move(runs), {})).dump());
}

const Json& row_with(const Json& rows, const std::string& key, const std::string& value) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Json& row) { return row.at(key) == value; });
  EXPECT_NE(found, rows.end()) << key << " " << value << " in " << rows.dump(1);
  return found == rows.end() ? rows.front() : *found;
}

TEST(Fleet, ASlowMachineIsFoundWithItsEvidence) {
  std::vector<SimulatedMachine> machines = alike(5);
  machines[3].slowness = 1.3;
  machines[3].clock_mhz = 2000;
  const Json json = fleet_json(fleet_runs(machines));
  for (const Json& row : json.at("standings")) {
    const bool is_slow = row.at("machine") == "node4";
    EXPECT_EQ(row.at("stands"), is_slow ? "slower" : "as the others") << row.dump(1);
    EXPECT_EQ(row.at("evidence").empty(), !is_slow) << row.dump(1);
  }
  const Json& slow = row_with(json.at("standings"), "machine", "node4");
  EXPECT_NEAR(slow.at("time_ratio"), 1.3, 0.1);
  EXPECT_LT(slow.at("p"), 0.05);
  EXPECT_NE(slow.at("evidence").dump().find("clock after the timed windows: 2000 MHz, on the others 2600"),
            std::string::npos)
      << slow.dump(1);
  EXPECT_NE(json.at("notes").dump().find("node4 is slower"), std::string::npos);
}

/// Records that say no more than what standings look at.
Fleet plain_fleet(std::size_t machines, std::size_t cells, double noise, std::uint64_t seed) {
  Random random(seed);
  Fleet fleet;
  fleet.runs.resize(machines);
  for (std::size_t m = 0; m < machines; ++m) {
    const double of_run = noise * random.next_normal();
    for (std::size_t cell = 0; cell < cells; ++cell) {
      Record record;
      record.setting.model = "gpt2";
      record.setting.seq = static_cast<std::int64_t>(cell) + 1;
      record.latency.made().median_ms = 10 * std::exp(of_run + noise * random.next_normal());
      fleet.runs[m].records.push_back(std::move(record));
    }
  }
  for (std::size_t m = 0; m < machines; ++m) {
    FleetMachine machine{.label = fmt::format("node{}", m), .kind = "one kind", .facts = &fleet.runs[m].machine};
    for (const Record& record : fleet.runs[m].records) machine.records.push_back({&record, m});
    fleet.machines.push_back(std::move(machine));
  }
  return fleet;
}

TEST(Fleet, AlikeMachinesSeldomRaiseAnAlarm) {
  constexpr int trials = 300;
  for (const double noise : {0.005, 0.1}) {
    for (const std::size_t machines : {3U, 8U}) {
      int alarms = 0;
      for (int trial = 0; trial < trials; ++trial) {
        const Fleet fleet = plain_fleet(machines, 5, noise, static_cast<std::uint64_t>(trial) + 1);
        const FleetKind kind = fleet_kinds(fleet, {}).front();
        EXPECT_EQ(kind.standings.size(), machines);
        alarms += std::any_of(kind.standings.begin(), kind.standings.end(),
                              [](const MachineStanding& one) { return one.stands_apart; })
                      ? 1
                      : 0;
      }
      EXPECT_LE(alarms, 0.05 * trials + 3 * std::sqrt(0.05 * 0.95 * trials)) << noise << ", " << machines;
    }
  }
}

TEST(Fleet, OrderAndRepetitionChangeNothing) {
  const std::vector<ExchangedRun> runs = fleet_runs(alike(3));
  Json once = fleet_json(runs);
  std::vector<ExchangedRun> again(runs.rbegin(), runs.rend());
  again.insert(again.end(), runs.begin(), runs.end());
  Json twice = fleet_json(again);
  EXPECT_EQ(once.at("repeated"), 0);
  EXPECT_EQ(twice.at("repeated"), once.at("record_count"));
  twice["repeated"] = 0;
  EXPECT_EQ(once, twice);
}

TEST(Fleet, MachinesOfOneHostNameAreToldApart) {
  std::vector<SimulatedMachine> machines = alike(3);
  for (SimulatedMachine& machine : machines) machine.host = "localhost";
  std::vector<ExchangedRun> runs = fleet_runs(machines);
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].run.uid = fmt::format("{}", i);
  const Fleet fleet = fleet_of(runs);
  ASSERT_EQ(fleet.machines.size(), 3U);
  EXPECT_EQ(fleet.machines[0].label, "localhost#0001");
  EXPECT_EQ(fleet.machines[1].label, "localhost#0002");
}

TEST(Fleet, WhereMachinesDisagreeTheRecordsSayWhy) {
  std::vector<SimulatedMachine> machines = alike(2);
  machines[1].kind = "Older processor, 8 cores";
  machines[1].instruction_sets = {"avx2"};
  std::vector<ExchangedRun> runs = fleet_runs(machines);
  for (StoredRecord& stored : runs[1].records) {
    if (stored.record.setting.precision == "fp32") continue;
    stored.record = made_up_left_out(stored.record.setting.precision, Status::emulated, "no instruction for it here");
    stored.record.setting.seq = 128;
    stored.record.setting.machine = machines[1].kind;
  }
  FleetRequest request;
  request.most_loss.kl = 0.1;
  const Fleet fleet = fleet_of(runs);
  const std::vector<ChoosingGroup> groups = choosing_groups(fleet, request.most_loss);
  const std::vector<Disagreement> all = disagreements(groups);
  ASSERT_FALSE(all.empty());
  const auto latency = std::find_if(all.begin(), all.end(), [](const Disagreement& d) { return d.aim == "latency"; });
  ASSERT_NE(latency, all.end());
  const std::string why = fmt::format("{}", fmt::join(latency->why, "; "));
  for (const char* part : {"emulated", "no instruction for it here", "avx512, amx_bf16"})
    EXPECT_NE(why.find(part), std::string::npos) << why;
}

TEST(Fleet, ALimitOnLossDecidesWhichPrecisionIsBest) {
  const std::vector<ExchangedRun> runs = fleet_runs(alike(1));
  const auto best_of = [&](double kl) {
    FleetRequest request;
    request.most_loss.kl = kl;
    const Json json = Json::parse(to_json(fleet_report(runs, request)).dump());
    return row_with(json.at("by_machine"), "aim", "latency").at("best").get<std::string>();
  };
  EXPECT_EQ(best_of(1e-2), "int8");
  EXPECT_EQ(best_of(1e-6), "fp32") << "the baseline loses nothing";
}

std::vector<ExchangedRun> divided_runs(const std::string& shard, const std::string& uid) {
  SimulatedMachine machine = alike(1).front();
  machine.host = "node of " + shard;
  Random random(3);
  std::vector<Record> records = simulated_records(machine, 1, 0, random);
  for (Record& record : records) {
    record.share.made().grid = "assay bench smollm2-135m --seq 128";
    record.share.made().shard = shard;
    if (shard != "1/3" && record.setting.precision == "fp32") record.share.made().compared_only = true;
  }
  return {simulated_run(machine, records, uid)};
}

TEST(Fleet, MissingShardsHaveTheirCommands) {
  std::vector<ExchangedRun> runs = divided_runs("1/3", "a");
  runs.push_back(divided_runs("3/3", "c").front());
  std::vector<MissingPart> missing = missing_parts(fleet_of(runs));
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].command, "assay bench smollm2-135m --seq 128 --shard 2/3");
  runs.push_back(divided_runs("2/3", "b").front());
  EXPECT_TRUE(missing_parts(fleet_of(runs)).empty());
  runs[1].run.ended.reset();
  missing = missing_parts(fleet_of(runs));
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].command, "assay bench smollm2-135m --seq 128 --shard 3/3 --resume");
  EXPECT_EQ(missing[0].machine, "node of 3/3");
}

TEST(Fleet, RowsThatOneMachineLacksAreMissing) {
  std::vector<ExchangedRun> runs = fleet_runs(alike(2));
  for (ExchangedRun& run : runs) {
    for (StoredRecord& stored : run.records) stored.record.share.made().grid = "assay bench smollm2-135m";
  }
  EXPECT_TRUE(missing_parts(fleet_of(runs)).empty());
  runs[1].records.pop_back();
  const std::vector<MissingPart> missing = missing_parts(fleet_of(runs));
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].machine, "node2");
  EXPECT_EQ(missing[0].part, "1 of 8 rows");
  EXPECT_EQ(missing[0].command, "assay bench smollm2-135m --every-machine");
}

TEST(Fleet, NothingIsAMistake) {
  EXPECT_THROW(fleet_report({}, {}), Error);
}

}  // namespace
}  // namespace assay
