#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/write_file.h"
#include "statistics/statistics.h"
#include "studies/sensitivity/run.h"
#include "studies/tune/run.h"
#include "studies/tune/search.h"

namespace assay {
namespace {

constexpr std::size_t largest_state = std::size_t{256} << 20;
constexpr const char* state_schema = "assay-tune-state-2";

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

[[noreturn]] void fail_damaged(const std::filesystem::path& file, const std::string& fault) {
  fail_user("{}: is damaged: {}; without the file 'assay tune' starts anew", file.string(), fault);
}

Json state_json(const std::filesystem::path& file) {
  const std::string text = read_file(file, largest_state);
  try {
    return parse_json(text, file.string());
  } catch (const Error&) {  // Which would quote what stands there.
    fail_damaged(file, "it is no JSON, or not all of it");
  }
}

/// Empty where there is no such text.
std::string text_of(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json.at(key).is_string()) return "";
  return json.at(key).get<std::string>();
}

void check_head(const Json& json, const std::filesystem::path& file, const std::string& identity) {
  if (text_of(json, "schema") != state_schema) fail_user("{}: is no state of 'assay tune'", file.string());
  const std::string stored = text_of(json, "identity");
  if (stored.empty()) fail_damaged(file, "it lacks 'identity'");
  if (stored != identity)
    fail_user("{}: is of another model, data, limit or machine: {}", file.string(), printable(stored, 200));
  if (!json.contains("mixes") || !json.at("mixes").is_object()) fail_damaged(file, "it lacks 'mixes'");
}

}  // namespace

MeasuredLosses losses_from(const std::filesystem::path& file, const std::string& identity) {
  if (file.empty() || !is_there(file)) return {};
  const Json json = state_json(file);
  check_head(json, file, identity);
  const Json& mixes = json.at("mixes");
  MeasuredLosses losses;
  for (const auto& [recipe, loss] : mixes.items()) {
    try {
      losses.emplace(recipe, loss_from(loss));
    } catch (const Json::exception&) {
      fail_damaged(file, fmt::format("of mix {} of {} it lacks a loss", losses.size() + 1, mixes.size()));
    }
  }
  return losses;
}

std::optional<std::size_t> searched_batches_in(const std::filesystem::path& file) {
  if (file.empty() || !is_there(file)) return std::nullopt;
  const Json json = state_json(file);
  if (text_of(json, "schema") != state_schema) fail_user("{}: is no state of 'assay tune'", file.string());
  if (!json.contains("batches") || !json.at("batches").is_number_unsigned()) fail_damaged(file, "it lacks 'batches'");
  return json.at("batches").get<std::size_t>();
}

void write_losses(const std::filesystem::path& file, const TuneState& state, const MeasuredLosses& losses) {
  Json mixes = Json::object();
  for (const auto& [recipe, loss] : losses) mixes[recipe] = loss_json(loss);
  const Json json = {
      {"schema", state_schema}, {"identity", state.identity}, {"batches", state.batches}, {"mixes", std::move(mixes)}};
  write_file_atomically(file, json.dump(1) + "\n");
}

}  // namespace assay
