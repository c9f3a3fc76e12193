#include "results/document.h"

#include "base/json.h"
#include "results/fields.h"

namespace assay {

OrderedJson to_json(const Finding& finding) {
  OrderedJson json = {{"rule", finding.rule},   {"kind", name(finding.kind)},
                      {"model", finding.model}, {"batch", finding.batch},
                      {"seq", finding.seq},     {"precision", nullptr},
                      {"met", nullptr},         {"severity", name(finding.severity)},
                      {"text", finding.text}};
  if (!finding.precision.empty()) json["precision"] = finding.precision;
  if (finding.met) json["met"] = *finding.met;
  return json;
}

OrderedJson to_json(const Document& document) {
  OrderedJson records = OrderedJson::array();
  for (const Record& record : document.records) records.push_back(to_json(record));
  OrderedJson findings = OrderedJson::array();
  for (const Finding& finding : document.findings) findings.push_back(to_json(finding));
  return {{"schema", document_schema_name},
          {"machine", document.machine},
          {"records", std::move(records)},
          {"findings", std::move(findings)}};
}

}  // namespace assay
