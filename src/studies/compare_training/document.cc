#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "results/model_name.h"
#include "studies/compare_training/run.h"

namespace assay {
namespace {

/// The largest that is finite.
double most(const std::vector<double>& values) {
  double largest = -INFINITY;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

std::string loss_words(double loss) {
  return std::isfinite(loss) ? fmt::format("{:.3f}", loss) : "not finite";
}

std::string failing_words(const PrecisionCurves& one, const PrecisionCurves& first) {
  for (const TrainingCurve& curve : one.curves) {
    if (curve.diverged)
      return fmt::format("{} fails: in step {} its loss, its gradient or a weight is not finite; it ended there.",
                         one.name(), *curve.first_nonfinite);
  }
  const TrainingCurve& curve = one.curves.front();
  if (curve.first_nonfinite && curve.skipped == 0)
    return fmt::format("{} fails: in step {} its loss or gradient is not finite.", one.name(), *curve.first_nonfinite);
  if (!one.final_loss) return fmt::format("{} fails: losses of its last steps are not finite.", one.name());
  if (curve.loss.size() < 2) return fmt::format("{} has a single loss, which shows no fall.", one.name());
  const std::string other = &one != &first && first.final_loss
                                ? fmt::format(", where {}'s goes to {}", first.name(), loss_words(*first.final_loss))
                                : "";
  return fmt::format("{} fails: its loss goes from {} to {}, {} at most{}.", one.name(), loss_words(curve.loss.front()),
                     loss_words(*one.final_loss), loss_words(most(curve.loss)), other);
}

std::string target_words(const TrainingComparison& comparison) {
  return comparison.target_loss ? fmt::format("{:.3f}", *comparison.target_loss) : "target";
}

/// A training, and what it is one of.
struct NamedCurve {
  const PrecisionCurves* row;
  const TrainingCurve* curve;
};

std::vector<NamedCurve> curves_of(const TrainingComparison& comparison) {
  std::vector<NamedCurve> all;
  for (const PrecisionCurves& one : comparison.precisions) {
    for (const TrainingCurve& curve : one.curves) all.push_back({&one, &curve});
  }
  return all;
}

/// With its interval, where there are windows enough.
Table::Cell held_out_cell(const PrecisionCurves& one) {
  if (!one.held_out_difference) return Absent{};
  const WindowMean& mean = *one.held_out_difference;
  if (!mean.interval) return mean.value;
  return Estimate{mean.value, mean.interval->low, mean.interval->high};
}

Table::Cell seed_cell(const std::optional<SeedMean>& mean, double unit) {
  if (!mean) return Absent{};
  if (!mean->interval) return unit * mean->value;
  return Estimate{unit * mean->value, unit * mean->interval->low, unit * mean->interval->high};
}

Table::Cell bytes_cell(const PrecisionCurves& row, std::int64_t bytes) {
  return row.curves.empty() ? Table::Cell(Absent{}) : Table::Cell(bytes);
}

using TrainingColumns = std::vector<ColumnOf<PrecisionCurves>>;

/// Brief where some training has it, else for those who read the data.
template <typename Has>
Detail where_asked(const TrainingComparison& comparison, Has has) {
  return std::ranges::any_of(comparison.precisions, has) ? Detail::brief : Detail::data;
}

Detail of_storage(const TrainingComparison& comparison) {
  return where_asked(comparison, [](const PrecisionCurves& one) { return !one.storage.words().empty(); });
}

/// How each is trained.
void add_ways(const TrainingComparison& comparison, TrainingColumns& columns) {
  using Row = PrecisionCurves;
  using Cell = Table::Cell;
  const Detail stored = of_storage(comparison);
  const Detail reduced = where_asked(comparison, [](const Row& one) { return one.reduce.has_value(); });
  columns.insert(
      columns.end(),
      {{{.key = "precision", .role = Table::Role::label}, [](const Row& row) -> Cell { return row.precision; }},
       {{.key = "states", .role = Table::Role::label, .detail = stored},
        [](const Row& row) -> Cell { return row.storage.states->name; }},
       {{.key = "gradients", .role = Table::Role::label, .detail = stored},
        [](const Row& row) -> Cell { return gradient_word(row.storage.gradients); }},
       {{.key = "reduce", .role = Table::Role::label, .detail = reduced},
        [](const Row& row) -> Cell { return std::string(row.reduce ? row.reduce->name : std::string_view()); }}});
}

/// Losses in training, and how far they are from the first's.
void add_training_losses(const TrainingComparison& comparison, TrainingColumns& columns) {
  using Row = PrecisionCurves;
  using Cell = Table::Cell;
  const std::string first = comparison.precisions.front().name();
  columns.insert(columns.end(), {{{.key = "failure", .title = "why none"},
                                  [](const Row& row) -> Cell { return text_or_absent(row.failure); }},
                                 {{.key = "final_loss",
                                   .title = "final loss",
                                   .unit = "nat",
                                   .meaning = "mean loss of the last tenth of the steps",
                                   .notation = Notation::fixed,
                                   .digits = 4},
                                  [](const Row& row) { return or_absent(row.final_loss); }},
                                 {{.key = "difference",
                                   .title = "less " + first,
                                   .unit = "nat",
                                   .meaning = "difference to the first precision on the same batches",
                                   .notation = Notation::fixed,
                                   .digits = 4,
                                   .sign = Sign::always},
                                  [](const Row& row) { return or_absent(row.difference); }},
                                 {{.key = "difference_se",
                                   .title = "standard error",
                                   .meaning = "of that difference, over blocks of five steps",
                                   .notation = Notation::fixed,
                                   .digits = 4},
                                  [](const Row& row) { return or_absent(row.difference_se); }},
                                 {{.key = "seed_difference",
                                   .title = "over seeds",
                                   .unit = "nat",
                                   .meaning = "difference of final losses, mean over seeds, 95 % interval of that mean",
                                   .notation = Notation::fixed,
                                   .digits = 4,
                                   .sign = Sign::always,
                                   .more_keys = {"seed_difference_low", "seed_difference_high"}},
                                  [](const Row& row) { return seed_cell(row.seed_difference, 1); }}});
}

/// Memory and time of a step.
void add_step_costs(const TrainingComparison& comparison, TrainingColumns& columns) {
  using Row = PrecisionCurves;
  columns.insert(columns.end(), {{{.key = "held_bytes",
                                   .title = "held",
                                   .unit = "bytes",
                                   .meaning = "parameters, gradients and moments",
                                   .notation = Notation::bytes},
                                  [](const Row& row) { return bytes_cell(row, row.held.total()); }},
                                 {{.key = "moment_bytes",
                                   .title = "moments",
                                   .unit = "bytes",
                                   .meaning = "of the optimizer, scales included",
                                   .notation = Notation::bytes,
                                   .detail = of_storage(comparison)},
                                  [](const Row& row) { return bytes_cell(row, row.held.moments); }},
                                 {{.key = "step_ms",
                                   .title = "step",
                                   .unit = "ms",
                                   .meaning = "median of the steps, mean over seeds, 95 % interval of that mean",
                                   .notation = Notation::fixed,
                                   .digits = 1,
                                   .more_keys = {"step_ms_low", "step_ms_high"}},
                                  [](const Row& row) { return seed_cell(row.step_s, 1e3); }}});
}

/// Losses on held-out data.
void add_held_out(const TrainingComparison& comparison, TrainingColumns& columns) {
  using Row = PrecisionCurves;
  const std::string first = comparison.precisions.front().name();
  columns.insert(
      columns.end(),
      {{{.key = "held_out_loss",
         .title = "held out",
         .unit = "nat",
         .meaning = "mean loss on held-out data behind the last step",
         .notation = Notation::fixed,
         .digits = 4},
        [](const Row& row) { return or_absent(row.held_out_loss); }},
       {{.key = "held_out_difference",
         .title = "held out, less " + first,
         .unit = "nat",
         .meaning = "difference to the first precision on the same held-out tokens, 95 % interval over windows",
         .notation = Notation::fixed,
         .digits = 4,
         .sign = Sign::always,
         .more_keys = {"held_out_difference_low", "held_out_difference_high"}},
        [](const Row& row) { return held_out_cell(row); }}});
}

/// What it takes to reach the target.
void add_target(const TrainingComparison& comparison, TrainingColumns& columns) {
  using Row = PrecisionCurves;
  columns.insert(columns.end(),
                 {{{.key = "seconds_to_target",
                    .title = "to " + target_words(comparison),
                    .unit = "s",
                    .meaning = "time until the mean of ten losses (of fewer in a short run) is there",
                    .notation = Notation::fixed,
                    .digits = 1},
                   [](const Row& row) { return or_absent(row.seconds_to_target); }},
                  {{.key = "joules_to_target", .title = "energy to it", .unit = "J", .detail = Detail::details},
                   [](const Row& row) { return or_absent(row.joules_to_target); }}});
}

Table precisions_table(const TrainingComparison& comparison) {
  TrainingColumns columns;
  for (const auto add : {add_ways, add_training_losses, add_step_costs, add_held_out, add_target})
    add(comparison, columns);
  const std::string first = comparison.precisions.front().name();
  return filled(
      {.key = "precisions",
       .legend = fmt::format("final loss: mean of the last tenth of the steps; less {}: on the same batches; "
                             "to {}: time until the mean of ten losses (of fewer in a short run) is there; energy: {}",
                             first, target_words(comparison), comparison.energy_status)},
      columns, comparison.precisions);
}

Table curves_table(const TrainingComparison& comparison) {
  using Row = NamedCurve;
  using Cell = Table::Cell;
  constexpr auto data = Detail::data;
  constexpr auto label = Table::Role::label;
  const std::vector<ColumnOf<Row>> columns = {
      {{.key = "precision", .role = label}, [](const Row& row) -> Cell { return row.row->name(); }},
      {{.key = "seed", .role = label}, [](const Row& row) -> Cell { return row.curve->seed; }},
      {{.key = "skipped", .title = "steps skipped"}, [](const Row& row) -> Cell { return row.curve->skipped; }},
      {{.key = "last_lost_share",
        .title = "lost now",
        .meaning = "parameters whose last update was not zero and rounded to nothing",
        .notation = Notation::percent,
        .digits = 2},
       [](const Row& row) -> Cell {
         return row.curve->lost_share.empty() ? Cell(Absent{}) : Cell(row.curve->lost_share.back());
       }},
      {{.key = "first_nonfinite",
        .title = "not finite",
        .unit = "step",
        .meaning = "first step with an infinite or NaN loss or gradient"},
       [](const Row& row) { return or_absent(row.curve->first_nonfinite); }},
      {{.key = "diverged"}, [](const Row& row) -> Cell { return row.curve->diverged; }},
      {{.key = "loss", .unit = "nat"}, [](const Row& row) -> Cell { return row.curve->loss; }},
      {{.key = "gradient_norm", .detail = data}, [](const Row& row) -> Cell { return row.curve->gradient_norm; }},
      {{.key = "loss_scale", .detail = data}, [](const Row& row) -> Cell { return row.curve->loss_scale; }},
      {{.key = "lost_share", .detail = data}, [](const Row& row) -> Cell { return row.curve->lost_share; }},
      {{.key = "at_s", .unit = "s", .detail = data}, [](const Row& row) -> Cell { return row.curve->at_s; }},
      {{.key = "at_j", .unit = "J", .detail = data}, [](const Row& row) -> Cell { return row.curve->at_j; }}};
  return filled({.key = "curves",
                 .legend = "lost now: parameters whose last update was not zero and rounded to nothing; not finite: "
                           "first step with an infinite or NaN loss or gradient; ^ in a curve: above every loss of " +
                           comparison.precisions.front().name()},
                columns, curves_of(comparison));
}

/// An operand of a layer's products, and in which precision.
struct RoundedOperand {
  const PrecisionCurves* row;
  const ScaleShares* shares;

  double worst() const { return std::max(shares->saturated, shares->flushed); }
};

std::vector<RoundedOperand> rounded_operands(const PrecisionCurves& row) {
  std::vector<RoundedOperand> all;
  all.reserve(row.scales.size());
  for (const ScaleShares& shares : row.scales) all.push_back({&row, &shares});
  return all;
}

/// Every operand, or of each precision those that lose most.
Table scales_table(const TrainingComparison& comparison, Detail detail) {
  constexpr std::size_t most = 6;
  constexpr auto label = Table::Role::label;
  std::vector<RoundedOperand> rows;
  for (const PrecisionCurves& one : comparison.precisions) {
    std::vector<RoundedOperand> mine = rounded_operands(one);
    if (detail == Detail::brief) std::ranges::stable_sort(mine, std::greater<>(), &RoundedOperand::worst);
    if (detail == Detail::brief && mine.size() > most) mine.resize(most);
    rows.insert(rows.end(), mine.begin(), mine.end());
  }
  const auto share = [](const char* key, const char* title, const char* meaning, double ScaleShares::*of) {
    return ColumnOf<RoundedOperand>{
        {.key = key, .title = title, .meaning = meaning, .notation = Notation::percent, .digits = 3},
        [of](const RoundedOperand& row) -> Table::Cell { return row.shares->*of; }};
  };
  const std::vector<ColumnOf<RoundedOperand>> columns = {
      {{.key = "precision", .role = label}, [](const RoundedOperand& row) -> Table::Cell { return row.row->name(); }},
      {{.key = "layer", .role = label}, [](const RoundedOperand& row) -> Table::Cell { return row.shares->layer; }},
      {{.key = "operand", .role = label}, [](const RoundedOperand& row) -> Table::Cell { return row.shares->operand; }},
      share("saturated", "saturated", "values beyond the scale's limit, which became it", &ScaleShares::saturated),
      share("flushed", "to zero", "values that are not zero and became it", &ScaleShares::flushed),
      {{.key = "largest", .meaning = "magnitude", .notation = Notation::general, .digits = 3},
       [](const RoundedOperand& row) -> Table::Cell { return row.shares->largest; }}};
  const bool is_brief = detail == Detail::brief;
  return filled(
      {.key = is_brief ? "scales_worst" : "scales",
       .caption = is_brief ? "Products of 8 bits: the operands that lose most, means over the first seed's steps"
                           : "Products of 8 bits: every operand",
       .legend = "x: inputs, e4m3; w: weights, e4m3; dy: gradients of outputs, e5m2",
       .detail = detail},
      columns, rows);
}

/// A line a precision: its first seed. Losses above those of the first precision would leave no room for the others.
Figure loss_figure(const TrainingComparison& comparison) {
  Figure figure{.key = "loss", .caption = fmt::format("Loss over {} steps", comparison.steps)};
  figure.x = {.title = "step", .categories = {}};
  figure.y = {.title = "loss", .unit = "nat", .categories = {}};
  double highest = -INFINITY;
  for (const PrecisionCurves& one : comparison.precisions) {
    if (one.curves.empty()) continue;
    const std::vector<double>& loss = one.curves.front().loss;
    if (!std::isfinite(highest)) highest = most(loss);
    Figure::Series& series = figure.series.emplace_back(Figure::Series{.name = one.name()});
    for (std::size_t step = 0; step < loss.size(); ++step)
      series.points.push_back({.x = static_cast<double>(step), .y = loss[step] <= highest ? loss[step] : std::nan("")});
  }
  return figure;
}

/// Which operand loses most in rounding to 8 bits; a thousandth is worth saying.
std::string rounding_words(const PrecisionCurves& one) {
  constexpr double least = 1e-3;
  const std::vector<RoundedOperand> all = rounded_operands(one);
  const auto worst = std::ranges::max_element(all, {}, &RoundedOperand::worst);
  if (worst == all.end() || worst->worst() < least) return "";
  const ScaleShares& shares = *worst->shares;
  return fmt::format("{} rounds {} of {} worst: {:.2g} % of its values saturate, {:.2g} % become zero.", one.name(),
                     shares.operand, shares.layer, 100 * shares.saturated, 100 * shares.flushed);
}

}  // namespace

std::vector<std::string> comparison_notes(const TrainingComparison& comparison) {
  std::vector<std::string> notes;
  constexpr double least_told = 0.01;  // nat
  const std::string first = comparison.precisions.front().name();
  for (const PrecisionCurves& one : comparison.precisions) {
    if (one.curves.empty()) continue;
    if (std::string words = rounding_words(one); !words.empty()) notes.push_back(std::move(words));
    const TrainingCurve& curve = one.curves.front();
    const bool is_above = one.difference && one.difference_se && *one.difference > 2 * *one.difference_se;
    if (!one.learned) {
      notes.push_back(failing_words(one, comparison.precisions.front()));
    } else if (is_above && curve.lost_share.back() > 0.1 && *one.difference > least_told) {
      notes.push_back(
          fmt::format("{} loses {:.0f} % of its updates to rounding in the last step and ends {:.3f} above {}.",
                      one.name(), 100 * curve.lost_share.back(), *one.difference, first));
    }
  }
  return notes;
}

Document to_document(const TrainingComparison& comparison) {
  Document document;
  document.subject = {.schema = "assay-training-comparison-2",
                      .title = fmt::format("{}, {}, {} steps; the same batches in the same order from the same weights",
                                           shown_model_name(comparison.model), comparison.data, comparison.steps)};
  Table& facts = document.subject.facts;
  facts.detail = Detail::data;
  add_fact(facts, {.key = "model"}, comparison.model);
  add_fact(facts, {.key = "data"}, comparison.data);
  add_fact(facts, {.key = "steps"}, comparison.steps);
  add_fact(facts, {.key = "target_loss"}, or_absent(comparison.target_loss));
  add_fact(facts, {.key = "energy_status"}, comparison.energy_status);
  document.tables = {precisions_table(comparison), curves_table(comparison)};
  const auto is_rounded = [](const PrecisionCurves& one) { return !one.scales.empty(); };
  if (std::ranges::any_of(comparison.precisions, is_rounded)) {
    for (const Detail detail : {Detail::brief, Detail::details})
      document.tables.push_back(scales_table(comparison, detail));
  }
  document.figures = {loss_figure(comparison)};
  document.sentences = {{.texts = comparison_notes(comparison)}};
  return document;
}

}  // namespace assay
