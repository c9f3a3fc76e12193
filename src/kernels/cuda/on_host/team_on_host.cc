#include "kernels/cuda/on_host/team_on_host.h"

#include <setjmp.h>
#include <ucontext.h>

#include <array>
#include <memory>
#include <vector>

#include "base/error.h"

namespace assay::cuda_on_host {
namespace {

constexpr std::size_t stack_bytes = std::size_t{64} * 1024;

/// A thread of the team: a place in the code and a stack, which later teams use again. The stack is entered by
/// swapcontext once; from then on jumps are enough, which spare its two system calls.
struct Member {
  std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
  jmp_buf place = {};
  bool entered = false;
};

struct RunningTeam {
  std::vector<std::unique_ptr<Member>> members;
  jmp_buf caller = {};
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

/// Lets the next member go on, or the caller where each has had its turn: straight from one to the next, since a test
/// does so millions of times.
void let_next_run() {
  if (++team.turn == team.size) _longjmp(team.caller, 1);
  team.current = static_cast<int>(item_of(team.turn, team.size));
  if (current().entered) _longjmp(current().place, 1);
  enter(current());
}

/// One round.
void take_turns() {
  if (_setjmp(team.caller) != 0) return;
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
  if (_setjmp(current().place) == 0) let_next_run();
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
