#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/write_file.h"
#include "studies/tune/run.h"

namespace assay {
namespace {

constexpr std::size_t largest_state = std::size_t{256} << 20;
constexpr const char* state_schema = "assay-tune-state-1";

Json change_json(const std::optional<Change>& change) {
  if (!change) return nullptr;
  Json json = {{"value", change->value}};
  if (change->interval) json["interval"] = {change->interval->low, change->interval->high};
  return json;
}

std::optional<Change> change_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  Change change{json.at("value").get<double>()};
  if (json.contains("interval"))
    change.interval = Interval{json.at("interval").at(0).get<double>(), json.at("interval").at(1).get<double>()};
  return change;
}

Json loss_json(const UnitQuality& quality) {
  return {{"kl", change_json(quality.kl)},
          {"delta_nll", change_json(quality.delta_nll)},
          {"accuracy_change", change_json(quality.accuracy_change)},
          {"failure", quality.failure}};
}

UnitQuality loss_from(const Json& json) {
  return {change_from(json.at("kl")).value_or(Change{}), change_from(json.at("delta_nll")),
          change_from(json.at("accuracy_change")), json.at("failure").get<std::string>()};
}

}  // namespace

MeasuredLosses losses_from(const std::filesystem::path& file, const std::string& identity) {
  if (file.empty() || !is_there(file)) return {};
  const Json json = parse_json(read_file(file, largest_state), file.string());
  MeasuredLosses losses;
  try {
    if (json.at("schema").get<std::string>() != state_schema)
      fail_user("{}: is no state of 'assay tune'", file.string());
    if (json.at("identity").get<std::string>() != identity)
      fail_user("{}: is of another model, data, limit or machine: {}", file.string(),
                json.at("identity").get<std::string>());
    for (const auto& [recipe, loss] : json.at("mixes").items()) losses[recipe] = loss_from(loss);
  } catch (const Json::exception& e) {
    fail_user("{}: is no state of 'assay tune' ({})", file.string(), e.what());
  }
  return losses;
}

void write_losses(const std::filesystem::path& file, const std::string& identity, const MeasuredLosses& losses) {
  Json mixes = Json::object();
  for (const auto& [recipe, loss] : losses) mixes[recipe] = loss_json(loss);
  const Json json = {{"schema", state_schema}, {"identity", identity}, {"mixes", std::move(mixes)}};
  write_file_atomically(file, json.dump(1) + "\n");
}

}  // namespace assay
