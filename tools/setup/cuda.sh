#!/usr/bin/env bash
# cuda.sh: puts the CUDA 13.0 toolkit into .deps/cuda (0.9 GB), for `cmake --preset cuda`. No driver is needed to build.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
source "$root/tools/setup/setup.sh"
mkdir -p "$root/build"
need_build
need_cuda
