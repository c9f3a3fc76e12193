#pragma once

#include <cstdint>
#include <span>

namespace assay {

/// What ended the sampling of a subject.
enum class StoppedBy : std::uint8_t {
  width,        ///< Its interval became as narrow as asked.
  budget,       ///< The time was used up first.
  rounds,       ///< The number of rounds asked was reached.
  interrupted,  ///< Ctrl-C.
  too_slow,     ///< Its first run alone took longer than allowed; it was not sampled.
};
/// The words of files for them, in their order.
inline std::span<const char* const> names_of(StoppedBy /*tag*/) {
  static constexpr const char* names[] = {"width", "budget", "rounds", "interrupted", "too_slow"};
  return names;
}

}  // namespace assay
