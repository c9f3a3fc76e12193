#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/json_fwd.h"
#include "results/record.h"

namespace assay {

/// A field's value in a record, or the place of one.
template <typename... T>
struct FieldTypes {
  using Value = std::variant<const T*...>;
  using Place = std::variant<T*...>;
};
using AnyField =
    FieldTypes<std::string, std::int64_t, Status, Mode, LogitsOf, Switch, CastsMade, CacheState, InputsOf, RowOrder,
               Recomputed, QualityStatus, EnergyStatus, std::optional<StoppedBy>, std::optional<Switch>,
               std::optional<Trust>, std::optional<std::string>, std::optional<std::int64_t>, std::optional<double>,
               std::optional<bool>, std::vector<double>, std::vector<std::string>, std::vector<LedgerInput>,
               std::vector<LedgerRow>>;
using FieldValue = AnyField::Value;
using FieldPlace = AnyField::Place;

/// One field of a record. This list feeds JSON, CSV, Markdown, the schema and the documents.
struct Field {
  const char* part;  ///< The member of Record that holds it: "latency".
  const char* name;
  const char* unit;  ///< Empty: a pure number or a text.
  const char* meaning;
  FieldValue (*value)(const Record&);  ///< A blank part's where the record has not that part.
  FieldPlace (*place)(Record&);        ///< Makes the part where the record has it not.
};

/// Every field, in the order in which they are written.
std::span<const Field> record_fields();
/// Whether its value is one number or text, or a few: no samples, no ledger.
bool is_short(const Field& field);
/// The one of that name. Asserts that there is one.
const Field& record_field(std::string_view name);

OrderedJson to_json(const LedgerRow& row);
OrderedJson to_json(const LedgerInput& input);
/// All fields; absent values are null. Numbers that JSON cannot hold (infinite, NaN) are null too.
OrderedJson to_json(const Record& record);
/// The way back: a record has the parts of which a field says more than a blank one's. Throws a user error naming
/// `source` and the field that is missing or of another type.
Record record_from_json(const Json& json, const std::string& source);
/// One value as text for CSV and Markdown: empty where absent, series joined by ';', ledgers as JSON.
std::string to_text(const Field& field, const Record& record);

/// The JSON Schema (draft 2020-12) of the document that `--json` writes, made from the field list.
OrderedJson document_schema();
/// What of `document` breaks `schema`, one line each with its place; empty if nothing. Knows the keywords that
/// document_schema() uses: type, enum, const, properties, required, additionalProperties, items.
std::vector<std::string> schema_violations(const Json& schema, const Json& document);

}  // namespace assay
