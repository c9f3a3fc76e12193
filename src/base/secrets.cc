#include "base/secrets.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace assay {
namespace {

constexpr std::string_view hidden = "***";
/// What ends an address in a command line.
constexpr std::string_view ends = " \t\n'\"<>";
/// In names of a query's values: a plug's `password`, `user`, an `api_key`, an `auth` token, a signature.
constexpr std::string_view telling[] = {"user", "pass", "pw", "key", "tok", "auth", "secret", "sig", "cred", "login"};

bool speaks_of_secrets(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::any_of(std::begin(telling), std::end(telling),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

/// "a=1&password=x": the values that are not to be seen are left out.
std::string query_without_secrets(std::string_view query) {
  std::string shown;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find_first_of("&;"));
    const std::size_t equals = pair.find('=');
    const bool hides = equals != std::string_view::npos && speaks_of_secrets(pair.substr(0, equals));
    shown += pair.substr(0, hides ? equals + 1 : pair.size());
    if (hides) shown += hidden;
    query.remove_prefix(pair.size());
    shown += query.substr(0, 1);
    query.remove_prefix(std::min<std::size_t>(1, query.size()));
  }
  return shown;
}

/// What follows "://".
std::string address_without_secrets(std::string_view address) {
  const std::string_view authority = address.substr(0, address.find_first_of("/?#"));
  const std::size_t at = authority.rfind('@');
  std::string shown = at == std::string_view::npos ? "" : std::string(hidden);
  shown += authority.substr(at == std::string_view::npos ? 0 : at);
  const std::string_view rest = address.substr(authority.size());
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
