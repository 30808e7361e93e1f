#include "align/gpu_names.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"

namespace firstwait {
namespace {

constexpr std::string_view kGpu = "gpu/";

// "9b:00" in domain 0, as "0:9b:00": of "00000000:9B:00.0", "0000:9b:00", "9b:00.0" and of NCCL's
// "9b000".
std::string bus_key(std::string_view text) {
  std::string s = to_lower(trim(text));
  if (s.starts_with("pci:")) s.erase(0, 4);
  if (s.find_first_not_of("0123456789abcdef:.") != std::string::npos) return {};
  if (s.find(':') == std::string::npos) {  // bus, device, function in one number
    if (s.size() < 4 || s.size() > 6 || s.find('.') != std::string::npos) return {};
    s.insert(0, 6 - s.size(), '0');
    s = s.substr(s.size() - 5, 2) + ":" + s.substr(s.size() - 3, 2);
  }
  s = s.substr(0, s.find('.'));
  const auto parts = split(s, ':');
  if (parts.size() < 2 || parts.size() > 3) return {};
  const std::string_view domain = parts.size() == 3 ? parts[0] : "0";
  const size_t digit = domain.find_first_not_of('0');
  return std::string(digit == std::string_view::npos ? "0" : domain.substr(digit)) + ":" +
         std::string(parts[parts.size() - 2]) + ":" + std::string(parts.back());
}

// The host and what stands behind it, of "gpu/node07:0000:9b:00".
struct Place {
  std::string_view host, device;
};
std::optional<Place> place(std::string_view entity) {
  if (!entity.starts_with(kGpu)) return std::nullopt;
  const std::string_view id = entity.substr(kGpu.size());
  const size_t colon = id.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  return Place{id.substr(0, colon), id.substr(colon + 1)};
}
bool is_numbered(std::string_view device) { return parse_int(device).has_value(); }

class GpuNames {
 public:
  explicit GpuNames(const Evidence& evidence) {
    for (const Setting& s : evidence.settings)
      if (s.key == "gpu.bus_id")
        learn(s.entity, bus_key(s.value));
      else if (s.key == "gpu.uuid")
        learn(s.entity, s.value);
    for (const Entity& e : evidence.entities)
      for (const auto& [key, value] : e.attributes)
        if (key == "bus_id")
          learn(e.id, bus_key(value));
        else if (key == "uuid")
          learn(e.id, value);
  }
  bool empty() const { return numbered_.empty(); }

  void rename(std::string& entity) const {
    const auto p = place(entity);
    if (!p || is_numbered(p->device)) return;
    auto known = numbered_.find(key(p->host, p->device));
    if (known == numbered_.end()) known = numbered_.find(key(p->host, bus_key(p->device)));
    if (known != numbered_.end() && !known->second.empty()) entity = known->second;
  }

 private:
  static std::string key(std::string_view host, std::string_view device) {
    return std::string(host) + '\n' + std::string(device);
  }
  void learn(const std::string& entity, std::string_view device) {
    const auto p = place(entity);
    if (!p || !is_numbered(p->device) || device.empty()) return;
    const auto [at, inserted] = numbered_.emplace(key(p->host, device), entity);
    if (!inserted && at->second != entity) at->second.clear();  // two numbers: neither is believed
  }

  std::map<std::string, std::string> numbered_;  // host and address or UUID -> "gpu/node07:2"
};

}  // namespace

void join_gpu_names(Evidence& evidence) {
  const GpuNames names(evidence);
  if (names.empty()) return;
  for (Event& e : evidence.events) names.rename(e.entity);
  for (Setting& s : evidence.settings) names.rename(s.entity);
  for (Entity& e : evidence.entities) names.rename(e.id);
  for (Relation& r : evidence.relations) {
    names.rename(r.from);
    names.rename(r.to);
  }
}

}  // namespace firstwait
