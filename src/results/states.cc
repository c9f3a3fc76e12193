#include "results/states.h"

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

}  // namespace

std::span<const char* const> names_of(Status /*tag*/) {
  static constexpr const char* names[] = {"ok",         "oom",         "too_slow", "unsupported", "emulated",
                                          "impossible", "interrupted", "crashed",  "not finite"};
  return names;
}

std::span<const char* const> names_of(Mode /*tag*/) {
  static constexpr const char* names[] = {"inference", "forward", "forward-backward", "step", "program", "phase"};
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

}  // namespace assay
