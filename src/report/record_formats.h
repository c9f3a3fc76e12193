#pragma once

#include <span>
#include <string>

#include "report/csv.h"

namespace assay {

/// A text of records alone that another program reads.
struct RecordFormat {
  const char* option;  ///< That names the file.
  const char* about;   ///< What stands there, for help.
  std::string (*text)(std::span<const CsvRecord> records);
};

/// Lines of JSON, statements of SQL, OpenTelemetry, MLflow, Prometheus. A new format is a row here.
std::span<const RecordFormat> record_formats();

/// A line a record: an object of the members that the CSV has as columns.
std::string json_lines_of(std::span<const CsvRecord> records);
/// Statements for SQLite (and PostgreSQL): a table `assay_records` with the CSV's columns, BIGINT, DOUBLE PRECISION or
/// TEXT by what they may hold, then a row a record. What is absent is NULL, lists are JSON.
std::string sql_of(std::span<const CsvRecord> records);

// Records as metrics: every field of a number outside of the setting. What was measured, and where, labels them:
// the setting's fields by which measurements are the same one. What no number was measured of has no metric,
// nor has a baseline that another shard has as its own.

/// An OTLP/JSON request (ExportMetricsServiceRequest): gauges `assay.<part>.<figure>`, the unit as UCUM has it and not
/// in the name, each at the time at which its record was kept.
std::string otlp_of(std::span<const CsvRecord> records);
/// Prometheus' text format for a textfile collector: `assay_<part>_<figure>_<unit>` in base units. Of several records
/// of one measurement the one kept last.
std::string prometheus_of(std::span<const CsvRecord> records);
/// Lines of JSON, a run of MLflow each: run_name, start_time, params, metrics and tags as its REST interface takes
/// them.
std::string mlflow_of(std::span<const CsvRecord> records);

}  // namespace assay
