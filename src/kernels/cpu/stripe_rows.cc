#include "kernels/cpu/stripe_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "kernels/cpu/blocking.h"
#include "kernels/cpu/micro/sum_of_bytes.h"

namespace assay::cpu {
namespace {

using micro::StripeRows;

bool are_integers(StripeRows order) {
  return order == StripeRows::s8 || order == StripeRows::s8_by_part;
}

DType stored_dtype(StripeRows order) {
  if (are_integers(order) || order == StripeRows::three_bytes) return DType::s8;
  return order == StripeRows::bf16_pairs ? DType::bf16 : DType::f32;
}

/// Every eight values in an order: place p gets value `places[p]`.
template <typename Element, int... places>
void reorder(Element* x, std::int64_t count) {
  using Eight [[gnu::vector_size(8 * sizeof(Element))]] = Element;
  for (std::int64_t i = 0; i < count; i += 8) {
    Eight eight;
    std::memcpy(&eight, x + i, sizeof(eight));
    eight = __builtin_shufflevector(eight, eight, places...);
    std::memcpy(x + i, &eight, sizeof(eight));
  }
}

void reorder_halves(std::byte* x, std::int64_t count) {
  reorder<float, 0, 4, 1, 5, 2, 6, 3, 7>(reinterpret_cast<float*>(x), count);
}

void reorder_pairs(std::byte* x, std::int64_t count) {
  reorder<std::uint16_t, 0, 2, 4, 6, 1, 3, 5, 7>(reinterpret_cast<std::uint16_t*>(x), count);
}

float sum_of_floats(const std::byte* data) {
  const auto* const x = reinterpret_cast<const float*>(data);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < stretch_values; ++i) sum += x[i];
  return sum;
}

float sum_of_bf16(const std::byte* data) {
  const auto* const x = reinterpret_cast<const std::uint16_t*>(data);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < stretch_values; ++i) sum += std::bit_cast<float>(std::uint32_t{x[i]} << 16);
  return sum;
}

}  // namespace

bool StripeRowsOf::is_copied() const {
  return !are_integers(order) || in % stretch_values != 0;
}

std::int64_t StripeRowsOf::starts_of_stretch() const {
  if (order == StripeRows::three_bytes) return 2 * parts;
  return order == StripeRows::s8_by_part ? parts : 1;
}

/// Beside the row itself.
std::int64_t StripeRowsOf::side_bytes() const {
  const std::int64_t scales = order == StripeRows::three_bytes ? 1 : 0;
  return stretches() * 4 * (scales + starts_of_stretch() + parts);
}

std::int64_t StripeRowsOf::stride() const {
  if (order == StripeRows::three_bytes) return stretches() * micro::pieces_bytes;
  return stretches() * stretch_values * bytes_of(stored_dtype(order));
}

std::int64_t StripeRowsOf::bytes(std::int64_t rows) const {
  return round_up(rows * ((is_copied() ? stride() : 0) + side_bytes()), line_bytes);
}

PreparedRows StripeRowsOf::place(const LinearMemory& tensors, std::byte* workspace) const {
  PreparedRows placed;
  placed.copy = is_copied() ? workspace : nullptr;
  placed.x = is_copied() ? workspace : tensors.x;
  placed.x_stride = is_copied() ? stride() : x_stride;
  placed.scales = tensors.x_scale;
  placed.sums = reinterpret_cast<float*>(workspace + (is_copied() ? tensors.rows * stride() : 0));
  placed.starts = reinterpret_cast<std::int32_t*>(placed.sums + tensors.rows * stretches() * parts);
  if (order == StripeRows::three_bytes) {
    placed.made_scales = reinterpret_cast<float*>(placed.starts + tensors.rows * stretches() * starts_of_stretch());
    placed.scales = placed.made_scales;
  }
  return placed;
}

/// The row in whole stretches.
const std::byte* StripeRowsOf::filled_row(const LinearMemory& tensors, const PreparedRows& rows,
                                          std::int64_t row) const {
  const std::byte* const x = tensors.x + row * x_stride;
  if (rows.copy == nullptr) return x;
  std::byte* const to = rows.copy + row * stride();
  std::memcpy(to, x, static_cast<std::size_t>(in));
  std::memset(to + in, 0, static_cast<std::size_t>(stride() - in));
  return to;
}

void StripeRowsOf::prepare_integers(const LinearMemory& tensors, const PreparedRows& rows, std::int64_t row) const {
  const std::byte* x = filled_row(tensors, rows, row);
  const std::int64_t first = row * stretches();
  const float* const scales = rows.scales + first;
  float* const sums = rows.sums + first * parts;
  std::int32_t* const starts = rows.starts + first * starts_of_stretch();
  for (std::int64_t i = 0; i < stretches(); ++i, x += stretch_values) {
    const std::int32_t left = micro::sum_of_sixteen(x);
    const std::int32_t right = micro::sum_of_sixteen(x + stretch_values / 2);
    const std::int32_t of_parts[] = {parts == 1 ? left + right : left, right};
    for (std::int64_t part = 0; part < parts; ++part)
      sums[i * parts + part] = scales[i] * static_cast<float>(of_parts[part]);
    if (starts_of_stretch() == 1) {
      starts[i] = -zero * (left + right);
    } else {
      starts[2 * i] = -zero * left;
      starts[2 * i + 1] = -zero * right;
    }
  }
}

void StripeRowsOf::prepare_pieces(const LinearMemory& tensors, const PreparedRows& rows, std::int64_t row) const {
  constexpr std::int64_t at_once = 256;
  const std::byte* const x = tensors.x + row * x_stride * bytes_of(dtype);
  for (std::int64_t first = 0; first < in; first += at_once) {
    alignas(64) float values[at_once];
    const std::int64_t count = std::min(at_once, in - first);
    const std::int64_t filled = round_up(count, stretch_values);
    convert(dtype, x + first * bytes_of(dtype), DType::f32, values, static_cast<std::size_t>(count));
    std::fill(values + count, values + filled, 0.0F);
    const std::int64_t stretch = row * stretches() + first / stretch_values;
    micro::split_floats_avx2(values, filled / stretch_values,
                             {.pieces = rows.copy + stretch * micro::pieces_bytes,
                              .scales = rows.made_scales + stretch,
                              .sums = rows.sums + stretch * parts,
                              .starts = rows.starts + stretch * starts_of_stretch(),
                              .parts = parts,
                              .zero = zero});
  }
}

void StripeRowsOf::prepare_floats(const LinearMemory& tensors, const PreparedRows& rows, std::int64_t row) const {
  const std::byte* const x = tensors.x + row * x_stride * bytes_of(dtype);
  const DType stored = stored_dtype(order);
  const std::int64_t values = stretches() * stretch_values;
  const std::int64_t stretch_bytes = stretch_values * bytes_of(stored);
  std::byte* const to = rows.copy + row * stride();
  convert(dtype, x, stored, to, static_cast<std::size_t>(in));
  std::memset(to + in * bytes_of(stored), 0, static_cast<std::size_t>((values - in) * bytes_of(stored)));
  const auto sum = stored == DType::bf16 ? sum_of_bf16 : sum_of_floats;
  for (std::int64_t i = 0; i < stretches(); ++i) rows.sums[row * stretches() + i] = sum(to + i * stretch_bytes);
  if (order == StripeRows::f32_halves) reorder_halves(to, values);
  if (order == StripeRows::bf16_pairs) reorder_pairs(to, values);
}

void StripeRowsOf::prepare(const LinearMemory& tensors, const PreparedRows& rows, std::int64_t begin,
                           std::int64_t end) const {
  ASSAY_ASSERT(order != StripeRows::bf16_pairs || dtype == DType::bf16);
  for (std::int64_t row = begin; row < end; ++row) {
    if (are_integers(order)) {
      prepare_integers(tensors, rows, row);
    } else if (order == StripeRows::three_bytes) {
      prepare_pieces(tensors, rows, row);
    } else {
      prepare_floats(tensors, rows, row);
    }
  }
}

void StripeRowsOf::point_at(const PreparedRows& rows, std::int64_t row, micro::StripeBlock& block) const {
  block.stretches = stretches() * parts;
  block.parts = parts;
  block.x = rows.x + row * rows.x_stride;
  block.x_stride = rows.x_stride;
  block.side_stride = stretches();
  block.x_scale = rows.scales == nullptr ? nullptr : rows.scales + row * stretches();
  block.x_sums = rows.sums + row * stretches() * parts;
  block.starts = rows.starts + row * stretches() * starts_of_stretch();
}

}  // namespace assay::cpu
