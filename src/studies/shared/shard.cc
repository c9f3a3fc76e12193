#include "studies/shared/shard.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace assay {
namespace {

/// The `index`-th of `parts` neighbouring stretches of `count`, which differ in length by one at most.
IndexRange stretch_of(std::int64_t index, std::int64_t parts, std::int64_t count) {
  return {index * count / parts, (index + 1) * count / parts};
}

std::optional<std::int64_t> whole_number(const std::string& text) {
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return {};
  return std::stoll(text);
}

}  // namespace

std::string to_text(const Shard& shard) {
  return fmt::format("{}/{}", shard.index, shard.count);
}

std::optional<Shard> parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {};
  const auto index = whole_number(text.substr(0, slash));
  const auto count = whole_number(text.substr(slash + 1));
  if (!index || !count || *index < 1 || *index > *count) return {};
  return Shard{*index, *count};
}

ShardPart part_of(const Shard& shard, const GridSize& size) {
  ASSAY_ASSERT(shard.index >= 1 && shard.index <= shard.count);
  const std::int64_t rows = std::max<std::int64_t>(size.rows_a_cell, 1);
  const std::int64_t most = std::max<std::int64_t>(size.cells * rows, 1);
  ShardPart part{.shard = {shard.index, std::min(shard.count, most)}};
  if (shard.index > part.shard.count || size.cells == 0) return part;
  const std::int64_t index = shard.index - 1;
  const std::int64_t count = part.shard.count;
  if (count <= size.cells) {
    part.cells = stretch_of(index, count, size.cells);
    part.rows = {0, rows};
    return part;
  }
  const std::int64_t cell = index * size.cells / count;
  part.cells = {cell, cell + 1};
  // Shards of that cell: those whose index * cells / count is it.
  const auto first_shard_of = [&](std::int64_t c) { return (c * count + size.cells - 1) / size.cells; };
  const std::int64_t first = first_shard_of(cell);
  part.rows = stretch_of(index - first, first_shard_of(cell + 1) - first, rows);
  return part;
}

ShardPart take_part(GridDivision& division, const GridSize& size) {
  const ShardPart part = part_of(division.part.value_or(Shard{}), size);
  if (division.part) division.shard = to_text(part.shard);
  return part;
}

void mark_share(const GridDivision& division, Record& record) {
  if (division.grid.empty()) return;
  GridShare& share = record.share.made();
  share.grid = division.grid;
  if (!division.shard.empty()) share.shard = division.shard;
}

Document document_without_part(const GridDivision& division, std::string schema) {
  const std::string all = division.shard.substr(division.shard.find('/') + 1);
  return {.subject = {.schema = std::move(schema), .title = "a shard without cells"},
          .sentences = {{.texts = {fmt::format("The grid divides into {} shards at most: nothing is left for shard {}.",
                                               all, division.shard.substr(0, division.shard.find('/')))}}}};
}

}  // namespace assay
