#include "base/secrets.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::string_view hidden = "***";
/// What ends an address in a command line.
constexpr std::string_view ends = " \t\n'\"<>";
/// "a=1&password=x": which of the values is secret its name does not always say.
std::string query_without_secrets(std::string_view query) {
  std::string shown;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find_first_of("&;"));
    const std::size_t equals = pair.find('=');
    const bool has_value = equals != std::string_view::npos;
    shown += pair.substr(0, has_value ? equals + 1 : pair.size());
    if (has_value) shown += hidden;
    query.remove_prefix(pair.size());
    shown += query.substr(0, 1);
    query.remove_prefix(std::min<std::size_t>(1, query.size()));
  }
  return shown;
}

/// "user:pass" where a host with its port should stand: a password may hold a slash.
bool is_no_host(std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  return colon != std::string_view::npos && authority.find('[') == std::string_view::npos &&
         authority.find_first_not_of("0123456789", colon + 1) != std::string_view::npos;
}

/// What follows "://".
std::string address_without_secrets(std::string_view address) {
  const std::string_view authority = address.substr(0, address.find_first_of("/?#"));
  const std::string_view with_user = is_no_host(authority) ? address : authority;
  const std::size_t at = with_user.rfind('@');
  const bool has_user = at != std::string_view::npos;
  std::string shown = has_user ? std::string(hidden) : "";
  const std::string_view rest = address.substr(has_user ? at : 0);
  const std::size_t query = rest.find('?');
  if (query == std::string_view::npos) return shown + std::string(rest);
  return shown + std::string(rest.substr(0, query + 1)) + query_without_secrets(rest.substr(query + 1));
}

}  // namespace

std::string without_secrets(std::string_view text) {
  constexpr std::string_view mark = "://";
  std::string shown;
  while (true) {
    const std::size_t found = text.find(mark);
    if (found == std::string_view::npos) return shown + std::string(text);
    shown += text.substr(0, found + mark.size());
    text.remove_prefix(found + mark.size());
    const std::string_view address = text.substr(0, text.find_first_of(ends));
    shown += address_without_secrets(address);
    text.remove_prefix(address.size());
  }
}

}  // namespace assay
