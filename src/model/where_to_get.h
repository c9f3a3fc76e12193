#pragma once

#include <string>
#include <string_view>

namespace assay {

/// What can be had of a model that is neither here nor in a package: how to fetch its files, the preset of its sizes,
/// the models that packages carry.
std::string where_to_get(std::string_view name);

}  // namespace assay
