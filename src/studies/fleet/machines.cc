#include "studies/fleet/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
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

/// A run's records, each content once.
struct GatheredRun {
  StoredRun run;
  std::vector<Record> records;
  std::set<std::string> contents;
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
    for (StoredRecord& stored : one.records) {
      if (run.contents.insert(content_of(stored.record)).second)
        run.records.push_back(std::move(stored.record));
      else
        ++repeated;
    }
  }
  return by_uid;
}

FleetRun judged_run(GatheredRun gathered) {
  FleetRun run{.run = std::move(gathered.run)};
  run.machine = Json::parse(run.run.machine, nullptr, false);
  if (!run.machine.is_object()) run.machine = Json::object();
  Document document;
  document.records = std::move(gathered.records);
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
