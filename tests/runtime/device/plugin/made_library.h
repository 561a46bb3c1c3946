// Makes the bytes of a shared library of headers alone: what it needs, where that is looked for, and a table of
// sections at its end, as linkers put it.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

namespace shoal {

struct MadeLibrary {
  std::vector<std::string> needed;
  std::string rpath;
  std::string runpath;
  Elf64_Half machine = EM_X86_64;
  bool is_32_bit = false;  // says so, and is none
};

// Its parts in the file: header, two program headers, entries of the dynamic section, texts, four section headers.
inline std::string bytes_of(const MadeLibrary& library) {
  std::string texts(1, '\0');
  std::vector<Elf64_Dyn> dynamic;
  const auto add = [&](Elf64_Sxword tag, const std::string& text) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = texts.size();
    dynamic.push_back(entry);
    texts += text + '\0';
  };
  for (const std::string& name : library.needed) add(DT_NEEDED, name);
  if (!library.rpath.empty()) add(DT_RPATH, library.rpath);
  if (!library.runpath.empty()) add(DT_RUNPATH, library.runpath);
  constexpr std::uint64_t kAddress = 0x10000;  // of the file's first byte
  const std::uint64_t dynamic_at = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  const std::uint64_t texts_at = dynamic_at + (dynamic.size() + 2) * sizeof(Elf64_Dyn);
  Elf64_Dyn table{};
  table.d_tag = DT_STRTAB;
  table.d_un.d_ptr = kAddress + texts_at;
  dynamic.push_back(table);
  dynamic.push_back(Elf64_Dyn{});
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  load.p_vaddr = kAddress;
  load.p_filesz = texts_at + texts.size();
  Elf64_Phdr list{};
  list.p_type = PT_DYNAMIC;
  list.p_offset = dynamic_at;
  list.p_filesz = dynamic.size() * sizeof(Elf64_Dyn);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = library.is_32_bit ? ELFCLASS32 : ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = library.machine;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  header.e_shoff = texts_at + texts.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  const auto raw = [](const void* data, std::size_t size) { return std::string(static_cast<const char*>(data), size); };
  return raw(&header, sizeof(header)) + raw(&load, sizeof(load)) + raw(&list, sizeof(list)) +
         raw(dynamic.data(), dynamic.size() * sizeof(Elf64_Dyn)) + texts + std::string(4 * sizeof(Elf64_Shdr), '\0');
}

}  // namespace shoal
