#include "studies/verify/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "results/derive.h"
#include "results/exchange.h"
#include "results/identity.h"
#include "results/seal.h"
#include "results/store.h"

namespace assay {
namespace {

/// Records of one run, numbered from 1 where a store has not numbered them.
void verify_records(std::vector<Record> records, const std::vector<std::string>& names, std::vector<Verified>& things) {
  records = derived_again(std::move(records));
  for (std::size_t i = 0; i < records.size(); ++i)
    things.push_back({names[i], subject_words(records[i]), std::move(records[i].seal)});
}

void verify_run(const ExchangedRun& one, const std::string& name, std::vector<Verified>& things) {
  std::vector<Record> records;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < one.records.size(); ++i) {
    records.push_back(one.records[i].record);
    names.push_back(fmt::format("{}, record {}", name, i + 1));
  }
  verify_records(std::move(records), names, things);
}

void verify_store(const std::filesystem::path& file, std::vector<Verified>& things) {
  for (const ExchangedRun& one : read_exchange(file)) {
    const std::string name = fmt::format("run {}", one.run.id);
    things.push_back({name, one.run.command, one.run.seal});
    verify_run(one, name, things);
  }
}

void verify_file(const std::filesystem::path& file, std::vector<Verified>& things) {
  const std::string name = file.string();
  const Json json = parse_json(read_file(file), name);
  const auto origin = json.is_object() ? origin_read(json) : std::nullopt;
  things.push_back({"file", origin ? origin->command : "", origin ? origin->seal : Seal{.state = Seal::State::absent}});
  if (json.is_object() && json.value("schema", Json()) == exchange_schema_name) {
    for (const ExchangedRun& one : read_exchange(file)) verify_run(one, "run " + one.run.uid.substr(0, 8), things);
    return;
  }
  std::vector<Record> records = document_from_json(json, name).records;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < records.size(); ++i) names.push_back(fmt::format("record {}", i + 1));
  verify_records(std::move(records), names, things);
}

}  // namespace

bool Verification::holds() const {
  return std::all_of(things.begin(), things.end(), [](const Verified& thing) { return thing.holds(); });
}

Verification verify(const std::filesystem::path& file) {
  Verification verification{.file = file.string(), .things = {}};
  is_store(file) ? verify_store(file, verification.things) : verify_file(file, verification.things);
  return verification;
}

}  // namespace assay
