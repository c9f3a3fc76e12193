#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "processes/group.h"
#include "tensor/device_sums.h"
#include "tensor/tensor.h"

namespace assay {

/// How gradients travel between ranks, and what they are summed in.
struct ReduceFormat {
  std::string_view name;
  DType wire = DType::f32;
  DType sum = DType::f32;
};
std::span<const ReduceFormat> reduce_formats();
/// Throws a user error that lists the names.
const ReduceFormat& find_reduce_format(std::string_view name);

enum class ReduceBy : std::uint8_t {
  direct,  ///< Shares to their owners, summed in rank order and rounded once to the wire's dtype, and back to all.
  library  ///< The transport's own all-reduce, in the wire's dtype and whatever order.
};

struct ReduceOptions {
  ReduceFormat format = {"f32", DType::f32, DType::f32};
  ReduceBy by = ReduceBy::direct;
  std::int64_t bucket_bytes = 25 << 20;  ///< Of gradients that travel together; DDP's (Li et al. 2020).
};

/// Throws a user error for a format that the library cannot sum in.
void check_reduce(const ReduceOptions& options);

/// One tensor to be summed over ranks, in host memory that stays.
struct ReducedTensor {
  std::string name;
  DType dtype = DType::f32;
  std::int64_t count = 0;
  std::byte* data = nullptr;
  int owner = -1;  ///< The one rank that gets the sum; -1: all do.
  /// Its pages go back to the system once its sum is made elsewhere, until the next backward writes it.
  bool is_passing = false;
};

/// What the reduction of one step took on this rank.
struct ReduceStatistics {
  std::int64_t sent_bytes = 0;
  double exposed_s = 0;  ///< In which nothing else was done: sums, copies, waiting.
  double busy_s = 0;     ///< From the first bucket's start to the last one's end.
  double hidden_s() const { return busy_s > exposed_s ? busy_s - exposed_s : 0; }
};

/// A gradient before there is one.
struct GradientSize {
  std::int64_t count = 0;
  DType dtype = DType::f32;
};

/// What a direct exchange of such gradients comes to; each rank sums an equal share.
struct ReduceTraffic {
  std::int64_t buckets = 0;
  std::int64_t one_way_bytes = 0;      ///< That each rank sends to the owners of shares; as much comes back.
  std::int64_t last_bucket_bytes = 0;  ///< Of them, those of the last bucket.
  std::int64_t under_way_bytes = 0;    ///< Of tensors that are under way at once, and of the bucket that is filled.
  std::int64_t scratch_bytes = 0;      ///< Besides the tensors, of the buckets that are under way at once.
};
/// `tensors`: in the order in which they are finished.
ReduceTraffic reduce_traffic(std::span<const GradientSize> tensors, const ReduceOptions& options, int ranks);

/// Sums a step's gradients over the ranks of a group while the backward still runs. Tensors travel in buckets of
/// neighbours in the order in which they are named, which is the order in which a backward finishes them; a bucket
/// starts when its last tensor is finished and all buckets before it have started, so that all ranks start the same
/// ones in the same order.
///
/// Direct: each rank sums an equal share of a bucket's elements,
///   sum = ((0 + g_0) + g_1) + ...   in rank order, g_r rounded to the wire's dtype,
/// in the format's sum dtype. With f32 that is, to the bit, what one process adds up in f32 that works the ranks'
/// parts one after another. Every rank (of a tensor with an owner: the owner), the summing one too, then holds the sum
/// rounded to the wire's dtype: the same bits.
class GradientReducer {
 public:
  /// Buckets that are under way at once, so that what they take stays small.
  static constexpr std::size_t most_under_way = 4;

  /// `group` outlives it. Either all tensors have owners or none has.
  GradientReducer(Group& group, const ReduceOptions& options, std::vector<ReducedTensor> tensors);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// A step begins: nothing of it is finished yet.
  void start();
  /// This rank's part of the tensor is whole. Throws RankLost, as all that follow.
  void finished(std::size_t tensor);
  /// Moves on what is under way.
  void progress();
  /// From now on `sums` does the work, on the devices where `values`, the tensors in their order, lie: no bucket
  /// starts, and sum_on_device() stands for all of a step's calls.
  void sum_by(std::unique_ptr<DeviceSums> sums, std::vector<DeviceValues> values);
  bool sums_on_device() const { return device_sums_ != nullptr; }
  /// Returns when every tensor holds its sum on its device. Throws RankLost, and Error(lacking).
  void sum_on_device();
  /// Returns when every tensor holds its sum; those owned elsewhere hold nothing of use. All are finished.
  void wait();

  const std::vector<ReducedTensor>& tensors() const { return tensors_; }
  const ReduceStatistics& statistics() const { return statistics_; }
  std::size_t buckets() const { return buckets_.size(); }
  /// "direct exchange of bf16, f32 sums in rank order, 9 buckets, MPI (Open MPI v4.1.4)".
  std::string description() const;

 private:
  struct Bucket;
  struct Range;
  void add_share(Bucket& bucket, int rank) const;
  void start_buckets();
  void start_bucket(Bucket& bucket);
  void move_on(Bucket& bucket);
  void sum_share(Bucket& bucket) const;
  void begin_return(Bucket& bucket);
  void unpack(Bucket& bucket) const;
  void release(const Bucket& bucket) const;
  void wait_for_start(std::size_t bucket);
  bool travels_in_place(const Bucket& bucket) const;
  std::byte* image(const Bucket& bucket, const Range& range) const;
  Tensor scratch(std::size_t bytes);

  Group& group_;
  ReduceOptions options_;
  std::vector<ReducedTensor> tensors_;
  std::vector<std::size_t> bucket_of_;  ///< By tensor.
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::size_t started_ = 0;     ///< So many buckets have begun to travel.
  std::size_t done_ = 0;        ///< So many, the first ones, are done.
  std::vector<Tensor> unused_;  ///< Scratch of earlier buckets.
  ReduceStatistics statistics_;
  double began_s_ = 0;
  std::unique_ptr<DeviceSums> device_sums_;
  std::vector<DeviceValues> on_device_;
};

}  // namespace assay
