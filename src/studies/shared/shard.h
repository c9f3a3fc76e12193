#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "results/document.h"
#include "results/record.h"

namespace assay {

/// One of the parts that a grid is divided into, each measured by a process of its own: from 1 to count.
struct Shard {
  std::int64_t index = 1;
  std::int64_t count = 1;
};
/// "2/4"
std::string to_text(const Shard& shard);
/// The way back; absent for what is none.
std::optional<Shard> parse_shard(const std::string& text);

/// What there is to divide: cells, whose rows are timed in turns, and the rows of each but for the baseline, which
/// stands beside any of them.
struct GridSize {
  std::int64_t cells = 0;
  std::int64_t rows_a_cell = 1;
};

/// From the first to before the end.
struct IndexRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool holds(std::int64_t index) const { return first <= index && index < end; }
  bool is_empty() const { return end <= first; }
};

/// Neighbouring cells, whole where there are as many of them as shards; else one cell, and some of its rows.
struct ShardPart {
  Shard shard = {};  ///< The count is no greater than there are parts that hold something.
  IndexRange cells = {};
  IndexRange rows = {};  ///< Of each of these cells.
  bool is_empty() const { return cells.is_empty() || rows.is_empty(); }
  /// Whether the cells' baselines are its own; else they are measured to compare with alone.
  bool owns_baselines() const { return rows.first == 0; }
};
/// The parts of all shards of a count hold each row once. Depends on nothing but its arguments. Asserts a sound shard.
ShardPart part_of(const Shard& shard, const GridSize& size);

/// How a request's grid is divided among processes or machines.
struct GridDivision {
  std::optional<Shard> part = {};  ///< What is measured here; absent: all of it.
  std::string grid = {};           ///< The command that asks for all of it; empty: nothing is divided.
  std::string shard = {};          ///< "2/4", as records say it; empty: none.
};
/// Of a grid of that size what is measured here; `division` then knows how many parts there really are.
ShardPart take_part(GridDivision& division, const GridSize& size);
/// Says of a record which grid and part it is of; nothing where nothing is divided.
void mark_share(const GridDivision& division, Record& record);

/// The document of a part that holds nothing: more shards than there is something for.
Document document_without_part(const GridDivision& division, std::string schema = document_schema_name);

}  // namespace assay
