#include "processes/thread_ranks.h"

#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace assay {
namespace {

/// One call of begin() by all ranks.
struct Meeting {
  explicit Meeting(std::size_t ranks) : sent(ranks), took(ranks, std::vector<bool>(ranks, false)), left(ranks) {}
  std::vector<std::optional<std::vector<Outgoing>>> sent;  ///< By rank; absent: it has not come yet.
  std::vector<std::vector<bool>> took;                     ///< took[receiver][sender]
  std::size_t left;                                        ///< Ranks that are not done with it.
};

/// The channel, and the number of the call on it.
using MeetingKey = std::pair<int, std::uint64_t>;

/// Where the threads meet.
struct MeetingPlace {
  explicit MeetingPlace(int ranks) : size(ranks), gone(static_cast<std::size_t>(ranks)) {}
  int size;
  std::mutex mutex;
  std::map<MeetingKey, Meeting> meetings;
  std::vector<std::optional<RankEnding>> gone;  ///< Of the ranks that left.
};

class ThreadExchange : public Exchange {
 public:
  ThreadExchange(std::shared_ptr<MeetingPlace> place, MeetingKey key, int rank, std::vector<Incoming> in)
      : place_(std::move(place)), key_(key), rank_(rank), in_(std::move(in)) {}

  /// Given up: what others would copy is about to go.
  ~ThreadExchange() override {
    if (done_) return;
    const std::lock_guard lock(place_->mutex);
    const auto meeting = place_->meetings.find(key_);
    if (meeting != place_->meetings.end()) meeting->second.sent[index(rank_)].reset();
  }

  bool test() override {
    if (done_) return true;
    const std::lock_guard lock(place_->mutex);
    Meeting& meeting = place_->meetings.at(key_);
    bool all = true;
    for (int other = 0; other < place_->size; ++other) {
      if (other == rank_) continue;
      all = take_from(meeting, other) && all;
      all = meeting.took[index(other)][index(rank_)] && all;
    }
    if (!all) return refuse_the_gone(meeting);
    done_ = true;
    if (--meeting.left == 0) place_->meetings.erase(key_);
    return true;
  }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  /// Copies what the other sent here, once; whether that is done.
  bool take_from(Meeting& meeting, int other) {
    if (meeting.took[index(rank_)][index(other)]) return true;
    if (!meeting.sent[index(other)]) return false;
    auto piece = in_.begin();
    for (const Outgoing& sent : *meeting.sent[index(other)]) {
      if (sent.rank != rank_) continue;
      while (piece != in_.end() && piece->rank != other) ++piece;
      ASSAY_ASSERT(piece != in_.end() && piece->bytes.size() == sent.bytes.size());
      if (!sent.bytes.empty()) std::memcpy(piece->bytes.data(), sent.bytes.data(), sent.bytes.size());
      ++piece;
    }
    meeting.took[index(rank_)][index(other)] = true;
    return true;
  }

  /// A rank that left no longer comes to this meeting, nor takes what lies there for it.
  bool refuse_the_gone(const Meeting& meeting) const {
    for (int other = 0; other < place_->size; ++other) {
      const bool awaited =
          other != rank_ && (!meeting.took[index(rank_)][index(other)] || !meeting.took[index(other)][index(rank_)]);
      if (awaited && place_->gone[index(other)]) throw RankLost(*place_->gone[index(other)]);
    }
    return false;
  }

  std::shared_ptr<MeetingPlace> place_;
  MeetingKey key_;
  int rank_;
  std::vector<Incoming> in_;
  bool done_ = false;
};

class ThreadRank : public Group {
 public:
  ThreadRank(std::shared_ptr<MeetingPlace> place, int rank) : place_(std::move(place)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return place_->size; }
  std::string transport() const override { return "threads of one process"; }
  bool is_one_process() const override { return true; }

  std::unique_ptr<Exchange> begin(int channel, std::span<const Outgoing> out, std::span<const Incoming> in) override {
    const MeetingKey key = {channel, calls_[channel]++};
    const std::lock_guard lock(place_->mutex);
    Meeting& meeting = place_->meetings.try_emplace(key, static_cast<std::size_t>(size())).first->second;
    meeting.sent[static_cast<std::size_t>(rank_)].emplace(out.begin(), out.end());
    return std::make_unique<ThreadExchange>(place_, key, rank_, std::vector<Incoming>(in.begin(), in.end()));
  }

  void leave(const RankEnding& ending) override {
    const std::lock_guard lock(place_->mutex);
    std::optional<RankEnding>& gone = place_->gone[static_cast<std::size_t>(rank_)];
    if (!gone) gone = ending;
  }

 private:
  std::shared_ptr<MeetingPlace> place_;
  int rank_;
  std::map<int, std::uint64_t> calls_;  ///< By channel.
};

/// What the ranks' threads threw.
class Failures {
 public:
  /// Of several, one that has a reason of its own goes before those that lost another rank.
  void add(std::exception_ptr thrown, bool has_own_reason) {
    const std::lock_guard lock(mutex_);
    if (first_ != nullptr && (own_ || !has_own_reason)) return;
    first_ = std::move(thrown);
    own_ = has_own_reason;
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
  bool own_ = false;
};

void run_rank(Group& group, const std::function<void(Group&)>& body, Failures& failures) {
  try {
    body(group);
    group.leave({group.rank(), "has ended"});
  } catch (const RankLost& lost) {
    group.leave(lost.ending);
    failures.add(std::current_exception(), false);
  } catch (const std::exception& error) {
    group.leave({group.rank(), fmt::format("ended: {}", error.what())});
    failures.add(std::current_exception(), true);
  }
}

}  // namespace

std::vector<std::unique_ptr<Group>> thread_groups(int size) {
  ASSAY_ASSERT(size >= 1);
  const auto place = std::make_shared<MeetingPlace>(size);
  std::vector<std::unique_ptr<Group>> groups;
  groups.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) groups.push_back(std::make_unique<ThreadRank>(place, rank));
  return groups;
}

void run_as_ranks(int size, const std::function<void(Group&)>& body) {
  const std::vector<std::unique_ptr<Group>> groups = thread_groups(size);
  Failures failures;
  std::vector<std::thread> threads;
  threads.reserve(groups.size());
  for (const auto& group : groups)
    threads.emplace_back([&failures, &body, &rank = *group] { run_rank(rank, body, failures); });
  for (std::thread& thread : threads) thread.join();
  failures.rethrow();
}

}  // namespace assay
