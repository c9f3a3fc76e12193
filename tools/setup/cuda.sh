#!/usr/bin/env bash
# cuda.sh [--own-toolkit]: puts the CUDA 13.0 toolkit with cuDNN into .deps/cuda (1.4 GB) and cudnn_frontend's headers into
# .deps/cudnn_frontend, for `cmake --preset cuda`. No driver is needed to build.
#
# --own-toolkit: the headers alone, where the machine has CUDA 13 and cuDNN 9 of its own.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
source "$root/tools/setup/setup.sh"
mkdir -p "$root/build"
need_build
if [[ ${1:-} != --own-toolkit ]]; then need_cuda; fi
need_wheels cudnn_frontend
