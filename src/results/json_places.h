#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace assay {

/// Where a key with dots leads from an object: "growth.cause" to "cause" in the object "growth". A dot within a name is
/// written ~1, a tilde ~0, as JSON pointers do (RFC 6901); `key_part` writes them. What is on the way is made.
OrderedJson& member_at(OrderedJson& object, std::string_view key);
/// The same where numbers count elements of arrays: "tables.0.values". Throws std::out_of_range beyond 100,000
/// elements.
OrderedJson& place_at(OrderedJson& object, std::string_view key);
std::string key_part(std::string_view name);
/// How many names a key has.
std::size_t parts_of(std::string_view key);

/// The keys of the objects that a key with dots leads through: "a", "a.b" of "a.b.c".
std::vector<std::string> keys_above(std::string_view key);

/// A key with its value.
using JsonMember = std::pair<std::string, OrderedJson>;

/// Sets members of one object, given their keys. Where every member of an inner object is null, the object is null.
OrderedJson object_of(const std::vector<JsonMember>& members);
/// The same into an object that may have members already.
void put_members(const std::vector<JsonMember>& members, OrderedJson& object);

/// What stands there, or null where nothing does.
const Json& value_at(const Json& object, std::string_view key);

}  // namespace assay
