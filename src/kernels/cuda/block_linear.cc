#include "kernels/block_linear.h"

#include "kernels/cuda/blocks.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/few_rows.h"
#include "kernels/cuda/widen_weight.h"
#include "kernels/quantized_linear.h"

// Weights of few bits, decoded by the threads that multiply:
//   block_linear, quantized_linear without x_scale:  y = f(x W^T + b), in f32
//   quantized_block_linear:  the same of s8 by codes, summed in s32 for eight neighbours, then in f32
//   block_linear_input_gradient, quantized_linear_input_gradient:  dx = dy W + onto
//   block_embedding:  y[token] = W[ids[token]]
// W: (out, in)
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

/// Four products of bytes, added to a sum.
ON_DEVICE inline std::int32_t dot_of_four(std::uint32_t a, std::uint32_t b, std::int32_t sum) {
#ifdef __CUDA_ARCH__
  return __dp4a(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b), sum);
#else
  for (int byte = 0; byte < 32; byte += 8)
    sum += static_cast<std::int8_t>(a >> byte) * static_cast<std::int8_t>(b >> byte);
  return sum;
#endif
}

/// Eight bytes in two words.
struct Bytes {
  std::uint32_t word[2] = {};

  ON_DEVICE void set(int i, int value) { word[i / 4] |= (static_cast<std::uint32_t>(value) & 0xFF) << (i % 4 * 8); }
};

ON_DEVICE inline std::int32_t dot_of_eight(const Bytes& a, const Bytes& b) {
  return dot_of_four(a.word[1], b.word[1], dot_of_four(a.word[0], b.word[0], 0));
}

/// Activations in s8 with a scale for 32 of them, by codes.
struct CodedPartial {
  In x;
  const float* x_scale;  ///< (rows, groups)
  std::int64_t groups;
  InBlocks weight;
  std::int64_t in;

  ON_DEVICE void add(std::int64_t n, std::int64_t first, std::int64_t first_row, int rows, float* sums) const {
    const CodePack coded = weight.codes(n, first);
    Bytes w, ones;
    UNROLLED
    for (int i = 0; i < pack_width; ++i) {
      w.set(i, weight.whole_of(coded.code[i]));
      ones.set(i, 1);
    }
    UNROLLED
    for (int r = 0; r < rows_of_a_team; ++r) {
      if (r >= rows) continue;
      const Bytes a = bytes_of(first_row + r, first);
      const float scale = x_scale[(first_row + r) * groups + first / activation_group];
      float sum = coded.scale * static_cast<float>(dot_of_eight(a, w));
      if (weight.layout.less_of != LessOf::constant) sum -= coded.minimum * static_cast<float>(dot_of_eight(a, ones));
      sums[r] += scale * sum;
    }
  }

  /// Zeros behind the row's end.
  ON_DEVICE Bytes bytes_of(std::int64_t row, std::int64_t first) const {
    const std::byte* from = x.data + row * x.stride + first;
    Bytes a;
    UNROLLED
    for (int i = 0; i < pack_width; ++i) a.set(i, first + i < in ? signed_byte_at(from, i) : 0);
    return a;
  }
};

/// A thread eight columns of a row of dx.
template <typename Weight>
struct WidenedInputGradient {
  In dy, onto;
  Weight weight;
  Out dx;
  std::int64_t out, in;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    Pack sum = {};
    if (onto.present()) sum = onto.pack(row, first, in);
    for (std::int64_t n = 0; n < out; ++n) {
      const float slope = dy(row, n);
      const Pack w = weight.pack(n, first, in);
      for (int i = 0; i < pack_width; ++i) sum.value[i] += slope * w.value[i];
    }
    dx.set_pack(row, first, in, sum);
  }
};

struct GatherBlocks {
  const std::int32_t* ids;
  InBlocks table;
  Out y;
  std::int64_t width;

  ON_DEVICE void operator()(std::int64_t token, std::int64_t first) const {
    y.set_pack(token, first, width, table.pack(ids[token], first, width));
  }
};

constexpr const char* by_teams = "a team an output and eight rows, weights decoded in registers";

template <typename Weight>
void widen_to(const Weight& weight, const WidenedTo& to) {
  for_packs(to.out, to.in, CopyPack<Weight>{weight, {to.w, to.in, to.dtype}, to.in});
}

/// Where few rows are multiplied by threads of their own.
const char* fault_of_few(const LinearCall& linear) {
  return linear.rows > rows_of_a_team ? "there are more than eight rows" : nullptr;
}

/// x and W in f32 whatever is stored: `weight` makes a Weight of the memory.
template <typename WeightOf>
Prepared offer_widened(const Call& call, const LinearCall& linear, WeightOf weight_of) {
  return offer(by_teams, [call, linear, weight_of](const Memory& memory) {
    const auto bias = static_cast<std::size_t>(linear.places.bias);
    using Weight = decltype(weight_of(memory));
    multiply_rows(linear, WidenedPartial<Weight>{input(call, memory, 0), weight_of(memory), linear.in},
                  {input(call, memory, bias), output(call, memory, 0), linear.activation});
  });
}

/// The blocks that are input 1.
auto decoded(const Call& call) {
  return [weight = blocks_of(call, 1)](const Memory& memory) { return weight.at(memory.in<std::byte>(1)); };
}

/// s8 rows and their scales, at those places.
auto scaled(const Call& call, std::size_t weight, std::size_t scale) {
  return [call, weight, scale](const Memory& memory) {
    return ScaledRows{input(call, memory, weight), memory.in<float>(scale)};
  };
}

template <typename WeightOf>
Prepared offer_input_gradient(const Call& call, std::size_t onto, WeightOf weight_of) {
  return offer_product("a thread eight inputs, f32 sums", [call, onto, weight_of](const Memory& memory) {
    using Weight = decltype(weight_of(memory));
    const std::int64_t in = call.out(0).width();
    for_packs(call.in(0).rows(), in,
              WidenedInputGradient<Weight>{input(call, memory, 0), input(call, memory, onto), weight_of(memory),
                                           output(call, memory, 0), call.in(1).shape[0], in});
  });
}

}  // namespace

Offer prepare_few_rows_of_blocks(const Call& call, const MachineFacts&) {
  const LinearCall linear = block_linear_call(call);
  if (const char* fault = fault_of_few(linear)) return Declined{fault};
  return offer_widened(call, linear, decoded(call));
}

Offer prepare_few_rows_of_bytes(const Call& call, const MachineFacts&) {
  const LinearCall linear = quantized_linear_call(call);
  if (linear.has_x_scale) return Declined{"activations are quantised too"};
  if (const char* fault = fault_of_few(linear)) return Declined{fault};
  return offer_widened(call, linear, scaled(call, 2, 3));
}

Offer prepare_plain_block_linear(const Call& call, const MachineFacts&) {
  Prepared prepared = offer_widened(call, block_linear_call(call), decoded(call));
  prepared.arithmetic = Arithmetic::scalar_loops;
  return prepared;
}

Offer prepare_quantized_block_linear(const Call& call, const MachineFacts&) {
  const LinearCall linear = quantized_block_linear_call(call);
  const InBlocks weight = blocks_of(call, 2);
  const auto run = [call, linear, weight](const Memory& memory) {
    const CodedPartial partial{input(call, memory, 0), memory.in<float>(1), activation_groups(linear.in),
                               weight.at(memory.in<std::byte>(2)), linear.in};
    multiply_rows(linear, partial, {input(call, memory, 3), output(call, memory, 0), linear.activation});
  };
  Prepared prepared = offer_product("a team an output and eight rows, s8 products four by four (DP4A)", run);
  prepared.operand = DType::s8;
  prepared.accumulator = DType::s32;
  return prepared;
}

Offer prepare_block_embedding(const Call& call, const MachineFacts&) {
  if (call.in(0).dtype != DType::s32) return Declined{"ids are not s32"};
  return offer("a pack of columns a thread, decoded", [call, table = blocks_of(call, 1)](const Memory& memory) {
    const std::int64_t width = call.out(0).width();
    for_packs(
        call.out(0).rows(), width,
        GatherBlocks{memory.in<std::int32_t>(0), table.at(memory.in<std::byte>(1)), output(call, memory, 0), width});
  });
}

Offer prepare_plain_block_linear_input_gradient(const Call& call, const MachineFacts&) {
  return offer_input_gradient(call, 2, decoded(call));
}

Offer prepare_plain_quantized_linear_input_gradient(const Call& call, const MachineFacts&) {
  return offer_input_gradient(call, 3, scaled(call, 1, 2));
}

WeightWidener widener_of_blocks(const Call& call) {
  return [weight_of = decoded(call)](const Memory& memory, const WidenedTo& to) { widen_to(weight_of(memory), to); };
}

WeightWidener widener_of_bytes(const Call& call, std::size_t weight, std::size_t scale) {
  return [weight_of = scaled(call, weight, scale)](const Memory& memory, const WidenedTo& to) {
    widen_to(weight_of(memory), to);
  };
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
