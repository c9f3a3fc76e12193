#include "report/csv.h"

#include "base/json.h"
#include "report/text.h"
#include "results/fields.h"

namespace assay {
namespace {

std::vector<std::string> csv_header(const std::vector<JsonMember>& before) {
  std::vector<std::string> names;
  names.reserve(before.size() + record_fields().size() + std::size(origin_texts) + 1);
  for (const auto& [key, value] : before) names.push_back(key);
  for (const Field& field : record_fields()) names.emplace_back(field.name);
  for (const auto& [key, member] : origin_texts) names.push_back(std::string("run_") + key);
  names.emplace_back("run_seal");
  return names;
}

std::vector<std::string> csv_fields(const CsvRecord& row) {
  std::vector<std::string> fields;
  for (const auto& [key, value] : row.before) fields.push_back(csv_value(value));
  const OrderedJson record = to_json(row.record);
  for (const auto& [key, value] : record.items()) fields.push_back(csv_value(value));
  const RunOrigin origin = row.origin.value_or(RunOrigin{});
  for (const auto& [key, member] : origin_texts) fields.push_back(csv_field(origin.*member));
  fields.push_back(origin.seal.seal.value_or(""));
  return fields;
}

}  // namespace

std::string csv_value(const OrderedJson& value) {
  if (value.is_null()) return "";
  return csv_field(value.is_string() ? value.get<std::string>()
                                     : value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (&field == fields.data() ? "" : ",") + field;
  return line + "\r\n";
}

std::string csv_of_records(std::span<const CsvRecord> records) {
  std::string text = csv_line(csv_header(records.empty() ? std::vector<JsonMember>() : records.front().before));
  for (const CsvRecord& row : records) text += csv_line(csv_fields(row));
  return text;
}

}  // namespace assay
