#include "text/data_set_name.h"

#include "base/error.h"
#include "base/printable.h"
#include "hub/hub_cache.h"

namespace assay {
namespace {

constexpr std::string_view data_set_prefix = "hf:datasets/";

}  // namespace

std::filesystem::path find_data(const std::filesystem::path& named) {
  const std::string name = named.string();
  if (!is_hub_name(name)) return named;
  if (parse_hub_name(name).kind != HubKind::data_set)
    fail_user("{}: is no data set of the hub; they are hf:datasets/ORG/NAME[@REVISION][:FILE]", printable(name));
  return find_in_hub(name);
}

std::string shown_name(const std::filesystem::path& named) {
  const std::string name = named.string();
  return name.starts_with(data_set_prefix) ? name.substr(data_set_prefix.size()) : named.filename().string();
}

}  // namespace assay
