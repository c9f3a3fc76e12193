#include "studies/train/ranks.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/hash.h"
#include "base/json.h"
#include "hardware/isa_cap.h"

namespace assay {
namespace {

/// The ranks' lists one behind the other.
template <typename T>
std::vector<T> joined(Group& group, const std::vector<T>& mine) {
  std::vector<T> all;
  for (const std::vector<std::byte>& bytes : all_gather(group, std::as_bytes(std::span(mine)))) {
    const std::size_t before = all.size();
    all.resize(before + bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(all.data() + before, bytes.data(), bytes.size());
  }
  return all;
}

/// A rank's number and its place, on all of them.
NonFinite of_rank(Group& group, std::ptrdiff_t rank, const NonFinite& mine) {
  const auto its = static_cast<std::size_t>(rank);
  NonFinite found;
  found.value = all_gather_values(group, mine.value)[its];
  const std::vector<std::byte> place = all_gather(group, std::as_bytes(std::span(mine.place)))[its];
  found.place.resize(place.size() / sizeof(found.place[0]));
  if (!place.empty()) std::memcpy(found.place.data(), place.data(), place.size());
  return found;
}

NonFiniteRun of_rank(Group& group, std::ptrdiff_t rank, const NonFiniteRun& mine) {
  const auto text = [&](const std::string& own) { return all_gather(group, own)[static_cast<std::size_t>(rank)]; };
  NonFiniteRun run;
  run.output = text(mine.output);
  run.found = of_rank(group, rank, mine.found);
  run.path = text(mine.path);
  run.operation = text(mine.operation);
  run.first = of_rank(group, rank, mine.first);
  return run;
}

std::string list_of_ranks(const std::vector<int>& ranks) {
  std::string words = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < ranks.size(); ++i) words += fmt::format("{} {}", i == 0 ? "" : ",", ranks[i]);
  return words;
}

}  // namespace

void check_same_everywhere(Group& group, const std::vector<SharedFact>& facts) {
  Json mine = Json::object();
  for (const SharedFact& fact : facts) mine[fact.name] = fact.value;
  const std::vector<std::string> all = all_gather(group, mine.dump());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const Json first = Json::parse(all[0]);
    const Json its = Json::parse(all[rank]);
    for (const auto& [name, value] : first.items()) {
      if (its.value(name, Json()) == value) continue;
      throw SharedError(ExitCode::user,
                        fmt::format("rank {}: has {} than rank 0; all ranks of a training need the same", rank, name));
    }
  }
}

std::string program_hash() {
  return sha256_file("/proc/self/exe");
}

SharedInstructions shared_instructions(Group& group, const InstructionSets& mine) {
  const std::vector<InstructionSets> all = all_gather_values(group, mine);
  SharedInstructions shared{all.front(), ""};
  for (const InstructionSets& one : all) shared.sets = shared.sets & one;
  const std::string first = to_string(all.front());
  const auto other = std::ranges::find_if(all, [&](const InstructionSets& one) { return to_string(one) != first; });
  if (other == all.end()) return shared;
  shared.words = fmt::format(
      "rank {} computes with other instruction sets ({}) than rank 0 ({}): all take those that every rank has ({}), so "
      "that replicas stay the same; sums may differ from those of one machine",
      other - all.begin(), to_string(*other), first, to_string(shared.sets));
  return shared;
}

void check_same_weights(Group& group, const std::string& hash, std::int64_t steps) {
  const std::vector<std::string> all = all_gather(group, hash);
  std::map<std::string, std::int64_t> votes;
  for (const std::string& one : all) ++votes[one];
  if (votes.size() == 1) return;
  // Of equally many, those of rank 0 are taken for right.
  std::string right = all[0];
  for (const auto& [one, count] : votes) {
    if (count > votes[right]) right = one;
  }
  std::vector<int> wrong;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] != right) wrong.push_back(static_cast<int>(rank));
  }
  throw SharedError(ExitCode::lacking, fmt::format("training: behind step {} the weights of {} are not those of the "
                                                   "other ranks: its memory, its instructions or its transport fail",
                                                   steps, list_of_ranks(wrong)));
}

QualitySet part_of_set(const QualitySet& set, const Group& group) {
  const EqualPart part = part_of(std::ssize(set.batches), group.rank(), group.size());
  QualitySet own = set;
  own.batches.assign(set.batches.begin() + part.begin, set.batches.begin() + part.end);
  return own;
}

std::optional<QualityRows> joined_rows(Group& group, const std::optional<QualityRows>& rows) {
  struct Found {
    bool is_whole = false;
    bool is_finite = false;
  };
  const std::vector<Found> found = all_gather_values(group, Found{rows.has_value(), rows && !rows->non_finite});
  if (!std::ranges::all_of(found, &Found::is_whole)) return std::nullopt;
  QualityRows all;
  const auto faulty = std::ranges::find(found, false, &Found::is_finite);
  if (faulty != found.end()) {
    all.non_finite = of_rank(group, faulty - found.begin(), rows->non_finite.value_or(NonFiniteRun{}));
    return all;
  }
  all.nll = joined(group, rows->nll);
  all.correct = joined(group, rows->correct);
  all.targets = joined(group, rows->targets);
  all.answers = joined(group, rows->answers);
  all.windows = joined(group, rows->windows);
  return all;
}

std::optional<std::string> first_name(Group& group, const std::optional<std::string>& mine) {
  for (const std::string& name : all_gather(group, mine.value_or(""))) {
    if (!name.empty()) return name;
  }
  return std::nullopt;
}

}  // namespace assay
