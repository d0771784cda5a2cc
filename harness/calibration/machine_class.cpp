#include "harness/calibration/machine_class.h"

#include <cstdlib>
#include <string_view>

#include "engine/base/text.h"

namespace abba::calibration {
namespace {

std::string value_of(const std::vector<record::Identity>& identity, std::string_view source,
                     std::string_view key) {
  for (const auto& row : identity) {
    if (row.source == source && row.key == key && row.value.rfind("unreadable", 0) != 0) {
      return row.value;
    }
  }
  return "";
}

// Small letters and digits, everything between them one hyphen; "(R)" and "(TM)" vanish.
std::string folder_name(std::string text) {
  for (const std::string_view mark : {"(R)", "(r)", "(TM)", "(tm)"}) {
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
      text.erase(at, mark.size());
    }
  }
  std::string out;
  for (const char c : text) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      out += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') {
    out.pop_back();
  }
  return out.substr(0, 80);
}

// Of a kernel's list such as "0-3,8-11".
int cpus_in(const std::string& list) {
  int count = 0;
  for (const std::string& part : base::split(list, ',')) {
    const auto dash = part.find('-');
    const int first = std::atoi(part.c_str());
    const int last = dash == std::string::npos ? first : std::atoi(part.c_str() + dash + 1);
    count += part.empty() || last < first ? 0 : last - first + 1;
  }
  return count;
}

}  // namespace

std::string machine_class(const std::vector<record::Identity>& identity) {
  const std::string device = folder_name(value_of(identity, "device", "name"));
  if (!device.empty()) {
    return device;
  }
  std::string name = folder_name(value_of(identity, "cpu", "model name"));
  if (name.empty()) {
    name = "unknown-cpu";
  }
  // Virtual machines hide the product behind one name; these numbers tell the generations apart.
  const std::string family = folder_name(value_of(identity, "cpu", "cpu family"));
  const std::string model = folder_name(value_of(identity, "cpu", "model"));
  if (!family.empty() && !model.empty()) {
    name += "-family-" + family + "-model-" + model;
  }
  return name + "-" + std::to_string(cpus_in(value_of(identity, "cpu", "online"))) + "-cpus";
}

}  // namespace abba::calibration
