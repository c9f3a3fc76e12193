#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/shown_table.h"
#include "results/document.h"

namespace assay {

using Facts = std::vector<std::pair<std::string, std::string>>;  ///< Titles and values.

/// How one format writes each part of a document. A part comes with its caption, which may be empty; no text is escaped
/// before it comes here.
class FormatLayout {
 public:
  virtual ~FormatLayout() = default;
  virtual std::string table(const std::string& caption, const ShownTable& table) = 0;
  virtual std::string facts(const std::string& caption, const Facts& facts) = 0;
  virtual std::string list(const std::string& caption, const std::vector<std::string>& texts) = 0;
  virtual std::string paragraph(const std::string& caption, const std::string& text) = 0;
  /// Below a table.
  virtual std::string legend(const std::string& text) = 0;
  /// Charts, where the format has any.
  virtual std::string figures(const std::vector<Figure>& /*figures*/) { return ""; }
};

/// The parts of a document that `detail` shows: facts, charts, tables and sentences in their order, those for everybody
/// before details, methods.
std::string laid_out(const Document& document, FormatLayout& layout, Detail detail);

}  // namespace assay
