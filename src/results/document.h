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

}  // namespace assay
