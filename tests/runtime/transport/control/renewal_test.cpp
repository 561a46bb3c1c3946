// Tests when a certificate is looked after, and what is taken for its successor.
#include "runtime/transport/control/renewal.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/file.h"
#include "tests/runtime/transport/control/enrolment_files.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::renewal_test {
namespace {

using namespace std::chrono_literals;
using test_support::TestRun;

const WallTime kFrom(std::chrono::seconds(1'800'000'000));

TEST(Renewal, LooksWhenItIsDueAndSoonAgainUntilItIsDone) {
  const Validity short_one{kFrom, kFrom + 90s};
  EXPECT_EQ(until_next_look(short_one, kFrom), 60s);
  EXPECT_EQ(until_next_look(short_one, kFrom + 59s), 1s);
  EXPECT_EQ(until_next_look(short_one, kFrom + 60s), 3s);
  EXPECT_EQ(until_next_look(short_one, kFrom + 89s), 500ms);
  EXPECT_EQ(until_next_look(short_one, kFrom + 500s), 500ms);
  const Validity usual = usual_validity(kFrom);
  EXPECT_EQ(until_next_look(usual, kFrom), 1h) << "clocks jump";
  EXPECT_EQ(until_next_look(usual, usual.not_after - 100min), 10min);
}

// Looking only when told to, every one that is good for long enough is renewed before it expires.
TEST(Renewal, ComesBeforeTheEndForEveryLifetime) {
  for (const auto lifetime : {3s, 10s, 600s, 86'400s, 31'536'000s}) {
    const Validity validity{kFrom, kFrom + lifetime};
    WallTime now = kFrom;
    while (!is_due_for_renewal(validity, now)) now += until_next_look(validity, now);
    EXPECT_LT(now, validity.not_after - lifetime / 7) << lifetime.count();
  }
}

TEST(Renewal, KeepsIdentityAndKey) {
  const TestRun run(7);
  const PeerIdentity node1{run.run(), PeerRole::kNode, "node1"};
  const auto before = run.authority().issue(node1, usual_validity(kFrom)).value();
  const auto sign_as = [&](const std::string& name) {
    return [&run, name](const std::string& request) {
      return run.authority().sign(request, {run.run(), PeerRole::kNode, name}, usual_validity(kFrom));
    };
  };
  const auto after = renewed(before, sign_as("node1"));
  ASSERT_TRUE(after.ok()) << after.failure().message;
  EXPECT_EQ(after->key, before.key);
  EXPECT_EQ(after->ca, before.ca);
  EXPECT_NE(after->certificate, before.certificate);
  EXPECT_EQ(identity_of(after->certificate).value(), node1);
  EXPECT_EQ(renewed(before, sign_as("node2")).failure().error, Error::kInvalidData) << "somebody else's";
  const auto nonsense = [](const std::string&) { return Result<std::string>(std::string("no certificate")); };
  EXPECT_EQ(renewed(before, nonsense).failure().error, Error::kInvalidData);
}

TEST(RenewalPace, S6OfANameSoManyInAThirdOfTheirLife) {
  RenewalPace pace;
  const Validity validity{kFrom, kFrom + 300s};
  Instant now{};
  for (std::size_t i = 0; i < RenewalPace::kRenewalsMax; ++i) {
    EXPECT_TRUE(pace.may_renew("node1", validity, now += 1s)) << i;
  }
  EXPECT_FALSE(pace.may_renew("node1", validity, now));
  EXPECT_TRUE(pace.may_renew("node2", validity, now)) << "each for itself";
  EXPECT_FALSE(pace.may_renew("node1", validity, Instant{} + 100s));
  EXPECT_TRUE(pace.may_renew("node1", validity, Instant{} + 101s));
  EXPECT_FALSE(pace.may_renew("node1", validity, Instant{} + 101s)) << "one has its time behind it";
}

// The processes of a node with many devices, each as often as it is due, and each answer lost once.
TEST(RenewalPace, ServesEveryProcessOfALargeNodeForYears) {
  RenewalPace pace;
  const Validity validity{kFrom, kFrom + std::chrono::hours(24 * 366)};
  const auto period = (validity.not_after - validity.not_before) * 2 / 3;
  Instant now{};
  for (int year = 0; year < 10; ++year, now += std::chrono::duration_cast<Duration>(period)) {
    for (int asked = 0; asked < 2 * 32; ++asked) EXPECT_TRUE(pace.may_renew("node1", validity, now)) << year;
  }
}

// Each is signed, synced to the disk and, for a name that was readmitted, told to every process.
TEST(Renewal, S6ANodeThatAsksAllDayGetsSoManyAndNoMore) {
  const TestRun run(7);
  auto revoked = std::make_shared<RevokedCertificates>();
  const EnrolmentFiles files = test_support::enrolment_files(run);
  const auto service = std::move(EnrolmentService::open(run.authority(), files,
                                                        {.rendezvous = [] { return Rendezvous{}; },
                                                         .name_allowed = [](const auto&) { return Status(Done{}); },
                                                         .now = [] { return kFrom; },
                                                         .revoked = revoked})
                                     .value());
  ASSERT_TRUE(service->revoke_name("node1").ok());
  const auto own = make_key_and_csr("node1").value();
  const JoinToken token = service->make_token(std::chrono::hours(24), 1).value();
  ControlRequest request;
  request.body = enrolment_request_text({token.secret, "node1", own.request, 0});
  const auto enrolled = service->enrol(request);
  ASSERT_EQ(enrolled.status, 200) << enrolled.body;
  request.peer = PeerIdentity{run.run(), PeerRole::kNode, "node1"};
  request.serial = serial_of(parse_enrolment_answer(enrolled.body)->certificate).value();
  request.body = renewal_request_text(own.request);
  int served = 0, refused = 0;
  for (int i = 0; i < 1000 && refused < 10; ++i) {
    const int status = service->renew(request).status;
    served += status == 200 ? 1 : 0;
    refused += status == 503 ? 1 : 0;
  }
  EXPECT_EQ(refused, 10);
  EXPECT_EQ(served, static_cast<int>(RenewalPace::kRenewalsMax));
  ASSERT_EQ(revoked->list().names.size(), 1U);
  EXPECT_LE(revoked->list().names[0].readmitted.size(), RevocationBook::kReadmittedMax);
  const std::string issued = read_file(files.issued).value();
  EXPECT_LE(std::ranges::count(issued, '\n'), 80);
}

}  // namespace
}  // namespace shoal::renewal_test
