#include <algorithm>
#include <map>
#include <new>

#include "base/error.h"
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

/// One that cannot be read is a failed part of its rank and costs nothing of the others.
GridPart part_that_came(const std::string& text, const std::string& host) {
  GridPart part = measured_or_failed([&] { return grid_part_from(text, host); });
  part.host = host;
  return part;
}

std::string gathered_text(const Json& json, const char* key) {
  return json.at(key).get<std::string>();
}

GridPart grid_part_read(const Json& json, const std::string& source) {
  GridPart part;
  part.shard = gathered_text(json, "shard");
  part.host = gathered_text(json, "host");
  part.code = json.at("code").get<int>();
  part.failure = gathered_text(json, "failure");
  json.at("sentences").get_to(part.sentences);
  part.kept = gathered_text(json, "kept");
  part.more = OrderedJson(json.at("more"));
  if (!json.at("document").is_null()) part.document = document_from_json(json.at("document"), source);
  return part;
}

}  // namespace

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
                                                    places.size(), gathered_text(its, "grid")));
    places.push_back({gathered_text(its, "system"), gathered_text(its, "host")});
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
                      std::vector<GridPart>& parts, InterruptFlag interrupted) {
  const std::vector<int> turns = measuring_turns(places);
  const auto mine = static_cast<std::size_t>(group.rank());
  if (group.rank() == 0) parts.resize(places.size());
  for (int turn = 0; turn <= std::ranges::max(turns); ++turn) {
    std::string text;
    if (turns[mine] == turn) {
      GridPart part = measured_or_failed(measure);
      part.host = places[mine].host;
      if (group.rank() == 0)
        parts.front() = std::move(part);  // Before others are waited for, of whom one may be lost.
      else
        text = to_text(part);
    }
    const std::vector<std::string> came = gather_in_patience(group, text, interrupted);
    for (std::size_t rank = 1; rank < came.size(); ++rank) {
      if (!came[rank].empty()) parts[rank] = part_that_came(came[rank], places[rank].host);
    }
  }
}

}  // namespace assay
