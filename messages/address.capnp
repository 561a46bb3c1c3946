@0xd2a1c0f3b7e64a0b;
# Wire form of messages/address.h, field for field.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("shoal::wire");

struct Address {
  process @0 :UInt64;
  role @1 :UInt8;
  stage @2 :UInt32;
  incarnation @3 :UInt64;
}
