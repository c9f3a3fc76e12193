#include "training/reducer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "base/threads.h"
#include "processes/sums.h"

namespace assay {
namespace {

constexpr ReduceFormat formats[] = {
    {"f32", DType::f32, DType::f32}, {"bf16", DType::bf16, DType::bf16},     {"bf16-f32sum", DType::bf16, DType::f32},
    {"f16", DType::f16, DType::f16}, {"f16-f32sum", DType::f16, DType::f32},
};

/// Adds the time of a scope.
class Timed {
 public:
  explicit Timed(double& seconds) : seconds_(seconds), begin_s_(now_s()) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() { seconds_ += now_s() - begin_s_; }

 private:
  double& seconds_;
  double begin_s_;
};

constexpr std::int64_t sum_grain = 1 << 16;  ///< Elements; below, a thread costs more than it saves.

void convert_in_parts(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to, std::int64_t count) {
  parallel_for(count, sum_grain, [&](std::int64_t begin, std::int64_t end) {
    const auto first = static_cast<std::size_t>(begin);
    convert(from_dtype, from + first * size_of(from_dtype), to_dtype, to + first * size_of(to_dtype),
            static_cast<std::size_t>(end - begin));
  });
}

/// The sum of one stretch of elements over `parts`, one a rank, into `to`; both of the wire's dtype. `to` may be one of
/// the parts.
void sum_in_rank_order(const ReduceFormat& format, std::span<const std::byte* const> parts, std::byte* to,
                       std::size_t count) {
  constexpr std::size_t at_once = 2048;
  std::array<float, at_once> sum;
  const std::size_t width = size_of(format.wire);
  const DType held = format.sum == DType::f32 ? DType::f32 : format.wire;
  auto* const bytes = reinterpret_cast<std::byte*>(sum.data());
  for (std::size_t first = 0; first < count; first += at_once) {
    const std::size_t stretch = std::min(at_once, count - first);
    std::memset(bytes, 0, stretch * size_of(held));
    for (const std::byte* part : parts) {
      if (held == DType::f32)
        add_to_f32(format.wire, part + first * width, sum.data(), stretch);
      else
        add_in(format.wire, part + first * width, bytes, stretch);
    }
    convert(held, bytes, format.wire, to + first * width, stretch);
  }
}

/// Tensors [first, last) travel together.
struct BucketSpan {
  std::size_t first = 0;
  std::size_t last = 0;
  std::int64_t elements = 0;
};

std::vector<BucketSpan> bucket_spans(std::span<const GradientSize> tensors, std::int64_t bucket_bytes) {
  std::vector<BucketSpan> spans;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (spans.empty() || bytes >= bucket_bytes) {
      spans.push_back({i, i, 0});
      bytes = 0;
    }
    bytes += tensors[i].count * static_cast<std::int64_t>(size_of(tensors[i].dtype));
    spans.back().last = i + 1;
    spans.back().elements += tensors[i].count;
  }
  return spans;
}

/// The largest sum of so many neighbours.
std::int64_t most_together(const std::vector<std::int64_t>& values, std::size_t neighbours) {
  std::int64_t most = 0;
  for (std::size_t first = 0; first < values.size(); ++first) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), first + neighbours));
    most = std::max(most, std::accumulate(begin, end, std::int64_t{0}));
  }
  return most;
}

}  // namespace

/// Besides the tensors a bucket takes what other ranks send, and a copy where the wire has another dtype.
ReduceTraffic reduce_traffic(std::span<const GradientSize> tensors, const ReduceOptions& options, int ranks) {
  const auto width = static_cast<std::int64_t>(size_of(options.format.wire));
  ReduceTraffic traffic;
  std::vector<std::int64_t> scratch;
  std::vector<std::int64_t> own_bytes;
  for (const BucketSpan& span : bucket_spans(tensors, options.bucket_bytes)) {
    ++traffic.buckets;
    traffic.last_bucket_bytes = span.elements * (ranks - 1) / ranks * width;
    traffic.one_way_bytes += traffic.last_bucket_bytes;
    const bool is_copied = std::any_of(tensors.begin() + static_cast<std::ptrdiff_t>(span.first),
                                       tensors.begin() + static_cast<std::ptrdiff_t>(span.last),
                                       [&](const GradientSize& one) { return one.dtype != options.format.wire; });
    scratch.push_back(traffic.last_bucket_bytes + (is_copied ? span.elements * width : 0));
    std::int64_t& own = own_bytes.emplace_back(0);
    for (std::size_t i = span.first; i < span.last; ++i)
      own += tensors[i].count * static_cast<std::int64_t>(size_of(tensors[i].dtype));
  }
  traffic.scratch_bytes = most_together(scratch, GradientReducer::most_under_way);
  traffic.under_way_bytes = most_together(own_bytes, GradientReducer::most_under_way + 1);
  return traffic;
}

std::span<const ReduceFormat> reduce_formats() {
  return formats;
}

const ReduceFormat& find_reduce_format(std::string_view name) {
  const auto found = std::ranges::find(formats, name, &ReduceFormat::name);
  if (found != std::end(formats)) return *found;
  std::string known;
  for (const ReduceFormat& format : formats) known += (known.empty() ? "" : ", ") + std::string(format.name);
  fail_user("--reduce '{}': known are {}", name, known);
}

void check_reduce(const ReduceOptions& options) {
  if (options.by == ReduceBy::library && options.format.sum != options.format.wire)
    fail_user("--reduce {}: a library sums in the dtype that travels; --reduce-by direct keeps the two apart",
              options.format.name);
}

/// Elements [begin, end) of a tensor.
struct GradientReducer::Range {
  std::size_t tensor = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t place = 0;  ///< Elements of the bucket before it.
  std::size_t count() const { return static_cast<std::size_t>(end - begin); }
};

struct GradientReducer::Bucket {
  enum class State : std::uint8_t { waiting, to_owners, back, done } state = State::waiting;
  std::size_t first = 0;  ///< Of tensors_.
  std::size_t last = 0;   ///< Behind its last.
  std::int64_t elements = 0;
  int channel = 0;                         ///< And the next: ranks may differ in what they get to first.
  std::vector<std::vector<Range>> shares;  ///< By rank.
  std::vector<std::int64_t> share_elements;
  std::size_t unfinished = 0;
  Tensor packed;    ///< All elements in the wire's dtype; empty where they travel as they lie.
  Tensor received;  ///< This rank's share from each of the others, one behind the other.
  std::unique_ptr<Exchange> exchange;
};

GradientReducer::GradientReducer(Group& group, const ReduceOptions& options, std::vector<ReducedTensor> tensors)
    : group_(group), options_(options), tensors_(std::move(tensors)), bucket_of_(tensors_.size()) {
  check_reduce(options);
  std::vector<GradientSize> sizes;
  for (const ReducedTensor& tensor : tensors_) sizes.push_back({tensor.count, tensor.dtype});
  for (const BucketSpan& span : bucket_spans(sizes, options.bucket_bytes)) {
    Bucket& bucket = *buckets_.emplace_back(std::make_unique<Bucket>());
    bucket.first = span.first;
    bucket.last = span.last;
    bucket.elements = span.elements;
    bucket.channel = 2 * static_cast<int>(buckets_.size()) - 1;
    std::fill(bucket_of_.begin() + static_cast<std::ptrdiff_t>(span.first),
              bucket_of_.begin() + static_cast<std::ptrdiff_t>(span.last), buckets_.size() - 1);
    for (int rank = 0; rank < group_.size(); ++rank) add_share(bucket, rank);
  }
}

/// An equal part of the elements, whoever owns them: so no rank gets a whole tensor from each of the others.
void GradientReducer::add_share(Bucket& bucket, int rank) const {
  const EqualPart part = part_of(bucket.elements, rank, group_.size());
  std::vector<Range>& share = bucket.shares.emplace_back();
  std::int64_t& elements = bucket.share_elements.emplace_back(0);
  std::int64_t place = 0;
  for (std::size_t i = bucket.first; i < bucket.last; ++i) {
    const std::int64_t count = tensors_[i].count;
    const std::int64_t begin = std::clamp(part.begin - place, std::int64_t{0}, count);
    const std::int64_t end = std::clamp(part.end - place, std::int64_t{0}, count);
    if (begin < end) share.push_back({i, begin, end, place + begin});
    elements += end - begin;
    place += count;
  }
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::sum_by(std::unique_ptr<DeviceSums> sums, std::vector<DeviceValues> values) {
  ASSAY_ASSERT(values.size() == tensors_.size());
  device_sums_ = std::move(sums);
  on_device_ = std::move(values);
}

void GradientReducer::sum_on_device() {
  /// A library of the device's waits for ranks that are gone as for others.
  struct Sums : Exchange {
    Sums(DeviceSums& own, Group& all) : sums(own), group(all) {}
    bool test() override {
      if (sums.test()) return true;
      group.look();
      return false;
    }
    DeviceSums& sums;
    Group& group;
  };
  const double begin_s = now_s();
  try {
    device_sums_->begin(on_device_);
    Sums sums(*device_sums_, group_);
    finish(sums);
  } catch (...) {
    device_sums_.reset();  // What is under way may never end, nor what is queued behind it.
    throw;
  }
  statistics_ = {};
  statistics_.exposed_s = statistics_.busy_s = now_s() - begin_s;
  for (const DeviceValues& one : on_device_) {
    const auto bytes = one.count * static_cast<std::int64_t>(size_of(one.dtype));
    const int ways = one.owner < 0 ? 2 : 1;  // To where it is summed, and back.
    statistics_.sent_bytes += ways * bytes * (group_.size() - 1) / group_.size();
  }
}

std::string GradientReducer::description() const {
  if (device_sums_ != nullptr)
    return fmt::format("{}'s sums of {} on the devices, {}", device_sums_->library(), name(options_.format.wire),
                       group_.transport());
  const std::string how = options_.by == ReduceBy::library
                              ? fmt::format("the library's all-reduce of {}", name(options_.format.wire))
                              : fmt::format("direct exchange of {}, {} sums in rank order", name(options_.format.wire),
                                            name(options_.format.sum));
  return fmt::format("{}, {} bucket{}, {}", how, buckets_.size(), buckets_.size() == 1 ? "" : "s", group_.transport());
}

void GradientReducer::start() {
  started_ = done_ = 0;
  statistics_ = {};
  began_s_ = 0;
  for (const auto& bucket : buckets_) {
    bucket->state = Bucket::State::waiting;
    bucket->unfinished = bucket->last - bucket->first;
  }
}

void GradientReducer::finished(std::size_t tensor) {
  Bucket& bucket = *buckets_[bucket_of_[tensor]];
  ASSAY_ASSERT(bucket.unfinished > 0);
  if (--bucket.unfinished > 0) return;
  start_buckets();
  if (tensors_[tensor].owner >= 0) wait_for_start(bucket_of_[tensor]);
}

/// Of gradients that pass no more than so many buckets are to lie in memory: a backward that outruns them waits.
void GradientReducer::wait_for_start(std::size_t bucket) {
  const auto passes = [](const ReducedTensor& tensor) { return tensor.is_passing; };
  if (started_ > bucket || std::ranges::none_of(tensors_, passes)) return;
  struct Start : Exchange {
    Start(GradientReducer& all, std::size_t one) : reducer(all), awaited(one) {}
    bool test() override {
      reducer.progress();
      return reducer.started_ > awaited;
    }
    GradientReducer& reducer;
    std::size_t awaited;
  };
  const double begin_s = now_s();
  const double exposed_s = statistics_.exposed_s;
  Start start(*this, bucket);
  finish(start);
  statistics_.exposed_s = exposed_s + (now_s() - begin_s);
}

/// Whole pages of tensors whose sum is another rank's.
void GradientReducer::release(const Bucket& bucket) const {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (std::size_t i = bucket.first; i < bucket.last; ++i) {
    const ReducedTensor& tensor = tensors_[i];
    if (!tensor.is_passing) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(tensor.data);
    const std::uintptr_t end = begin + static_cast<std::uintptr_t>(tensor.count) * size_of(tensor.dtype);
    const std::uintptr_t first = (begin + page - 1) / page * page;
    const std::uintptr_t last = end / page * page;
    if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
}

void GradientReducer::start_buckets() {
  const Timed timed(statistics_.exposed_s);
  while (started_ < buckets_.size() && buckets_[started_]->unfinished == 0 && started_ - done_ < most_under_way) {
    if (started_ == 0) began_s_ = now_s();
    start_bucket(*buckets_[started_++]);
  }
}

void GradientReducer::progress() {
  if (done_ == started_) return;
  {
    const Timed timed(statistics_.exposed_s);
    for (std::size_t i = done_; i < started_; ++i) move_on(*buckets_[i]);
    while (done_ < started_ && buckets_[done_]->state == Bucket::State::done) ++done_;
    if (done_ == buckets_.size()) statistics_.busy_s = now_s() - began_s_;
  }
  start_buckets();
}

void GradientReducer::wait() {
  /// All that is left, as one exchange.
  struct Rest : Exchange {
    explicit Rest(GradientReducer& all) : reducer(all) {}
    bool test() override {
      reducer.progress();
      return reducer.done_ == reducer.buckets_.size();
    }
    GradientReducer& reducer;
  };
  for (const auto& bucket : buckets_) ASSAY_ASSERT(bucket->unfinished == 0);
  const double begin_s = now_s();
  const double exposed_s = statistics_.exposed_s;
  Rest rest(*this);
  finish(rest);
  statistics_.exposed_s = exposed_s + (now_s() - begin_s);
}

/// Where what is sent has the tensor's own dtype, it is sent from where it lies.
bool GradientReducer::travels_in_place(const Bucket& bucket) const {
  return options_.by == ReduceBy::direct &&
         std::all_of(tensors_.begin() + static_cast<std::ptrdiff_t>(bucket.first),
                     tensors_.begin() + static_cast<std::ptrdiff_t>(bucket.last),
                     [&](const ReducedTensor& tensor) { return tensor.dtype == options_.format.wire; });
}

/// Where the range lies in the wire's dtype.
std::byte* GradientReducer::image(const Bucket& bucket, const Range& range) const {
  const std::size_t width = size_of(options_.format.wire);
  if (bucket.packed.data() == nullptr)
    return tensors_[range.tensor].data + static_cast<std::size_t>(range.begin) * width;
  return const_cast<std::byte*>(bucket.packed.data()) + static_cast<std::size_t>(range.place) * width;
}

/// Not initialised; that of an earlier bucket where one is large enough.
Tensor GradientReducer::scratch(std::size_t bytes) {
  const auto fits = std::ranges::find_if(unused_, [&](const Tensor& one) { return one.bytes() >= bytes; });
  if (fits == unused_.end()) return Tensor(DType::u8, {static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1))});
  Tensor found = std::move(*fits);
  unused_.erase(fits);
  return found;
}

void GradientReducer::start_bucket(Bucket& bucket) {
  const std::size_t width = size_of(options_.format.wire);
  if (!travels_in_place(bucket)) {
    bucket.packed = scratch(static_cast<std::size_t>(bucket.elements) * width);
    std::byte* to = bucket.packed.data();
    for (std::size_t i = bucket.first; i < bucket.last; ++i) {
      const ReducedTensor& tensor = tensors_[i];
      convert_in_parts(tensor.dtype, tensor.data, options_.format.wire, to, tensor.count);
      to += static_cast<std::size_t>(tensor.count) * width;
    }
  }
  if (options_.by == ReduceBy::library) {
    const std::size_t bytes = static_cast<std::size_t>(bucket.elements) * width;
    bucket.exchange = group_.begin_sum(bucket.channel, {bucket.packed.data(), bytes}, options_.format.wire);
    bucket.state = Bucket::State::back;
    statistics_.sent_bytes += 2 * static_cast<std::int64_t>(bytes) * (group_.size() - 1) / group_.size();
    return;
  }
  const auto mine = static_cast<std::size_t>(group_.rank());
  const std::size_t share_bytes = static_cast<std::size_t>(bucket.share_elements[mine]) * width;
  bucket.received = scratch(share_bytes * static_cast<std::size_t>(group_.size() - 1));
  std::byte* to = bucket.received.data();
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank()) continue;
    for (const Range& range : bucket.shares[static_cast<std::size_t>(rank)]) {
      out.push_back({rank, {image(bucket, range), range.count() * width}});
      statistics_.sent_bytes += static_cast<std::int64_t>(range.count() * width);
    }
    for (const Range& range : bucket.shares[mine]) {
      in.push_back({rank, {to, range.count() * width}});
      to += range.count() * width;
    }
  }
  bucket.exchange = group_.begin(bucket.channel, out, in);
  bucket.state = Bucket::State::to_owners;
}

void GradientReducer::move_on(Bucket& bucket) {
  if (bucket.state == Bucket::State::to_owners && bucket.exchange->test()) {
    sum_share(bucket);
    unused_.push_back(std::move(bucket.received));
    begin_return(bucket);
  }
  if (bucket.state != Bucket::State::back || !bucket.exchange->test()) return;
  bucket.exchange = nullptr;
  unpack(bucket);
  release(bucket);
  if (bucket.packed.data() != nullptr) unused_.push_back(std::move(bucket.packed));
  bucket.packed = Tensor();
  bucket.state = Bucket::State::done;
}

void GradientReducer::sum_share(Bucket& bucket) const {
  const std::size_t width = size_of(options_.format.wire);
  const auto mine = static_cast<std::size_t>(group_.rank());
  const std::size_t share_bytes = static_cast<std::size_t>(bucket.share_elements[mine]) * width;
  std::size_t place = 0;  // Bytes of the share before the range.
  for (const Range& range : bucket.shares[mine]) {
    std::byte* const own = image(bucket, range);
    const auto count = static_cast<std::int64_t>(range.count());
    parallel_for(count, sum_grain, [&](std::int64_t begin, std::int64_t end) {
      const std::size_t offset = static_cast<std::size_t>(begin) * width;
      std::vector<const std::byte*> parts;
      const std::byte* from = bucket.received.data() + place + offset;
      for (int rank = 0; rank < group_.size(); ++rank) {
        parts.push_back(rank == group_.rank() ? own + offset : from);
        if (rank != group_.rank()) from += share_bytes;
      }
      sum_in_rank_order(options_.format, parts, own + offset, static_cast<std::size_t>(end - begin));
    });
    place += range.count() * width;
  }
}

/// Sums to all ranks; of tensors with owners, to those.
void GradientReducer::begin_return(Bucket& bucket) {
  const std::size_t width = size_of(options_.format.wire);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  const auto gets = [&](int rank, const Range& range) {
    const int owner = tensors_[range.tensor].owner;
    return owner < 0 || owner == rank;
  };
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank()) continue;
    for (const Range& range : bucket.shares[static_cast<std::size_t>(group_.rank())]) {
      if (!gets(rank, range)) continue;
      out.push_back({rank, {image(bucket, range), range.count() * width}});
      statistics_.sent_bytes += static_cast<std::int64_t>(range.count() * width);
    }
    for (const Range& range : bucket.shares[static_cast<std::size_t>(rank)]) {
      if (gets(group_.rank(), range)) in.push_back({rank, {image(bucket, range), range.count() * width}});
    }
  }
  bucket.exchange = group_.begin(bucket.channel + 1, out, in);
  bucket.state = Bucket::State::back;
}

/// What travelled in another dtype goes where it belongs; of a tensor with an owner, on its owner alone.
void GradientReducer::unpack(Bucket& bucket) const {
  if (bucket.packed.data() == nullptr) return;
  const std::byte* from = bucket.packed.data();
  for (std::size_t i = bucket.first; i < bucket.last; ++i) {
    const ReducedTensor& tensor = tensors_[i];
    if (tensor.owner < 0 || tensor.owner == group_.rank() || options_.by == ReduceBy::library)
      convert_in_parts(options_.format.wire, from, tensor.dtype, tensor.data, tensor.count);
    from += static_cast<std::size_t>(tensor.count) * size_of(options_.format.wire);
  }
}

}  // namespace assay
