#include "harness/workers/code_digest.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/sha256.h"
#include "engine/base/text.h"

namespace abba::workers {
namespace {

// The file is not trusted: every offset is checked against its size before it is used.
class Elf {
 public:
  explicit Elf(std::string_view bytes) : bytes_(bytes) {}

  // False for anything but a whole 64-bit little-endian file with sections.
  bool read_sections() {
    const auto header = at<Elf64_Ehdr>(0);
    const bool is_ours = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                         header->e_ident[EI_CLASS] == ELFCLASS64 &&
                         header->e_ident[EI_DATA] == ELFDATA2LSB;
    if (!is_ours || header->e_shnum == 0 || header->e_shentsize != sizeof(Elf64_Shdr)) {
      return false;
    }
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
      if (!section) return false;
      sections_.push_back(*section);
    }
    if (header->e_shstrndx >= sections_.size()) return false;
    const auto names = content(sections_[header->e_shstrndx]);
    if (!names) return false;
    names_ = *names;
    return true;
  }

  [[nodiscard]] const std::vector<Elf64_Shdr>& sections() const { return sections_; }

  [[nodiscard]] std::string_view name(const Elf64_Shdr& section) const {
    if (section.sh_name >= names_.size()) return {};
    const std::string_view rest = names_.substr(section.sh_name);
    return rest.substr(0, rest.find('\0'));
  }

  [[nodiscard]] std::optional<std::string_view> content(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS) return std::string_view{};
    const bool inside =
        section.sh_offset <= bytes_.size() && section.sh_size <= bytes_.size() - section.sh_offset;
    if (!inside) return std::nullopt;
    return bytes_.substr(section.sh_offset, section.sh_size);
  }

 private:
  template <typename T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    if (bytes_.size() < sizeof(T) || offset > bytes_.size() - sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  std::string_view bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::string_view names_;
};

bool counts(const Elf64_Shdr& section, std::string_view name) {
  constexpr std::string_view kStamp = ".abba_stamp";
  return (section.sh_flags & SHF_ALLOC) != 0 && section.sh_type != SHT_NOTE && name != kStamp;
}

}  // namespace

std::string code_digest(const std::string& path) {
  const std::string bytes = base::read_file(path, std::size_t{1} << 32U);
  Elf elf(bytes);
  if (!elf.read_sections()) return {};
  base::Sha256 sha;
  sha.update("abba.code/1\n");
  for (const Elf64_Shdr& section : elf.sections()) {
    const std::string_view name = elf.name(section);
    if (!counts(section, name)) continue;
    const auto content = elf.content(section);
    if (!content) return {};
    sha.update(std::string(name) + " " + std::to_string(section.sh_flags) + " " +
               std::to_string(section.sh_addr) + " " + std::to_string(section.sh_size) + "\n");
    sha.update(content->data(), content->size());
  }
  return sha.hex_digest();
}

}  // namespace abba::workers
