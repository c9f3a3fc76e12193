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

/// "batch 4, 128 tokens behind 512 at depth 2048"
std::string generation_title(const Setting& setting) {
  const std::string tokens =
      setting.mode == Mode::decode
          ? fmt::format("{} tokens behind {}", setting.new_tokens.value_or(0), setting.prompt_tokens.value_or(0))
          : fmt::format("{} tokens", setting.prompt_tokens.value_or(0));
  return fmt::format("batch {}, {} at depth {}", setting.batch, tokens, setting.depth.value_or(0));
}

}  // namespace

std::string shown_precision(const Record& record) {
  return row_name(record.setting) + (record.setting.phase ? ", " + *record.setting.phase : "") +
         (record.outcome.restored ? "*" : "");
}

std::string cell_title(const Record& record) {
  if (record.setting.phase) return phase_title(record);
  if (record.setting.mode == Mode::program) return "a run of the program";
  if (is_of_generation(record.setting.mode)) return generation_title(record.setting);
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
