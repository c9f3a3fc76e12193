#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "results/figure.h"
#include "results/finding.h"
#include "results/record.h"
#include "results/table.h"

namespace assay {

/// Names the schema of a document of records; a change that breaks readers gets a new number.
constexpr const char* document_schema_name = "assay-records-1";
/// Names the schema of "document", which says how to read and show the rest.
constexpr const char* description_schema_name = "assay-document-1";

/// The start of the program that a document comes from.
struct RunOrigin {
  std::string date = {};     ///< ISO 8601, UTC.
  std::string command = {};  ///< As a shell takes it.
  std::string commit = {};   ///< Of assay's sources; "unknown" where they were built outside of git.
  Seal seal = {};
};
/// Its texts, by their keys in JSON.
inline constexpr std::pair<const char*, std::string RunOrigin::*> origin_texts[] = {
    {"date", &RunOrigin::date}, {"command", &RunOrigin::command}, {"commit", &RunOrigin::commit}};

OrderedJson to_json(const RunOrigin& origin);

/// Sentences that say what figures say.
struct Sentences {
  std::string key = "notes";  ///< Where they stand in JSON.
  std::vector<std::string> texts = {};
  std::string title = {};
  Detail detail = Detail::brief;
};

/// All that one run of a study found, as data: `report/` makes text, tables and charts of it. What a study does not
/// have is empty.
struct Document {
  /// What was asked.
  struct Subject {
    std::string schema = document_schema_name;   ///< Of the JSON as a whole.
    std::string title = {};                      ///< In words, machine included.
    Table facts = {.form = Table::Form::facts};  ///< What was asked for; at the top of the JSON.
  };

  Subject subject = {};
  std::optional<RunOrigin> origin = {};
  OrderedJson machine = OrderedJson::object();  ///< What `assay probe --json` prints.
  std::vector<Record> records = {};
  std::vector<Finding> findings = {};  ///< Of the rules over the records.
  std::vector<Table> tables = {};
  std::vector<Figure> figures = {};
  std::vector<Sentences> sentences = {};
  Table methods = {.key = "methods", .caption = "How it was measured", .form = Table::Form::facts};

  /// Whether it says more than its records do.
  bool tells() const { return !tables.empty() || !figures.empty() || !sentences.empty(); }
};

/// What stands where: the facts of the subject at the top, "machine", every table and all sentences under their keys,
/// "records", "findings", "methods"; and in "document" what reading it back needs: titles, columns, captions, figures.
/// Numbers that JSON cannot hold (infinite, NaN) are null.
OrderedJson to_json(const Document& document);
/// The way back: of what `--json` of some version writes, and of any object with "records". Throws a user error naming
/// `source` and what of it is missing or of another type.
Document document_from_json(const Json& json, const std::string& source);

}  // namespace assay
