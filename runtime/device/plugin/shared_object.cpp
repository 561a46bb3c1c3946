// The format is that of elf(5). Every number is the file's own claim: it is compared with the file's size before
// anything is read by it.
#include "runtime/device/plugin/shared_object.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr std::size_t kNameMax = 4096;          // of a library, or of all folders of an RPATH
constexpr std::uint64_t kDynamicMax = 1 << 20;  // bytes of the list of what a library needs
constexpr std::string_view kOrigins[] = {"$ORIGIN", "${ORIGIN}"};

[[nodiscard]] Failure invalid(std::string why) { return fail(Error::kInvalidData, std::move(why)); }

// The end of a part of the file; the largest number where there is no such end.
[[nodiscard]] std::uint64_t end_of(std::uint64_t begin, std::uint64_t size) {
  return size > UINT64_MAX - begin ? UINT64_MAX : begin + size;
}

// Reads `into` whole, from `at` on, which is known to be in the file.
[[nodiscard]] Status read_whole(const InputFile& file, std::uint64_t at, std::span<char> into) {
  const auto got = file.read_at(at, into);
  if (!got) return got.failure();
  if (*got == into.size()) return Done{};
  return invalid(compose("it ends after ", at + *got, " bytes while it is read"));
}

template <class Entry>
[[nodiscard]] Result<std::vector<Entry>> read_entries(const InputFile& file, std::uint64_t at, std::size_t count) {
  std::vector<Entry> entries(count);
  const std::span<char> bytes(reinterpret_cast<char*>(entries.data()), count * sizeof(Entry));
  if (auto read = read_whole(file, at, bytes); !read) return read.failure();
  return entries;
}

[[nodiscard]] Status check_length(const InputFile& file, std::uint64_t needed) {
  if (needed <= file.size) return Done{};
  if (needed == UINT64_MAX) return invalid("its headers name a part beyond any file's end");
  return invalid(compose("it has ", file.size, " of at least ", needed, " bytes"));
}

[[nodiscard]] Result<Elf64_Ehdr> read_header(const InputFile& file) {
  if (auto whole = check_length(file, sizeof(Elf64_Ehdr)); !whole) return whole.failure();
  const auto read = read_entries<Elf64_Ehdr>(file, 0, 1);
  if (!read) return read.failure();
  const Elf64_Ehdr& header = read->front();
  const bool is_elf = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                      header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_phentsize == sizeof(Elf64_Phdr);
  if (!is_elf) return invalid("it does not begin as a library of this machine does");
  return header;
}

using Segments = std::vector<Elf64_Phdr>;

// Returns the parts that the loader maps, all of which are in the file, as is the table behind them.
[[nodiscard]] Result<Segments> read_segments(const InputFile& file, const Elf64_Ehdr& header) {
  const std::uint64_t table = end_of(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  if (auto whole = check_length(file, table); !whole) return whole.failure();
  auto segments = read_entries<Elf64_Phdr>(file, header.e_phoff, header.e_phnum);
  if (!segments) return segments.failure();
  std::uint64_t needed = end_of(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize);
  for (const Elf64_Phdr& segment : *segments) {
    if (segment.p_filesz > 0) needed = std::max(needed, end_of(segment.p_offset, segment.p_filesz));
  }
  if (auto whole = check_length(file, needed); !whole) return whole.failure();
  return segments;
}

// Nothing: no part of the file is mapped there.
[[nodiscard]] std::optional<std::uint64_t> place_of(std::uint64_t address, const Segments& segments) {
  for (const Elf64_Phdr& segment : segments) {
    const bool is_in =
        segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz;
    if (is_in) return segment.p_offset + (address - segment.p_vaddr);
  }
  return std::nullopt;
}

using Dynamic = std::vector<Elf64_Dyn>;

// Reads what a library needs; nothing of a file without such a list.
[[nodiscard]] Result<Dynamic> read_dynamic(const InputFile& file, const Segments& segments) {
  const auto found = std::ranges::find(segments, PT_DYNAMIC, &Elf64_Phdr::p_type);
  if (found == segments.end() || found->p_filesz > kDynamicMax) return Dynamic();
  auto entries = read_entries<Elf64_Dyn>(file, found->p_offset, found->p_filesz / sizeof(Elf64_Dyn));
  if (entries) entries->erase(std::ranges::find(*entries, DT_NULL, &Elf64_Dyn::d_tag), entries->end());
  return entries;
}

// A text of the library's table of texts, which begins at `table`; empty where none is there.
[[nodiscard]] std::string text_at(const InputFile& file, std::uint64_t table, std::uint64_t offset) {
  const std::uint64_t at = end_of(table, offset);
  if (at >= file.size) return {};
  std::string text(std::min<std::uint64_t>(kNameMax, file.size - at), '\0');
  const auto got = file.read_at(at, text);
  text.resize(got ? *got : 0);
  const std::size_t end = text.find('\0');
  return end == std::string::npos ? std::string() : text.substr(0, end);
}

[[nodiscard]] std::vector<std::string> folders_in(std::string_view list) {
  std::vector<std::string> folders;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    if (end > 0) folders.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return folders;
}

}  // namespace

Result<SharedObject> read_shared_object(const InputFile& file) {
  const auto header = read_header(file);
  if (!header) return header.failure();
  const auto segments = read_segments(file, *header);
  if (!segments) return segments.failure();
  const auto dynamic = read_dynamic(file, *segments);
  if (!dynamic) return dynamic.failure();
  SharedObject object;
  const auto texts = std::ranges::find(*dynamic, DT_STRTAB, &Elf64_Dyn::d_tag);
  const auto table = texts == dynamic->end() ? std::nullopt : place_of(texts->d_un.d_ptr, *segments);
  if (!table) return object;
  for (const Elf64_Dyn& entry : *dynamic) {
    const bool is_text = entry.d_tag == DT_NEEDED || entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH;
    if (!is_text) continue;
    const std::string text = text_at(file, *table, entry.d_un.d_val);
    if (entry.d_tag == DT_NEEDED && !text.empty()) object.needed.push_back(text);
    if (entry.d_tag == DT_RPATH) object.rpath = folders_in(text);
    if (entry.d_tag == DT_RUNPATH) object.runpath = folders_in(text);
  }
  return object;
}

std::string folder_from(const std::string& folder, const std::string& origin) {
  std::string path = folder;
  for (const std::string_view word : kOrigins) {
    for (std::size_t at = path.find(word); at != std::string::npos; at = path.find(word, at + origin.size())) {
      path.replace(at, word.size(), origin);
    }
  }
  return path;
}

}  // namespace shoal
