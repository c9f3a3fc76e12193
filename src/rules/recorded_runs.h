#pragma once

// For tests only: the honest runs of honest/runs.json, as tools/record_honest_runs.py compacts them.

#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "results/derive.h"
#include "results/fields.h"

namespace assay {

/// One record from what the file keeps of it; what it leaves out is as in a new record.
inline Record recorded_run(const Json& common, const Json& own, const Json& ledgers) {
  Json json = Json::parse(to_json(Record{}).dump());
  json.update(common);
  json.update(own);
  json["ledger"] = ledgers.at(json["ledger"].get<std::size_t>());
  Record record = record_from_json(json, "honest/runs.json");
  record.rates = rates_of(record);
  return record;
}

/// The documents of the file; each is what one command wrote.
inline std::vector<std::vector<Record>> recorded_runs() {
  const std::string path = ASSAY_SOURCE_DIR "/src/rules/honest/runs.json";
  const Json json = parse_json(read_file(path), path);
  std::vector<std::vector<Record>> documents;
  for (const Json& run : json.at("runs")) {
    documents.emplace_back();
    for (const Json& record : run.at("records"))
      documents.back().push_back(recorded_run(run.at("common"), record, json.at("ledgers")));
  }
  return documents;
}

}  // namespace assay
