# For scripts that compare runs on devices of a known pace in the emulator of links: sourced, with $shoal and $emulator.

# paced_run FOLDER LINKS "PACE PACE ..." STEPS OPTION...: trains into FOLDER/run, one node for each pace, and notes the
# CPU time of all its processes. LINKS: commands of the emulator, divided by ";".
paced_run() {
  local folder=$1 links=$2 paces=$3 steps=$4 said=() devices=() command pace began
  shift 4
  mkdir -p "$folder"
  while IFS= read -r command; do [ -z "$command" ] || said+=(--say "$command"); done <<<"${links//;/$'\n'}"
  for pace in $paces; do devices+=(--device "paced:$pace"); done
  began=$(date +%s.%N)
  (
    "$emulator" "${said[@]}" -- "$shoal" train --out "$folder/run" "${devices[@]}" --set optim.schedule=constant \
      --set eval.every=0 --set eval.final_batches=1 --set checkpoint.every=0 --set data.validation_fraction=0.01 \
      --set trace.level=all --set run.steps="$steps" "$@" >"$folder/log" 2>&1 ||
      { echo "bench: the run failed; its output:" >&2; tail -n 5 "$folder/log" >&2; exit 1; }
    times >"$folder/times"
  )
  echo "$(date +%s.%N) $began" | awk '{ print $1 - $2 }' >"$folder/seconds"
}

# median_step FOLDER SKIPPED: of the steps after so many, in ms.
median_step() {
  grep '"step_ms"' "$1/run/metrics.jsonl" | tail -n +$(($2 + 1)) | sed 's/.*"step_ms":\([0-9.]*\).*/\1/' | sort -g |
    awk '{ ms[NR] = $1 } END { print (ms[int((NR + 1) / 2)] + ms[int(NR / 2) + 1]) / 2 }'
}

# duty_of FOLDER: CPU time of the run's processes over the time of all cores, in percent.
duty_of() {
  tail -n 1 "$1/times" | awk -v seconds="$(cat "$1/seconds")" -v cores="$(nproc)" '
    { gsub(/[ms]/, " "); printf "%.0f %%", 100 * ($1 * 60 + $2 + $3 * 60 + $4) / seconds / cores }'
}

ratio() { echo "$1 $2" | awk '{ printf "%.3f", $1 / $2 }'; }

machine_line() {
  echo "machine: $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores," \
    "load $(cut -d' ' -f1 /proc/loadavg)"
}

# field JSON NAME: a number of what `shoal simulate step --json` says.
field() { sed -n "s/^ *\"$2\": *\([0-9.e+-]*\),*\$/\1/p" <<<"$1" | head -n 1; }

# works FOLDER: a line "seconds node microbatch" for each gradient that the last stage computed, ascending by time.
works() {
  "$shoal" trace export "$1/run" --out "$1/trace.json" >/dev/null 2>&1
  awk '
    /"process_name"/ { match($0, /"pid":[0-9]+/); pid = substr($0, RSTART + 6, RLENGTH - 6)
                       match($0, /"args":\{"name":"[^"]*"/); name[pid] = substr($0, RSTART + 16, RLENGTH - 17) }
    /"cat":"work","name":"loss"/ {
      match($0, /"pid":[0-9]+/); pid = substr($0, RSTART + 6, RLENGTH - 6)
      match($0, /"ts":[0-9.]+/); ts = substr($0, RSTART + 5, RLENGTH - 5)
      match($0, /"microbatch":[0-9]+/); print ts / 1e6, pid, substr($0, RSTART + 13, RLENGTH - 13) > works
    }
    END { close(works); while ((getline line < works) > 0) { split(line, part, " ")
            print part[1], name[part[2]], part[3] } }' works="$1/works" "$1/trace.json" | sort -g
}
