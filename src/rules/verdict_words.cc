#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "results/identity.h"
#include "results/model_name.h"
#include "rules/verdict_parts.h"

namespace assay {
namespace {

using Rows = std::vector<const VerdictRow*>;
/// How rows are told from each other: by precision, and where they ran in several places, by place.
using NameOf = std::string (*)(const VerdictRow& row);

std::string own_name(const VerdictRow& row) {
  return row.name;
}
std::string name_and_batch(const VerdictRow& row) {
  return fmt::format("{} at batch {}", row.name, row.record->setting.batch);
}
std::string name_and_device(const VerdictRow& row) {
  return fmt::format("{} on {}", row.name, row.record->setting.device);
}
std::string name_and_machine(const VerdictRow& row) {
  return fmt::format("{} on {}, {} threads ({})", row.name, row.record->setting.device, row.record->setting.threads,
                     row.record->setting.machine);
}

std::string ends_words(const Gain& gain, const char* form, double unit) {
  if (!gain.range || gain.range->low == gain.range->high) return "";
  const auto end = [&](double value) { return fmt::format(fmt::runtime(form), unit * value); };
  return fmt::format(" [{}, {}]", end(gain.range->low), end(gain.range->high));
}

/// "1.31x [1.27, 1.36]"; of a count "1.89x".
std::string ratio_words_of(const Gain& gain) {
  if (!gain.range || gain.range->low == gain.range->high) return times(gain.value);
  return fmt::format("{} [{}, {}]", times(gain.value), format_significant(gain.range->low),
                     format_significant(gain.range->high));
}

/// "0.0370 nat [0.0310, 0.0430]", "0.41 points [0.10, 0.72]".
std::string loss_gain_words(const Gain& gain, const Record& row) {
  const bool is_of_tokens = row.quality->perplexity || row.difference->delta_log_perplexity;
  return is_of_tokens ? fmt::format("{:.4f} nat{}", gain.value, ends_words(gain, "{:.4f}", 1))
                      : fmt::format("{:.2f} points{}", 100 * gain.value, ends_words(gain, "{:.2f}", 100));
}

/// What a time is of; at one batch it is the throughput, too.
std::string aim_words(const VerdictAim& aim, const Record& row) {
  if (std::string_view(aim.key) != "latency") return aim.key;
  switch (row.setting.mode) {
    case Mode::prefill:
      return "time to the first token";
    case Mode::decode:
      return "time a token and tokens a second";
    default:
      return is_of_training(row.setting.mode) ? "time a step" : "latency and throughput";
  }
}

std::string alike_words(const VerdictAim& aim) {
  return aim.alike == 1 ? fmt::format("alike within {:g} %", 100 * aim.margin)
                        : fmt::format("alike within {:g} nat or {:g} point", aim.margin, 100 * aim.margin);
}

/// "int8 (26.4 ms; 1.31x [1.27, 1.36] as fast as fp16)".
std::string taken_words(const AimChoice& choice, NameOf name_of) {
  std::vector<std::string> names = {name_of(*choice.best)};
  std::vector<std::string> figures = {choice.aim->figure_words(*choice.best->record)};
  for (const AimRow& one : choice.rows) {
    if (!one.gain) continue;
    if (one.standing == AimStanding::alike) names.push_back(name_of(*one.row));
    const std::string gain = gain_words(*choice.aim, one);
    figures.push_back(fmt::format(fmt::runtime(choice.aim->than), gain, name_of(*one.row)));
    if (std::string_view(one.gain->by) == measured_apart) figures.back() += std::string(", ") + measured_apart;
  }
  if (names.size() > 1) figures.push_back(alike_words(*choice.aim));
  return fmt::format("{} ({})", fmt::join(names, " or "), fmt::join(figures, "; "));
}

/// Of a row that intervals do not tell from the best.
std::string open_row_words(const AimChoice& choice, const AimRow& one, NameOf name_of) {
  const std::string gain = one.gain ? ", " + gain_words(*choice.aim, one) : "";
  return fmt::format("{} {}, {} {}{}: {}", name_of(*choice.best), choice.aim->figure_words(*choice.best->record),
                     name_of(*one.row), choice.aim->figure_words(*one.row->record), gain, one.reason);
}

/// Why an aim is not settled, each reason once with the rows that have it; of all rows, without them.
std::string open_words(const AimChoice& choice, NameOf name_of) {
  std::vector<std::pair<std::string, std::vector<std::string>>> lacking;
  std::vector<std::string> words;
  for (const AimRow& one : choice.rows) {
    if (one.standing == AimStanding::open) words.push_back(open_row_words(choice, one, name_of));
    if (one.standing != AimStanding::lacking) continue;
    const auto known =
        std::find_if(lacking.begin(), lacking.end(), [&](const auto& r) { return r.first == one.reason; });
    auto& names =
        known == lacking.end() ? lacking.emplace_back(one.reason, std::vector<std::string>{}).second : known->second;
    names.push_back(name_of(*one.row));
  }
  for (const auto& [reason, names] : lacking) {
    words.push_back(names.size() == choice.rows.size() ? reason
                                                       : fmt::format("{}: {}", fmt::join(names, ", "), reason));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

/// " Take ... . Not settled: ... ."
std::string choice_sentences(const std::vector<AimChoice>& choices, NameOf name_of) {
  std::vector<std::string> taken;
  std::vector<std::string> open;
  for (const AimChoice& choice : choices) {
    if (choice.rows.empty()) continue;
    const std::string aim = aim_words(*choice.aim, *choice.rows.front().row->record);
    choice.is_settled() ? taken.push_back(fmt::format("for {} {}", aim, taken_words(choice, name_of)))
                        : open.push_back(fmt::format("{} ({})", aim, open_words(choice, name_of)));
  }
  std::string text = taken.empty() ? "" : fmt::format(" Take {}.", fmt::join(taken, "; "));
  if (!open.empty()) text += fmt::format(" Not settled: {}.", fmt::join(open, "; "));
  return text;
}

// ---- one cell ----

/// What its figures are of, where that is not what its name says, and how far they can be trusted.
std::string remark_on(const VerdictRow& row) {
  const LedgerRow* dominant = dominant_row(row.record->evidence.ledger);
  const Precision* precision = precision_row(*row.record);
  std::string text = row.record->grade.trust == Trust::c ? fmt::format(" {} is of grade C.", row.name) : "";
  if (dominant == nullptr || precision == nullptr || is_overridden(*row.record)) return text;
  if (!is_defined_operand(*precision, dominant->operand))
    return text + fmt::format(" {} multiplied in {}, not in {} ({}): its figures are of that.", row.name,
                              name(dominant->operand), name(precision->operand), name(dominant->verdict));
  if (dominant->verdict == Verdict::native) return text;
  return text + fmt::format(" {} ran {}: its time and energy are of that.", row.name, what_ran(*row.record));
}

/// " By bits alone int8 would be 2.00x as fast as fp16, by the matmul peaks measured here 1.90x; measured 1.31x [1.27,
/// 1.36]."
std::string proxy_sentence(const VerdictRow& reference, const VerdictRow& row) {
  const auto measured = measured_speed(reference, row);
  std::string claims;
  for (const Proxy& proxy : measured ? proxies_of(reference, row) : std::vector<Proxy>{}) {
    claims += claims.empty() ? fmt::format("{} {} would be {} as fast as {}", proxy.words, row.name,
                                           times(proxy.claimed), reference.name)
                             : fmt::format(", {} {}", proxy.words, times(proxy.claimed));
  }
  if (claims.empty()) return "";
  claims.front() = static_cast<char>(claims.front() - 'a' + 'A');
  return fmt::format(" {}; measured {}.", claims, ratio_words_of(*measured));
}

std::string left_out_words(const VerdictCell& cell) {
  std::vector<std::string> words;
  for (const VerdictRow& row : cell.rows) {
    if (!row.unusable.empty()) words.push_back(fmt::format("{} ({})", row.name, row.unusable));
  }
  return words.empty() ? "" : fmt::format(" Left out: {}.", fmt::join(words, "; "));
}

std::string nothing_words(const Rows& rows) {
  if (rows.empty()) return " there is nothing to choose from.";
  return fmt::format(" there is nothing to choose: {} alone has figures.", rows.front()->name);
}

std::string cell_title(const Record& row, const std::string& where) {
  return fmt::format("{}, {}:", shown_model_name(row.setting.model), where);
}

/// At one batch a throughput follows from the time, and is said with it.
std::vector<AimChoice> without_throughput(std::vector<AimChoice> choices) {
  std::erase_if(choices, [](const AimChoice& choice) { return std::string_view(choice.aim->key) == "throughput"; });
  return choices;
}

VerdictPart part_of_cell(const VerdictCell& cell) {
  VerdictPart part{.scope = "cell", .text = cell_title(cell.any(), conditions_words(cell.any(), Level::cell))};
  const Rows rows = usable_rows(cell);
  for (const VerdictAim& aim : aims()) part.choices.push_back(choose(aim, rows));
  part.text += rows.size() < 2 ? nothing_words(rows) : choice_sentences(without_throughput(part.choices), own_name);
  part.text += left_out_words(cell);
  for (const VerdictRow* row : rows) part.text += remark_on(*row);
  for (std::size_t i = 1; i < rows.size(); ++i) part.text += proxy_sentence(*rows.front(), *rows[i]);
  return part;
}

// ---- several cells ----

using Cells = std::vector<const VerdictCell*>;

/// Cells that `agree` with the first of their group, where that is more than one.
std::vector<Cells> groups_of_cells(const std::vector<VerdictCell>& cells,
                                   bool (*agree)(const Record& first, const Record& other)) {
  std::vector<Cells> groups;
  for (const VerdictCell& cell : cells) {
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const Cells& group) { return agree(group.front()->any(), cell.any()); });
    known == groups.end() ? groups.push_back({&cell}) : known->push_back(&cell);
  }
  std::erase_if(groups, [](const Cells& group) { return group.size() < 2; });
  return groups;
}

bool is_one_machine(const Record& a, const Record& b) {
  return a.setting.machine == b.setting.machine && a.setting.build == b.setting.build;
}

bool differ_in_batch(const Record& a, const Record& b) {
  Setting like_b = a.setting;
  like_b.batch = b.setting.batch;
  return a.setting.batch != b.setting.batch && is_one_machine(a, b) && stand_together(like_b, b.setting, Level::cell);
}

/// The same model and shape, run alike elsewhere.
bool differ_in_place(const Record& a, const Record& b) {
  Setting like_b = a.setting;
  like_b.device = b.setting.device;
  like_b.threads = b.setting.threads;
  like_b.graphs = b.setting.graphs;
  if (b.setting.weights.starts_with("sha256:"))
    like_b.model = a.setting.weights == b.setting.weights ? b.setting.model : "";
  const bool is_elsewhere =
      a.setting.device != b.setting.device || a.setting.threads != b.setting.threads || !is_one_machine(a, b);
  return is_elsewhere && stand_together(like_b, b.setting, Level::cell);
}

/// Of each precision the cell in which it gets most done.
Rows best_batches(const VerdictAim& aim, const Cells& cells) {
  Rows best;
  for (std::size_t i = 0; i < cells.front()->rows.size(); ++i) {
    Rows candidates;
    for (const VerdictCell* cell : cells) {
      if (cell->rows[i].unusable.empty()) candidates.push_back(&cell->rows[i]);
    }
    if (const VerdictRow* row = choose(aim, candidates).best) best.push_back(row);
  }
  return best;
}

/// Of each cell the best of its rows; one without a figure where none has one.
Rows best_of_cells(const VerdictAim& aim, const Cells& cells) {
  Rows best;
  for (const VerdictCell* cell : cells) {
    const Rows rows = usable_rows(*cell);
    const VerdictRow* row = choose(aim, rows).best;
    if (row == nullptr && !rows.empty()) row = rows.front();
    if (row != nullptr) best.push_back(row);
  }
  return best;
}

VerdictPart part_of_batches(const Cells& cells) {
  const VerdictAim& aim = aim_named("throughput");
  Setting setting = cells.front()->any().setting;
  VerdictPart part{.scope = "batches", .choices = {choose(aim, best_batches(aim, cells))}};
  part.text =
      fmt::format("{}, {}, over all batches:{}", shown_model_name(setting.model),
                  conditions_words(cells.front()->any(), Level::title), choice_sentences(part.choices, name_and_batch));
  return part;
}

NameOf names_of_places(const Cells& cells) {
  for (const VerdictCell* cell : cells) {
    const auto same = std::count_if(cells.begin(), cells.end(), [&](const VerdictCell* other) {
      return other->any().setting.device == cell->any().setting.device;
    });
    if (same > 1) return name_and_machine;
  }
  return name_and_device;
}

/// The meters of what was chosen: each place has its own.
std::string meter_words(const AimChoice& energy) {
  if (energy.best == nullptr) return "";
  std::vector<std::string> meters;
  for (const AimRow& one : energy.rows)
    meters.push_back(fmt::format("{}: {}", name_and_device(*one.row), to_text(one.row->record->energy->energy_status)));
  return fmt::format(" Energy is what each place's own meter covers ({}).", fmt::join(meters, "; "));
}

VerdictPart part_of_places(const Cells& cells) {
  VerdictPart part{.scope = "places"};
  for (const char* aim : {"latency", "energy"})
    part.choices.push_back(choose(aim_named(aim), best_of_cells(aim_named(aim), cells)));
  const Setting& setting = cells.front()->any().setting;
  part.text =
      fmt::format("{}, {} x {}, between places:{}{}", shown_model_name(setting.model), setting.batch, setting.seq,
                  choice_sentences(part.choices, names_of_places(cells)), meter_words(part.choices.back()));
  return part;
}

}  // namespace

std::string gain_words(const VerdictAim& aim, const AimRow& row) {
  return aim.alike == 1 ? ratio_words_of(*row.gain) : loss_gain_words(*row.gain, *row.row->record);
}

std::vector<const VerdictRow*> usable_rows(const VerdictCell& cell) {
  Rows rows;
  for (const VerdictRow& row : cell.rows) {
    if (row.unusable.empty()) rows.push_back(&row);
  }
  return rows;
}

std::vector<VerdictPart> verdict_parts(const std::vector<VerdictCell>& cells) {
  std::vector<VerdictPart> parts;
  parts.reserve(cells.size());
  for (const VerdictCell& cell : cells) parts.push_back(part_of_cell(cell));
  for (const Cells& group : groups_of_cells(cells, differ_in_batch)) parts.push_back(part_of_batches(group));
  for (const Cells& group : groups_of_cells(cells, differ_in_place)) parts.push_back(part_of_places(group));
  std::erase_if(parts, [](const VerdictPart& part) { return part.text.ends_with(':'); });
  return parts;
}

}  // namespace assay
