# part_bits, part_bf16, part_shapes, part_shared, part_graphs, part_nccl and part_rounds of `run`, which sources this: exact runs whose weights must be those of one process, and rounds.
#
# A variant is what a model and its data are; one process alone makes its reference, once, whichever parts want it. Rows
# of a part run beside each other. A row fails where the weights differ, or where a process was lost on the way.

small=(--set model.layers=4 --set model.heads=4 --set model.width=256 --set model.context=256
  --set batch.sequences=16 --set batch.microbatch=4 --set sync.reduction=exact)
[ "$device" != cpu ] || small+=(--set model.width=64 --set model.context=64)
two_stages=(--set pipeline.stages=2 --set pipeline.replicas=1)
two_replicas=(--set pipeline.stages=1 --set pipeline.replicas=2)
in_one_process=(--nodes 1 --set swarm.share_devices=true --set pipeline.replicas=1)

# sets_of VARIANT: what it sets, into `sets`, and how its reference is started, into `reference_is`. A name may end in
# -bf16.
sets_of() {
  sets=() reference_is=(--single)
  case ${1%-bf16} in
    single | bf16) ;;
    dropout) sets=(--set model.dropout=0.1) ;;
    other-seed) sets=(--set run.seed=2) ;;
    llama) sets=(--set model.kind=llama --set model.kv_heads=2) ;;
    odd) sets=(--set data.corpus="$out/odd.bin" --set data.tokenizer="$out/odd.tiktoken") ;;  # 1003: 8 divides it not
    int8) sets=(--set pipeline.activations=int8) reference_is=("${two_stages[@]}") ;;  # a border rounds
    *) echo "run: no variant $1" >&2; exit 2 ;;
  esac
  case $1 in *bf16) sets+=(--set model.precision=bf16) ;; esac
}

# made VARIANT: the run of one process, or of as many stages as round.
made() {
  local name=$1
  sets_of "$name"
  train "bits-$name" 12 "${small[@]}" "${reference_is[@]}" --device "$device" "${sets[@]}"
  verdict "train: $name, the reference" $? "loss $(loss "bits-$name"), weights $(sha "bits-$name" | cut -c1-12)"
}
declare -A has_made=()
# references VARIANT...: makes those that were not made yet.
references() {
  local name
  for name in "$@"; do
    [ -z "${has_made[$name]:-}" ] || continue
    has_made[$name]=yes
    [ "${name%-bf16}" != odd ] || shard odd 1003 200000
    beside made "$name"
  done
  together
}

# bits NAME VARIANT ARGUMENT...: a run whose weights must equal the variant's reference.
bits() {
  local name=$1 reference=$2
  shift 2
  [ "$(left)" -gt 40 ] || { row "bits: $name" skipped "no time left"; return; }
  sets_of "$reference"
  train "bits-$name" 12 "${small[@]}" --device "$device" "${sets[@]}" "$@"
  local ours theirs lost
  ours=$(sha "bits-$name") theirs=$(sha "bits-$reference") lost=$(events_of "bits-$name" process_lost)
  [ -n "$ours" ] && [ "$ours" = "$theirs" ] && [ "${lost:-0}" = 0 ]
  verdict "bits: $name" $? "${ours:0:12}, of $reference ${theirs:0:12}; ${lost:-0} processes lost"
}
with_graphs() { SHOAL_GRAPHS=1 bits "$@"; }

part_bits() {
  references single dropout other-seed
  beside bits again single --single
  beside bits two-stages single "${two_stages[@]}"
  beside bits two-replicas single "${two_replicas[@]}"
  beside bits dropout-two-stages dropout "${two_stages[@]}"
  together
  [ "$(sha bits-other-seed)" != "$(sha bits-single)" ]
  verdict "bits: another seed has others" $? "$(sha bits-other-seed | cut -c1-12)"
}

part_bf16() {
  references bf16 dropout-bf16
  beside bits bf16-again bf16 --single
  beside bits bf16-two-stages bf16 "${two_stages[@]}"
  beside bits bf16-two-replicas bf16 "${two_replicas[@]}"
  beside bits bf16-dropout-two-stages dropout-bf16 "${two_stages[@]}"
  together
}

# Other models: a llama, and a vocabulary that 64 does not divide.
part_shapes() {
  references llama llama-bf16 odd odd-bf16
  beside bits llama-two-stages llama "${two_stages[@]}"
  beside bits llama-two-replicas llama "${two_replicas[@]}"
  beside bits llama-bf16-two-stages llama-bf16 "${two_stages[@]}"
  beside bits odd-two-stages odd "${two_stages[@]}"
  beside bits odd-bf16-two-stages odd-bf16 "${two_stages[@]}"
  together
}

# Several stages on one device, in one process.
part_shared() {
  references single bf16 int8
  beside bits two-stages-in-one-process single --set pipeline.stages=2 "${in_one_process[@]}"
  beside bits four-stages-in-one-process single --set pipeline.stages=4 "${in_one_process[@]}"
  beside bits bf16-four-stages-in-one-process bf16 --set pipeline.stages=4 "${in_one_process[@]}"
  beside bits int8-two-stages-in-one-process int8 --set pipeline.stages=2 "${in_one_process[@]}"
  together
  [ "$(sha bits-int8)" != "$(sha bits-single)" ]
  verdict "bits: rounded borders have others" $? "$(sha bits-int8 | cut -c1-12)"
}

# Recorded passes: alone, and while other threads wait for marks and let go of host memory.
part_graphs() {
  references single
  beside with_graphs graphs single --single
  beside with_graphs graphs-two-processes single "${two_stages[@]}"
  beside with_graphs graphs-two-replicas single "${two_replicas[@]}"
  beside with_graphs graphs-in-one-process single --set pipeline.stages=2 "${in_one_process[@]}"
  together
}

# nccl NAME SENTENCE ARGUMENT...: its bits, and what it says of what makes its sums.
nccl() {
  local name=$1 sentence=$2
  shift 2
  bits "$name" single --set sync.backend=nccl --set sync.private_network=127.0.0.0/8 "$@"
  [ -f "bits-$name.log" ] || return
  grep -q "$sentence" "bits-$name.log"
  verdict "sums: $name" $? "$(grep -o 'sums are made by.*\|sums go over the ring.*' "bits-$name.log" | head -n1)"
}

part_nccl() {
  [ "$device" != cpu ] || return 0
  references single
  beside nccl nccl-one-rank 'sums are made by nccl' --set pipeline.stages=1 --set pipeline.replicas=1
  beside nccl nccl-two-stages 'sums are made by nccl' "${two_stages[@]}"
  beside nccl nccl-shared-gpu 'share one device' "${two_replicas[@]}"
  together
}

# rounds NAME REPLICAS ARGUMENT...: workers that agree every four steps. Members whose outer parameters differ after a
# round are expelled (S-3), which loses a process.
rounds() {
  local run=rounds-$1 replicas=$2 agreed lost
  shift 2
  [ "$(left)" -gt 40 ] || { row "rounds: ${run#rounds-}" skipped "no time left"; return; }
  train "$run" 12 "${small[@]}" --device "$device" --set pipeline.stages=1 --set pipeline.replicas="$replicas" \
    --set sync.mode=diloco --set sync.H=4 "$@"
  agreed=$(events_of "$run" round) lost=$(events_of "$run" process_lost)
  [ -n "$(sha "$run")" ] && [ "${agreed:-0}" -ge 3 ] && [ "${lost:-0}" = 0 ]
  verdict "rounds: ${run#rounds-}" $? "$agreed agreed, ${lost:-0} processes lost, loss $(loss "$run") ($run.log)"
}

# Outer parameters lie on the card, and updates of them are computed there. The two speeds tell what a round takes: a
# worker has one at each step, and none.
part_rounds() {
  beside rounds one 1
  beside rounds one-again 1
  beside rounds one-slower 1 --set sync.outer_lr=0.5
  beside rounds two 2 --set sync.fragments=2
  beside rounds two-eager 2 --set sync.outer_update=eager --set sync.wire=int8
  together
  local ours other
  ours=$(sha rounds-one) other=$(sha rounds-one-slower)
  [ -n "$ours" ] && [ "$ours" = "$(sha rounds-one-again)" ] && [ "$ours" != "$other" ]
  verdict "rounds: repeat their bits" $? "${ours:0:12}, of another outer rate ${other:0:12}"
  local worker=("${bf16[@]}" --set pipeline.stages=1 --set pipeline.replicas=1)
  speeds large-worker "$large_rows" "$large_microbatches" "${worker[@]}"
  speeds large-worker-rounds "$large_rows" "$large_microbatches" "${worker[@]}" --set sync.mode=diloco --set sync.H=1
}
