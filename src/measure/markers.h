#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// One time through a phase, on the monotonic clock.
struct PhaseSpan {
  double begin_s = 0;
  double end_s = 0;
  double items = 0;  ///< What the program says it worked on; 0: it did not say.
};

struct MarkedPhase {
  std::string name;
  std::vector<PhaseSpan> spans;
};

/// Bounds on what a program may make this one keep; what is beyond them is counted and dropped.
constexpr std::size_t longest_marker = 4096;
constexpr std::size_t most_phases = 256;
constexpr std::size_t most_spans = 1 << 20;  ///< Of all phases together.
constexpr std::size_t most_open = 64;        ///< Begun and not ended, of one phase.

/// Reads the lines that a program writes about its own phases, one JSON object each:
///
///   {"phase": "forward", "at": "begin", "time": 12.345678, "items": 32}
///
/// `time` is in seconds of CLOCK_MONOTONIC; `items` may stand in either line, or nowhere. Phases may nest, in one
/// another and in themselves. Nothing in a line makes this throw: what breaks the protocol is a fault, of which the
/// first is kept in words.
class MarkerReader {
 public:
  /// Times before `begin_s` are faults.
  explicit MarkerReader(double begin_s) : begin_s_(begin_s) {}

  /// Bytes as they come, in pieces of any length.
  void take(std::string_view bytes);
  /// The program has ended: what it began and did not end is a fault, and so are times after `end_s`.
  void finish(double end_s);

  /// In the order in which they first began; phases without a span are left out by finish().
  const std::vector<MarkedPhase>& phases() const { return phases_; }
  std::int64_t faults() const { return faults_; }
  const std::string& first_fault() const { return first_fault_; }

 private:
  struct Open {
    std::vector<PhaseSpan> begun;
  };
  void take_line(std::string_view line);
  void take_marker(std::string_view line);
  void begin(std::size_t phase, double at_s, double items);
  void end(std::size_t phase, double at_s, double items);
  std::size_t index_of(const std::string& name);
  void fault(const std::string& sentence);

  double begin_s_;
  std::string held_;
  bool is_skipping_ = false;  ///< The rest of a line that is too long.
  std::vector<MarkedPhase> phases_;
  std::vector<Open> open_;  ///< As phases_.
  std::size_t spans_ = 0;
  std::int64_t faults_ = 0;
  std::string first_fault_;
};

}  // namespace assay
