#include <cmath>
#include <stdexcept>

#include "results/table_json.h"

namespace assay {
namespace {

// Members that are empty in most figures stand in JSON where they are not.

void put_text(OrderedJson& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

void put_number(OrderedJson& json, const char* key, const std::optional<double>& number) {
  if (number) json[key] = finite_or_null(*number);
}

double coordinate_from_json(const Json& json) {
  return json.is_null() ? std::nan("") : json.get<double>();
}

std::optional<double> number_if_there(const Json& json, const char* key) {
  return json.contains(key) ? std::optional(coordinate_from_json(json.at(key))) : std::nullopt;
}

OrderedJson axis_json(const Figure::Axis& axis) {
  OrderedJson json = {
      {"title", axis.title}, {"unit", axis.unit}, {"scale", name(axis.scale)}, {"categories", axis.categories}};
  put_number(json, "low", axis.low);
  put_number(json, "high", axis.high);
  return json;
}

Figure::Axis axis_from_json(const Json& json) {
  Figure::Axis axis;
  json.at("title").get_to(axis.title);
  json.at("unit").get_to(axis.unit);
  axis.scale = value_named<Figure::Scale, 2>(json, "scale");
  json.at("categories").get_to(axis.categories);
  axis.low = number_if_there(json, "low");
  axis.high = number_if_there(json, "high");
  return axis;
}

OrderedJson point_json(const Figure::Point& point) {
  OrderedJson json = {{"x", finite_or_null(point.x)}, {"y", finite_or_null(point.y)}};
  put_number(json, "low", point.low);
  put_number(json, "high", point.high);
  put_number(json, "value", point.value);
  put_text(json, "label", point.label);
  put_text(json, "words", point.words);
  if (point.is_hollow) json["is_hollow"] = true;
  if (point.is_faint) json["is_faint"] = true;
  return json;
}

Figure::Point point_from_json(const Json& json) {
  return {.x = coordinate_from_json(json.at("x")),
          .y = coordinate_from_json(json.at("y")),
          .low = number_if_there(json, "low"),
          .high = number_if_there(json, "high"),
          .value = number_if_there(json, "value"),
          .label = json.value("label", ""),
          .words = json.value("words", ""),
          .is_hollow = json.value("is_hollow", false),
          .is_faint = json.value("is_faint", false)};
}

OrderedJson all_series_json(const std::vector<Figure::Series>& all) {
  OrderedJson array = OrderedJson::array();
  for (const Figure::Series& series : all) {
    OrderedJson points = OrderedJson::array();
    for (const Figure::Point& point : series.points) points.push_back(point_json(point));
    OrderedJson json = {{"name", series.name}, {"points", std::move(points)}};
    if (series.mark != Figure::Mark::filled) json["mark"] = name(series.mark);
    array.push_back(std::move(json));
  }
  return array;
}

std::vector<Figure::Series> all_series_from_json(const Json& json) {
  std::vector<Figure::Series> all;
  for (const Json& one : json.get_ref<const Json::array_t&>()) {
    Figure::Series& series = all.emplace_back(Figure::Series{.name = one.at("name").get<std::string>()});
    if (one.contains("mark")) series.mark = value_named<Figure::Mark, figure_marks>(one, "mark");
    for (const Json& point : one.at("points").get_ref<const Json::array_t&>())
      series.points.push_back(point_from_json(point));
  }
  return all;
}

}  // namespace

OrderedJson to_json(const Figure& figure) {
  OrderedJson json = {{"kind", name(figure.kind)},
                      {"key", figure.key},
                      {"caption", figure.caption},
                      {"detail", name(figure.detail)},
                      {"x", axis_json(figure.x)},
                      {"y", axis_json(figure.y)},
                      {"series", all_series_json(figure.series)}};
  put_text(json, "legend", figure.legend);
  put_text(json, "reason", figure.reason);
  if (!figure.references.empty()) json["references"] = all_series_json(figure.references);
  return json;
}

Figure figure_from_json(const Json& json) {
  Figure figure;
  figure.kind = value_named<FigureKind, figure_kinds>(json, "kind");
  json.at("key").get_to(figure.key);
  json.at("caption").get_to(figure.caption);
  figure.legend = json.value("legend", "");
  figure.reason = json.value("reason", "");
  figure.detail = value_named<Detail, static_cast<int>(Detail::data) + 1>(json, "detail");
  figure.x = axis_from_json(json.at("x"));
  figure.y = axis_from_json(json.at("y"));
  figure.series = all_series_from_json(json.at("series"));
  if (json.contains("references")) figure.references = all_series_from_json(json.at("references"));
  return figure;
}

}  // namespace assay
