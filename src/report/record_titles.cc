#include "report/record_titles.h"

#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "results/identity.h"

namespace assay {
namespace {

std::string phase_title(const Record& record) {
  const std::string title = "phase " + *record.setting.phase;
  if (!record.latency->items || record.latency->timed_runs.value_or(0) <= 0) return title;
  const std::int64_t items = std::llround(*record.latency->items / static_cast<double>(*record.latency->timed_runs));
  return fmt::format("{}, {} item{} a time", title, format_count(items), items == 1 ? "" : "s");
}

}  // namespace

std::string shown_precision(const Record& record) {
  return record.setting.precision + (record.setting.phase ? ", " + *record.setting.phase : "") +
         (record.outcome.restored ? "*" : "");
}

std::string cell_title(const Record& record) {
  if (record.setting.phase) return phase_title(record);
  if (record.setting.mode == Mode::program) return "a run of the program";
  return fmt::format("batch {} x {} tokens", record.setting.batch, record.setting.seq);
}

std::string model_title(const Record& record) {
  std::string title = record.setting.model;
  if (record.setting.parameters > 0) {
    title +=
        fmt::format(" ({} parameters, {})", format_count(record.setting.parameters),
                    record.setting.weights == "random" ? "random weights" : "stored as " + record.setting.stored_dtype);
  }
  return title + ", " + conditions_words(record, Level::title);
}

}  // namespace assay
