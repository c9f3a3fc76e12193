#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/threads.h"
#include "quality/loss.h"
#include "studies/sensitivity/alone.h"
#include "studies/sensitivity/run.h"
#include "studies/shared/training_step.h"

namespace assay {
namespace {

/// One row of a batch, with what it is to predict; made up where the model has random weights and no labels count.
TrainingBatch row_of_batch(const StudiedModel& subject, const QualityBatch& batch, std::int64_t row) {
  const auto seq = static_cast<std::ptrdiff_t>(batch.extent.seq);
  const auto cut = [&](const auto& values, std::ptrdiff_t width) {
    using Values = std::decay_t<decltype(values)>;
    return values.empty() ? Values{} : Values(values.begin() + row * width, values.begin() + (row + 1) * width);
  };
  TrainingBatch part{{1, batch.extent.seq}, cut(batch.ids, seq), cut(batch.mask, seq), {}, cut(batch.token_types, seq)};
  const auto labels_a_row = static_cast<std::ptrdiff_t>(batch.targets.size()) / batch.extent.batch;
  part.labels = cut(batch.targets, labels_a_row);
  if (!part.labels.empty()) return part;
  part.labels = made_up_labels(subject.model.config, part.input_ids, part.extent);
  return part;
}

/// Sums over a layer's weight: gradient times error, and squares of both.
struct Products {
  double first = 0;
  double squares = 0;
};

/// Adds those of one weight, whose errors come first.
void add_products(Products& sum, const Tensor& gradient, std::span<const float> error) {
  const auto* const slopes = gradient.as<float>();
  const auto count = static_cast<std::size_t>(gradient.count());
  for (std::size_t i = 0; i < count; ++i) {
    const double product = static_cast<double>(slopes[i]) * error[i];
    sum.first += product;
    sum.squares += product * product;
  }
}

/// The errors of a layer's weights as stored, one after the other. f32, in the order of their gradients.
std::vector<float> weight_error(const StudiedModel& subject, const ModelUnit& unit, const PrecisionChoice& choice) {
  const Node& linear = linear_at(subject.built, unit.name);
  std::vector<float> exact = LayerAlone(subject, linear, subject.fp32, {1, 1}).stored_weight();
  std::vector<float> error = LayerAlone(subject, linear, choice, {1, 1}).stored_weight();
  for (std::size_t i = 0; i < error.size(); ++i) error[i] -= exact[i];
  return error;
}

/// A layer in one precision, while rows are added.
struct Summed {
  UnitRow* row = nullptr;
  const PrecisionChoice* choice = nullptr;
  Products sum = {};
};

/// A tied head shares its table with the embedding: the gradient is that of both uses, and foretells neither alone.
bool is_tied(const Program& built, const std::string& weight) {
  int uses = 0;
  for (const Node& node : built.nodes) {
    uses += static_cast<int>(std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      return id != no_value && built.value(id).source == Source::weight && built.value(id).name == weight;
    }));
  }
  return uses > 1;
}

std::vector<Summed> linear_rows(const StudiedModel& subject, ModelSensitivity& study) {
  std::vector<Summed> rows;
  rows.reserve(study.rows_by_unit.size());
  for (std::size_t i = 0; i < study.rows_by_unit.size(); ++i) {
    UnitRow& row = study.rows_by_unit[i];
    if (row.unit.is_linear() && !is_tied(subject.built, row.unit.weights.front()))
      rows.push_back({&row, &subject.rows[i / subject.units.size()]});
  }
  return rows;
}

std::int64_t labels_of(const TrainingBatch& batch) {
  return static_cast<std::int64_t>(batch.labels.size()) -
         std::count(batch.labels.begin(), batch.labels.end(), ignored_label);
}

std::vector<TrainingBatch> gradient_rows(const StudiedModel& subject) {
  std::vector<TrainingBatch> rows;
  rows.reserve(static_cast<std::size_t>(subject.request.gradient_rows));
  for (const QualityBatch& batch : subject.set.batches) {
    for (std::int64_t row = 0; row < batch.extent.batch; ++row) {
      if (static_cast<std::int64_t>(rows.size()) >= subject.request.gradient_rows) return rows;
      rows.push_back(row_of_batch(subject, batch, row));
      if (labels_of(rows.back()) == 0) rows.pop_back();
    }
  }
  return rows;
}

/// The gradient of a row's mean loss over n labels: its square times n stands for the mean over labels of the squares
/// of their own gradients, were these independent of each other.
void add_row(Trainer& trainer, const TrainingBatch& batch, const std::vector<std::vector<float>>& errors,
             std::vector<Summed>& rows) {
  trainer.set_batch(batch);
  trainer.forward();
  trainer.backward();
  const auto labels = static_cast<double>(labels_of(batch));
  parallel_for(static_cast<std::int64_t>(rows.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Summed& one = rows[static_cast<std::size_t>(i)];
      std::span<const float> error = errors[static_cast<std::size_t>(i)];
      Products products;
      for (const std::string& weight : one.row->unit.weights) {
        const Tensor& gradient = *trainer.state().find("grad." + weight);
        add_products(products, gradient, error);
        error = error.subspan(static_cast<std::size_t>(gradient.count()));
      }
      one.sum.first += products.first;
      one.sum.squares += labels * products.squares;
    }
  });
}

}  // namespace

void estimate_by_gradients(const StudiedModel& subject, ModelSensitivity& study) {
  const std::vector<TrainingBatch> batches = gradient_rows(subject);
  std::vector<Summed> rows = linear_rows(subject, study);
  if (batches.empty() || rows.empty()) return;
  TrainingOptions options;
  options.precision = subject.fp32;
  options.parts = StepParts::forward_backward;
  options.token_types = subject.request.engine.program.token_types;
  Trainer trainer(subject.model.config, subject.model.weights, options, find_backend(subject.request.engine.device),
                  subject.facts);
  std::vector<std::vector<float>> errors;
  errors.reserve(rows.size());
  for (const Summed& one : rows) errors.push_back(weight_error(subject, one.row->unit, *one.choice));
  for (const TrainingBatch& batch : batches) {
    if (is_set(subject.callbacks.interrupted)) break;
    if (subject.callbacks.progress) subject.callbacks.progress(subject.model.name + ": gradients", 0);
    add_row(trainer, batch, errors, rows);
    ++study.gradient_rows;
  }
  if (study.gradient_rows == 0) return;
  const auto n = static_cast<double>(study.gradient_rows);
  for (const Summed& one : rows) one.row->estimate = GradientEstimate{one.sum.first / n, 0.5 * one.sum.squares / n};
}

}  // namespace assay
