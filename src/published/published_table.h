#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/table_text.h"
#include "published/column.h"
#include "rules/known_devices.h"
#include "rules/known_models.h"

namespace assay {

/// A figure and where it stands in the table as printed.
struct Measured {
  PrintedFigure figure;      ///< In the base unit of its quantity where `is_absolute`.
  bool is_absolute = false;  ///< Whether its unit is known; without one only ratios mean anything.
  std::string row;
  std::string column;
  std::string header;  ///< What its quantity was read from: its column's words, or its row's in a turned table.
};

/// What a table says of one precision at one setting.
struct Observation {
  int line = 0;
  std::string label;  ///< "FP16", or the row's first cell where no precision is named.
  PrecisionWords precision;
  std::string group;  ///< Model, batch, length and what else tells settings apart; only equals compare.
  std::string model_text;
  const KnownModel* model = nullptr;
  std::string device_text;
  const KnownDevice* device = nullptr;  ///< What its words name, else the table's.
  std::string notes;
  std::map<Quantity, Measured> figures;

  const Measured* find(Quantity quantity) const;
  /// Its range in the base unit; none where it is absent or its unit is not known.
  std::optional<Range> absolute(Quantity quantity) const;
};

/// What the words around a table say of its device; 0: nothing.
struct SaidOfDevice {
  double idle_w = 0;
  double power_limit_w = 0;
  double bandwidth_gb_s = 0;
};

enum class ClaimVerdict : std::uint8_t {
  holds,
  contradicted,
  unbound,  ///< No row is what it says.
  aside     ///< Another's work, a target, a supposition: not held against the table.
};
const char* name(ClaimVerdict verdict);

/// A sentence's figure beside what the tables of its page give.
struct JudgedClaim {
  int line = 0;
  int table = 0;  ///< That contradicts it, by its number; 0: none.
  std::string text;
  std::string bound_to;  ///< "INT8 over FP32: latency".
  std::string stated;
  std::string found;  ///< The nearest figure.
  ClaimVerdict verdict = ClaimVerdict::unbound;
  std::string reason;   ///< Why it is unbound, or not held.
  bool is_far = false;  ///< Beyond what careless rounding explains.
};

/// One table as the rules see it.
struct PublishedTable {
  std::string file;
  int number = 1;  ///< In its file, from 1.
  int line = 0;
  std::string title;
  std::vector<Observation> rows;
  std::vector<std::string> columns;       ///< Recognised: "Latency (ms): latency".
  std::vector<std::string> unrecognised;  ///< Headers that mean nothing here.
  int struck_rows = 0;
  const KnownDevice* device = nullptr;
  std::string device_source;  ///< "--device", "the heading".
  const KnownModel* model = nullptr;
  std::string model_source;
  std::string context;          ///< Headings and the paragraph above, for what they say in passing.
  std::vector<TextLine> prose;  ///< The page's lines up to the next table; of the first one, those above it too.
  std::optional<double> batch;  ///< From the context, where no column says it.
  std::optional<double> seq;
  SaidOfDevice said;
  std::vector<JudgedClaim> claims;  ///< Of the page; those that hold or are unbound stand with its first table.

  /// Rows of one group, in the table's order.
  std::vector<std::vector<const Observation*>> groups() const;
};

/// What the user says of the tables.
struct ColumnMapping {
  std::string header;
  Quantity quantity = Quantity::none;
  Unit unit;
};
/// "Zeit=latency:ms"; throws a user error that lists the quantities.
ColumnMapping parse_mapping(const std::string& text);

struct TableContext {
  const KnownDevice* device = nullptr;
  const KnownModel* model = nullptr;
  std::vector<ColumnMapping> columns;
};

/// Every table of a document, its columns and precisions found out; those with no figure that means anything have no
/// rows.
std::vector<PublishedTable> read_tables(const TextDocument& document, const std::string& file,
                                        const TableContext& context);

/// "Batch size: `4`", "batch_size=8", "context length 512": the number behind the first of `words` that has one.
std::optional<double> number_behind(const std::string& text, std::initializer_list<std::string_view> words);

/// The row that others of its group are compared with: its one fp32 row; null for none or several.
const Observation* baseline_of(const std::vector<const Observation*>& group);

}  // namespace assay
