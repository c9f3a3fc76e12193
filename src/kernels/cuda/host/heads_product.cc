#include "kernels/cuda/host/heads_product.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/verdict.h"

namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

/// One matrix of a product of heads, and how far it moves from launch to launch.
struct Side {
  Matrix matrix;
  Steps steps;
};
struct Sides {
  Side a, b, c;
};

std::int64_t element_bytes(DType dtype) {
  return static_cast<std::int64_t>(size_of(dtype));
}

/// A step of one head lies between the launches of a group.
Side query_heads(const Geometry& g, const Tokens& t) {
  const std::int64_t step = g.group() > 1 ? g.head_dim : 0;
  return {{t.dtype, g.head_dim, g.seq, t.stride, g.group() * g.head_dim, step},
          {g.seq * t.stride * element_bytes(t.dtype), g.head_dim * element_bytes(t.dtype)}};
}
Side key_heads(const Geometry& g, const Tokens& t) {
  return {{t.dtype, g.head_dim, g.seq, t.stride, g.head_dim}, {g.seq * t.stride * element_bytes(t.dtype), 0}};
}
Side scores(const Geometry& g, DType dtype) {
  const std::int64_t head = g.seq * g.seq;
  return {{dtype, g.seq, g.seq, g.seq, g.group() * head, g.group() > 1 ? head : 0},
          {g.heads * head * element_bytes(dtype), head * element_bytes(dtype)}};
}

/// `summed`: the heads of a group add up in one c.
enum class Groups : std::uint8_t { apart, summed };

/// `shape`: what the product is but for its matrices.
Made make(const Geometry& g, const Sides& sides, ProductShape shape, Groups groups) {
  HeadsProduct heads{.g = g, .first = {}, .more = {}, .a = sides.a.steps, .b = sides.b.steps, .c = sides.c.steps};
  shape.a = sides.a.matrix;
  shape.b = sides.b.matrix;
  shape.c = sides.c.matrix;
  shape.batches = static_cast<int>(g.kv_heads);
  auto first = Product::make(shape);
  if (auto* declined = std::get_if<Declined>(&first)) return *declined;
  heads.first = std::get<std::shared_ptr<const Product>>(first);
  if (groups == Groups::apart || g.group() == 1) return heads;
  shape.beta = 1;
  shape.onto_stride = shape.c.stride;
  auto more = Product::make(shape);
  if (auto* declined = std::get_if<Declined>(&more)) return *declined;
  heads.more = std::get<std::shared_ptr<const Product>>(more);
  return heads;
}

bool is_storable(DType operand, DType result) {
  return is_float(operand) && (stored_as(result) == DType::f32 || result == operand);
}

}  // namespace

Geometry geometry_of(const Call& call, std::int64_t batches, std::int64_t seq) {
  return {batches, seq, call.attributes.heads, call.attributes.kv_heads, call.attributes.head_dim};
}

Tokens tokens(const Argument& argument) {
  return {argument.dtype, argument.row_stride};
}

void HeadsProduct::run(const ProductMemory& memory, std::int64_t batches) const {
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    for (std::int64_t i = 0; i < g.group(); ++i) {
      const Product& product = i > 0 && more != nullptr ? *more : *first;
      product.run({memory.a + batch * a.batch + i * a.group, memory.b + batch * b.batch + i * b.group,
                   memory.c + batch * c.batch + i * c.group, nullptr, nullptr, memory.workspace});
    }
  }
}

std::size_t HeadsProduct::workspace_bytes() const {
  return std::max(first->workspace_bytes(), more != nullptr ? more->workspace_bytes() : 0);
}

Made make_scores(const Geometry& g, const Tokens& q, const Tokens& k, DType to, double scale) {
  ProductShape shape;
  shape.a_turned = Turned::yes;
  shape.alpha = static_cast<float>(scale);
  return make(g, {key_heads(g, k), query_heads(g, q), scores(g, to)}, shape, Groups::apart);
}

Made make_context(const Geometry& g, DType p, const Tokens& v, const Tokens& y, double scale) {
  ProductShape shape;
  shape.alpha = static_cast<float>(scale);
  return make(g, {key_heads(g, v), scores(g, p), query_heads(g, y)}, shape, Groups::apart);
}

Made make_transposed(const Geometry& g, DType p, const Tokens& y, const Tokens& z, double scale) {
  ProductShape shape;
  shape.b_turned = Turned::yes;
  shape.alpha = static_cast<float>(scale);
  return make(g, {query_heads(g, y), scores(g, p), key_heads(g, z)}, shape, Groups::summed);
}

Prepared offer_heads(const HeadsProduct& heads) {
  Prepared prepared;
  prepared.description = fmt::format("batches of {} heads; {}", heads.g.kv_heads, heads.first->description());
  prepared.operand = heads.first->operand();
  prepared.workspace_bytes = heads.workspace_bytes();
  return prepared;
}

const char* fault_of(const Call& call, const Geometry& g) {
  if (g.batches == 0) return "there are no rows";
  if (!is_storable(call.in(0).dtype, call.out(0).dtype)) return "the result is neither f32 nor of the operands' dtype";
  if (stored_as(call.in(1).dtype) != stored_as(call.in(0).dtype)) return "the operands' dtypes differ";
  return nullptr;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
