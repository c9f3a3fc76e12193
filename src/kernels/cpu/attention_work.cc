#include "kernels/cpu/attention_work.h"

#include <fmt/format.h>

#include <utility>

#include "kernels/verdict.h"

namespace assay::cpu {
namespace {

AttentionScratch attention_scratch(const AttentionWork& work) {
  const AttentionProduct& product = work.product;
  const std::int64_t head_dim = work.attributes.head_dim;
  const std::int64_t keys = round_up(work.slots, panel);
  const std::int64_t dims = round_up(head_dim, panel);
  const std::int64_t row_bytes = product.groups(head_dim) * group_bytes;
  AttentionScratch scratch;
  std::int64_t next = 0;
  const auto take = [&next](std::int64_t bytes) { return std::exchange(next, next + round_up(bytes, 64)); };
  scratch.keys = take(keys * row_bytes);
  scratch.values = take(dims * keys / product.group() * group_bytes);
  scratch.rows = take(panel * row_bytes);
  scratch.scores = take(query_block * keys * 4);
  scratch.probabilities = take(query_block * (keys * 4 + 64));
  scratch.context = take(query_block * dims * 4);
  scratch.bias = take(keys * 4);
  scratch.slopes = take(work.attributes.cap > 0 ? keys * 4 : 0);
  scratch.until = take(work.seq * 4);
  scratch.bytes = next;
  return scratch;
}

}  // namespace

AttentionWork attention_work(const Call& call, const AttentionProduct& product) {
  AttentionWork work;
  work.attributes = call.attributes;
  work.batch = call.in(1).shape[0];
  work.seq = work.slots = call.in(1).shape[1];
  work.product = product;
  work.scratch = attention_scratch(work);
  return work;
}

AttentionWork cached_attention_work(const Call& call, const AttentionProduct& product) {
  AttentionWork work = attention_work(call, product);
  work.seq = call.in(0).shape[1];
  work.scratch = attention_scratch(work);
  return work;
}

AttentionProduct f32_products(const MachineFacts& facts) {
  if (!facts.isa.avx512) return {};
  return {micro::multiply_f32, DType::f32, micro::vector_rows};
}

const char* unfit_for_attention(const Call& call, std::size_t mask) {
  if (const char* why = unfit_for_vectors(call)) return why;
  if (call.in(mask).present && call.in(mask).dtype != DType::u8) return "the mask is not u8";
  if (call.attributes.scale <= 0) return "the scale is not positive";
  return nullptr;
}

const char* unfit_for_product(const AttentionProduct& product, const Call& call, std::size_t inputs,
                              const MachineFacts& facts) {
  if (product.operand == DType::f32) return nullptr;
  for (std::size_t i = 0; i < inputs; ++i) {
    if (call.in(i).dtype != DType::bf16) return "its inputs are not all bf16";
  }
  if (product.multiply == micro::multiply_bf16_tiles) return facts.isa.amx_bf16 ? nullptr : "no amx_bf16 here";
  if (!facts.isa.avx512 || !facts.isa.avx512_bf16) return "no avx512_bf16 here";
  if (!instruction_pays(DType::bf16, facts)) return "the bf16 instruction was measured slower than f32's";
  return nullptr;
}

Prepared described(Prepared prepared, const Call& call, const AttentionProduct& product, const char* what) {
  const DType stored = call.in(0).dtype;
  const bool widened = prepared.operand == DType::f32 && stored != DType::f32;
  const bool tiles = product.multiply == micro::multiply_bf16_tiles;
  prepared.description =
      fmt::format("{}: {} {}{}", what, tiles ? "amx tiles of" : prepared.evidence, name(product.operand),
                  widened ? fmt::format(" from {} storage", name(stored)) : "");
  return prepared;
}

}  // namespace assay::cpu
