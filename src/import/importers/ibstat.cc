// ibstat: the InfiniBand and RoCE ports of a host as they are now.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "import/importer.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    {"line_too_long", Severity::data_loss, "a line is longer than 16 MiB; record ibstat again"},
    {"no_ports", Severity::error, "no port could be read; run ibstat without options"}};
enum : size_t { kTooLong, kNoPorts };

int sniff(const Sniff& s) {
  const std::string_view head = trim(s.head);
  return head.starts_with("CA '") && contains(head, "Number of ports:") ? 90 : 0;
}

class IbstatReader final : public LineReader {
 public:
  explicit IbstatReader(ImportContext context) : context_(std::move(context)) {}

 protected:
  void line(std::string_view text, uint64_t) override {
    const std::string_view s = trim(text);
    if (s.starts_with("CA '")) {
      finish_port();
      device_ = s.substr(4, s.find('\'', 4) - 4);
      return;
    }
    const size_t colon = s.find(':');
    if (device_.empty() || colon == std::string_view::npos) return;
    const std::string_view key = trim(s.substr(0, colon)), value = trim(s.substr(colon + 1));
    if (key.starts_with("Port ") && value.empty()) {
      finish_port();
      if (const auto number = parse_int(key.substr(5)); number && *number > 0 && *number < 256)
        port_ = *number;
      return;
    }
    if (key == "Firmware version") set(nic(1), "firmware.version", value);
    if (key == "CA type") set(nic(1), "nic.model", value);
    if (port_ == 0) return;
    if (key == "State") state_ = value;
    if (key == "Physical state") physical_ = value;
    if (key == "Rate") rate_ = value;
    if (key == "Link layer") layer_ = value;
  }
  void end(bool) override {
    finish_port();
    if (ports_ == 0) return context_.count(kHealth[kNoPorts]);
    context_.note(fmt::format("{} ports", ports_));
  }
  void too_long(uint64_t number) override {
    context_.count(kHealth[kTooLong], 1, fmt::format("line {}", number));
  }

 private:
  // As the metrics' labels are put together: "nic/node07:mlx5_0", and "…/2" for a second port.
  std::string nic(int64_t port) const {
    // ibstat does not name its host; the file's name keeps several hosts apart.
    const std::string_view file =
        std::string_view(context_.path).substr(context_.path.rfind('/') + 1);
    return fmt::format("nic/{}:{}{}", file.substr(0, file.find('.', 1)), device_,
                       port == 1 ? "" : fmt::format("/{}", port));
  }

  void finish_port() {
    if (port_ > 0 && !state_.empty()) {
      ++ports_;
      const std::string id = nic(port_);
      set(id, "nic.state", state_);
      set(id, "nic.physical_state", physical_);
      set(id, "nic.link_layer", layer_);
      // The rate of a port that is down is what it would try first.
      const auto gigabits = parse_double(rate_);
      if (state_ == "Active" && gigabits && *gigabits > 0 && *gigabits < 1e6)
        set(id, "nic.speed", fmt::format("{:.0f} Mbit/s", *gigabits * 1000));
    }
    port_ = 0;
    for (auto* field : {&state_, &physical_, &rate_, &layer_}) field->clear();
  }

  void set(std::string entity, std::string_view key, std::string_view value) {
    if (!value.empty())
      context_.out.settings.push_back(
          {std::move(entity), std::string(key), std::string(value), context_.path, kNoTime});
  }

  ImportContext context_;
  std::string device_;
  int64_t port_ = 0, ports_ = 0;
  std::string state_, physical_, rate_, layer_;
};

}  // namespace

extern const Importer importer_ibstat{
    .name = "ibstat",
    .summary = "ibstat output: state, rate and link layer of each InfiniBand or RoCE port",
    .formats = "ibstat without options, a file a host, named after it",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<IbstatReader>(std::move(c));
    }};

}  // namespace firstwait
