#!/usr/bin/env bash
# clean_debian.sh RELEASE [COMMAND...]: proves the set-up on a bare Debian (bookworm, trixie): a debootstrap chroot that
# has nothing but apt, a fresh clone of the last commit in it, and COMMAND (./assay --version) run there twice, timed.
# Then it says whether the release changed, which packages came from elsewhere, and what was written outside apt's
# folders and the project; it fails where the first two are not as they must be.
# Needs root and debootstrap. The chroots are kept in $ASSAY_CHROOTS (build/chroots): RELEASE as it was before the run,
# RELEASE-used after it. The machine's own way to the network (resolver, CA bundle, pip's settings) is copied in.
# ASSAY_TEMPTATION=RELEASE adds the suite of another release, as people do who wanted one newer package.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
release=$1
shift
if (($# == 0)); then set -- ./assay --version; fi
chroots=${ASSAY_CHROOTS:-$root/build/chroots}
bare=$chroots/$release
used=$chroots/$release-used

bootstrap() {
  if [[ -d $bare ]]; then return; fi
  mkdir -p "$chroots"
  rm -rf "$bare.unfinished"
  debootstrap --variant=minbase "$release" "$bare.unfinished" >"$chroots/$release.log" 2>&1
  mv "$bare.unfinished" "$bare"
}

# The suites of one release, from the mirror that debootstrap used.
add_updates() {
  local mirror
  mirror=$(awk '$1 == "deb" {print $2; exit}' "$used/etc/apt/sources.list")
  cat >"$used/etc/apt/sources.list" <<SOURCES
deb $mirror $release main
deb $mirror $release-updates main
deb $mirror-security $release-security main
SOURCES
  if [[ -n ${ASSAY_TEMPTATION:-} ]]; then echo "deb $mirror $ASSAY_TEMPTATION main" >>"$used/etc/apt/sources.list"; fi
}

prepare() {
  leave
  rm -rf "$used"
  cp -a "$bare" "$used"
  cp -L /etc/resolv.conf /etc/hosts "$used/etc/"
  if [[ -e /etc/ssl/certs/ca-certificates.crt ]]; then cp -L /etc/ssl/certs/ca-certificates.crt "$used/etc/machine-ca.crt"; fi
  if [[ -e /etc/pip.conf ]]; then sed 's|/etc/ssl/certs/ca-certificates.crt|/etc/machine-ca.crt|' /etc/pip.conf >"$used/etc/pip.conf"; fi
  add_updates
  git clone --quiet "$root" "$used/root/project"
  mount -t proc proc "$used/proc"
  mount --rbind /dev "$used/dev"
  mount --make-rslave "$used/dev"
}

leave() {
  if mountpoint -q "$used/proc"; then umount "$used/proc"; fi
  if mountpoint -q "$used/dev"; then umount -l "$used/dev"; fi
}

run_inside() {  # COMMAND...
  local -a passed_on
  mapfile -t passed_on < <(env | grep -iE '^(https?_proxy|no_proxy|PIP_[A-Z_]*|ASSAY_[A-Z_]*)=' | grep -v '^PIP_\(CERT\|FIND_LINKS\)')
  chroot "$used" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
    PIP_CERT=/etc/machine-ca.crt SSL_CERT_FILE=/etc/machine-ca.crt "${passed_on[@]}" \
    bash -c 'cd /root/project && time "$@"' bash "$@"
}

installed() { chroot "$1" dpkg-query -W -f '${Package} ${Version}\n' | sort; }

# What the run installed or changed and no list of this release has.
packages_from_elsewhere() {
  comm -13 <(installed "$bare") <(installed "$used") |
    comm -23 - <(awk '$1 == "Package:" {name = $2} $1 == "Version:" {print name, $2}' \
      "$used"/var/lib/apt/lists/*_dists_"$release"[_-]*_Packages | sort -u)
}

files_outside_apt() {
  find "$used/usr/local" -type f -printf '%P\n' | sed 's|^|usr/local/|'
  find "$used" -xdev -mindepth 1 \( -path "$used/root/project" -o -path "$used/usr" -o -path "$used/var" -o -path "$used/etc" -o \
    -path "$used/proc" -o -path "$used/dev" \) -prune -o -printf '%P\n'
}

bootstrap
prepare
trap leave EXIT
files_outside_apt | sort >"$chroots/$release.before"
run_inside "$@"
run_inside "$@"
foreign=$(packages_from_elsewhere)
echo "packages installed: $(comm -13 <(installed "$bare") <(installed "$used") | wc -l), from another release: ${foreign:-none}"
echo "written outside apt's folders and the project: $(files_outside_apt | sort | comm -13 "$chroots/$release.before" - | tr '\n' ' ')"
echo "left in the work tree: $(git -C "$used/root/project" status --short | tr '\n' ' ')"
diff "$bare/etc/debian_version" "$used/etc/debian_version" && echo "still Debian $(cat "$used/etc/debian_version")"
[[ -z $foreign ]]
