@0xd2a1c0f3b7e64a07;
# Wire form of messages/metrics.h, field for field.
using Cxx = import "/capnp/c++.capnp";
using import "cluster.capnp".DeviceUse;
$Cxx.namespace("shoal::wire");

struct MicrobatchPass {
  microbatch @0 :UInt32;
  inputFrom @1 :UInt64;
  gradientFrom @2 :UInt64;
}

struct ReplicaReport {
  branch @0 :UInt32;
  step @1 :UInt64;
  stage @2 :UInt32;
  replica @3 :UInt64;
  forwardMs @4 :Float64;
  backwardMs @5 :Float64;
  wireMs @6 :Float64;
  waitMs @7 :Float64;
  reduceMs @8 :Float64;
  commitMs @9 :Float64;
  applyMs @10 :Float64;
  activationBytes @11 :UInt64;
  gradientBytes @12 :UInt64;
  reduceBytes @13 :UInt64;
  stateBytes @14 :UInt64;
  controlBytes @15 :UInt64;
  microbatches @16 :UInt32;
  retried @17 :UInt32;
  stateDigest @18 :UInt64;
  passes @19 :List(MicrobatchPass);
  checkpointBytes @20 :UInt64;
  use @21 :DeviceUse;
}

struct EvaluationResult {
  branch @0 :UInt32;
  step @1 :UInt64;
  lossSum @2 :Float64;
  tokenCount @3 :UInt64;
  targetBytes @4 :UInt64;
  complete @5 :Bool;
  windows @6 :UInt64;
  windowsPlanned @7 :UInt64;
}

struct RunEvent {
  kind @0 :UInt8;
  subject @1 :Text;
  reason @2 :Text;
  step @3 :UInt64;
}
