#include "report/mode_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

constexpr ModeWords modes[] = {
    {Mode::inference, "", "a whole forward pass", "sequence", "tokens"},
    {Mode::forward, "training: forward", "the forward of a training step", "sequence", "tokens"},
    {Mode::forward_backward, "training: forward-backward", "forward and backward of a training step", "sequence",
     "tokens"},
    {Mode::step, "training: step", "a whole training step", "sequence", "tokens"},
    {Mode::program, "runs of a program", "one run of the program, from before its start until it had ended", "run",
     "runs"},
    {Mode::phase, "a phase of a program", "one time through the phase", "time", "times"},
};
constexpr ModeWords phase_of_items = {Mode::phase, "a phase of a program", "one time through the phase", "item",
                                      "items"};
}  // namespace

const ModeWords& mode_words(const Record& record) {
  if (record.setting.mode == phase_of_items.mode && record.latency->items) return phase_of_items;
  return *std::find_if(std::begin(modes), std::end(modes),
                       [&](const ModeWords& words) { return words.mode == record.setting.mode; });
}

std::string with_rates(const char* text, const Records& rows) {
  const std::vector<std::string> rates = distinct(rows, [](const Record& r) { return mode_words(r).rate; });
  return fmt::format(fmt::runtime(text), rates.empty() ? mode_words({}).rate : joined(rates));
}

std::string mode_title(const Record& record) {
  const ModeWords& words = mode_words(record);
  std::string title = words.title;
  const auto add = [&](const std::string& text) { title += (title.empty() ? "" : ", ") + text; };
  if (record.setting.recompute != "none") add("recompute " + record.setting.recompute);
  return title;
}

}  // namespace assay
