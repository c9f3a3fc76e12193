#include "studies/generation_bench/cell.h"

#include <algorithm>

#include "base/error.h"

namespace assay {
namespace {

void check_cell(const Model& model, const GenerationCell& cell) {
  if (cell.tokens() <= model.config.context) return;
  fail_user("{}: depth {}, a prompt of {} and {} new tokens are {} together, more than the model's context of {}",
            model.name, cell.depth, cell.prompt_tokens, cell.new_tokens, cell.tokens(), model.config.context);
}

bool is_same_cell(const GenerationCell& a, const GenerationCell& b) {
  return a.batch == b.batch && a.depth == b.depth && a.prompt_tokens == b.prompt_tokens && a.new_tokens == b.new_tokens;
}

}  // namespace

std::vector<GenerationCell> generation_cells(const Model& model, const GenerationBenchRequest& request) {
  std::vector<GenerationCell> cells;
  const auto add = [&](const GenerationCell& cell) {
    check_cell(model, cell);
    const bool is_known =
        std::any_of(cells.begin(), cells.end(), [&](const GenerationCell& known) { return is_same_cell(known, cell); });
    if (!is_known) cells.push_back(cell);
  };
  for (const std::int64_t batch : request.bench.batches) {
    for (const std::int64_t depth : request.depths) {
      for (const std::int64_t prompt : request.prompt_tokens) {
        for (const std::int64_t count : request.new_tokens) add({batch, depth, prompt, count});
      }
    }
  }
  return cells;
}

CacheSize cache_of_all(const std::vector<GenerationCell>& cells) {
  CacheSize size = {.capacity = 1, .chunk = 1};
  for (const GenerationCell& cell : cells) {
    size.capacity = std::max(size.capacity, cell.tokens());
    size.chunk = std::max({size.chunk, cell.prompt_tokens + cell.new_tokens, std::min(cell.depth, prefill_chunk)});
  }
  return size;
}

CacheSize cache_of(const GenerationCell& cell) {
  return {.capacity = cell.tokens(), .chunk = std::min(prefill_chunk, std::max(cell.prompt_tokens, cell.depth))};
}

}  // namespace assay
