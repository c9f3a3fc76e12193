#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/units.h"
#include "studies/memory.h"

namespace assay {
namespace {

std::string bytes_or_dash(std::int64_t bytes) {
  return bytes == 0 ? "-" : format_bytes(static_cast<double>(bytes));
}

std::string shape_text(const MemoryCell& cell) {
  return fmt::format("{} x {}", cell.extent.batch, cell.extent.seq);
}

std::string row_text(const MemoryCell& cell) {
  const std::string start = fmt::format("{:<13} {:<10} {:<9} ", cell.precision, shape_text(cell), name(cell.recompute));
  if (cell.fits == Fits::unsupported) return start + "unsupported: " + cell.reason.substr(0, 70) + "\n";
  std::string row = start;
  for (const std::int64_t bytes : cell.held) row += fmt::format("{:>9}", bytes_or_dash(bytes));
  return row + fmt::format("{:>9}  {}\n", bytes_or_dash(cell.peak_bytes()), cell.fits == Fits::yes ? "fits" : "no");
}

std::string table_text(const MemoryStudy& study) {
  std::string text = fmt::format("{:<13} {:<10} {:<9} ", "precision", "shape", "recompute");
  for (const char* head : {"weights", "packed", "grads", "optim", "saved", "temps", "wspace", "gaps", "peak"})
    text += fmt::format("{:>9}", head);
  text +=
      "  "
      "fits\n";
  for (const MemoryCell& cell : study.cells) text += row_text(cell);
  for (const MemoryCell& cell : study.cells) {
    if (cell.fits == Fits::no)
      text += fmt::format("{} {} {}: {}\n", cell.precision, shape_text(cell), name(cell.recompute), cell.reason);
  }
  return text;
}

/// The most of each of at most `columns` slices of the steps, as one of eight heights.
std::string bars(const std::vector<std::int64_t>& values, std::int64_t most, std::size_t columns) {
  static constexpr const char* heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  const std::size_t count = std::min(columns, values.size());
  for (std::size_t column = 0; column < count; ++column) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(column * values.size() / count);
    const auto end = values.begin() + static_cast<std::ptrdiff_t>((column + 1) * values.size() / count);
    const double share =
        static_cast<double>(*std::max_element(begin, end)) / static_cast<double>(std::max<std::int64_t>(most, 1));
    text += heights[std::min<std::size_t>(static_cast<std::size_t>(share * 8), 7)];
  }
  return text;
}

std::string timeline_text(const MemoryCell& cell) {
  std::string text;
  std::int64_t most = 0;
  for (const MemoryMoment& moment : cell.timeline) most = std::max(most, moment.live_bytes);
  std::string phases;
  for (const char* phase : {"forward", "backward", "optimizer"}) {
    std::vector<std::int64_t> live;
    for (const MemoryMoment& moment : cell.timeline) {
      if (moment.phase == phase) live.push_back(moment.live_bytes);
    }
    if (live.empty()) continue;
    text += fmt::format("  {:<10}{} {}\n", phase, bars(live, most, 90),
                        bytes_or_dash(*std::max_element(live.begin(), live.end())));
  }
  const auto peak = std::max_element(cell.timeline.begin(), cell.timeline.end(),
                                     [](const auto& a, const auto& b) { return a.live_bytes < b.live_bytes; });
  if (peak == cell.timeline.end()) return text;
  return text + fmt::format("  most at {} {} ({}): {} of buffers beside {} that stay\n", peak->phase, peak->operation,
                            peak->path, bytes_or_dash(peak->live_bytes), bytes_or_dash(cell.persistent_bytes()));
}

std::string list_text(const char* title, const std::vector<NamedBytes>& list) {
  std::string text = fmt::format("{}:\n", title);
  constexpr std::size_t most = 16;
  for (std::size_t i = 0; i < std::min(most, list.size()); ++i) {
    text += fmt::format("  {:<28} {:>10} in {} values\n", list[i].name, bytes_or_dash(list[i].bytes), list[i].values);
  }
  if (list.size() > most) text += fmt::format("  ... and {} more\n", list.size() - most);
  return text;
}

std::string details_text(const MemoryCell& cell) {
  std::string text = fmt::format("\n## {}, {}, recompute {}\n", cell.precision, shape_text(cell), name(cell.recompute));
  text += "live bytes of the arena, step by step:\n" + timeline_text(cell);
  text += fmt::format("largest single allocation: {}, {} ({}, {})\n", bytes_or_dash(cell.largest.bytes),
                      cell.largest.name, cell.largest.operation, cell.largest.path);
  if (cell.loading_bytes > cell.total_bytes)
    text += fmt::format("the peak is that of loading and packing, {}; running needs {}\n",
                        bytes_or_dash(cell.loading_bytes), bytes_or_dash(cell.total_bytes));
  if (cell.saved_bytes == 0) return text;
  text += fmt::format("saved for backward when the forward ends: {}\n", bytes_or_dash(cell.saved_bytes));
  return text + list_text("by block", cell.saved_by_block) +
         list_text("by the operation that made it", cell.saved_by_operation);
}

std::string measured_text(const MemoryStudy& study) {
  std::string text;
  for (const MemoryCell& cell : study.cells) {
    if (cell.measured) {
      text += fmt::format(
          "{:<13} {:<10} {:<9} predicted {:>9}  measured {:>9} + {:>8} program  predicted/measured {:.3f}\n",
          cell.precision, shape_text(cell), name(cell.recompute), bytes_or_dash(cell.peak_bytes()),
          bytes_or_dash(cell.measured->resident_bytes - cell.measured->program_bytes),
          bytes_or_dash(cell.measured->program_bytes), cell.measured->agreement(cell.peak_bytes()));
    } else if (!cell.fault.empty()) {
      text += fmt::format("{:<13} {:<10} not measured: {}\n", cell.precision, shape_text(cell), cell.fault);
    }
  }
  return text.empty() ? text : "\n## Measured: peak resident set of a process of its own\n" + text;
}

/// Cells beside the same one with nothing computed again.
std::string recompute_text(const MemoryStudy& study) {
  std::string text;
  for (const MemoryCell& cell : study.cells) {
    if (cell.recompute == Recompute::none || cell.fits == Fits::unsupported) continue;
    const auto plain = std::find_if(study.cells.begin(), study.cells.end(), [&](const MemoryCell& other) {
      return other.recompute == Recompute::none && other.precision == cell.precision &&
             other.extent.seq == cell.extent.seq;
    });
    if (plain == study.cells.end() || plain->saved_bytes == 0) continue;
    text += fmt::format("{} {}: recomputing {} saves {} of {} saved for backward; peak {} instead of {}\n",
                        cell.precision, shape_text(cell), name(cell.recompute),
                        bytes_or_dash(plain->saved_bytes - cell.saved_bytes), bytes_or_dash(plain->saved_bytes),
                        bytes_or_dash(cell.peak_bytes()), bytes_or_dash(plain->peak_bytes()));
  }
  return text.empty() ? text : "\n" + text;
}

/// The peaks of training over what they cannot go below.
std::string floor_text(const MemoryStudy& study) {
  std::string text;
  for (const MemoryCell& cell : study.cells) {
    if (study.mode == RunMode::infer || cell.fits == Fits::unsupported) continue;
    text += fmt::format("{} {} {}: peak {:.3f}x the floor, {} (weights, gradients, optimizer, saved for backward)\n",
                        cell.precision, shape_text(cell), name(cell.recompute),
                        static_cast<double>(cell.peak_bytes()) / static_cast<double>(cell.floor_bytes()),
                        bytes_or_dash(cell.floor_bytes()));
  }
  return text.empty() ? text : "\n" + text;
}

/// The longest sequence in the first precision as it is, and with whatever is computed again.
bool is_detailed(const MemoryStudy& study, const MemoryCell& cell) {
  const auto& first = study.cells.front();
  const bool longest = std::all_of(study.cells.begin(), study.cells.end(),
                                   [&](const MemoryCell& other) { return other.extent.seq <= cell.extent.seq; });
  return cell.fits != Fits::unsupported && longest && cell.precision == first.precision &&
         cell.recompute == first.recompute;
}

OrderedJson named_json(const std::vector<NamedBytes>& list) {
  OrderedJson json = OrderedJson::array();
  for (const NamedBytes& entry : list)
    json.push_back({{"name", entry.name}, {"bytes", entry.bytes}, {"values", entry.values}});
  return json;
}

OrderedJson timeline_json(const MemoryCell& cell) {
  OrderedJson json = OrderedJson::array();
  for (const MemoryMoment& moment : cell.timeline) {
    json.push_back({{"phase", moment.phase},
                    {"operation", moment.operation},
                    {"path", moment.path},
                    {"live_bytes", moment.live_bytes},
                    {"saved_bytes", moment.saved_bytes},
                    {"workspace_bytes", moment.workspace_bytes}});
  }
  return json;
}

OrderedJson measured_json(const MemoryCell& cell) {
  if (!cell.measured) return cell.fault.empty() ? OrderedJson() : OrderedJson{{"fault", cell.fault}};
  return {{"resident_bytes", cell.measured->resident_bytes},
          {"program_bytes", cell.measured->program_bytes},
          {"predicted_over_measured", cell.measured->agreement(cell.peak_bytes())}};
}

OrderedJson cell_json(const MemoryCell& cell) {
  constexpr const char* words[] = {"fits", "oom", "unsupported"};
  OrderedJson json = {{"precision", cell.precision},
                      {"batch", cell.extent.batch},
                      {"seq", cell.extent.seq},
                      {"recompute", name(cell.recompute)},
                      {"status", words[static_cast<std::size_t>(cell.fits)]},
                      {"reason", cell.reason}};
  if (cell.fits == Fits::unsupported) return json;
  OrderedJson held;
  for (std::size_t kind = 0; kind < held_kinds; ++kind) held[name(static_cast<Held>(kind))] = cell.held[kind];
  json["held_bytes"] = held;
  json["total_bytes"] = cell.total_bytes;
  json["loading_bytes"] = cell.loading_bytes;
  json["peak_bytes"] = cell.peak_bytes();
  json["arena_bytes"] = cell.arena_bytes;
  json["floor_bytes"] = cell.floor_bytes();
  json["saved_for_backward_bytes"] = cell.saved_bytes;
  json["saved_by_block"] = named_json(cell.saved_by_block);
  json["saved_by_operation"] = named_json(cell.saved_by_operation);
  json["largest"] = {{"name", cell.largest.name},
                     {"operation", cell.largest.operation},
                     {"path", cell.largest.path},
                     {"bytes", cell.largest.bytes}};
  json["measured"] = measured_json(cell);
  json["timeline"] = timeline_json(cell);
  return json;
}

}  // namespace

std::string memory_text(const MemoryStudy& study) {
  std::string text =
      fmt::format("# Memory of {} ({} parameters), {}; {} are available\n", study.model, format_count(study.parameters),
                  study.mode == RunMode::infer ? "a forward pass" : "a training step with AdamW",
                  format_bytes(static_cast<double>(study.available_bytes)));
  text += table_text(study) + recompute_text(study) + floor_text(study);
  for (const MemoryCell& cell : study.cells) {
    if (is_detailed(study, cell)) text += details_text(cell);
  }
  return text + measured_text(study);
}

OrderedJson memory_json(const MemoryStudy& study) {
  OrderedJson cells = OrderedJson::array();
  for (const MemoryCell& cell : study.cells) cells.push_back(cell_json(cell));
  return {{"model", study.model},
          {"parameters", study.parameters},
          {"mode", name(study.mode)},
          {"available_bytes", study.available_bytes},
          {"cells", cells}};
}

}  // namespace assay
