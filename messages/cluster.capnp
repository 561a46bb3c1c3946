@0xd2a1c0f3b7e64a05;
# Wire form of messages/cluster.h, field for field.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("shoal::wire");

struct Endpoint {
  host @0 :Text;
  port @1 :UInt16;
}

struct Hello {
  protocolVersion @0 :UInt32;
  run @1 :UInt64;
  term @2 :UInt64;
  process @3 :UInt64;
  role @4 :UInt8;
  name @5 :Text;
  isAnswer @6 :Bool;
  laneKey @7 :UInt64;
}

struct ServedReplica {
  stage @0 :UInt32;
  slot @1 :UInt32;
  replica @2 :UInt64;
  branch @3 :UInt32;
  version @4 :UInt64;
}

struct MachineOffer {
  multiplyAddsS @0 :UInt64;
  forwardUs @1 :UInt64;
  threads @2 :UInt32;
  memoryBytes @3 :UInt64;
  upBitS @4 :UInt64;
  downBitS @5 :UInt64;
  isGpu @6 :Bool;
  hostBytes @7 :UInt64;
  machine @8 :UInt64;
}

struct DevicePeak {
  multiplyAddsS @0 :UInt64;
  cores @1 :UInt32;
  device @2 :UInt64;
}

struct DeviceUse {
  busyUs @0 :UInt64;
  overUs @1 :UInt64;
  multiplyAdds @2 :UInt64;
  memoryBytes @3 :UInt64;
  memoryPeakBytes @4 :UInt64;
  threads @5 :UInt32;
  peak @6 :DevicePeak;
}

struct Join {
  name @0 :Text;
  device @1 :Text;
  deviceIndex @2 :UInt32;
  nonce @3 :UInt64;
  previous @4 :UInt64;
  role @5 :UInt8;
  endpoint @6 :Endpoint;
  pid @7 :UInt64;
  fingerprint @8 :Text;
  serves @9 :List(ServedReplica);
  offer @10 :MachineOffer;
}

struct Welcome {
  nonce @0 :UInt64;
  process @1 :UInt64;
  run @2 :UInt64;
  branch @3 :UInt32;
  term @4 :UInt64;
  position @5 :UInt64;
  configToml @6 :Text;
}

struct JoinRefused {
  nonce @0 :UInt64;
  reason @1 :UInt8;
  explanation @2 :Text;
}

struct Peer {
  process @0 :UInt64;
  role @1 :UInt8;
  name @2 :Text;
  endpoint @3 :Endpoint;
}

struct Peers {
  run @0 :UInt64;
  term @1 :UInt64;
  serial @2 :UInt64;
  peers @3 :List(Peer);
}

struct RevokedName {
  name @0 :Text;
  readmitted @1 :List(Text);
}

struct Revocations {
  version @0 :UInt64;
  names @1 :List(RevokedName);
}
