// One system library opened at run time, so that the program starts where it is absent. Owns the
// handle; calls go by name and answer kNoSymbol where the library or the function is not there.
#pragma once

#include <dlfcn.h>

#include <string>

namespace abba::host {

inline constexpr int kNoSymbol = -1;

class SystemLibrary {
 public:
  explicit SystemLibrary(const char* name)
      : name_(name), handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      const char* reason = ::dlerror();
      problem_ = name_ + " cannot be opened" + (reason ? std::string(": ") + reason : "");
    }
  }
  ~SystemLibrary() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  SystemLibrary(const SystemLibrary&) = delete;
  SystemLibrary& operator=(const SystemLibrary&) = delete;

  [[nodiscard]] bool is_open() const { return handle_ != nullptr; }
  // Why it says nothing, or empty.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  void set_problem(const std::string& problem) { problem_ = name_ + ": " + problem; }

  // Calls a function that returns a status, 0 = good.
  template <typename... Args>
  int call(const char* symbol, Args... args) const {
    void* address = handle_ == nullptr ? nullptr : ::dlsym(handle_, symbol);
    if (address == nullptr) return kNoSymbol;
    return reinterpret_cast<int (*)(Args...)>(address)(args...);
  }

 private:
  std::string name_;
  void* handle_;
  std::string problem_;
};

}  // namespace abba::host
