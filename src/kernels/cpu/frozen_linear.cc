#include <algorithm>

#include "kernels/cpu/blocking.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/matmul_codes.h"
#include "kernels/cpu/product.h"
#include "kernels/stripes.h"
#include "kernels/verdict.h"

// dx = dy W + onto with a weight that is not trained. It is held once, in the panels that its forward product reads; a
// stretch of them at a time is widened and turned as this one needs it.
namespace assay::cpu {

namespace {

/// Columns [from, to) of rows of one panel, of which `first` is the first that is wanted.
struct PanelPiece {
  std::int64_t n;  ///< The first row, and
  std::int64_t n_end;
  std::int64_t from;
  std::int64_t first;
  std::int64_t to;
};

/// The piece as f32 panels: where it lies, or in the scratch.
const float* widened_piece(const HeldWeight& weight, const std::byte* data, const PanelPiece& piece,
                           std::byte* scratch) {
  const bool in_blocks = weight.blocks != nullptr;
  const std::int64_t unit = in_blocks ? weight.blocks->elements : weight.packing.group;
  const std::int64_t panel = piece.n / micro::panel_width * micro::panel_width;
  const std::int64_t element =
      in_blocks ? stripe_offset(weight.packing, weight.blocks->bytes_of(weight.in), panel, piece.from / unit)
                : panel_offset(weight.packing, weight.in, panel, piece.from);
  const std::byte* stored = data + element * bytes_of(weight.packing.dtype);
  const std::int64_t units = ceil_div(piece.to - piece.from, unit);
  if (in_blocks) {
    weight.widen_blocks(*weight.blocks, stored, units, scratch);
  } else if (weight.widen != nullptr) {
    weight.widen(stored, units, scratch);
  } else {
    return reinterpret_cast<const float*>(stored);
  }
  return reinterpret_cast<const float*>(scratch);
}

}  // namespace

void HeldWeight::read(const std::byte* data, const float* scales, const Stretch& stretch, std::byte* scratch,
                      float* out) const {
  const std::int64_t unit = blocks != nullptr ? blocks->elements : packing.group;
  const std::int64_t end = stretch.first + stretch.count;
  const auto turn = [&](const PanelPiece& piece) {
    const float* wide = widened_piece(*this, data, piece, scratch) + (piece.first - piece.from) * micro::panel_width;
    for (std::int64_t n = piece.n; n < piece.n_end; ++n) {
      const float scale = scales == nullptr ? 1.0F : scales[n];
      const float* column = wide + n % micro::panel_width;
      float* row = out + (n - stretch.k) * stretch.count + (piece.first - stretch.first);
      for (std::int64_t i = 0; i < piece.to - piece.first; ++i) row[i] = column[i * micro::panel_width] * scale;
    }
  };
  for (std::int64_t n = stretch.k; n < stretch.k + stretch.k_count;) {
    const std::int64_t next = std::min(stretch.k + stretch.k_count, round_up(n + 1, micro::panel_width));
    for (std::int64_t from = stretch.first / unit * unit; from < end; from += most_columns)
      turn({n, next, from, std::max(from, stretch.first), std::min(from + most_columns, end)});
    n = next;
  }
}

namespace {

constexpr std::size_t weight_place = 1;

bool has_scales(const Call& call) {
  return call.operation == &op::quantized_linear_input_gradient;
}

Packing panels_for(const Call& call) {
  const BlockFormat* blocks = call.attributes.blocks;
  return blocks != nullptr ? panels_of(*blocks) : panels_of(call.in(weight_place).dtype);
}

const char* unfit_for_panels(const Call& call) {
  const Argument& weight = call.in(weight_place);
  if (!weight.constant) return "the weight changes: it is in no panels";
  if (weight.packing.kind == Packing::Kind::panels && weight.packing != panels_for(call))
    return "the weight is held in other panels";
  const bool is_known = weight.dtype == DType::u8 || weight.dtype == DType::s8 || is_vector_float(weight.dtype);
  if (!is_known || !is_vector_float(call.in(0).dtype)) return "dy or the weight is of another dtype";
  return is_vector_float(call.out(0).dtype) ? nullptr : "dx is neither f32 nor f16 nor bf16";
}

HeldWeight held_weight(const Call& call, const MachineFacts& facts) {
  const DType stored = call.in(weight_place).dtype;
  HeldWeight held{.packing = panels_for(call), .in = call.out(0).width(), .blocks = call.attributes.blocks};
  if (held.blocks != nullptr) {
    const MatmulCode code = facts.isa.avx512 ? codes::f32() : codes::f32_avx2();
    held.widen_blocks = codes::from_blocks(code, *held.blocks).widen_blocks;
  } else if (stored != DType::f32) {
    held.widen = facts.isa.avx512 ? codes::f32_from(stored).widen : codes::f32_from_avx2(stored).widen;
  }
  return held;
}

std::int64_t stride_bytes(const Argument& argument) {
  return argument.row_stride * static_cast<std::int64_t>(size_of(argument.dtype));
}

Product product_through(const Call& call, const MachineFacts& facts) {
  const Argument& dy = call.in(0);
  const Argument& onto = call.in(has_scales(call) ? 3 : 2);
  return {.rows = dy.rows(),
          .columns = call.out(0).width(),
          .depth = dy.width(),
          .a = {.data = nullptr, .dtype = dy.dtype, .rounded = dy.dtype, .stride_bytes = stride_bytes(dy)},
          .b = {},
          .bias = DType::f32,
          .held = held_weight(call, facts),
          .onto = {nullptr, onto.dtype, stride_bytes(onto)},
          .y = {nullptr, call.out(0).dtype, stride_bytes(call.out(0))},
          .threads = call.threads,
          .counted = &Product::rows};
}

ProductMemory plain_memory(const Memory& m) {
  return {m.in<std::byte>(0),  m.in<std::byte>(1), nullptr, m.in<std::byte>(2),
          m.out<std::byte>(0), m.workspace,        nullptr};
}

ProductMemory scaled_memory(const Memory& m) {
  return {m.in<std::byte>(0),  m.in<std::byte>(1), nullptr,       m.in<std::byte>(3),
          m.out<std::byte>(0), m.workspace,        m.in<float>(2)};
}

Offer through_panels(const Call& call, const MachineFacts& facts, const MatmulCode& code) {
  if (const char* why = unfit_for_panels(call)) return Declined{why};
  Prepared prepared =
      prepare_product(product_through(call, facts), facts, code, has_scales(call) ? scaled_memory : plain_memory);
  prepared.packing = {{}, panels_for(call)};
  return prepared;
}

Offer in_bf16(const Call& call, const MachineFacts& facts, const MatmulCode& code) {
  const DType stored = call.in(weight_place).dtype;
  if (call.in(0).dtype != DType::bf16) return Declined{"dy is not bf16"};
  const bool is_rounded = stored == DType::f32 && call.attributes.operand != DType::bf16;
  if (is_rounded || stored == DType::f16) return Declined{"the weight is not bf16, nor of fewer bits"};
  return through_panels(call, facts, code);
}

}  // namespace

Offer frozen_linear_tiles(const Call& call, const MachineFacts& facts) {
  if (!facts.isa.amx_bf16) return Declined{"no AMX-BF16 here"};
  return in_bf16(call, facts, codes::bf16_tiles());
}

Offer frozen_linear_bf16(const Call& call, const MachineFacts& facts) {
  if (!facts.isa.avx512_bf16 || !facts.isa.avx512) return Declined{"no AVX512-BF16 here"};
  if (!instruction_pays(DType::bf16, facts)) return Declined{"its dot products were measured slower than f32"};
  return in_bf16(call, facts, codes::bf16_dot_products());
}

Offer frozen_linear_f32(const Call& call, const MachineFacts& facts) {
  if (!facts.isa.avx2) return Declined{"no AVX2 here"};
  const DType operand = call.attributes.operand;
  const bool is_rounded = size_of(operand) < size_of(DType::f32) && call.in(weight_place).dtype == DType::f32;
  if (is_rounded) return Declined{"the weight would have to be rounded first"};
  return through_panels(call, facts, facts.isa.avx512 ? codes::f32() : codes::f32_strips_avx2());
}

}  // namespace assay::cpu
