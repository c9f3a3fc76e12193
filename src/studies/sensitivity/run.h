#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/model.h"
#include "quality/compare.h"
#include "quality/evaluate.h"
#include "results/table.h"
#include "runtime/instance.h"
#include "statistics/statistics.h"
#include "studies/sensitivity/request.h"
#include "studies/sensitivity/units.h"

namespace assay {

/// A figure with its 95 % interval, where there are enough windows for one.
struct Change {
  double value = 0;
  std::optional<Interval> interval = {};
};

/// Quality against fp32 on the same rows.
struct UnitQuality {
  Change kl = {};                              ///< KL(fp32 || this), nats, mean over rows.
  std::optional<Change> delta_nll = {};        ///< Nats; absent without labels.
  std::optional<Change> accuracy_change = {};  ///< Of the labels; absent without.
  std::string failure = {};                    ///< Why there is none: an output that is not finite.
};

/// What a unit costs and how far it is off, besides quality.
struct UnitCost {
  double fp32_ms = 0;     ///< Of a run, step by step, in fp32.
  double low_ms = 0;      ///< The same with everything in the low precision.
  double fp32_bytes = 0;  ///< Of its weights as stored.
  double low_bytes = 0;
  double read_bytes = 0;  ///< Read and written by a run in the low precision.
  double fp32_j = 0;      ///< Joules of a run in fp32, and
  double low_j = 0;       ///< of one in the low precision; 0 where energy.h's functions metered none.
};

/// A linear layer alone, on what reaches it in fp32.
struct LayerError {
  std::optional<double> snr_db = {};         ///< Of its output: power of fp32's over that of the difference.
  std::optional<double> weight_snr_db = {};  ///< Of its weight. Either absent: no difference at all.
  double kurtosis = 0;                       ///< Of its input; 3 for normal numbers.
  double largest_over_rms = 0;               ///< Of its input.
};

/// Joules of one run, with the meter's uncertainty.
struct Joules {
  double value = 0;
  double uncertainty = 0;
};

/// What gradients and a layer's weight error say, per scored row, nats.
struct GradientEstimate {
  double first_order = 0;  ///< Change of the loss.
  double fisher = 0;       ///< KL.
};

struct UnitRow {
  ModelUnit unit = {};
  std::string precision = {};
  std::optional<UnitQuality> only = {};     ///< This alone in the precision; absent: not reached.
  std::optional<UnitQuality> all_but = {};  ///< Everything but this.
  std::optional<UnitCost> cost = {};
  std::optional<LayerError> error = {};
  std::optional<Joules> energy = {};
  std::optional<GradientEstimate> estimate = {};
};

/// All of one model.
struct ModelSensitivity {
  std::string model = {};
  std::string task = {};
  std::string data = {};
  std::string protocol = {};
  std::string identity = {};  ///< Of what direct figures depend on, for a resumed run.
  std::int64_t batches = 0;
  std::int64_t batches_there = 0;
  std::int64_t rows = 0;  ///< Windows, or sentences.
  std::int64_t tokens = 0;
  bool has_labels = false;
  QualityFigures baseline = {};
  double predicted_s = 0;
  double took_s = 0;
  std::int64_t restored = 0;  ///< Direct figures taken from the file.
  bool is_partial = false;
  std::int64_t gradient_rows = 0;
  std::string energy_words = {};                    ///< The meter, or why there is none.
  std::map<std::string, Joules> whole_energy = {};  ///< By precision, of the whole run that layers are held against.
  std::vector<UnitRow> rows_by_unit = {};           ///< Precision by precision, units in their order.

  const UnitRow* find(const std::string& unit, const std::string& precision) const;
};

/// What the parts of the study share about one model.
struct StudiedModel {
  const SensitivityRequest& request;
  const Model& model;
  const MachineFacts& facts;
  const StudyCallbacks& callbacks;
  QualitySet set;
  Program built;
  std::vector<ModelUnit> units;
  std::vector<PrecisionChoice> rows;  ///< Plain precisions asked for.
  PrecisionChoice fp32;
  std::unique_ptr<Instance> base;                        ///< In fp32; lends its weights.
  std::vector<std::unique_ptr<Instance>> whole;          ///< In each of `rows`; lend theirs.
  std::vector<std::unique_ptr<Instance>> left_out = {};  ///< Of rows that were taken out: others may have borrowed.

  /// An instance in that precision that borrows what these hold.
  std::unique_ptr<Instance> instance(const PrecisionChoice& choice, Fusion fusion) const;
  std::unique_ptr<Instance> instance(const PrecisionChoice& choice, const EngineOptions& engine) const;
};

/// Direct figures that an earlier run of the same identity left.
struct Restored {
  using Key = std::pair<std::string, std::string>;  ///< ModelUnit and precision.
  std::int64_t batches = 0;                         ///< That it scored; 0: there was none.
  std::map<Key, std::pair<UnitQuality, std::optional<UnitQuality>>> units = {};
};

/// What was asked is sound, before anything is measured; throws user errors.
void check_sensitivity(const SensitivityRequest& request);
/// What model `index` of the request is scored on.
QualitySet set_for(const Model& model, const SensitivityRequest& request, std::size_t index);
/// The last part of its path.
std::string short_name(const Model& model);

/// A model made ready: its program, its units and rows, and the instances of fp32 and of each row. The references stay
/// with it; `request.engine` is told of token types where the set has them (engine_for).
StudiedModel studied_model(const SensitivityRequest& request, const Model& model, QualitySet set,
                           const MachineFacts& facts, const StudyCallbacks& callbacks);
/// A row for each unit and precision, with nothing found yet.
ModelSensitivity empty_study(const StudiedModel& subject);

/// All that `sensitivity` finds, model by model.
std::vector<ModelSensitivity> sensitivity_of(const SensitivityRequest& request, const FactsSource& facts,
                                             const StudyCallbacks& callbacks);

// direct.cc
/// Chooses how many batches are scored, says how long it will take, and fills quality of every row. Ends at an
/// interrupt.
void measure_directly(StudiedModel& subject, const Restored& restored, ModelSensitivity& study);
/// fp32 and `instances` on the set. Absent after an interrupt: part of a set compares with no other layer.
std::optional<std::vector<UnitQuality>> qualities_of(const StudiedModel& subject, const QualitySet& set,
                                                     const std::vector<Instance*>& instances);
/// The first that was evaluated against each of the others. Absent where the set was not evaluated whole.
std::optional<std::vector<UnitQuality>> qualities_against_first(const QualitySet& set, const Evaluation& evaluation);
/// fp32 against what an instance gave on the same set.
UnitQuality quality_of(const QualitySet& set, const QualityRows& baseline, const QualityRows& mine);
/// How many rows of QualityRows::kl each row of each batch has.
std::vector<std::int32_t> kl_windows(const QualitySet& set, std::size_t rows);

// cost.cc
/// Time of that batch by the profile's own clock, and bytes.
void measure_costs(const StudiedModel& subject, const QualityBatch& batch, ModelSensitivity& study);

// alone.cc
/// Errors on real activations, and energy where there is a meter.
void measure_layers(const StudiedModel& subject, const Power& power, ModelSensitivity& study);

// estimates.cc
void estimate_by_gradients(const StudiedModel& subject, ModelSensitivity& study);

// resume.cc
/// Throws a user error for a file that is no result of this study.
Restored restored_from(const std::filesystem::path& file, const std::string& identity);

// relations.cc
/// Spearman's rank correlation with its 95 % interval by bootstrap over layers; absent where it does not exist.
struct Correlation {
  std::size_t layers = 0;
  double value = 0;
  std::optional<Interval> interval = {};
};
std::optional<Correlation> rank_correlation(const std::vector<double>& x, const std::vector<double>& y);

// document.cc
Document to_document(const std::vector<ModelSensitivity>& studies, const MachineFacts& facts);
/// Direct figures as the table holds them, for the way back.
Table units_table(const std::vector<ModelSensitivity>& studies);

}  // namespace assay
