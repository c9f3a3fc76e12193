#pragma once

#include <string_view>

namespace assay {

/// style.css, as it is in the source.
std::string_view report_style();
/// script.js, as it is in the source.
std::string_view report_script();

}  // namespace assay
