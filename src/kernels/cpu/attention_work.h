#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/blocking.h"
#include "kernels/cpu/micro/block.h"
#include "kernels/cpu/rows.h"

namespace assay::cpu {

/// Queries that are worked on together: as many as fill two tiles, and as a panel has keys, so that little of a causal
/// block is masked away. Their scores (32 rows of T) stay in the second level cache up to T of several thousand, so no
/// running maximum is needed.
constexpr std::int64_t query_block = 32;
constexpr std::int64_t panel = micro::panel_width;
constexpr std::int64_t group_bytes = 4;  ///< Of K in a panel: one f32 or two bf16.

/// How the products of a call are made.
struct AttentionProduct {
  micro::Multiply multiply = nullptr;  ///< null: the vector code of the chosen instruction set
  DType operand = DType::f32;          ///< f32 or bf16
  std::int64_t rows_at_once = query_block;

  std::int64_t group() const { return operand == DType::bf16 ? 2 : 1; }
  std::int64_t groups(std::int64_t depth) const { return (depth + group() - 1) / group(); }
};

/// The keys [begin, end) of one batch that are not padding on either side, and whether there are holes between. Of a
/// cache they are numbered from the first token that any query sees.
struct RealKeys {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool holes = false;
  std::int64_t first_token = 0;         ///< Of a cache: the one that is number 0.
  const std::int32_t* until = nullptr;  ///< Of a cache: how many keys each query is the last of.
};
inline RealKeys real_keys(const std::uint8_t* mask, std::int64_t seq) {
  if (mask == nullptr) return {0, seq, false};
  RealKeys keys = {0, seq, false};
  while (keys.begin < seq && mask[keys.begin] == 0) ++keys.begin;
  while (keys.end > keys.begin && mask[keys.end - 1] == 0) --keys.end;
  keys.holes = std::find(mask + keys.begin, mask + keys.end, 0) != mask + keys.end;
  return keys;
}

/// Offsets in bytes of one part's scratch.
struct AttentionScratch {
  std::int64_t keys = 0;           ///< K of a head in panels of 32 keys
  std::int64_t values = 0;         ///< V of a head in panels of 32 dimensions
  std::int64_t rows = 0;           ///< 32 rows of a head: keys on their way into a panel, queries
  std::int64_t scores = 0;         ///< f32 (panels of keys, query_block, 32)
  std::int64_t probabilities = 0;  ///< (query_block, padded keys) in the operand's dtype
  std::int64_t context = 0;        ///< f32 (panels of dimensions, query_block, 32)
  std::int64_t bias = 0;           ///< f32 (T): 0 for real keys, -infinity for padding
  std::int64_t slopes = 0;         ///< f32 (padded keys) of one query: the soft cap's; empty where there is none
  std::int64_t until = 0;          ///< s32 (T): RealKeys::until
  std::int64_t bytes = 0;
};

/// Keys or values: rows of a tensor, which may be slots of a cache.
struct KeyRows : SourceRows {
  const float* scales = nullptr;  ///< Of s8, (rows, kv_heads).
};

struct AttentionWork {
  Attributes attributes;
  std::int64_t batch = 0;
  std::int64_t seq = 0;    ///< Queries of a row of the batch.
  std::int64_t slots = 0;  ///< Keys that it has room for; without a cache as many.
  AttentionProduct product;
  AttentionScratch scratch;
  SourceRows q;
  KeyRows k, v;
  SinkRows y;
  const std::uint8_t* mask = nullptr;     ///< Of the queries' tokens.
  const std::int32_t* lengths = nullptr;  ///< Tokens that a row's cache held before these; null where there is none.
  const float* sinks = nullptr;           ///< Of each head, absent where null.

  std::int64_t group_heads() const { return attributes.heads / attributes.kv_heads; }
  std::int64_t blocks() const { return (seq + query_block - 1) / query_block; }
  std::int64_t items() const { return batch * attributes.heads * blocks(); }
  /// Vector steps of an item with `matmuls` products of query_block x slots x head_dim, 16 multiplications each.
  std::int64_t steps(std::int64_t matmuls) const { return matmuls * query_block * slots * attributes.head_dim / 16; }
};
/// Of a call whose second input is (B, T, kv_heads * head_dim), without its memory.
AttentionWork attention_work(const Call& call, const AttentionProduct& product);
/// Of a call whose queries are (B, T, heads * head_dim) and whose keys a cache (B, slots, kv_heads * head_dim).
AttentionWork cached_attention_work(const Call& call, const AttentionProduct& product);

/// Keys or values of one key head, numbered as RealKeys numbers them.
struct KeyHead {
  KeyRows rows;
  std::int64_t first_row;  ///< Of the row of the batch.
  std::int64_t column;     ///< In elements.
  std::int64_t slots;
  std::int64_t slot;  ///< That of number 0; behind the last one comes the first again.
  std::int64_t kv_heads;
  std::int64_t kv_head;

  KeyHead(const AttentionWork& work, const KeyRows& from, std::int64_t batch, std::int64_t head, const RealKeys& keys)
      : rows(from),
        first_row(batch * work.slots),
        column(head * work.attributes.head_dim),
        slots(work.slots),
        slot(work.slots == 0 ? 0 : keys.first_token % work.slots),
        kv_heads(work.attributes.kv_heads),
        kv_head(head) {}

  std::int64_t row(std::int64_t key) const { return first_row + slot + key - (slot + key < slots ? 0 : slots); }
  Source operator[](std::int64_t key) const { return shifted(rows[row(key)], column); }
  float scale(std::int64_t key) const {
    return rows.scales == nullptr ? 1 : rows.scales[row(key) * kv_heads + kv_head];
  }
};

/// Where an item of the work lies: items count query blocks first, then the heads of a group, then key heads and
/// batches.
struct AttentionItem {
  std::int64_t batch;
  std::int64_t kv_head;
  std::int64_t head;
  std::int64_t query;  ///< the block's first

  AttentionItem(const AttentionWork& work, std::int64_t item)
      : batch(item / work.blocks() / work.attributes.heads),
        kv_head(item / work.blocks() % work.attributes.heads / work.group_heads()),
        head(item / work.blocks() % work.attributes.heads),
        query(item % work.blocks() * query_block) {}
};

/// Products in f32, by the micro-kernel where the machine can run it.
AttentionProduct f32_products(const MachineFacts& facts);
constexpr AttentionProduct bf16_dot_products = {micro::multiply_bf16, DType::bf16, micro::vector_rows};
constexpr AttentionProduct bf16_tiles = {micro::multiply_bf16_tiles, DType::bf16};
/// `mask`: the place of the mask among the inputs.
const char* unfit_for_attention(const Call& call, std::size_t mask);
/// Why that product cannot or should not multiply the first `inputs` inputs; null where it can.
const char* unfit_for_product(const AttentionProduct& product, const Call& call, std::size_t inputs,
                              const MachineFacts& facts);
/// Says of a prepared kernel what its products are made of. `what`: "fused", "scores".
Prepared described(Prepared prepared, const Call& call, const AttentionProduct& product, const char* what);

}  // namespace assay::cpu
