#include "training/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/units.h"
#include "program/float8_history.h"

namespace assay {
namespace {

LossScale::Mode scaling_of(const Precision& row) {
  return scales_loss(row) ? LossScale::Mode::dynamic : LossScale::Mode::fixed_at_one;
}

void set_scalar(Plan& plan, const std::string& name, float value) {
  plan.set_input(name, std::as_bytes(std::span(&value, 1)));
}

/// -1: every rank.
int owner_of_gradient(const TrainingPrograms& programs, const Value& gradient) {
  return owner_of(programs, gradient.name.substr(gradient_prefix.size()));
}

/// Of gradients that never lie in memory all at once.
std::int64_t passing_bytes(const TrainingPrograms& programs, const TrainingOptions& options) {
  if (options.sharding.stage != ZeroStage::gradients || programs.owners.empty()) return 0;
  const GradientBytes bytes = gradient_bytes(programs, options.sharding.ranks);
  ReduceOptions reduce;
  reduce.bucket_bytes = options.sharding.bucket_bytes.value_or(reduce.bucket_bytes);
  const ReduceTraffic traffic = reduce_traffic(gradient_sizes(programs.step), reduce, options.sharding.ranks);
  return std::max<std::int64_t>(0, bytes.all - bytes.most_owned - traffic.under_way_bytes);
}

}  // namespace

std::vector<std::int32_t> shifted_labels(std::span<const std::int32_t> labels, Extent extent) {
  constexpr std::int32_t nothing = -100;
  std::vector<std::int32_t> shifted(labels.size(), nothing);
  for (std::size_t i = 0; i + 1 < labels.size(); ++i) {
    if ((i + 1) % static_cast<std::size_t>(extent.seq) != 0) shifted[i] = labels[i + 1];
  }
  return shifted;
}

StateBytes state_bytes_by_use(const TrainingPrograms& programs) {
  std::set<std::string> counted;
  StateBytes bytes;
  for (const Program* program : {&programs.step, &programs.update}) {
    for (std::size_t id = 0; id < program->values.size(); ++id) {
      const Value& value = program->values[id];
      if (value.source != Source::state || !counted.insert(value.name).second) continue;
      std::int64_t& of_use = is_gradient(value)    ? bytes.gradients
                             : is_parameter(value) ? bytes.parameters
                                                   : bytes.moments;
      of_use += storage_bytes(*program, static_cast<ValueId>(id), {});
    }
  }
  return bytes;
}

std::int64_t state_bytes(const TrainingPrograms& programs) {
  return state_bytes_by_use(programs).total();
}

std::vector<GradientSize> gradient_sizes(const Program& step) {
  std::vector<GradientSize> sizes;
  for (const FinishedGradient& one : finishing_order(step)) {
    const Value& value = step.value(one.value);
    sizes.push_back({element_count(concrete(value.shape, {})), value.dtype});
  }
  return sizes;
}

GradientBytes gradient_bytes(const TrainingPrograms& programs, int ranks) {
  std::vector<std::int64_t> owned(static_cast<std::size_t>(std::max(1, ranks)));
  GradientBytes bytes;
  for (const FinishedGradient& one : finishing_order(programs.step)) {
    const std::int64_t own = storage_bytes(programs.step, one.value, {});
    const int owner = owner_of_gradient(programs, programs.step.value(one.value));
    bytes.all += own;
    owned[static_cast<std::size_t>(std::max(0, owner))] += own;
  }
  bytes.most_owned = std::ranges::max(owned);
  return bytes;
}

Trainer::Trainer(const ModelConfig& config, const Weights& weights, const TrainingOptions& options,
                 const Backend& backend, const MachineFacts& facts)
    : options_(options),
      programs_(training_programs(config, options)),
      state_(backend.memory()),
      loss_scale_(scaling_of(options.precision.row)) {
  refuse_what_does_not_fit(facts);
  const auto instance = [&](const Program& program, const Weights& constants) {
    return std::make_unique<Instance>(program, options.precision, constants, backend, facts, MasterWeights::dropped);
  };
  step_ = instance(programs_.step, config.adapters.empty() ? no_weights_ : weights);
  load_parameters(weights);
  begin_scale_histories();
  if (options.parts != StepParts::whole) return;
  const auto plan = [&](Instance& segment, const Program& program) {
    return std::make_unique<Plan>(
        segment, PlanOptions{.outputs = output_names(program), .state = &state_, .graphs = options_.graphs});
  };
  // Of more ranks than parameters some own none.
  if (programs_.update.nodes.empty()) return;
  update_ = instance(programs_.update, no_weights_);
  update_plan_ = plan(*update_, programs_.update);
  if (!takes_norms(options)) return;
  norms_ = instance(programs_.norms, no_weights_);
  norm_plan_ = plan(*norms_, programs_.norms);
}

void Trainer::refuse_what_does_not_fit(const MachineFacts& facts) const {
  const std::int64_t needed = state_bytes(programs_) - passing_bytes(programs_, options_);
  if (facts.available_bytes <= 0 || needed <= facts.available_bytes) return;
  const auto [wanted, there] = std::pair(static_cast<double>(needed), static_cast<double>(facts.available_bytes));
  throw OutOfMemory(fmt::format("memory: parameters, gradients and moments need {}, {} are available",
                                format_bytes(wanted), format_bytes(there)),
                    wanted, there);
}

void Trainer::load_parameters(const Weights& weights) {
  for (const Value& value : programs_.step.values) {
    if (!is_parameter(value)) continue;
    const Weight& weight = weights.at(value.name);
    const WeightData data = weight.load();
    Tensor& parameter = state_.at(value.name, value.dtype, concrete(value.shape, {}));
    convert(data.view.dtype, data.view.data, value.dtype, parameter.data(),
            static_cast<std::size_t>(parameter.count()));
    state_.store(value.name);
    if (weight.release) weight.release();
  }
}

void Trainer::set_batch(const TrainingBatch& batch) {
  constexpr std::size_t most_plans = 4;  // each has an arena of its own
  const AttentionMask mask = batch.attention_mask.empty() ? AttentionMask::absent : AttentionMask::given;
  const PlanKey key = {{batch.extent.batch, batch.extent.seq}, mask};
  if (plans_.count(key) == 0) {
    if (plans_.size() >= most_plans) plans_.clear();
    const PlanOptions options = {
        .extent = batch.extent, .mask = mask, .outputs = {"loss"}, .state = &state_, .graphs = options_.graphs};
    plans_[key] = std::make_unique<Plan>(*step_, options);
  }
  plan_ = plans_.at(key).get();
  plan_->set_inputs(batch.input_ids, batch.attention_mask, batch.token_types);
  plan_->set_input("labels", std::as_bytes(std::span(batch.labels)));
  const auto first_row = static_cast<std::int32_t>(batch.first_row);
  plan_->set_input("first_row", std::as_bytes(std::span(&first_row, 1)));
}

void Trainer::set_seed(std::uint64_t seed) {
  const std::int32_t words[] = {static_cast<std::int32_t>(seed & 0xffffffffU), static_cast<std::int32_t>(seed >> 32)};
  for (Plan* plan : {plan_, update_plan_.get()}) {
    if (plan != nullptr) plan->set_input("seed", std::as_bytes(std::span(words)));
  }
}

double Trainer::forward() {
  if (!plan_->run(Phase::forward, interrupted_)) throw StepInterrupted();
  return *plan_->output_f32("loss").as<float>();
}

void Trainer::backward(double share, StepEnd end) {
  set_scalar(*plan_, "loss_scale", static_cast<float>(loss_scale_.scale() * share));
  const bool reduces = reducer_ != nullptr && end == StepEnd::yes;
  if (reduces) reducer_->start();
  const NodeHook after = reduces ? NodeHook([this](std::size_t node) { note_finished(node); }) : NodeHook();
  if (!plan_->run(Phase::backward, interrupted_, after)) throw StepInterrupted();
  if (reduces) end_reduction();
}

std::vector<ReducedTensor> Trainer::gradients_as_finished() {
  const Program& program = programs_.step;
  finished_by_.assign(program.nodes.size(), {});
  std::vector<ReducedTensor> tensors;
  for (const FinishedGradient& one : finishing_order(program)) {
    const Value& value = program.value(one.value);
    Tensor& gradient = state_.at(value.name, value.dtype, concrete(value.shape, {}));
    finished_by_[one.node].push_back(tensors.size());
    const int owner = owner_of_gradient(programs_, value);
    const bool passes = options_.sharding.stage == ZeroStage::gradients && owner != group_->rank();
    tensors.push_back({value.name, value.dtype, gradient.count(), gradient.data(), owner, passes});
  }
  return tensors;
}

std::vector<DeviceValues> Trainer::gradients_on_device() {
  std::vector<DeviceValues> values;
  values.reserve(reducer_->tensors().size());
  for (const ReducedTensor& tensor : reducer_->tensors()) {
    const Shape shape = state_.find(tensor.name)->shape();
    values.push_back({state_.memory(tensor.name, tensor.dtype, shape), tensor.count, tensor.dtype, tensor.owner});
  }
  return values;
}

void Trainer::join(Group& group, const ReduceOptions& options, std::unique_ptr<DeviceSums> sums) {
  group_ = &group;
  reducer_ = std::make_unique<GradientReducer>(group, options, gradients_as_finished());
  if (sums != nullptr) reducer_->sum_by(std::move(sums), gradients_on_device());
}

void Trainer::note_finished(std::size_t node) {
  for (const std::size_t tensor : finished_by_[node]) reducer_->finished(tensor);
  reducer_->progress();
}

/// A device's gradients come to the host when its backward is over, unless they are summed where they lie.
void Trainer::end_reduction() {
  if (reducer_->sums_on_device()) return reducer_->sum_on_device();
  const bool is_host = step_->device().is_host();
  for (std::size_t i = 0; i < reducer_->tensors().size() && !is_host; ++i) {
    state_.find(reducer_->tensors()[i].name);
    reducer_->finished(i);
  }
  reducer_->wait();
  for (const ReducedTensor& tensor : reducer_->tensors()) state_.store(tensor.name);
}

void Trainer::give_nothing(std::uint64_t seed) {
  set_seed(seed);
  clear_gradients();
  reducer_->start();
  for (std::size_t i = 0; i < reducer_->tensors().size() && step_->device().is_host(); ++i) reducer_->finished(i);
  end_reduction();
}

/// Each rank's own parameters to all others.
void Trainer::hand_out_parameters() {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  std::vector<std::string> received;
  for (const auto& [name, owner] : programs_.owners) {
    Tensor& tensor = *state_.find(name);
    if (owner != group_->rank()) {
      in.push_back({owner, {tensor.data(), tensor.bytes()}});
      received.push_back(name);
    }
    for (int rank = 0; rank < group_->size() && owner == group_->rank(); ++rank) {
      if (rank != owner) out.push_back({rank, {tensor.data(), tensor.bytes()}});
    }
  }
  finish(*group_->begin(0, out, in));
  for (const std::string& name : received) state_.store(name);
  handed_out_bytes_ = 0;
  for (const Outgoing& one : out) handed_out_bytes_ += static_cast<std::int64_t>(one.bytes.size());
}

std::int64_t Trainer::sent_bytes() const {
  return reducer_ == nullptr ? 0 : reducer_->statistics().sent_bytes + handed_out_bytes_;
}

std::map<std::string, Tensor> Trainer::gather_moments() const {
  std::map<std::string, Tensor> gathered;
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (const NamedMoment& moment : programs_.moments) {
    const int owner = owner_of(programs_, moment.parameter);
    if (owner <= 0) continue;
    if (group_->rank() == 0) {
      Tensor& to = gathered.emplace(moment.name, Tensor(moment.dtype, moment.shape)).first->second;
      in.push_back({owner, {to.data(), to.bytes()}});
    } else if (group_->rank() == owner) {
      const Tensor& own = *state_.find(moment.name);
      out.push_back({0, {own.data(), own.bytes()}});
    }
  }
  if (group_ != nullptr) finish(*group_->begin(0, out, in));
  return gathered;
}

std::string Trainer::parameters_hash() const {
  std::string all;
  for (const Value& value : programs_.step.values) {
    if (!is_parameter(value)) continue;
    const Tensor& tensor = *state_.find(value.name);
    all += sha256_hex({tensor.data(), tensor.bytes()});
  }
  return sha256_hex(std::as_bytes(std::span(all)));
}

void Trainer::clear_gradients() {
  for (const Value& value : programs_.step.values) {
    if (!is_gradient(value)) continue;
    state_.memory(value.name, value.dtype, concrete(value.shape, {}));
    state_.clear(value.name);
  }
}

double Trainer::squared_norm(const Tensor& norms) const {
  double squares = 0;
  for (std::int64_t i = 0; i < norms.count(); ++i) {
    const double norm = norms.as<float>()[i] / loss_scale_.scale();
    squares += norm * norm;
  }
  return squares;
}

/// Ranks may compute with different instructions; what decides of a step has to be the same everywhere.
std::optional<double> Trainer::gradient_norm() {
  if (!takes_norms(options_) || options_.parts != StepParts::whole) return std::nullopt;
  Tensor norms(DType::f32, {0});
  if (norm_plan_ != nullptr) {
    norm_plan_->run();
    norms = norm_plan_->output_f32("norms");
  }
  if (!programs_.owners.empty()) norms = norms_of_all(norms);
  const double squares = squared_norm(norms);
  return std::sqrt(group_ == nullptr ? squares : all_gather_values(*group_, squares)[0]);
}

/// Each gradient's norm from the rank that owns it, in the order of gradients_of.
Tensor Trainer::norms_of_all(const Tensor& own) const {
  const std::vector<std::vector<std::byte>> by_rank = all_gather(*group_, {own.data(), own.bytes()});
  std::vector<std::size_t> taken(by_rank.size());
  std::vector<float> all;
  for (const Value* gradient : gradients_of(programs_.step)) {
    const auto owner = static_cast<std::size_t>(owner_of_gradient(programs_, *gradient));
    float norm = 0;
    std::memcpy(&norm, by_rank[owner].data() + sizeof(norm) * taken[owner]++, sizeof(norm));
    all.push_back(norm);
  }
  Tensor norms(DType::f32, {std::ssize(all)});
  std::ranges::copy(all, norms.as<float>());
  return norms;
}

UpdateResult Trainer::before_update(std::int64_t step, std::optional<double> norm) {
  const OptimizerOptions& optimizer = options_.optimizer;
  UpdateResult result;
  result.gradient_norm = norm;
  result.loss_scale = loss_scale_.scale();
  result.learning_rate = optimizer.learning_rate * rate_share(optimizer.schedule, step);
  result.skipped = !loss_scale_.accept(std::isfinite(norm.value_or(0)));
  return result;
}

UpdateResult Trainer::leave_out(std::int64_t step) {
  turn_scale_histories();
  return before_update(step, std::numeric_limits<double>::quiet_NaN());
}

UpdateResult Trainer::update(std::int64_t step) {
  turn_scale_histories();
  UpdateResult result = before_update(step, gradient_norm());
  if (result.skipped) return result;
  const OptimizerOptions& optimizer = options_.optimizer;
  const auto t = static_cast<double>(++updates_);
  // As torch.nn.utils.clip_grad_norm_: the norm is made a little larger, and nothing is scaled up.
  const double clip =
      optimizer.clip_norm > 0 ? std::min(1.0, optimizer.clip_norm / (*result.gradient_norm + 1e-6)) : 1.0;
  float hyper[] = {0, static_cast<float>(1 - std::pow(optimizer.beta1, t)),
                   static_cast<float>(1 - std::pow(optimizer.beta2, t)), static_cast<float>(clip / result.loss_scale)};
  const double share = rate_share(optimizer.schedule, step);
  for (std::size_t group = 0; group < programs_.rates.size() && update_plan_ != nullptr; ++group) {
    hyper[0] = static_cast<float>(programs_.rates[group] * share);
    update_plan_->set_input(hyper_name(group), std::as_bytes(std::span(hyper)));
  }
  if (update_plan_ != nullptr) update_plan_->run();
  if (!programs_.owners.empty()) hand_out_parameters();
  if (options_.count_lost_updates) result.lost = lost_updates();
  return result;
}

/// They are there before the first step: a checkpoint may restore them.
void Trainer::begin_scale_histories() {
  for (const Value& value : programs_.step.values) {
    if (!is_scale_history(value)) continue;
    state_.memory(value.name, value.dtype, concrete(value.shape, {}));
    state_.clear(value.name);
  }
}

/// A rank sees its own rows: the largest of a step is that of all of them, and its last run that of the last rank.
void Trainer::share_what_scales_saw() {
  if (group_ == nullptr) return;
  std::vector<float*> histories;
  std::vector<float> mine;
  for (const Value& value : programs_.step.values) {
    if (!is_scale_history(value)) continue;
    histories.push_back(state_.find(value.name)->as<float>());
    mine.insert(mine.end(), histories.back(), histories.back() + float8_before);
  }
  if (mine.empty()) return;
  for (const std::vector<std::byte>& bytes : all_gather(*group_, std::as_bytes(std::span(mine)))) {
    const auto* its = reinterpret_cast<const float*>(bytes.data());
    for (float* const history : histories) {
      const float largest = std::max(history[float8_largest], its[float8_largest]);
      std::copy_n(its, std::size_t{float8_before}, history);
      history[float8_largest] = largest;
      its += float8_before;
    }
  }
  for (const Value& value : programs_.step.values) {
    if (is_scale_history(value)) state_.store(value.name);
  }
}

/// What this step saw stands before what the steps before it did.
void Trainer::turn_scale_histories() {
  share_what_scales_saw();
  for (const Value& value : programs_.step.values) {
    if (!is_scale_history(value)) continue;
    float* history = state_.find(value.name)->as<float>();
    std::copy_backward(history + float8_before, history + float8_history_size - 1, history + float8_history_size);
    history[float8_before] = std::exchange(history[float8_largest], 0.0F);
    state_.store(value.name);
  }
}

std::int64_t Trainer::lost_updates() const {
  std::int64_t lost = 0;
  for (const NamedValue& of_node : programs_.update.outputs) {
    const TensorView view = update_plan_->output(of_node.name).tensor;
    const auto* counts = reinterpret_cast<const std::int32_t*>(view.data);
    lost = std::accumulate(counts, counts + element_count(view.shape), lost);
  }
  if (programs_.owners.empty()) return lost;
  const std::vector<std::int64_t> all = all_gather_values(*group_, lost);
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

}  // namespace assay
