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

struct FetchState {
  replica @0 :UInt64;
  step @1 :UInt64;
  names @2 :List(Text);
}

struct StateImage {
  replica @0 :UInt64;
  step @1 :UInt64;
  image @2 :Tensor;
}

struct StateUnavailable {
  replica @0 :UInt64;
  step @1 :UInt64;
  reason @2 :Text;
}
