#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "results/exchange.h"
#include "results/finding.h"

namespace assay {

/// A run with its records as they follow from their samples, judged anew, and what the rules found.
struct FleetRun {
  StoredRun run = {};
  Json machine = Json::object();
  std::vector<Record> records = {};
  std::vector<Finding> findings = {};
};

/// A record and the run that it is of, by number.
struct FleetRecord {
  const Record* record = nullptr;
  std::size_t run = 0;
};

/// One machine, in one condition that makes it another kind (as capped instruction sets do).
struct FleetMachine {
  std::string label = {};  ///< Its host name, and what tells it from others of that name.
  std::string host = {};
  std::string host_id = {};
  std::string kind = {};        ///< Processor and cores, as records say it.
  const Json* facts = nullptr;  ///< Of its latest run.
  std::vector<FleetRecord> records = {};
};

/// Runs in the order in which they began, each once, and the machines that they ran on.
struct Fleet {
  std::vector<FleetRun> runs = {};
  std::vector<FleetMachine> machines = {};
  std::size_t repeated = 0;  ///< Records that came more than once.
};

/// A run comes by its uid, a record of it by its content. Machines are told apart by host name, the id beside it, the
/// processor and the cores, and where there is no id by their memory.
Fleet fleet_of(std::vector<ExchangedRun> runs);

/// A number among a machine's facts; absent where it is none.
std::optional<double> number_among(const Json& facts, const char* key);
/// Texts of a list among them.
std::vector<std::string> texts_among(const Json& facts, const char* key);

/// A part of a divided grid that no store has, and the command that measures it.
struct MissingPart {
  std::string grid = {};
  std::string part = {};     ///< "shard 3/4", "7 of 12 rows"
  std::string machine = {};  ///< Where it must run; empty: anywhere.
  std::string why = {};
  std::string command = {};
};
/// Of every grid that a record names: shards of which there is no record, shards and machines whose runs were ended
/// before they were done, and rows that one machine has and another lacks.
std::vector<MissingPart> missing_parts(const Fleet& fleet);

}  // namespace assay
