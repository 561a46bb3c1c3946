# For scripts that train on nodes of their own: sourced, with $shoal, $work and $pace set; the run is $work/run.

# steps_of RUN: how many of its steps are recorded.
steps_of() {
  local count
  count=$(grep -c '"step_ms"' "$1/metrics.jsonl" 2>/dev/null) || true
  echo "${count:-0}"
}

# start_spawner OPTION...: in the background, as process $run; returns when nodes can join.
start_spawner() {
  rm -f "$work/over"
  "$shoal" spawner "$@" --out "$work/run" >"$work/run.log" 2>&1 &
  run=$!
  while alive && [ -z "$(address)" ]; do sleep 0.1; done
}
alive() { kill -0 "$run" 2>/dev/null; }
address() { sed -n 's/.*"address": *"\([^"]*\)".*/\1/p' "$work/run/spawner.json" 2>/dev/null || true; }

# start_nodes COUNT OPTION...: node1, node2 and so on. As a service manager would, a keeper that was killed is started
# again, until $work/over is there.
start_nodes() {
  local count=$1 node
  shift
  for ((node = 1; node <= count; ++node)); do keep_node "node$node" "$@" 2>/dev/null & done
}
keep_node() {
  local name=$1
  shift
  while [ ! -e "$work/over" ]; do
    "$shoal" node --join "$(address)" --token "@$work/run/certs/join_token" --name "$name" --device "paced:$pace" "$@" \
      >>"$work/$name.log" 2>&1 && return 0
    sleep 0.3
  done
}
