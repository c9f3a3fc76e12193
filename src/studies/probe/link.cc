#include "studies/probe/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "studies/shared/rank_place.h"
#include "training/reducer.h"

namespace assay {
namespace {

constexpr int warm_rounds = 5;
constexpr int counted_rounds = 40;
constexpr std::int64_t small_bytes = 8;

/// One exchange in which every rank sends so many bytes to every other; seconds on this rank.
double exchange_s(Group& group, std::int64_t bytes, std::vector<std::byte>& sent, std::vector<std::byte>& received) {
  const auto size = static_cast<std::size_t>(bytes);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == group.rank()) continue;
    const std::size_t place = in.size() * size;
    out.push_back({rank, std::span(sent).subspan(place, size)});
    in.push_back({rank, std::span(received).subspan(place, size)});
  }
  barrier(group);
  const double begin = now_s();
  finish(*group.begin(0, out, in));
  return now_s() - begin;
}

LinkFigure link_figure_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {median(values), median_interval(values)};
}

Table::Cell link_cell_of(const LinkFigure& figure) {
  if (!figure.interval) return figure.value;
  return Estimate{figure.value, figure.interval->low, figure.interval->high};
}

int count_machines(Group& group) {
  const std::vector<std::string> systems = all_gather(group, this_place().system);
  return static_cast<int>(std::set(systems.begin(), systems.end()).size());
}

}  // namespace

Link measure_link(Group& group) {
  Link link{.ranks = group.size(),
            .machines = count_machines(group),
            .transport = group.transport(),
            .small_bytes = small_bytes,
            .large_bytes = ReduceOptions{}.bucket_bytes / group.size(),
            .rounds = counted_rounds};
  const auto others = static_cast<double>(group.size() - 1);
  const std::size_t all_bytes = static_cast<std::size_t>(link.large_bytes) * static_cast<std::size_t>(group.size() - 1);
  std::vector<std::byte> sent(all_bytes, std::byte{1});
  std::vector<std::byte> received(all_bytes);
  std::vector<double> latency_us;
  std::vector<double> bandwidth_gb_s;
  for (int round = -warm_rounds; round < counted_rounds; ++round) {
    const double small_s = std::ranges::max(all_gather_values(group, exchange_s(group, small_bytes, sent, received)));
    const double large_s =
        std::ranges::max(all_gather_values(group, exchange_s(group, link.large_bytes, sent, received)));
    if (round < 0) continue;
    latency_us.push_back(small_s / others * 1e6);
    bandwidth_gb_s.push_back(others * static_cast<double>(link.large_bytes) / large_s * 1e-9);
  }
  link.latency_us = link_figure_of(latency_us);
  link.bandwidth_gb_s = link_figure_of(bandwidth_gb_s);
  return link;
}

void add_link(const Link& link, Document& document) {
  Table facts{.key = "link", .caption = "Exchange between ranks", .form = Table::Form::facts};
  add_fact(facts, {.key = "ranks"}, std::int64_t{link.ranks});
  add_fact(facts, {.key = "machines"}, std::int64_t{link.machines});
  add_fact(facts, {.key = "transport"}, link.transport);
  add_fact(facts,
           {.key = "latency_us",
            .title = "latency of a message",
            .unit = "us",
            .more_keys = {"latency_us_low", "latency_us_high"}},
           link_cell_of(link.latency_us));
  add_fact(facts,
           {.key = "bandwidth_gb_s",
            .title = "bandwidth a rank sends with",
            .unit = "GB/s",
            .more_keys = {"bandwidth_gb_s_low", "bandwidth_gb_s_high"}},
           link_cell_of(link.bandwidth_gb_s));
  add_fact(facts, {.key = "small_bytes", .title = "small message", .unit = "bytes", .notation = Notation::bytes},
           link.small_bytes);
  add_fact(facts, {.key = "large_bytes", .title = "large message", .unit = "bytes", .notation = Notation::bytes},
           link.large_bytes);
  add_fact(facts, {.key = "rounds"}, std::int64_t{link.rounds});
  document.tables.push_back(std::move(facts));
  document.sentences.push_back(
      {.key = "link_notes",
       .texts = {fmt::format("For assay memory --ranks between such ranks: --bandwidth {} --latency-us {}.",
                             format_significant(link.bandwidth_gb_s.value), format_significant(link.latency_us.value))},
       .title = "Exchange between ranks"});
}

}  // namespace assay
