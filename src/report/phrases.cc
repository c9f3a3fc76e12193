#include "report/phrases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "results/identity.h"

namespace assay {
namespace {

std::string number(double value) {
  const double size = value < 0 ? -value : value;
  if (size >= 1000) return format_count(std::llround(value));
  return fmt::format("{:.3g}", value);
}

}  // namespace

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::vector<std::string> distinct(const Records& records, const std::function<std::string(const Record&)>& text_of) {
  std::vector<std::string> texts;
  for (const Record* record : records) {
    const std::string text = text_of(*record);
    if (!text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  return texts;
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string spread(const Records& records, const std::function<std::optional<double>(const Record&)>& value_of) {
  std::optional<double> low;
  std::optional<double> high;
  for (const Record* record : records) {
    const std::optional<double> value = value_of(*record);
    if (!value) continue;
    low = std::min(low.value_or(*value), *value);
    high = std::max(high.value_or(*value), *value);
  }
  if (!low) return "";
  const std::string from = number(*low);
  const std::string to = number(*high);
  return from == to ? from : from + " to " + to;
}

std::string precisions_where(const Records& records, const std::function<bool(const Record&)>& holds) {
  return joined(distinct(records, [&](const Record& r) { return holds(r) ? row_name(r.setting) : ""; }));
}

}  // namespace assay
