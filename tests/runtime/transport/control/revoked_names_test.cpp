// Tests what becomes of a revoked name, at the endpoint that gives out certificates: over real sockets.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "runtime/base/file.h"
#include "runtime/transport/control/control_client.h"
#include "runtime/transport/control/enrolment.h"
#include "tests/runtime/transport/control/control_port.h"
#include "tests/runtime/transport/control/enrolment_files.h"

namespace shoal::revoked_names_test {
namespace {

using std::chrono::hours;
using test_support::TestRun;

// A spawner's endpoint that can be started again, and nodes that enrol.
class RevokedNames : public ::testing::Test {
 protected:
  RevokedNames() { start(); }
  void start() {
    port.reset();
    service.reset();
    revoked = std::make_shared<RevokedCertificates>();
    EnrolmentHooks hooks;
    hooks.rendezvous = [this] {
      Rendezvous here;
      here.run = run.run();
      return here;
    };
    hooks.name_allowed = [](const std::string&) { return Status(Done{}); };
    hooks.now = [] { return std::chrono::system_clock::now(); };
    hooks.revoked = revoked;
    service = std::move(
        EnrolmentService::open(run.authority(), test_support::enrolment_files(run), std::move(hooks)).value());
    PeerPolicy policy = run.policy({PeerRole::kNode, PeerRole::kOperator});
    policy.revoked = revoked;
    port = std::make_unique<test_support::ControlPort>(run.files(PeerRole::kSpawner, "spawner"), std::move(policy));
    const auto& server = port->server();
    server->handle({"POST", std::string(kEnrolPath), {}},
                   [this](const auto& request) { return service->enrol(request); });
    server->handle({"POST", std::string(kRenewPath), {PeerRole::kNode}},
                   [this](const auto& request) { return service->renew(request); });
    server->handle({"GET", std::string(kRendezvousPath), {PeerRole::kNode, PeerRole::kOperator}}, [this](const auto&) {
      return ControlResponse{200, rendezvous_text(service->rendezvous())};
    });
    server->serve();
  }
  [[nodiscard]] HostPort address() const { return {"127.0.0.1", port->port()}; }
  [[nodiscard]] JoinToken token(std::uint32_t uses = 0) const { return service->make_token(hours(24), uses).value(); }
  // The files of a node that has enrolled, each time others.
  [[nodiscard]] TlsFiles join(const std::string& name, const JoinToken& with) {
    const auto enrolled = enrol(address(), with, name, 0);
    EXPECT_TRUE(enrolled.ok()) << enrolled.failure().message;
    const TlsFiles files = credential_files(run.path("node" + std::to_string(++joined)), "node");
    EXPECT_TRUE(write_credentials(files, enrolled->credentials).ok());
    return files;
  }
  [[nodiscard]] std::string refusal(const std::string& name, const JoinToken& with) const {
    const auto enrolled = enrol(address(), with, name, 0);
    return enrolled.ok() ? "" : enrolled.failure().message;
  }
  [[nodiscard]] bool is_revoked(const TlsFiles& files) const {
    auto connection = ControlClient::create(files, address())->connect();
    const auto answer = connection->rendezvous();
    EXPECT_EQ(connection->has_revoked_us(), !answer.ok());
    EXPECT_TRUE(answer.ok() || answer.failure().error == Error::kRefused);
    return connection->has_revoked_us();
  }
  [[nodiscard]] Result<std::string> renew(const TlsFiles& files) const {
    const auto request = make_csr(read_file(files.key).value(), "any");
    return ControlClient::create(files, address())->renew(*request);
  }

  TestRun run{0x5eed};
  std::shared_ptr<RevokedCertificates> revoked;
  std::unique_ptr<EnrolmentService> service;
  std::unique_ptr<test_support::ControlPort> port;
  int joined = 0;
};

TEST_F(RevokedNames, EveryCertificateOfTheNameIsRefusedAlsoAfterARestart) {
  const JoinToken many = token();
  const std::vector<TlsFiles> theirs = {join("node2", many), join("node2", many)};
  const TlsFiles other = join("node22", many);
  for (const TlsFiles& files : theirs) ASSERT_FALSE(is_revoked(files)) << "the control";
  ASSERT_TRUE(service->revoke_name("node2").ok());
  for (int life = 0; life < 2; ++life) {
    for (const TlsFiles& files : theirs) EXPECT_TRUE(is_revoked(files));
    EXPECT_FALSE(is_revoked(other));
    start();
  }
}

TEST_F(RevokedNames, TheTokenThatItCameWithIsWorthNothingUnderAnyName) {
  const JoinToken its_own = token();
  const JoinToken another = token();
  (void)join("node2", its_own);
  const auto revoked_tokens = service->revoke_name("node2");
  ASSERT_TRUE(revoked_tokens.ok());
  EXPECT_EQ(revoked_tokens->ids.size(), 1U);
  EXPECT_FALSE(revoked_tokens->was_standing);
  EXPECT_NE(refusal("node2", its_own).find("token was revoked"), std::string::npos);
  EXPECT_NE(refusal("other", its_own).find("token was revoked"), std::string::npos);
  EXPECT_NE(refusal("node2", another).find("thrown out"), std::string::npos) << "a token that was there before";
  EXPECT_EQ(refusal("other", another), "") << "the control";
}

TEST_F(RevokedNames, ANewTokenOfAPersonLetsTheNameInAgainButNotItsOldCertificates) {
  const TlsFiles before = join("node2", token());
  ASSERT_TRUE(service->revoke_name("node2").ok());
  start();
  const TlsFiles after = join("node2", token(1));
  EXPECT_TRUE(is_revoked(before));
  EXPECT_FALSE(is_revoked(after));
  start();
  EXPECT_TRUE(is_revoked(before));
  EXPECT_FALSE(is_revoked(after));
  ASSERT_TRUE(service->revoke_name("node2").ok()) << "again";
  EXPECT_TRUE(is_revoked(after));
}

TEST_F(RevokedNames, TheRunsOwnTokenIsReplacedAndLetsTheNameInNoMore) {
  const auto standing = [this] {
    const std::string text = read_file(test_support::enrolment_files(run).join_token).value();
    return parse_token(text.substr(0, text.find('\n'))).value();
  };
  ASSERT_TRUE(service->keep_standing_token().ok());
  const JoinToken before = standing();
  (void)join("node2", before);
  const auto tokens = service->revoke_name("node2");
  ASSERT_TRUE(tokens.ok());
  EXPECT_TRUE(tokens->was_standing);
  EXPECT_NE(refusal("other", before).find("token was revoked"), std::string::npos);
  for (int life = 0; life < 2; ++life) {
    EXPECT_NE(standing().secret, before.secret);
    EXPECT_NE(refusal("node2", standing()).find("thrown out"), std::string::npos) << "no person has made it";
    EXPECT_EQ(refusal("other", standing()), "") << "the control";
    start();
    ASSERT_TRUE(service->keep_standing_token().ok());
  }
}

TEST_F(RevokedNames, ARevokedStandingTokenIsNotReplacedByTheNextSpawnerProcess) {
  const std::string path = test_support::enrolment_files(run).join_token;
  ASSERT_TRUE(service->keep_standing_token().ok());
  const auto tokens = service->tokens();
  const auto own = std::ranges::find_if(tokens, [&](const auto& one) { return service->is_standing(one.id); });
  ASSERT_NE(own, tokens.end());
  ASSERT_TRUE(service->revoke_token(own->id).ok());
  for (int life = 0; life < 2; ++life) {
    ASSERT_TRUE(service->keep_standing_token().ok());
    EXPECT_FALSE(std::filesystem::exists(path));
    start();
  }
  permit_standing_token(path);
  ASSERT_TRUE(service->keep_standing_token().ok());
  EXPECT_TRUE(std::filesystem::exists(path)) << "the control";
}

TEST_F(RevokedNames, WhoMayComeGetsItsCertificateRenewed) {
  const TlsFiles honest = join("node1", token());
  const auto next = renew(honest);
  ASSERT_TRUE(next.ok()) << next.failure().message;
  EXPECT_EQ(identity_of(*next).value(), (PeerIdentity{run.run(), PeerRole::kNode, "node1"})) << "not what it asks for";
  ASSERT_TRUE(replace_file(honest.certificate, *next).ok());
  EXPECT_FALSE(is_revoked(honest));
  ASSERT_TRUE(service->revoke_name("node1").ok());
  EXPECT_FALSE(renew(honest).ok());
  EXPECT_TRUE(is_revoked(honest)) << "one by renewal is refused like the first";
  const TlsFiles again = join("node1", token());
  const auto readmitted = renew(again);
  ASSERT_TRUE(readmitted.ok()) << readmitted.failure().message;
  ASSERT_TRUE(replace_file(again.certificate, *readmitted).ok());
  EXPECT_FALSE(is_revoked(again)) << "and one by renewal of a readmitted one is let in";
}

TEST_F(RevokedNames, TheRendezvousSaysWhoIsRefused) {
  (void)join("node2", token());
  ASSERT_TRUE(service->revoke_name("node2").ok());
  const TlsFiles readmitted = join("node2", token());
  const auto rendezvous = ControlClient::create(readmitted, address())->rendezvous();
  ASSERT_TRUE(rendezvous.ok()) << rendezvous.failure().message;
  EXPECT_EQ(rendezvous->revoked, revoked->list());
  ASSERT_EQ(rendezvous->revoked.names.size(), 1U);
  EXPECT_EQ(rendezvous->revoked.names[0].readmitted,
            std::vector<std::string>{serial_of(read_file(readmitted.certificate).value()).value()});
}

// Otherwise it would be forgotten by the next start.
TEST_F(RevokedNames, WhatCannotBeWrittenDownIsNotDone) {
  const TlsFiles files = join("node2", token());
  const std::string path = test_support::enrolment_files(run).revoked;
  std::filesystem::create_directories(path + "/in/the/way");
  EXPECT_FALSE(service->revoke_name("node2").ok());
  EXPECT_FALSE(is_revoked(files));
  std::filesystem::remove_all(path);
  EXPECT_TRUE(service->revoke_name("node2").ok());
  EXPECT_TRUE(is_revoked(files)) << "the control";
}

}  // namespace
}  // namespace shoal::revoked_names_test
