#include "runtime/instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "kernels/pack_parts.h"
#include "model/stored_values.h"
#include "runtime/call.h"
#include "runtime/row_sources.h"

namespace assay {
namespace {

using NoRows = std::vector<const Weight*>;

/// Rows of the weights, one below the other, from where the checkpoint holds them: nothing but a rounding stands
/// between.
void pack_straight(const std::vector<const Weight*>& weights, const Packing& packing, std::byte* packed) {
  std::vector<WeightData> data;
  std::vector<TensorView> parts;
  for (const Weight* weight : weights) {
    data.push_back(weight->load());
    parts.push_back(data.back().view);
  }
  pack_parts(parts, packing, packed);
  for (const Weight* weight : weights) {
    if (weight->release) weight->release();
  }
}

/// Packs the inputs of a call, which are plain, where its kernel wants them so; what they lie in then.
std::vector<AlignedBytes> packed_inputs(const Call& call, const Prepared& prepared,
                                        std::vector<const std::byte*>& inputs) {
  std::vector<AlignedBytes> packed;
  for (std::size_t i = 0; i < std::min(inputs.size(), prepared.packing.size()); ++i) {
    const Packing& packing = prepared.packing[i];
    if (packing.kind == Packing::Kind::plain || inputs[i] == nullptr) continue;
    const Shape& shape = call.in(i).shape;
    packed.push_back(allocate_aligned(packed_bytes(packing, shape[0], shape[1])));
    pack({call.in(i).dtype, shape, inputs[i]}, packing, packed.back().get());
    inputs[i] = packed.back().get();
  }
  return packed;
}

/// Whether a weight is what the checkpoint holds, not its values.
bool is_in_blocks(const Value& value) {
  return value.dtype == DType::u8;
}

}  // namespace

Instance::Instance(Program program, PrecisionChoice precision, const Weights& weights, const Backend& backend,
                   const MachineFacts& facts, MasterWeights masters)
    : program_(std::move(program)),
      precision_(std::move(precision)),
      weights_(weights),
      backend_(backend),
      device_(backend.memory()),
      facts_(facts),
      masters_(masters) {
  producer_ = producers_of(program_);
  recipes_.resize(program_.values.size());
  for (std::size_t id = 0; id < program_.values.size(); ++id) {
    const Value& value = program_.values[id];
    if (value.source == Source::weight) recipes_[id] = value.name + (is_in_blocks(value) ? " in blocks" : "");
  }
  for (const Node& node : program_.nodes) write_recipes(node);
}

/// An operation with attributes other than the format that it makes is nowhere compared, and what it makes is not lent.
void Instance::write_recipes(const Node& node) {
  if (node.attributes != Attributes{.blocks = node.attributes.blocks}) return;
  std::string inputs;
  for (const ValueId id : node.inputs) {
    if (id == no_value || recipes_[static_cast<std::size_t>(id)].empty()) return;
    inputs += recipes_[static_cast<std::size_t>(id)] + ",";
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId id = node.outputs[i];
    if (id == no_value || !program_.value(id).constant) continue;
    recipes_[static_cast<std::size_t>(id)] = fmt::format(
        "{}.{} {}({})", node.operation->name, i,
        node.attributes.blocks != nullptr ? node.attributes.blocks->name : name(program_.value(id).dtype), inputs);
  }
}

void Instance::borrow_from(const Instance& lender) {
  ASSAY_ASSERT(&lender.weights_ == &weights_ && &lender.backend_ == &backend_);
  lenders_.push_back(&lender);
}

const Instance::Held* Instance::find_lent(ValueId id, const std::string& packing) const {
  const std::string& recipe = recipes_[static_cast<std::size_t>(id)];
  if (recipe.empty()) return nullptr;
  for (const Instance* lender : lenders_) {
    const auto found = lender->lendable_.lower_bound({recipe, packing});
    if (found == lender->lendable_.end() || found->first.first != recipe) continue;
    if (packing.empty() || found->first.second == packing) return found->second;
  }
  return nullptr;
}

bool Instance::keeps_master_weights() const {
  return masters_ == MasterWeights::kept && precision_.row.rule == Activations::autocast_lists;
}

void Instance::keep_master_weights() {
  for (const Value& value : program_.values) {
    if (value.source != Source::weight || is_in_blocks(value)) continue;
    const Weight& weight = weights_.at(value.name);
    WeightData data = in_f32(weight.load());
    HeldConstant held;
    held.memory = data.owned.data() != nullptr ? std::move(data.owned) : converted(data.view, DType::f32);
    held.bytes = held.memory.bytes();
    held.data = held.memory.data();
    place(held);
    master_weights_.push_back(std::move(held));
    if (weight.release) weight.release();
  }
}

/// The weight that the value is, or is a cast of, as the value has it.
void Instance::load_weight(ValueId id) {
  const Weight* cast = RowSources{program_, weights_, producer_}.one_of(id);
  const Weight& weight = cast != nullptr ? *cast : weights_.at(program_.value(id).name);
  const DType dtype = program_.value(id).dtype;
  WeightData data = is_in_blocks(program_.value(id)) ? weight.load_blocks() : weight.load();
  if (data.view.dtype != dtype) {
    data.owned = converted(data.view, dtype);
    data.view = data.owned.view();
  }
  const bool mapped = data.owned.data() == nullptr;
  intermediates_[id] = {data.view, std::move(data.owned), mapped ? &weight : nullptr};
  if (!mapped && weight.release) weight.release();
}

const TensorView& Instance::plain(ValueId id) {
  const auto known = intermediates_.find(id);
  if (known != intermediates_.end()) return known->second.view;
  if (program_.value(id).source == Source::weight || RowSources{program_, weights_, producer_}.one_of(id) != nullptr) {
    load_weight(id);
  } else {
    compute(program_.nodes[producer_[static_cast<std::size_t>(id)]]);
  }
  return intermediates_.at(id).view;
}

void Instance::compute(const Node& node) {
  constexpr Extent unit{1, 1};
  Call call{node.operation, node.attributes, {}, {}, facts_.threads};
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (const ValueId id : node.inputs) {
    inputs.push_back(id == no_value ? nullptr : plain(id).data);
    call.inputs.push_back(describe(program_, id, unit));
  }
  for (const ValueId id : node.outputs) {
    Tensor result(program_.value(id).dtype, concrete(program_.value(id).shape, unit));
    outputs.push_back(result.data());
    call.outputs.push_back(describe(program_, id, unit));
    const TensorView view = result.view();
    intermediates_[id] = {view, std::move(result), nullptr};
  }
  Offer offer = prepare(device_.is_host() ? backend_ : cpu_backend(), call, facts_);
  if (const auto* declined = std::get_if<Declined>(&offer))
    fail_lacking("{} {}: {}", node.path, node.operation->name, declined->why);
  const Prepared& prepared = std::get<Prepared>(offer);
  const std::vector<AlignedBytes> packed = packed_inputs(call, prepared, inputs);
  const AlignedBytes workspace = allocate_aligned(prepared.workspace_bytes);
  prepared.kernel->run({inputs, outputs, workspace.get()});
  for (const ValueId id : node.inputs) drop(id);
}

/// Loading it again costs less than holding it beside what was made of it.
void Instance::drop(ValueId id) {
  const auto found = intermediates_.find(id);
  if (found == intermediates_.end()) return;
  const Weight* mapped = found->second.mapped;
  if (mapped != nullptr && mapped->release) mapped->release();
  intermediates_.erase(found);
}

/// Where the backend's kernels find it.
void Instance::place(HeldConstant& held) const {
  if (device_.is_host()) return;
  held.on_device = upload_to(device_, held.data, held.bytes);
  held.data = held.on_device.get();
  held.memory = Tensor();
}

const HeldConstant& Instance::hold(ValueId id, const Packing& packing) {
  const auto key = std::pair(id, to_string(packing));
  const auto known = held_.find(key);
  if (known != held_.end()) return known->second.constant();
  if (keeps_master_weights() && master_weights_.empty()) keep_master_weights();
  if (const Held* lent = find_lent(id, key.second)) {
    return held_.emplace(key, Held{packing, {}, &lent->constant()}).first->second.constant();
  }
  HeldConstant held;
  if (packing.kind == Packing::Kind::plain) {
    plain(id);
    Intermediate& from = intermediates_.at(id);
    held.memory = from.mapped == nullptr ? std::move(from.owned) : converted(from.view, from.view.dtype);
    held.bytes = held.memory.bytes();
    held.data = held.memory.data();
    drop(id);
  } else {
    const Shape shape = concrete(program_.value(id).shape, {1, 1});
    ASSAY_ASSERT(shape.size() == 2 && program_.value(id).dtype == packing.dtype);
    held.bytes = packed_bytes(packing, shape[0], shape[1]);
    if (!device_.is_host()) held.memory = Tensor(DType::u8, {static_cast<std::int64_t>(held.bytes)});
    std::byte* const packed = device_.is_host() ? packed_.take(held.bytes) : held.memory.data();
    const bool is_made = intermediates_.count(id) != 0;
    const std::vector<const Weight*> rows = is_made ? NoRows() : RowSources{program_, weights_, producer_}.of(id);
    if (rows.empty())
      pack(plain(id), packing, packed);
    else
      pack_straight(rows, packing, packed);
    held.data = packed;
  }
  place(held);
  const Held& kept = held_.emplace(key, Held{packing, std::move(held)}).first->second;
  if (const std::string& recipe = recipes_[static_cast<std::size_t>(id)]; !recipe.empty())
    lendable_.emplace(HeldKey{recipe, key.second}, &kept);
  return kept.constant();
}

const Packing* Instance::held_packing(ValueId id) const {
  const auto first = held_.lower_bound({id, std::string()});
  if (first != held_.end() && first->first.first == id) return &first->second.packing;
  const Held* lent = find_lent(id, "");
  return lent == nullptr ? nullptr : &lent->packing;
}

void Instance::release_intermediates() {
  while (!intermediates_.empty()) drop(intermediates_.begin()->first);
}

std::int64_t Instance::model_bytes() const {
  std::int64_t total = 0;
  if (master_weights_.empty()) {
    std::set<ValueId> counted;
    for (const auto& [key, held] : held_) {
      if (counted.insert(key.first).second) total += storage_bytes(program_, key.first, {1, 1});
    }
    return total;
  }
  for (const HeldConstant& weight : master_weights_) total += static_cast<std::int64_t>(weight.bytes);
  return total;
}

std::int64_t Instance::resident_bytes() const {
  std::int64_t total = 0;
  for (const auto& [key, held] : held_) total += static_cast<std::int64_t>(held.own.bytes);
  for (const HeldConstant& weight : master_weights_) total += static_cast<std::int64_t>(weight.bytes);
  return total;
}

std::int64_t Instance::missing_bytes(Extent extent) const {
  std::set<ValueId> missing;
  for (const Node& node : program_.nodes) {
    const bool constant = std::all_of(node.outputs.begin(), node.outputs.end(),
                                      [&](ValueId id) { return id != no_value && program_.value(id).constant; });
    for (const ValueId id : node.inputs) {
      const bool read = !constant && id != no_value && program_.value(id).constant;
      if (read && held_packing(id) == nullptr) missing.insert(id);
    }
  }
  std::int64_t total = 0;
  for (const ValueId id : missing) total += storage_bytes(program_, id, extent);
  if (keeps_master_weights() && master_weights_.empty()) total += weights_.parameters() * 4;
  return total;
}

}  // namespace assay
