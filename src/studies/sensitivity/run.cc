#include "studies/sensitivity/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "studies/sensitivity/train.h"
#include "studies/shared/quality_data.h"
#include "studies/shared/setting.h"
#include "tensor/baseline_precision.h"

namespace assay {
namespace {

std::vector<UnitKind> kinds_of(const SensitivityRequest& request) {
  std::vector<UnitKind> kinds;
  kinds.reserve(request.by.size());
  for (const std::string& word : request.by) kinds.push_back(parse_unit_kind(word));
  return kinds;
}

/// What direct figures depend on besides the unit, the precision and how many batches there were.
std::string identity_of(const StudiedModel& subject) {
  const EngineOptions& engine = subject.request.engine;
  return fmt::format(
      "{}; {}; {}; batches of {}; fusion {}; {}; {} threads", weights_identity(subject.model), subject.set.data,
      subject.set.protocol, subject.set.batches.front().extent.batch, engine.fusion == Fusion::on ? "on" : "off",
      subject.facts.cap.empty() ? engine.device : engine.device + ", " + subject.facts.cap, subject.facts.threads);
}

void make_instances(StudiedModel& subject) {
  const Fusion fusion = subject.request.engine.fusion;
  subject.base = subject.instance(subject.fp32, fusion);
  for (const PrecisionChoice& row : subject.rows) subject.whole.push_back(subject.instance(row, fusion));
}

ModelSensitivity study_of(const Model& model, QualitySet set, const Power& power, SensitivityRequest request,
                          const MachineFacts& facts, const StudyCallbacks& callbacks) {
  request.engine = engine_for(set, request.engine);
  StudiedModel subject = studied_model(request, model, std::move(set), facts, callbacks);
  ModelSensitivity study = empty_study(subject);
  measure_directly(subject, restored_from(request.resume, study.identity), study);
  if (!is_set(callbacks.interrupted)) measure_costs(subject, subject.set.batches.front(), study);
  if (!is_set(callbacks.interrupted)) measure_layers(subject, power, study);
  if (!is_set(callbacks.interrupted) && request.estimates == Estimates::made) estimate_by_gradients(subject, study);
  study.is_partial = is_set(callbacks.interrupted);
  return study;
}

}  // namespace

void check_sensitivity(const SensitivityRequest& request) {
  if (request.models.empty()) fail_user("sensitivity: name a model");
  if (request.data.size() > 1 && request.data.size() != request.models.size()) {
    fail_user("--data: {} for {} models; give one for all, or one for each, in their order", request.data.size(),
              request.models.size());
  }
  for (const std::string& precision : request.precisions) find_precision(precision);
  for (const std::string& word : request.by) parse_unit_kind(word);
  if (request.engine.device != "cpu" && request.engine.device != "reference")
    fail_lacking("--device {}: layers are studied on cpu and reference", request.engine.device);
}

QualitySet set_for(const Model& model, const SensitivityRequest& request, std::size_t index) {
  if (model.config.task == Task::embedding ||
      (model.config.task == Task::classification && model.config.outputs == Outputs::scores)) {
    fail_user("{}: gives no classes, so that no layer can be judged by their distribution", model.name);
  }
  QualityRequest quality;
  if (!request.data.empty()) quality.data = request.data[request.data.size() == 1 ? 0 : index];
  quality.protocol.window = request.window;
  const std::int64_t usual = labels_tokens(model.config.task) ? 4 : 32;
  quality.protocol.batch = request.batch > 0 ? request.batch : usual;
  quality.seed = request.model_options.seed;
  return std::move(*quality_data(model, quality).set);
}

std::string short_name(const Model& model) {
  const std::string last = std::filesystem::path(model.name).filename().string();
  return last.empty() ? model.name : last;
}

StudiedModel studied_model(const SensitivityRequest& request, const Model& model, QualitySet set,
                           const MachineFacts& facts, const StudyCallbacks& callbacks) {
  StudiedModel subject{request, model, facts, callbacks, std::move(set), {}, {}, {}, {}, nullptr, {}};
  subject.built = build_program(model.config, request.engine.program);
  subject.units = units_of(subject.built, kinds_of(request));
  for (const std::string& precision : request.precisions)
    subject.rows.push_back(precision_choice(precision, request.engine, facts));
  subject.fp32 = choose_precision(baseline_precision().name, "", std::nullopt);
  make_instances(subject);
  return subject;
}

ModelSensitivity empty_study(const StudiedModel& subject) {
  ModelSensitivity study;
  study.model = short_name(subject.model);
  study.task = name(subject.model.config.task);
  study.data = subject.set.data;
  study.protocol = subject.set.protocol;
  study.identity = identity_of(subject);
  study.has_labels = !subject.set.batches.front().targets.empty();
  study.rows_by_unit.reserve(subject.rows.size() * subject.units.size());
  for (const PrecisionChoice& row : subject.rows) {
    for (const ModelUnit& unit : subject.units) study.rows_by_unit.push_back({unit, row.name()});
  }
  return study;
}

const UnitRow* ModelSensitivity::find(const std::string& unit, const std::string& precision) const {
  const auto found = std::find_if(rows_by_unit.begin(), rows_by_unit.end(), [&](const UnitRow& row) {
    return row.unit.name == unit && row.precision == precision;
  });
  return found == rows_by_unit.end() ? nullptr : &*found;
}

std::unique_ptr<Instance> StudiedModel::instance(const PrecisionChoice& choice, Fusion fusion) const {
  EngineOptions engine = request.engine;
  engine.fusion = fusion;
  return instance(choice, engine);
}

std::unique_ptr<Instance> StudiedModel::instance(const PrecisionChoice& choice, const EngineOptions& engine) const {
  auto made = std::make_unique<Instance>(prepared_program(model, choice, engine), choice, model.weights,
                                         find_backend(engine.device), facts);
  if (base) made->borrow_from(*base);
  for (const auto& lender : whole) made->borrow_from(*lender);
  return made;
}

std::vector<ModelSensitivity> sensitivity_of(const SensitivityRequest& request, const FactsSource& source,
                                             const StudyCallbacks& callbacks) {
  check_sensitivity(request);
  std::vector<Model> models;
  std::vector<QualitySet> sets;
  models.reserve(request.models.size());
  sets.reserve(request.models.size());
  for (std::size_t i = 0; i < request.models.size(); ++i) {
    models.push_back(open_model(request.models[i], request.model_options));
    sets.push_back(set_for(models.back(), request, i));
  }
  const MachineFacts facts = source();
  const Power power = find_power(energy_on(request.engine.device, request.root, request.energy));
  std::vector<ModelSensitivity> studies;
  studies.reserve(models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (!is_set(callbacks.interrupted)) {
      studies.push_back(study_of(models[i], std::move(sets[i]), power, request, facts, callbacks));
      continue;
    }
    studies.emplace_back();
    studies.back().model = short_name(models[i]);
    studies.back().is_partial = true;
  }
  return studies;
}

Document sensitivity(const SensitivityRequest& request, const FactsSource& source, const StudyCallbacks& callbacks) {
  MachineFacts facts;
  const auto asked = [&] { return facts = source(); };
  if (request.mode == RunMode::train) {
    const std::vector<TrainSensitivity> studies = train_sensitivity_of(request, asked, callbacks);
    return to_document(studies, facts);
  }
  const std::vector<ModelSensitivity> studies = sensitivity_of(request, asked, callbacks);
  return to_document(studies, facts);
}

}  // namespace assay
