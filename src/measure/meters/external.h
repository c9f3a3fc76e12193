#pragma once

#include <memory>
#include <string>

#include "measure/energy.h"

namespace assay {

/// What the second number of a command's lines is.
enum class MeterUnit : std::uint8_t { by_header, watts, joules };

/// A meter that a command reads: it prints lines of two numbers, `seconds watts` or `seconds joules` (a counter), at a
/// pace of its own until it is ended. Its seconds are of any clock that only goes forward; they are laid onto ours by
/// the line that was delayed least. Which of the two it prints is `unit`, or a first line `# seconds watts` or
/// `# seconds joules`. The shell runs it in a process group of its own, which is killed when the meter goes; its stderr
/// is ours.
///
/// Waits for the first three lines, from which update period and step are taken. Throws a lacking error that names the
/// command where they do not come within `most_s`, where it ends, or prints something else.
std::unique_ptr<EnergyMeter> make_command_meter(const std::string& command, MeterUnit unit, double most_s = 30);

/// Watts in what a power plug answers: `apower` (Shelly, second generation), `meters[].power` or `power` (first
/// generation), `StatusSNS.ENERGY.Power` or `ENERGY.Power` (Tasmota). The figure as it was written, too. Throws a
/// lacking error that names `source` where none is there.
struct PlugReading {
  double watts = 0;
  std::string figure;
};
PlugReading parse_plug(const std::string& body, const std::string& source);

/// A power plug in the local network that answers HTTP GET with JSON; asked five times a second by a thread of its own.
/// Throws a user error for an address that is none, a lacking error that names it where nothing that parse_plug() knows
/// is answered. `watch_s`: how long its figure is watched for changes, which gives the update period; one second where
/// it does not change twice.
std::unique_ptr<EnergyMeter> make_http_meter(const std::string& url, double watch_s = 4);

}  // namespace assay
