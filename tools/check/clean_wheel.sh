#!/usr/bin/env bash
# clean_wheel.sh RELEASE WHEEL: proves a wheel on a bare Debian (bookworm, trixie): a debootstrap chroot with python3 and
# python3-venv and no compiler, the wheel installed into a virtual environment without any network, and there a small
# `assay bench` and the same from Python. Needs root and debootstrap; chroots are kept in $ASSAY_CHROOTS (build/chroots).
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
release=$1
wheel=$(readlink -f "$2")
chroots=${ASSAY_CHROOTS:-$root/build/chroots}
bare=$chroots/$release-python

bootstrap() {
  if [[ -d $bare ]]; then return; fi
  mkdir -p "$chroots"
  rm -rf "$bare.unfinished"
  debootstrap --variant=minbase --include=python3,python3-venv "$release" "$bare.unfinished" \
    >"$chroots/$release-python.log" 2>&1
  mv "$bare.unfinished" "$bare"
}

leave() {
  if mountpoint -q "$bare/proc"; then umount "$bare/proc"; fi
  if mountpoint -q "$bare/dev"; then umount -l "$bare/dev"; fi
}

inside() {  # COMMAND...
  chroot "$bare" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb OMP_WAIT_POLICY=passive "$@"
}

bootstrap
trap leave EXIT
leave
mount -t proc proc "$bare/proc"
mount --rbind /dev "$bare/dev"
mount --make-rslave "$bare/dev"
rm -rf "$bare/root/venv"
cp "$wheel" "$bare/root/"
inside sh -c 'for compiler in cc c++ gcc g++ clang; do if command -v $compiler; then exit 1; fi; done'
inside python3 -m venv /root/venv
inside /root/venv/bin/python -m pip install --quiet --no-index "/root/$(basename "$wheel")"
inside /root/venv/bin/assay --version
inside /root/venv/bin/assay bench gpt2 --precision fp32,int8 --seq 8 --rounds 2 --processes 1 --quality none --store none
inside /root/venv/bin/python - <<'PYTHON'
import assay

how = {"seq": 8, "rounds": 2, "processes": 1, "quality": "none", "store": "none"}
result = assay.bench("gpt2", precision=["fp32", "bf16", "int8"], **how)
for record in result.records:
    print(record.precision, record.status, record.median_ms, {row.operand for row in record.ledger})
try:
    assay.pull("hf:a-model/of-nobody")
except assay.AssayError as error:
    print("pull:", error)
PYTHON
glibc=$(inside ldd --version | head -n 1 | grep -oE '[0-9.]+$')
echo "Debian $(cat "$bare/etc/debian_version"), glibc $glibc: $(basename "$wheel") works"
