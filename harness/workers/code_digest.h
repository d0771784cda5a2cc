// What a program does, apart from who built it where: the digest that two builds of one source
// share although their stamps, build ids and debug information differ.
#pragma once

#include <string>

namespace abba::workers {

// SHA-256 over an ELF file's sections that are loaded into memory, in their order: name, flags,
// address, size and bytes of each (of .bss no bytes). That is text, read-only data, initialised
// data, relocations, and the device code that nvcc embeds (.nv_fatbin). Left out: .abba_stamp (the
// source stamp), notes (build id, compiler versions), and everything that is not loaded (symbols,
// debug information), so stripping changes nothing. Empty if the file is no 64-bit little-endian
// ELF file with sections, or a malformed one: then only its whole digest speaks for it.
// Throws base::Error as sha256_file does if the file cannot be read.
std::string code_digest(const std::string& path);

}  // namespace abba::workers
