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

/// A program in one precision on one backend with its weights. Constants are computed and packed when the first plan
/// asks for them, and shared by all plans: packing never depends on B or T. A device's constants are computed on the
/// host, by the cpu backend, and uploaded.
class Instance {
 public:
  /// `program` has been through the passes. The references must outlive the instance.
  Instance(Program program, PrecisionChoice precision, const Weights& weights, const Backend& backend,
           const MachineFacts& facts);

  const Program& program() const { return program_; }
  const PrecisionChoice& precision() const { return precision_; }
  const Backend& backend() const { return backend_; }
  const MachineFacts& facts() const { return facts_; }
  const Device& device() const { return device_; }

  /// The constant in that packing, made at the first call. Throws what loading or preparing throws.
  const HeldConstant& hold(ValueId value, const Packing& packing);
  /// The packing in which `value` is held already; null where it is not held.
  const Packing* held_packing(ValueId value) const;
  /// Frees what `hold` needed on the way. Call once after the constants of an operation have been asked for.
  void release_intermediates();

  /// Bytes of the parameters as this precision stores them, without the padding of packings: what `model size` means.
  /// For mixed-* the f32 weights.
  std::int64_t model_bytes() const;
  /// Bytes of every constant that is held, copies included.
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
  std::vector<std::size_t> producer_;  ///< Node that makes each value.
  std::map<ValueId, Intermediate> intermediates_;
  Slabs packed_;  ///< The host's packed constants.
  std::map<std::pair<ValueId, std::string>, std::pair<Packing, HeldConstant>> held_;
  /// mixed-*: the f32 parameters beside their 16-bit copies, where the backend's memory is.
  std::vector<HeldConstant> master_weights_;
};

}  // namespace assay
