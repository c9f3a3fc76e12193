# The steps of ./check. A step's output goes to build/check/; it is shown where the step fails. A step that counts cases
# of its own prints "PASSED FAILED SKIPPED" as its last line of output, any other is one case.

passed=0
failed=0
skipped=0
readonly clang_format=.deps/clang-format/clang_format/data/bin/clang-format
readonly not_here=77   # a step returns this where it cannot run here; its last line says why

step() {  # NAME FUNCTION [ARGUMENT...]
  local log
  log=$(log_of "${@:2}")
  take_step "$log" "${@:2}"
  tell_step "$1" "$log"
}

log_of() {  # FUNCTION [ARGUMENT...]
  local words=$*
  echo "build/check/${words//[ \/]/-}.log"
}

take_step() {  # LOG FUNCTION [ARGUMENT...]: seconds and exit status go to LOG.end
  local log=$1 status start=$EPOCHREALTIME
  shift
  rm -f "$log.end"
  ("$@") >"$log" 2>&1 </dev/null
  status=$?
  awk "BEGIN {printf \"%.1f %d\n\", $EPOCHREALTIME - $start, $status}" >"$log.end"
}

tell_step() {  # NAME LOG
  local seconds=0 status=1 counts
  read -r seconds status 2>/dev/null <"$2.end"
  counts=$(tail -n 1 "$2" | grep -xE '[0-9]+ [0-9]+ [0-9]+' || true)
  if [[ -z $counts ]]; then
    case $status in
      0) counts="1 0 0" ;;
      "$not_here") counts="0 0 1" ;;
      *) counts="0 1 0" ;;
    esac
  fi
  add_counts $counts
  report_step "$1" "$seconds" "$status" "$2" $counts
}

add_counts() {  # PASSED FAILED SKIPPED
  passed=$((passed + $1))
  failed=$((failed + $2))
  skipped=$((skipped + $3))
}

report_step() {  # NAME SECONDS STATUS LOG PASSED FAILED SKIPPED
  local verdict=ok
  if (($6 > 0)); then verdict=FAILED; elif (($3 == not_here)); then verdict=skipped; fi
  printf '%-8s %7s s  %s: %d passed, %d failed, %d skipped\n' "$verdict" "$2" "$1" "$5" "$6" "$7"
  case $verdict in
    FAILED) tail -n 60 "$4" | sed 's/^/    /' ;;
    skipped) tail -n 1 "$4" | sed 's/^/    /' ;;
  esac
}

finish() {
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  exit $((failed > 0))
}

sources() {  # every C++ file of the working tree
  git ls-files --cached --others --exclude-standard -- '*.h' '*.cc' '*.cu' '*.cuh' |
    while IFS= read -r file; do if [[ -f $file ]]; then echo "$file"; fi; done
}

set_up() {
  set -e
  need_packages build check   # in one go: one apt-get run
  need_build
  need_wheels clang-format
}

check_format() { sources | xargs -d '\n' "$clang_format" --dry-run --Werror; }

build_release() { configure release -DASSAY_TESTS=ON && build release; }

run_tests() {  # PRESET [LABEL]: those that measure when the others have ended
  local log=build/check/ctest-$1-${2:-all}.log when
  : >"$log"
  for when in --exclude-regex --tests-regex; do
    ctest --test-dir "build/$1" ${2:+-L "$2"} $when '_measuring$' -V -j 2 --timeout 900 >>"$log" 2>&1
  done
  grep -E '^ *[0-9]+/[0-9]+ Test|^[0-9]+: (\[  FAILED  \]|.*(: Failure$|ERROR: |runtime error: ))' "$log"
  awk -f tools/check/count_tests.awk "$log"
}

run_all_faults() {
  local log=build/check/all-faults.log
  ASSAY_FAULTS=all ctest --test-dir build/release -R '^test_faults$' -V --timeout 7200 >"$log" 2>&1
  grep -E '^[0-9]+: (\[  FAILED  \]|.*: Failure$)' "$log"
  awk -f tools/check/count_tests.awk "$log"
}

build_sanitized() { configure sanitized && build sanitized "$@"; }

test_python() { ASSAY_BINARY=$PWD/build/release/assay python3 python/tests/run.py; }

fuzz_one() {  # PROGRAM: its seeds, if it has any, are in src/<room>/<name>_seeds/
  local name seeds
  name=$(basename "$1")
  mapfile -t seeds < <(find src -type d -name "${name#fuzz_}_seeds")
  mkdir -p "build/fuzz/corpus/$name" build/fuzz/crashes
  OMP_NUM_THREADS=1 "$1" -max_total_time="${ASSAY_FUZZ_SECONDS:-10}" -timeout=10 -rss_limit_mb=1024 -max_len=16384 \
    -artifact_prefix="build/fuzz/crashes/$name-" "build/fuzz/corpus/$name" "${seeds[@]}" >"build/check/$name.log" 2>&1
}

fuzz_and_say() {  # PROGRAM
  if fuzz_one "$1"; then
    echo "ok $(basename "$1"): $(grep -E '^Done' "build/check/$(basename "$1").log")"
  else
    echo "FAILED $(basename "$1"): $(grep -E 'ERROR|SUMMARY|Test unit written' "build/check/$(basename "$1").log" | head -n 3 | tr '\n' ' ')"
  fi
}

run_fuzzers() {
  local programs verdicts
  programs=$(find build/sanitized/fuzzers -type f -name 'fuzz_*' -perm -u+x 2>/dev/null | sort)
  if [[ -z $programs ]]; then echo "there is no fuzz program" && return 1; fi
  export -f fuzz_one fuzz_and_say
  verdicts=$(xargs -P "$(nproc)" -I{} bash -c 'fuzz_and_say {}' <<<"$programs")
  echo "$verdicts"
  echo "$(grep -c '^ok' <<<"$verdicts") $(grep -c '^FAILED' <<<"$verdicts") 0"
}

# The work tree's changes, then the branch's, newest first; on the main branch itself, those of its last day.
changed_files() {
  local range=(origin/main..HEAD)
  if ! git rev-parse --quiet --verify origin/main >/dev/null || git merge-base --is-ancestor HEAD origin/main; then
    range=("--since=$(($(git log -1 --format=%ct) - 86400))" HEAD)
  fi
  {
    git diff --name-only HEAD
    git ls-files --others --exclude-standard
    git log --format= --name-only "${range[@]}"
  } | grep -E '^(src|tests)/.*\.cc$' | grep -v '_fuzz\.cc$' | awk '!seen[$0]++' |
    while IFS= read -r file; do if [[ -f $file ]]; then echo "$file"; fi; done
}

built_files() {  # of those on stdin: how the others (CUDA's) are compiled nobody knows here
  while IFS= read -r file; do
    if grep -qF "/$file\"" build/debug/compile_commands.json; then echo "$file"; fi
  done
}

tidy_one() {  # FILE DEADLINE
  if ((EPOCHSECONDS >= $2)); then
    echo "not reached: $1"
  elif clang-tidy --quiet -p build/debug --extra-arg=-Wno-unknown-warning-option "$1" >"build/check/tidy-$(tr / - <<<"$1").log" 2>&1; then
    echo "ok $1"
  else
    echo "FAILED $1"
    grep -E 'error:|warning:' "build/check/tidy-$(tr / - <<<"$1").log" | head -n 5
  fi
}

tidy_changed_files() {
  local files verdicts deadline=$((EPOCHSECONDS + ${ASSAY_TIDY_SECONDS:-60}))
  files=$(changed_files)
  if [[ -z $files ]]; then echo "no C++ file changed" && return; fi
  configure debug -DASSAY_TESTS=ON || return   # the preset that compiles each file alone: an entry for each to look up
  files=$(built_files <<<"$files")
  export -f tidy_one
  verdicts=$(xargs -P "$(nproc)" -I{} bash -c "tidy_one {} $deadline" <<<"$files")
  echo "$verdicts"
  echo "$(grep -c '^ok' <<<"$verdicts") $(grep -c '^FAILED' <<<"$verdicts") $(grep -c '^not reached' <<<"$verdicts")"
}

check_package() {  # PRESET: what cpack makes of its program is whole, knows what it needs, and runs where it is unpacked
  local folder=build/check/package file content package
  if ! command -v dpkg-shlibdeps >/dev/null; then echo "dpkg-shlibdeps is not here (apt install dpkg-dev)" && return $not_here; fi
  rm -rf "$folder"
  cpack -G DEB --config "build/$1/CPackConfig.cmake" -B "$PWD/$folder" || return
  package=$(echo "$folder"/assay_*.deb)
  content=$(dpkg-deb -c "$package") || return
  for file in bin/assay share/man/man1/assay-bench.1.gz share/bash-completion/completions/assay \
      share/fish/vendor_completions.d/assay.fish share/zsh/vendor-completions/_assay share/doc/assay/copyright \
      share/doc/assay/licenses/libcli11-dev.txt; do
    if [[ $content != *" ./usr/$file"* ]]; then echo "$package lacks $file" && return 1; fi
  done
  dpkg-deb -f "$package" Depends | grep libc6 || return
  dpkg-deb -x "$package" "$folder/unpacked" && (cd / && "$OLDPWD/$folder/unpacked/usr/bin/assay" --version)
}

# They are ./assay, which would wait for the lock that this process holds.
run_readme_commands() {
  if [[ ! -f README.md ]]; then echo "there is no README.md" && return 1; fi
  ASSAY_LOCKED=$root tools/check/readme_commands.sh "$root"
}
