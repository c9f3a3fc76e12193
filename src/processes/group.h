#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "tensor/dtype.h"

namespace assay {

/// What became of a rank.
struct RankEnding {
  int rank = 0;          ///< -1: it is not known which.
  std::string why = {};  ///< "(process 4711) has died"
};

/// A rank that others wait for has ended, or said that it ends.
class RankLost : public Error {
 public:
  /// `more`: of the sentence, not of what is handed on.
  explicit RankLost(RankEnding of_rank, const std::string& more = "")
      : Error(ExitCode::lacking,
              fmt::format("{} {}{}", of_rank.rank < 0 ? "a rank" : fmt::format("rank {}", of_rank.rank), of_rank.why,
                          more)),
        ending(std::move(of_rank)) {}
  RankEnding ending;
};

/// Bytes for another rank, and from one.
struct Outgoing {
  int rank = 0;
  std::span<const std::byte> bytes;
};
struct Incoming {
  int rank = 0;
  std::span<std::byte> bytes;
};

/// Bytes on their way. The memory that was named stays where it is, and what comes in is not looked at, until test()
/// gave true.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;
  /// Moves on what can be moved on without waiting; whether all is done. Throws RankLost.
  virtual bool test() = 0;
};

/// Processes (or threads that stand for them) that work on one thing: ranks 0 to size() - 1. Every rank makes the same
/// calls, from one thread, and those of one channel in the same order.
class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// What carries bytes: "MPI (Open MPI v4.1.4)".
  virtual std::string transport() const = 0;
  /// Whether all ranks are of one process, and so of one program on one machine.
  virtual bool is_one_process() const { return false; }
  /// Sends and receives without waiting. Between two ranks the pieces of a channel are matched in their order; those
  /// that are matched are of one size. `channel`: 0 (what all-gathers and the like use) to 30,000. None goes to
  /// oneself. What is not done when the exchange is destroyed is given up: the group is of no more use then.
  virtual std::unique_ptr<Exchange> begin(int channel, std::span<const Outgoing> out, std::span<const Incoming> in) = 0;
  /// Sums `values` of `dtype` (f32, bf16 or f16) over all ranks in place, every addition in that dtype, in an order
  /// that is the transport's own. Here: a balanced tree over what all ranks sent to all.
  virtual std::unique_ptr<Exchange> begin_sum(int channel, std::span<std::byte> values, DType dtype);
  /// Throws RankLost where a rank is known to be gone: for waits that are for something else than an exchange.
  virtual void look() {}
  /// This rank ends before its end: the others' waits throw RankLost with `ending`, which is of the rank that ends all
  /// of this, here or elsewhere ("ended: disk full"). The last call.
  virtual void leave(const RankEnding& ending) = 0;
};

/// Waits. Throws RankLost.
void finish(Exchange& exchange);

/// What each rank gave, by rank; sizes may differ.
std::vector<std::vector<std::byte>> all_gather(Group& group, std::span<const std::byte> mine);
std::vector<std::string> all_gather(Group& group, const std::string& mine);
/// One value of each rank, by rank.
template <typename T>
std::vector<T> all_gather_values(Group& group, const T& mine);
/// Overwrites the bytes of all other ranks with those of `root`; of one size everywhere.
void broadcast(Group& group, std::span<std::byte> bytes, int root);
/// Returns when every rank has called it.
void barrier(Group& group);

/// A group of one.
class SingleProcess : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string transport() const override { return "a single process"; }
  bool is_one_process() const override { return true; }
  std::unique_ptr<Exchange> begin(int channel, std::span<const Outgoing> out, std::span<const Incoming> in) override;
  void leave(const RankEnding&) override {}
};

/// The same error on every rank of a group, that of the lowest rank that had one.
class SharedError : public Error {
 public:
  using Error::Error;
};

/// Runs `action` on every rank. Where one throws an Error, all throw SharedError with the words and exit code of the
/// lowest such rank, which it names where it is not rank 0.
template <typename Action>
void agreed(Group& group, const Action& action);

/// The part of agreed() behind the action: `failure` is null where there was none.
void share_failure(Group& group, const Error* failure);

/// Which equal part of `count` things, in order, is a rank's.
struct EqualPart {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
inline EqualPart part_of(std::int64_t count, int rank, int size) {
  return {count * rank / size, count * (rank + 1) / size};
}

template <typename T>
std::vector<T> all_gather_values(Group& group, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<std::size_t>(group.size()));
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int rank = 0; rank < group.size(); ++rank) {
    T& its = all[static_cast<std::size_t>(rank)];
    if (rank == group.rank()) {
      its = mine;
      continue;
    }
    out.push_back({rank, std::as_bytes(std::span(&mine, 1))});
    in.push_back({rank, std::as_writable_bytes(std::span(&its, 1))});
  }
  finish(*group.begin(0, out, in));
  return all;
}

template <typename Action>
void agreed(Group& group, const Action& action) {
  if (group.size() == 1) return action();
  try {
    action();
  } catch (const RankLost&) {
    throw;
  } catch (const Error& error) {
    return share_failure(group, &error);
  }
  share_failure(group, nullptr);
}

}  // namespace assay
