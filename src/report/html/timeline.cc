#include "report/html/timeline.h"

#include <fmt/format.h>

#include "base/markup.h"
#include "base/units.h"

namespace assay {

std::string memory_timeline_html(const ReportSubject& subject) {
  const std::string heading = fmt::format("<figure class=\"card full\"><h4>Memory: {}</h4>", markup_text(subject.name));
  return heading + "<p class=\"none\">not recorded: these records hold no bytes of single operations</p></figure>\n";
}

std::string power_html(const ReportSubject& subject) {
  const std::string heading = fmt::format("<figure class=\"card full\"><h4>Power: {}</h4>", markup_text(subject.name));
  std::string rows;
  std::string why = "nothing was measured";
  for (const Record* record : subject.records) {
    if (record->status != Status::ok) continue;
    if (!record->power_w) {
      why = record->energy_status;
      continue;
    }
    const auto watts = [](const std::optional<double>& value) { return value ? format_significant(*value) : "-"; };
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>",
                        markup_text(record->precision), watts(record->power_w), watts(record->idle_power_w),
                        watts(record->power_limit_w), markup_text(record->energy_status));
  }
  if (rows.empty()) return fmt::format("{}<p class=\"none\">{}</p></figure>\n", heading, markup_text(why));
  return fmt::format(
      "{}<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"power\"><table><thead><tr><th scope=\"col\">"
      "precision</th><th scope=\"col\">mean W</th><th scope=\"col\">idle W</th><th scope=\"col\">limit W</th>"
      "<th scope=\"col\">meter</th></tr></thead><tbody>{}</tbody></table></div><figcaption>means over all windows; no "
      "reading within a window is kept</figcaption></figure>\n",
      heading, rows);
}

}  // namespace assay
