// Options and help of the commands that look at a trace or at this machine.
#include "launch/commands/inspect/inspect_specs.h"

namespace shoal {
namespace {

constexpr auto kFlag = OptionKind::kFlag;
constexpr auto kValue = OptionKind::kValue;

const OptionSpec kJson{"--json", kFlag, "", "print JSON"};
const PositionalSpec kTracedRun{"RUN", false, "a run directory (default: the newest under runs/)"};
const OptionSpec kTracedRunToo{"--run", kValue, "DIR", "another way to say RUN, as commands about a live run have it"};

}  // namespace

CommandSpec trace_export() {
  return {"trace export",
          "Writes a run's trace for Perfetto, or draws it.",
          {kTracedRun},
          {kTracedRunToo,
           {"--out", kValue, "FILE",
            "the JSON for ui.perfetto.dev and chrome://tracing (default: RUN/trace/perfetto.json)"},
           {"--svg", kValue, "FILE", "a picture; by default of what happened around the first death of a process"},
           {"--from", kValue, "T", "where the picture begins: seconds since the run began, or a step, as in step12"},
           {"--to", kValue, "T", "where it ends"}},
          "With --svg alone no JSON is written. Work and letters are in the trace with trace.level=all only."};
}

CommandSpec trace_why() {
  return {"trace why",
          "Tells one microbatch's story.",
          {{"STEP/MB", true, "the step and the index of the microbatch in it, as in 12/3"}, kTracedRun},
          {kTracedRunToo},
          "Needs a trace at trace.level=all. Times are relative to the step's begin."};
}

CommandSpec trace_check() {
  return {
      "trace check",
      "Verifies the invariants of a run from its trace.",
      {kTracedRun},
      {kTracedRunToo, {"--against", kValue, "RUN", "a run that must have ended with the same weights, bit for bit"}},
      "S-1 every microbatch counted once per stage and step, S-2 one commit per step, S-3 equal replicas, S-4 nothing\n"
      "outside the view, S-6 bounded queues; --against adds S-5. A trace at trace.level=all says what each replica\n"
      "did; at lifecycle, what was committed. Exit status: 0 all hold, 1 one is broken, 2 usage, 3 unreadable, or\n"
      "more than this machine has memory for."};
}

CommandSpec trace_summary() {
  return {"trace summary", "Says what a run spent its time on.", {kTracedRun}, {kTracedRunToo}, ""};
}

CommandSpec doctor() {
  return {
      "doctor",
      "Says what is wrong with this machine, and how to mend it.",
      {},
      {kJson,
       {"--join", kValue, "HOST:PORT", "also try each connection to a run whose spawner has that --listen address"}},
      "--json prints {\"findings\":[{\"what\":text,\"verdict\":\"good|doubtful|wrong|untried\",\"facts\":text,\n"
      "\"remedy\":text}],\"features\":{\"cuda\":{\"usable\":true,\"why_not\":text},\"nccl\":..,\"bf16\":..}}: whether "
      "this\n"
      "machine can use each feature of `version --json`, which is a finding of that name, too.\n"
      "Exit status: 0 nothing is wrong, 1 something is; what --join tries ends with the first that fails."};
}

CommandSpec version() {
  return {
      "version",
      "Prints versions, features and the kernel fingerprint.",
      {},
      {kJson},
      "A feature (cuda, nccl, bf16) is there if it is built in and can be loaded, whatever this machine has: `shoal\n"
      "doctor` says whether it can be used here."};
}

}  // namespace shoal
