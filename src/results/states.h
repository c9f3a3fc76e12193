#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "statistics/stopped_by.h"

namespace assay {

// The states that a record's parts can be in, and the words that files have for them.

/// What became of a cell of the grid.
enum class Status : std::uint8_t {
  ok,
  oom,          ///< Would not fit into memory: not started, or the system refused it.
  too_slow,     ///< The first run alone took longer than allowed, or its process gave no answer in time.
  unsupported,  ///< This build or machine has no such device or kernel.
  emulated,     ///< Left out: no instruction for this dtype here.
  impossible,   ///< Measured, and beyond what physics allows: the number is wrong.
  interrupted,  ///< Ctrl-C before it had samples.
  crashed,      ///< Its process died; not run in this one.
  not_finite    ///< It ran, and its output holds NaN or infinity: nothing follows from it.
};
std::span<const char* const> names_of(Status tag);

/// Whether it answers what was asked: it was measured, or what measuring it met is known. Else the machine or the build
/// lacks what it needs, or it was not come to.
constexpr bool is_answer(Status status) {
  return status != Status::unsupported && status != Status::emulated && status != Status::interrupted;
}

/// What a sample is.
enum class Mode : std::uint8_t {
  inference,  ///< One forward pass.
  forward,    ///< Of a training step, so much.
  forward_backward,
  step,
  program,  ///< One run of a program that `assay measure` started.
  phase,    ///< One time through a phase that such a program marked.
  prefill,  ///< A prompt read into the cache of a decoder, up to the choice of its next token.
  decode    ///< One token more of every row, its choice included.
};
std::span<const char* const> names_of(Mode tag);
/// Whether it is a training step or a part of one.
constexpr bool is_of_training(Mode mode) {
  return mode == Mode::forward || mode == Mode::forward_backward || mode == Mode::step;
}
/// Whether it is of a model with a cache.
constexpr bool is_of_generation(Mode mode) {
  return mode == Mode::prefill || mode == Mode::decode;
}
/// Whether it is of a program that `assay measure` started.
constexpr bool is_of_program(Mode mode) {
  return mode == Mode::program || mode == Mode::phase;
}

/// The positions of a row that logits are computed of.
enum class LogitsOf : std::uint8_t { all, last, nothing };
std::span<const char* const> names_of(LogitsOf tag);

/// Of what a program of its own does as it likes, nothing is said.
enum class Switch : std::uint8_t { off, on, unknown };
std::span<const char* const> names_of(Switch tag);
constexpr Switch switched(bool is_on) {
  return is_on ? Switch::on : Switch::off;
}

/// When 16-bit copies of f32 weights are made.
enum class CastsMade : std::uint8_t { once, every_call, unknown };
std::span<const char* const> names_of(CastsMade tag);

/// Of the processor, at the start of a pass.
enum class CacheState : std::uint8_t { warm, cold };
std::span<const char* const> names_of(CacheState tag);

/// What the passes of a cell are given.
enum class InputsOf : std::uint8_t {
  random,  ///< Ids of full length without padding.
  data     ///< Batches of rows of the user's data, drawn anew for each round.
};
std::span<const char* const> names_of(InputsOf tag);

/// How rows of data come into batches.
enum class RowOrder : std::uint8_t {
  given,    ///< As they follow one another.
  sorted,   ///< By length, the shortest first.
  bucketed  ///< Rows of about one length together, filled up to the bucket's bound.
};
std::span<const char* const> names_of(RowOrder tag);

/// What the backward computes again.
enum class Recomputed : std::uint8_t { none, attention, block };
std::span<const char* const> names_of(Recomputed tag);

/// How far the figures of a row can be relied upon: `a` the most.
enum class Trust : std::uint8_t { a, b, c, d };
std::span<const char* const> names_of(Trust tag);

/// What names_of() knows: an enumeration from 0 on without a gap.
template <typename State>
concept NamedState = requires(State state) { names_of(state); };

template <NamedState State>
const char* name(State state) {
  return names_of(state)[static_cast<std::size_t>(state)];
}

/// The state of that name.
template <NamedState State>
std::optional<State> state_named(std::string_view text) {
  const auto names = names_of(State{});
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<State>(found - names.begin());
}

/// What became of the quality of a cell.
enum class QualityState : std::uint8_t {
  not_asked,
  scored,            ///< The detail says which of its figures are undefined, and why.
  random_weights,    ///< Scored, but what random weights say of quality is nothing.
  not_scored_yet,    ///< Timed; its turn comes.
  not_run,           ///< Its cell was not.
  not_given,         ///< Scored, and no figure follows.
  nothing_to_score,  ///< No token has a next one.
  no_labels,
  scores,              ///< Of a model of scores: compared as numbers.
  last_position_only,  ///< Nothing can be scored without the others' logits.
  interrupted,
  oom,
  unsupported,
  other  ///< Words of another version.
};

/// What became of its energy.
enum class EnergyState : std::uint8_t {
  no_meter,  ///< The detail says why.
  not_run,   ///< Its cell was not.
  metered    ///< The detail names the meter and what it covers.
};

/// A state and what is to be said of it: in files one text, the state's words and then the detail.
template <typename State>
struct Detailed {
  State state = {};
  std::string detail = {};

  bool operator==(const Detailed&) const = default;
};
using QualityStatus = Detailed<QualityState>;
using EnergyStatus = Detailed<EnergyState>;

std::string to_text(const QualityStatus& status);
std::string to_text(const EnergyStatus& status);
/// The way back. Text that is of no state is a detail of QualityState::other, of EnergyState::metered.
QualityStatus quality_status(std::string_view text);
EnergyStatus energy_status(std::string_view text);

/// Tokens that were scored when an interrupt came, and all that there are.
struct ScoredPart {
  std::int64_t tokens = 0;
  std::int64_t of = 0;
};
QualityStatus interrupted_after(const ScoredPart& part);
/// The way back, from files too; absent for any other status.
std::optional<ScoredPart> scored_part(const QualityStatus& status);
/// "154,240 of 197,913 tokens".
std::string to_text(const ScoredPart& part);

}  // namespace assay
