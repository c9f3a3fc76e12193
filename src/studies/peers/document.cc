#include "studies/peers/document.h"

#include <string>
#include <vector>

#include "studies/peers/environment.h"
#include "studies/peers/peer_table.h"

namespace assay {
namespace {

using PeerColumn = ColumnOf<Peer>;
using PeerCell = Table::Cell;

PeerCell installed_cell(const Peer& peer, const std::filesystem::path& root) {
  const PeerEnvironment& environment = environment_of(peer);
  if (is_damaged(environment, root)) return std::string("damaged");
  return std::string(is_installed(environment, root) ? "yes" : "no");
}

PeerCell size_cell(const Peer& peer, const std::filesystem::path& root) {
  const std::int64_t bytes = environment_bytes(environment_of(peer), root);
  return bytes > 0 ? PeerCell(bytes) : PeerCell(Absent{"not installed"});
}

/// What its environment finds of another one is not its own.
PeerCell stands_on_cell(const Peer& peer) {
  const char* const base = environment_of(peer).on;
  return base == nullptr ? PeerCell(Absent{}) : PeerCell(std::string(base));
}

std::vector<PeerColumn> peer_columns(const std::filesystem::path& root) {
  return {
      {{.key = "peer", .role = Table::Role::label},
       [](const Peer& peer) -> PeerCell { return std::string(peer.name); }},
      {{.key = "program"}, [](const Peer& peer) -> PeerCell { return std::string(peer.title); }},
      {{.key = "precisions"},
       [](const Peer& peer) { return text_or_absent(peer_precision_names(peer, PeerUse::passes)); }},
      {{.key = "generation", .title = "of generation"},
       [](const Peer& peer) { return text_or_absent(peer_precision_names(peer, PeerUse::generation)); }},
      {{.key = "training", .title = "of training"},
       [](const Peer& peer) { return text_or_absent(peer_precision_names(peer, PeerUse::training)); }},
      {{.key = "installed", .meaning = "whether its environment is there; a damaged one is made anew at its next use"},
       [root](const Peer& peer) { return installed_cell(peer, root); }},
      {{.key = "bytes", .title = "size", .notation = Notation::bytes},
       [root](const Peer& peer) { return size_cell(peer, root); }},
      {{.key = "on", .meaning = "the environment whose packages it finds too"}, stands_on_cell},
      {{.key = "settings", .detail = Detail::details},
       [](const Peer& peer) -> PeerCell { return peer_settings(peer, "", PeerUse::passes); }}};
}

}  // namespace

Document peers_document(const std::filesystem::path& root) {
  const std::filesystem::path folder = peers_folder(root);
  Document document;
  document.tables.push_back(
      filled<Peer>({.key = "peers", .caption = "Programs that bench --peers times, in " + folder.string()},
                   peer_columns(folder), {peers().begin(), peers().end()}));
  return document;
}

}  // namespace assay
