#include <algorithm>
#include <string>

#include "base/error.h"
#include "hardware/machine.h"
#include "studies/memory/run.h"
#include "studies/shared/device_facts.h"
#include "studies/study/request.h"

namespace assay {
namespace {

/// A list of a kind's grid, and how long it is where the cell does not say.
struct GridList {
  const char* key;
  double usual;
};

/// What a kind runs: each row of its grid for its budget.
struct KindOfCell {
  const char* kind;
  std::vector<GridList> lists;
  double usual_s = 0;  ///< Budget of a row.
};

double listed_precisions() {
  const auto& rows = precision_table();
  return static_cast<double>(
      std::count_if(rows.begin(), rows.end(), [](const Precision& row) { return is_listed_on(row, "cpu"); }));
}

const std::vector<KindOfCell>& kinds_of_cells() {
  static const std::vector<KindOfCell> kinds = {
      {"bench", {{"model", 1}, {"precision", listed_precisions()}, {"batch", 1}, {"seq", 1}}, 5},
      {"train", {{"model", 1}, {"precision", 1}, {"fusion", 1}, {"batch", 1}, {"seq", 1}, {"warmup", 1}}, 120},
      {"profile", {{"model", 1}, {"precision", 1}, {"seq", 1}}, 5},
      {"sensitivity", {{"model", 1}}, 120},
      {"attention", {{"precision", 1}, {"head-dim", 4}, {"seq", 5}, {"method", 2}}, 5},
      {"autocast", {{"precision", 2}}, 1}};
  return kinds;
}

const StudyOption* find_option(std::span<const StudyOption> options, const std::string& key) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const auto& one) { return one.key == key; });
  return found == options.end() ? nullptr : &*found;
}

std::vector<std::string> given_words(std::span<const StudyOption> options, const std::string& key) {
  const StudyOption* option = find_option(options, key);
  return option == nullptr ? std::vector<std::string>{} : option->words;
}

double budgets_of(const std::string& kind, std::span<const StudyOption> options) {
  for (const KindOfCell& row : kinds_of_cells()) {
    if (kind != row.kind) continue;
    const std::vector<std::string> budget = given_words(options, "seconds");
    double seconds = budget.empty() ? row.usual_s : std::stod(budget.front());
    for (const GridList& list : row.lists) {
      const StudyOption* given = find_option(options, list.key);
      seconds *= given == nullptr ? list.usual : static_cast<double>(given->words.size());
    }
    return find_option(options, "against") == nullptr ? seconds : 2 * seconds;
  }
  return 1;
}

std::int64_t largest_given(std::span<const StudyOption> options, const std::string& key, std::int64_t fallback) {
  const std::vector<std::string> words = given_words(options, key);
  if (words.empty()) return fallback;
  std::int64_t largest = 1;
  for (const std::string& word : words) largest = std::max<std::int64_t>(largest, std::stoll(word));
  return largest;
}

bool cell_trains(const std::string& kind, std::span<const StudyOption> options) {
  const std::vector<std::string> mode = given_words(options, "mode");
  return kind == "train" || (!mode.empty() && mode.front() == "train");
}

RunMode mode_of_cell(const std::string& kind, std::span<const StudyOption> options) {
  if (cell_trains(kind, options)) return RunMode::train;
  return find_option(options, "generate") == nullptr ? RunMode::infer : RunMode::generate;
}

/// Tokens of the longest row that it runs, or keeps.
std::int64_t longest_generated_row(RunMode mode, std::span<const StudyOption> options) {
  if (mode != RunMode::generate) return largest_given(options, "seq", 128);
  return largest_given(options, "depth", 0) + largest_given(options, "prompt-tokens", 512) +
         largest_given(options, "new", 128);
}

/// Of all its models and precisions at its largest shape.
std::int64_t predicted_peak(const CellCommand& cell, std::span<const StudyOption> options, const MachineFacts& facts) {
  MemoryRequest request;
  request.mode = mode_of_cell(cell.cell->kind, options);
  request.step.recomputes = {Recompute::none};
  request.precisions = given_words(options, "precision");
  if (request.precisions.empty() && cell.cell->kind != "bench") request.precisions = {"fp32"};
  request.batch = largest_given(options, "batch", cell.cell->kind == "train" ? 4 : 1);
  request.seqs = {longest_generated_row(request.mode, options)};
  std::int64_t peak = 0;
  for (const std::string& model : cell.models) {
    request.model = model;
    for (const MemoryCell& row : memory_study(request, facts).cells) peak = std::max(peak, row.peak_bytes());
  }
  return peak;
}

}  // namespace

CellCost expected_cost(const CellCommand& cell, std::span<const StudyOption> options) {
  CellCost cost{.most_s = budgets_of(cell.cell->kind, options)};
  const std::vector<std::string> device = given_words(options, "device");
  if (!device.empty() && device.front() != "cpu") {
    cost.fault = "predicted for cpu alone";
    return cost;
  }
  try {
    cost.peak_bytes = predicted_peak(cell, options, read_machine_facts());
  } catch (const Error& error) {
    cost.fault = error.what();
  }
  return cost;
}

}  // namespace assay
