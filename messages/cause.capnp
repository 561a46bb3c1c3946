@0xd2a1c0f3b7e64a01;
# The parts that several conversations share: the cause of a message, and a tensor whose bytes travel beside it.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("shoal::wire");

struct Cause {
  run @0 :UInt64;
  branch @1 :UInt32;
  term @2 :UInt64;
  position @3 :UInt64;
  step @4 :UInt64;
  microbatch @5 :UInt32;
  attempt @6 :UInt32;
  hop @7 :UInt32;
  parentSpan @8 :UInt64;
}

struct Tensor {
  present @0 :Bool;
  dtype @1 :UInt8;
  wireDtype @2 :UInt8;  # how the bytes are coded on the wire; equals dtype as long as nothing is quantised
  shape @3 :List(Int64);
  byteCount @4 :UInt64;
  buffer @5 :UInt32;  # index among the letter's buffers
}

struct Epoch {
  group @0 :UInt64;
  counter @1 :UInt32;
}
