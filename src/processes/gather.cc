#include "processes/gather.h"

#include <chrono>
#include <thread>

namespace assay {
namespace {

/// What goes from every other rank to rank 0: `its` has a place for each rank there.
std::unique_ptr<Exchange> begin_to_root(Group& group, std::span<const std::byte> mine,
                                        std::span<const std::span<std::byte>> its) {
  if (group.rank() > 0) {
    const Outgoing out = {0, mine};
    return group.begin(0, {&out, 1}, {});
  }
  std::vector<Incoming> in;
  for (int rank = 1; rank < group.size(); ++rank) in.push_back({rank, its[static_cast<std::size_t>(rank)]});
  return group.begin(0, {}, in);
}

/// How many bytes each rank has, on rank 0.
std::vector<std::uint64_t> gather_sizes(Group& group, std::uint64_t mine, InterruptFlag interrupted) {
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(group.size()));
  sizes.front() = mine;
  std::vector<std::span<std::byte>> places;
  places.reserve(sizes.size());
  for (std::uint64_t& size : sizes) places.push_back(std::as_writable_bytes(std::span(&size, 1)));
  finish_in_patience(*begin_to_root(group, std::as_bytes(std::span(&mine, 1)), places), interrupted);
  return sizes;
}

/// Rank 0 tells the others that all have come.
void let_go(Group& group, InterruptFlag interrupted) {
  std::byte sign{};
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int rank = 1; rank < group.size() && group.rank() == 0; ++rank) out.push_back({rank, {&sign, 1}});
  if (group.rank() > 0) in.push_back({0, {&sign, 1}});
  finish_in_patience(*group.begin(0, out, in), interrupted);
}

}  // namespace

void finish_in_patience(Exchange& exchange, InterruptFlag interrupted) {
  constexpr std::chrono::milliseconds between_looks(20);
  constexpr std::chrono::milliseconds most_when_interrupted(500);
  std::chrono::milliseconds waited(0);
  while (!exchange.test()) {
    if (waited >= most_when_interrupted)
      throw RankLost({-1, fmt::format("gave no answer within {} ms of an interrupt", most_when_interrupted.count())});
    std::this_thread::sleep_for(between_looks);
    if (is_set(interrupted)) waited += between_looks;
  }
}

std::vector<std::string> gather_in_patience(Group& group, const std::string& mine, InterruptFlag interrupted) {
  const std::vector<std::uint64_t> sizes = gather_sizes(group, mine.size(), interrupted);
  let_go(group, interrupted);
  std::vector<std::string> all;
  std::vector<std::span<std::byte>> places;
  if (group.rank() == 0) {
    all.reserve(sizes.size());
    places.reserve(sizes.size());
    for (const std::uint64_t size : sizes) {
      std::string& its = all.emplace_back(size, '\0');
      places.push_back(std::as_writable_bytes(std::span(its)));
    }
    all.front() = mine;
  }
  finish(*begin_to_root(group, std::as_bytes(std::span(mine)), places));
  return all;
}

}  // namespace assay
