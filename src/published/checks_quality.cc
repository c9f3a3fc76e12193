#include <cmath>

#include "published/checks.h"

namespace assay {
namespace {

void say_perplexity(const Measured& measured, const KnownModel& model, Complaints& say) {
  const bool is_high = measured.figure.value > model.perplexity_high;
  say.figure(
      measured,
      fmt::format("a perplexity of {} lies outside of {}: {}.", shown(measured), usual_perplexity_words(model),
                  is_high ? "padding that is scored as text does that (labels equal to input ids), or a wrong mask"
                          : "the text was seen in training, or tokens are counted twice"),
      fmt::format("{} ({})", shown(measured), model.source));
}

}  // namespace

void check_perplexity(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const Measured* measured = row.find(Quantity::perplexity);
    if (!measured) continue;
    const KnownModel* model = model_of(table, row);
    const Range range = measured->figure.range;
    if (range.high < 1) {
      say.figure(
          *measured,
          fmt::format("a perplexity of {} is below 1, which cannot be: it is a loss, or wrong.", shown(*measured)),
          shown(*measured));
    } else if (model && model->perplexity_high > 0) {
      if (!is_usual_perplexity(range, *model)) say_perplexity(*measured, *model, say);
    } else if (range.low > 150) {
      say.figure(
          *measured,
          fmt::format("a perplexity of {} is far above what trained language models reach on English text: scored "
                      "padding, a wrong mask, or another tokenizer (name the model with --model).",
                      shown(*measured)),
          shown(*measured), Severity::medium);
    }
  }
}

void check_accuracy_range(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const Measured* accuracy = row.find(Quantity::accuracy);
    if (!accuracy) continue;
    const double share = middle(accuracy_share(*accuracy));
    const KnownModel* model = model_of(table, row);
    if (share > 1.0001 || share < 0) {
      say.figure(*accuracy, fmt::format("an accuracy of {} is no share.", shown(*accuracy)), shown(*accuracy),
                 Severity::high);
      continue;
    }
    const double rows = scored_rows(table, row, *accuracy);
    if (!model || model->accuracy_high == 0 || rows == 0 || share == 0) continue;
    const double noise = 2 * std::sqrt(share * (1 - share) / rows);
    if (share + noise >= model->accuracy_low && share - noise <= model->accuracy_high) continue;
    say.figure(*accuracy,
               fmt::format("{} is outside of {} to {} %, which {} reaches on {}.", shown(*accuracy),
                           shown(100 * model->accuracy_low), shown(100 * model->accuracy_high), model->name,
                           model->accuracy_data),
               fmt::format("{} on {} rows ({})", shown(*accuracy), shown(rows), model->source));
  }
}

void check_accuracy_noise(const PublishedTable& table, Complaints& say) {
  for (const auto& group : table.groups()) {
    const Observation* baseline = baseline_of(group);
    if (!baseline || !baseline->find(Quantity::accuracy)) continue;
    const double base = middle(accuracy_share(*baseline->find(Quantity::accuracy)));
    for (const Observation* row : group) {
      const Measured* accuracy = row->find(Quantity::accuracy);
      if (row == baseline || !accuracy || base <= 0 || base >= 1) continue;
      const double difference = middle(accuracy_share(*accuracy)) - base;
      const double rows = scored_rows(table, *row, *accuracy);
      // Two independent shares; answers to the same rows are told apart better, but no table shows which changed.
      const double noise = rows > 0 ? 1.96 * std::sqrt(2 * base * (1 - base) / rows) : 0;
      if (difference == 0 || rows <= 0 || std::abs(difference) > noise || base - std::abs(difference) < 0) continue;
      say.figure(
          *accuracy,
          fmt::format("{:+.2f} points on {} rows are within noise (below {:.1f} points two shares are not told apart).",
                      100 * difference, shown(rows), 100 * noise),
          fmt::format("{} against {}", shown(*accuracy), shown(*baseline->find(Quantity::accuracy))));
    }
  }
}

}  // namespace assay
