# part_speeds, part_pytorch, part_loss and part_pipelines of `run`, which sources this: GPT-2 124M, and PyTorch beside it on the same card.
#
# 12 layers, 12 heads, width 768, context 1024, GPT-2's vocabulary of 50257, drawn tokens in a shard of llm.c's format.
# A step has `microbatches` of `rows` sequences. Both sides attend by cuDNN where nobody asks for repeating bits.

layers=12 heads=12 width=768 context=1024 vocabulary=50257
large_rows=64 large_microbatches=4 small_rows=4 small_microbatches=8
[ "$device" != cpu ] || layers=4 heads=2 width=64 context=64 large_rows=4 large_microbatches=2 small_microbatches=2

# shard NAME VOCABULARY TOKENS: drawn tokens in NAME.bin, and ranks of a made-up tokenizer of that size in NAME.tiktoken:
# nothing is fetched. Frequencies fall as a text's do. Once for each name.
shard() {
  [ ! -f "$out/$1.tiktoken" ] || return 0
  "$python" - "$out/$1" "$2" "$3" <<'PY'
import base64, sys
import torch

out, vocabulary, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.manual_seed(1)
weights = 1 / (torch.arange(vocabulary, dtype=torch.float64) + 3)
drawn = torch.multinomial(weights, count, replacement=True)
header = torch.zeros(256, dtype=torch.int32)
header[0], header[1], header[2] = 20240520, 1, count
with open(out + ".bin", "wb") as f:
    f.write(header.numpy().tobytes() + drawn.to(torch.uint16).numpy().tobytes())
words = [bytes([i]) for i in range(256)] + [bytes([i // 256, i % 256]) for i in range(vocabulary - 257)]
with open(out + ".tiktoken", "wb") as f:
    for rank, word in enumerate(words):
        f.write(base64.b64encode(word) + b" %d\n" % rank)
PY
}

# speeds NAME ROWS MICROBATCHES ARGUMENT...: tokens per second of a run of the large model.
speeds() {
  local name=$1 rows=$2 microbatches=$3 tokens
  shift 3
  [ "$(left)" -gt 45 ] || { row "speed: $name" skipped "no time left"; return; }
  shard tokens $vocabulary 8000000
  train "speed-$name" 10 --device "$device" --set data.corpus="$out/tokens.bin" \
    --set data.tokenizer="$out/tokens.tiktoken" --set model.layers=$layers --set model.heads=$heads \
    --set model.width=$width --set model.context=$context --set batch.sequences=$((rows * microbatches)) \
    --set batch.microbatch="$rows" "$@"
  tokens=$(speed "speed-$name")
  row "speed: $name" "${tokens:-FAILED}" \
    "tokens/s, ${rows}x$context, MFU $(mfu "speed-$name"), loss $(loss "speed-$name") (speed-$name.log)"
  [ -n "$tokens" ] || failed=1
  memory_of "speed-$name"
}

# pytorch eager|compile PRECISION ROWS MICROBATCHES
pytorch() {
  local name="PyTorch $1 $2 ${3}x$context" answer
  [ "$(left)" -gt 45 ] || { row "speed: $name" skipped "no time left"; return; }
  local loop=("$here/pytorch_loop.py" "$1" "$device" $layers $heads $width $context "$3" "$4" "$2" $vocabulary)
  answer=$(timeout 90 "$python" "${loop[@]}" 2>"$out/pytorch-$1-$2-$3.log" | tail -n1)
  row "speed: $name" "${answer:-none}" "tokens/s, the same model, batch and card"
}

bf16=(--set model.precision=bf16)
part_speeds() {
  speeds large "$large_rows" "$large_microbatches" --single "${bf16[@]}"
  speeds large-exact "$large_rows" "$large_microbatches" --single "${bf16[@]}" --set sync.reduction=exact
  speeds small "$small_rows" "$small_microbatches" --single "${bf16[@]}"
  SHOAL_GRAPHS=1 speeds small-graphs "$small_rows" "$small_microbatches" --single "${bf16[@]}"
  speeds small-fp32 "$small_rows" "$small_microbatches" --single
}

part_pytorch() {
  pytorch compile bf16 "$small_rows" "$small_microbatches"
  pytorch compile bf16 "$large_rows" "$large_microbatches"
  pytorch eager bf16 "$small_rows" "$small_microbatches"
  pytorch eager fp32 "$small_rows" "$small_microbatches"
}

# 200 steps from the same weights over the same windows, of GPT-2 124M's layers over bytes: each step's loss beside that of
# tests/reference/gpt_reference.py, which shares no code with ours, under autocast.
loss_sizes=(--set model.layers=$layers --set model.heads=$heads --set model.width=$width --set model.context=$context
  --set batch.sequences=8 --set batch.microbatch=4 --set optim.lr=3e-4 --set optim.min_lr=3e-5
  --set optim.warmup_steps=20 --set optim.decay_steps=200)
part_loss() {
  local steps=200 precision=bf16
  [ "$device" != cpu ] || steps=20 precision=fp32
  [ "$(left)" -gt 60 ] || { row "loss of $steps steps" skipped "no time left"; return; }
  local of_data=(--set data.corpus="$out/text" --set data.validation_fraction=0.02)
  "$here/bin/shoal" init "${of_data[@]}" "${loss_sizes[@]}" --out "$out/init.safetensors" 2>"$out/loss-init.log"
  "$here/bin/shoal" data order "${of_data[@]}" "${loss_sizes[@]}" --steps $steps >"$out/order" 2>>"$out/loss-init.log"
  cat >"$out/recipe.json" <<JSON
{"model": {"layers": $layers, "heads": $heads, "width": $width, "context": $context},
 "data": {"validation_fraction": 0.02},
 "optim": {"lr": 3e-4, "min_lr": 3e-5, "warmup_steps": 20, "decay_steps": 200, "betas": [0.9, 0.95], "eps": 1e-8,
           "weight_decay": 0.1, "clip_norm": 1.0}}
JSON
  "$python" "$here/gpt_reference.py" --recipe "$out/recipe.json" --init "$out/init.safetensors" --order "$out/order" \
    --text "$out/text" --device "$device" --precision $precision --no-validation >"$out/loss-theirs" 2>"$out/loss-theirs.log"
  train loss-ours $steps --single --device "$device" --set model.precision=$precision "${loss_sizes[@]}"
  sed -n 's/.*"step":\([0-9]*\).*"loss":\([0-9.]*\).*/\1 \2/p' loss-ours/metrics.jsonl >loss-ours.txt
  # Of each step, the distance to its own reference; and, as the control, to the reference of the step before.
  awk -v steps=$steps 'NR == FNR { theirs[$1] = $2; next }
    { apart = $2 / theirs[$1] - 1; apart = apart < 0 ? -apart : apart; if (apart > most) most = apart
      if ($1 > 0) { other = $2 / theirs[$1 - 1] - 1; other = other < 0 ? -other : other; if (other > control) control = other }
      last = $2; count++ }
    END { printf "at most %.3f %% apart, last loss %.4f beside %.4f (a step later: %.2f %%)", 100 * most, last, theirs[steps - 1], 100 * control
          exit !(count == steps && most <= 0.005 && control > 0.005) }' loss-theirs loss-ours.txt >loss-said
  verdict "loss of $steps steps, $precision" $? "$(cat loss-said)"
}

# Credits are as many as one card has memory for.
part_pipelines() {
  speeds large-two-stages "$large_rows" "$large_microbatches" "${bf16[@]}" --set pipeline.stages=2 \
    --set pipeline.credits=2 "${in_one_process[@]}"
  speeds large-two-processes "$large_rows" "$large_microbatches" "${bf16[@]}" --set pipeline.stages=2 \
    --set pipeline.credits=2 --set pipeline.replicas=1
  speeds large-four-stages "$large_rows" "$large_microbatches" "${bf16[@]}" --set pipeline.stages=4 \
    --set pipeline.credits=1 "${in_one_process[@]}"
}
