#!/usr/bin/env bash
# format.sh: lays out every C++ file of the work tree as ./check wants it, with the pinned clang-format.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd -P)
cd "$root"
source tools/setup/setup.sh
source tools/check/steps.sh
take_lock
need_wheels clang-format
sources | xargs -d '\n' "$clang_format" -i
