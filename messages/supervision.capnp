@0xd2a1c0f3b7e64a09;
# Wire form of messages/supervision.h, field for field.
using Cxx = import "/capnp/c++.capnp";
using import "cluster.capnp".DeviceUse;
$Cxx.namespace("shoal::wire");

struct SpawnStage {
  stage @0 :UInt32;
  slot @1 :UInt32;
  replica @2 :UInt64;
  branch @3 :UInt32;
  version @4 :UInt64;
  optimizerStep @5 :UInt64;
  fromCheckpoint @6 :Bool;
  donor @7 :UInt64;
  position @8 :UInt64;
}

struct StageReady {
  stage @0 :UInt32;
  replica @1 :UInt64;
  process @2 :UInt64;
  version @3 :UInt64;
  stateDigest @4 :UInt64;
}

struct StageEnded {
  stage @0 :UInt32;
  replica @1 :UInt64;
  reason @2 :Text;
  wasComputing @3 :Bool;
  step @4 :UInt64;
  microbatch @5 :UInt32;
}

struct EndStage {
  stage @0 :UInt32;
  replica @1 :UInt64;
  reason @2 :Text;
}

struct ActorHealth {
  name @0 :Text;
  incarnation @1 :UInt64;
  state @2 :Text;
  mailbox @3 :UInt32;
  restarts @4 :UInt32;
  lastMessage @5 :Text;
  lastMessageMs @6 :UInt64;
}

struct Heartbeat {
  process @0 :UInt64;
  sequence @1 :UInt64;
  sentNs @2 :Int64;
  actors @3 :List(ActorHealth);
  use @4 :DeviceUse;
}

struct HeartbeatEcho {
  process @0 :UInt64;
  sequence @1 :UInt64;
  sentNs @2 :Int64;
  receivedNs @3 :Int64;
  repliedNs @4 :Int64;
}

struct PeerUnreachable {
  process @0 :UInt64;
  peer @1 :UInt64;
  silentMs @2 :UInt64;
}

struct PeerRefused {
  process @0 :UInt64;
  role @1 :UInt8;
  name @2 :Text;
}

struct EndProcess {
  reason @0 :Text;
  exitStatus @1 :UInt32;
  storageWaits @2 :Bool;
}

struct LeaveRun {
  reason @0 :Text;
}

struct ProcessNote {  # Leaving, ProcessLost
  process @0 :UInt64;
  reason @1 :Text;
}
