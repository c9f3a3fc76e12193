#include <cmath>

#include "kernels/contract_cases.h"
#include "kernels/verdict.h"

namespace assay::contract {
namespace {

struct MatmulShape {
  Shape rows;
  std::int64_t in;
  std::int64_t out;
};
const MatmulShape matmul_shapes[] = {
    {{1}, 1, 1},   {{1}, 64, 33}, {{3}, 17, 5},     {{0}, 16, 16},     {{2, 5}, 40, 96},  {{2}, 100, 70},
    {{4}, 61, 47}, {{7}, 63, 65}, {{33}, 128, 130}, {{128}, 192, 256}, {{1, 5}, 768, 48},
};

Shape with_width(Shape rows, std::int64_t width) {
  rows.push_back(width);
  return rows;
}

struct LinearDTypes {
  DType x;
  DType weight;
  DType out;
};
constexpr LinearDTypes linear_dtypes[] = {
    {DType::f32, DType::f32, DType::f32},   {DType::bf16, DType::bf16, DType::bf16},
    {DType::f16, DType::f16, DType::f16},   {DType::bf16, DType::bf16, DType::f32},
    {DType::f16, DType::f16, DType::f32},   {DType::f32, DType::bf16, DType::f32},
    {DType::bf16, DType::f32, DType::bf16}, {DType::tf32, DType::tf32, DType::f32},
    {DType::f32, DType::tf32, DType::f32},
};
constexpr Activation activations[] = {Activation::none,      Activation::relu, Activation::gelu_erf,
                                      Activation::gelu_tanh, Activation::silu, Activation::tanh};

std::int64_t rows_of(const Shape& rows) {
  return element_count(rows);
}

}  // namespace

std::vector<Case> linear_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const LinearDTypes& d : linear_dtypes) {
    for (const MatmulShape& s : matmul_shapes) {
      const Filled weight = {constant(d.weight, {s.out, s.in}), Fill::weights};
      const Filled bias = {constant(s.out % 2 == 0 ? d.weight : DType::f32, {s.out})};
      Filled odd_bias = {constant(stored_as(d.out), {s.out})};
      odd_bias.argument.row_stride += 1;  // A window: it begins at an odd address.
      const Argument y = dense(d.out, with_width(s.rows, s.out));
      add(cases, operation, {}, {{dense(d.x, with_width(s.rows, s.in))}, weight}, {y});
      for (const Activation activation : activations)
        add(cases, operation, {.activation = activation}, {{dense(d.x, with_width(s.rows, s.in))}, weight, bias}, {y});
      add(cases, operation, {}, {{dense(d.x, with_width(s.rows, s.in))}, weight, odd_bias}, {y});
      add(cases, operation, {}, {{window(d.x, with_width(s.rows, s.in), 16)}, weight, bias},
          {window(d.out, with_width(s.rows, s.out), 8)});
      if (d.x == DType::f16)
        add(cases, operation, {.chunk = 64, .accumulator = DType::f16},
            {{dense(d.x, with_width(s.rows, s.in))}, weight, bias}, {y});
    }
  }
  return cases;
}

namespace {

/// x has one scale, which is the weights'; what is written may have one, too.
void add_static(std::vector<Case>& cases, const Operation& operation, const std::vector<Filled>& inputs,
                const Argument& y) {
  add(cases, operation, {}, inputs, {y});
  add(cases, operation, scaled({.activation = Activation::gelu_tanh}, 9.0), inputs, {dense(DType::s8, y.shape)});
}

/// One shape with operands of 8 bits, bias and activation or none; with s8 also the weight-only form.
void add_quantized(std::vector<Case>& cases, const Operation& operation, const MatmulShape& s, DType bytes, DType out) {
  const Fill fill = bytes == DType::s8 ? Fill::whole : Fill::magnitudes;
  const Filled weight = {constant(bytes, {s.out, s.in}), fill};
  const Filled scale = {constant(DType::f32, {s.out}), Fill::small};
  const Filled bias = {constant(out, {s.out})};
  const Filled x = {dense(bytes, with_width(s.rows, s.in)), fill};
  const Filled real = {dense(out, with_width(s.rows, s.in))};
  const Filled row_scale = {dense(DType::f32, {rows_of(s.rows)}), Fill::small};
  const Argument y = dense(out, with_width(s.rows, s.out));
  for (const Activation activation : {Activation::none, Activation::gelu_erf}) {
    add(cases, operation, {.activation = activation}, {x, row_scale, weight, scale, bias}, {y});
    if (bytes == DType::s8)
      add(cases, operation, {.activation = activation}, {real, {Argument{}}, weight, scale, bias}, {y});
  }
  add(cases, operation, {}, {x, row_scale, weight, scale, {Argument{}}}, {y});
  if (bytes == DType::s8) add_static(cases, operation, {x, {Argument{}}, weight, scale, bias}, y);
}

}  // namespace

std::vector<Case> quantized_linear_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType bytes : {DType::s8, DType::e4m3}) {
    for (const DType out : floats) {
      for (const MatmulShape& s : matmul_shapes) add_quantized(cases, operation, s, bytes, out);
    }
  }
  return cases;
}

namespace {

struct AttentionShape {
  std::int64_t batch;
  std::int64_t seq;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t head_dim;
};
constexpr AttentionShape attention_shapes[] = {
    {1, 1, 1, 1, 4},   {2, 7, 3, 1, 5},    {0, 8, 2, 2, 16},   {1, 33, 4, 2, 32},
    {3, 49, 2, 2, 64}, {2, 100, 3, 1, 64}, {1, 40, 1, 1, 128}, {1, 200, 1, 1, 80},
};

Attributes attributes_of(const AttentionShape& s, std::size_t variant) {
  return {.heads = s.heads,
          .kv_heads = s.kv_heads,
          .head_dim = s.head_dim,
          .scale = 1 / std::sqrt(static_cast<double>(s.head_dim)),
          .causal = variant % 2 == 1};
}

/// q, k and v as windows into one joined buffer's rows.
Filled joined(DType dtype, const AttentionShape& s, std::int64_t heads) {
  const std::int64_t width = heads * s.head_dim;
  return {window(dtype, {s.batch, s.seq, width}, (s.heads + 2 * s.kv_heads) * s.head_dim - width)};
}

void add_attention(std::vector<Case>& cases, const Operation& operation, const AttentionShape& s, DType in, DType out,
                   DType math = DType::f32) {
  const Fill masks[] = {Fill::right_padded, Fill::left_padded, Fill::holes};
  const Shape scores = {s.batch, s.heads, s.seq, s.seq};
  const Filled q = joined(in, s, s.heads);
  const Filled k = joined(in, s, s.kv_heads);
  const Argument y = dense(out, {s.batch, s.seq, s.heads * s.head_dim});
  const std::int64_t windows[] = {1, 5, 40, 1000};
  const bool has_windows = in == out && math == DType::f32;
  for (std::size_t variant = 0; variant < (has_windows ? 16 : 8); ++variant) {
    Attributes a = attributes_of(s, variant);
    a.math = math;
    if (variant >= 8) a.window = windows[variant / 2 % 4];
    const bool masked = variant / 2 % 4 > 0;
    const Filled mask = masked ? Filled{dense(DType::u8, {s.batch, s.seq}), masks[variant / 2 % 4 - 1]}
                               : Filled{Argument{}, Fill::normal};
    const Filled sinks = {constant(DType::f32, {s.heads})};
    if (&operation == &op::attention) add(cases, operation, a, {q, k, k, mask}, {y});
    if (&operation == &op::attention && variant % 4 == 3) add(cases, operation, a, {q, k, k, mask, sinks}, {y});
    Attributes capped = a;
    capped.cap = 0.5;
    if (&operation == &op::attention && has_windows && variant % 8 == 3)
      add(cases, operation, capped, {q, k, k, mask}, {y});
    if (&operation == &op::softmax) add(cases, operation, a, {{dense(in, scores)}, mask}, {dense(out, scores)});
    if (&operation == &op::softmax && variant % 4 == 3)
      add(cases, operation, a, {{dense(in, scores)}, mask, sinks}, {dense(out, scores)});
    if (masked) continue;
    if (&operation == &op::attention_scores) add(cases, operation, a, {q, k}, {dense(out, scores)});
    if (&operation == &op::attention_context) add(cases, operation, a, {{dense(in, scores), Fill::small}, k}, {y});
  }
}

}  // namespace

std::vector<Case> attention_cases(const Operation& operation) {
  std::vector<Case> cases;
  const std::pair<DType, DType> dtypes[] = {{DType::f32, DType::f32},  {DType::bf16, DType::bf16},
                                            {DType::f16, DType::f16},  {DType::bf16, DType::f32},
                                            {DType::f32, DType::bf16}, {DType::tf32, DType::f32}};
  for (const auto& [in, out] : dtypes) {
    for (const AttentionShape& s : attention_shapes) add_attention(cases, operation, s, in, out);
  }
  if (&operation != &op::attention && &operation != &op::softmax) return cases;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const AttentionShape& s : attention_shapes) {
      if (s.seq < 50) add_attention(cases, operation, s, dtype, dtype, dtype);
    }
  }
  return cases;
}

}  // namespace assay::contract
