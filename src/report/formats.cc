#include "report/formats.h"

#include "base/json.h"
#include "report/text.h"
#include "results/fields.h"

namespace assay {
std::string json_report(const Document& document) {
  // Names of files and models may hold bytes that are not UTF-8; they are replaced, not fatal.
  return to_json(document).dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string csv_report(std::span<const Record> records) {
  std::string text;
  for (const Field& field : record_fields()) text += (text.empty() ? "" : ",") + std::string(field.name);
  text += "\r\n";
  for (const Record& record : records) {
    std::string line;
    for (const Field& field : record_fields()) {
      if (&field != record_fields().data()) line += ',';
      line += csv_field(to_text(field, record));
    }
    text += line + "\r\n";
  }
  return text;
}

}  // namespace assay
