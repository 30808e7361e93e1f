// What NCCL says of itself (NCCL_DEBUG=INFO, versions 2.4 to 2.28) and what all-reduce benchmarks
// print.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/importer.h"

namespace firstwait {

inline constexpr HealthCounter kNcclWarnings{
    "nccl_warnings", Severity::info,
    "NCCL warned more often than is kept; the first hundred are events of this file"};
inline constexpr HealthCounter kNcclUnreadable{
    "unreadable_nccl_line", Severity::data_loss,
    "an NCCL line has no host:pid:tid in front; keep the lines whole"};

class NcclLines {
 public:
  explicit NcclLines(const ImportContext& context) : context_(context) {}
  // One line, as written; `time` of its prefix or kNoTime. False when it says nothing of NCCL.
  bool line(std::string_view text, Ns time, uint64_t number);
  // Writes settings, ranks, relations and series.
  void finish();
  bool any() const { return lines_ > 0 || !bandwidths_.empty(); }

 private:
  struct Process {
    std::string host;
    int32_t device = -1, rank = -1, ranks = -1;
    std::string bus;
    std::set<std::string> transports;
    uint64_t net = 0,
             gdr = 0;  // connections over the network, and those of them with GPUDirect RDMA
    std::map<std::string, std::string> facts;  // setting key -> value
  };
  struct Bandwidth {
    std::string entity, metric, bytes, placement;
    double value = 0;
  };
  Process& process(std::string_view head);
  void message(Process& p, std::string_view text);
  void connection(Process& p, std::string_view via);
  void communicator(Process& p, std::string_view text);
  bool benchmark(std::string_view text);
  bool table_row(std::string_view text);
  void bandwidth(std::string entity, std::string_view metric, double bytes_per_second,
                 std::string_view size = {}, std::string_view placement = {});
  void write_ranks();
  void write_settings();
  void write_series();

  const ImportContext& context_;
  std::map<std::string, Process, std::less<>> processes_;
  std::string version_, bench_bytes_;
  int32_t bench_rank_ = -1;
  int32_t channels_ = -1;
  bool table_ = false;
  uint64_t lines_ = 0, warnings_ = 0;
  std::vector<Bandwidth> bandwidths_;
};

// How sure it is that `head` is such a log: 0 to 100.
int sniff_nccl(std::string_view head);

}  // namespace firstwait
