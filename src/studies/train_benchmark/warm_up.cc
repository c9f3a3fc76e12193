#include "studies/train_benchmark/warm_up.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "results/identity.h"

namespace assay {
namespace {

/// Rows of one step, by length of warm-up.
using SameStep = std::vector<const Record*>;

bool has_warm_up_figures(const Record& record) {
  return record.outcome.status == Status::ok && record.setting.warmup_steps && record.training->mean_step_ms &&
         record.training->std_step_ms && record.training->step_ms;
}

/// Those with two lengths at least.
std::vector<SameStep> steps_after_warm_ups(std::span<const Record> records) {
  std::vector<SameStep> groups;
  for (const Record& record : records) {
    if (!has_warm_up_figures(record)) continue;
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const SameStep& group) {
      return same_but_for_warm_up(*group.front(), record);
    });
    if (known == groups.end()) {
      groups.push_back({&record});
    } else {
      known->push_back(&record);
    }
  }
  for (SameStep& group : groups) {
    std::stable_sort(group.begin(), group.end(), [](const Record* a, const Record* b) {
      return *a->setting.warmup_steps < *b->setting.warmup_steps;
    });
  }
  std::erase_if(groups, [](const SameStep& group) {
    return *group.front()->setting.warmup_steps == *group.back()->setting.warmup_steps;
  });
  return groups;
}

std::string step_title(const Record& record) {
  const Setting& setting = record.setting;
  return fmt::format("{}, {}, {} x {}{}", setting.model, setting.precision, setting.batch, setting.seq,
                     setting.fusion == Switch::off ? ", unfused" : "");
}

Figure figure_by_warm_up(const std::vector<SameStep>& groups) {
  Figure figure{.kind = FigureKind::lines,
                .key = "warm_up",
                .caption = "A step after several lengths of warm-up",
                .legend = "Each row counts as many steps. Means with a standard deviation to either side, and medians.",
                .x = {.title = "steps of warm-up"},
                .y = {.title = "step", .unit = "ms", .low = 0}};
  for (const SameStep& group : groups) {
    Figure::Series means{.name = step_title(*group.front()) + ": mean ± std"};
    Figure::Series medians{.name = step_title(*group.front()) + ": median"};
    for (const Record* record : group) {
      const auto x = static_cast<double>(*record->setting.warmup_steps);
      const double mean = *record->training->mean_step_ms;
      const double deviation = *record->training->std_step_ms;
      means.points.push_back({.x = x,
                              .y = mean,
                              .low = mean - deviation,
                              .high = mean + deviation,
                              .words = fmt::format("after {} steps: mean {} ± {} ms", x, format_significant(mean),
                                                   format_significant(deviation))});
      medians.points.push_back({.x = x, .y = *record->training->step_ms});
    }
    figure.series.push_back(std::move(means));
    figure.series.push_back(std::move(medians));
  }
  return figure;
}

/// The row after the shortest warm-up has the first steps; one after a longer warm-up, of the same run, more of them.
Figure figure_of_steps(const std::vector<SameStep>& groups) {
  Figure figure{.kind = FigureKind::lines,
                .key = "steps_in_order",
                .caption = "Steps in their order, the first ones too",
                .x = {.title = "step"},
                .y = {.title = "step", .unit = "ms", .low = 0}};
  for (const SameStep& group : groups) {
    const auto length = [](const Record* r) { return r->latency->warm_up_ms.size() + r->latency->raw_ms.size(); };
    const Record& longest = **std::max_element(group.begin(), group.end(),
                                               [&](const Record* a, const Record* b) { return length(a) < length(b); });
    Figure::Series series{.name = step_title(longest)};
    for (const std::vector<double>* part : {&longest.latency->warm_up_ms, &longest.latency->raw_ms}) {
      for (const double ms : *part)
        series.points.push_back({.x = static_cast<double>(series.points.size() + 1), .y = ms});
    }
    figure.series.push_back(std::move(series));
  }
  return figure;
}

}  // namespace

bool same_but_for_warm_up(const Record& a, const Record& b) {
  Setting like_a = b.setting;
  like_a.warmup_steps = a.setting.warmup_steps;
  return stand_together(a.setting, like_a, Level::row);
}

std::vector<Figure> warm_up_figures(std::span<const Record> records) {
  const std::vector<SameStep> groups = steps_after_warm_ups(records);
  if (groups.empty()) return {};
  return {figure_by_warm_up(groups), figure_of_steps(groups)};
}

}  // namespace assay
