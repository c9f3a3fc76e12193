#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hardware/facts.h"
#include "kernels/packing.h"
#include "program/operation.h"
#include "program/program.h"
#include "tensor/device.h"
#include "tensor/ledger.h"
#include "tensor/tensor.h"

namespace assay {

/// An input or output of a call with everything that is known before it runs.
struct Argument {
  bool present = false;  ///< false: an optional input that is absent, an output that nobody wants
  bool constant = false;
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t row_stride =
      0;            ///< Elements between rows (a row is the last axis); > shape.back() for windows into wider rows.
  Packing packing;  ///< Constants: the layout in which this one will be handed over, where that is settled already.

  std::int64_t width() const { return shape.empty() ? 1 : shape.back(); }
  std::int64_t rows() const;       ///< Product of all axes but the last.
  std::int64_t rows_each() const;  ///< Rows that one place of the first axis has.
};

/// The rows of a norm. Where its gain is narrower than x, each stretch of a row that is as wide as the gain is
/// normalised by itself: heads.
struct NormRows {
  std::int64_t rows = 0;    ///< Of all stretches.
  std::int64_t width = 0;   ///< Of one.
  std::int64_t groups = 1;  ///< That lie in a row of x.
};
/// `gain` may be absent.
NormRows norm_rows(const Argument& x, const Argument& gain);

/// What a kernel is asked to do.
struct Call {
  const Operation* operation = nullptr;
  Attributes attributes;
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  int threads = 1;

  /// The argument at that place; an absent one where the call has fewer.
  const Argument& in(std::size_t index) const;
  const Argument& out(std::size_t index) const;
};

/// Where the tensors of a call lie when it runs. Absent arguments are null.
struct Memory {
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;
  std::byte* workspace = nullptr;
  /// Of the first input: the kernel works on so many of its first rows, and on all where this is negative. Only kernels
  /// that say Prepared::takes_rows are given another number.
  std::int64_t rows = -1;

  template <typename T>
  const T* in(std::size_t index) const {
    return index < inputs.size() ? reinterpret_cast<const T*>(inputs[index]) : nullptr;
  }
  template <typename T>
  T* out(std::size_t index) const {
    return index < outputs.size() ? reinterpret_cast<T*>(outputs[index]) : nullptr;
  }
};

/// A call made ready: decides nothing and allocates nothing when it runs. May be run from one thread at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const Memory& memory) const = 0;
};

template <typename Function>
class FunctionKernel final : public Kernel {
 public:
  explicit FunctionKernel(Function function) : function_(std::move(function)) {}
  void run(const Memory& memory) const override { function_(memory); }

 private:
  Function function_;
};

/// A kernel from a callable `void(const Memory&)`.
template <typename Function>
std::unique_ptr<Kernel> make_kernel(Function function) {
  return std::make_unique<FunctionKernel<Function>>(std::move(function));
}

/// What a kernel's rounding errors are as large as; the contract suite measures them by it.
enum class ErrorsOf : std::uint8_t {
  row,    ///< a rounding of the largest value of the output's row
  output  ///< one of the whole output: something was rounded before differences were taken that may cancel in a row
};

/// A kernel that can run, and what it truthfully does.
struct Prepared {
  std::unique_ptr<Kernel> kernel;
  std::string description;         ///< Which code runs: "avx512 f32, panels of 32".
  DType operand = DType::f32;      ///< What its multiply instruction multiplies.
  DType accumulator = DType::f32;  ///< What it adds in.
  Arithmetic arithmetic = Arithmetic::instructions;
  /// Of matrix products `prepare` judges them (verdict.h), whatever an implementation says; of the rest it says itself.
  Verdict verdict = Verdict::native;
  std::string evidence;  ///< Why that verdict: "avx512_bf16; matmul measured at 380 GFLOP/s, 1.90x fp32".
  ErrorsOf errors_of = ErrorsOf::row;
  bool takes_rows = false;          ///< It heeds Memory::rows.
  bool brings_threads = false;      ///< It opens parallel regions of its own, as a library does.
  std::size_t workspace_bytes = 0;  ///< 64-byte aligned scratch handed to every run; its content does not last.
  std::vector<Packing> packing;     ///< The layout it wants for each input; may be shorter than inputs (rest: plain).
};

/// Why an implementation does not take a call, in words for the ledger.
struct Declined {
  std::string why;
};

using Offer = std::variant<Prepared, Declined>;

/// Whether the ledger says beside the kernel that ran why this one did not.
enum class Refusal : std::uint8_t { silent, reported };

struct Implementation {
  const char* name;
  Offer (*prepare)(const Call& call, const MachineFacts& facts);
  Refusal refusal = Refusal::silent;
};

/// The implementations of one operation, best first.
struct OperationKernels {
  const Operation* operation;
  std::span<const Implementation> implementations;
};

/// Up to so many rows of x, as decoding has them, reading the weights takes longer than multiplying by them: such
/// products have loops of their own, and are ordered by rates with one row.
constexpr std::int64_t few_rows = 4;

/// Rates that differ by less say nothing about which kernel is faster at another shape.
constexpr double measured_alike = 0.95;

/// A device's kernels. An operation that the table lacks has none there.
struct Backend {
  const char* name;    ///< "cpu", "reference", "cuda"
  const char* device;  ///< "cpu", "cuda"
  std::span<const OperationKernels> table;
  const char* absent = nullptr;  ///< Why this build has no such backend; null where it has.
  /// Where its kernels' tensors lie. Throws Error(lacking) where this machine has no such device.
  const Device& (*memory)() = host_device;
  /// Writes what the device is over the host's facts: its memory, its measured rates. Null: the host's facts hold.
  void (*describe)(MachineFacts& facts) = nullptr;
};

const Backend& reference_backend();
const Backend& cpu_backend();
const Backend& cuda_backend();

/// Rates of one operand dtype in the order in which `prepare` asks their implementations: by their rates with streaming
/// weights where measured, those within measured_alike, and all of a busy machine's, in the backend's order.
std::vector<MatmulRate> in_order_of_choice(const Backend& backend, const MachineFacts& facts,
                                           const std::vector<MatmulRate>& rates);

/// The first implementation that accepts, or every refusal in one sentence. Where implementations of the call were
/// measured with its operand dtype (MatmulPeak::rates, or row_rates up to few_rows), the faster one is asked first; the
/// table's order stands within measured_alike, where nothing was measured, and where a busy machine was. Judges what a
/// matrix product runs in.
Offer prepare(const Backend& backend, const Call& call, const MachineFacts& facts);

}  // namespace assay
