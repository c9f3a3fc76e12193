#include "studies/fleet/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "results/fields.h"
#include "results/identity.h"
#include "results/seal.h"
#include "rules/rules.h"

namespace assay {
namespace {

std::string text_among(const Json& facts, const char* key) {
  const auto found = facts.find(key);
  return found == facts.end() || !found->is_string() ? "" : found->get<std::string>();
}

std::string content_of(const Record& record) {
  return seal_of(Json::parse(to_json(record).dump(-1, ' ', false, OrderedJson::error_handler_t::replace)));
}

/// How final a copy's record is: a store that is copied while its run goes on holds what later copies have otherwise.
enum class Standing : std::uint8_t { not_scored_yet, of_an_open_run, of_an_ended_run };

Standing standing_of_copy(const Record& record, const StoredRun& run) {
  if (run.ended) return Standing::of_an_ended_run;
  const bool waits = record.quality && record.quality->quality_status.state == QualityState::not_scored_yet;
  return waits ? Standing::not_scored_yet : Standing::of_an_open_run;
}

/// A record of one of a run's copies.
struct GatheredRecord {
  Record record;
  std::string content;
  Standing standing;
};

/// A run's records, each content once, and of one measurement only the most final ones.
struct GatheredRun {
  StoredRun run;
  std::vector<GatheredRecord> records;
  std::map<std::string, std::vector<std::size_t>> places;  ///< By measurement, in `records`.

  /// Whether it is one more.
  bool take(const std::string& measurement, GatheredRecord one) {
    for (const std::size_t place : places[measurement]) {
      GatheredRecord& known = records[place];
      if (known.content == one.content) return false;
      if (known.standing == one.standing) continue;
      if (one.standing > known.standing) known = std::move(one);
      return false;
    }
    places[measurement].push_back(records.size());
    records.push_back(std::move(one));
    return true;
  }
};

/// Of one run whose stores were copied at several times: that it ended, where one of them says so.
void take_over(const StoredRun& other, StoredRun& run) {
  if (!run.ended) run.ended = other.ended;
}

std::map<std::string, GatheredRun> gathered(std::vector<ExchangedRun> runs, std::size_t& repeated) {
  std::map<std::string, GatheredRun> by_uid;
  for (ExchangedRun& one : runs) {
    const auto [place, is_new] = by_uid.try_emplace(one.run.uid, GatheredRun{one.run, {}, {}});
    GatheredRun& run = place->second;
    if (!is_new) take_over(one.run, run.run);
    std::map<std::string, int> seen;  // A document may hold a measurement more than once.
    for (StoredRecord& stored : one.records) {
      const std::string key = identity_key(stored.record);
      const std::string measurement = fmt::format("{} {}", key, seen[key]++);
      GatheredRecord record{std::move(stored.record), {}, Standing::not_scored_yet};
      record.content = content_of(record.record);
      record.standing = standing_of_copy(record.record, one.run);
      if (!run.take(measurement, std::move(record))) ++repeated;
    }
  }
  return by_uid;
}

FleetRun judged_run(GatheredRun gathered) {
  FleetRun run{.run = std::move(gathered.run)};
  run.machine = Json::parse(run.run.machine, nullptr, false);
  if (!run.machine.is_object()) run.machine = Json::object();
  Document document;
  for (GatheredRecord& one : gathered.records) document.records.push_back(std::move(one.record));
  document = believed(std::move(document));
  run.records = std::move(document.records);
  run.findings = std::move(document.findings);
  return run;
}

/// What tells machines apart.
using MachineKey = std::tuple<std::string, std::string, std::string, std::string, std::string>;

MachineKey key_of(const FleetRun& run, const Record& record) {
  const std::string id = text_among(run.machine, "host_id");
  const std::string memory = id.empty() ? run.machine.value("memory_bytes", Json()).dump() : "";
  return {text_among(run.machine, "host"), id, text_among(run.machine, "processor"), memory, record.setting.machine};
}

/// What a label says of a machine; each word more only where those before it name several.
std::vector<std::string> label_words(const FleetMachine& machine, std::size_t number) {
  return {machine.host.empty() ? "unnamed" : machine.host,
          machine.host_id.empty() ? "" : "#" + machine.host_id.substr(0, 4), " (" + machine.kind + ")",
          fmt::format(" no. {}", number)};
}

void machine_label(std::vector<FleetMachine>& machines) {
  const std::size_t most_words = label_words({}, 0).size();
  for (std::size_t words = 1; words <= most_words; ++words) {
    std::map<std::string, std::size_t> before;
    for (const FleetMachine& machine : machines) ++before[machine.label];
    for (std::size_t i = 0; i < machines.size(); ++i) {
      const std::size_t alike = before[machines[i].label];
      if (words == 1 || alike > 1) machines[i].label += label_words(machines[i], i + 1)[words - 1];
    }
  }
}

std::vector<FleetMachine> machines_of(const std::vector<FleetRun>& runs) {
  std::vector<FleetMachine> machines;
  std::map<MachineKey, std::size_t> places;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const Record& record : runs[r].records) {
      const auto [place, is_new] = places.try_emplace(key_of(runs[r], record), machines.size());
      if (is_new) {
        machines.push_back({.host = text_among(runs[r].machine, "host"),
                            .host_id = text_among(runs[r].machine, "host_id"),
                            .kind = record.setting.machine});
      }
      FleetMachine& machine = machines[place->second];
      machine.facts = &runs[r].machine;
      machine.records.push_back({&record, r});
    }
  }
  std::stable_sort(machines.begin(), machines.end(), [](const FleetMachine& a, const FleetMachine& b) {
    return std::tie(a.kind, a.host, a.host_id) < std::tie(b.kind, b.host, b.host_id);
  });
  machine_label(machines);
  return machines;
}

}  // namespace

Fleet fleet_of(std::vector<ExchangedRun> runs) {
  Fleet fleet;
  std::map<std::string, GatheredRun> by_uid = gathered(std::move(runs), fleet.repeated);
  fleet.runs.reserve(by_uid.size());
  for (auto& [uid, run] : by_uid) fleet.runs.push_back(judged_run(std::move(run)));
  std::sort(fleet.runs.begin(), fleet.runs.end(), [](const FleetRun& a, const FleetRun& b) {
    return std::tie(a.run.started, a.run.uid) < std::tie(b.run.started, b.run.uid);
  });
  fleet.machines = machines_of(fleet.runs);
  return fleet;
}

std::optional<double> number_among(const Json& facts, const char* key) {
  const auto found = facts.find(key);
  if (found == facts.end() || !found->is_number()) return {};
  return found->get<double>();
}

std::vector<std::string> texts_among(const Json& facts, const char* key) {
  std::vector<std::string> texts;
  const auto found = facts.find(key);
  if (found == facts.end() || !found->is_array()) return texts;
  for (const Json& text : *found) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

}  // namespace assay
