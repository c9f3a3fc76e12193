#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "results/document.h"
#include "results/figure.h"
#include "results/parts.h"
#include "results/record.h"
#include "results/states.h"
#include "results/table.h"
#include "rules/choice.h"
#include "studies/sensitivity/run.h"
#include "studies/tune/aims.h"
#include "studies/tune/request.h"
#include "studies/tune/run.h"
#include "studies/tune/search.h"
#include "tensor/recipe.h"

namespace assay {
namespace {

/// A point with what the last timing found of it.
struct PointLine {
  const Tuning& tuning;
  std::size_t index;
  const Record* record;  ///< Null: it was not timed.

  const TunePoint& point() const { return tuning.points[index]; }
  const ChoiceRow& aim() const { return tuning.answer.rows[index]; }
};
using PointColumns = std::vector<ColumnOf<PointLine>>;

PointLine point_line_of(const Tuning& tuning, std::size_t index, const Document& timed) {
  const auto found = std::find_if(timed.records.begin(), timed.records.end(), [&](const Record& record) {
    return record.setting.precision == tuning.points[index].precision &&
           record.setting.mode == facts_of(tuning.aim).question.mode;
  });
  return {tuning, index, found == timed.records.end() ? nullptr : &*found};
}

Table::Cell change_cell(const std::optional<Change>& change) {
  if (!change) return Absent{"no labels"};
  if (!change->interval) return change->value;
  return Estimate{change->value, change->interval->low, change->interval->high};
}

/// Of the rows that the search did not see.
ColumnOf<PointLine> loss_column(Table::Column column, std::optional<Change> (*figure)(const UnitQuality&)) {
  column.notation = Notation::general;
  column.digits = 2;
  column.more_keys = {column.key + "_low", column.key + "_high"};
  return {std::move(column), [figure](const PointLine& line) -> Table::Cell {
            const std::optional<UnitQuality>& quality = line.point().held_out;
            if (!quality) return Absent{"not scored"};
            if (!quality->failure.empty()) return Absent{quality->failure};
            return change_cell(figure(*quality));
          }};
}

Table::Cell speedup_cell(const PointLine& line) {
  if (line.record == nullptr || !line.record->speedup) return Absent{"not timed"};
  const Speedup& speedup = *line.record->speedup;
  return estimate_or_absent(speedup.speedup, speedup.speedup_low, speedup.speedup_high, "not timed");
}

Table::Cell point_bytes_cell(const PointLine& line) {
  return line.point().model_bytes > 0 ? Table::Cell(line.point().model_bytes) : Table::Cell(Absent{"not scored"});
}

Table::Cell searched_cell(const PointLine& line) {
  const std::optional<UnitQuality>& quality = line.point().searched;
  if (!quality) return Absent{"left out before"};
  if (!quality->failure.empty()) return Absent{quality->failure};
  return quality->kl.value;
}

/// How it stands in the answer.
std::string point_standing_words(const PointLine& line) {
  const TuneAnswer& answer = line.tuning.answer;
  if (!line.point().held_out) return "not scored";
  if (!keeps_limit(line.tuning, line.point())) return "loses too much";
  if (answer.taken == line.index) return name(AimStanding::taken);
  if (line.aim().standing == AimStanding::lacking) return "not chosen from: " + line.aim().reason;
  if (line.aim().standing == AimStanding::taken) return name(AimStanding::open);  // The best by its figure alone.
  return name(line.aim().standing);
}

ColumnOf<PointLine> energy_column() {
  return {{.key = "energy_j",
           .title = "energy",
           .unit = "J",
           .meaning = "of a sequence, gross; the meter's bounds and the intervals of time and power are in its own",
           .spread = Spread::percent,
           .more_keys = {"energy_j_low", "energy_j_high"}},
          [](const PointLine& line) { return line.aim().figure; }};
}

PointColumns point_columns(const Tuning& tuning) {
  PointColumns columns = {
      {{.key = "precision", .role = Table::Role::label},
       [](const PointLine& line) -> Table::Cell { return line.point().precision; }},
      {{.key = "time_ms",
        .title = "time",
        .unit = "ms",
        .spread = Spread::percent,
        .more_keys = {"time_ms_low", "time_ms_high"}},
       [](const PointLine& line) { return line.tuning.answer.times[line.index].figure; }},
      {{.key = "speedup", .title = "of fp32's speed", .more_keys = {"speedup_low", "speedup_high"}}, speedup_cell},
      {{.key = "model_bytes", .title = "weights", .unit = "bytes", .notation = Notation::bytes}, point_bytes_cell},
      {{.key = "searched_kl",
        .unit = "nats",
        .meaning = "on the search's rows",
        .notation = Notation::general,
        .digits = 2,
        .detail = Detail::details},
       searched_cell},
      loss_column({.key = "kl", .title = "KL", .unit = "nats"},
                  [](const UnitQuality& q) -> std::optional<Change> { return q.kl; })};
  if (tuning.aim == Aim::energy) columns.insert(columns.begin() + 1, energy_column());
  const auto labelled = [](const TunePoint& point) { return point.held_out && point.held_out->delta_nll.has_value(); };
  if (std::any_of(tuning.points.begin(), tuning.points.end(), labelled)) {
    columns.push_back(loss_column({.key = "delta_nll", .title = "loss", .unit = "nats", .sign = Sign::always},
                                  [](const UnitQuality& q) { return q.delta_nll; }));
    columns.push_back(loss_column({.key = "accuracy_change", .title = "accuracy", .sign = Sign::always},
                                  [](const UnitQuality& q) { return q.accuracy_change; }));
  }
  columns.push_back({{.key = "keeps_limit", .title = "keeps the limit"}, [](const PointLine& line) -> Table::Cell {
                       if (!line.point().held_out) return Absent{"not scored"};
                       return keeps_limit(line.tuning, line.point());
                     }});
  columns.push_back(
      {{.key = "stands"}, [](const PointLine& line) -> Table::Cell { return point_standing_words(line); }});
  return columns;
}

Table points_table(const Tuning& tuning, const Document& timed) {
  std::vector<PointLine> lines;
  lines.reserve(tuning.points.size());
  for (std::size_t i = 0; i < tuning.points.size(); ++i) lines.push_back(point_line_of(tuning, i, timed));
  Table table{.key = "points",
              .caption = "Uniform precisions and mixes",
              .legend = "Losses are those against fp32 on rows that the search did not see."};
  return filled(std::move(table), point_columns(tuning), lines);
}

Figure front_figure(const Tuning& tuning) {
  constexpr double least_kl = 1e-7;
  Figure figure{.kind = FigureKind::scatter,
                .key = "front",
                .caption = "What is lost, against what it takes",
                .x = {.title = name(tuning.aim), .unit = facts_of(tuning.aim).unit},
                .y = {.title = "KL(fp32 || this)", .unit = "nats", .scale = Figure::Scale::logarithmic}};
  figure.series = {{.name = "uniform"}, {.name = "mixes"}};
  for (std::size_t i = 0; i < tuning.points.size(); ++i) {
    const TunePoint& point = tuning.points[i];
    const std::optional<double> cost = tuning.answer.rows[i].number();
    if (!cost || !point.held_out || !point.held_out->failure.empty()) continue;
    Figure::Point mark{.x = *cost, .y = std::max(point.held_out->kl.value, least_kl), .label = point.precision};
    if (const auto& interval = point.held_out->kl.interval) {
      mark.low = std::max(interval->low, least_kl);
      mark.high = std::max(interval->high, least_kl);
    }
    mark.is_hollow = !keeps_limit(tuning, point);
    figure.series[point.is_mix ? 1 : 0].points.push_back(std::move(mark));
  }
  if (figure.series[0].points.empty() && figure.series[1].points.empty()) figure.reason = "nothing was timed";
  return figure;
}

std::string rest_words(const Recipe& recipe) {
  const std::string words = fmt::format("All else is {}.", recipe.rest->name);
  return recipe.kv ? words + fmt::format(" Keys and values are kept in {}.", name(*recipe.kv)) : words;
}

/// How many layers have each row.
Table mix_table(const TunePoint& point) {
  struct Share {
    std::string row;
    std::int64_t layers = 0;
  };
  std::vector<Share> shares;
  for (const RecipeLayers& layer : point.recipe.layers) {
    const auto known =
        std::find_if(shares.begin(), shares.end(), [&](const Share& share) { return share.row == layer.row->name; });
    if (known == shares.end())
      shares.push_back({layer.row->name, 1});
    else
      ++known->layers;
  }
  const std::vector<ColumnOf<Share>> columns = {
      {{.key = "precision", .role = Table::Role::label}, [](const Share& s) -> Table::Cell { return s.row; }},
      {{.key = "layers", .notation = Notation::count}, [](const Share& s) -> Table::Cell { return s.layers; }}};
  return filled({.key = "mix",
                 .caption = fmt::format("{}: linear layers by precision", point.precision),
                 .legend = rest_words(point.recipe)},
                columns, shares);
}

Table recipe_table(const TunePoint& point) {
  const std::vector<ColumnOf<RecipeLayers>> columns = {
      {{.key = "layer", .role = Table::Role::label}, [](const RecipeLayers& l) -> Table::Cell { return l.pattern; }},
      {{.key = "precision"}, [](const RecipeLayers& l) -> Table::Cell { return l.row->name; }}};
  return filled({.key = "recipe", .caption = "Layer by layer", .detail = Detail::details}, columns,
                point.recipe.layers);
}

std::string limit_words(const LossLimit& limit) {
  switch (limit.kind) {
    case LossKind::kl:
      return fmt::format("KL at most {:.3g} nats", limit.most);
    case LossKind::drop:
      return fmt::format("at most {:.3g} points of accuracy less", 100 * limit.most);
    case LossKind::perplexity:
      return fmt::format("perplexity at most {:.3g} % higher", 100 * limit.most);
  }
  return {};
}

/// With what its interval says of the limit.
std::string kept_words(const Tuning& tuning, const TunePoint& point) {
  const UnitQuality& quality = *point.held_out;
  const double loss = loss_of(tuning.limit.kind, quality);
  const std::string value = tuning.limit.kind == LossKind::kl ? fmt::format("KL {:.2g}", loss)
                            : tuning.limit.kind == LossKind::perplexity
                                ? fmt::format("{:+.2g} % perplexity", 100 * loss)
                                : fmt::format("{:+.2g} points", -100 * loss);
  const std::optional<double> worst = worst_loss(tuning.limit.kind, quality);
  if (!worst) return value;
  return value + (*worst <= tuning.limit.most ? ", and its whole interval keeps it" : "; its interval goes beyond it");
}

/// "26.4 ms, 1.31x fp32's speed", "1.5 J a sequence, 0.50 of fp32's", "137 MB of weights".
std::string cost_words(const Tuning& tuning, std::size_t index, const Document& timed) {
  const ChoiceRow& row = tuning.answer.rows[index];
  if (row.words.empty()) return "no figure";
  if (tuning.aim == Aim::bytes) return row.words + " of weights";
  if (tuning.aim == Aim::energy) {
    const std::optional<double> joules = row.number();
    const std::optional<double> fp32 = tuning.answer.rows.front().number();
    const std::string words = row.words + " a sequence";
    return joules && fp32 ? words + fmt::format(", {:.2f} of fp32's", *joules / *fp32) : words;
  }
  const Record* const record = point_line_of(tuning, index, timed).record;
  const std::optional<double> speedup = record == nullptr ? std::nullopt : record->speedup->speedup;
  return speedup ? row.words + fmt::format(", {:.2f}x fp32's speed", *speedup) : row.words;
}

/// Those that keep the limit and may not be chosen from, each with why.
std::string not_chosen_words(const Tuning& tuning) {
  std::vector<std::string> points;
  for (std::size_t i = 0; i < tuning.points.size(); ++i) {
    const ChoiceRow& row = tuning.answer.rows[i];
    if (row.standing == AimStanding::lacking && keeps_limit(tuning, tuning.points[i]))
      points.push_back(fmt::format("{} ({})", row.name, row.reason));
  }
  return fmt::format("{}", fmt::join(points, ", "));
}

const char* reason_words(TakenFor reason) {
  return reason == TakenFor::simpler ? "is one precision, and no mix among them is told to lose less"
                                     : "loses less than the others";
}

/// What intervals leave open, with all figures; empty where they decide.
std::string tie_words(const Tuning& tuning) {
  const TuneAnswer& answer = tuning.answer;
  if (answer.tied.size() < 2) return "";
  std::string best;
  std::vector<std::string> others;
  bool is_open = false;
  for (const std::size_t one : answer.tied) {
    const ChoiceRow& row = answer.rows[one];
    is_open = is_open || row.standing == AimStanding::open;
    if (row.standing == AimStanding::taken) {
      best = fmt::format("{} ({})", row.name, row.words);
      continue;
    }
    const std::string against = row.against_best.empty() ? "" : ", " + row.against_best + " of that";
    others.push_back(
        fmt::format("{} ({}{}{}{})", row.name, row.words, against, row.reason.empty() ? "" : ": ", row.reason));
  }
  return fmt::format(" {} {} and {}: {} {}.", is_open ? "Not settled between" : "Alike are", best,
                     fmt::join(others, ", "), tuning.points[*answer.taken].precision, reason_words(answer.reason));
}

/// Of uniform precisions that keep the limit and may be chosen from, the best by its figure.
std::optional<std::size_t> best_uniform(const Tuning& tuning) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < tuning.points.size(); ++i) {
    const ChoiceRow& row = tuning.answer.rows[i];
    if (tuning.points[i].is_mix || row.standing == AimStanding::lacking) continue;
    if (!best || row.number() < tuning.answer.rows[*best].number()) best = i;
  }
  return best;
}

/// What else keeps the limit and is of the other kind, where it is not among what is tied.
std::string other_kind_words(const Tuning& tuning, const Document& timed) {
  const TuneAnswer& answer = tuning.answer;
  const auto is_tied = [&](std::size_t one) {
    return std::find(answer.tied.begin(), answer.tied.end(), one) != answer.tied.end();
  };
  if (!tuning.points[*answer.taken].is_mix) {
    if (tuning.tried.empty()) return " No mix was tried.";
    const bool has_tied_mix =
        std::any_of(answer.tied.begin(), answer.tied.end(), [&](std::size_t one) { return tuning.points[one].is_mix; });
    return has_tied_mix ? "" : " No mix that was tried takes less within the limit.";
  }
  const std::optional<std::size_t> uniform = best_uniform(tuning);
  if (!uniform) return " No uniform precision that keeps it may be chosen from.";
  if (is_tied(*uniform)) return "";
  return fmt::format(" The best uniform precision that keeps it: {}, {} ({}).", tuning.points[*uniform].precision,
                     cost_words(tuning, *uniform, timed), kept_words(tuning, tuning.points[*uniform]));
}

std::string interrupted_words(const Tuning& tuning) {
  const bool has_one = best_tried(tuning) != nullptr;
  return fmt::format(
      "Interrupted before anything {}: {} ({}).",
      is_scored(tuning) ? "could be chosen by what was timed" : "was scored on rows that the search did not see",
      has_one ? "the best so far is the mix that is foretold to be cheapest of those that keep the limit "
                "on the search's rows, and it is not checked"
              : "no mix was found yet that keeps the limit",
      limit_words(tuning.limit));
}

std::string verdict_words(const Tuning& tuning, const Document& timed) {
  const std::string limit = limit_words(tuning.limit);
  const std::optional<std::size_t> taken = tuning.answer.taken;
  const std::string left = not_chosen_words(tuning);
  if (!taken && tuning.is_interrupted) return interrupted_words(tuning);
  if (!taken && left.empty()) return fmt::format("No precision and no mix that was tried keeps the limit ({}).", limit);
  if (!taken)
    return fmt::format("No advice for {}: of what keeps the limit ({}), nothing may be chosen from: {}.",
                       name(tuning.aim), limit, left);
  const TunePoint& point = tuning.points[*taken];
  std::string words = fmt::format("Take {}: {} ({}; limit: {}).", point.precision, cost_words(tuning, *taken, timed),
                                  kept_words(tuning, point), limit);
  words += tie_words(tuning) + other_kind_words(tuning, timed);
  if (!left.empty()) words += fmt::format(" Not chosen from: {}.", left);
  return words;
}

std::string dropped_rows_words(const Tuning& tuning) {
  std::vector<std::string> rows;
  rows.reserve(tuning.left_out.size());
  for (const LeftOut& one : tuning.left_out) rows.push_back(fmt::format("{} ({})", one.precision, one.why));
  return rows.empty() ? "" : fmt::format(" No layer was given {}.", fmt::join(rows, ", "));
}

std::string without_points_words(const Tuning& tuning) {
  std::vector<std::string> rows;
  rows.reserve(tuning.left_out.size());
  for (const LeftOut& one : tuning.left_out) {
    if (!one.has_point) rows.push_back(one.precision);
  }
  if (rows.empty()) return "";
  return fmt::format(" The budget had no room to time and score {} in the end.", fmt::join(rows, ", "));
}

std::string search_words(const Tuning& tuning) {
  std::vector<double> foretold_losses;
  std::vector<double> measured_losses;
  foretold_losses.reserve(tuning.tried.size());
  measured_losses.reserve(tuning.tried.size());
  for (const TriedMix& one : tuning.tried) {
    if (!one.quality.failure.empty()) continue;
    foretold_losses.push_back(one.foretold.loss);
    measured_losses.push_back(one.quality.kl.value);
  }
  std::string words =
      fmt::format("{} mixes of {} parts were scored in {:.0f} s, after {:.0f} s of costs and estimates.",
                  tuning.tried.size(), tuning.parts, tuning.search_s, tuning.estimates_s);
  constexpr std::size_t fewest_for_a_rank = 10;
  if (const auto relation = foretold_losses.size() < fewest_for_a_rank
                                ? std::nullopt
                                : rank_correlation(foretold_losses, measured_losses))
    words += fmt::format(" Foretold and measured KL of them: rank correlation {:.2f}.", relation->value);
  words += dropped_rows_words(tuning) + without_points_words(tuning);
  if (tuning.is_partial) words += " The search was ended before it was through: this is the best so far.";
  return words;
}

}  // namespace

void describe(const Tuning& tuning, Document& document) {
  document.subject.title = fmt::format("The best mix of precisions for {}", name(tuning.aim));
  add_fact(document.subject.facts, {.key = "limit"}, limit_words(tuning.limit));
  add_fact(document.subject.facts, {.key = "searched_on"}, tuning.searched_on);
  add_fact(document.subject.facts, {.key = "scored_on"}, tuning.held_out_of);
  std::vector<Table> tables = {points_table(tuning, document)};
  const std::optional<std::size_t> taken = tuning.answer.taken;
  if (taken && tuning.points[*taken].is_mix) {
    tables.push_back(mix_table(tuning.points[*taken]));
    tables.push_back(recipe_table(tuning.points[*taken]));
  }
  document.tables.insert(document.tables.begin(), std::make_move_iterator(tables.begin()),
                         std::make_move_iterator(tables.end()));
  document.figures.insert(document.figures.begin(), front_figure(tuning));
  document.sentences.insert(document.sentences.begin(),
                            {.texts = {verdict_words(tuning, document), search_words(tuning)}});
}

}  // namespace assay
