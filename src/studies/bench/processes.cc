#include "studies/bench/processes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "studies/bench/timed_rows.h"
#include "studies/shared/child.h"

namespace assay {
namespace {

std::vector<std::string> bench_words(const CellAgain& cell, const BenchRequest& request) {
  std::vector<std::string> words = {"--batch",        std::to_string(cell.extent.batch),
                                    "--seq",          std::to_string(cell.extent.seq),
                                    "--seconds",      fmt::format("{:.6g}", std::max(cell.seconds, 0.01)),
                                    "--width",        fmt::format("{:.6g}", request.width),
                                    "--caches",       request.caches == Caches::cold ? "cold" : "warm",
                                    "--graphs",       request.engine.graphs == Graphs::on ? "on" : "off",
                                    "--quality",      "none",
                                    "--meter",        "none",
                                    "--store",        "none",
                                    "--processes",    "1",
                                    "--least-rounds", std::to_string(least_rounds_a_process)};
  if (times_data(request)) {
    words.insert(words.end(), {"--inputs", "data", "--order", name(request.row_order), "--skip-padding",
                               request.skip_padding == SkipPadding::on ? "on" : "off", "--process",
                               std::to_string(cell.process), "--protocol", name(request.protocol.protocol)});
    if (request.protocol.most_tokens)
      words.insert(words.end(), {"--tokens", std::to_string(*request.protocol.most_tokens)});
    if (!request.data.empty()) words.insert(words.end(), {"--data", request.data.string()});
  }
  if (request.rounds > 0) words.insert(words.end(), {"--rounds", std::to_string(request.rounds)});
  if (request.emulated == Emulated::included) words.emplace_back("--emulated");
  return words;
}

/// fp32 as it is stands beside what has overrides: it is added there, and asked for like the others here.
std::vector<std::string> precision_words(const std::vector<Contender>& contenders, const std::string& overrides) {
  std::string asked;
  bool has_plain = false;
  for (const Contender& contender : contenders) {
    if (contender.overrides == overrides) asked += (asked.empty() ? "" : ",") + contender.precision;
    has_plain = has_plain || contender.overrides != overrides;
  }
  std::vector<std::string> words = {"--precision", asked.empty() ? "fp32" : asked};
  if (!has_plain) words.emplace_back("--no-baseline");
  return words;
}

std::vector<Record> records_written(const CommandResult& result, const std::filesystem::path& file) {
  if (result.exit_code != 0) fail_lacking("{}", last_line(result.output));
  return document_from_json(parse_json(read_file(file), "its results"), "its results").records;
}

/// The row among `more` that stands for the same precision.
const Record* same_row(const std::vector<Record>& more, const Record& row) {
  const auto found = std::find_if(more.begin(), more.end(), [&](const Record& other) {
    return other.setting.precision == row.setting.precision && other.latency && other.latency->samples > 0;
  });
  return found == more.end() ? nullptr : &*found;
}

template <typename T>
void add_up(const std::optional<T>& more, std::optional<T>& sum) {
  if (more) sum = sum.value_or(0) + *more;
}

template <typename T>
void keep_larger(const std::optional<T>& more, std::optional<T>& largest) {
  if (more) largest = std::max(largest.value_or(*more), *more);
}

void append_latency(const Latency& more, Latency& all) {
  if (all.process_samples.empty()) all.process_samples = {static_cast<double>(all.raw_ms.size())};
  all.raw_ms.insert(all.raw_ms.end(), more.raw_ms.begin(), more.raw_ms.end());
  all.process_samples.push_back(static_cast<double>(more.raw_ms.size()));
  all.steady = all.steady.value_or(false) && more.steady.value_or(false);
  add_up(more.throttled_rounds, all.throttled_rounds);
  add_up(more.timed_runs, all.timed_runs);
  add_up(more.timed_s, all.timed_s);
  all.raw_tokens.insert(all.raw_tokens.end(), more.raw_tokens.begin(), more.raw_tokens.end());
  all.raw_positions.insert(all.raw_positions.end(), more.raw_positions.begin(), more.raw_positions.end());
}

/// Of timed data: means over the batches that both drew.
void average_work(const Record& more, Record& all) {
  if (more.latency->raw_tokens.empty()) return;
  const auto samples = static_cast<double>(all.latency->raw_ms.size());
  const double share =
      static_cast<double>(more.latency->raw_ms.size()) / (samples + static_cast<double>(more.latency->raw_ms.size()));
  for (const auto figure :
       {&Evidence::flops, &Evidence::moved_bytes, &Evidence::instruction_ms, &Evidence::matmul_ms}) {
    std::optional<double>& mean = all.evidence.*figure;
    if (mean && more.evidence.*figure) *mean += share * (*(more.evidence.*figure) - *mean);
  }
}

void append_circumstances(const Circumstances& more, Circumstances& all) {
  keep_larger(more.foreign_load, all.foreign_load);
  keep_larger(more.stolen_share, all.stolen_share);
  add_up(more.page_faults, all.page_faults);
  add_up(more.major_page_faults, all.major_page_faults);
  if (more.frequency_after_mhz) all.frequency_after_mhz = more.frequency_after_mhz;
  if (more.temperature_after_c) all.temperature_after_c = more.temperature_after_c;
  if (!all.throttle) all.throttle = more.throttle;
}

}  // namespace

int processes_for(const BenchRequest& request, const CellStart& start) {
  if (request.processes > 0) return request.processes;
  if (request.rounds > 0 || !start.fits_twice) return 1;
  constexpr double warm_up_runs = 6;  // At least, until they are steady.
  const double another_s = start.start_s + (warm_up_runs + least_rounds_a_process) * start.round_s;
  return (enough_processes - 1) * another_s <= start.budget_s ? enough_processes : 1;
}

CellAnswer bench_in_child(const CellAgain& cell, const BenchRequest& request, const MachineFacts& facts) {
  const ScratchFolder folder = make_folder("assay-process");
  const std::filesystem::path results = *folder.get() / "results.json";
  Command command{{request.trial_program.string(), "bench", "--json", results.string()}, *folder.get()};
  for (const auto& more : {precision_words(cell.contenders, request.engine.overrides), bench_words(cell, request),
                           machine_words(facts, *folder.get()), recipe_words(request.engine, *folder.get()),
                           engine_words(request.engine, request.model_options)})
    command.words.insert(command.words.end(), more.begin(), more.end());
  command.words.insert(command.words.end(), {"--", asked_name(cell.model, request.model_options)});
  try {
    return {records_written(run_held(command), results), ""};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

std::string append_process(const std::vector<Record>& more, std::span<Record* const> rows) {
  for (const Record* row : rows) {
    if (same_row(more, *row) == nullptr) return fmt::format("it has no samples of {}", row->setting.precision);
  }
  for (Record* row : rows) {
    const Record& other = *same_row(more, *row);
    average_work(other, *row);
    append_latency(*other.latency, row->latency.made());
    append_circumstances(*other.circumstances, row->circumstances.made());
  }
  return "";
}

}  // namespace assay
