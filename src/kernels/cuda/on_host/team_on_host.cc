#include "kernels/cuda/on_host/team_on_host.h"

#include <ucontext.h>

#include <array>
#include <memory>
#include <vector>

#include "base/error.h"

namespace assay::cuda_on_host {
namespace {

constexpr std::size_t stack_bytes = std::size_t{64} * 1024;

/// Where to go on, as the compiler's own setjmp keeps it: a team changes places millions of times in a test, and the
/// library's takes several times as long.
using Place = std::array<void*, 5>;

/// A thread of the team: a place in the code and a stack, which later teams use again. The stack is entered by
/// swapcontext once; from then on jumps are enough, which spare its two system calls.
struct Member {
  std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
  Place place = {};
  bool entered = false;
};

struct RunningTeam {
  std::vector<std::unique_ptr<Member>> members;
  Place caller = {};
  const std::function<void(int)>* body = nullptr;
  int size = 0;
  int turn = 0;  ///< Of this round, in which every member runs to its next wait or its end.
  int current = 0;
  int done = 0;  ///< How many members ended.
  std::array<float, 32> memory = {};
  std::array<std::array<float, most_threads>, 2> passed = {};  ///< By turns: the one before may still be read.
  std::array<std::uint8_t, most_threads> passes = {};          ///< By member: which of both is next.
};

RunningTeam team;
Turns turns = Turns::first_to_last;

Member& current() {
  return *team.members[static_cast<std::size_t>(team.current)];
}

/// Where a member's stack begins: for every team once more.
void run_member() {
  for (;;) {
    (*team.body)(team.current);
    ++team.done;
    wait_for_team();
  }
}

void enter(Member& member) {
  member.entered = true;
  static ucontext_t left;
  ucontext_t first = {};
  ASSAY_ASSERT(getcontext(&first) == 0);
  first.uc_stack.ss_sp = member.stack.get();
  first.uc_stack.ss_size = stack_bytes;
  makecontext(&first, run_member, 0);
  swapcontext(&left, &first);
}

// A function that keeps a place must not be the one that jumps to it.

[[gnu::noinline]] void jump(Place& place) {
  __builtin_longjmp(place.data(), 1);
}

/// Lets the next member go on, or the caller where each has had its turn.
[[gnu::noinline]] void let_next_run() {
  if (++team.turn == team.size) jump(team.caller);
  team.current = static_cast<int>(item_of(team.turn, team.size));
  if (current().entered) jump(current().place);
  enter(current());
}

[[gnu::noinline]] void take_turns() {
  if (__builtin_setjmp(team.caller.data()) != 0) return;
  team.turn = -1;
  let_next_run();
}

}  // namespace

void run_team(int size, const std::function<void(int)>& member) {
  ASSAY_ASSERT(size <= most_threads && team.body == nullptr);
  team.size = size;
  if (size == 1) return member(0);
  while (team.members.size() < static_cast<std::size_t>(size)) team.members.push_back(std::make_unique<Member>());
  team.body = &member;
  team.passes = {};
  team.done = 0;
  while (team.done == 0) take_turns();
  team.body = nullptr;
  if (team.done == size) return;
  team.members.clear();  // Those that wait are lost.
  throw Error(ExitCode::defect, "some of a team's threads ended while others waited for them");
}

void wait_for_team() {
  if (team.size == 1) return;
  if (__builtin_setjmp(current().place.data()) == 0) let_next_run();
}

float* team_memory() {
  return team.memory.data();
}

float exchange_in_team(float value, int rank, int other) {
  std::uint8_t& pass = team.passes[static_cast<std::size_t>(rank)];
  std::array<float, most_threads>& passed = team.passed[pass];
  pass ^= 1;
  passed[static_cast<std::size_t>(rank)] = value;
  wait_for_team();
  return passed[static_cast<std::size_t>(other)];
}

InTurns::InTurns(Turns wanted) {
  turns = wanted;
}
InTurns::~InTurns() {
  turns = Turns::first_to_last;
}

std::int64_t item_of(std::int64_t turn, std::int64_t count) {
  return turns == Turns::first_to_last ? turn : count - 1 - turn;
}

}  // namespace assay::cuda_on_host
