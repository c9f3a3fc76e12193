#include "processes/mpi_group.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "processes/sums.h"

namespace assay {
namespace {

constexpr int last_words_tag = 1;
constexpr int first_data_tag = 2;
constexpr int most_channels = 30001;  ///< MPI promises tags up to 32767.
constexpr std::size_t largest_message = std::size_t{1} << 30;
constexpr double between_looks_s = 0.1;
constexpr std::size_t most_last_words = 512;

template <DType dtype>
void add_16_bit(const void* values, void* sum, std::size_t count) {
  add_in(dtype, static_cast<const std::byte*>(values), static_cast<std::byte*>(sum), count);
}

/// Where a rank runs.
struct Whereabouts {
  std::array<char, 64> host{};
  std::int64_t process = 0;
};

Whereabouts my_whereabouts() {
  Whereabouts mine;
  ::gethostname(mine.host.data(), mine.host.size() - 1);
  mine.process = ::getpid();
  return mine;
}

bool is_alive(std::int64_t process) {
  return ::kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM;
}

/// "1 (process 4711) has died": as it travels.
std::string words_of(const RankEnding& ending) {
  return fmt::format("{} {}", ending.rank, ending.why).substr(0, most_last_words - 1);
}
RankEnding ending_in(const std::string& words) {
  const auto space = words.find(' ');
  return {std::atoi(words.c_str()), space == std::string::npos ? "" : words.substr(space + 1)};
}

/// Who of the others is still there.
class Watch {
 public:
  Watch(const AssayMpiCalls& calls, double patience_s) : calls_(calls), patience_s_(patience_s) {}

  void know(const std::vector<Whereabouts>& all, int mine) {
    const Whereabouts here = all[static_cast<std::size_t>(mine)];
    for (int rank = 0; rank < static_cast<int>(all.size()); ++rank) {
      const Whereabouts& its = all[static_cast<std::size_t>(rank)];
      // In another namespace of processes its number would be nobody's, or somebody else's.
      if (rank != mine && its.host == here.host && its.process != here.process && is_alive(its.process))
        neighbours_.push_back({rank, its.process});
    }
  }

  /// At a wait that began at `since_s`. Throws RankLost.
  void look(double since_s) {
    const double now = now_s();
    if (now - looked_s_ < between_looks_s) return;
    looked_s_ = now;
    std::array<char, most_last_words> text{};
    const int leaving = calls_.take_text(last_words_tag, text.data(), text.size());
    if (leaving >= 0) throw RankLost(ending_in(text.data()));
    for (const Neighbour& one : neighbours_) {
      if (!is_alive(one.process)) throw RankLost({one.rank, fmt::format("(process {}) has died", one.process)});
    }
    if (now - since_s > patience_s_) throw RankLost({-1, fmt::format("gave no answer for {:.0f} s", patience_s_)});
  }

 private:
  struct Neighbour {
    int rank = 0;
    std::int64_t process = 0;
  };
  const AssayMpiCalls& calls_;
  double patience_s_;
  double looked_s_ = 0;
  std::vector<Neighbour> neighbours_;
};

class MpiExchange : public Exchange {
 public:
  MpiExchange(const AssayMpiCalls& calls, Watch& watch) : calls_(calls), watch_(watch), since_s_(now_s()) {}

  void add(void* request) {
    if (request == nullptr) fail_lacking("MPI: the library refused a message");
    requests_.push_back(request);
  }

  bool test() override {
    while (!requests_.empty()) {
      const int state = calls_.test(requests_.back());
      if (state == 0) {
        watch_.look(since_s_);
        return false;
      }
      requests_.pop_back();
      if (state < 0) fail_lacking("MPI: a message was lost");
    }
    return true;
  }

 private:
  const AssayMpiCalls& calls_;
  Watch& watch_;
  double since_s_;
  std::vector<void*> requests_;
};

/// Calls body(offset, bytes) for the messages that `bytes` are sent in.
template <typename Body>
void in_messages(std::size_t bytes, const Body& body) {
  for (std::size_t offset = 0; offset < bytes; offset += largest_message)
    body(offset, std::min(largest_message, bytes - offset));
}

class MpiGroup : public Group {
 public:
  MpiGroup(const AssayMpiCalls& calls, const MpiOptions& options)
      : calls_(calls), watch_(calls, options.patience_s), rank_(calls.rank()), size_(calls.size()) {
    watch_.know(all_gather_values(*this, my_whereabouts()), rank_);
  }

  ~MpiGroup() override {
    if (!left_) calls_.finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::string transport() const override {
    const std::string library = calls_.library();
    return fmt::format("MPI ({})", library.substr(0, library.find(',')));
  }

  std::unique_ptr<Exchange> begin(int channel, std::span<const Outgoing> out, std::span<const Incoming> in) override {
    ASSAY_ASSERT(channel >= 0 && channel < most_channels);
    const int tag = first_data_tag + channel;
    auto exchange = std::make_unique<MpiExchange>(calls_, watch_);
    for (const Incoming& piece : in) {
      in_messages(piece.bytes.size(), [&](std::size_t offset, std::size_t bytes) {
        exchange->add(calls_.receive(piece.rank, tag, piece.bytes.data() + offset, bytes));
      });
    }
    for (const Outgoing& piece : out) {
      in_messages(piece.bytes.size(), [&](std::size_t offset, std::size_t bytes) {
        exchange->add(calls_.send(piece.rank, tag, piece.bytes.data() + offset, bytes));
      });
    }
    return exchange;
  }

  std::unique_ptr<Exchange> begin_sum(int, std::span<std::byte> values, DType dtype) override {
    auto exchange = std::make_unique<MpiExchange>(calls_, watch_);
    in_messages(values.size(), [&](std::size_t offset, std::size_t bytes) {
      std::byte* const here = values.data() + offset;
      const std::size_t count = bytes / size_of(dtype);
      exchange->add(dtype == DType::f32    ? calls_.sum_f32(here, count)
                    : dtype == DType::bf16 ? calls_.sum_16_bit(here, count, add_16_bit<DType::bf16>)
                                           : calls_.sum_16_bit(here, count, add_16_bit<DType::f16>));
    });
    return exchange;
  }

  void look() override { watch_.look(now_s()); }

  /// Short texts leave at once. Nothing is moved on any more: what is under way may name memory that is gone.
  void leave(const RankEnding& ending) override {
    left_ = true;
    last_words_ = words_of(ending);
    for (int other = 0; other < size_; ++other) {
      if (other != rank_) calls_.send(other, last_words_tag, last_words_.data(), last_words_.size());
    }
  }

 private:
  const AssayMpiCalls& calls_;
  Watch watch_;
  int rank_;
  int size_;
  std::string last_words_;  ///< As long as a message of it may be under way.
  bool left_ = false;
};

}  // namespace

std::unique_ptr<Group> mpi_group(const AssayMpiCalls& calls, const MpiOptions& options) {
  return std::make_unique<MpiGroup>(calls, options);
}

}  // namespace assay
