#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

/// The one place where GPU and host differ. Every kernel of this folder is a struct whose operator() does one item of
/// work (ON_DEVICE); nvcc launches it over a grid, and the host's compiler runs the very same code in loops, with teams
/// whose members take turns, so that the contract suite can check indices, dtypes, formulas and what threads tell one
/// another where no GPU is. ASSAY_ON_GPU: the host's code of a build with CUDA (device.cc, products.cc), which launches
/// nothing itself.
#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/cuda/host/toolkit/gpu.h"
#define ON_DEVICE __host__ __device__
/// Before a loop over packs: what is indexed by a loop's variable lies in registers only where the loop is written out.
#define UNROLLED _Pragma("unroll")
#define ASSAY_CUDA_NAMESPACE cuda
#else
#define ON_DEVICE
#define UNROLLED
#ifdef ASSAY_ON_GPU
#define ASSAY_CUDA_NAMESPACE cuda
#else
#include "kernels/cuda/on_host/team_on_host.h"
#define ASSAY_TEAMS_ON_HOST
#define ASSAY_CUDA_NAMESPACE cuda_on_host
#endif
#endif

namespace assay::ASSAY_CUDA_NAMESPACE {

/// Teams that a launch runs at once at most; each may have its own part of the workspace.
constexpr std::int64_t most_teams = 2048;

/// Sums over rows are taken in so many parts at most, which are then added up, always in the same order.
constexpr std::int64_t most_parts = 128;

#ifndef ASSAY_TEAMS_ON_HOST
constexpr int most_threads = 256;  ///< In a team. Sizes are multiples of 32, but for teams of one on the host.
#endif

/// The threads that work on one row together. Every member of a team calls sum, max and wait alike.
class Team {
 public:
  int rank = 0;            ///< Of this thread, 0 .. size - 1.
  int size = 1;            ///< Threads in the team.
  std::int64_t index = 0;  ///< Of the team among those that run at once.

  // Neither is a wait: memory that others wrote before it need not be seen after it.
  ON_DEVICE float sum(float value) const { return combine(value, Sum{}); }
  ON_DEVICE float max(float value) const { return combine(value, Max{}); }

  /// What others of the team wrote before it can be read after it.
  ON_DEVICE void wait() const {
#ifdef __CUDA_ARCH__
    __syncthreads();
#elif defined(ASSAY_TEAMS_ON_HOST)
    wait_for_team();
#endif
  }

 private:
  struct Sum {
    ON_DEVICE float operator()(float a, float b) const { return a + b; }
  };
  struct Max {
    ON_DEVICE float operator()(float a, float b) const { return a > b ? a : b; }
  };

  /// Within warps first, then over their results in order: every run adds alike.
  template <typename Combine>
  ON_DEVICE float combine(float value, Combine with) const {
    if constexpr (most_threads == 1) return value;
    for (int step = 16; step > 0; step /= 2) value = with(value, of_neighbour(value, step));
    if (size == 32) return value;
    float* of_warps = memory();
    wait();
    if (rank % 32 == 0) of_warps[rank / 32] = value;
    wait();
    float all = of_warps[0];
    for (int warp = 1; warp < size / 32; ++warp) all = with(all, of_warps[warp]);
    return all;
  }

  /// The value of the thread of this warp whose rank differs by that bit.
  ON_DEVICE float of_neighbour(float value, int bit) const {
#ifdef __CUDA_ARCH__
    return __shfl_xor_sync(0xffffffffU, value, bit);
#elif defined(ASSAY_TEAMS_ON_HOST)
    return exchange_in_team(value, rank, rank ^ bit);
#else
    (void)bit;
    return value;
#endif
  }

  /// A float for every warp.
  ON_DEVICE static float* memory() {
#ifdef __CUDA_ARCH__
    __shared__ float of_warps[32];
    return of_warps;
#elif defined(ASSAY_TEAMS_ON_HOST)
    return team_memory();
#else
    return nullptr;
#endif
  }
};

/// Threads in a team whose rows have `width` items.
inline int team_size(std::int64_t width) {
  int threads = most_threads < 32 ? most_threads : 32;
  while (threads < most_threads && threads < width) threads *= 2;
  return threads;
}

/// Whether a launch can carry that body: 4 KB of arguments, copied byte by byte, are what every driver takes.
template <typename Body>
constexpr bool can_be_launched = std::is_trivially_copyable_v<Body> && sizeof(Body) <= 4000;

#ifdef __CUDACC__

template <typename Body>
__global__ void run_elements(Body body, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) body(i);
}

template <typename Body>
__global__ void run_rows(Body body, std::int64_t rows) {
  Team team;
  team.rank = static_cast<int>(threadIdx.x);
  team.size = static_cast<int>(blockDim.x);
  team.index = blockIdx.x;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    body(row, team);
    team.wait();
  }
}

/// body(i) for i in 0 .. count - 1, in any order.
template <typename Body>
void for_elements(std::int64_t count, const Body& body) {
  static_assert(can_be_launched<Body>);
  constexpr int threads = 256;
  constexpr std::int64_t most_blocks = 132 * 32;
  if (count == 0) return;
  const std::int64_t wanted = (count + threads - 1) / threads;
  const auto blocks = static_cast<unsigned>(wanted < most_blocks ? wanted : most_blocks);
  run_elements<<<blocks, threads, 0, stream()>>>(body, count);
  check(cudaGetLastError(), "launching a kernel");
}

/// body(row, team) for every row, with a team as wide as `width` items have use for.
template <typename Body>
void for_rows(std::int64_t rows, std::int64_t width, const Body& body) {
  static_assert(can_be_launched<Body>);
  if (rows == 0) return;
  const auto teams = static_cast<unsigned>(rows < most_teams ? rows : most_teams);
  run_rows<<<teams, team_size(width), 0, stream()>>>(body, rows);
  check(cudaGetLastError(), "launching a kernel");
}

#elif defined(ASSAY_TEAMS_ON_HOST)

template <typename Body>
void for_elements(std::int64_t count, const Body& body) {
  static_assert(can_be_launched<Body>);
  for (std::int64_t turn = 0; turn < count; ++turn) body(item_of(turn, count));
}

/// With fewer teams than rows, as on a GPU, where there are many rows.
template <typename Body>
void for_rows(std::int64_t rows, std::int64_t width, const Body& body) {
  static_assert(can_be_launched<Body>);
  const std::int64_t teams = rows < 4 ? rows : 4;
  const int size = team_size(width);
  for (std::int64_t turn = 0; turn < teams; ++turn) {
    const std::int64_t index = item_of(turn, teams);
    run_team(size, [&](int rank) {
      const Team team{rank, size, index};
      for (std::int64_t row = index; row < rows; row += teams) {
        body(row, team);
        team.wait();
      }
    });
  }
}

#endif

/// What `prepare` answers around plain kernels of ours: f32 arithmetic, whatever is stored.
template <typename Function>
Prepared offer(const char* description, Function function, std::size_t workspace_bytes = 0) {
  Prepared prepared;
  prepared.kernel = make_kernel(std::move(function));
  prepared.description = description;
  prepared.evidence = "f32 arithmetic in CUDA cores";
  prepared.workspace_bytes = workspace_bytes;
  return prepared;
}

/// The same for a matrix product that does not use tensor cores.
template <typename Function>
Prepared offer_product(const char* description, Function function, std::size_t workspace_bytes = 0) {
  Prepared prepared = offer(description, std::move(function), workspace_bytes);
  prepared.arithmetic = Arithmetic::scalar_loops;
  return prepared;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
