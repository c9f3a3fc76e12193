#include "kernels/cpu/stripe_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "kernels/cpu/blocking.h"

namespace assay::cpu {
namespace {

using micro::StripeRows;

DType stored_dtype(StripeRows order) {
  if (order == StripeRows::s8) return DType::s8;
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

std::int32_t sum_of_codes(const std::int8_t* x, std::int64_t count) {
  std::int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += x[i];
  return sum;
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
  return order != StripeRows::s8 || in % stretch_values != 0;
}

std::int64_t StripeRowsOf::stride() const {
  return stretches() * stretch_values * bytes_of(stored_dtype(order));
}

std::int64_t StripeRowsOf::bytes(std::int64_t rows) const {
  const std::int64_t side = stretches() * 4 * (1 + parts);
  return round_up(rows * ((is_copied() ? stride() : 0) + side), line_bytes);
}

PreparedRows StripeRowsOf::place(const LinearMemory& tensors, std::byte* workspace) const {
  PreparedRows placed;
  placed.copy = is_copied() ? workspace : nullptr;
  placed.x = is_copied() ? workspace : tensors.x;
  placed.x_stride = is_copied() ? stride() : x_stride;
  placed.scales = tensors.x_scale;
  placed.sums = reinterpret_cast<float*>(workspace + (is_copied() ? tensors.rows * stride() : 0));
  placed.starts = reinterpret_cast<std::int32_t*>(placed.sums + tensors.rows * stretches() * parts);
  return placed;
}

void StripeRowsOf::prepare_integers(const LinearMemory& tensors, const PreparedRows& rows, std::int64_t row) const {
  const auto* const x = reinterpret_cast<const std::int8_t*>(tensors.x) + row * x_stride;
  if (rows.copy != nullptr) {
    std::byte* const to = rows.copy + row * stride();
    std::memcpy(to, x, static_cast<std::size_t>(in));
    std::memset(to + in, 0, static_cast<std::size_t>(stride() - in));
  }
  const float* const scales = rows.scales + row * stretches();
  const std::int64_t part_values = stretch_values / parts;
  for (std::int64_t i = 0; i < stretches(); ++i) {
    std::int32_t whole = 0;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t first = std::min(i * stretch_values + part * part_values, in);
      const std::int32_t sum = sum_of_codes(x + first, std::min(part_values, in - first));
      rows.sums[(row * stretches() + i) * parts + part] = scales[i] * static_cast<float>(sum);
      whole += sum;
    }
    rows.starts[row * stretches() + i] = -zero * whole;
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
    if (order == StripeRows::s8) {
      prepare_integers(tensors, rows, row);
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
  block.starts = rows.starts + row * stretches();
}

}  // namespace assay::cpu
