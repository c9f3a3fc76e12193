#!/usr/bin/env bash
# readme_commands.sh ROOT: runs every command of README.md's ```sh blocks from the project's root, in order, and prints
# a line for each. Prints "PASSED FAILED SKIPPED" last. A command that must not be run here stands in a block of
# another kind (```console) or is one of `git clone`, `cd` and `./check` (which is what is running). One that takes half
# an hour hangs.
set -uo pipefail
cd "$1" || exit 1
passed=0 failed=0 skipped=0
XDG_DATA_HOME=$(mktemp -d)   # never the store of whoever runs this
export XDG_DATA_HOME
trap 'rm -rf "$XDG_DATA_HOME"' EXIT

commands() {
  awk '/^```sh$/ {inside = 1; next} /^```/ {inside = 0} inside && !/^ *(#|$)/' README.md |
    awk '{if (sub(/\\$/, "")) {held = held $0} else {print held $0; held = ""}}'
}

run_one() {  # COMMAND
  local log start=$SECONDS
  log=$(mktemp)
  if timeout "${ASSAY_README_SECONDS:-1800}" bash -c "$1" </dev/null >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "ok $((SECONDS - start)) s: $1"
  else
    failed=$((failed + 1))
    echo "FAILED: $1"
    tail -n 20 "$log"
  fi
  rm -f "$log"
}

while IFS= read -r command <&3; do
  case $command in
    "git clone"* | "cd "* | ./check*) skipped=$((skipped + 1)) && echo "not run here: $command" ;;
    *) run_one "$command" ;;
  esac
done 3< <(commands)
echo "$passed $failed $skipped"
