#include "kernels/cuda/heads_product.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay::cuda {
namespace {

Matrix query_heads(const Geometry& g, const Tokens& t) {
  return {t.dtype, g.head_dim, g.seq, t.stride, g.group() * g.head_dim};
}
Matrix key_heads(const Geometry& g, const Tokens& t) {
  return {t.dtype, g.head_dim, g.seq, t.stride, g.head_dim};
}
Matrix scores(const Geometry& g, DType dtype) {
  return {dtype, g.seq, g.seq, g.seq, g.group() * g.seq * g.seq};
}

Steps query_steps(const Geometry& g, const Tokens& t) {
  const auto bytes = static_cast<std::int64_t>(size_of(t.dtype));
  return {g.seq * t.stride * bytes, g.head_dim * bytes};
}
Steps key_steps(const Geometry& g, const Tokens& t) {
  return {g.seq * t.stride * static_cast<std::int64_t>(size_of(t.dtype)), 0};
}
Steps score_steps(const Geometry& g, DType dtype) {
  const std::int64_t head = g.seq * g.seq * static_cast<std::int64_t>(size_of(dtype));
  return {g.heads * head, head};
}

/// `summed`: the heads of a group add up in one c.
enum class Groups : std::uint8_t { apart, summed };

Made make(const Geometry& g, ProductShape shape, Groups groups) {
  HeadsProduct heads;
  heads.g = g;
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
  return is_float(operand) && (result == DType::f32 || result == operand);
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

/// scores = scale q k^T
Made make_scores(const Geometry& g, const Tokens& q, const Tokens& k, DType to, double scale) {
  ProductShape shape;
  shape.a = key_heads(g, k);
  shape.b = query_heads(g, q);
  shape.c = scores(g, to);
  shape.a_turned = Turned::yes;
  shape.alpha = static_cast<float>(scale);
  Made made = make(g, shape, Groups::apart);
  if (auto* heads = std::get_if<HeadsProduct>(&made)) {
    heads->a = key_steps(g, k);
    heads->b = query_steps(g, q);
    heads->c = score_steps(g, to);
  }
  return made;
}

/// y = scale p v
Made make_context(const Geometry& g, DType p, const Tokens& v, const Tokens& y, double scale) {
  ProductShape shape;
  shape.a = key_heads(g, v);
  shape.b = scores(g, p);
  shape.c = query_heads(g, y);
  shape.alpha = static_cast<float>(scale);
  Made made = make(g, shape, Groups::apart);
  if (auto* heads = std::get_if<HeadsProduct>(&made)) {
    heads->a = key_steps(g, v);
    heads->b = score_steps(g, p);
    heads->c = query_steps(g, y);
  }
  return made;
}

/// z = scale p^T y, summed over the query heads of a key head
Made make_transposed(const Geometry& g, DType p, const Tokens& y, const Tokens& z, double scale) {
  ProductShape shape;
  shape.a = query_heads(g, y);
  shape.b = scores(g, p);
  shape.c = key_heads(g, z);
  shape.b_turned = Turned::yes;
  shape.alpha = static_cast<float>(scale);
  Made made = make(g, shape, Groups::summed);
  if (auto* heads = std::get_if<HeadsProduct>(&made)) {
    heads->a = query_steps(g, y);
    heads->b = score_steps(g, p);
    heads->c = key_steps(g, z);
  }
  return made;
}

Prepared offer_heads(const HeadsProduct& heads, DType operand) {
  Prepared prepared;
  prepared.description = fmt::format("batches of {} heads; {}", heads.g.kv_heads, heads.first->description());
  prepared.operand = operand;
  prepared.workspace_bytes = heads.workspace_bytes();
  return prepared;
}

const char* fault_of(const Call& call, const Geometry& g) {
  if (g.batches == 0) return "there are no rows";
  if (!is_storable(call.in(0).dtype, call.out(0).dtype)) return "the result is neither f32 nor of the operands' dtype";
  if (call.in(1).dtype != call.in(0).dtype) return "the operands' dtypes differ";
  return nullptr;
}

}  // namespace assay::cuda
