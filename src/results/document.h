#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "results/record.h"
#include "results/rules.h"

namespace assay {

/// Names the schema of the document; a change that breaks readers gets a new number.
constexpr const char* document_schema_name = "assay-records-1";

/// All that one run of `bench` found. `machine` is what `assay probe --json` prints.
struct Document {
  OrderedJson machine = OrderedJson::object();
  std::vector<Record> records;
  std::vector<Finding> findings;
};

/// {"schema": …, "machine": {…}, "records": […], "findings": […]}.
OrderedJson to_json(const Document& document);
OrderedJson to_json(const Finding& finding);
/// The way back: of what `--json` of some version writes, and of any object with "records". Throws a user error naming
/// `source` and what of it is missing or of another type.
Document document_from_json(const Json& json, const std::string& source);

}  // namespace assay
