#include "studies/memory/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "studies/shared/cached.h"
#include "studies/shared/resident.h"

namespace assay {
namespace {

/// Adds the rows that the mode can have.
void add_possible_rows(const MemoryRequest& request, std::vector<std::string>& names) {
  for (const Precision& row : precision_table()) {
    const bool is_possible = request.mode != RunMode::train || row.gradients;
    if (is_possible && is_listed_on(row, request.engine.device)) names.emplace_back(row.name);
  }
}

/// "all" and nothing mean those that are possible.
std::vector<std::string> precisions_of(const MemoryRequest& request) {
  std::vector<std::string> names;
  if (request.precisions.empty()) add_possible_rows(request, names);
  for (const std::string& asked : request.precisions) {
    if (asked == "all")
      add_possible_rows(request, names);
    else
      names.push_back(asked);
  }
  return names;
}

std::vector<Recompute> recomputes_of(const MemoryRequest& request) {
  if (request.mode != RunMode::train) return {Recompute::none};
  if (!request.recomputes.empty()) return request.recomputes;
  return {Recompute::none, Recompute::attention, Recompute::block};
}

void compare_with_free(MemoryCell& cell, const MachineFacts& facts) {
  if (facts.available_bytes <= 0 || cell.peak_bytes() <= facts.available_bytes) return;
  cell.fits = Fits::no;
  cell.reason = fmt::format("needs {}, {} are available", format_bytes(static_cast<double>(cell.peak_bytes())),
                            format_bytes(static_cast<double>(facts.available_bytes)));
}

/// What generates keeps keys and values: what a recipe says of them counts.
EngineOptions engine_of(const MemoryCell& cell, const MemoryRequest& request) {
  return request.mode == RunMode::generate ? engine_with_cache(request.engine, cell.extent.seq) : request.engine;
}

/// What a device or a precision lacks is a row; what the user mistook is not.
MemoryCell predict_or_say(const Model& model, const MemoryCell& blank, const MemoryRequest& request,
                          const MachineFacts& facts) {
  try {
    check_recipe(model, blank.precision, request.engine);
    const PrecisionChoice precision = precision_choice(blank.precision, engine_of(blank, request), facts);
    if (!runs_on(precision.row, request.engine.device))
      fail_lacking("{}: exists on CUDA devices only ({})", precision.row.name, precision.row.note);
    MemoryCell cell = predict_memory(model, precision, blank, request, facts);
    compare_with_free(cell, facts);
    return cell;
  } catch (const Error& e) {
    if (e.code() != ExitCode::lacking) throw;
    MemoryCell cell = blank;
    cell.fits = Fits::unsupported;
    cell.reason = e.what();
    return cell;
  }
}

ResidentRequest resident_request(const MemoryCell& cell, const MemoryRequest& request) {
  ResidentRequest resident;
  resident.model = request.model;
  resident.precision = cell.precision;
  resident.extent = cell.extent;
  resident.mode = request.mode;
  resident.recompute = cell.recompute;
  resident.storage = cell.storage;
  resident.engine = request.engine;
  resident.model_options = request.model_options;
  return resident;
}

void measure(MemoryCell& cell, const MemoryRequest& request, const MachineFacts& facts) {
  if (cell.fits != Fits::yes) return;
  const ResidentAnswer answer = resident_in_child(resident_request(cell, request), facts);
  cell.fault = answer.fault;
  if (answer.bytes) cell.measured = MeasuredPeak{*answer.bytes, answer.program_bytes};
}

std::vector<MemoryCell> blank_cells(const MemoryRequest& request) {
  std::vector<MemoryCell> cells;
  for (const std::int64_t seq : request.seqs) {
    for (const std::string& precision : precisions_of(request)) {
      for (const Recompute recompute : recomputes_of(request)) {
        for (const TrainingStorage& storage : request.storages) {
          MemoryCell cell;
          cell.precision = precision_name(precision, request.engine);
          cell.extent = {request.batch, seq};
          cell.recompute = recompute;
          cell.storage = storage;
          cells.push_back(std::move(cell));
        }
      }
    }
  }
  return cells;
}

}  // namespace

const char* name(Held held) {
  constexpr std::array<const char*, held_kinds> names = {"weights",     "packed copies",   "gradients",
                                                         "optimizer",   "keys and values", "saved for backward",
                                                         "temporaries", "workspace",       "gaps"};
  return names[static_cast<std::size_t>(held)];
}

double MeasuredPeak::agreement(std::int64_t predicted_bytes) const {
  return static_cast<double>(predicted_bytes) / static_cast<double>(resident_bytes - program_bytes);
}

std::string MemoryCell::row() const {
  const std::string words = storage.words();
  return words.empty() ? precision : fmt::format("{} ({})", precision, words);
}

std::int64_t MemoryCell::floor_bytes() const {
  std::int64_t total = saved_bytes;
  for (const Held kind : {Held::weights, Held::gradients, Held::optimizer, Held::cache})
    total += held[static_cast<std::size_t>(kind)];
  return total;
}

std::int64_t MemoryCell::persistent_bytes() const {
  std::int64_t total = 0;
  for (const Held kind : {Held::weights, Held::packed, Held::gradients, Held::optimizer, Held::cache})
    total += held[static_cast<std::size_t>(kind)];
  return total;
}

MemoryStudy memory_study(const MemoryRequest& request, const MachineFacts& facts, const MemoryProgress& progress) {
  find_backend(request.engine.device);
  const std::vector<MemoryCell> blanks = blank_cells(request);
  const Model model = open_model(request.model, request.model_options);
  for (const std::int64_t seq : request.seqs) check_extent(model, {request.batch, seq});
  if (request.mode == RunMode::generate) check_generates(model);
  const std::int64_t parameters = model.weights.parameters();
  MemoryStudy study{
      model.name, parameters, parameters - inactive_parameters(model.config), request.mode, facts.available_bytes, {}};
  study.cells.reserve(blanks.size());
  for (MemoryCell blank : blanks) {
    blank.model = study.model;
    blank.parameters = study.parameters;
    study.cells.push_back(predict_or_say(model, blank, request, facts));
  }
  if (request.measure == Measure::no) return study;
  for (MemoryCell& cell : study.cells) {
    if (progress)
      progress(fmt::format("{} {} {} x {}: run once", cell.model, cell.precision, cell.extent.batch, cell.extent.seq));
    measure(cell, request, facts);
  }
  return study;
}

}  // namespace assay
