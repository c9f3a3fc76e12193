#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "model/weights.h"
#include "program/program.h"
#include "tensor/precision.h"
#include "tensor/slabs.h"

namespace assay {

/// Where a constant lies, in one packing.
struct HeldConstant {
  Tensor memory;          ///< On the host, plain; empty where it is packed, or the backend's memory is a device's.
  DeviceBytes on_device;  ///< Else here.
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// Whether f32 weights stay beside the 16-bit copies that mixed precisions work with.
enum class MasterWeights : std::uint8_t {
  kept,
  dropped  ///< Nobody updates the constants: those of a training are frozen.
};

/// A program in one precision on one backend with its weights. Constants are computed and packed when the first plan
/// asks for them, and shared by all plans: packing never depends on B or T. A device's constants are computed on the
/// host, by the cpu backend, and uploaded.
class Instance {
 public:
  /// `program` has been through the passes. The references must outlive the instance.
  Instance(Program program, PrecisionChoice precision, const Weights& weights, const Backend& backend,
           const MachineFacts& facts, MasterWeights masters = MasterWeights::kept);

  const Program& program() const { return program_; }
  const PrecisionChoice& precision() const { return precision_; }
  const Weights& weights() const { return weights_; }
  const Backend& backend() const { return backend_; }
  const MachineFacts& facts() const { return facts_; }
  const Device& device() const { return device_; }

  /// Constants that another instance of the same weights on the same backend holds are read there, where they are made
  /// in the same way and packed alike; `lender` must outlive this one. For instances that differ in a few layers.
  void borrow_from(const Instance& lender);

  /// The constant in that packing, made at the first call. Throws what loading or preparing throws.
  const HeldConstant& hold(ValueId value, const Packing& packing);
  /// The packing in which `value` is held already; null where it is not held.
  const Packing* held_packing(ValueId value) const;
  /// Frees what `hold` needed on the way. Call once after the constants of an operation have been asked for.
  void release_intermediates();

  /// Bytes of the parameters as this precision stores them, without the padding of packings: what `model size` means.
  /// For mixed-* the f32 weights.
  std::int64_t model_bytes() const;
  /// Bytes of every constant that is held, copies included; what is borrowed counts where it is held.
  std::int64_t resident_bytes() const;
  /// Bytes of the constants that a run reads and that are not held yet.
  std::int64_t missing_bytes(Extent extent) const;

 private:
  /// A constant on its way to what is held.
  struct Intermediate {
    TensorView view;
    Tensor owned;                    ///< Behind `view`, else that lies in the mapped checkpoint.
    const Weight* mapped = nullptr;  ///< Whose pages are to be released.
  };
  struct Held {
    Packing packing;
    HeldConstant own;
    const HeldConstant* borrowed = nullptr;  ///< In the place of `own`.
    const HeldConstant& constant() const { return borrowed != nullptr ? *borrowed : own; }
  };
  using HeldKey = std::pair<std::string, std::string>;  ///< Recipe and packing.
  void write_recipes(const Node& node);
  /// What a lender holds of the same recipe in that packing; in any where it is empty. Null: nothing.
  const Held* find_lent(ValueId value, const std::string& packing) const;
  const TensorView& plain(ValueId value);
  void compute(const Node& node);
  void drop(ValueId value);
  void place(HeldConstant& held) const;
  void load_weight(ValueId value);
  bool keeps_master_weights() const;
  void keep_master_weights();

  Program program_;
  PrecisionChoice precision_;
  const Weights& weights_;
  const Backend& backend_;
  const Device& device_;
  const MachineFacts& facts_;
  MasterWeights masters_;
  std::vector<std::size_t> producer_;  ///< Node that makes each value.
  std::map<ValueId, Intermediate> intermediates_;
  Slabs packed_;  ///< The host's packed constants.
  std::map<std::pair<ValueId, std::string>, Held> held_;
  std::map<HeldKey, const Held*> lendable_;  ///< Of held_.
  std::vector<const Instance*> lenders_;
  std::vector<std::string> recipes_;  ///< How each constant is made of weights; empty: in a way that no name says.
  /// mixed-*: the f32 parameters beside their 16-bit copies, where the backend's memory is.
  std::vector<HeldConstant> master_weights_;
};

}  // namespace assay
