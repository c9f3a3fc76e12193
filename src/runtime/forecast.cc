#include "runtime/forecast.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "model/stored_values.h"
#include "runtime/row_sources.h"
#include "tensor/slabs.h"

namespace assay {
namespace {

/// What lies in memory while constants are made one after another, as Instance makes them.
class Loading {
 public:
  Loading(const Program& program, const Weights& weights, std::int64_t held_bytes)
      : program_(program),
        producer_(producers_of(program)),
        rows_{program, weights, producer_},
        now_(held_bytes),
        most_(held_bytes) {}

  void hold(ValueId id, const Packing& packing, std::int64_t bytes) {
    const bool is_packed = packing.kind != Packing::Kind::plain;
    const std::vector<const Weight*> weights = rows_.of(id);
    if (is_packed && intermediates_.count(id) == 0 && !weights.empty()) return pack_straight(weights, bytes);
    make(id);
    if (!is_packed) drop(id);  // It becomes the constant itself.
    grow(bytes);
  }
  void release_intermediates() {
    while (!intermediates_.empty()) drop(intermediates_.begin()->first);
  }
  std::int64_t most_bytes() const { return most_; }

 private:
  void grow(std::int64_t bytes) {
    now_ += bytes;
    most_ = std::max(most_, now_);
  }

  /// The checkpoint's pages are resident beside what is packed from them, or from values that are made of them.
  void pack_straight(const std::vector<const Weight*>& weights, std::int64_t bytes) {
    grow(bytes);
    std::int64_t read = 0;
    for (const Weight* weight : weights) {
      const auto element = static_cast<std::int64_t>(size_of(read_dtype(*weight)));
      read += std::ssize(weight->bytes) + (is_read_in_place(*weight) ? 0 : element_count(weight->shape) * element);
    }
    most_ = std::max(most_, now_ + read);
  }

  /// Pages of the checkpoint that are resident beside the values that are made of them.
  static std::int64_t bytes_in_file(const Weight& weight, DType dtype) {
    const bool is_view =
        dtype == DType::u8 ? !weight.rows_moved : is_read_in_place(weight) && read_dtype(weight) == dtype;
    return is_view ? 0 : std::ssize(weight.bytes);
  }

  void load(ValueId id, const Weight* weight) {
    keep(id);
    if (weight != nullptr) most_ = std::max(most_, now_ + bytes_in_file(*weight, program_.value(id).dtype));
  }

  void make(ValueId id) {
    if (intermediates_.count(id) != 0) return;
    const Weight* weight = rows_.one_of(id);
    if (weight != nullptr || program_.value(id).source == Source::weight) return load(id, weight);
    const Node& node = program_.nodes[producer_[static_cast<std::size_t>(id)]];
    for (const ValueId in : node.inputs) {
      if (in != no_value) make(in);
    }
    for (const ValueId out : node.outputs) keep(out);
    for (const ValueId in : node.inputs) drop(in);
  }

  void keep(ValueId id) {
    const std::int64_t bytes = id == no_value ? 0 : storage_bytes(program_, id, {1, 1});
    intermediates_[id] = bytes;
    grow(bytes);
  }

  void drop(ValueId id) {
    const auto found = intermediates_.find(id);
    if (found == intermediates_.end()) return;
    now_ -= found->second;
    intermediates_.erase(found);
  }

  const Program& program_;
  Producers producer_;
  RowSources rows_;
  std::map<ValueId, std::int64_t> intermediates_;
  std::int64_t now_;
  std::int64_t most_;
};

class Forecaster {
 public:
  Forecaster(const Program& program, const ForecastInputs& inputs, const PlanOptions& options)
      : program_(program), inputs_(inputs), options_(options) {
    made_.layout = lay_out(program, options);
    made_.workspace_bytes.resize(made_.layout.nodes.size());
    made_.ledger.resize(made_.layout.nodes.size());
  }

  Forecast make() {
    keep_master_weights();
    Loading loading(program_, inputs_.weights, made_.master_bytes);
    for (const std::size_t place : preparation_order(program_, made_.layout, options_.extent)) {
      prepare_step(place, loading);
      loading.release_intermediates();
    }
    made_.loading_bytes = loading.most_bytes();
    return std::move(made_);
  }

 private:
  void keep_master_weights() {
    const bool has_masters = inputs_.precision.row.rule == Activations::autocast_lists;
    if (!has_masters || inputs_.masters == MasterWeights::dropped) return;
    for (std::size_t id = 0; id < program_.values.size(); ++id) {
      if (program_.values[id].source == Source::weight && program_.values[id].dtype != DType::u8)
        made_.master_bytes += storage_bytes(program_, static_cast<ValueId>(id), {1, 1});
    }
  }

  const Packing* held(ValueId id) const {
    const auto found = held_.lower_bound({id, std::string()});
    return found != held_.end() && found->first.first == id ? &found->second : nullptr;
  }

  void prepare_step(std::size_t place, Loading& loading) {
    const Node& node = program_.nodes[made_.layout.nodes[place]];
    const CallContext context{program_, made_.layout, options_, inputs_.facts.threads,
                              [this](ValueId id) { return held(id); }};
    const Call call = call_for(context, node);
    Offer offer = prepare(inputs_.backend, call, inputs_.facts);
    if (const auto* declined = std::get_if<Declined>(&offer)) {
      fail_lacking("{} ({}): {}", node.path, node.operation->name, declined->why);
    }
    const Prepared& prepared = std::get<Prepared>(offer);
    made_.workspace_bytes[place] = static_cast<std::int64_t>(prepared.workspace_bytes);
    made_.ledger[place] = ledger_row(
        node, call, prepared, {inputs_.precision.rest_name(), inputs_.backend.device, program_, inputs_.weights});
    made_.ledger[place].flops = flops(program_, node, options_.extent);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (call.inputs[i].constant) hold(node.inputs[i], packing_for(prepared, i, call.inputs[i].dtype), loading);
    }
  }

  static Packing packing_for(const Prepared& prepared, std::size_t input, DType dtype) {
    const bool packed = input < prepared.packing.size() && prepared.packing[input].kind != Packing::Kind::plain;
    Packing plain;
    plain.dtype = dtype;
    return packed ? prepared.packing[input] : plain;
  }

  void hold(ValueId id, const Packing& packing, Loading& loading) {
    if (!held_.emplace(std::pair(id, to_string(packing)), packing).second) return;
    std::int64_t bytes = storage_bytes(program_, id, {1, 1});
    if (packing.kind != Packing::Kind::plain) {
      const Shape shape = concrete(program_.value(id).shape, {1, 1});
      bytes = static_cast<std::int64_t>(packed_bytes(packing, shape[0], shape[1]));
    }
    loading.hold(id, packing, bytes + slab_gap(packing, bytes));
    made_.constants.push_back({id, packing, bytes});
  }

  /// What a packed constant takes beyond its bytes: on the host they lie in slabs.
  std::int64_t slab_gap(const Packing& packing, std::int64_t bytes) {
    if (packing.kind == Packing::Kind::plain || inputs_.facts.gpu) return 0;
    const std::size_t before = slabs_.resident_bytes();
    slabs_.take(static_cast<std::size_t>(bytes));
    const std::int64_t gap = static_cast<std::int64_t>(slabs_.resident_bytes() - before) - bytes;
    made_.slab_gap_bytes += gap;
    return gap;
  }

  const Program& program_;
  const ForecastInputs& inputs_;
  const PlanOptions& options_;
  std::map<std::pair<ValueId, std::string>, Packing> held_;
  SlabSizes slabs_;
  Forecast made_;
};

}  // namespace

std::int64_t Forecast::most_workspace_bytes() const {
  return workspace_bytes.empty() ? 0 : *std::max_element(workspace_bytes.begin(), workspace_bytes.end());
}

std::int64_t Forecast::arena_bytes() const {
  return layout.bytes + most_workspace_bytes();
}

std::int64_t Forecast::constant_bytes() const {
  std::int64_t total = master_bytes;
  for (const ForecastConstant& constant : constants) total += constant.bytes;
  return total;
}

Forecast forecast(const Program& program, const ForecastInputs& inputs, const PlanOptions& options) {
  return Forecaster(program, inputs, options).make();
}

}  // namespace assay
