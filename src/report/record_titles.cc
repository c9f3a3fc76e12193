#include "report/record_titles.h"

#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "report/mode_words.h"

namespace assay {
namespace {

std::string phase_title(const Record& record) {
  const std::string title = "phase " + *record.phase;
  if (!record.items || record.timed_runs.value_or(0) <= 0) return title;
  const std::int64_t items = std::llround(*record.items / static_cast<double>(*record.timed_runs));
  return fmt::format("{}, {} item{} a time", title, format_count(items), items == 1 ? "" : "s");
}

}  // namespace

std::string shown_precision(const Record& record) {
  return record.precision + (record.phase ? ", " + *record.phase : "") + (record.restored ? "*" : "");
}

std::string cell_title(const Record& record) {
  if (record.phase) return phase_title(record);
  if (record.mode == "program") return "a run of the program";
  return fmt::format("batch {} x {} tokens", record.batch, record.seq);
}

std::string model_title(const Record& record) {
  std::string title = record.model;
  if (record.parameters > 0) {
    title += fmt::format(" ({} parameters, {})", format_count(record.parameters),
                         record.weights == "random" ? "random weights" : "stored as " + record.stored_dtype);
  }
  title += fmt::format(", {}, {} thread{}", record.device, record.threads, record.threads == 1 ? "" : "s");
  const bool is_model = record.logits != "-";
  if (is_model) title += fmt::format(", logits {}, fusion {}", record.logits, record.fusion);
  if (is_model && record.casts != "once") title += ", casts " + record.casts;
  if (record.graphs == "off") title += ", graphs off";
  if (record.caches != "warm") title += ", caches " + record.caches;
  const std::string mode = mode_title(record);
  return mode.empty() ? title : title + ", " + mode;
}

}  // namespace assay
