#include "studies/bench/resume.h"

#include "base/json.h"
#include "base/secrets.h"
#include "results/identity.h"

namespace assay {
namespace {

OrderedJson protocol_json(const ProtocolOptions& protocol) {
  return {{"protocol", static_cast<int>(protocol.protocol)},
          {"window", protocol.window},
          {"stride", protocol.stride},
          {"most_tokens", protocol.most_tokens ? OrderedJson(*protocol.most_tokens) : OrderedJson()},
          {"batch", protocol.batch}};
}

/// What a joule costs is not among it: that is asked anew of rows that were kept.
OrderedJson energy_json(const EnergyRequest& energy) {
  return {{"meter", energy.meters.name},
          {"command", energy.meters.command},
          {"url", without_secrets(energy.meters.url)},
          {"unit", static_cast<int>(energy.meters.unit)},
          {"uncertainty", energy.uncertainty},
          {"cool_down_s", energy.cool_down_s}};
}

std::vector<std::string> recipe_texts(const EngineOptions& engine) {
  std::vector<std::string> texts;
  for (const Recipe& recipe : engine.recipes) texts.push_back(recipe_text(recipe));
  return texts;
}

}  // namespace

std::string settings_of(const BenchRequest& request) {
  const CheckpointOptions& checkpoint = request.model_options.checkpoint;
  OrderedJson json = {{"command", "bench"},
                      {"data", request.data.string()},
                      {"inputs", request.inputs ? static_cast<int>(*request.inputs) : -1},
                      {"order", static_cast<int>(request.row_order)},
                      {"skip_padding", static_cast<int>(request.skip_padding)},
                      {"protocol", protocol_json(request.protocol)},
                      {"energy", energy_json(request.energy)},
                      {"seconds", request.seconds},
                      {"rounds", request.rounds},
                      {"processes", request.processes},
                      {"width", request.width},
                      {"quality", static_cast<int>(request.quality)},
                      {"emulated", static_cast<int>(request.emulated)},
                      {"isolate", static_cast<int>(request.isolate)},
                      {"trial_seconds", request.trial_seconds},
                      {"baseline", static_cast<int>(request.baseline)},
                      {"against", request.against},
                      {"caches", static_cast<int>(request.caches)},
                      {"with", request.engine.overrides},
                      {"recipes", recipe_texts(request.engine)},
                      {"unused", static_cast<int>(checkpoint.unused)},
                      {"nonfinite", static_cast<int>(checkpoint.nonfinite)}};
  // A shard goes on with its own run: that of another one would be taken for done when this one is.
  if (request.division.part) json["shard"] = to_text(*request.division.part);
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

KeptCells::KeptCells(std::vector<Record> records) {
  for (Record& record : records) {
    if (record.outcome.status != Status::interrupted)
      records_.insert_or_assign(identity_key(record), std::move(record));
  }
}

std::vector<Record> KeptCells::cell(const std::vector<Record>& blanks) const {
  std::vector<Record> rows;
  for (const Record& blank : blanks) {
    const auto found = records_.find(identity_key(blank));
    if (found == records_.end()) return {};
    rows.push_back(found->second);
  }
  return rows;
}

}  // namespace assay
