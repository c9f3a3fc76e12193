#include "studies/tune/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/interrupt.h"
#include "program/passes.h"
#include "runtime/instance.h"
#include "studies/sensitivity/units.h"
#include "studies/shared/engine.h"

namespace assay {
namespace {

constexpr int factors_of_two = 5;   ///< Above and below the guess, a budget for each.
constexpr int refinements = 2;      ///< Of the budget, each by budgets_between.
constexpr int budgets_between = 3;  ///< Between one that passes and one that does not.
constexpr std::size_t most_rests = 3;
constexpr std::size_t most_changes = 4;  ///< Of the best mix, measured before the next one is changed.

/// KL that a limit of another kind is looked for around: a relative rise of perplexity is near a difference in nats,
/// and a change of a class takes a larger one.
double kl_near(const LossLimit& limit) {
  return limit.kind == LossKind::drop ? 2 * limit.most : limit.most;
}

std::vector<double> first_budgets(double guess) {
  std::vector<double> budgets;
  budgets.reserve(1 + 2 * factors_of_two);
  for (int i = -factors_of_two; i <= factors_of_two; ++i) budgets.push_back(std::ldexp(guess, i));
  return budgets;
}

std::vector<double> between(double low, double high) {
  std::vector<double> budgets;
  budgets.reserve(budgets_between);
  for (int i = 1; i <= budgets_between; ++i)
    budgets.push_back(low * std::pow(high / low, static_cast<double>(i) / (budgets_between + 1)));
  return budgets;
}

class MixSearch {
 public:
  MixSearch(const MixChoices& choices, const SearchContext& context)
      : subject_(context.scoring.subject()), choices_(choices), context_(context) {}

  std::vector<TriedMix> run() {
    for (const std::size_t rest : promising_rests()) search_budgets(rest);
    repair();
    return std::move(tried_);
  }

 private:
  bool is_over() const { return is_set(subject_.callbacks.interrupted) || now_s() > context_.end_s; }

  bool passes(const TriedMix& tried) const {
    return loss_of(context_.request.limit.kind, tried.quality) <= aimed_share * context_.request.limit.most;
  }

  /// The foretold optimum at a budget of KL, less what the rest takes of it.
  std::optional<Mix> optimum(std::size_t rest, double budget) const {
    const double left = budget - choices_.rests[rest].option.loss;
    if (left <= 0) return std::nullopt;
    std::vector<std::vector<PartOption>> parts;
    parts.reserve(choices_.parts.size());
    for (const MixPart& part : choices_.parts) parts.push_back(part.options);
    const auto rows = cheapest_within(parts, left);
    return rows ? std::optional(Mix{rest, *rows}) : std::nullopt;
  }

  /// Those with which the limit is foretold to be kept for least: of each row the best cache.
  std::vector<std::size_t> promising_rests() const {
    std::vector<std::pair<double, std::size_t>> by_cost;
    for (std::size_t rest = 0; rest < choices_.rests.size(); ++rest) {
      if (const auto mix = optimum(rest, kl_near(context_.request.limit)))
        by_cost.emplace_back(foretold(choices_, *mix).cost, rest);
    }
    std::stable_sort(by_cost.begin(), by_cost.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::size_t> rests;
    for (const auto& [cost, rest] : by_cost) {
      const bool is_new = std::none_of(rests.begin(), rests.end(), [&, index = rest](std::size_t one) {
        return choices_.rests[one].row == choices_.rests[index].row;
      });
      if (is_new && rests.size() < most_rests) rests.push_back(rest);
    }
    return rests;
  }

  void search_budgets(std::size_t rest) {
    std::vector<double> budgets = first_budgets(kl_near(context_.request.limit));
    double low = 0;
    double high = std::numeric_limits<double>::infinity();
    for (int round = 0; round <= refinements && !is_over(); ++round) {
      std::vector<std::pair<double, Mix>> mixes;
      for (const double budget : budgets) {
        if (const auto mix = optimum(rest, budget)) mixes.emplace_back(budget, *mix);
      }
      measure(mixes);
      for (const auto& [budget, mix] : mixes) {
        const TriedMix* tried = find(mix);
        if (tried == nullptr) continue;
        if (passes(*tried))
          low = std::max(low, budget);
        else
          high = std::min(high, budget);
      }
      if (low <= 0 || high <= low || std::isinf(high)) return;
      budgets = between(low, high);
    }
  }

  const TriedMix* find(const Mix& mix) const {
    const auto found = std::find_if(tried_.begin(), tried_.end(), [&](const TriedMix& one) { return one.mix == mix; });
    return found == tried_.end() ? nullptr : &*found;
  }

  /// Of those that are new, as many as time allows.
  void measure(const std::vector<std::pair<double, Mix>>& mixes) {
    std::vector<TriedMix> open;
    for (const auto& budgeted : mixes) {
      const Mix& mix = budgeted.second;
      const bool is_waiting =
          std::any_of(open.begin(), open.end(), [&](const TriedMix& one) { return one.mix == mix; });
      if (!is_waiting && find(mix) == nullptr)
        open.push_back({mix, recipe_of(subject_, choices_, mix, "mix"), foretold(choices_, mix), {}});
    }
    for (std::size_t begin = 0; begin < open.size() && !is_over(); begin += scored_together)
      measure_together(std::span(open).subspan(begin, std::min(scored_together, open.size() - begin)));
  }

  /// After an interrupt those that were measured before.
  void measure_together(std::span<TriedMix> mixes) {
    say_progress();
    std::vector<std::unique_ptr<Instance>> own;
    std::vector<Instance*> instances;
    std::vector<Recipe> recipes;
    own.reserve(mixes.size());
    instances.reserve(mixes.size());
    recipes.reserve(mixes.size());
    for (TriedMix& one : mixes) {
      own.push_back(context_.scoring.instance(one.recipe));
      if (context_.request.aim == Aim::bytes) one.foretold.cost = bytes_of_constants(own.back()->program());
      instances.push_back(own.back().get());
      recipes.push_back(one.recipe);
    }
    losses_of(context_.scoring, recipes, instances, context_.store);
    for (TriedMix& one : mixes) {
      const auto known = context_.store.known.find(recipe_text(one.recipe));
      if (known == context_.store.known.end()) continue;
      one.quality = known->second;
      tried_.push_back(std::move(one));
    }
  }

  void say_progress() const {
    if (subject_.callbacks.progress)
      subject_.callbacks.progress(fmt::format("mix {}", tried_.size() + 1), std::max(0.0, context_.end_s - now_s()));
  }

  const TriedMix* best() const { return cheapest_within_limit(tried_, context_.request.limit, aimed_share); }

  /// The mix with another cache, where that takes less.
  void add_caches_of(const Mix& mix, std::vector<std::pair<double, Mix>>& changes) const {
    const MixRest& now = choices_.rests[mix.rest];
    for (std::size_t rest = 0; rest < choices_.rests.size(); ++rest) {
      const MixRest& other = choices_.rests[rest];
      if (other.row == now.row) add_change({rest, mix.rows}, now.option, other.option, changes);
    }
  }

  void add_change(Mix changed, const PartOption& now, const PartOption& other,
                  std::vector<std::pair<double, Mix>>& changes) const {
    const double saved = now.cost - other.cost;
    if (saved <= 0 || find(changed) != nullptr) return;
    changes.emplace_back(-saved / std::max(1e-12, other.loss - now.loss), std::move(changed));
  }

  /// The cheaper options of single parts and of the cache, those that save most for what they lose first.
  std::vector<std::pair<double, Mix>> changes_of(const Mix& mix) const {
    std::vector<std::pair<double, Mix>> changes;
    add_caches_of(mix, changes);
    for (std::size_t p = 0; p < mix.rows.size(); ++p) {
      const std::vector<PartOption>& options = choices_.parts[p].options;
      for (std::size_t row = 0; row < options.size(); ++row) {
        Mix changed = mix;
        changed.rows[p] = row;
        add_change(std::move(changed), options[mix.rows[p]], options[row], changes);
      }
    }
    std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return changes;
  }

  void repair() {
    while (!is_over()) {
      const TriedMix* const from = best();
      if (from == nullptr) return;
      const Mix mix = from->mix;
      std::vector<std::pair<double, Mix>> changes = changes_of(mix);
      changes.resize(std::min(changes.size(), most_changes));
      measure(changes);
      if (best()->mix == mix) return;
    }
  }

  const StudiedModel& subject_;
  const MixChoices& choices_;
  const SearchContext& context_;
  std::vector<TriedMix> tried_;
};

}  // namespace

double loss_of(LossKind kind, const UnitQuality& quality) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  if (!quality.failure.empty()) return unknown;
  if (kind == LossKind::kl) return quality.kl.value;
  if (kind == LossKind::perplexity) return quality.delta_nll ? std::expm1(quality.delta_nll->value) : unknown;
  return quality.accuracy_change ? -quality.accuracy_change->value : unknown;
}

std::optional<double> worst_loss(LossKind kind, const UnitQuality& quality) {
  const std::optional<Change> change = kind == LossKind::kl           ? std::optional(quality.kl)
                                       : kind == LossKind::perplexity ? quality.delta_nll
                                                                      : quality.accuracy_change;
  if (!change || !change->interval) return std::nullopt;
  if (kind == LossKind::kl) return change->interval->high;
  return kind == LossKind::perplexity ? std::expm1(change->interval->high) : -change->interval->low;
}

const TriedMix* cheapest_within_limit(const std::vector<TriedMix>& tried, const LossLimit& limit, double share) {
  const TriedMix* best = nullptr;
  for (const TriedMix& one : tried) {
    const bool passes = loss_of(limit.kind, one.quality) <= share * limit.most;
    if (passes && (best == nullptr || one.foretold.cost < best->foretold.cost)) best = &one;
  }
  return best;
}

std::vector<TriedMix> search_mixes(const MixChoices& choices, const SearchContext& context) {
  return MixSearch(choices, context).run();
}

}  // namespace assay
