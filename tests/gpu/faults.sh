# part_faults, part_injuries and part_runs of `run`, which sources this: what ends on the way, and the bits of the undisturbed run.
#
# Each run is small, exact, and as long as faults-single. Faults come at a step that metrics.jsonl tells, never after a
# while. A row passes where the fault was seen (its event) and the weights at the end are those of faults-single.

fault_steps=60 fault_at=15
[ "$device" != cpu ] || fault_steps=200 fault_at=8
fault_run=("${small[@]}" --device "$device" --set checkpoint.every=10)

has_fault_reference=no
fault_reference() {
  [ $has_fault_reference = no ] || return 0
  has_fault_reference=yes
  train faults-single $fault_steps "${fault_run[@]}" --single
  verdict "train --single, $fault_steps steps" $? "loss $(loss faults-single), weights $(sha faults-single | cut -c1-12)"
}

# reach RUN STEPS PID: returns when the run has committed so many, or its process has ended.
reach() {
  until [ "$(steps_of "$1")" -ge "$2" ] 2>/dev/null; do
    kill -0 "$3" 2>/dev/null || return 1
    sleep 0.02
  done
}
# process_of REGEX: the id of the process whose command line matches.
process_of() {
  local file
  for file in /proc/[0-9]*/cmdline; do
    { tr '\0' ' ' <"$file"; } 2>/dev/null | grep -q "$1" || continue
    file=${file%/cmdline}
    echo "${file#/proc/}"
    return
  done
}

# ended NAME EVENT [WORDS]: the verdict on a disturbed run that has ended; WORDS are said of the event.
ended() {
  local run=faults-$1 event=$2 words=${3:-}
  local ours theirs seen
  ours=$(sha "$run") theirs=$(sha faults-single)
  seen=$(grep "\"event\":\"$event\"" "$run/metrics.jsonl" | grep -c -- "$words")
  [ -n "$ours" ] && [ "$ours" = "$theirs" ] && [ "$seen" -gt 0 ]
  verdict "faults: ${1//-/ }" $? "${ours:0:12}, of single ${theirs:0:12}; $event $seen times"
}

# disturb NAME EVENT COMMAND...: COMMAND RUN is called when the run of two stages has reached its step.
disturb() {
  local run=faults-$1 name=$1 event=$2 pid
  shift 2
  [ "$(left)" -gt 40 ] || { row "faults: ${name//-/ }" skipped "no time left"; return; }
  rm -rf "${out:?}/$run"
  train "$run" $fault_steps "${fault_run[@]}" "${two_stages[@]}" &
  pid=$!
  reach "$run" $fault_at $pid && "$@" "$run" >>"$run.log" 2>&1
  wait $pid
  ended "$name" "$event"
}
kill_worker() { kill -KILL "$(process_of "shoal-worker node --name node2 .*$out/$1/")"; }
kill_actor() { "$here/bin/shoal" kill stage/0/0 --how throw --run "$out/$1"; }
kill_spawner() { kill -KILL "$(grep -o '"pid": [0-9]*' "$1/spawner.json" | cut -d' ' -f2)"; }

part_faults() {
  fault_reference
  beside disturb worker-killed process_lost kill_worker
  beside disturb actor-killed stage_ended kill_actor
  beside disturb spawner-killed resumed kill_spawner
  together
}

part_injuries() {
  [ "$device" != cpu ] || return 0
  fault_reference
  beside injured illegal-address address 'the device failed: CUDA error: an illegal memory access'
  beside injured out-of-memory memory 'no memory left'
  together
  injured hang hang 'the device hangs'  # alone: it keeps the card busy
}

# injured NAME HOW WORDS: the replica of stage 1 injures the device once (runtime/executor/poison_hook.h). Its process
# alone ends, with these words, which `shoal status` has, too; the other goes on.
injured() {
  local run=faults-$1 name=$1 how=$2 words=$3 pid
  [ "$(left)" -gt 40 ] || { row "faults: ${name//-/ }" skipped "no time left"; return; }
  rm -rf "${out:?}/$run"
  SHOAL_POISON=$how:$fault_at/1/1/2 SHOAL_DEVICE_PATIENCE=3 \
    train "$run" $fault_steps "${fault_run[@]}" "${two_stages[@]}" &
  pid=$!
  until grep -q '"event":"rolled_back"' "$run/metrics.jsonl" 2>/dev/null; do
    kill -0 $pid 2>/dev/null || break
    sleep 0.02
  done
  "$here/bin/shoal" status --run "$out/$run" >"$run-status" 2>&1
  wait $pid
  grep -q "$words" "$run-status"
  verdict "status: ${name//-/ }" $? "$(head -n1 "$run-status" | cut -c1-160)"
  [ "$(events_of "$run" process_lost)" = 1 ]
  verdict "one process ended: ${name//-/ }" $? "$(grep -h 'ends with status' "$run"/logs/node*.log | head -n1)"
  ended "$name" stage_ended "$words"
}

# Commands on runs that the device has trained.
part_runs() {
  fault_reference
  head -c 20000 "$out/text" >"$out/short"
  beside evaluated "$device"
  [ "$device" = cpu ] || beside evaluated cpu
  beside sampled
  beside resumed resumed --single
  beside resumed resumed-with-two-stages "${two_stages[@]}"
  together
}

evaluated() {
  [ "$(left)" -gt 40 ] || { row "eval on $1" skipped "no time left"; return; }
  "$here/bin/shoal" eval "$out/faults-single" --data "$out/short" --device "$1" >"$out/eval-$1.log" 2>&1
  verdict "eval on $1" $? "$(grep -m1 loss "$out/eval-$1.log")"
}

sampled() {
  [ "$(left)" -gt 40 ] || { row "sample" skipped "no time left"; return; }
  local number
  for number in 1 2; do
    "$here/bin/shoal" sample "$out/faults-single" --tokens 40 --device "$device" >"sample-$number" 2>"sample-$number.log"
  done
  [ -s sample-1 ] && cmp -s sample-1 sample-2
  verdict "sample, twice the same" $? "$(wc -c <sample-1) bytes"
}

# resumed NAME ARGUMENT...: a run that SIGTERM cuts goes on to its end; a copy goes on for 2 steps on the processor,
# whose bits are others (GUARANTEES.md: a run that a person resumes takes the kernels that it finds).
resumed() {
  local run=faults-$1 name=$1 pid status=0
  shift
  [ "$(left)" -gt 60 ] || { row "faults: ${name//-/ }" skipped "no time left"; return; }
  rm -rf "${out:?}/$run"
  train "$run" $fault_steps "${fault_run[@]}" "$@" &
  pid=$!
  reach "$run" $fault_at $pid
  kill -TERM "$(process_of "^[^ ]*/bin/shoal\(-worker single --run\| train --out\) $out/$run ")"
  wait $pid || status=$?
  rm -rf "${out:?}/$run-on-cpu"
  cp -r "$run" "$run-on-cpu"
  local mode=()
  [ "$1" != --single ] || mode=(--single)
  go_on "$run" --device "$device" "${mode[@]}"
  ended "$name" stopped
  go_on "$run-on-cpu" "${mode[@]}" --device cpu --steps $(($(steps_of "$run-on-cpu") + 2))
  verdict "faults: ${name//-/ }, on cpu" $? "cut with status $status; loss $(loss "$run-on-cpu")"
}
go_on() {
  local run=$1
  shift
  timeout "$(left)" "$here/bin/shoal" train --resume "$out/$run" "$@" 2>>"$out/$run.log" > >(:)
}
