#pragma once

#include <stdexcept>
#include <string>

#include "base/json.h"
#include "results/figure.h"
#include "results/json_places.h"
#include "results/table.h"

namespace assay {

/// A row as keys and values: what cells hold beside their value has keys of its own.
std::vector<JsonMember> members_of(const Table& table, const std::vector<Table::Cell>& row);

/// Sets what the table holds under its key in `document`.
void put_table(const Table& table, OrderedJson& document);
/// All of the table but what `put_table` writes: caption, columns, and why cells are null.
OrderedJson description_of(const Table& table);
/// The way back from both. Throws an exception of the standard library where a member is missing or of another type.
Table described_table(const Json& description, const Json& document);

OrderedJson to_json(const Figure& figure);
/// Throws as `described_table` does.
Figure figure_from_json(const Json& json);

/// The value of an enumeration by its name.
template <typename T, int kinds>
T value_named(const Json& json, const char* key) {
  const auto& word = json.at(key).get_ref<const std::string&>();
  for (int i = 0; i < kinds; ++i) {
    if (word == name(static_cast<T>(i))) return static_cast<T>(i);
  }
  throw std::invalid_argument("unknown " + std::string(key));
}

}  // namespace assay
