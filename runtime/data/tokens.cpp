// mmap, read-only and shared: processes on one machine share the pages.
#include "runtime/data/tokens.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "runtime/base/compose.h"
#include "runtime/base/sha256.h"
#include "runtime/data/text.h"
#include "runtime/data/tokenizer.h"

namespace shoal {
namespace {

class Descriptor {
 public:
  // Non-blocking, so that a pipe given by mistake is seen as one and not waited for.
  explicit Descriptor(const std::filesystem::path& path)
      : value_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return value_; }

 private:
  int value_;
};

Failure unusable(const std::filesystem::path& path, const std::string& why) {
  return fail(Error::kInvalidData, compose("the text ", path.string(), " cannot be used: ", why,
                                           ". Set data.corpus to \"austen\", \"kjv\" or the path of a text file."));
}

}  // namespace

TokenSplit split_tokens(std::uint64_t tokens, double validation_fraction) {
  CHECK(validation_fraction >= 0 && validation_fraction <= 1, "a fraction of the text is in [0, 1]");
  const auto validation = static_cast<std::uint64_t>(std::floor(static_cast<double>(tokens) * validation_fraction));
  return TokenSplit{.train = tokens - validation, .validation = validation};
}

Result<std::shared_ptr<const Tokens>> Tokens::open(const std::filesystem::path& path, double validation_fraction) {
  const Descriptor file(path);
  struct stat facts {};
  if (file.get() < 0 || ::fstat(file.get(), &facts) != 0) return unusable(path, std::strerror(errno));
  if (S_ISDIR(facts.st_mode)) return unusable(path, "it is a folder");
  if (!S_ISREG(facts.st_mode)) return unusable(path, "it is not a regular file");
  if (facts.st_size == 0) return unusable(path, "it is empty");
  const auto size = static_cast<std::size_t>(facts.st_size);
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (start == MAP_FAILED) return unusable(path, std::strerror(errno));
  return std::shared_ptr<const Tokens>(new Tokens(path, std::span(static_cast<const std::uint8_t*>(start), size),
                                                  split_tokens(size, validation_fraction)));
}

Tokens::Tokens(std::filesystem::path path, std::span<const std::uint8_t> bytes, TokenSplit split)
    : path_(std::move(path)), bytes_(bytes), split_(split) {}

Tokens::~Tokens() { ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size()); }

void Tokens::read(std::uint64_t offset, std::span<std::int32_t> out) const {
  CHECK(offset <= count() && out.size() <= count() - offset, "tokens are read within the text");
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
}

std::string Tokens::corpus_sha256() const { return sha256_hex(std::as_bytes(bytes_)); }

Status check_length(const Tokens& tokens, int context) {
  CHECK(context > 0, "a context has tokens");
  const auto length = static_cast<std::uint64_t>(context);
  const TokenSplit split = tokens.split();
  if (split.train < 2 * length) {
    return fail(Error::kInvalidData, compose("the text ", tokens.path().string(), " is too short: ", split.train,
                                             " training tokens, and model.context = ", context, " needs at least ",
                                             2 * length, ". Use a longer text or a smaller model.context."));
  }
  if (split.validation < length + 1) {
    return fail(Error::kInvalidData,
                compose("the text ", tokens.path().string(), " is too short: ", split.validation,
                        " validation tokens, and model.context = ", context, " needs at least ", length + 1,
                        ". Use a longer text, a larger data.validation_fraction or a smaller model.context."));
  }
  return Done{};
}

Result<std::shared_ptr<const Tokens>> open_evaluation_text(const std::filesystem::path& path) {
  auto tokens = Tokens::open(path, 1.0);
  if (tokens.ok() && (*tokens)->count() < 2) {
    return fail(Error::kInvalidData, compose("the text ", path.string(), " is too short: one byte predicts nothing."));
  }
  return tokens;
}

Result<std::shared_ptr<const Tokens>> open_tokens(const DataConfig& data, int context) {
  const auto tokenizer = make_tokenizer(data.tokenizer);
  if (!tokenizer) return tokenizer.failure();
  const auto path = obtain_corpus(data.corpus);
  if (!path) return path.failure();
  auto tokens = Tokens::open(*path, data.validation_fraction);
  if (!tokens) return tokens;
  if (const Status enough = check_length(**tokens, context); !enough) return enough.failure();
  return tokens;
}

}  // namespace shoal
