#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "base/json.h"
#include "processes/group.h"
#include "results/document.h"
#include "studies/fleet/machines.h"
#include "studies/shared/rank_place.h"
#include "studies/shared/shard.h"

namespace assay {

// A grid whose parts are measured by the ranks of a group, and told by rank 0.

/// Where all ranks run. Throws a SharedError that names the first rank that was asked for another grid than rank 0.
std::vector<RankPlace> meet_for_grid(Group& group, const std::string& grid);

/// In which turn each rank measures, from 0: those of one system in the order of their ranks, for they would disturb
/// each other; systems at the same time.
std::vector<int> measuring_turns(std::span<const RankPlace> places);

/// What one process measured of the grid.
struct GridPart {
  std::string shard = {};                   ///< "2/4"; empty: all of it.
  std::string host = {};                    ///< That measured it.
  std::optional<Document> document = {};    ///< Absent where it failed, or had nothing to measure.
  int code = 0;                             ///< The exit code that it has earned.
  std::string failure = {};                 ///< The error that ended it.
  std::vector<std::string> sentences = {};  ///< For whoever reads.
  std::string kept = {};  ///< What exchange_json says of its run, where that is not in rank 0's store.
  OrderedJson more = {};  ///< What a command knows of its part besides.
};
std::string to_text(const GridPart& part);
/// Throws a user error that names `source`.
GridPart grid_part_from(const std::string& text, const std::string& source);

/// Calls `measure` on every rank when its turn is there; the others wait in patience, those that are interrupted not
/// for long. On rank 0 `parts` then has what all measured, by rank, whatever errors some ended in; when this throws
/// RankLost, its own part and what came before.
void measure_in_turns(Group& group, std::span<const RankPlace> places, const std::function<GridPart()>& measure,
                      std::vector<GridPart>& parts, InterruptFlag interrupted = nullptr);

/// A document, and of which parts it is.
struct PlacedDocument {
  std::string label = {};  ///< The machine; where it has several documents, the shard as well.
  Document document = {};
};
/// Makes one document of several parts' records and findings, which are all that it holds beside the machine.
using JoinRecords = std::function<Document(Document records)>;
/// What is to be shown: a machine's parts as one document, where there are several and `join` makes one of them, else
/// each by itself.
std::vector<PlacedDocument> documents_of(std::vector<GridPart> parts, const JoinRecords& join);

/// The store that a rank writes where `store` was named: files of one name are one file on the ranks of one system
/// alone, and the store's locks hold there alone; containers of one system have files of their own, and host names.
/// Elsewhere it has the rank's host behind it.
std::string store_of_rank(std::span<const RankPlace> places, int rank, const std::string& store);

/// Where ranks of whom nothing came keep what they have measured, if that is not `store` itself, and the command that
/// takes it over: a sentence for each such store.
std::vector<std::string> kept_elsewhere(std::span<const RankPlace> places, std::span<const GridPart> parts,
                                        const std::string& store);

/// What of the grid these parts, by rank, lack, with the commands that measure it.
std::vector<MissingPart> missing_parts(std::span<const GridPart> parts, const GridDivision& division);

/// Failures of several parts, those of the same words once: "rank 1: ..." or "ranks 1, 3: ...".
std::vector<std::string> failures_of(std::span<const GridPart> parts);

}  // namespace assay
