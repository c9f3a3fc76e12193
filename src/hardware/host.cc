#include "hardware/host.h"

#include <cstdlib>
#include <span>

#include "base/hash.h"
#include "hardware/system_files.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Of the cards that are devices: containers and bridges get addresses drawn anew. Sorted by the cards' names.
std::string card_addresses(const fs::path& root) {
  std::string text;
  for (const fs::path& card : list_folder(root / "sys/class/net")) {
    std::error_code unknown;
    if (!fs::exists(card / "device", unknown)) continue;
    text += read_text(card / "address").value_or("") + "\n";
  }
  return text;
}

/// Images of one machine are copied with its id, and cards may change places: both together tell machines apart.
std::string id_of(const fs::path& root) {
  const std::string own = read_text(root / "etc/machine-id").value_or("");
  const std::string cards = card_addresses(root);
  if (own.empty()) return "";
  const std::string text = "assay host\n" + own + "\n" + cards;
  return sha256_hex(std::as_bytes(std::span(text))).substr(0, 16);
}

}  // namespace

HostFacts read_host(const fs::path& root) {
  HostFacts host{.name = read_text(root / "proc/sys/kernel/hostname").value_or(""), .id = id_of(root)};
  if (host.name.empty()) host.name = read_text(root / "etc/hostname").value_or("");
  const char* node = root == "/" ? std::getenv("SLURMD_NODENAME") : nullptr;
  if (node != nullptr && *node != '\0') host.name = node;
  return host;
}

const HostFacts& this_host() {
  static const HostFacts host = read_host("/");
  return host;
}

}  // namespace assay
