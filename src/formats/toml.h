#pragma once

/// toml++ as declarations, which are a tenth of it: toml.cc has the rest, compiled once.
#define TOML_HEADER_ONLY 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
