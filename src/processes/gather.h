#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "processes/group.h"

namespace assay {

/// Waits as finish() does, for what may take hours: looks some fifty times a second, so that whoever measures on this
/// machine meanwhile has it to itself. Throws RankLost, also half a second after `interrupted` is set: a launcher
/// interrupts the ranks that are left when one is lost on another machine, which nothing else tells.
void finish_in_patience(Exchange& exchange, InterruptFlag interrupted = nullptr);

/// On rank 0 what each rank gave, by rank; elsewhere nothing. Every rank returns only when the last one has come, whom
/// the others wait for in patience. Throws RankLost.
std::vector<std::string> gather_in_patience(Group& group, const std::string& mine, InterruptFlag interrupted = nullptr);

/// As agreed(), for what takes long on some ranks while the others have nothing to do: these sleep.
template <typename Action>
void agreed_in_patience(Group& group, const Action& action) {
  std::optional<Error> failure;
  try {
    action();
  } catch (const RankLost&) {
    throw;
  } catch (const Error& error) {
    failure = error;
  }
  gather_in_patience(group, "");
  share_failure(group, failure ? &*failure : nullptr);
}

}  // namespace assay
