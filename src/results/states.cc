#include "results/states.h"

#include <fmt/format.h>

#include <cctype>

#include "base/units.h"

namespace assay {
namespace {

/// How a state begins its text, and what stands before a detail that does not itself begin with a space.
struct StateWords {
  std::string_view words;
  std::string_view separator;
};

// In the order of the states; the last one's text is its detail alone.
constexpr StateWords quality_words[] = {{"not asked", ": "},
                                        {"scored", "; "},
                                        {"random weights", "; "},
                                        {"not scored yet", ""},
                                        {"not run", ": "},
                                        {"not given", ": "},
                                        {"nothing to score", ": "},
                                        {"no labels", ": "},
                                        {"scores compared as numbers", ", "},
                                        {"last position only", ": "},
                                        {"interrupted", ""},
                                        {"oom", ": "},
                                        {"unsupported", ": "},
                                        {"", ""}};
constexpr StateWords energy_words[] = {{"no meter", ": "}, {"not run", ": "}, {"", ""}};

template <typename State>
std::string words_of(std::span<const StateWords> words, const Detailed<State>& status) {
  const StateWords& own = words[static_cast<std::size_t>(status.state)];
  std::string text(own.words);
  if (status.detail.empty()) return text;
  if (!status.detail.starts_with(' ')) text += own.separator;
  return text + status.detail;
}

template <typename State>
Detailed<State> status_of(std::span<const StateWords> words, std::string_view text) {
  const auto own = std::find_if(words.begin(), words.end(), [&](const StateWords& state) {
    const std::string_view rest = text.substr(std::min(text.size(), state.words.size()));
    return text.starts_with(state.words) &&
           (rest.empty() || rest.starts_with(' ') || rest.starts_with(state.separator));
  });
  text.remove_prefix(own->words.size());
  if (text.starts_with(own->separator)) text.remove_prefix(own->separator.size());
  return {static_cast<State>(own - words.begin()), std::string(text)};
}

constexpr std::string_view after = " after ";
constexpr std::string_view of = " of ";

/// The number that the text begins with, its thousands set apart by commas; absent where it is none.
std::optional<std::int64_t> count_at_start(std::string_view text) {
  constexpr std::int64_t most = std::int64_t{1} << 50;
  std::int64_t count = 0;
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == ',') continue;
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) break;
    if (count < most) count = 10 * count + (c - '0');
    ++digits;
  }
  return digits > 0 ? std::optional(count) : std::nullopt;
}

}  // namespace

std::span<const char* const> names_of(Status /*tag*/) {
  static constexpr const char* names[] = {"ok",         "oom",         "too_slow", "unsupported", "emulated",
                                          "impossible", "interrupted", "crashed",  "not finite"};
  return names;
}

std::span<const char* const> names_of(Mode /*tag*/) {
  static constexpr const char* names[] = {"inference", "forward", "forward-backward", "step",
                                          "program",   "phase",   "prefill",          "decode"};
  return names;
}

std::span<const char* const> names_of(LogitsOf /*tag*/) {
  static constexpr const char* names[] = {"all", "last", "-"};
  return names;
}

std::span<const char* const> names_of(Switch /*tag*/) {
  static constexpr const char* names[] = {"off", "on", "-"};
  return names;
}

std::span<const char* const> names_of(CastsMade /*tag*/) {
  static constexpr const char* names[] = {"once", "every-call", "-"};
  return names;
}

std::span<const char* const> names_of(CacheState /*tag*/) {
  static constexpr const char* names[] = {"warm", "cold"};
  return names;
}

std::span<const char* const> names_of(InputsOf /*tag*/) {
  static constexpr const char* names[] = {"random", "data"};
  return names;
}

std::span<const char* const> names_of(RowOrder /*tag*/) {
  static constexpr const char* names[] = {"given", "sorted", "bucketed"};
  return names;
}

std::span<const char* const> names_of(Recomputed /*tag*/) {
  static constexpr const char* names[] = {"none", "attention", "block"};
  return names;
}

std::span<const char* const> names_of(Trust /*tag*/) {
  static constexpr const char* names[] = {"A", "B", "C", "D"};
  return names;
}

std::string to_text(const QualityStatus& status) {
  return words_of(std::span(quality_words), status);
}
std::string to_text(const EnergyStatus& status) {
  return words_of(std::span(energy_words), status);
}
QualityStatus quality_status(std::string_view text) {
  return status_of<QualityState>(quality_words, text);
}
EnergyStatus energy_status(std::string_view text) {
  return status_of<EnergyState>(energy_words, text);
}

std::string to_text(const ScoredPart& part) {
  return fmt::format("{} of {} tokens", format_count(part.tokens), format_count(part.of));
}

QualityStatus interrupted_after(const ScoredPart& part) {
  return {QualityState::interrupted, std::string(after) + to_text(part)};
}

std::optional<ScoredPart> scored_part(const QualityStatus& status) {
  const std::string_view detail = status.detail;
  const std::size_t at = detail.find(of);
  if (status.state != QualityState::interrupted || !detail.starts_with(after) || at == std::string_view::npos)
    return std::nullopt;
  const auto tokens = count_at_start(detail.substr(after.size()));
  const auto all = count_at_start(detail.substr(at + of.size()));
  if (!tokens || !all || *tokens <= 0 || *all <= *tokens) return std::nullopt;
  return ScoredPart{*tokens, *all};
}

}  // namespace assay
