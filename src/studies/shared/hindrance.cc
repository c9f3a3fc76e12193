#include "studies/shared/hindrance.h"

#include <algorithm>

#include "base/error.h"

namespace assay {

std::optional<Hindrance> hindrance_of(const std::function<void()>& work) {
  try {
    with_memory_errors(work);
    return std::nullopt;
  } catch (const OutOfMemory& e) {
    Hindrance hindrance{Status::oom, e.what()};
    if (e.available_bytes > 0) hindrance.available_bytes = static_cast<std::int64_t>(e.available_bytes);
    return hindrance;
  } catch (const Error& e) {
    if (e.code() != ExitCode::lacking) throw;
    return Hindrance{Status::unsupported, e.what()};
  }
}

bool answers_nothing(const Document& document) {
  const auto cells = std::find_if(document.tables.begin(), document.tables.end(),
                                  [](const Table& table) { return table.key == "cells"; });
  if (cells == document.tables.end() || cells->rows.empty()) return false;
  const auto status = std::find_if(cells->columns.begin(), cells->columns.end(),
                                   [](const Table::Column& column) { return column.key == "status"; });
  if (status == cells->columns.end()) return false;
  const auto place = static_cast<std::size_t>(status - cells->columns.begin());
  return std::all_of(cells->rows.begin(), cells->rows.end(), [place](const std::vector<Table::Cell>& row) {
    const auto* const word = std::get_if<std::string>(&row[place]);
    return word != nullptr && *word == name(Status::unsupported);
  });
}

void set_outcome(const Hindrance& hindrance, CellOutcome& outcome) {
  outcome.status = hindrance.status;
  outcome.reason = hindrance.reason;
}

}  // namespace assay
