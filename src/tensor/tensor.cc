#include "tensor/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#include "base/error.h"

namespace assay {

std::int64_t element_count(const Shape& shape) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) fail_user("shape {}: negative extent", to_string(shape));
    if (extent != 0 && count > most / extent) fail_user("shape {}: more than 2^62 elements", to_string(shape));
    count *= extent;
  }
  return count;
}

std::string to_string(const Shape& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

namespace {

/// Asks for huge pages (2 MiB) for all pages of the memory: large tensors are read and written front to back, several
/// at once, and each page of 4 KiB is a miss of the TLB that halts prefetching. Neighbours share one. A system without
/// huge pages refuses, and nothing is lost.
void ask_for_huge_pages(std::byte* memory, std::size_t bytes) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory) / page * page;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(memory) + bytes + page - 1) / page * page;
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace

AlignedBytes allocate_aligned(std::size_t bytes, std::size_t alignment) {
  constexpr std::size_t large = std::size_t{2} << 20;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded));
  if (memory == nullptr) fail_memory("memory", bytes);
  if (bytes >= large) ask_for_huge_pages(memory, rounded);
  return AlignedBytes(memory);
}

Tensor::Tensor(DType dtype, Shape shape) : view_{dtype, std::move(shape), nullptr} {
  memory_ = allocate_aligned(view_.bytes());
  view_.data = memory_.get();
}

Tensor converted(const TensorView& from, DType dtype) {
  Tensor result(dtype, from.shape);
  convert(from.dtype, from.data, dtype, result.data(), static_cast<std::size_t>(from.count()));
  return result;
}

}  // namespace assay
