#pragma once

#include <span>
#include <string>

#include "results/document.h"

namespace assay {

/// The document of results/document.h, indented, with a newline at the end.
std::string json_report(const Document& document);

/// RFC 4180: a header line of field names, then a line for each record, every field of the field list. Absent values
/// are empty, series are joined by ';', ledgers are JSON. Lines end with CR LF.
std::string csv_report(std::span<const Record> records);

}  // namespace assay
