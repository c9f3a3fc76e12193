#define TOML_IMPLEMENTATION
#include "formats/toml.h"
