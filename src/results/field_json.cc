#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/error.h"
#include "base/json.h"
#include "results/fields.h"

namespace assay {
namespace {

OrderedJson value_json(const std::string& value) {
  return value;
}
OrderedJson value_json(std::int64_t value) {
  return value;
}
OrderedJson value_json(bool value) {
  return value;
}
OrderedJson value_json(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}
template <NamedState State>
OrderedJson value_json(State state) {
  return name(state);
}
template <typename State>
OrderedJson value_json(const Detailed<State>& status) {
  return to_text(status);
}
OrderedJson value_json(const LedgerInput& input) {
  OrderedJson json = {{"name", input.name}, {"dtype", name(input.dtype)}, {"device", input.device}};
  if (!input.remark.empty()) json["remark"] = input.remark;
  return json;
}
OrderedJson value_json(const LedgerRow& row) {
  OrderedJson json = {{"path", row.path},
                      {"operation", row.operation},
                      {"role", row.role},
                      {"requested", row.requested},
                      {"kernel", row.kernel},
                      {"operand", name(row.operand)},
                      {"accumulator", name(row.accumulator)},
                      {"stored", name(row.stored)},
                      {"verdict", name(row.verdict)},
                      {"evidence", row.evidence},
                      {"device", row.device},
                      {"flops", row.flops}};
  if (row.weight_in_file.empty()) return json;
  json["weight_in_file"] = row.weight_in_file;
  json["weight_kept"] = row.weight_kept;
  return json;
}
template <typename T>
OrderedJson value_json(const std::optional<T>& value) {
  return value ? value_json(*value) : OrderedJson(nullptr);
}
template <typename T>
OrderedJson value_json(const std::vector<T>& values) {
  OrderedJson array = OrderedJson::array();
  for (const T& value : values) array.push_back(value_json(value));
  return array;
}

DType dtype_of(const Json& json) {
  const auto dtype = parse_dtype(json.get_ref<const std::string&>());
  if (!dtype) throw std::invalid_argument("unknown dtype");
  return *dtype;
}

Verdict verdict_of(const Json& json) {
  for (int i = 0; i <= static_cast<int>(Verdict::unsupported); ++i) {
    if (json == name(static_cast<Verdict>(i))) return static_cast<Verdict>(i);
  }
  throw std::invalid_argument("unknown verdict");
}

// The readers throw whatever the library or they themselves find wrong; record_from_json names the field.
void read(const Json& json, std::string& value) {
  json.get_to(value);
}
void read(const Json& json, std::int64_t& value) {
  if (!json.is_number_integer()) throw std::invalid_argument("not an integer");
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    throw std::out_of_range("beyond 64 bits with a sign");
  json.get_to(value);
}
void read(const Json& json, double& value) {
  json.get_to(value);
}
void read(const Json& json, bool& value) {
  json.get_to(value);
}
template <NamedState State>
void read(const Json& json, State& value) {
  const auto state = state_named<State>(json.get_ref<const std::string&>());
  if (!state) throw std::invalid_argument("unknown state");
  value = *state;
}
void read(const Json& json, QualityStatus& value) {
  value = quality_status(json.get_ref<const std::string&>());
}
void read(const Json& json, EnergyStatus& value) {
  value = energy_status(json.get_ref<const std::string&>());
}
void read(const Json& json, LedgerInput& input) {
  json.at("name").get_to(input.name);
  input.dtype = dtype_of(json.at("dtype"));
  json.at("device").get_to(input.device);
  input.remark = json.value("remark", "");
}
void read(const Json& json, LedgerRow& row) {
  json.at("path").get_to(row.path);
  json.at("operation").get_to(row.operation);
  json.at("role").get_to(row.role);
  json.at("requested").get_to(row.requested);
  json.at("kernel").get_to(row.kernel);
  row.operand = dtype_of(json.at("operand"));
  row.accumulator = dtype_of(json.at("accumulator"));
  row.stored = dtype_of(json.at("stored"));
  row.verdict = verdict_of(json.at("verdict"));
  json.at("evidence").get_to(row.evidence);
  json.at("device").get_to(row.device);
  json.at("flops").get_to(row.flops);
  row.weight_in_file = json.value("weight_in_file", "");
  row.weight_kept = json.value("weight_kept", "");
}
[[noreturn]] void fail_out_of_range(const std::string& source, const char* field) {
  fail_user("{}: a record's field '{}' is out of range", source, field);
}

/// What rates are per: at least one of each.
void check_counts(const Record& record, const std::string& source) {
  if (record.setting.batch < 1) fail_out_of_range(source, "batch");
  if (record.setting.seq < 1) fail_out_of_range(source, "seq");
  if (record.latency->samples < 0) fail_out_of_range(source, "samples");
}

template <typename T>
void read(const Json& json, std::optional<T>& value) {
  value.reset();
  if (!json.is_null()) read(json, value.emplace());
}
template <typename T>
void read(const Json& json, std::vector<T>& values) {
  values.clear();
  for (const Json& item : json.get_ref<const Json::array_t&>()) read(item, values.emplace_back());
}

std::string value_text(const std::string& value) {
  return value;
}
std::string value_text(std::int64_t value) {
  return std::to_string(value);
}
std::string value_text(double value) {
  return fmt::format("{}", value);
}
std::string value_text(bool value) {
  return value ? "true" : "false";
}
template <NamedState State>
std::string value_text(State state) {
  return name(state);
}
template <typename State>
std::string value_text(const Detailed<State>& status) {
  return to_text(status);
}
template <typename T>
std::string value_text(const std::optional<T>& value) {
  return value ? value_text(*value) : "";
}
std::string value_text(const std::vector<double>& values) {
  return fmt::format("{}", fmt::join(values, ";"));
}
std::string value_text(const std::vector<std::string>& values) {
  return fmt::format("{}", fmt::join(values, "; "));
}
template <typename T>
std::string value_text(const std::vector<T>& values) {
  return values.empty() ? "" : value_json(values).dump();
}

}  // namespace

OrderedJson to_json(const LedgerRow& row) {
  return value_json(row);
}

OrderedJson to_json(const LedgerInput& input) {
  return value_json(input);
}

OrderedJson to_json(const Record& record) {
  OrderedJson json = OrderedJson::object();
  for (const Field& field : record_fields()) {
    json[field.name] = std::visit([](const auto* value) { return value_json(*value); }, field.value(record));
  }
  return json;
}

Record record_from_json(const Json& json, const std::string& source) {
  static const Json blank = to_json(Record{});
  Record record;
  for (const Field& field : record_fields()) {
    try {
      const Json& value = json.at(field.name);
      if (value == blank[field.name] && !value.is_number_float()) continue;
      std::visit([&](auto* place) { read(value, *place); }, field.place(record));
    } catch (const std::out_of_range&) {
      fail_out_of_range(source, field.name);
    } catch (const std::exception&) {
      fail_user("{}: a record's field '{}' is missing or of another type", source, field.name);
    }
  }
  check_counts(record, source);
  return record;
}

std::string to_text(const Field& field, const Record& record) {
  return std::visit([](const auto* value) { return value_text(*value); }, field.value(record));
}

}  // namespace assay
