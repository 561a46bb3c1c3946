@0xd2a1c0f3b7e64a06;
# Wire form of messages/storage.h, field for field.
using Cxx = import "/capnp/c++.capnp";
using import "cause.capnp".Tensor;
$Cxx.namespace("shoal::wire");

struct SaveShard {
  run @0 :UInt64;
  branch @1 :UInt32;
  step @2 :UInt64;
  optimizerStep @3 :UInt64;
  tokensTotal @4 :UInt64;
  stage @5 :UInt32;
  stages @6 :UInt32;
  replica @7 :UInt64;
  image @8 :Tensor;
  offset @9 :UInt64;
  bytesTotal @10 :UInt64;
}

struct FetchShard {
  branch @0 :UInt32;
  step @1 :UInt64;
  stage @2 :UInt32;
  replica @3 :UInt64;
  offset @4 :UInt64;
  held @5 :UInt64;
}

struct CheckpointSaved {
  branch @0 :UInt32;
  step @1 :UInt64;
  weightsSha256 @2 :Text;
  byteCount @3 :UInt64;
  seconds @4 :Float64;
}

struct CheckpointFailed {
  branch @0 :UInt32;
  step @1 :UInt64;
  reason @2 :Text;
}

struct SaveState {
  branch @0 :UInt32;
  step @1 :UInt64;
  stage @2 :UInt32;
  replica @3 :UInt64;
}

struct FetchState {
  replica @0 :UInt64;
  step @1 :UInt64;
  names @2 :List(Text);
  donor @3 :UInt64;
  branch @4 :UInt32;
  offset @5 :UInt64;
  held @6 :UInt64;
}

struct StateImage {
  replica @0 :UInt64;
  step @1 :UInt64;
  image @2 :Tensor;
  donor @3 :UInt64;
  optimizerStep @4 :UInt64;
  tokensTotal @5 :UInt64;
  offset @6 :UInt64;
  bytesTotal @7 :UInt64;
}

struct StepSum {
  replica @0 :UInt64;
  donor @1 :UInt64;
  branch @2 :UInt32;
  step @3 :UInt64;
  tokenCount @4 :UInt64;
  values @5 :Tensor;
}

struct StateProgress {
  branch @0 :UInt32;
  step @1 :UInt64;
  stage @2 :UInt32;
  replica @3 :UInt64;
  donor @4 :UInt64;
  isShard @5 :Bool;
  bytes @6 :UInt64;
  bytesTotal @7 :UInt64;
  onItsWayMs @8 :Float64;
}

struct FileKept {
  kind @0 :UInt8;
  size @1 :UInt64;
}

struct FileChunk {
  name @0 :Text;
  kind @1 :UInt8;
  offset @2 :UInt64;
  dropped @3 :UInt64;
  bytes @4 :Tensor;
  process @5 :UInt64;
}

struct StateUnavailable {
  replica @0 :UInt64;
  step @1 :UInt64;
  reason @2 :Text;
  donor @3 :UInt64;
}
