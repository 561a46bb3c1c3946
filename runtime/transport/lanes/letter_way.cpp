// By the names that tensors have in messages; codec.h has a buffer for each of them.
#include "runtime/transport/lanes/letter_way.h"

namespace shoal {
namespace {

template <class Body>
[[nodiscard]] bool has_tensor(const Body& body) {
  if constexpr (requires { body.input.bytes; }) return body.input.has_value() || body.targets.has_value();
  if constexpr (requires { body.input_gradient.bytes; }) return body.input_gradient.has_value();
  if constexpr (requires { body.values.bytes; }) return body.values.has_value();
  if constexpr (requires { body.image.bytes; }) return body.image.has_value();
  if constexpr (requires { body.bytes.bytes; }) return body.bytes.has_value();
  return false;
}

}  // namespace

LetterWay way_of(const MessageBody& body) {
  const bool keeps_their_order = std::holds_alternative<Ask>(body) || std::holds_alternative<AskAnswer>(body) ||
                                 std::holds_alternative<Backward>(body);  // of an evaluation it has no tensor
  if (keeps_their_order) return LetterWay::kLane;
  return std::visit([](const auto& one) { return has_tensor(one) ? LetterWay::kLane : LetterWay::kLink; }, body);
}

}  // namespace shoal
