#!/usr/bin/env bash
# cluster.sh ROOT: runs examples/slurm/grid.sbatch and train.sbatch on a cluster of two nodes that are both this machine, and checks what
# comes of it. Needs root. Debian's slurm-wlm and munge must be installed (./check --cluster does that); munged, slurmctld
# and two slurmd run in a temporary folder, with ports, keys and sockets of their own, and are stopped at the end. No
# service of the machine is started, and nothing under /etc is read or written.
set -euo pipefail
root=$(readlink -f "$1")
if ((EUID != 0)); then echo "slurmd needs root" && exit 77; fi
for program in munged slurmctld slurmd sbatch srun squeue; do
  PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || { echo "there is no $program" && exit 77; }
done
PATH=$PATH:/usr/sbin

work=$(mktemp -d /tmp/assay-cluster-XXXXXX)
chmod 755 "$work"
port=$((20000 + RANDOM % 20000))
declare -a daemons=()
export SLURM_CONF=$work/slurm.conf

leave() {
  local status=$?
  if [[ -e $work/slurmctld.pid ]]; then   # Jobs outlive slurmd.
    squeue --noheader --format=%A 2>/dev/null | xargs --no-run-if-empty scancel 2>/dev/null || true
    for ((i = 0; i < 100; ++i)); do [[ -z $(squeue --noheader 2>/dev/null) ]] && break; sleep 0.1; done
  fi
  for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${daemons[@]}"; do
    for ((i = 0; i < 50; ++i)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -KILL "$pid" 2>/dev/null || true
  done
  if ((status != 0)); then tail -n 15 "$work"/*.log "$work"/*.out 2>/dev/null; fi
  rm -rf "$work"
}
trap leave EXIT

start() {  # LOG COMMAND...: in the foreground of a process of its own, so that its id is known
  local log=$1
  shift
  "$@" >"$work/$log.log" 2>&1 &
  daemons+=($!)
}

configure() {
  cat >"$SLURM_CONF" <<CONF
ClusterName=assay
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
SlurmctldPort=$port
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
SwitchType=switch/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmctldTimeout=30
SlurmdTimeout=30
NodeName=n[1-2] NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE
CONF
}

start_cluster() {
  mkdir "$work/state" "$work/spool-n1" "$work/spool-n2"
  dd if=/dev/urandom of="$work/munge.key" bs=128 count=1 status=none
  chmod 600 "$work/munge.key"
  start munged munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.socket" \
    --pid-file="$work/munge.pid" --log-file="$work/munge.own.log" --seed-file="$work/munge.seed" --num-threads=2
  for ((i = 0; i < 100; ++i)); do [[ -S $work/munge.socket ]] && break; sleep 0.1; done
  configure
  start slurmctld slurmctld -D
  start slurmd-n1 slurmd -D -N n1
  start slurmd-n2 slurmd -D -N n2
  for ((i = 0; i < 300; ++i)); do
    if (($(sinfo --noheader --Node --states=idle 2>/dev/null | wc -l) == 2)); then return; fi
    sleep 0.2
  done
  echo "the nodes did not come up" && return 1
}

wait_for_jobs() {
  for ((i = 0; i < 1200; ++i)); do
    [[ -z $(squeue --noheader 2>/dev/null) ]] && return
    sleep 0.5
  done
  echo "jobs did not end" && return 1
}

failed=0
passed=0
check() {  # WHAT COMMAND...
  if "${@:2}"; then passed=$((passed + 1)) && echo "ok: $1"; else failed=$((failed + 1)) && echo "FAILED: $1"; fi
}
says() { grep -qF -- "$2" "$1" || { cat "$1" && return 1; }; }           # FILE TEXT
equal() { [[ $1 == "$2" ]] || { echo "'$1' is not '$2'" && return 1; }; } # ONE OTHER
rows() { "$assay" history --store "$1" --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)["records"]
own = [(r["precision"], r["batch"], r["seq"]) for r in rows if not r["compared_only"]]
print(len(rows), len(own), len(set(own)), sorted({r["shard"] for r in rows}))'; }   # STORE

assay=$root/build/release/assay
export ASSAY=$assay XDG_CACHE_HOME=$work/cache XDG_DATA_HOME=$work/data
grid="distilbert-base --precision fp32,bf16,int8-weights --emulated --batch 1,2 --seq 8 --seconds 0.2 --rounds 6 --quality none"
start_cluster
cd "$work"
"$assay" probe >/dev/null   # once, so that tasks of both nodes do not measure it beside one another

echo "== an array of four tasks: more shards than the grid has cells"
GRID=$grid STORES=$work/stores sbatch --wait --array=1-4 --output="$work/array-%a.out" \
  "$root/examples/slurm/grid.sbatch" >/dev/null
wait_for_jobs
check "each task kept a store" equal "$(ls "$work"/stores/*.db | wc -l)" 4

echo "== merged, in any order, twice, one of them at first left out"
"$assay" import "$work"/stores/shard-{4,2,1}.db --store "$work/all.db" >"$work/first.out"
check "the missing shard is named with its command" says "$work/first.out" "missing: shard 3/4 (there is no record of it)"
"$assay" import "$work"/stores/shard-*.db --store "$work/all.db" >"$work/second.out"
check "nothing is missing now" says "$work/second.out" "no part of a divided grid is missing"
"$assay" import "$work"/stores/shard-*.db --store "$work/all.db" >"$work/third.out"
check "twice adds nothing" says "$work/third.out" "0 were new"
check "six rows, each once, and two baselines for comparison" equal "$(rows "$work/all.db")" \
  "8 6 6 ['1/4', '2/4', '3/4', '4/4']"

echo "== a step of two tasks, and every machine"
srun --nodes=2 --ntasks=2 bash -c "$assay bench $grid --shard auto --store $work/step-\$SLURM_PROCID.db" >"$work/step.out" 2>&1
"$assay" import "$work"/step-*.db --store "$work/step.db" >"$work/step-import.out"
check "the step's tasks share the grid" equal "$(rows "$work/step.db")" "6 6 6 ['1/2', '2/2']"
srun --nodes=2 --ntasks=4 --overcommit bash -c "$assay bench $grid --every-machine --store $work/node-\$SLURMD_NODENAME.db" \
  >"$work/every.out" 2>&1
check "one process of each node measured" says "$work/every.out" "the first process of this machine measures"
"$assay" fleet report "$work"/node-*.db --json="$work/fleet.json" >/dev/null
check "two machines of one kind" equal \
  "$(python3 -c 'import json; m = json.load(open("'"$work"'/fleet.json"))["machines"]; print([one["machine"] for one in m], [one["records"] for one in m])')" \
  "['n1', 'n2'] [6, 6]"

echo "== a batch script without srun, with several tasks"
cat >"$work/plain.sbatch" <<SCRIPT
#!/bin/bash
$assay bench $grid --shard auto --store none
SCRIPT
sbatch --wait --nodes=1 --ntasks=2 --overcommit --output="$work/plain.out" "$work/plain.sbatch" >/dev/null || true
check "it is told to use srun" says "$work/plain.out" "start it with srun"

echo "== a training over both nodes"
if command -v mpirun >/dev/null && [[ -e $root/build/release/assay_mpi.so ]]; then
  train() {  # STEPS: in the same folder
    MODEL=cs336-small DATA=$root/README.md OUT=$work/trained STEPS=$1 PRECISION=fp32 \
      MORE="--bytes --batch 4 --seq 16 --set d_model=32,num_layers=1,num_heads=2,d_ff=64" \
      OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_orte_tmpdir_base="$work" \
      sbatch --wait --nodes=2 --ntasks-per-node=1 --output="$work/train-$1.out" "$root/examples/slurm/train.sbatch" >/dev/null || true
  }
  steps() { python3 -c 'import json; print(json.load(open("'"$work"'/trained/training.json"))["steps"])'; }
  train 2
  check "two ranks exchange gradients" says "$work/train-2.out" "direct exchange of f32, f32 sums in rank order"
  check "they have trained two steps" equal "$(steps)" 2
  train 4
  check "submitted again it goes on" equal "$(steps)" 4
else
  echo "skipped: there is no Open MPI, or this build has none"
fi

echo "$passed $failed 0"
((failed == 0))
