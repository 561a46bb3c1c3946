# Tables of ratios between runs in turn; sourced by the scripts beside it. $work: a folder of their own; $shoal: the
# program; $pairs: how many pairs there are.

# note NAME SPEED BASE: a pair's ratio.
note() {
  awk -v name="$1" -v speed="$2" -v base="$3" 'BEGIN { printf "%s %.4f %.1f\n", name, speed / base, speed }' \
    >>"$work/ratios"
}

# The interval of the median: the widest pair of order statistics that leaves at most 2.5 % on each side (binomial).
interval() {
  awk '{ value[NR] = $1 } END {
    for (k = 0; k <= NR; ++k) {
      choose = 1
      for (i = 1; i <= k; ++i) choose *= (NR - i + 1) / i
      tail += choose / 2 ^ NR
      if (tail > 0.025) break
    }
    if (k < 1) k = 1
    printf "%.3f %.3f\n", value[k], value[NR + 1 - k] }'
}

# The same for one layout: median ratio, interval, tokens per second of the median pair.
row() {
  local layout=$1 ratios
  ratios=$(grep "^$layout " "$work/ratios" | sort -k2,2n)
  read -r low high < <(cut -d' ' -f2 <<<"$ratios" | interval)
  awk -v layout="$layout" -v low="$low" -v high="$high" '
    { ratio[NR] = $2; speed[NR] = $3 }
    END { middle = int((NR + 1) / 2)
          printf "| %-15s | %6.3f | %6.3f .. %6.3f | %9.0f |\n", layout, ratio[middle], low, high, speed[middle]
        }' <<<"$ratios"
}

# table TITLE NAME...: the machine, and a row for each name.
table() {
  echo "$1"
  shift
  echo "machine: $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs), $(nproc) cores," \
    "$(awk '/^MemTotal:/ { printf "%d GiB", $2 / 1048576 }' /proc/meminfo), Linux $(uname -r)," \
    "load $(cut -d' ' -f1 /proc/loadavg)"
  echo "kernels: $("$(dirname "$shoal")/shoal-worker" fingerprint)"
  printf '| %-15s | %6s | %16s | %9s |\n' layout median '95 % interval' 'tokens/s'
  echo '|---|---|---|---|'
  local name
  for name in "$@"; do row "$name"; done
}
