// The catalogue's rows as tables by the index of a body, and the fields that they name.
#include "messages/catalogue/facts.h"

#include <type_traits>

namespace shoal {
namespace {

// MessageBody has its alternatives from the same rows, so that its index is that of the row.
#define SHOAL_FACTS(Type, said, way, sender, lost, counts, heard) \
  MessageFacts{#Type,                                             \
               [] {                                               \
                 using enum Sayer;                                \
                 return said;                                     \
               }(),                                               \
               MessageWay::way,                                   \
               WhenLost::lost,                                    \
               &ByteCounts::counts,                               \
               kHearers<Type>},
constexpr MessageFacts kFacts[] = {SHOAL_MESSAGES(SHOAL_FACTS)};
#undef SHOAL_FACTS

template <class Message>
constexpr SenderField kSenderField = SenderField::kNobody;
#define SHOAL_SENDER(Type, said, way, sender, lost, counts, heard) \
  template <>                                                      \
  constexpr SenderField kSenderField<Type> = SenderField::sender;
SHOAL_MESSAGES(SHOAL_SENDER)
#undef SHOAL_SENDER

// Calls `each` with every tensor. These are the names that tensors have in messages; a test compares them with those
// that the codec finds.
template <class Message, class Each>
constexpr void visit_tensors([[maybe_unused]] Message& message, [[maybe_unused]] const Each& each) {
  if constexpr (requires { message.input.bytes; }) each(message.input);
  if constexpr (requires { message.targets.bytes; }) each(message.targets);
  if constexpr (requires { message.input_gradient.bytes; }) each(message.input_gradient);
  if constexpr (requires { message.values.bytes; }) each(message.values);
  if constexpr (requires { message.image.bytes; }) each(message.image);
  if constexpr (requires { message.bytes.bytes; }) each(message.bytes);
}

template <class Message>
constexpr bool kHoldsTensors = requires(const Message& message) {
  message.input.bytes;
}
|| requires(const Message& message) { message.input_gradient.bytes; }
|| requires(const Message& message) { message.values.bytes; }
|| requires(const Message& message) { message.image.bytes; }
|| requires(const Message& message) { message.bytes.bytes; };

// The column agrees with the struct: a message with tensors never takes the link alone.
#define SHOAL_WAY(Type, said, way, sender, lost, counts, heard)                       \
  static_assert(!kHoldsTensors<Type> || MessageWay::way != MessageWay::kLink, #Type); \
  static_assert(kHoldsTensors<Type> || MessageWay::way != MessageWay::kTensors, #Type);
SHOAL_MESSAGES(SHOAL_WAY)
#undef SHOAL_WAY

template <class Message>
std::optional<ProcessIncarnation> process_in([[maybe_unused]] const Message& message) {
  constexpr SenderField field = kSenderField<Message>;
  if constexpr (field == SenderField::kProcess || field == SenderField::kBoth) return message.process;
  return std::nullopt;
}

template <class Message>
std::optional<Incarnation> replica_in([[maybe_unused]] const Message& message) {
  constexpr SenderField field = kSenderField<Message>;
  if constexpr (field == SenderField::kSender) return message.sender;
  if constexpr (field == SenderField::kMember) return message.member;
  if constexpr (field == SenderField::kReplica || field == SenderField::kBoth) return message.replica;
  if constexpr (field == SenderField::kDonor) {
    return message.donor == Incarnation{} ? std::nullopt : std::optional(message.donor);
  }
  if constexpr (field == SenderField::kReceiver) {
    return message.is_shard ? std::nullopt : std::optional(message.replica);
  }
  return std::nullopt;
}

template <class Message>
std::optional<bool> is_storage_donor_of([[maybe_unused]] const Message& message) {
  if constexpr (kSenderField<Message> == SenderField::kDonor) return message.donor == Incarnation{};
  return std::nullopt;
}

}  // namespace

const MessageFacts& facts_of(const MessageBody& body) { return kFacts[body.index()]; }

std::optional<ProcessIncarnation> sending_process(const MessageBody& body) {
  return std::visit([](const auto& message) { return process_in(message); }, body);
}

std::optional<Incarnation> sending_replica(const MessageBody& body) {
  return std::visit([](const auto& message) { return replica_in(message); }, body);
}

std::optional<bool> is_given_by_storage(const MessageBody& body) {
  return std::visit([](const auto& message) { return is_storage_donor_of(message); }, body);
}

std::uint64_t tensor_bytes(const MessageBody& body) {
  std::uint64_t bytes = 0;
  const auto add = [&bytes](const TensorBlob& tensor) { bytes += tensor.byte_count(); };
  std::visit([&add](const auto& message) { visit_tensors(message, add); }, body);
  return bytes;
}

bool has_tensor(const MessageBody& body) {
  bool has_one = false;
  const auto look = [&has_one](const TensorBlob& tensor) { has_one = has_one || tensor.has_value(); };
  std::visit([&look](const auto& message) { visit_tensors(message, look); }, body);
  return has_one;
}

std::vector<std::shared_ptr<const ResidentTensor>> residents_of(const MessageBody& body) {
  std::vector<std::shared_ptr<const ResidentTensor>> residents;
  const auto look = [&residents](const TensorBlob& tensor) {
    if (tensor.resident) residents.push_back(tensor.resident);
  };
  std::visit([&look](const auto& message) { visit_tensors(message, look); }, body);
  return residents;
}

bool bring_to_host(MessageBody& body, const std::shared_ptr<const ResidentTensor>& resident, const TensorBlob& copy) {
  bool has_it = false;
  const auto replace = [&](TensorBlob& tensor) {
    if (tensor.resident != resident) return;
    has_it = true;
    tensor = copy;
  };
  std::visit([&replace](auto& message) { visit_tensors(message, replace); }, body);
  return has_it;
}

}  // namespace shoal
