@0xd2a1c0f3b7e64a02;
# Wire form of messages/pipeline.h, field for field.
using Cxx = import "/capnp/c++.capnp";
using import "cause.capnp".Cause;
using import "cause.capnp".Tensor;
$Cxx.namespace("shoal::wire");

struct Forward {
  cause @0 :Cause;
  sender @1 :UInt64;
  weightsVersion @2 :UInt64;
  purpose @3 :UInt8;
  path @4 :List(UInt64);
  input @5 :Tensor;
  targets @6 :Tensor;
}

struct Hop {
  replica @0 :UInt64;
  queueMs @1 :Float32;
  computeMs @2 :Float32;
  transferMs @3 :Float32;
}

struct Backward {
  cause @0 :Cause;
  sender @1 :UInt64;
  weightsVersion @2 :UInt64;
  purpose @3 :UInt8;
  trail @4 :List(Hop);
  inputGradient @5 :Tensor;
  lossSum @6 :Float64;
  tokenCount @7 :UInt64;
}

struct Refusal {
  cause @0 :Cause;
  sender @1 :UInt64;
  purpose @2 :UInt8;
  reason @3 :UInt8;
}

struct Ask {
  cause @0 :Cause;
  sender @1 :UInt64;
  purpose @2 :UInt8;
}

struct AskAnswer {
  cause @0 :Cause;
  sender @1 :UInt64;
  purpose @2 :UInt8;
  state @3 :UInt8;
}
