#pragma once

#include <string>

#include "kernels/contract.h"

/// Memory of a case's arguments, so guarded that what is read or written beside it shows.
namespace assay::contract {

inline constexpr std::int64_t guard_elements = 64;  ///< Before and behind every buffer.

/// An argument's memory with guards around it; gaps between rows and guards hold guard_byte (as floats: tiny numbers in
/// f32 and bf16, so inputs overwrite them with NaN).
struct GuardedBuffer {
  Tensor memory;
  std::int64_t lead = 0;
  std::int64_t elements = 0;
  std::size_t element_bytes = 1;

  std::byte* data() { return memory.data() + static_cast<std::size_t>(lead) * element_bytes; }
  const std::byte* data() const { return memory.data() + static_cast<std::size_t>(lead) * element_bytes; }
  std::int64_t total() const { return lead + elements + guard_elements; }
};

/// Guards everywhere; what a kernel is to write into.
GuardedBuffer make_buffer(const Argument& argument);

/// Random values in the rows, NaN (floats) in the gaps and guards: whoever reads those shows it in the result.
GuardedBuffer make_input(const Case& one, std::size_t index);

/// The rows of one buffer into another of the same argument, whose gaps and guards stay.
void copy_rows(const Argument& argument, const GuardedBuffer& from, GuardedBuffer& to);

/// Says where something was written outside the rows; "" where nothing was.
std::string check_gaps(const Argument& argument, const GuardedBuffer& buffer);

}  // namespace assay::contract
