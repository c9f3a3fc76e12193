#include "studies/dump/chunks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"

namespace assay {
namespace {

/// Columns [first, first + count) of every row.
template <typename T>
std::vector<T> columns_of(const std::vector<T>& all, const TokenBatch& tokens, std::int64_t first, std::int64_t count) {
  std::vector<T> part;
  for (std::int64_t row = 0; row < tokens.batch && !all.empty(); ++row) {
    const auto begin = all.begin() + row * tokens.seq + first;
    part.insert(part.end(), begin, begin + count);
  }
  return part;
}

NewTokens new_tokens(const TokenBatch& tokens, std::int64_t first, std::int64_t count) {
  NewTokens piece = {.seq = count,
                     .ids = columns_of(tokens.input_ids, tokens, first, count),
                     .mask = columns_of(tokens.attention_mask, tokens, first, count),
                     .positions = {}};
  for (std::int64_t i = 0; i < tokens.batch * count; ++i)
    piece.positions.push_back(static_cast<std::int32_t>(first + i % count));
  return piece;
}

/// The output's columns, from `first` on, of a piece.
void put_columns(const Tensor& piece, std::int64_t first, Tensor& whole) {
  const std::int64_t count = piece.shape()[1];
  const std::int64_t width = piece.shape()[2];
  for (std::int64_t row = 0; row < piece.shape()[0]; ++row)
    std::memcpy(whole.as<float>() + (row * whole.shape()[1] + first) * width, piece.as<float>() + row * count * width,
                static_cast<std::size_t>(count * width) * sizeof(float));
}

}  // namespace

CacheSize cache_for(std::span<const std::int64_t> chunks, const TokenBatch& tokens) {
  // None larger than all together, so that their sum is one.
  const bool are_counts =
      std::all_of(chunks.begin(), chunks.end(), [&](std::int64_t count) { return count > 0 && count <= tokens.seq; });
  if (!are_counts || std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0}) != tokens.seq)
    fail_user("--chunks {}: pieces of at least one token each are needed, {} in all: the rows have so many",
              fmt::join(chunks, ","), tokens.seq);
  return {.capacity = tokens.seq, .chunk = *std::max_element(chunks.begin(), chunks.end())};
}

std::map<std::string, Tensor> run_in_chunks(Session& session, std::span<const std::int64_t> chunks,
                                            const TokenBatch& tokens) {
  std::map<std::string, Tensor> outputs;
  session.plan_for(*std::max_element(chunks.begin(), chunks.end()));
  std::int64_t first = 0;
  for (const std::int64_t count : chunks) {
    const Plan& plan = session.run(new_tokens(tokens, first, count));
    for (const std::string& name : plan.options().outputs) {
      const Tensor piece = plan.output_f32(name);
      Tensor& whole = outputs[name];
      if (whole.data() == nullptr) whole = Tensor(DType::f32, {tokens.batch, tokens.seq, piece.shape().back()});
      put_columns(piece, first, whole);
    }
    first += count;
  }
  return outputs;
}

}  // namespace assay
