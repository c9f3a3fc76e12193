#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "generation/session.h"
#include "hardware/machine.h"
#include "program/passes.h"
#include "runtime/testing.h"

namespace {

std::atomic<std::int64_t> made_allocations = 0;

void* counted(std::size_t bytes) {
  ++made_allocations;
  if (void* memory = std::malloc(std::max<std::size_t>(bytes, 1))) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes);
}
void* operator new[](std::size_t bytes) {
  return counted(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace assay {
namespace {

/// Memory is asked for when plans are made, and never for a token: its time is the kernels'.
TEST(Allocations, NoTokenMakesAny) {
  const SmallModel small;
  const MachineFacts facts = read_machine_facts({.max_isa = "", .threads = 2, .root = "/"});
  const CacheSize size = {.capacity = 24, .chunk = 5};
  for (const char* precision : {"fp32", "bf16", "int8", "int8-group", "int4-weights"}) {
    const PrecisionChoice choice = choose_precision(precision, "", DType::bf16);
    const Program program = build_program(small.config, {.logits = LogitRows::last});
    Instance instance(fuse(assign_dtypes(with_cache(program, size), choice)), choice, small.weights, cpu_backend(),
                      facts);
    Session session(instance, {.batch = 2, .capacity = size.capacity});
    NewTokens next = {.seq = 1, .ids = {5, 6}, .mask = {}, .positions = {0, 0}};
    session.run(next);
    const std::int64_t before = made_allocations;
    for (std::int32_t position = 1; position < 6; ++position) {
      std::fill(next.positions.begin(), next.positions.end(), position);
      session.run(next);
    }
    EXPECT_EQ(made_allocations - before, 0) << precision;
  }
}

}  // namespace
}  // namespace assay
