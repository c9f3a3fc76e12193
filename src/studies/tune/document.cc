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

#include "base/units.h"
#include "results/document.h"
#include "results/figure.h"
#include "results/parts.h"
#include "results/record.h"
#include "results/table.h"
#include "studies/sensitivity/run.h"
#include "studies/tune/aims.h"
#include "studies/tune/request.h"
#include "studies/tune/run.h"
#include "studies/tune/search.h"
#include "tensor/recipe.h"

namespace assay {
namespace {

using PointColumns = std::vector<ColumnOf<TimedPoint>>;

Table::Cell change_cell(const std::optional<Change>& change) {
  if (!change) return Absent{"no labels"};
  if (!change->interval) return change->value;
  return Estimate{change->value, change->interval->low, change->interval->high};
}

/// Of the rows that the search did not see.
ColumnOf<TimedPoint> loss_column(Table::Column column, std::optional<Change> (*figure)(const UnitQuality&)) {
  column.notation = Notation::general;
  column.digits = 2;
  column.more_keys = {column.key + "_low", column.key + "_high"};
  return {std::move(column), [figure](const TimedPoint& line) -> Table::Cell {
            const std::optional<UnitQuality>& quality = line.point.held_out;
            if (!quality) return Absent{"not scored"};
            if (!quality->failure.empty()) return Absent{quality->failure};
            return change_cell(figure(*quality));
          }};
}

Table::Cell speedup_cell(const TimedPoint& line) {
  if (line.record == nullptr || !line.record->speedup) return Absent{"not timed"};
  const Speedup& speedup = *line.record->speedup;
  return estimate_or_absent(speedup.speedup, speedup.speedup_low, speedup.speedup_high, "not timed");
}

ColumnOf<TimedPoint> energy_column() {
  return {{.key = "energy_j",
           .title = "energy",
           .unit = "J",
           .meaning = "of a sequence, gross, with the meter's bounds",
           .spread = Spread::percent,
           .more_keys = {"energy_j_low", "energy_j_high"}},
          facts_of(Aim::energy).figure};
}

PointColumns point_columns(const Tuning& tuning) {
  PointColumns columns = {
      {{.key = "precision", .role = Table::Role::label},
       [](const TimedPoint& line) -> Table::Cell { return line.point.precision; }},
      {{.key = "time_ms",
        .title = "time",
        .unit = "ms",
        .spread = Spread::percent,
        .more_keys = {"time_ms_low", "time_ms_high"}},
       facts_of(Aim::latency).figure},
      {{.key = "speedup", .title = "of fp32's speed", .more_keys = {"speedup_low", "speedup_high"}}, speedup_cell},
      {{.key = "model_bytes", .title = "weights", .unit = "bytes", .notation = Notation::bytes},
       facts_of(Aim::bytes).figure},
      {{.key = "searched_kl",
        .unit = "nats",
        .meaning = "on the search's rows",
        .notation = Notation::general,
        .digits = 2,
        .detail = Detail::details},
       [](const TimedPoint& line) -> Table::Cell { return line.point.searched.kl.value; }},
      loss_column({.key = "kl", .title = "KL", .unit = "nats"},
                  [](const UnitQuality& q) -> std::optional<Change> { return q.kl; })};
  if (tuning.aim == Aim::energy) columns.insert(columns.begin() + 1, energy_column());
  const auto labelled = [](const TunePoint& point) { return point.searched.delta_nll.has_value(); };
  if (std::any_of(tuning.points.begin(), tuning.points.end(), labelled)) {
    columns.push_back(loss_column({.key = "delta_nll", .title = "loss", .unit = "nats", .sign = Sign::always},
                                  [](const UnitQuality& q) { return q.delta_nll; }));
    columns.push_back(loss_column({.key = "accuracy_change", .title = "accuracy", .sign = Sign::always},
                                  [](const UnitQuality& q) { return q.accuracy_change; }));
  }
  columns.push_back({{.key = "keeps_limit", .title = "keeps the limit"}, [](const TimedPoint& line) -> Table::Cell {
                       if (!line.point.held_out) return Absent{"not scored"};
                       return keeps_limit(line.tuning, line.point);
                     }});
  return columns;
}

Table points_table(const Tuning& tuning, const Document& timed) {
  std::vector<TimedPoint> lines;
  lines.reserve(tuning.points.size());
  for (const TunePoint& point : tuning.points) {
    lines.push_back(timed_point(tuning, point, timed));
  }
  Table table{.key = "points",
              .caption = "Uniform precisions and mixes",
              .legend = "Losses are those against fp32 on rows that the search did not see."};
  return filled(std::move(table), point_columns(tuning), lines);
}

Figure front_figure(const Tuning& tuning, const Document& timed) {
  constexpr double least_kl = 1e-7;
  Figure figure{.kind = FigureKind::scatter,
                .key = "front",
                .caption = "What is lost, against what it takes",
                .x = {.title = name(tuning.aim), .unit = facts_of(tuning.aim).unit},
                .y = {.title = "KL(fp32 || this)", .unit = "nats", .scale = Figure::Scale::logarithmic}};
  figure.series = {{.name = "uniform"}, {.name = "mixes"}};
  for (const TunePoint& point : tuning.points) {
    const std::optional<double> cost = cost_of(tuning, point, timed);
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
                 .legend = fmt::format("All else is {}.", point.recipe.rest->name)},
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

std::string time_words(const TimedPoint& point, double ms) {
  const std::string words = fmt::format("{:.3g} ms", ms);
  const auto& speedup = point.record->speedup;
  return speedup && speedup->speedup ? words + fmt::format(", {:.2f}x fp32's speed", *speedup->speedup) : words;
}

/// `tuning.points`: fp32 first.
std::string energy_words(const Tuning& tuning, double joules, const Document& timed) {
  const std::string words = fmt::format("{:.3g} J a sequence", joules);
  const std::optional<double> fp32 = cost_of(tuning, tuning.points.front(), timed);
  return fp32 ? words + fmt::format(", {:.2f} of fp32's", joules / *fp32) : words;
}

std::string cost_words(const Tuning& tuning, const TunePoint& point, const Document& timed) {
  const std::optional<double> cost = cost_of(tuning, point, timed);
  if (!cost) return "not timed";
  switch (tuning.aim) {
    case Aim::bytes:
      return format_bytes(*cost) + " of weights";
    case Aim::energy:
      return energy_words(tuning, *cost, timed);
    case Aim::latency:
    case Aim::decode:
      break;
  }
  return time_words(timed_point(tuning, point, timed), *cost);
}

/// Of points that keep the limit, why their cost is none; empty where all have one.
std::string without_cost_words(const Tuning& tuning, const Document& timed) {
  std::vector<std::string> points;
  for (const TunePoint& point : tuning.points) {
    const Table::Cell figure = facts_of(tuning.aim).figure(timed_point(tuning, point, timed));
    const auto* absent = std::get_if<Absent>(&figure);
    if (absent == nullptr || !keeps_limit(tuning, point)) continue;
    points.push_back(fmt::format("{} ({})", point.precision, absent->reason));
  }
  return fmt::format("{}", fmt::join(points, ", "));
}

/// What two figures with bounds leave open.
std::string open_words(const Tuning& tuning, const TunePoint& best, const TunePoint& other, const Document& timed) {
  const Table::Cell a = facts_of(tuning.aim).figure(timed_point(tuning, best, timed));
  const Table::Cell b = facts_of(tuning.aim).figure(timed_point(tuning, other, timed));
  const auto* own = std::get_if<Estimate>(&a);
  const auto* others = std::get_if<Estimate>(&b);
  if (tuning.aim != Aim::energy || own == nullptr || others == nullptr || own->high < others->low) return "";
  return " The meter's bounds do not tell the two apart.";
}

const TunePoint* best_uniform(const Tuning& tuning, const Document& timed) {
  const TunePoint* best = nullptr;
  for (const TunePoint& point : tuning.points) {
    const std::optional<double> cost = cost_of(tuning, point, timed);
    const bool is_candidate = !point.is_mix && cost && keeps_limit(tuning, point);
    if (is_candidate && (best == nullptr || *cost < *cost_of(tuning, *best, timed))) best = &point;
  }
  return best;
}

std::string verdict_words(const Tuning& tuning, const Document& timed) {
  const std::string limit = limit_words(tuning.limit);
  if (!is_scored(tuning)) {
    const bool has_one = best_tried(tuning) != nullptr;
    return fmt::format("Interrupted before anything was scored on rows that the search did not see: {} ({}).",
                       has_one ? "what is foretold to be cheapest of the mixes that keep the limit there is not checked"
                               : "no mix was found yet that keeps the limit",
                       limit);
  }
  const std::string lacking = without_cost_words(tuning, timed);
  if (!tuning.best && !lacking.empty())
    return fmt::format("No advice for {}: of what keeps the limit ({}), none has a figure to go by: {}.",
                       name(tuning.aim), limit, lacking);
  if (!tuning.best) return fmt::format("No precision and no mix that was tried keeps the limit ({}).", limit);
  const TunePoint& best = tuning.points[*tuning.best];
  std::string words = fmt::format("Take {}: {} ({}; limit: {}).", best.precision, cost_words(tuning, best, timed),
                                  kept_words(tuning, best), limit);
  if (!lacking.empty()) words += fmt::format(" Not chosen from, without a figure to go by: {}.", lacking);
  if (!best.is_mix)
    return words +
           (tuning.tried.empty() ? " No mix was tried." : " No mix that was tried is cheaper within the limit.");
  const TunePoint* const uniform = best_uniform(tuning, timed);
  if (uniform == nullptr) return words + " No uniform precision keeps it.";
  return words +
         fmt::format(" The best uniform precision that keeps it: {}, {} ({}).", uniform->precision,
                     cost_words(tuning, *uniform, timed), kept_words(tuning, *uniform)) +
         open_words(tuning, best, *uniform, timed);
}

std::string dropped_rows_words(const Tuning& tuning) {
  std::vector<std::string> rows;
  rows.reserve(tuning.left_out.size());
  for (const LeftOut& one : tuning.left_out) rows.push_back(fmt::format("{} ({})", one.precision, one.why));
  return rows.empty() ? "" : fmt::format(" No layer was given {}.", fmt::join(rows, ", "));
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
  words += dropped_rows_words(tuning);
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
  if (tuning.best && tuning.points[*tuning.best].is_mix) {
    tables.push_back(mix_table(tuning.points[*tuning.best]));
    tables.push_back(recipe_table(tuning.points[*tuning.best]));
  }
  document.tables.insert(document.tables.begin(), std::make_move_iterator(tables.begin()),
                         std::make_move_iterator(tables.end()));
  document.figures.insert(document.figures.begin(), front_figure(tuning, document));
  document.sentences.insert(document.sentences.begin(),
                            {.texts = {verdict_words(tuning, document), search_words(tuning)}});
}

}  // namespace assay
