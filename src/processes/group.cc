#include "processes/group.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "processes/sums.h"

namespace assay {
namespace {

/// Nothing goes anywhere.
class NothingLeft : public Exchange {
 public:
  bool test() override { return true; }
};

/// What every rank sent to every other, summed as a balanced tree over ranks: a library's own order is as good.
class GatheredSum : public Exchange {
 public:
  GatheredSum(Group& group, int channel, std::span<std::byte> values, DType dtype) : values_(values), dtype_(dtype) {
    const auto size = static_cast<std::size_t>(group.size());
    mine_.assign(values.begin(), values.end());
    all_.resize(size);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (int rank = 0; rank < group.size(); ++rank) {
      std::vector<std::byte>& its = all_[static_cast<std::size_t>(rank)];
      if (rank == group.rank()) {
        its = mine_;
        continue;
      }
      its.resize(values.size());
      out.push_back({rank, mine_});
      in.push_back({rank, its});
    }
    gathering_ = group.begin(channel, out, in);
  }

  bool test() override {
    if (gathering_ == nullptr) return true;
    if (!gathering_->test()) return false;
    const std::size_t count = values_.size() / size_of(dtype_);
    for (std::size_t step = 1; step < all_.size(); step *= 2) {
      for (std::size_t rank = 0; rank + step < all_.size(); rank += 2 * step)
        add_in(dtype_, all_[rank + step].data(), all_[rank].data(), count);
    }
    std::memcpy(values_.data(), all_[0].data(), values_.size());
    gathering_ = nullptr;
    return true;
  }

 private:
  std::span<std::byte> values_;
  DType dtype_;
  std::vector<std::byte> mine_;
  std::vector<std::vector<std::byte>> all_;
  std::unique_ptr<Exchange> gathering_;
};

/// What one rank says of what it did.
struct Outcome {
  std::int32_t failed = 0;
  std::int32_t code = 0;
};

}  // namespace

std::unique_ptr<Exchange> Group::begin_sum(int channel, std::span<std::byte> values, DType dtype) {
  return std::make_unique<GatheredSum>(*this, channel, values, dtype);
}

std::unique_ptr<Exchange> SingleProcess::begin(int, std::span<const Outgoing> out, std::span<const Incoming> in) {
  ASSAY_ASSERT(out.empty() && in.empty());
  return std::make_unique<NothingLeft>();
}

/// Looks often at first, then lets others have the core: ranks may be more than cores.
void finish(Exchange& exchange) {
  constexpr int eager_looks = 200;
  constexpr std::chrono::microseconds between_looks(50);
  for (int look = 0; !exchange.test(); ++look) {
    if (look < eager_looks)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(between_looks);
  }
}

std::vector<std::vector<std::byte>> all_gather(Group& group, std::span<const std::byte> mine) {
  const std::vector<std::uint64_t> sizes = all_gather_values(group, std::uint64_t{mine.size()});
  std::vector<std::vector<std::byte>> all(sizes.size());
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int rank = 0; rank < group.size(); ++rank) {
    std::vector<std::byte>& its = all[static_cast<std::size_t>(rank)];
    its.resize(sizes[static_cast<std::size_t>(rank)]);
    if (rank == group.rank()) {
      its.assign(mine.begin(), mine.end());
      continue;
    }
    out.push_back({rank, mine});
    in.push_back({rank, its});
  }
  finish(*group.begin(0, out, in));
  return all;
}

std::vector<std::string> all_gather(Group& group, const std::string& mine) {
  std::vector<std::string> all;
  for (const std::vector<std::byte>& bytes : all_gather(group, std::as_bytes(std::span(mine))))
    all.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all;
}

void broadcast(Group& group, std::span<std::byte> bytes, int root) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (group.rank() == root && rank != root) out.push_back({rank, bytes});
  }
  if (group.rank() != root) in.push_back({root, bytes});
  finish(*group.begin(0, out, in));
}

void barrier(Group& group) {
  all_gather_values(group, std::uint8_t{0});
}

void share_failure(Group& group, const Error* failure) {
  const Outcome mine = {failure != nullptr, failure == nullptr ? 0 : static_cast<std::int32_t>(failure->code())};
  const std::vector<Outcome> all = all_gather_values(group, mine);
  int first = 0;
  while (first < group.size() && all[static_cast<std::size_t>(first)].failed == 0) ++first;
  if (first == group.size()) return;
  const std::vector<std::string> words = all_gather(group, failure == nullptr ? std::string() : failure->what());
  const std::string& what = words[static_cast<std::size_t>(first)];
  throw SharedError(static_cast<ExitCode>(all[static_cast<std::size_t>(first)].code),
                    first == 0 ? what : fmt::format("rank {}: {}", first, what));
}

}  // namespace assay
