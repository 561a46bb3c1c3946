// The table of subcommands.
#include "launch/interface.h"

#include <algorithm>

#include "launch/commands/inspect/inspect_specs.h"
#include "launch/commands/plan/plan_specs.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

constexpr auto kFlag = OptionKind::kFlag;
constexpr auto kValue = OptionKind::kValue;
constexpr auto kRequired = OptionKind::kRequired;
constexpr auto kRepeated = OptionKind::kRepeated;

const PositionalSpec kConfig{"CONFIG", false, "a TOML file; without it every key has its default"};
const PositionalSpec kRun{"RUN", true, "a run directory"};
const OptionSpec kSet{"--set", kRepeated, "KEY=VALUE", "set a key of the configuration, as in --set model.layers=6"};
const OptionSpec kJson{"--json", kFlag, "", "print JSON"};
const OptionSpec kOut{"--out", kValue, "DIR", "the run directory (default: runs/<UTC time>-<corpus>)"};
const OptionSpec kResume{"--resume", OptionKind::kOptionalValue, "DIR",
                         "go on from the newest checkpoint of DIR (default: --out, else the newest under runs/)"};
const OptionSpec kBranch{
    "--branch", kValue, "NAME",
    "with --resume: go on as a branch of the run, for which --set may also change optim.*, sync.*, "
    "data.*, model.precision, pipeline.activations and, with its schedule, run.steps"};
const OptionSpec kFrom{"--from", kValue, "N",
                       "with --branch: from the kept checkpoint after N steps (default: the newest; 0: the beginning)"};
const OptionSpec kSteps{"--steps", kValue, "N", "stop after step N; neither run.steps nor optim.decay_steps changes"};
const OptionSpec kOneDevice{"--device", kValue, "D", "cpu, cuda:N, or cuda where there is one GPU (default: cpu)"};
const OptionSpec kStep{"--step", kValue, "N", "the checkpoint after N steps (default: the newest)"};

const std::vector<OptionSpec> kLocator = {
    {"--run", kValue, "DIR", "the run directory (default: the newest under runs/)"},
    {"--spawner", kValue, "HOST:PORT", "the control address of a run elsewhere"},
    {"--certs", kValue, "DIR", "the folder with the operator's certificate, with --spawner"}};

constexpr const char* kExitCodes =
    "Exit status: 0 finished, 1 internal error, 2 usage or configuration, 3 data or disk, 4 refused,\n"
    "5 diverged, 75 saved after SIGTERM, SIGUSR1 or a closed terminal, 130 saved after SIGINT. A second signal\n"
    "exits at once, unless it is SIGHUP or comes together with the first.";

CommandSpec plot() {
  return {
      "plot",
      "Draws loss, validation, throughput and faults of one or several runs as an SVG.",
      {{"RUN", true, "a run directory; several are drawn into one picture", true}},
      {{"--out", kValue, "FILE", "the picture (default: RUN/plot.svg, of several runs plot.svg here)"},
       {"--x", kValue, "AXIS", "the horizontal axis: steps, tokens or time (default: steps)"}},
      "Every run draws RUN/plot.svg at its end. Of a step that was trained twice, because of a roll-back, the picture\n"
      "shows the second time. Periodic and final evaluations take different parts of the validation text, so they are\n"
      "drawn apart. Time is the time of the steps, with the pauses between them while the run went on.\n"
      "A damaged line of metrics.jsonl is left out: a warning and a note in the picture say so. A row shows where\n"
      "branches (--branch) begin.\n"
      "Exit status: 0 drawn, 2 usage, 3 a run's metrics.jsonl is missing or without a step; it is named."};
}

CommandSpec train() {
  return {
      "train",
      "Trains a model on this machine: a spawner, storage and nodes, one process each.",
      {kConfig},
      {kSet,
       kOut,
       kResume,
       kBranch,
       kFrom,
       kSteps,
       {"--nodes", kValue, "N", "node processes (default: stages x replicas; more are spares)"},
       {"--single", kFlag, "", "the same run in one process without actors: the reference"},
       {"--device", kRepeated, "D",
        "cpu, cuda:N, cuda (every GPU), or paced:MS (MS per microbatch; MS@S:MS changes after S s), for the nodes in "
        "turn or for the one process (default: cpu)"}},
      kExitCodes};
}

CommandSpec spawner() {
  return {
      "spawner",
      "Starts the spawner and storage of a run and waits for nodes; prints the line that starts one.",
      {kConfig},
      {kSet,
       {"--listen", kValue, "HOST:PORT",
        "the one port of the spawner; storage takes PORT+1 (default: 127.0.0.1:0, any free ports; with --resume: the "
        "address it had)"},
       kOut,
       kResume,
       kBranch,
       kFrom,
       kSteps,
       {"--wait-timeout", kValue, "S", "exit 4 when training has not begun and nodes have been missing for S seconds"}},
      kExitCodes};
}

CommandSpec node() {
  return {
      "node",
      "Joins a run and computes for it; reconnects for ever, leaves politely on SIGTERM.",
      {},
      {{"--join", kRepeated, "HOST:PORT", "the spawner's address; several are tried in turn"},
       {"--listen", kValue, "HOST:PORT", "where others of the run reach it; device k takes PORT+k (default: any)"},
       {"--token", kValue, "T", "the join token that the spawner printed; @FILE reads it from a file"},
       {"--certs", kValue, "DIR", "this node's certificate, in place of a token; with one: where it is to stay"},
       {"--device", kRepeated, "D",
        "cpu, cuda:N, cuda (every GPU), or paced:MS (MS per microbatch; MS@S:MS changes after S s); one each (default: "
        "cpu)"},
       {"--name", kValue, "NAME", "its name in the run (default: its certificate's, else host name and process id)"},
       {"--threads", kValue, "N", "compute threads per stage (default: the run's)"},
       {"--memory", kValue, "B",
        "memory that it gives at most, as in 24G or 16Gi; at least 1M (default: what is free)"},
       {"--limit-up", kValue, "R", "rate at which it sends tensors, in bit/s, as in 50M or 1G (default: 0, no limit)"},
       {"--limit-down", kValue, "R", "likewise, at which it receives them"},
       {"--grace", kValue, "S", "time to leave after SIGTERM before the workers are killed (default: 30)"},
       {"--keep-in", kValue, "DIR", "where its certificates lie while it lives (default: for temporary files)"},
       {"--trace", kValue, "DIR",
        "keep the workers' traces in DIR/trace, too: not in the run directory, which has them"},
       {"--no-stream", kFlag, "", "send neither logs nor traces to the run directory (default: both)"}},
      "With --token T --certs DIR the node gets its certificate by the token, unless it is in DIR, and DIR has it\n"
      "from then on: --certs DIR alone starts the node again, also after the token has expired. Device K has the\n"
      "files ca.crt, nodeK.crt and nodeK.key; node.crt and node.key serve all devices that have none of their own.\n"
      "A node has the name of its certificate, and is refused under any other.\n"
      "--memory and the limits are of the node; its devices share them evenly. On a GPU --memory is of the GPU's own\n"
      "memory, and no more than is free counts; what stages there take of the machine's own comes beside it, and all\n"
      "devices of the node share the whole of that. A stage that needs more memory than a device has of it, or than\n"
      "the others of the node leave of the machine's, is not placed there (`shoal plan` says what stages need, within\n"
      "a tenth: where a limit is enforced, by Slurm or a control group, make it so much larger). Heartbeats and\n"
      "orders wait for no limit.\n"
      "SIGTERM is a drain with a deadline: the node finishes the step and hands over what only it has, and what\n"
      "still works after --grace S is killed. Give the time until the machine is taken away, where that is known.\n"
      "Exit status: 0 left politely or the run is over, 1 internal error, 2 usage, 3 a file of --certs or another\n"
      "one, 4 refused (token, certificate, version, name taken or not its certificate's), or evicted, 143 killed at\n"
      "the end of the grace or by a second signal (130 after SIGINT). An unreachable spawner never ends a node."};
}

CommandSpec sample() {
  return {"sample",
          "Prints text from a checkpoint.",
          {kRun},
          {kStep,
           {"--prompt", kValue, "P", "the text to go on from, of one token at least (default: a newline)", true},
           {"--tokens", kValue, "N", "tokens to add (default: 200)"},
           {"--temperature", kValue, "T", "0 takes the likeliest token (default: 0.8)"},
           {"--top-k", kValue, "K", "draw among the K likeliest; 0: among all (default: 0)"},
           {"--seed", kValue, "S", "seed of the draws (default: 1)"},
           kOneDevice},
          ""};
}

std::vector<OptionSpec> with_locator(std::vector<OptionSpec> options) {
  options.insert(options.end(), kLocator.begin(), kLocator.end());
  return options;
}

CommandSpec status() {
  return {
      "status",
      "Says why a run trains or does not.",
      {},
      with_locator({kJson}),
      "--json prints {\"run\":text,\"summary\":text,\"step\":N,\"steps\":N,\"branch\":N,\"view\":N,\n"
      "\"begun\":{\"name\":text,\"from\":N},\"rounds\":{\"lost_tokens\":N,\"approximated\":N},\n"
      "\"actors\":[{\"name\":text,\"node\":text,\n"
      "\"incarnation\":N,\"state\":text,\"mailbox\":N,\"restarts\":N,\"last_message\":text,\n"
      "\"last_message_s\":seconds ago}],\"machines\":[{\"name\":text,\"device\":text,\n"
      "\"gflops_per_thread\":X,\"forward_ms\":X,\"threads\":N,\"memory_bytes\":N,\"host_bytes\":N,\n"
      "\"machine_id\":text,\"up_mbit_s\":X,\"down_mbit_s\":X,\"utilisation\":X,\"mfu\":X,\"used_bytes\":N,\n"
      "\"peak_bytes\":N}]}.\n"
      "Of a machine null is what it did not state, does not limit, or nobody knows. memory_bytes is of its device,\n"
      "host_bytes what its machine has for all workers on it together; machine_id is equal where workers share that\n"
      "memory, of whatever node. The last four keys are how its process used its device.\n"
      "utilisation: the share of the last 5 to 10 seconds in which it computed, from 0 to 1;\n"
      "mfu: the FLOPs of the model for what it trained meanwhile / (time x peak of the device), null of a paced one;\n"
      "used_bytes: the memory that the process has or, on a GPU, that its tensors have, peak_bytes the most of it\n"
      "since the process began. launch/RUNS.md defines them.\n"
      "begun is the newest branch that a person began (--branch), null without one; rounds is null in a run without\n"
      "rounds, last_message_s without a message.\n"
      "Exit status: 0 done, 2 usage, 4 the spawner is not reached, or its run is over."};
}

CommandSpec ps() {
  return {
      "ps",
      "Lists every actor: node, state, mailbox, restarts, last message.",
      {},
      with_locator({kJson}),
      "A node with several devices has a process for each: node2, node2:1, node2:2. Beside its name stands what it\n"
      "gives, as it stated at its join (device, speed, memory, rates), and how it uses it: the share of the last\n"
      "seconds in which it computed, its MFU, its memory.\n"
      "--json prints [{\"name\":text,\"node\":text,\"incarnation\":N,\"state\":text,\"mailbox\":N,\"restarts\":N,\n"
      "\"last_message\":text,\"last_message_s\":seconds ago,\"machine\":{\"name\":text,\"device\":text,\n"
      "\"gflops_per_thread\":X,\"forward_ms\":X,\"threads\":N,\"memory_bytes\":N,\"host_bytes\":N,\n"
      "\"machine_id\":text,\"up_mbit_s\":X,\"down_mbit_s\":X,\"utilisation\":X,\"mfu\":X,\"used_bytes\":N,\n"
      "\"peak_bytes\":N}}].\n"
      "machine is null but for node_agent/NAME, where it says what worker NAME gives and how it uses it: the keys of\n"
      "a machine in `status --json`. last_message_s is null without a message. The actors are those of\n"
      "`status --json`.\n"
      "Exit status: 0 done, 2 usage, 4 the spawner is not reached, or its run is over."};
}

CommandSpec eval() {
  return {
      "eval",
      "Prints loss, perplexity and bits per byte of a checkpoint.",
      {kRun},
      {kStep,
       {"--data", kValue, "FILE",
        "a text file, or token shards: a .bin file, a folder, a pattern (default: the run's validation text)"},
       {"--batches", kValue, "N", "only the first N batches of batch.sequences windows (default: all)"},
       kOneDevice,
       kJson},
      "The periodic evaluations of a run take the first eval.batches batches, the final one eval.final_batches (0:\n"
      "all). With the same number of batches this command gives the same loss, in one process bit for bit. Where\n"
      "the run's text is not the one that the checkpoint was trained on, a warning says so.\n"
      "A run holds the last data.validation_fraction of its own tokens out, and evaluates on these. Of --data every\n"
      "token counts: where training and validation have shards of their own, as fineweb_train_*.bin and\n"
      "fineweb_val_*.bin, train on data.corpus=\"fineweb_train_*.bin\", and give --data \"fineweb_val_*.bin\" here.\n"
      "--json prints {\"step\":N,\"windows\":N,\"tokens\":N,\"loss\":nats per token,\"perplexity\":X,"
      "\"bits_per_byte\":X},\nwith null for a number that is not finite.\n"
      "Exit status: 0 done, 2 usage, 3 a checkpoint or text that cannot be used, or a loss that is not finite,\n"
      "4 its text or tokenizer cannot be fetched."};
}

CommandSpec kill() {
  return {
      "kill",
      "Injects a failure: one actor or process of a run ends, throws or freezes.",
      {{"NAME", true, "an actor, as `shoal ps` shows it, a node, as in node2, or one device of it, as in node2:1"}},
      with_locator({{"--how", kValue, "KIND",
                     "exit, kill (cannot be trapped; for a node SIGKILL), throw, freeze=S (default: exit)"}}),
      "Names: stage/1/0, router/node2, node_agent/node2, tracer/node2, data_loader, sync_group/0, metrics,\n"
      "control, storage, supervisor (ends the spawner process), node2 (its processes, one per device), node2:1 (the\n"
      "process of its second device alone; that of the first one is node_agent/node2).\n"
      "A process that is frozen for longer than swarm.dead_after_ms is killed and started again by its keeper.\n"
      "While NAME or the spawner is being started again, a command on the spawner's machine waits up to 10 s for it.\n"
      "Exit status: 0 done, 2 nothing had that name since the spawner began, 4 it does not come back, the spawner is\n"
      "not reached, or its run is over."};
}

CommandSpec drain() {
  return {
      "drain",
      "Lets a node leave a run without losing a microbatch; it is not started again.",
      {{"NAME", true, "a node, as in node2, one device of it, as in node2:1, or a replica, as in stage/1/0"}},
      with_locator({}),
      "The node finishes the step, with all its devices, and gets no work of the next one; node2:1 or a replica\n"
      "means one device alone. The state of a stage's last replica is copied by a free worker first; where there\n"
      "is none it is saved, and the run goes on from there\n"
      "when another node serves the stage. SIGTERM to `shoal node` does the same. While NAME or the spawner is\n"
      "being started again, a command on the spawner's machine waits up to 10 s for it.\n"
      "Exit status: 0 it leaves, or has left, 2 no node and no stage has that name, 4 the spawner is not reached, or\n"
      "its run is over."};
}

CommandSpec evict() {
  return {
      "evict",
      "Removes a node from a run at once; with --revoke it is refused from then on.",
      {{"NAME", true, "a node, as `shoal ps` shows it, with all its devices: node2"}},
      with_locator({{"--revoke", kFlag, "", "refuse its certificates, and the join tokens it enrolled with"}}),
      "The node's processes end at once, its `shoal node` ends with 4 and does not start them again. The run goes on:\n"
      "other nodes compute again what only this one had computed of the step. If it was the last to serve a stage,\n"
      "the run goes back to its newest checkpoint as soon as another node serves that stage, and the command says\n"
      "so. (`shoal drain NAME` lets a node leave without losing work.)\n"
      "Without --revoke the node may be started again as before.\n"
      "With --revoke: within 2 s every process refuses all certificates of that name and ends connections made by\n"
      "them, also after restarts and --resume. The join tokens that the node enrolled with are revoked, and named. To\n"
      "let the name in again, make a token with `shoal token new` and start the node with it. A node that is away\n"
      "can be revoked, too.\n"
      "Exit status: 0 done, or it has left, 2 no node has or had that name, 4 it is away (without --revoke), the\n"
      "spawner is not reached, or its run is over."};
}

CommandSpec checkpoint() {
  return {
      "checkpoint",
      "Saves a checkpoint of a run now, and says where it lies.",
      {},
      with_locator({{"--wait", kFlag, "", "end when it is saved, and print its folder alone"},
                    {"--wait-timeout", kValue, "S", "with --wait: exit 4 after S seconds without it (default: 600)"}}),
      "The step in progress is finished, and the state after it is saved, while training goes on. If the newest state\n"
      "is saved already, or being saved, it is that one. With rounds (sync.mode = diloco) it is the state between two\n"
      "steps, too, with the rounds that are due there. checkpoint.keep counts it like all others.\n"
      "Without --wait the command says which state it will be, and ends. It has to be given again if the spawner is\n"
      "started again before that step ends. With --wait it sees to that, and says on stderr what it waits for.\n"
      "A run in one process (--single) hears nobody: SIGINT saves and ends it, checkpoint.every saves in between.\n"
      "Exit status: 0 it is saved (without --wait: it will be), 3 it could not be saved, 4 not in time, the spawner\n"
      "is not reached, or its run is over."};
}

CommandSpec token_new() {
  return {
      "token new",
      "Makes a join token for a run that is under way, and prints it.",
      {},
      with_locator({{"--uses", kValue, "N", "nodes that may enrol with it (default: any number)"},
                    {"--hours", kValue, "H", "how long it is good, as in 0.5; up to 8760 (default: 24)"}}),
      "The token alone goes to stdout: shoal node --join HOST:PORT --token \"$(shoal token new --uses 1)\".\n"
      "A worker enrols once: a node with two devices takes two uses. Exit status: 0 done, 2 usage, 4 the spawner is\n"
      "not reached, or its run is over."};
}

CommandSpec token_ls() {
  return {
      "token ls",
      "Lists the join tokens of a run: uses left, expiry, state.",
      {},
      with_locator({kJson}),
      "States: valid, used up, expired (for a week, then it is forgotten), revoked. The one in RUN/certs/join_token\n"
      "is the run's own. One that was there before stays valid until it expires, or is revoked by its own ID."};
}

CommandSpec token_revoke() {
  return {"token revoke",
          "Makes a join token worthless, at once.",
          {{"ID", true, "as `shoal token ls` shows it"}},
          with_locator({}),
          "Nodes that have enrolled with it stay: they have certificates (`shoal evict NODE --revoke`). The run's own\n"
          "token, RUN/certs/join_token, can be revoked, too: no other one appears there until a person starts the run\n"
          "again. Exit status: 0 done, 2 there is no such token, 4 the spawner is not reached, or its run is over."};
}

CommandSpec completion() {
  return {
      "completion",
      "Prints the script by which a shell completes commands, options and keys.",
      {{"SHELL", true, "bash, zsh or fish"}},
      {},
      "bash: eval \"$(shoal completion bash)\" in ~/.bashrc. zsh: the same with zsh, behind compinit, in ~/.zshrc.\n"
      "fish: shoal completion fish | source, in ~/.config/fish/config.fish."};
}

CommandSpec export_model() {
  return {
      "export",
      "Writes a checkpoint in the Hugging Face layout of its model.",
      {kRun},
      {{"--to", kRequired, "DIR", "a folder for the model's and the tokenizer's files"}, kStep},
      "Writes config.json, model.safetensors, tokenizer.json and tokenizer_config.json, as transformers reads them:\n"
      "pipeline(\"text-generation\", model=DIR) works offline. A text has the same tokens as in the run, with one\n"
      "exception: <|endoftext|> written out in a text is one token there. A tokenizer.json that the run was given "
      "goes\n"
      "along as it is, with what lies beside it (tokenizer_config.json, special_tokens_map.json,\n"
      "generation_config.json, chat_template.jinja): its other special tokens, its normalizer and what it puts before\n"
      "a text count there, too. config.json ends a text by its end of text, also for a model of dialogues."};
}

CommandSpec import() {
  return {
      "import",
      "Makes a run directory from a GPT-2, Llama or Qwen3 in the Hugging Face layout.",
      {{"DIR", true, "a folder with config.json and the weights in safetensors"}, kConfig},
      {{"--to", kRequired, "RUN", "the run directory to make; new or empty"}, kSet},
      "config.json gives the [model] keys. The tokenizer is DIR/tokenizer.json, without which 256 tokens are bytes, "
      "50257\n"
      "are gpt2, and any others need --set data.tokenizer=. Rows behind the tokenizer's tokens are kept, as\n"
      "model.extra_tokens. Refused is what this model does not have: biases in a Llama, another\n"
      "activation, other rotary positions than plain, linear and llama3.\n"
      "The weights may be in several files with an index, in float32, bfloat16 or float16. A tied head is copied.\n"
      "They become the checkpoint after 0 steps: `shoal eval RUN`, `shoal sample RUN` and `shoal train --resume RUN`\n"
      "go on from there. --set model.context=N chooses shorter sequences for a Llama.\n"
      "Exit status: 0 imported, 2 usage or configuration, 3 a file that cannot be used, 4 no mirror for the corpus."};
}

CommandSpec chaos() {
  return {"chaos",
          "Injects random failures, one after the other, until the run is over.",
          {},
          with_locator({{"--every", kValue, "S", "seconds between failures (default: 10)"},
                        {"--kinds", kRepeated, "KIND", "what may fail, with commas or spaces between (default: all)"},
                        {"--seed", kValue, "N", "seed of the choices; it is printed (default: another each time)"},
                        {"--for", kValue, "S", "end after S seconds (default: with the run)"}}),
          "Kinds: stage router node_agent tracer data_loader sync_group metrics control storage supervisor, node\n"
          "(all its processes), and freeze: failures may then also be silences of 0.5 to 5 s. One line per failure.\n"
          "A spawner that is being started again is waited for.\n"
          "Exit status: 0 the time or the run is over, 2 usage, 4 the spawner is not reached for a minute."};
}

std::vector<CommandSpec> make_commands() {
  return {
      train(),
      spawner(),
      node(),
      status(),
      ps(),
      {"logs",
       "Prints the log of an actor or a node of a run, also of one that is over.",
       {{"NAME", true, "as `shoal ps` shows it, or a process: node2, spawner, storage"}},
       {kLocator.front(), {"--follow", kFlag, "", "go on with what is written from now on, until the run is over"}},
       "Exit status: 0 done, 2 there is no such run, or nobody of that name in it."},
      kill(),
      chaos(),
      drain(),
      evict(),
      checkpoint(),
      token_new(),
      token_ls(),
      token_revoke(),
      eval(),
      plot(),
      sample(),
      export_model(),
      import(),
      trace_export(),
      trace_why(),
      trace_check(),
      trace_summary(),
      {"data fetch",
       "Gets a corpus, or a tokenizer's ranks, and says where it lies.",
       {{"NAME", true, "austen or kjv; gpt2, the ranks of that tokenizer"}},
       {},
       ""},
      {"data order",
       "Prints the order of samples: `step mb offset offset ...`, one line per microbatch.",
       {kConfig},
       {kSet, {"--steps", kRequired, "N", "steps to print"}},
       ""},
      {"init",
       "Writes the initial weights of a run as safetensors.",
       {kConfig},
       {kSet, {"--out", kRequired, "FILE", "the file to write"}},
       ""},
      plan(),
      simulate_bandwidth(),
      simulate_step(),
      simulate_swarm(),
      experiment(),
      doctor(),
      version(),
      completion(),
  };
}

}  // namespace

const std::vector<CommandSpec>& commands() {
  static const std::vector<CommandSpec> all = make_commands();
  return all;
}

const CommandSpec& command_named(std::string_view name) {
  const auto found = std::find_if(commands().begin(), commands().end(),
                                  [name](const CommandSpec& command) { return command.name == name; });
  ENSURE(found != commands().end(), "no command '" + std::string(name) + "'");
  return *found;
}

const std::vector<std::string>& commands_not_in_this_version() {
  static const std::vector<std::string> names = {"top", "runs", "dashboard", "data prepare"};
  return names;
}

std::string overview(std::string_view group) {
  const std::string prefix = group.empty() ? "" : std::string(group) + " ";
  std::string text = group.empty() ? "Shoal trains one language model on many unreliable machines.\n\n" : "";
  text += "usage: shoal " + prefix + "COMMAND [ARGUMENTS]\n\n";
  std::size_t width = 0;
  for (const auto& command : commands()) width = std::max(width, command.name.size() + 2);
  for (const auto& command : commands()) {
    if (!command.name.starts_with(prefix)) continue;
    text += "  " + command.name + std::string(width - command.name.size(), ' ') + command.summary + "\n";
  }
  return text + "\n`shoal " + prefix +
         "COMMAND --help` explains one. Results go to stdout, everything else to stderr.\n";
}

}  // namespace shoal
