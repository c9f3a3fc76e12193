#include "report/formats.h"

#include "base/json.h"

namespace assay {

std::string json_report(const Document& document) {
  // Names of files and models may hold bytes that are not UTF-8; they are replaced, not fatal.
  return to_json(document).dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace assay
