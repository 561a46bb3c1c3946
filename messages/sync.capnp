@0xd2a1c0f3b7e64a03;
# Wire form of messages/sync.h, field for field.
using Cxx = import "/capnp/c++.capnp";
using import "cause.capnp".Tensor;
using import "cause.capnp".Epoch;
$Cxx.namespace("shoal::wire");

struct OrderId {
  run @0 :UInt64;
  branch @1 :UInt32;
  term @2 :UInt64;
  stage @3 :UInt32;
  step @4 :UInt64;
  epoch @5 :Epoch;
  round @6 :UInt64;
  fragment @7 :UInt32;
}

struct Order { order @0 :OrderId; }  # Open, Zero

struct Prepare {
  order @0 :OrderId;
  lastZero @1 :Epoch;
}

struct Reduce {
  order @0 :OrderId;
  members @1 :List(UInt64);
  tokenCount @2 :UInt64;
  communicator @3 :Epoch;
}

struct CollectiveOffer {
  library @0 :Text;
  device @1 :Text;
  communicator @2 :Epoch;
  size @3 :UInt32;
}

struct ManifestEntry {
  microbatch @0 :UInt32;
  tokenCount @1 :UInt64;
  lossSum @2 :Float64;
  isBad @3 :Bool;
  badTensor @4 :Text;
}

struct Manifest {
  order @0 :OrderId;
  member @1 :UInt64;
  entries @2 :List(ManifestEntry);
  shareTokens @3 :UInt64;
  collective @4 :CollectiveOffer;
  inFlight @5 :List(UInt32);
}

struct TensorNorm {
  name @0 :Text;
  squaredNorm @1 :Float64;
}

struct Reduced {
  order @0 :OrderId;
  member @1 :UInt64;
  digest @2 :UInt64;
  norms @3 :List(TensorNorm);
}

struct Part {
  order @0 :OrderId;
  member @1 :UInt64;
  bucket @2 :UInt32;
  hop @3 :UInt32;
  values @4 :Tensor;
}

struct PartId {
  bucket @0 :UInt32;
  hop @1 :UInt32;
}

struct PartsSent {
  order @0 :OrderId;
  member @1 :UInt64;
  mark @2 :UInt32;
  values @3 :Tensor;
}

struct MissingParts {
  order @0 :OrderId;
  member @1 :UInt64;
  holder @2 :UInt64;
  mark @3 :UInt32;
  parts @4 :List(PartId);
}

struct MemberManifest {
  member @0 :UInt64;
  entries @1 :List(ManifestEntry);
}

struct RoundShare {
  member @0 :UInt64;
  tokenCount @1 :UInt64;
}

struct Prepared {
  order @0 :OrderId;
  position @1 :UInt64;
  digest @2 :UInt64;
  manifests @3 :List(MemberManifest);
  norms @4 :List(TensorNorm);
  shares @5 :List(RoundShare);
}

struct Missing {
  order @0 :OrderId;
  upstream @1 :UInt64;
  microbatches @2 :List(UInt32);
}

struct Progress {
  order @0 :OrderId;
  member @1 :UInt64;
  count @2 :UInt32;
  parts @3 :UInt64;
  failure @4 :Text;
}

struct AllAnswered {
  branch @0 :UInt32;
  step @1 :UInt64;
}

struct AskHolders {
  stage @0 :UInt32;
  branch @1 :UInt32;
  step @2 :UInt64;
}

struct Holder {
  microbatch @0 :UInt32;
  replica @1 :UInt64;
}

struct Holders {
  stage @0 :UInt32;
  branch @1 :UInt32;
  step @2 :UInt64;
  holders @3 :List(Holder);
}
