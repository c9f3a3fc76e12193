#pragma once

#include <string>
#include <vector>

#include "measure/child.h"
#include "measure/left_behind.h"
#include "results/document.h"
#include "studies/shared/energy_record.h"
#include "studies/shared/surroundings.h"

namespace assay {

/// Which runs' output goes to our stderr; what is kept is shown where a program fails.
enum class ShownOutput : std::uint8_t { first, all, none };

struct MeasureRequest {
  std::vector<ChildCommand> commands;  ///< The first, then those that it is compared with.
  double seconds = 10;                 ///< Budget for each command.
  int rounds = 0;                      ///< Exactly so many rounds; 0: by the stopping rule.
  double width = 0.02;
  std::int64_t seed = 1;
  ShownOutput output = ShownOutput::first;
  Daemons daemons = Daemons::stay;
  std::optional<double> flops;  ///< Operations that one run of the first command is claimed to do.
  std::string claims = "fp32";  ///< In which precision of the table.
  EnergyRequest energy{.meters = {.work = MeteredWork::program}};
};

/// Times whole programs from before their start until they have ended, interleaved round by round as bench does it,
/// with processor time, peak memory, energy and the phases that they mark themselves (measure/markers.h). A record a
/// command, mode "program", then a record a phase of it, mode "phase". `facts` is asked for peaks where flops are
/// claimed, so that the physics gate can judge the claim.
///
/// Throws a user error, with the end of its output on stderr before, where a program cannot be started or fails.
Document measure_programs(const MeasureRequest& request, const FactsSource& facts, const StudyCallbacks& callbacks);

}  // namespace assay
