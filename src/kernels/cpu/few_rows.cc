#include "kernels/cpu/few_rows.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/cpu/blocking.h"
#include "kernels/cpu/matmul_codes.h"
#include "kernels/cpu/shares.h"

namespace assay::cpu {
namespace {

/// Reading so much takes some microseconds: what starting a thread costs.
constexpr std::int64_t bytes_worth_a_thread = 64 << 10;

int threads_for(const LinearCall& call, const MatmulCode& code) {
  const auto bytes = static_cast<std::int64_t>(packed_bytes(code.packing, call.out, call.in));
  const std::int64_t useful = std::min(bytes / bytes_worth_a_thread, ceil_div(call.out, micro::panel_width));
  return static_cast<int>(std::clamp<std::int64_t>(useful, 1, std::max(call.threads, 1)));
}

class FewRows final : public Kernel {
 public:
  FewRows(const LinearCall& call, const MatmulCode& code)
      : call_(call),
        code_(code),
        copied_(call.x != code.operand || call.in % code.group != 0),
        stride_(copied_ ? round_up(round_up(call.in, code.group) * bytes_of(code.operand), line_bytes)
                        : call.x_stride * bytes_of(call.x)),
        groups_(ceil_div(call.in, code.group)),
        panel_bytes_(static_cast<std::int64_t>(column_sums_offset(code.packing, micro::panel_width, call.in))),
        threads_(threads_for(call, code)),
        shares_(threads_),
        finish_(choose_finish()) {}

  std::size_t workspace_bytes() const { return static_cast<std::size_t>(threads_ * scratch_bytes()); }

  void run(const Memory& memory) const override {
    const LinearMemory tensors = linear_memory(call_, memory);
    if (tensors.rows == 0 || call_.out == 0) return;
    shares_.deal(panels());
    on_threads(threads_, [&](int thread, int) {
      ask_for_first_lines(tensors.weight + panels() * thread / threads_ * panel_bytes_);
      const std::byte* const x = copied_ ? copy_rows(tensors, thread) : tensors.x;
      for (std::int64_t panel = shares_.take(thread); panel != Shares::none; panel = shares_.take(thread))
        multiply_panel(tensors, x, panel, thread);
    });
  }

 private:
  std::int64_t panels() const { return ceil_div(call_.out, micro::panel_width); }
  // Of each thread: the sums of a block of rows, then its own copy of all rows.
  std::int64_t sums_bytes() const { return code_.block_rows * sum_row_bytes; }
  std::int64_t scratch_bytes() const { return sums_bytes() + (copied_ ? call_.rows * stride_ : 0); }
  std::byte* scratch(const LinearMemory& tensors, int thread) const {
    return tensors.workspace + thread * scratch_bytes();
  }

  const std::byte* copy_rows(const LinearMemory& tensors, int thread) const {
    std::byte* const copy = scratch(tensors, thread) + sums_bytes();
    for (std::int64_t row = 0; row < tensors.rows; ++row)
      copy_row(call_, code_, tensors.x + row * call_.x_stride * bytes_of(call_.x), copy + row * stride_);
    return copy;
  }

  void multiply_panel(const LinearMemory& tensors, const std::byte* x, std::int64_t panel, int thread) const {
    const std::int64_t n = panel * micro::panel_width;
    const std::int64_t columns = std::min<std::int64_t>(micro::panel_width, call_.out - n);
    const Epilogue epilogue = epilogue_at(call_, code_, tensors, 0, n);
    micro::Block block;
    block.a_stride = stride_;
    block.panel = tensors.weight + panel * panel_bytes_;
    block.groups = groups_;
    block.c = scratch(tensors, thread);
    for (std::int64_t row = 0; row < tensors.rows; row += code_.block_rows) {
      const std::int64_t rows = std::min<std::int64_t>(code_.block_rows, tensors.rows - row);
      block.a = x + row * stride_;
      code_.multiply(block, static_cast<int>(rows));
      finish_(epilogue.from_row(row), block.c, rows, columns);
    }
  }

  LinearCall call_;
  MatmulCode code_;
  bool copied_;  ///< Rows are not read in place.
  std::int64_t stride_;
  std::int64_t groups_;
  std::int64_t panel_bytes_;
  int threads_;
  mutable Shares shares_;
  Finish finish_;
};

/// What the multiply instruction reads of a stored weight: one loop for each dtype.
struct FewRowsLoop {
  DType stored;
  micro::Multiply multiply;
  const char* description;
};
constexpr FewRowsLoop wide_loops[] = {
    {DType::f32, micro::multiply_few_f32, "avx512 f32, few rows"},
    {DType::f16, micro::multiply_few_f16, "avx512 f32 from f16, few rows"},
    {DType::bf16, micro::multiply_few_bf16, "avx512 f32 from bf16, few rows"},
    {DType::s8, micro::multiply_few_s8, "avx512 f32 from s8, few rows"},
};
constexpr FewRowsLoop avx2_loops[] = {
    {DType::f32, micro::multiply_few_f32_avx2, "avx2 f32, few rows"},
    {DType::f16, micro::multiply_few_f16_avx2, "avx2 f32 from f16, few rows"},
    {DType::bf16, micro::multiply_few_bf16_avx2, "avx2 f32 from bf16, few rows"},
    {DType::s8, micro::multiply_few_s8_avx2, "avx2 f32 from s8, few rows"},
};

/// From a code for many rows whose operand and packing are the loop's.
MatmulCode for_few_rows(MatmulCode code, const char* description, micro::Multiply multiply, int block_rows) {
  code.description = description;
  code.multiply = multiply;
  code.block_rows = block_rows;
  code.widen = nullptr;
  code.group = code.packing.group;
  return code;
}

MatmulCode few_from(std::span<const FewRowsLoop> loops, DType stored, int block_rows) {
  const auto loop =
      std::find_if(loops.begin(), loops.end(), [&](const FewRowsLoop& one) { return one.stored == stored; });
  ASSAY_ASSERT(loop != loops.end());
  MatmulCode code = for_few_rows(codes::f32(), loop->description, loop->multiply, block_rows);
  code.packing = panels_of(stored);
  code.group = code.packing.group;
  return code;
}

}  // namespace

namespace codes {

MatmulCode few_f32(DType stored) {
  return few_from(wide_loops, stored, micro::few_rows);
}

MatmulCode few_f32_avx2(DType stored) {
  return few_from(avx2_loops, stored, micro::few_rows_avx2);
}

MatmulCode few_bf16_dot_products() {
  return for_few_rows(bf16_dot_products(), "avx512 bf16 dot products, few rows", micro::multiply_bf16, micro::few_rows);
}

MatmulCode few_bf16_dot_products_from_s8() {
  MatmulCode code = few_bf16_dot_products();
  code.description = "avx512 bf16 dot products from s8, few rows";
  code.multiply = micro::multiply_few_s8_bf16;
  code.packing = panels_of(DType::s8);
  code.group = code.packing.group;
  return code;
}

MatmulCode few_vnni() {
  return for_few_rows(vnni(), "avx512 vnni u8 x s8, few rows", micro::multiply_u8s8, micro::few_rows);
}

MatmulCode few_avx_vnni() {
  return for_few_rows(vnni(), "avx-vnni u8 x s8, few rows", micro::multiply_u8s8_avx_vnni, micro::few_rows);
}

MatmulCode few_s8_avx2() {
  MatmulCode code = for_few_rows(vnni(), "avx2 s8 as pairs of 16 bits, few rows", micro::multiply_few_s8s8_avx2,
                                 micro::few_rows_avx2);
  code.operand = DType::s8;
  return code;
}

}  // namespace codes

Offer prepare_few_rows(const LinearCall& call, const MachineFacts& facts, const MatmulCode& code) {
  if (call.rows > few_rows) return Declined{"more rows than its loops are made for"};
  if (const char* why = unfit(call, code)) return Declined{why};
  choose_vector_target(facts);
  auto kernel = std::make_unique<FewRows>(call, code);
  Prepared prepared = prepared_matmul(call, code);
  prepared.workspace_bytes = kernel->workspace_bytes();
  prepared.kernel = std::move(kernel);
  return prepared;
}

}  // namespace assay::cpu
