#include "report/csv.h"

#include "base/json.h"
#include "report/text.h"
#include "results/fields.h"

namespace assay {

std::vector<std::string> csv_names(const std::vector<JsonMember>& before) {
  std::vector<std::string> names;
  names.reserve(before.size() + record_fields().size() + std::size(origin_texts) + 1);
  for (const auto& [key, value] : before) names.push_back(key);
  for (const Field& field : record_fields()) names.emplace_back(field.name);
  for (const auto& [key, member] : origin_texts) names.push_back(std::string("run_") + key);
  names.emplace_back("run_seal");
  return names;
}

std::vector<JsonMember> flat_members(const CsvRecord& row) {
  const OrderedJson record = to_json(row.record);
  const RunOrigin origin = row.origin.value_or(RunOrigin{});
  std::vector<JsonMember> members = row.before;
  members.reserve(members.size() + record.size() + std::size(origin_texts) + 1);
  for (const auto& [key, value] : record.items()) members.emplace_back(key, value);
  for (const auto& [key, member] : origin_texts) members.emplace_back(std::string("run_") + key, origin.*member);
  members.emplace_back("run_seal", origin.seal.seal.value_or(""));
  return members;
}

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
  std::string text = csv_line(csv_names(records.empty() ? std::vector<JsonMember>() : records.front().before));
  for (const CsvRecord& row : records) {
    const std::vector<JsonMember> members = flat_members(row);
    std::vector<std::string> fields;
    fields.reserve(members.size());
    for (const auto& [key, value] : members) fields.push_back(csv_value(value));
    text += csv_line(fields);
  }
  return text;
}

}  // namespace assay
