// The fields of the messages between processes about themselves: cluster.h, metrics.h. Private to codec.cpp.
//
// One list per message serves both directions (io.h).
#pragma once

#include "messages/fields/io.h"

namespace shoal::codec {

SHOAL_FIELDS(Endpoint) {
  FIELD(host, Host);
  FIELD(port, Port);
}

SHOAL_FIELDS(Hello) {
  FIELD(protocol_version, ProtocolVersion);
  FIELD(run, Run);
  FIELD(term, Term);
  FIELD(process, Process);
  FIELD(role, Role);
  FIELD(name, Name);
  FIELD(is_answer, IsAnswer);
  FIELD(lane_key, LaneKey);
}

SHOAL_FIELDS(ServedReplica) {
  FIELD(stage, Stage);
  FIELD(slot, Slot);
  FIELD(replica, Replica);
  FIELD(branch, Branch);
  FIELD(version, Version);
}

SHOAL_FIELDS(MachineOffer) {
  FIELD(multiply_adds_s, MultiplyAddsS);
  FIELD(forward_us, ForwardUs);
  FIELD(threads, Threads);
  FIELD(memory_bytes, MemoryBytes);
  FIELD(up_bit_s, UpBitS);
  FIELD(down_bit_s, DownBitS);
  FIELD(is_gpu, IsGpu);
  FIELD(host_bytes, HostBytes);
  FIELD(machine, Machine);
}

SHOAL_FIELDS(DevicePeak) {
  FIELD(multiply_adds_s, MultiplyAddsS);
  FIELD(cores, Cores);
  FIELD(device, Device);
}

SHOAL_FIELDS(DeviceUse) {
  FIELD(busy_us, BusyUs);
  FIELD(over_us, OverUs);
  FIELD(multiply_adds, MultiplyAdds);
  FIELD(memory_bytes, MemoryBytes);
  FIELD(memory_peak_bytes, MemoryPeakBytes);
  FIELD(threads, Threads);
  PART(peak, Peak);
}

SHOAL_FIELDS(Join) {
  FIELD(name, Name);
  FIELD(device, Device);
  FIELD(device_index, DeviceIndex);
  FIELD(nonce, Nonce);
  FIELD(previous, Previous);
  FIELD(role, Role);
  PART(endpoint, Endpoint);
  FIELD(pid, Pid);
  FIELD(fingerprint.text, Fingerprint);
  LIST(serves, Serves);
  PART(offer, Offer);
}

SHOAL_FIELDS(Welcome) {
  FIELD(nonce, Nonce);
  FIELD(process, Process);
  FIELD(run, Run);
  FIELD(branch, Branch);
  FIELD(term, Term);
  FIELD(position, Position);
  LINES(config_toml, ConfigToml);
}

SHOAL_FIELDS(JoinRefused) {
  FIELD(nonce, Nonce);
  FIELD(reason, Reason);
  FIELD(explanation, Explanation);
}

SHOAL_FIELDS(Peer) {
  FIELD(process, Process);
  FIELD(role, Role);
  FIELD(name, Name);
  PART(endpoint, Endpoint);
}

SHOAL_FIELDS(Peers) {
  FIELD(run, Run);
  FIELD(term, Term);
  FIELD(serial, Serial);
  LIST(peers, Peers);
}

SHOAL_FIELDS(RevokedName) {
  FIELD(name, Name);
  SCALARS(readmitted, Readmitted);
}

SHOAL_FIELDS(Revocations) {
  FIELD(version, Version);
  LIST(names, Names);
}

SHOAL_FIELDS(MicrobatchPass) {
  FIELD(microbatch, Microbatch);
  FIELD(input_from, InputFrom);
  FIELD(gradient_from, GradientFrom);
}

SHOAL_FIELDS(ReplicaReport) {
  FIELD(branch, Branch);
  FIELD(step, Step);
  FIELD(stage, Stage);
  FIELD(replica, Replica);
  FIELD(time.forward, ForwardMs);
  FIELD(time.backward, BackwardMs);
  FIELD(time.wire, WireMs);
  FIELD(time.wait, WaitMs);
  FIELD(time.reduce, ReduceMs);
  FIELD(time.commit, CommitMs);
  FIELD(time.apply, ApplyMs);
  FIELD(bytes.activation, ActivationBytes);
  FIELD(bytes.gradient, GradientBytes);
  FIELD(bytes.reduce, ReduceBytes);
  FIELD(bytes.state, StateBytes);
  FIELD(bytes.control, ControlBytes);
  FIELD(bytes.checkpoint, CheckpointBytes);
  FIELD(microbatches, Microbatches);
  FIELD(retried, Retried);
  FIELD(state_digest, StateDigest);
  LIST(passes, Passes);
  PART(use, Use);
}

SHOAL_FIELDS(EvaluationResult) {
  FIELD(branch, Branch);
  FIELD(step, Step);
  FIELD(loss_sum, LossSum);
  FIELD(token_count, TokenCount);
  FIELD(target_bytes, TargetBytes);
  FIELD(complete, Complete);
  FIELD(windows, Windows);
  FIELD(windows_planned, WindowsPlanned);
}

SHOAL_FIELDS(RunEvent) {
  FIELD(kind, Kind);
  FIELD(subject, Subject);
  FIELD(reason, Reason);
  FIELD(step, Step);
}

}  // namespace shoal::codec
