@0xd2a1c0f3b7e64a0a;
# Wire form of messages/operate.h, field for field; only what leaves the spawner process.
using Cxx = import "/capnp/c++.capnp";
using import "address.capnp".Address;
$Cxx.namespace("shoal::wire");

struct Inject {
  id @0 :UInt64;
  target @1 :Address;
  wholeProcess @2 :Bool;
  how @3 :UInt8;
  freezeMs @4 :UInt64;
}
