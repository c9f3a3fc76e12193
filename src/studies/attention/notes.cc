#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "studies/attention/run.h"

namespace assay {
namespace {

using Points = std::vector<std::pair<double, double>>;
using Cells = std::vector<const AttentionCell*>;

/// Cells of one method in one precision with one head_dim, by rising T.
struct Line {
  AttentionMethod method;
  std::string precision;
  std::int64_t head_dim;
  Cells cells;
};

/// The lines of one method in one precision.
using Lines = std::vector<Line>;

std::vector<Lines> lines_of(const AttentionResult& result) {
  std::vector<Lines> all_lines;
  for (const AttentionCell& cell : result.cells) {
    const auto lines_of_one = std::find_if(all_lines.begin(), all_lines.end(), [&](const Lines& one) {
      return one[0].method == cell.shape.method && one[0].precision == cell.precision;
    });
    Line line = {cell.shape.method, cell.precision, cell.shape.head_dim, {&cell}};
    if (lines_of_one == all_lines.end()) {
      all_lines.push_back({line});
    } else if (lines_of_one->back().head_dim == cell.shape.head_dim) {
      lines_of_one->back().cells.push_back(&cell);
    } else {
      lines_of_one->push_back(line);
    }
  }
  return all_lines;
}

template <typename Function>
Points points(const Line& line, Function&& y) {
  Points all;
  for (const AttentionCell* cell : line.cells) {
    const double value = y(*cell);
    if (value > 0) all.emplace_back(static_cast<double>(cell->extent.seq), value);
  }
  return all;
}

/// "T^1.98", or nothing where there is one T alone.
std::string power_text(const Points& all) {
  const auto exponent = fitted_exponent(all);
  return exponent ? fmt::format("T^{:.2f}", *exponent) : "-";
}

std::string note_on_growth(const Lines& lines_of_one) {
  std::string powers;
  for (const Line& line : lines_of_one) {
    const Points saved = points(line, [](const AttentionCell& c) { return static_cast<double>(c.memory.saved_bytes); });
    if (!fitted_exponent(saved)) return "";
    powers +=
        fmt::format("{}{} at head_dim {} ({} at T = {}, {} at T = {})", powers.empty() ? "" : ", ", power_text(saved),
                    line.head_dim, format_bytes(line.cells.front()->memory.saved_bytes), line.cells.front()->extent.seq,
                    format_bytes(line.cells.back()->memory.saved_bytes), line.cells.back()->extent.seq);
  }
  return fmt::format("Saved for the backward by {} attention in {} grows as {}.", name(lines_of_one[0].method),
                     lines_of_one[0].precision, powers);
}

/// The naive cell with the longest T and the fused one of the same shape and precision.
std::string note_on_removal(const AttentionResult& result) {
  const AttentionCell* naive = nullptr;
  const AttentionCell* fused = nullptr;
  for (std::size_t i = 0; i + 1 < result.cells.size(); i += 2) {
    if (naive != nullptr && result.cells[i].extent.seq <= naive->extent.seq) continue;
    naive = &result.cells[i];
    fused = &result.cells[i + 1];
  }
  if (naive == nullptr) return "";
  const auto t = static_cast<double>(naive->extent.seq);
  return fmt::format(
      "What removes it: naive attention keeps the T x T probabilities (for T = {}: {} of {} saved); "
      "fused attention keeps q, k, v alone ({}) and computes the probabilities again in the backward, "
      "a block of queries at a time, for {:.2f} times the backward's FLOPs. Its peak is {} where the naive one is {}.",
      static_cast<std::int64_t>(t), format_bytes(naive->memory.saved_bytes - fused->memory.saved_bytes),
      format_bytes(naive->memory.saved_bytes), format_bytes(fused->memory.saved_bytes),
      fused->backward_flops / naive->backward_flops, format_bytes(fused->memory.peak_bytes),
      format_bytes(naive->memory.peak_bytes));
}

double step_ms(const AttentionCell& cell) {
  return cell.forward ? cell.forward->median + cell.backward->median : 0;
}

double step_flops(const AttentionCell& cell) {
  return cell.forward ? cell.forward_flops + cell.backward_flops : 0;
}

std::string note_on_time(const Lines& lines_of_one) {
  std::string parts;
  for (const Line& line : lines_of_one) {
    const Points times = points(line, step_ms);
    const Points work = points(line, step_flops);
    if (!fitted_exponent(times)) continue;
    const auto rate = [&](std::size_t i) { return format_significant(work[i].second / times[i].second * 1e-6); };
    parts +=
        fmt::format("{} at head_dim {} time grows as {} and FLOPs as {}, {} GFLOP/s at T = {:g} and {} at T = {:g}",
                    parts.empty() ? "" : ";", line.head_dim, power_text(times), power_text(work), rate(0),
                    times.front().first, rate(times.size() - 1), times.back().first);
  }
  if (parts.empty()) return "";
  return fmt::format("Time against FLOPs, forward and backward together, {} in {}:{}.", name(lines_of_one[0].method),
                     lines_of_one[0].precision, parts);
}

std::string note_on_methods(const AttentionResult& result) {
  std::string least;
  std::string most;
  double low = HUGE_VAL;
  double high = 0;
  for (std::size_t i = 0; i + 1 < result.cells.size(); i += 2) {
    const AttentionCell& naive = result.cells[i];
    const AttentionCell& fused = result.cells[i + 1];
    if (!naive.forward || !fused.forward) continue;
    const double ratio = step_ms(naive) / step_ms(fused);
    const std::string where =
        fmt::format("{}, head_dim {}, T = {}", naive.precision, naive.shape.head_dim, naive.extent.seq);
    if (ratio < low) least = where;
    if (ratio > high) most = where;
    low = std::min(low, ratio);
    high = std::max(high, ratio);
  }
  if (high == 0) return "";
  return fmt::format("Naive over fused, forward and backward together: {:.2f} ({}) to {:.2f} ({}).", low, least, high,
                     most);
}

std::string note_on_refused(const AttentionResult& result, Status status, const char* meaning) {
  const auto count = std::count_if(result.cells.begin(), result.cells.end(),
                                   [&](const AttentionCell& cell) { return cell.status == status; });
  return count == 0 ? "" : fmt::format("{} of {} cells are {}: {}.", count, result.cells.size(), name(status), meaning);
}

}  // namespace

std::optional<double> fitted_exponent(const std::vector<std::pair<double, double>>& points) {
  double x = 0;
  double y = 0;
  for (const auto& [at, value] : points) {
    x += std::log(at) / static_cast<double>(points.size());
    y += std::log(value) / static_cast<double>(points.size());
  }
  double product = 0;
  double square = 0;
  for (const auto& [at, value] : points) {
    product += (std::log(at) - x) * (std::log(value) - y);
    square += (std::log(at) - x) * (std::log(at) - x);
  }
  if (square < 1e-12) return std::nullopt;
  return product / square;
}

std::vector<std::string> attention_notes(const AttentionResult& result) {
  std::vector<std::string> notes;
  const std::vector<Lines> all_lines = lines_of(result);
  notes.reserve(all_lines.size() + 3);
  for (const Lines& lines_of_one : all_lines) notes.push_back(note_on_growth(lines_of_one));
  notes.push_back(note_on_removal(result));
  for (const Lines& lines_of_one : all_lines) notes.push_back(note_on_time(lines_of_one));
  notes.push_back(note_on_methods(result));
  notes.push_back(note_on_refused(result, Status::oom, "predicted from the plan, nothing was allocated"));
  notes.push_back(note_on_refused(result, Status::too_slow,
                                  "predicted from the largest smaller cell that ran; --seconds sets the budget"));
  std::erase(notes, "");
  return notes;
}

}  // namespace assay
