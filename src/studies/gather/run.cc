#include <algorithm>
#include <map>
#include <new>

#include "base/error.h"
#include "hardware/host.h"
#include "hardware/system_files.h"
#include "processes/gather.h"
#include "results/document.h"
#include "studies/gather/request.h"

namespace assay {
namespace {

GridPart failed_part(ExitCode code, const std::string& why) {
  return {.code = static_cast<int>(code), .failure = why};
}

/// What it ends in is a part like any other: the ranks go on together.
GridPart measured_or_failed(const std::function<GridPart()>& measure) {
  try {
    return measure();
  } catch (const RankLost&) {
    throw;
  } catch (const Error& error) {
    return failed_part(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return failed_part(ExitCode::lacking, "memory: the system refused an allocation");
  } catch (const std::exception& error) {
    return failed_part(ExitCode::defect, error.what());
  }
}

std::string text_in(const Json& json, const char* key) {
  return json.at(key).get<std::string>();
}

GridPart grid_part_read(const Json& json, const std::string& source) {
  GridPart part;
  part.shard = text_in(json, "shard");
  part.host = text_in(json, "host");
  part.code = json.at("code").get<int>();
  part.failure = text_in(json, "failure");
  json.at("sentences").get_to(part.sentences);
  part.kept = text_in(json, "kept");
  part.more = OrderedJson(json.at("more"));
  if (!json.at("document").is_null()) part.document = document_from_json(json.at("document"), source);
  return part;
}

}  // namespace

RankPlace this_place() {
  const std::string& host = this_host().name;
  return {.system = read_text("/proc/sys/kernel/random/boot_id").value_or(host), .host = host};
}

std::vector<RankPlace> meet_for_grid(Group& group, const std::string& grid) {
  const RankPlace mine = this_place();
  const Json words = {{"system", mine.system}, {"host", mine.host}, {"grid", grid}};
  std::vector<Json> all;
  for (const std::string& text : all_gather(group, words.dump(-1, ' ', false, Json::error_handler_t::replace)))
    all.push_back(Json::parse(text));
  std::vector<RankPlace> places;
  places.reserve(all.size());
  for (const Json& its : all) {
    if (its.at("grid") != all.front().at("grid"))
      throw SharedError(ExitCode::user, fmt::format("rank {}: was asked for another grid than rank 0: {}",
                                                    places.size(), text_in(its, "grid")));
    places.push_back({text_in(its, "system"), text_in(its, "host")});
  }
  return places;
}

std::vector<int> measuring_turns(std::span<const RankPlace> places) {
  std::map<std::string, int> next;
  std::vector<int> turns;
  turns.reserve(places.size());
  for (const RankPlace& place : places) turns.push_back(next[place.system]++);
  return turns;
}

std::string to_text(const GridPart& part) {
  OrderedJson json = {{"shard", part.shard},     {"host", part.host},           {"code", part.code},
                      {"failure", part.failure}, {"sentences", part.sentences}, {"kept", part.kept},
                      {"more", part.more}};
  json["document"] = part.document ? to_json(*part.document) : OrderedJson(nullptr);
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

GridPart grid_part_from(const std::string& text, const std::string& source) {
  const Json json = parse_json(text, source);
  try {
    return grid_part_read(json, source);
  } catch (const Json::exception&) {
    fail_user("{}: what it sent is no part of a grid", source);
  }
}

void measure_in_turns(Group& group, std::span<const RankPlace> places, const std::function<GridPart()>& measure,
                      std::vector<GridPart>& parts) {
  const std::vector<int> turns = measuring_turns(places);
  const auto mine = static_cast<std::size_t>(group.rank());
  if (group.rank() == 0) parts.resize(places.size());
  for (int turn = 0; turn <= std::ranges::max(turns); ++turn) {
    GridPart part;
    if (turns[mine] == turn) part = measured_or_failed(measure);
    part.host = places[mine].host;
    const std::vector<std::string> came = gather_in_patience(group, turns[mine] == turn ? to_text(part) : "");
    for (std::size_t rank = 0; rank < came.size(); ++rank) {
      if (rank == mine && turns[mine] == turn)
        parts[rank] = std::move(part);
      else if (!came[rank].empty())
        parts[rank] = grid_part_from(came[rank], fmt::format("rank {}", rank));
    }
  }
}

}  // namespace assay
