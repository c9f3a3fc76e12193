#pragma once

#include <cstdint>
#include <functional>

/// Teams of threads where no GPU is: their members take turns on the calling thread, each running up to where it waits
/// for the others. In tests only.
namespace assay::cuda_on_host {

/// Threads in a team at most: two warps, so that there are sums within a warp and between both. The address sanitizer
/// knows only stacks that nobody leaves for another one: where it is on, a team is one thread.
#ifdef ASSAY_ADDRESS_SANITIZER
constexpr int most_threads = 1;
#else
constexpr int most_threads = 64;
#endif

/// Runs member(rank) for ranks 0 .. size - 1 as one team; throws a defect where one ends while others still wait. One
/// team at a time in the process. `member` throws nothing and needs less than 64 KiB of stack.
void run_team(int size, const std::function<void(int rank)>& member);

/// Until every member of the running team has come as far. A team of one waits for nobody.
void wait_for_team();

/// Memory of the running team: a float for each of its at most 32 warps.
float* team_memory();

/// The `value` that member `other` passes in the same call. All of the team waits for it, where a GPU's shuffle orders
/// no memory: what is written before a sum and read by others after it passes here, and is a fault there.
float exchange_in_team(float value, int rank, int other);

/// In which order is gone through what a GPU does at once: elements, teams, and members between two waits. Any order
/// must give the same bits: what reads a value that another thread writes without waiting for it gets the old one in
/// the one order and the new one in the other.
enum class Turns : std::uint8_t { first_to_last, last_to_first };

/// That order until its end, then from the first to the last again.
class InTurns {
 public:
  explicit InTurns(Turns turns);
  ~InTurns();
  InTurns(const InTurns&) = delete;
  InTurns& operator=(const InTurns&) = delete;
};

/// The item that comes `turn`th of `count`.
std::int64_t item_of(std::int64_t turn, std::int64_t count);

}  // namespace assay::cuda_on_host
