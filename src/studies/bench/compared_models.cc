#include "studies/bench/compared_models.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"
#include "quality/compare.h"
#include "results/model_name.h"

namespace assay {
namespace {

/// A row: one model in one precision.
struct ComparedRow {
  const Model* model = nullptr;
  std::string precision;
  const Record* speed = nullptr;  ///< Null where it was not timed.
  std::optional<std::int64_t> bytes = {};
  std::optional<QualityFigures> figures = {};
  std::optional<QualityChange> change = {};  ///< Absent of the baseline.
  std::string why = "the baseline";          ///< There is no change.
};
using ModelColumns = std::vector<ColumnOf<ComparedRow>>;

std::string compared_name(const ComparedModel& compared) {
  return shown_model_name(compared.model->name);
}

bool have_same_ids(const QualitySet& a, const QualitySet& b) {
  return std::equal(a.batches.begin(), a.batches.end(), b.batches.begin(), b.batches.end(),
                    [](const QualityBatch& one, const QualityBatch& other) {
                      return one.ids == other.ids && one.mask == other.mask;
                    });
}

/// Of the first shape that was timed.
const Record* timed_record(const Model& model, const std::string& precision, std::span<const Record> records) {
  const auto found = std::find_if(records.begin(), records.end(), [&](const Record& record) {
    return record.setting.model == model.name && record.setting.precision == precision;
  });
  return found == records.end() ? nullptr : &*found;
}

/// Fills the baseline's row and that of the model that ran beside it.
void score_beside(Instance& baseline, Instance& instance, const Evaluation& evaluation, ComparedRow& first,
                  ComparedRow& row) {
  Instance* instances[] = {&baseline, &instance};
  for (std::size_t i = 0; i < 2; ++i) {
    ComparedRow& scored = i == 0 ? first : row;
    const QualityRows& rows = evaluation.qualities[i];
    scored.bytes = instances[i]->model_bytes();
    if (rows.non_finite) scored.why = "its output is not finite";
    if (!rows.non_finite && !rows.nll.empty()) scored.figures = figures(rows);
  }
  if (!evaluation.qualities[0].non_finite && !evaluation.qualities[1].non_finite)
    row.change = compare(evaluation.qualities[0], evaluation.qualities[1]);
}

class ModelComparison {
 public:
  ModelComparison(std::span<const ComparedModel> models, const BenchRequest& request, const MachineFacts& facts,
                  InterruptFlag interrupted)
      : models_(models), request_(request), facts_(facts), interrupted_(interrupted) {}

  std::vector<ComparedRow> rows(std::span<const Record> records) {
    std::vector<ComparedRow> rows;
    for (const ComparedModel& one : models_) {
      for (const std::string& asked : request_.precisions) {
        const std::string precision = precision_choice(asked, request_.engine, facts_).name();
        rows.push_back({one.model, precision, timed_record(*one.model, precision, records)});
      }
    }
    if (request_.quality == QualityMode::none || !models_.front().data->set) return rows;
    try {
      const auto baseline = instance(*rows.front().model, request_.precisions.front());
      for (std::size_t i = 1; i < rows.size(); ++i) score_row(*baseline, rows, i);
    } catch (const Error& error) {
      if (error.code() != ExitCode::lacking) throw;
      for (ComparedRow& row : rows) row.why = error.what();
    }
    return rows;
  }

 private:
  std::unique_ptr<Instance> instance(const Model& model, const std::string& precision) const {
    return make_instance(model, precision, engine_for(*models_.front().data->set, request_.engine), facts_);
  }

  /// What memory or kernels lack leaves the row without figures.
  void score_row(Instance& baseline, std::vector<ComparedRow>& rows, std::size_t index) const {
    ComparedRow& row = rows[index];
    try {
      const auto mine = instance(*row.model, request_.precisions[index % request_.precisions.size()]);
      Instance* both[] = {&baseline, mine.get()};
      EvaluateOptions options;
      options.interrupted = interrupted_;
      const Evaluation evaluation = evaluate(both, *models_.front().data->set, options);
      if (evaluation.is_whole()) return score_beside(baseline, *mine, evaluation, rows.front(), row);
      row.why = "interrupted";
    } catch (const Error& error) {
      if (error.code() != ExitCode::lacking) throw;
      row.why = error.what();
    }
  }

  std::span<const ComparedModel> models_;
  const BenchRequest& request_;
  const MachineFacts& facts_;
  InterruptFlag interrupted_;
};

template <typename T>
void add_change(ModelColumns& columns, Table::Column column, T QualityChange::*member) {
  columns.push_back({std::move(column), [member](const ComparedRow& row) -> Table::Cell {
                       if (!row.change) return Absent{row.why};
                       return Table::Cell((*row.change).*member);
                     }});
}

Table::Cell compared_rate(const ComparedRow& row, std::optional<double> Rates::*rate) {
  return row.speed != nullptr ? or_absent(row.speed->rates.*rate) : Absent{"not timed"};
}

Table::Cell compared_median(const ComparedRow& row) {
  const bool is_timed = row.speed != nullptr && row.speed->latency;
  return is_timed ? or_absent(row.speed->latency->median_ms) : Absent{"not timed"};
}

Table::Cell compared_perplexity(const ComparedRow& row) {
  if (!row.change || !row.figures) return Absent{row.why};
  if (!row.change->delta_nll_interval) return Absent{"too few windows for an interval"};
  return Estimate{row.change->delta_nll, row.change->delta_nll_interval->low, row.change->delta_nll_interval->high};
}

ModelColumns size_columns() {
  return {{{.key = "model", .role = Table::Role::label},
           [](const ComparedRow& row) -> Table::Cell { return shown_model_name(row.model->name); }},
          {{.key = "precision", .role = Table::Role::label},
           [](const ComparedRow& row) -> Table::Cell { return row.precision; }},
          {{.key = "in_file", .title = "in file", .meaning = "types of its tensors, and how many of each"},
           [](const ComparedRow& row) -> Table::Cell { return row.model->weights.stored_dtypes(); }},
          {{.key = "model_bytes", .title = "size", .meaning = "weights in memory", .notation = Notation::bytes},
           [](const ComparedRow& row) { return or_absent(row.bytes, row.why); }},
          {{.key = "bits_a_weight", .title = "bits a weight", .notation = Notation::fixed, .digits = 2},
           [](const ComparedRow& row) -> Table::Cell {
             if (!row.bytes) return Absent{row.why};
             return static_cast<double>(*row.bytes) * 8 / static_cast<double>(row.model->weights.parameters());
           }}};
}

ModelColumns compared_columns() {
  ModelColumns columns = size_columns();
  columns.push_back({{.key = "median_ms", .title = "median", .unit = "ms"}, compared_median});
  columns.push_back({{.key = "tokens_per_s", .title = "tokens/s"},
                     [](const ComparedRow& row) { return compared_rate(row, &Rates::tokens_per_s); }});
  columns.push_back({{.key = "perplexity", .digits = 4}, [](const ComparedRow& row) -> Table::Cell {
                       return row.figures ? Table::Cell(row.figures->perplexity) : Absent{};
                     }});
  columns.push_back({{.key = "delta_log_perplexity",
                      .title = "change of log-perplexity",
                      .unit = "nats",
                      .sign = Sign::always,
                      .more_keys = {"delta_log_perplexity_low", "delta_log_perplexity_high"}},
                     compared_perplexity});
  add_change(columns, {.key = "kl_mean", .title = "KL", .unit = "nats", .meaning = "mean over positions"},
             &QualityChange::kl_mean);
  columns.push_back({{.key = "kl_p999", .title = "KL p99.9", .unit = "nats", .detail = Detail::details},
                     [](const ComparedRow& row) -> Table::Cell {
                       return row.change ? or_absent(row.change->kl_p999) : Absent{row.why};
                     }});
  add_change(columns, {.key = "top1_agreement", .title = "same top-1", .notation = Notation::percent, .digits = 2},
             &QualityChange::top1_agreement);
  return columns;
}

}  // namespace

void check_comparable(const ComparedModel& baseline, const ComparedModel& other) {
  const ModelConfig& a = baseline.model->config;
  const ModelConfig& b = other.model->config;
  if (a.task != b.task)
    fail_user("{}: is a {}, the baseline {} a {}", compared_name(other), name(b.task), compared_name(baseline),
              name(a.task));
  if (a.vocab_size != b.vocab_size) {
    fail_user("{}: has a vocabulary of {}, the baseline {} one of {}: their distributions do not compare",
              compared_name(other), b.vocab_size, compared_name(baseline), a.vocab_size);
  }
  if (!baseline.data->set || !other.data->set || have_same_ids(*baseline.data->set, *other.data->set)) return;
  fail_user("{}: its tokenizer makes other ids of {} than that of the baseline {}: their distributions do not compare",
            compared_name(other), other.data->set->data, compared_name(baseline));
}

Table compared_models(std::span<const ComparedModel> models, const BenchRequest& request, const MachineFacts& facts,
                      std::span<const Record> records, InterruptFlag interrupted) {
  const std::vector<ComparedRow> rows = ModelComparison(models, request, facts, interrupted).rows(records);
  Table table{.key = "compared_models",
              .caption = fmt::format("Against {} in {}", compared_name(models.front()), rows.front().precision)};
  if (const auto& set = models.front().data->set)
    table.legend =
        fmt::format("Quality: every model on the same ids, {} ({}), position by position. ", set->data, set->protocol);
  if (const Record* speed = rows.front().speed) {
    table.legend +=
        fmt::format("Speed: each model by itself, batch {} x {} tokens, so that small differences say little.",
                    speed->setting.batch, speed->setting.seq);
  }
  return filled(std::move(table), compared_columns(), rows);
}

}  // namespace assay
