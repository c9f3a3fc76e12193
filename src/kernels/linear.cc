#include "kernels/linear.h"

#include "base/error.h"
#include "kernels/block_linear.h"
#include "kernels/quantized_linear.h"

namespace assay {
namespace {

const Argument& at(const Call& call, int place) {
  static const Argument absent;
  return place < 0 ? absent : call.in(static_cast<std::size_t>(place));
}

std::int64_t stride_of(const Argument& argument) {
  return argument.row_stride > 0 ? argument.row_stride : argument.width();
}

void check_vector(const Argument& argument, std::int64_t count) {
  ASSAY_ASSERT(!argument.present || element_count(argument.shape) == count);
}

LinearCall view(const Call& call, const LinearPlaces& places) {
  const Argument& x = at(call, places.x);
  const Argument& weight = at(call, places.weight);
  const Argument& bias = at(call, places.bias);
  const Argument& y = call.out(0);
  ASSAY_ASSERT(x.present && weight.present && y.present && weight.shape.size() == 2);
  const BlockFormat* blocks = call.attributes.blocks;
  ASSAY_ASSERT((blocks != nullptr ? blocks->bytes_of(x.width()) : x.width()) == weight.shape[1] &&
               y.width() == weight.shape[0] && x.rows() == y.rows());
  check_vector(bias, weight.shape[0]);
  check_vector(at(call, places.x_scale), x.rows() * (blocks != nullptr ? activation_groups(x.width()) : 1));
  check_vector(at(call, places.w_scale), weight.shape[0]);
  return {.places = places,
          .rows = x.rows(),
          .in = x.width(),
          .out = y.width(),
          .x_stride = stride_of(x),
          .y_stride = stride_of(y),
          .x = x.dtype,
          .weight = weight.dtype,
          .bias = bias.dtype,
          .y = y.dtype,
          .y_scale = call.attributes.output_scale,
          .has_bias = bias.present,
          .has_x_scale = at(call, places.x_scale).present,
          .has_w_scale = at(call, places.w_scale).present,
          .constant_weight = weight.constant,
          .blocks = blocks,
          .packing = weight.packing,
          .activation = call.attributes.activation,
          .accumulator = call.attributes.accumulator,
          .chunk = call.attributes.chunk,
          .threads = call.threads};
}

template <typename T>
const T* input(const Memory& memory, int place) {
  return place < 0 ? nullptr : memory.in<T>(static_cast<std::size_t>(place));
}

}  // namespace

LinearCall linear_call(const Call& call) {
  return view(call, {});
}

LinearCall quantized_linear_call(const Call& call) {
  const LinearCall quantized = view(call, {.x = 0, .x_scale = 1, .weight = 2, .w_scale = 3, .bias = 4});
  ASSAY_ASSERT((quantized.weight == DType::s8 || quantized.weight == DType::e4m3) && quantized.has_w_scale);
  ASSAY_ASSERT(quantized.has_x_scale
                   ? quantized.x == quantized.weight
                   : (is_float(quantized.x) || quantized.x == DType::s8) && quantized.weight == DType::s8);
  return quantized;
}

LinearCall block_linear_call(const Call& call) {
  const LinearCall linear = view(call, {});
  ASSAY_ASSERT(linear.blocks != nullptr && linear.weight == DType::u8 && is_float(linear.x));
  return linear;
}

LinearCall quantized_block_linear_call(const Call& call) {
  const LinearCall linear = view(call, {.x = 0, .x_scale = 1, .weight = 2, .bias = 3});
  ASSAY_ASSERT(linear.blocks != nullptr && linear.weight == DType::u8 && linear.x == DType::s8 && linear.has_x_scale);
  ASSAY_ASSERT(linear.blocks->table.empty());
  return linear;
}

LinearMemory linear_memory(const LinearCall& call, const Memory& memory) {
  return {.x = input<std::byte>(memory, call.places.x),
          .x_scale = input<float>(memory, call.places.x_scale),
          .weight = input<std::byte>(memory, call.places.weight),
          .w_scale = input<float>(memory, call.places.w_scale),
          .bias = input<std::byte>(memory, call.places.bias),
          .y = memory.out<std::byte>(0),
          .workspace = memory.workspace,
          .rows = memory.rows < 0 ? call.rows : memory.rows};
}

}  // namespace assay
