#include "studies/tune/options.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "program/passes.h"
#include "runtime/instance.h"
#include "studies/sensitivity/units.h"
#include "studies/shared/engine.h"
#include "studies/tune/aims.h"
#include "studies/tune/caches.h"
#include "tensor/baseline_precision.h"
#include "tensor/recipe.h"

namespace assay {
namespace {

const UnitRow& row_at(const StudiedModel& subject, const ModelSensitivity& study, std::size_t row, std::size_t unit) {
  return study.rows_by_unit[(row - 1) * subject.units.size() + unit];
}

/// What a unit takes for the aim in a row; 0 is fp32.
double cost_for(const StudiedModel& subject, const ModelSensitivity& study, Aim aim, std::size_t row,
                std::size_t unit) {
  const UnitCost& cost = *row_at(subject, study, std::max<std::size_t>(row, 1), unit).cost;
  const AimFacts& facts = facts_of(aim);
  return row == 0 ? cost.*facts.fp32 : cost.*facts.low;
}

/// A rest, all linear layers in fp32.
Mix rest_alone(std::size_t rest, std::size_t parts) {
  return {rest, std::vector<std::size_t>(parts, 0)};
}

class Foreteller {
 public:
  Foreteller(const TuneRequest& request, const ModelSensitivity& study, const Scoring& scoring, const LossStore& store)
      : request_(request), subject_(scoring.subject()), study_(study), scoring_(scoring), store_(store) {
    choices_.parts = parts_of(subject_);
  }

  std::optional<MixChoices> run() {
    for (MixPart& part : choices_.parts) part.options.resize(rows());
    for (std::size_t row = 0; row < rows(); ++row) add_costs(row);
    add_rests();
    if (!measure_rests()) return std::nullopt;
    for (std::size_t row = 1; row < rows(); ++row) {
      if (!add_losses(row)) return std::nullopt;
    }
    if (request_.aim == Aim::decode && !add_caches()) return std::nullopt;
    return std::move(choices_);
  }

 private:
  std::size_t rows() const { return subject_.rows.size() + 1; }
  std::size_t whole() const { return subject_.units.size() - 1; }

  void add_costs(std::size_t row) {
    for (MixPart& part : choices_.parts) {
      for (const std::size_t unit : part.units)
        part.options[row].cost += cost_for(subject_, study_, request_.aim, row, unit);
    }
  }

  double cost_of_parts(std::size_t row) const {
    double sum = 0;
    for (const MixPart& part : choices_.parts) sum += part.options[row].cost;
    return sum;
  }

  void add_rests() {
    for (std::size_t row = 0; row < rows(); ++row) {
      const double rest = cost_for(subject_, study_, request_.aim, row, whole()) - cost_of_parts(row);
      choices_.rests.push_back({row, first_cache(), {std::max(0.0, rest), 0}});
    }
  }

  bool measure_rests() {
    std::vector<Recipe> recipes;
    recipes.reserve(choices_.rests.size());
    for (std::size_t rest = 0; rest < choices_.rests.size(); ++rest)
      recipes.push_back(recipe_of(subject_, choices_, rest_alone(rest, choices_.parts.size()), "rest"));
    const auto qualities = losses_of(scoring_, recipes, {}, store_);
    if (!qualities) return false;
    for (std::size_t i = 0; i < choices_.rests.size(); ++i)
      choices_.rests[i].option.loss = (*qualities)[i].failure.empty() ? (*qualities)[i].kl.value : unbearable;
    return true;
  }

  /// KL of a unit alone, measured.
  std::optional<double> measured_kl(std::size_t row, std::size_t unit) {
    const Recipe alone{.name = "alone",
                       .rest = &baseline_precision(),
                       .layers = {{subject_.units[unit].name, &find_precision(subject_.rows[row - 1].row.name)}}};
    const auto qualities = losses_of(scoring_, {alone}, {}, store_);
    if (!qualities) return std::nullopt;
    return qualities->front().failure.empty() ? qualities->front().kl.value : unbearable;
  }

  bool add_losses(std::size_t row) {
    double sum = 0;
    for (MixPart& part : choices_.parts) {
      for (const std::size_t unit : part.units) {
        std::optional<double> loss = foretold_kl(row_at(subject_, study_, row, unit));
        if (!loss) loss = measured_kl(row, unit);
        if (!loss) return false;
        sum += *loss;
        part.options[row].loss += *loss;
      }
    }
    scale_losses(row, sum);
    return true;
  }

  /// What rests are scored with: a cache that loses nothing, so that what each dtype loses can be added.
  std::optional<DType> first_cache() const {
    return request_.aim == Aim::decode ? std::optional(DType::f32) : std::nullopt;
  }

  /// Each rest with each cache: what both take and lose. False after an interrupt.
  bool add_caches() {
    const auto caches = cache_options(request_, scoring_, store_);
    if (!caches) return false;
    std::vector<MixRest> with_caches;
    with_caches.reserve(choices_.rests.size() * caches->size());
    for (const MixRest& rest : choices_.rests) {
      for (const CacheOption& cache : *caches)
        with_caches.push_back(
            {rest.row, cache.kv, {rest.option.cost + cache.option.cost, rest.option.loss + cache.option.loss}});
    }
    choices_.rests = std::move(with_caches);
    return true;
  }

  /// Together they become what the whole loses beyond its rest.
  void scale_losses(std::size_t row, double sum) {
    const UnitQuality& whole_quality = *row_at(subject_, study_, row, whole()).only;
    if (!whole_quality.failure.empty()) return refuse_row(row);
    if (sum <= 0) return;
    const double scale = std::max(least_scale, (whole_quality.kl.value - loss_of_rest(row)) / sum);
    for (MixPart& part : choices_.parts) part.options[row].loss *= scale;
  }

  void refuse_row(std::size_t row) {
    for (MixPart& part : choices_.parts) part.options[row].loss = unbearable;
  }

  double loss_of_rest(std::size_t row) const {
    const auto rest =
        std::find_if(choices_.rests.begin(), choices_.rests.end(), [&](const MixRest& one) { return one.row == row; });
    return rest == choices_.rests.end() ? 0 : rest->option.loss;
  }

  /// A row that is not finite is taken nowhere.
  static constexpr double unbearable = 1e9;
  /// Whatever noise says, no loss becomes a gain.
  static constexpr double least_scale = 0.05;

  const TuneRequest& request_;
  const StudiedModel& subject_;
  const ModelSensitivity& study_;
  const Scoring& scoring_;
  const LossStore& store_;
  MixChoices choices_;
};

/// One that is to be measured.
struct OpenLoss {
  std::string text;
  const Recipe* recipe;
  Instance* lent;  ///< Null: none.
};

/// Those that the store lacks, each once.
std::vector<OpenLoss> open_losses(const std::vector<Recipe>& recipes, const std::vector<Instance*>& lent,
                                  const MeasuredLosses& known) {
  std::vector<OpenLoss> open;
  open.reserve(recipes.size());
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    std::string text = recipe_text(recipes[i]);
    const bool is_open = std::any_of(open.begin(), open.end(), [&](const OpenLoss& one) { return one.text == text; });
    if (!is_open && !known.contains(text))
      open.push_back({std::move(text), &recipes[i], lent.empty() ? nullptr : lent[i]});
  }
  return open;
}

/// All of them beside one run of fp32. False after an interrupt.
bool measure_losses(const Scoring& scoring, std::span<const OpenLoss> open, const LossStore& store) {
  std::vector<std::unique_ptr<Instance>> own;
  std::vector<Instance*> instances;
  own.reserve(open.size());
  instances.reserve(open.size());
  for (const OpenLoss& one : open) {
    if (one.lent == nullptr) own.push_back(scoring.instance(*one.recipe));
    instances.push_back(one.lent == nullptr ? own.back().get() : one.lent);
  }
  const auto found = scoring.qualities(scoring.subject().set, instances);
  if (!found) return false;
  for (std::size_t i = 0; i < open.size(); ++i) store.known[open[i].text] = (*found)[i];
  if (store.keep) store.keep();
  return true;
}

}  // namespace

std::optional<double> foretold_kl(const UnitRow& row) {
  if (!row.estimate || !row.error) return std::nullopt;
  if (!row.error->snr_db || !row.error->weight_snr_db) return row.estimate->fisher;
  const double amplified = std::pow(10, (*row.error->weight_snr_db - *row.error->snr_db) / 10);
  return row.estimate->fisher * std::max(1.0, amplified);
}

std::optional<MixChoices> choices_of(const TuneRequest& request, const ModelSensitivity& study, const Scoring& scoring,
                                     const LossStore& store) {
  return Foreteller(request, study, scoring, store).run();
}

std::optional<std::vector<UnitQuality>> losses_of(const Scoring& scoring, const std::vector<Recipe>& recipes,
                                                  const std::vector<Instance*>& lent, const LossStore& store) {
  const std::vector<OpenLoss> open = open_losses(recipes, lent, store.known);
  for (std::size_t begin = 0; begin < open.size(); begin += scored_together) {
    const std::size_t count = std::min(scored_together, open.size() - begin);
    if (!measure_losses(scoring, std::span(open).subspan(begin, count), store)) return std::nullopt;
  }
  std::vector<UnitQuality> qualities;
  qualities.reserve(recipes.size());
  for (const Recipe& recipe : recipes) qualities.push_back(store.known.at(recipe_text(recipe)));
  return qualities;
}

}  // namespace assay
