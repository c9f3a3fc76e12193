#include "report/mode_words.h"

#include <fmt/format.h>

namespace assay {
namespace {

constexpr ModeWords modes[] = {
    {"inference", "", "a whole forward pass", "sequence", "tokens"},
    {"forward", "training: forward", "the forward of a training step", "sequence", "tokens"},
    {"forward-backward", "training: forward-backward", "forward and backward of a training step", "sequence", "tokens"},
    {"step", "training: step", "a whole training step", "sequence", "tokens"},
    {"program", "runs of a program", "one run of the program", "run", "runs"},
    {"phase", "a phase of a program", "one time through the phase", "time", "times"},
};
constexpr ModeWords phase_of_items = {"phase", "a phase of a program", "one time through the phase", "item", "items"};
constexpr ModeWords other_mode = {"", "", "whatever its mode says", "sequence", "tokens"};

}  // namespace

const ModeWords& mode_words(const Record& record) {
  if (record.mode == phase_of_items.mode && record.items) return phase_of_items;
  for (const ModeWords& words : modes) {
    if (record.mode == words.mode) return words;
  }
  return other_mode;
}

std::string with_rates(const char* text, const Records& rows) {
  const std::vector<std::string> rates = distinct(rows, [](const Record& r) { return mode_words(r).rate; });
  return fmt::format(fmt::runtime(text), rates.empty() ? mode_words({}).rate : joined(rates));
}

std::string mode_title(const Record& record) {
  const ModeWords& words = mode_words(record);
  std::string title = *words.mode ? words.title : "mode " + record.mode;
  const auto add = [&](const std::string& text) { title += (title.empty() ? "" : ", ") + text; };
  if (record.recompute != "none") add("recompute " + record.recompute);
  return title;
}

}  // namespace assay
