#include "model/stored_order.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/threads.h"
#include "model/families.h"

namespace assay {
namespace {

/// Row `from` of the checkpoint's becomes row `to`: heads of `head_dim` rows move as they are.
struct HeadOrder {
  std::int64_t heads, kv_heads, head_dim;

  std::int64_t rows() const { return (heads + 2 * kv_heads) * head_dim; }
  std::int64_t operator()(std::int64_t row) const {
    const std::int64_t group = heads / kv_heads;
    const std::int64_t key_head = row / head_dim / (group + 2);
    const std::int64_t within = row / head_dim % (group + 2);
    const bool is_query = within < group;
    const std::int64_t head = is_query ? key_head * group + within : heads + (within - group) * kv_heads + key_head;
    return head * head_dim + row % head_dim;
  }
};

enum class Direction : std::uint8_t { from_file, to_file };

Tensor moved_heads(const TensorView& rows, const ModelConfig& c, Direction direction) {
  const HeadOrder order = {c.heads, c.kv_heads, c.head_dim};
  Tensor result(rows.dtype, rows.shape);
  if (rows.shape.empty() || rows.shape[0] != order.rows()) {  // Refused where shapes are compared.
    std::memcpy(result.data(), rows.data, rows.bytes());
    return result;
  }
  const std::size_t row_bytes = rows.bytes() / static_cast<std::size_t>(rows.shape[0]);
  for (std::int64_t row = 0; row < rows.shape[0]; ++row) {
    auto from = static_cast<std::size_t>(row);
    auto to = static_cast<std::size_t>(order(row));
    if (direction == Direction::to_file) std::swap(from, to);
    std::memcpy(result.data() + to * row_bytes, rows.data + from * row_bytes, row_bytes);
  }
  return result;
}

/// (rows, columns) -> (columns, rows)
template <typename Element>
Tensor transposed(const TensorView& from) {
  const std::int64_t rows = from.shape[0];
  const std::int64_t columns = from.shape[1];
  Tensor result(from.dtype, {columns, rows});
  const auto* source = reinterpret_cast<const Element*>(from.data);
  auto* target = reinterpret_cast<Element*>(result.data());
  constexpr std::int64_t square = 32;
  parallel_for((columns + square - 1) / square, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r0 = 0; r0 < rows; r0 += square) {
      for (std::int64_t c = begin * square; c < std::min(columns, end * square); ++c) {
        for (std::int64_t r = r0; r < std::min(rows, r0 + square); ++r) target[c * rows + r] = source[r * columns + c];
      }
    }
  });
  return result;
}

Tensor transposed_any(const TensorView& from) {
  switch (size_of(from.dtype)) {
    case 2:
      return transposed<std::uint16_t>(from);
    case 4:
      return transposed<std::uint32_t>(from);
    default:
      throw std::logic_error("no parameter has elements of that size");
  }
}

Tensor copied(const TensorView& view) {
  Tensor result(view.dtype, view.shape);
  std::memcpy(result.data(), view.data, view.bytes());
  return result;
}

Tensor reordered(const TensorView& view, StoredOrder order, const ModelConfig& config, Direction direction) {
  if (order == StoredOrder::by_key_head) return moved_heads(view, config, direction);
  const bool turns = order == StoredOrder::transposed && view.shape.size() == 2;
  return turns ? transposed_any(view) : copied(view);
}

}  // namespace

StoredOrder stored_order(const std::string& canonical, const Family& family) {
  if (ends_with_any(canonical, family.tensors->transposed)) return StoredOrder::transposed;
  if (ends_with_any(canonical, family.tensors->by_key_head)) return StoredOrder::by_key_head;
  return StoredOrder::same;
}

Shape stored_shape(const Shape& shape, StoredOrder order) {
  if (order != StoredOrder::transposed || shape.size() != 2) return shape;
  return {shape[1], shape[0]};
}

Tensor from_stored(const TensorView& stored, StoredOrder order, const ModelConfig& config) {
  return reordered(stored, order, config, Direction::from_file);
}

Tensor to_stored(const TensorView& parameter, StoredOrder order, const ModelConfig& config) {
  return reordered(parameter, order, config, Direction::to_file);
}

}  // namespace assay
