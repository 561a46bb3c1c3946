// Options and help of the planning commands.
#include "launch/commands/plan/plan_specs.h"

namespace shoal {
namespace {

constexpr auto kFlag = OptionKind::kFlag;
constexpr auto kValue = OptionKind::kValue;
constexpr auto kRepeated = OptionKind::kRepeated;

const OptionSpec kJson{"--json", kFlag, "", "print JSON"};

}  // namespace

CommandSpec plan() {
  return {
      "plan",
      "Says what a configuration needs and brings, before anything is rented: bytes, tokens/s, what fits.",
      {{"CONFIG", false,
        "a TOML file, as launch/configs/gpt2-small.toml (default: that of --run's directory; else every key has its "
        "default)"}},
      {{"--set", kRepeated, "KEY=VALUE", "set a key of the configuration, as in --set model.layers=6"},
       {"--speed", kRepeated, "NAME=SPEED",
        "a kind of machine: GFLOP/s or, as paced devices, ms of a microbatch's forward; with xCOUNT a number of them, "
        "as in fast=500x4 or slow=60ms (without: as many as the configuration needs)"},
       {"--gflops", kValue, "G", "GFLOP/s of every machine"},
       {"--run", kValue, "DIR", "the speed that the replicas of a run measured"},
       {"--memory", kRepeated, "B",
        "of every machine, as in 24G or 16Gi; NAME=B of one kind: what does not fit on a processor is said, and what "
        "not on a GPU"},
       {"--price", kRepeated, "X", "of a machine's hour; NAME=X of one kind"},
       {"--link-mbit", kValue, "R",
        "rate of every machine's link, each way, in Mbit/s (default: 0, links take no time)"},
       kJson},
      "Bytes of links are those of `bytes` in metrics.jsonl. Memory is the most that a worker holds at once. Without\n"
      "a speed there are no times. Machines are given to stages as is best for the whole; a run itself starts with "
      "the\nsame number in every stage. Workers were measured to use within a tenth of it: where a limit is enforced, "
      "by\n"
      "Slurm or a control group, make it so much larger. If a stage does not fit into --memory, settings with which\n"
      "all fit are named: each alone, or together where none alone is enough. `fits` and these settings are about\n"
      "replicas on processors (`slow behind`); a replica on a GPU takes `on a GPU` of its memory, and a sentence says\n"
      "which stages a GPU of --memory holds.\n"
      "--json prints {\"stages\":[{\"layers\":[..],\"parameters\":N,\"replicas\":N,\"bytes\":{..,\"total\":N},\n"
      "\"credits\":{\"microbatches\":N,\"at_most\":N,\"input_bytes\":N,\"total_bytes\":N},\"fits\":true}],\n"
      "\"tokens_per_s\":X,\"link_bytes_per_step\":{\"activation\":N,\"gradient\":N,\"reduce\":N,..},\n"
      "\"would_fit\":[..],\"would_fit_together\":[..],\"one_more\":[..],\"better_cut\":{\"layers\":[..],\"tokens_per_"
      "s\":X},\n"
      "\"price_per_billion_tokens\":X}, null where nothing is known, or no other cut is faster.\n"
      "Exit status: 0 planned (also when it does not fit), 2 usage or configuration, 3 --run cannot be read."};
}

CommandSpec simulate_bandwidth() {
  return {"simulate bandwidth",
          "Says which bandwidth keeps workers computing, per way of synchronising.",
          {},
          {{"--table", kFlag, "", "the published table of Streaming DiLoCo made again, with what is assumed"},
           {"--model", kValue, "NAME", "a model of that table: 1B, 10B or 100B"},
           {"--run", kValue, "DIR", "the largest stage of a run, with the times its steps took"},
           {"--method", kRepeated, "METHOD", "data_parallel, diloco, streaming, ... (default: all six)"},
           {"--workers", kValue, "M", "that synchronise (default: 2, or the run's replicas)"},
           {"--exchange", kValue, "HOW", "gather, ring or owner (default: gather, or the run's)"},
           {"--latency-ms", kValue, "MS", "of a hop (default: 0)"},
           {"--links", kValue, "R,R,...", "rates of the workers' links, as shares of the bandwidth (default: 1 each)"},
           {"--jitter", kValue, "X", "relative deviation of each step's and each transfer's time (default: 0)"},
           {"--seed", kValue, "N", "of the jitter (default: 1)"},
           {"--H", kValue, "N", "steps of a round (default: 100, or the run's)"},
           {"--fragments", kValue, "P", "of the streaming methods"},
           {"--pattern", kValue, "HOW", "strided or sequential fragments"},
           {"--overlap", kValue, "N", "steps that an overlapped payload may take (default: 1)"},
           {"--bits", kValue, "B", "per value, without fp4 (default: 16, or the run's)"},
           {"--gbit", kValue, "G", "look closely at one bandwidth, in Gbit/s"},
           kJson,
           {"--svg", kValue, "FILE", "a picture: utilisation against bandwidth"}},
          "A discrete-event simulation of computing and sending. Of a published model a layer is sent as soon as its\n"
          "backward ends; of a run everything is sent between two steps, as here. The eager figures are those of the\n"
          "steady state, which sends every bit; --table says how the lower published ones come about."};
}

CommandSpec simulate_step() {
  return {
      "simulate step",
      "Says how long a step takes on given machines and links, with the program's own paths and credits.",
      {{"CONFIG", false, "a TOML file, as launch/configs/gpt2-small.toml; without it every key has its default"}},
      {{"--set", kRepeated, "KEY=VALUE", "set a key of the configuration, as in --set pipeline.routing=cost_to_go"},
       {"--speed", kRepeated, "NAME=SPEED",
        "a kind of machine, as for `shoal plan`: fast=150msx2 are two machines of 150 ms per forward"},
       {"--link-mbit", kRepeated, "R",
        "rate of every link, each way, in Mbit/s; NAME=R of one kind or machine (default: 0, they take no time)"},
       {"--latency-ms", kRepeated, "MS", "of every link, one way; NAME=MS of one kind or machine"},
       {"--pace", kRepeated, "NAME=MS@S", "its forward takes MS milliseconds from S seconds on"},
       {"--steps", kValue, "N", "steps that are simulated (default: 6)"},
       kJson},
      "Which microbatch leaves when and on which path, credits and the order of work are decided by the program's\n"
      "own code on a virtual clock. Machines are given to stages as `shoal plan` does; several of a kind are called\n"
      "NAME.1, NAME.2, ..; the spawner is one more name. The median leaves the first two steps out.\n"
      "The best split is that of whole microbatches without links; what links allow is the least time with them.\n"
      "--json prints {\"steps\":[{\"ms\":X,\"replicas\":[N,..],\"microbatches\":{\"NAME\":N,..}}],\"moves\":N,\n"
      "\"median_ms\":X,\"best_split_ms\":X,\"percent_of_best_split\":X,\"bound_ms\":X,\"percent_of_bound\":X}.\n"
      "Exit status: 0 done, 2 usage or configuration."};
}

CommandSpec simulate_swarm() {
  return {"simulate swarm",
          "Says what rebalancing keeps of a swarm of unequal machines that come and go.",
          {},
          {{"--nodes", kValue, "N", "machines on average (default: 1000)"},
           {"--hours", kValue, "H", "simulated time (default: 32)"},
           {"--rebalance", kValue, "P,P,...", "none, or a period in seconds (default: none,300,60)"},
           {"--stages", kValue, "S", "of the pipeline (default: N^(2/3) / 3.6, of 1000 machines 28)"},
           {"--seeds", kValue, "N", "traces that are drawn; figures are their means (default: 10)"},
           {"--speeds", kValue, "V,V,...", "classes of machines, equally likely (default: 0.5,1,2)"},
           {"--lifetime-hours", kValue, "H", "mean of the exponential lifetimes (default: 30)"},
           {"--links", kValue, "LOW,HIGH", "rates in Mbit/s, up and down (default: 50,500)"},
           {"--state-mb", kValue, "MB", "of a stage, copied by newcomers and movers (default: 600)"},
           {"--warm-up", kValue, "S", "after a state has arrived (default: 10)"},
           {"--least-gain", kValue, "X", "of the weakest stage, below which nobody moves (default: 0.01)"},
           {"--hysteresis", kValue, "off", "a control: any gain is worth a move"},
           {"--move-cost", kValue, "ignored", "a control: the gain alone decides, not the time of the move"},
           {"--speed-error", kValue, "X", "relative deviation of a measured speed, drawn at each look (default: 0)"},
           {"--newcomers", kValue, "HOW",
            "count: to the stage with the fewest replicas; gain: to the one that gains most (default: count)"},
           {"--trace", kValue, "FILE", "machines from a file in place of drawn ones"},
           {"--write-trace", kValue, "FILE", "where the trace of the first seed goes"},
           kJson,
           {"--svg", kValue, "FILE", "a picture: percent of the optimum over time"}},
          "Placement and moves are the decisions of the program itself, on a virtual clock. The optimum is the best\n"
          "assignment of all machines alive, anew at each join and leave, and without copying states. A trace has a\n"
          "line for each event: SECONDS join NAME SPEED DOWN_MBIT UP_MBIT, or SECONDS leave NAME.\n"
          "--json prints {\"policies\":[{\"rebalance\":\"300\",\"percent_of_optimal\":X,\"moves\":N,..}],\"nodes\":N,\n"
          "\"hours\":H,..}. Exit status: 0 done, 2 usage, 3 a trace that cannot be read."};
}

CommandSpec experiment() {
  return {
      "experiment",
      "Trains the arms of an experiment one after the other; draws and tabulates them beside the published figures.",
      {{"NAME", true, "exp1 (one worker, SWARM, DiLoCo-SWARM), exp2 (H = 10 to 200), exp3 (sizes of the model)"}},
      {{"--preset", kValue, "P",
        "cpu: scaled to two cores; gpu: the published sizes in bf16, with --device cuda (default: cpu)"},
       {"--steps", kValue, "N", "steps of each arm, schedules included (default: 8000; gpu 2000)"},
       {"--set", kRepeated, "KEY=VALUE", "set a key of every arm"},
       {"--out", kValue, "DIR", "where runs, table and picture go (default: experiments/NAME-PRESET)"},
       {"--dry-run", kFlag, "", "print the arms' commands and start nothing"}},
      "The table goes to stdout; DIR gets the table and the picture, named as the experiment. Each arm is\n"
      "a run of its own in DIR/ARM.\n"
      "The preset cpu trains on the novels that come with data.corpus=austen; gpu on fineweb-edu.txt in the working\n"
      "folder, or on what --set data.corpus=PATH names, a text or shards. Its nodes, 8 for a swarm, share the GPUs of\n"
      "this machine in turn. Without a GPU only --dry-run prints its commands.\n"
      "When interrupted, the same command goes on: arms that are finished are not trained again. The environment's\n"
      "SHOAL_SECTION_KEY reach every arm; give what matters by --set, which is kept in DIR/commands.txt.\n"
      "Exit status: 0 all arms finished, otherwise that of the arm which did not."};
}

}  // namespace shoal
