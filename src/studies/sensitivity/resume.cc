#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "studies/sensitivity/run.h"

namespace assay {
namespace {

constexpr std::size_t largest_file = std::size_t{256} << 20;

std::optional<Change> change_at(const Json& row, const std::string& key) {
  if (row.at(key).is_null()) return std::nullopt;
  Change change{row.at(key).get<double>()};
  const Json& low = row.at(key + "_low");
  const Json& high = row.at(key + "_high");
  if (!low.is_null() && !high.is_null()) change.interval = Interval{low.get<double>(), high.get<double>()};
  return change;
}

std::optional<UnitQuality> quality_at(const Json& row, const std::string& prefix) {
  const std::optional<Change> kl = change_at(row, prefix + "_kl");
  if (!kl) return std::nullopt;
  return UnitQuality{*kl, change_at(row, prefix + "_delta_nll"), change_at(row, prefix + "_accuracy_change"), {}};
}

void read_units(const Json& json, const std::string& model, Restored& restored) {
  for (const Json& row : json.at("units").get_ref<const Json::array_t&>()) {
    if (row.at("model").get<std::string>() != model) continue;
    const std::optional<UnitQuality> only = quality_at(row, "only");
    const std::optional<UnitQuality> all_but = quality_at(row, "but");
    const bool has_both = only && (all_but || row.at("kind").get<std::string>() == name(UnitKind::whole));
    if (!has_both) continue;
    const Restored::Key key{row.at("unit").get<std::string>(), row.at("precision").get<std::string>()};
    restored.units[key] = {*only, all_but};
  }
}

Restored read_back(const Json& json, const std::string& identity) {
  Restored restored;
  for (const Json& model : json.at("models").get_ref<const Json::array_t&>()) {
    if (model.at("identity").get<std::string>() != identity) continue;
    restored.batches = model.at("batches").get<std::int64_t>();
    read_units(json, model.at("model").get<std::string>(), restored);
  }
  return restored;
}

}  // namespace

Restored restored_from(const std::filesystem::path& file, const std::string& identity) {
  if (file.empty()) return {};
  const Json json = parse_json(read_file(file, largest_file), file.string());
  try {
    return read_back(json, identity);
  } catch (const Json::exception& e) {
    fail_user("{}: is no result of 'assay sensitivity' ({})", file.string(), e.what());
  }
}

}  // namespace assay
