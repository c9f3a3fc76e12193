#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace assay {

/// What stands behind an operand dtype on this machine.
enum class Verdict : std::uint8_t {
  native,      ///< The instruction exists and its matmul was measured at 0.9x fp32 or more.
  slow,        ///< It exists and is slower.
  widened,     ///< Stored in 16 bits, computed in f32 because that was measured faster.
  emulated,    ///< No such instruction; computed in another dtype.
  unsupported  ///< No kernel.
};
const char* name(Verdict verdict);

/// One operation of a run: what was asked, what ran, and how that is known.
struct LedgerRow {
  std::string path;       ///< Layer path: "layers.3.attn.q_proj".
  std::string operation;  ///< "linear".
  std::string role;       ///< "attention".
  std::string requested;  ///< Precision name.
  std::string kernel;     ///< Implementation that ran: "avx512 bf16 dot products, packed panels".
  DType operand = DType::f32;
  DType accumulator = DType::f32;
  DType stored = DType::f32;  ///< Dtype of the activation it read.
  Verdict verdict = Verdict::native;
  std::string evidence;  ///< "avx512_bf16; matmul measured at 1.9x fp32".
  std::string device = "cpu";
  double flops = 0;  ///< Of one run, not masked away.
  std::string weight_in_file =
      {};                        ///< Types that the file holds its matrix in: "Q4_K", "F16 and F32". Empty: no matrix.
  std::string weight_kept = {};  ///< What stays of it in memory: "Q4_K", "bf16".
};

/// An input of the program and where it lies: ids, masks, labels.
struct LedgerInput {
  std::string name;
  DType dtype = DType::s32;
  std::string device = "cpu";
  std::string remark = {};  ///< What was left out of it.
};

struct Ledger {
  std::vector<LedgerInput> inputs;
  std::vector<LedgerRow> rows;
};

}  // namespace assay
