#include "report/mode_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

constexpr ModeWords modes[] = {
    {Mode::inference, "a whole forward pass", "sequence", "tokens"},
    {Mode::forward, "the forward of a training step", "sequence", "tokens"},
    {Mode::forward_backward, "forward and backward of a training step", "sequence", "tokens"},
    {Mode::step, "a whole training step", "sequence", "tokens"},
    {Mode::program, "one run of the program, from before its start until it had ended", "run", "runs"},
    {Mode::phase, "one time through the phase", "time", "times"},
    {Mode::prefill, "a prompt, up to the choice of its next token", "sequence", "tokens"},
    {Mode::decode, "one token of every row with its choice, a mean over a round's", "token", "tokens"},
};
constexpr ModeWords phase_of_items = {Mode::phase, "one time through the phase", "item", "items"};
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

}  // namespace assay
