@0xd2a1c0f3b7e64a08;
# One addressed message between routers. New bodies are added at the end of the union; numbers are never reused.

using Cxx = import "/capnp/c++.capnp";
using P = import "pipeline.capnp";
using S = import "sync.capnp";
using J = import "journal.capnp";
using C = import "cluster.capnp";
using T = import "storage.capnp";
using M = import "metrics.capnp";
using V = import "supervision.capnp";
using O = import "operate.capnp";
using import "address.capnp".Address;
$Cxx.namespace("shoal::wire");

struct Letter {
  from @0 :UInt64;
  to @1 :Address;
  body :union {
    forward @2 :P.Forward;
    backward @3 :P.Backward;
    refusal @4 :P.Refusal;
    ask @5 :P.Ask;
    askAnswer @6 :P.AskAnswer;
    open @7 :S.Order;
    zero @8 :S.Order;
    prepare @9 :S.Prepare;
    reduce @10 :S.Reduce;
    manifest @11 :S.Manifest;
    reduced @12 :S.Reduced;
    part @13 :S.Part;
    prepared @14 :S.Prepared;
    missing @15 :S.Missing;
    progress @16 :S.Progress;
    allAnswered @17 :S.AllAnswered;
    askHolders @18 :S.AskHolders;
    holders @19 :S.Holders;
    journalEntries @20 :J.JournalEntries;
    fetchJournal @21 :J.FetchJournal;
    hello @22 :C.Hello;
    join @23 :C.Join;
    welcome @24 :C.Welcome;
    joinRefused @25 :C.JoinRefused;
    peers @26 :C.Peers;
    spawnStage @27 :V.SpawnStage;
    stageReady @28 :V.StageReady;
    stageEnded @29 :V.StageEnded;
    heartbeat @30 :V.Heartbeat;
    endProcess @31 :V.EndProcess;
    leaving @32 :V.ProcessNote;
    processLost @33 :V.ProcessNote;
    saveShard @34 :T.SaveShard;
    checkpointSaved @35 :T.CheckpointSaved;
    checkpointFailed @36 :T.CheckpointFailed;
    fetchState @37 :T.FetchState;
    stateImage @38 :T.StateImage;
    stateUnavailable @39 :T.StateUnavailable;
    replicaReport @40 :M.ReplicaReport;
    evaluationResult @41 :M.EvaluationResult;
    runEvent @42 :M.RunEvent;
    endStage @43 :V.EndStage;
    heartbeatEcho @44 :V.HeartbeatEcho;
    peerUnreachable @45 :V.PeerUnreachable;
    inject @46 :O.Inject;
    saveState @47 :T.SaveState;
    stepSum @48 :T.StepSum;
    fileChunk @49 :T.FileChunk;
    fileKept @51 :T.FileKept;
    stateProgress @52 :T.StateProgress;
    partsSent @53 :S.PartsSent;
    missingParts @54 :S.MissingParts;
    revocations @55 :C.Revocations;
    peerRefused @56 :V.PeerRefused;
    fetchShard @57 :T.FetchShard;
    leaveRun @58 :V.LeaveRun;
  }
  span @50 :UInt64;
}
