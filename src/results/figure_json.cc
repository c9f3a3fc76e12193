#include <cmath>
#include <stdexcept>

#include "results/table_json.h"

namespace assay {
namespace {

OrderedJson axis_json(const Figure::Axis& axis) {
  return {{"title", axis.title}, {"unit", axis.unit}, {"scale", name(axis.scale)}, {"categories", axis.categories}};
}

Figure::Axis axis_from_json(const Json& json) {
  Figure::Axis axis;
  json.at("title").get_to(axis.title);
  json.at("unit").get_to(axis.unit);
  axis.scale = value_named<Figure::Scale, 2>(json, "scale");
  json.at("categories").get_to(axis.categories);
  return axis;
}

OrderedJson number_or_null(const std::optional<double>& number) {
  return number ? finite_or_null(*number) : OrderedJson();
}

OrderedJson point_json(const Figure::Point& point) {
  OrderedJson json = {{"x", finite_or_null(point.x)}, {"y", finite_or_null(point.y)}};
  if (point.low) json["low"] = number_or_null(point.low);
  if (point.high) json["high"] = number_or_null(point.high);
  if (point.value) json["value"] = number_or_null(point.value);
  if (!point.label.empty()) json["label"] = point.label;
  return json;
}

double coordinate_from_json(const Json& json) {
  return json.is_null() ? std::nan("") : json.get<double>();
}

std::optional<double> number_if_there(const Json& json, const char* key) {
  return json.contains(key) ? std::optional(coordinate_from_json(json.at(key))) : std::nullopt;
}

Figure::Point point_from_json(const Json& json) {
  return {coordinate_from_json(json.at("x")), coordinate_from_json(json.at("y")), number_if_there(json, "low"),
          number_if_there(json, "high"),      number_if_there(json, "value"),     json.value("label", "")};
}

OrderedJson series_json(const Figure::Series& series) {
  OrderedJson points = OrderedJson::array();
  for (const Figure::Point& point : series.points) points.push_back(point_json(point));
  return {{"name", series.name}, {"points", std::move(points)}};
}

Figure::Series series_from_json(const Json& json) {
  Figure::Series series{json.at("name").get<std::string>(), {}};
  for (const Json& point : json.at("points").get_ref<const Json::array_t&>())
    series.points.push_back(point_from_json(point));
  return series;
}

}  // namespace

OrderedJson to_json(const Figure& figure) {
  OrderedJson all = OrderedJson::array();
  for (const Figure::Series& series : figure.series) all.push_back(series_json(series));
  return {{"kind", name(figure.kind)},     {"key", figure.key},        {"caption", figure.caption},
          {"detail", name(figure.detail)}, {"x", axis_json(figure.x)}, {"y", axis_json(figure.y)},
          {"series", std::move(all)}};
}

Figure figure_from_json(const Json& json) {
  Figure figure;
  figure.kind = value_named<FigureKind, figure_kinds>(json, "kind");
  json.at("key").get_to(figure.key);
  json.at("caption").get_to(figure.caption);
  figure.detail = value_named<Detail, static_cast<int>(Detail::data) + 1>(json, "detail");
  figure.x = axis_from_json(json.at("x"));
  figure.y = axis_from_json(json.at("y"));
  for (const Json& series : json.at("series").get_ref<const Json::array_t&>())
    figure.series.push_back(series_from_json(series));
  return figure;
}

}  // namespace assay
