#pragma once

#include <span>
#include <string>

#include "report/subject.h"

namespace assay {

struct PageOptions {
  std::string title = "assay";
  std::string command;  ///< How the page was asked for; empty: not said.
  Detail detail = Detail::details;
};

/// The largest page that is made: beyond it samples are thinned, then charts left out, and the page says so.
constexpr std::size_t most_page_bytes = 2'000'000;

/// One self-contained HTML file of all records: no other file, no network, one short script of our own that only sorts
/// tables. What its texts come from may be hostile: everything is escaped, and a content security policy lets no other
/// script run.
std::string html_report(std::span<const ReportSource> sources, const PageOptions& options);

}  // namespace assay
