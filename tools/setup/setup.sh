# What `./assay` and `./check` share: installing what is missing, configuring, building. Sourced; $root is the project.
#
# Nothing is touched but apt's own packages, .deps/ and build/. Everything said goes to stderr; the output of the tools
# goes to build/setup.log and is shown when a step fails.

say() { printf 'assay: %s\n' "$*" >&2; }

lacking() {  # what the machine lacks, and what to do
  say "$@"
  exit 3
}

logged_from=1   # the line of build/setup.log at which the last logged command's output begins
logged() {  # COMMAND...
  logged_from=$(($(wc -l 2>/dev/null <"$root/build/setup.log" || echo 0) + 1))
  "$@" >>"$root/build/setup.log" 2>&1 && return
  tail -n "+$logged_from" "$root/build/setup.log" | tail -n 40 >&2
  return 1
}

log_says() { tail -n "+$logged_from" "$root/build/setup.log" | grep -qE "$1"; }   # EXTENDED REGEXP, of the last logged command

# What pip, apt and the C library say where nobody answers.
readonly words_of_no_network='Retrying \(Retry\(|Max retries exceeded|Failed to establish a new connection|Name or service not known|name resolution|ProxyError|ConnectTimeout|Network is unreachable|Connection refused|Temporary failure resolving|Could not resolve|(Could not|Unable to) connect|Cannot initiate the connection'
readonly words_of_full_disk='No space left on device|Errno 28|Disk quota exceeded'

# ---- system packages: from the machine's own release, or not at all ----

missing_packages() {  # GROUP...: the packages of these groups that are not installed
  local wanted group
  wanted=$(for group; do awk -v group="$group" '$1 == group {print $2}' "$root/tools/setup/packages.txt"; done)
  comm -13 <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p' | sort -u) \
    <(sort -u <<<"$wanted")
}

# Where several releases are configured, apt takes the newest version of all: this asks for the own one, with its
# updates. Debian's security and updates suites have codenames of their own, Ubuntu's share one.
own_release=()
find_own_release() {
  local VERSION_CODENAME=none
  eval "$(grep '^VERSION_CODENAME=' /etc/os-release)"
  if ! apt-cache policy | grep "n=$VERSION_CODENAME" >/dev/null; then return; fi
  own_release=("--option=APT::Default-Release=/^$VERSION_CODENAME(|-security|-updates)\$/")
}

# What apt would install from Debian or Ubuntu must be of this release; what comes from elsewhere is the owner's choice.
refuse_other_releases() {  # PACKAGE...
  local ID= VERSION_ID= foreign
  eval "$(grep -E '^(ID|VERSION_ID)=' /etc/os-release)"
  if [[ ! $ID =~ ^(debian|ubuntu)$ || -z $VERSION_ID ]]; then return; fi
  foreign=$(apt-get install --simulate --no-install-recommends "${own_release[@]}" "$@" | grep '^Inst ' |
    grep -E ' (Debian|Ubuntu)[^: ]*:' | grep -vE " (Debian|Ubuntu)[^: ]*:$VERSION_ID[./]" || true)
  if [[ -n $foreign ]]; then lacking "apt would take a package of another release, nothing was installed: ${foreign%%$'\n'*}"; fi
}

run_as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

can_be_root() {
  ((EUID == 0)) && return
  command -v sudo >/dev/null || return 1
  sudo -n true 2>/dev/null && return
  [[ -t 0 && -t 2 && -z ${CI:-} ]] && sudo -v
}

install_packages() {  # PACKAGE...
  command -v apt-get >/dev/null || lacking "no apt-get here; install what corresponds to these Debian packages: $*"
  find_own_release
  can_be_root || lacking "packages are missing; run: sudo apt-get update && sudo apt-get install --no-install-recommends" \
    "${own_release[@]@Q}" "$@"
  say "installing: $*"
  if ! logged run_as_root apt-get update; then say "apt-get update failed; going on with the lists that are here"; fi
  # Without network it warns and succeeds.
  local network="$*"
  if log_says "$words_of_no_network"; then network="$*, and its package archives could not be reached: check the network"; fi
  find_own_release
  refuse_other_releases "$@"
  logged run_as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
    --option=DPkg::Lock::Timeout=300 "${own_release[@]}" "$@" || lacking "apt-get could not install: $network"
}

need_packages() {  # GROUP...
  local missing
  missing=$(missing_packages "$@")
  if [[ -n $missing ]]; then install_packages $missing; fi
}

# ---- wheels: tools/setup/NAME.txt pins them by hash, .deps/NAME is what they unpack to ----

# From / and isolated: no module of the current folder, of PYTHONPATH or of the user's own packages takes pip's place.
isolated() { (cd / && exec "$1" -I "${@:2}"); }   # PYTHON ARGUMENT...

python_with_pip() {
  local python
  for python in $(type -P python3) /usr/bin/python3; do
    [[ $python == /* ]] && isolated "$python" -m pip --version >/dev/null 2>&1 && echo "$python" && return
  done
  lacking "python3 has no pip of the system's or of a virtual environment's; install python3-pip"
}

explain_download() {  # NAME: why pip could not fetch the wheels of tools/setup/NAME.txt; ends
  local pins="tools/setup/$1.txt"
  if log_says "$words_of_full_disk"; then lacking "$root/.deps: the disk is full, $1 could not be downloaded"; fi
  if log_says 'DO NOT MATCH THE HASHES'; then
    lacking "the registry's wheels of $1 have other hashes than $pins pins: none of them was used"
  fi
  if log_says "$words_of_no_network"; then
    lacking "the package registry could not be reached, $1 is missing: check the network, and pip's index and proxy"
  fi
  lacking "pip could not download the wheels of $pins; is its registry within reach?"
}

need_wheels() {  # NAME
  local pins="$root/tools/setup/$1.txt" target="$root/.deps/$1" python work
  cmp -s "$pins" "$target/pins.txt" && return
  say "downloading $1 into .deps/"
  python=$(python_with_pip) || exit
  need_writable "$root/.deps"
  rm -rf "$target".unfinished.*
  work=$(mktemp -d "$target.unfinished.XXXXXX")
  logged isolated "$python" -m pip --no-cache-dir --disable-pip-version-check download --no-deps --only-binary=:all: \
    --require-hashes --dest "$work/wheels" --requirement "$pins" || explain_download "$1"
  logged isolated "$python" "$root/tools/setup/unpack_wheels.py" "$work/wheels" "$work/prefix" ||
    { log_says "$words_of_full_disk" && lacking "$root/.deps: the disk is full"; lacking "$pins: cannot be unpacked"; }
  cp "$pins" "$work/prefix/pins.txt"
  chmod 755 "$work/prefix"
  rm -rf "$target"
  mv "$work/prefix" "$target"
  rm -rf "$work"
}

# ---- oneDNN: the system's where it is new enough, else the wheels ----

readonly oldest_onednn=3.2

is_new_onednn() { [[ -n $1 ]] && dpkg --compare-versions "$1" ge "$oldest_onednn"; }

onednn_of_apt() {  # the version that apt would install, if any
  find_own_release
  apt-cache "${own_release[@]}" policy libdnnl-dev 2>/dev/null | sed -n 's/^ *Candidate: \([0-9].*\)/\1/p'
}

need_onednn() {
  is_new_onednn "$(dpkg-query -W -f='${Version}' libdnnl-dev 2>/dev/null)" && return
  if is_new_onednn "$(onednn_of_apt)"; then
    install_packages libdnnl-dev
  else
    need_wheels onednn
  fi
}

# ---- CUDA, for `cmake --preset cuda` alone ----

need_cuda() {  # the toolkit's wheels; their library folder under the name by which nvcc looks for it, too
  need_wheels cuda
  ln -sfn lib "$root/.deps/cuda/nvidia/cu13/lib64"
}

# ---- what the packages of an older release are too old for ----

readonly oldest_gcc=12 oldest_highway=1.0   # AVX512-FP16; what Debian 12 has

# The system's C++ compiler where it is new enough, else g++-12 beside it (Ubuntu 22.04's is 11). CXX tells CMake.
need_compiler() {
  if [[ -n ${CXX:-} ]]; then return; fi
  if (($(g++ -dumpversion | cut -d. -f1) >= oldest_gcc)); then return; fi
  [[ -n $(command -v g++-$oldest_gcc) ]] || install_packages g++-$oldest_gcc
  export CXX=g++-$oldest_gcc
}

# Ubuntu 22.04 has 0.16; one that its owner built belongs into /usr/local.
need_highway() {
  local version
  version=$(dpkg-query -W -f='${Version}' libhwy-dev)
  if dpkg --compare-versions "$version" ge "$oldest_highway" || [[ -e /usr/local/include/hwy/highway.h ]]; then return; fi
  lacking "libhwy-dev $version is too old; install Highway $oldest_highway or newer (its CMake install) below /usr/local"
}

need_build() {
  need_packages build
  need_highway
  need_onednn
}

# ---- configure and build ----

configure() {  # PRESET [CMAKE OPTION...]: again where the presets changed, or the tree was moved
  local preset=$1 cache="$root/build/$1/CMakeCache.txt"
  if ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache" 2>/dev/null; then rm -rf "$root/build/$preset"; fi
  if (($# == 1)) && [[ "$root/build/$preset/build.ninja" -nt "$root/CMakePresets.json" ]]; then return; fi
  need_compiler
  (cd "$root" && logged cmake --preset "$@")
}

show_progress() {  # on a terminal, one line that counts; elsewhere nothing
  local line
  while IFS= read -r line; do
    if [[ -t 2 && $line == \[*/*\]* ]]; then printf '\r%s %s' "$1" "${line%%]*}]" >&2; fi
  done
  if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
}

need_writable() {  # FOLDER...: makes them
  local folder
  for folder; do
    mkdir -p "$folder" 2>/dev/null && [[ -w $folder ]] && continue
    lacking "$folder: cannot be written, and building needs it; copy the project to where it can be"
  done
}

take_lock() {  # one set-up or check of this folder at a time; the lock goes with file descriptor 9
  if [[ ${ASSAY_LOCKED:-} == "$root" ]]; then return; fi   # ./check, which has started this process, holds it
  need_writable "$root/build"
  exec 9>"$root/build/.lock"
  if flock --nonblock 9; then return; fi
  say "waiting for another ./assay or ./check that builds in this folder"
  flock 9
}

build() {  # PRESET TARGET...
  local log="$root/build/$1/build.log" preset=$1
  shift
  if ! ninja -C "$root/build/$preset" "$@" 2>&1 | tee "$log" | show_progress "assay: building"; then
    grep -vE '^(\[[0-9]+/[0-9]+\]|ninja: )' "$log" | head -n 80 >&2
    return 1
  fi
}
