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

/// The rest in a row, all linear layers in fp32.
Mix rest_alone(std::size_t row, std::size_t parts) {
  return {row, std::vector<std::size_t>(parts, 0)};
}

class Foreteller {
 public:
  Foreteller(const StudiedModel& subject, const ModelSensitivity& study, Aim aim, const LossStore& store)
      : subject_(subject), study_(study), aim_(aim), store_(store) {
    choices_.parts = parts_of(subject);
  }

  std::optional<MixChoices> run() {
    for (MixPart& part : choices_.parts) part.options.resize(rows());
    for (std::size_t row = 0; row < rows(); ++row) add_costs(row);
    add_rests();
    if (!measure_rests()) return std::nullopt;
    for (std::size_t row = 1; row < rows(); ++row) {
      if (!add_losses(row)) return std::nullopt;
    }
    return std::move(choices_);
  }

 private:
  std::size_t rows() const { return subject_.rows.size() + 1; }
  std::size_t whole() const { return subject_.units.size() - 1; }

  void add_costs(std::size_t row) {
    for (MixPart& part : choices_.parts) {
      for (const std::size_t unit : part.units) part.options[row].cost += cost_for(subject_, study_, aim_, row, unit);
    }
  }

  double cost_of_parts(std::size_t row) const {
    double sum = 0;
    for (const MixPart& part : choices_.parts) sum += part.options[row].cost;
    return sum;
  }

  void add_rests() {
    for (std::size_t row = 0; row < rows(); ++row) {
      const double rest = cost_for(subject_, study_, aim_, row, whole()) - cost_of_parts(row);
      choices_.rests.push_back({row, {std::max(0.0, rest), 0}});
    }
  }

  bool measure_rests() {
    std::vector<Recipe> recipes;
    recipes.reserve(choices_.rests.size());
    for (const MixRest& rest : choices_.rests)
      recipes.push_back(recipe_of(subject_, choices_, rest_alone(rest.row, choices_.parts.size()), "rest"));
    const auto qualities = losses_of(subject_, recipes, {}, store_);
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
    const auto qualities = losses_of(subject_, {alone}, {}, store_);
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

  const StudiedModel& subject_;
  const ModelSensitivity& study_;
  Aim aim_;
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
bool measure_losses(const StudiedModel& subject, std::span<const OpenLoss> open, const LossStore& store) {
  std::vector<std::unique_ptr<Instance>> own;
  std::vector<Instance*> instances;
  own.reserve(open.size());
  instances.reserve(open.size());
  for (const OpenLoss& one : open) {
    if (one.lent == nullptr)
      own.push_back(subject.instance(choose_precision(*one.recipe, native_16bit(subject.facts)), Fusion::on));
    instances.push_back(one.lent == nullptr ? own.back().get() : one.lent);
  }
  const auto found = qualities_of(subject, subject.set, instances);
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

std::optional<MixChoices> choices_of(const StudiedModel& subject, Aim aim, const ModelSensitivity& study,
                                     const LossStore& store) {
  return Foreteller(subject, study, aim, store).run();
}

std::optional<std::vector<UnitQuality>> losses_of(const StudiedModel& subject, const std::vector<Recipe>& recipes,
                                                  const std::vector<Instance*>& lent, const LossStore& store) {
  const std::vector<OpenLoss> open = open_losses(recipes, lent, store.known);
  for (std::size_t begin = 0; begin < open.size(); begin += scored_together) {
    const std::size_t count = std::min(scored_together, open.size() - begin);
    if (!measure_losses(subject, std::span(open).subspan(begin, count), store)) return std::nullopt;
  }
  std::vector<UnitQuality> qualities;
  qualities.reserve(recipes.size());
  for (const Recipe& recipe : recipes) qualities.push_back(store.known.at(recipe_text(recipe)));
  return qualities;
}

}  // namespace assay
