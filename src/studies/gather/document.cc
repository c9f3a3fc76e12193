#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/error.h"
#include "studies/gather/request.h"

namespace assay {
namespace {

/// Whether there is nothing to show: a rank for which the grid has no part says so in a sentence.
bool shows_nothing(const GridPart& part) {
  return !part.document || (part.document->records.empty() && part.document->tables.empty());
}

std::string part_label(const GridPart& part) {
  return part.shard.empty() ? part.host : fmt::format("{}, shard {}", part.host, part.shard);
}

/// What is made anew of all records, and what the studies found in theirs.
void join_part(Document&& part, Document& all) {
  std::ranges::move(part.records, std::back_inserter(all.records));
  std::ranges::move(part.findings, std::back_inserter(all.findings));
}

/// One machine's parts in the order of their shards; a part that has no other beside it is whole as it is.
Document joined_parts(std::span<GridPart* const> parts, const JoinRecords& join) {
  Document& first = *parts.front()->document;
  if (parts.size() == 1) return std::move(first);
  Document all;
  all.subject.schema = first.subject.schema;
  all.machine = first.machine;
  for (GridPart* const part : parts) join_part(std::move(*part->document), all);
  return join(std::move(all));
}

std::vector<PlacedDocument> joined_by_machine(std::vector<GridPart>& parts, const JoinRecords& join) {
  std::vector<std::pair<std::string, std::vector<GridPart*>>> machines;
  for (GridPart& part : parts) {
    const auto known = std::ranges::find_if(machines, [&](const auto& one) { return one.first == part.host; });
    if (known == machines.end())
      machines.push_back({part.host, {&part}});
    else
      known->second.push_back(&part);
  }
  std::vector<PlacedDocument> wholes;
  wholes.reserve(machines.size());
  for (const auto& [host, its] : machines) wholes.push_back({host, joined_parts(its, join)});
  return wholes;
}

/// As a store would have it. Where a rank failed there is none.
ExchangedRun run_of(const GridPart& part, std::size_t rank) {
  constexpr int interrupted = static_cast<int>(ExitCode::interrupted);
  const RunOrigin origin = part.document->origin.value_or(RunOrigin{});
  ExchangedRun one;
  one.run.uid = fmt::format("rank {}", rank);
  one.run.started = origin.date;
  if (part.code != interrupted) one.run.ended = origin.date;
  one.run.command = origin.command;
  one.run.machine = part.document->machine.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  one.records.reserve(part.document->records.size());
  for (const Record& record : part.document->records) one.records.push_back({0, 0, origin.date, record});
  return one;
}

/// Whether it ran to its end: then no more comes of it, though it may have made no record.
bool has_ended_well(const GridPart& part) {
  return part.document && part.code != static_cast<int>(ExitCode::interrupted);
}

bool is_of_part_that_ended(const MissingPart& missing, std::span<const GridPart> parts) {
  constexpr std::string_view before = "shard ";
  if (!missing.part.starts_with(before)) return false;
  const std::optional<Shard> shard = parse_shard(missing.part.substr(before.size()));
  return shard && shard->index <= std::ssize(parts) &&
         has_ended_well(parts[static_cast<std::size_t>(shard->index) - 1]);
}

/// Of a grid that makes no records.
std::vector<MissingPart> shards_without_document(std::span<const GridPart> parts, const std::string& grid) {
  std::vector<MissingPart> missing;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank].document) continue;
    const std::string shard = to_text(Shard{static_cast<std::int64_t>(rank) + 1, std::ssize(parts)});
    missing.push_back({.grid = grid,
                       .part = "shard " + shard,
                       .why = "its rank gave nothing",
                       .command = grid + " --shard " + shard});
  }
  return missing;
}

}  // namespace

std::vector<PlacedDocument> documents_of(std::vector<GridPart> parts, const JoinRecords& join) {
  const auto first = std::ranges::find_if(parts, [](const GridPart& part) { return part.document.has_value(); });
  if (first == parts.end()) return {};
  PlacedDocument only{first->host, *first->document};
  std::erase_if(parts, shows_nothing);
  if (parts.empty()) return {std::move(only)};
  if (parts.size() == 1) return {{parts.front().host, std::move(*parts.front().document)}};
  if (join) return joined_by_machine(parts, join);
  std::vector<PlacedDocument> documents;
  documents.reserve(parts.size());
  for (GridPart& part : parts) documents.push_back({part_label(part), std::move(*part.document)});
  return documents;
}

std::vector<MissingPart> missing_parts(std::span<const GridPart> parts, const GridDivision& division) {
  std::vector<ExchangedRun> runs;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank].document) runs.push_back(run_of(parts[rank], rank));
  }
  const bool has_records = std::ranges::any_of(runs, [](const ExchangedRun& run) { return !run.records.empty(); });
  if (!has_records) return division.part ? shards_without_document(parts, division.grid) : std::vector<MissingPart>{};
  std::vector<MissingPart> missing = missing_parts(fleet_of(std::move(runs)));
  std::erase_if(missing, [&](const MissingPart& one) { return is_of_part_that_ended(one, parts); });
  return missing;
}

std::string store_of_rank(std::span<const RankPlace> places, int rank, const std::string& store) {
  const RankPlace& first = places.front();
  const RankPlace& its = places[static_cast<std::size_t>(rank)];
  return its.system == first.system && its.host == first.host ? store : store + "." + its.host;
}

std::vector<std::string> kept_elsewhere(std::span<const RankPlace> places, std::span<const GridPart> parts,
                                        const std::string& store) {
  std::vector<std::string> sentences;
  std::set<std::string> named;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const std::string its = store_of_rank(places, static_cast<int>(rank), store);
    const bool has_come = parts[rank].document || !parts[rank].failure.empty();
    if (its == store || has_come || !named.insert(its).second) continue;
    sentences.push_back(
        fmt::format("what rank {} has kept is in {} on {}; take it over with: assay import {} --store {}", rank, its,
                    places[rank].host, its, store));
  }
  return sentences;
}

std::vector<std::string> failures_of(std::span<const GridPart> parts) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> by_words;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const std::string& words = parts[rank].failure;
    if (words.empty()) continue;
    const auto known = std::ranges::find_if(by_words, [&](const auto& one) { return one.first == words; });
    if (known == by_words.end())
      by_words.push_back({words, {rank}});
    else
      known->second.push_back(rank);
  }
  std::vector<std::string> lines;
  lines.reserve(by_words.size());
  for (const auto& [words, ranks] : by_words)
    lines.push_back(fmt::format("{} {}: {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "), words));
  return lines;
}

}  // namespace assay
