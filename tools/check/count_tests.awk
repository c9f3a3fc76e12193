# Reads `ctest -V` and prints "PASSED FAILED SKIPPED": the single cases of GoogleTest programs, and 1 for each other
# test. A program that fails without a failing case (a crash, a time-out) is one failure more, and
# so is a run without any test.
{
  id = $1
  sub(":", "", id)
}
/^[0-9]+: \[  PASSED  \] [0-9]+ tests?\.$/ { seen[id] = 1; passed[id] += $5 }
/^[0-9]+: \[  FAILED  \] [0-9]+ tests?, listed below:$/ { seen[id] = 1; failed[id] += $5 }
/^[0-9]+: \[  SKIPPED \] [0-9]+ tests?, listed below:$/ { seen[id] = 1; skipped[id] += $5 }
/^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
  match($0, /#[0-9]+/)
  id = substr($0, RSTART + 1, RLENGTH - 1)
  good = $0 ~ /Passed +[0-9.]+ sec/
  unavailable = $0 ~ /Skipped +[0-9.]+ sec|\*\*\*Skipped/
  if (unavailable) skipped[id] += 1
  else if (!good && failed[id] == 0) failed[id] += 1
  else if (good && !seen[id]) passed[id] += 1
  ids[id] = 1
}
END {
  for (id in ids) {
    p += passed[id]
    f += failed[id]
    s += skipped[id]
  }
  print p + 0, f + (p + f + s == 0), s + 0
}
