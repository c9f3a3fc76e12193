#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "report/subject.h"
#include "report/terminal.h"
#include "results/document.h"

namespace assay {

enum class ReportFormat : std::uint8_t { terminal, json, csv, markdown, latex, html };

struct RenderOptions {
  Detail detail = Detail::details;  ///< What people are shown; JSON and CSV have everything.
  TerminalOptions terminal = {};
  std::string title = {};  ///< Heading of a page; empty: the document's own.
};

/// A whole document in one format: title, tables, charts (HTML), sentences, how it was measured; of a document of
/// records alone, the reports over records. Every text is escaped for its format.
std::string render(const Document& document, ReportFormat format, const RenderOptions& options);

/// Documents side by side, each under its label; the JSON of several is a list of them.
std::string render(std::span<const ReportSource> sources, ReportFormat format, const RenderOptions& options);

/// The document's own title, or "smollm2-135m and gpt2: precisions measured".
std::string report_title(std::span<const ReportSource> sources);

// What `render` calls: the tables, charts and sentences of one document, without what pages and papers have around
// them. Each is a file of its own, render_<format>.cc.

std::string terminal_text_of(const Document& document, const RenderOptions& options);
std::string csv_text_of(const Document& document);
std::string markdown_text_of(const Document& document, Detail detail);
std::string latex_text_of(const Document& document, Detail detail);
/// `id`: begins the ids of its elements.
std::string html_of(const Document& document, const std::string& id, Detail detail);

}  // namespace assay
