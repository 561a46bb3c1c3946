# part_speeds, part_pytorch and part_pipelines of `run`, which sources this: GPT-2 124M, and PyTorch beside it on the same card.
#
# 12 layers, 12 heads, width 768, context 1024, GPT-2's vocabulary of 50257, drawn tokens in a shard of llm.c's format.
# A step has `microbatches` of `rows` sequences. Both sides attend by cuDNN where nobody asks for repeating bits.

layers=12 heads=12 width=768 context=1024 vocabulary=50257
large_rows=64 large_microbatches=4 small_rows=4 small_microbatches=8
[ "$device" != cpu ] || layers=4 heads=2 width=64 context=64 large_rows=4 large_microbatches=2 small_microbatches=2

# A shard, and ranks of a made-up tokenizer of the same size: nothing is fetched. Frequencies fall as a text's do.
has_tokens=no
tokens() {
  [ $has_tokens = no ] || return 0
  has_tokens=yes
  "$python" - "$out" $vocabulary <<'PY'
import base64, sys
import torch

out, vocabulary = sys.argv[1], int(sys.argv[2])
torch.manual_seed(1)
weights = 1 / (torch.arange(vocabulary, dtype=torch.float64) + 3)
count = 8_000_000
drawn = torch.multinomial(weights, count, replacement=True)
header = torch.zeros(256, dtype=torch.int32)
header[0], header[1], header[2] = 20240520, 1, count
with open(out + "/tokens.bin", "wb") as f:
    f.write(header.numpy().tobytes() + drawn.to(torch.uint16).numpy().tobytes())
words = [bytes([i]) for i in range(256)] + [bytes([i // 256, i % 256]) for i in range(vocabulary - 257)]
with open(out + "/ranks.tiktoken", "wb") as f:
    for rank, word in enumerate(words):
        f.write(base64.b64encode(word) + b" %d\n" % rank)
PY
}

# speeds NAME ROWS MICROBATCHES ARGUMENT...: tokens per second of a run of the large model.
speeds() {
  local name=$1 rows=$2 microbatches=$3 tokens
  shift 3
  [ "$(left)" -gt 45 ] || { row "speed: $name" skipped "no time left"; return; }
  tokens
  train "speed-$name" 10 --device "$device" --set data.corpus="$out/tokens.bin" \
    --set data.tokenizer="$out/ranks.tiktoken" --set model.layers=$layers --set model.heads=$heads \
    --set model.width=$width --set model.context=$context --set batch.sequences=$((rows * microbatches)) \
    --set batch.microbatch="$rows" "$@"
  tokens=$(speed "speed-$name")
  row "speed: $name" "${tokens:-FAILED}" "tokens/s, ${rows}x$context, loss $(loss "speed-$name") (speed-$name.log)"
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
  pytorch compile bf16 "$large_rows" "$large_microbatches"
  pytorch compile bf16 "$small_rows" "$small_microbatches"
  pytorch eager bf16 "$small_rows" "$small_microbatches"
  pytorch eager fp32 "$small_rows" "$small_microbatches"
}

part_pipelines() {
  speeds large-two-stages "$large_rows" "$large_microbatches" "${bf16[@]}" --set pipeline.stages=2 \
    "${in_one_process[@]}"
  speeds large-two-processes "$large_rows" "$large_microbatches" "${bf16[@]}" --set pipeline.stages=2 \
    --set pipeline.replicas=1
  speeds large-four-stages "$large_rows" "$large_microbatches" "${bf16[@]}" --set pipeline.stages=4 \
    "${in_one_process[@]}"
}
