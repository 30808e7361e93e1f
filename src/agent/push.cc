#include "agent/push.h"

#define CURL_DISABLE_TYPECHECK  // its macros cannot take functions that were loaded
#include <curl/curl.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <random>

#include "agent/otlp.h"

namespace firstwait {
namespace {

constexpr Ns kSecond = 1'000'000'000;

size_t swallow(char*, size_t size, size_t n, void*) { return size * n; }

// libcurl brings twenty libraries and 6 MB with it: it is loaded when something is pushed, and only
// then.
struct Curl {
  decltype(&::curl_easy_init) init = nullptr;
  decltype(&::curl_easy_cleanup) cleanup = nullptr;
  decltype(&::curl_easy_setopt) set = nullptr;
  decltype(&::curl_easy_perform) perform = nullptr;
  decltype(&::curl_easy_getinfo) get = nullptr;
  decltype(&::curl_slist_append) append = nullptr;
  decltype(&::curl_slist_free_all) free_list = nullptr;
};

const Curl* curl_library() {
  static const Curl* const loaded = []() -> const Curl* {
    void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    static Curl curl;
    bool all = true;
    const auto find = [&](auto& function, const char* name) {
      void* symbol = ::dlsym(library, name);
      std::memcpy(&function, &symbol, sizeof symbol);
      all = all && symbol != nullptr;
    };
    decltype(&::curl_global_init) start = nullptr;
    find(start, "curl_global_init");
    find(curl.init, "curl_easy_init");
    find(curl.cleanup, "curl_easy_cleanup");
    find(curl.set, "curl_easy_setopt");
    find(curl.perform, "curl_easy_perform");
    find(curl.get, "curl_easy_getinfo");
    find(curl.append, "curl_slist_append");
    find(curl.free_list, "curl_slist_free_all");
    return all && start(CURL_GLOBAL_DEFAULT) == CURLE_OK ? &curl : nullptr;
  }();
  return loaded;
}

}  // namespace

Ns retry_pause(unsigned failures, double random) {
  const Ns whole = std::min<Ns>(kSecond << std::min(failures, 10u), 300 * kSecond);
  const Ns half = whole / 2;
  return half + static_cast<Ns>(static_cast<double>(half) * std::clamp(random, 0.0, 1.0));
}

Transport http_transport(const PushConfig& config, const std::string& host) {
  return [config, host](const SpoolMessage& message) {
    const Curl* c = curl_library();
    if (c == nullptr) return Delivery::retry;
    const std::unique_ptr<CURL, decltype(c->cleanup)> curl(c->init(), c->cleanup);
    if (!curl) return Delivery::retry;
    curl_slist* list = c->append(nullptr, "Content-Type: application/x-protobuf");
    list = c->append(list, "Content-Encoding: gzip");
    const std::string id = "X-Firstwait-Message: " + host + "-" + std::to_string(message.sequence);
    list = c->append(list, id.c_str());
    for (const auto& [key, value] : config.headers)
      list = c->append(list, (key + ": " + value).c_str());
    const std::unique_ptr<curl_slist, decltype(c->free_list)> headers(list, c->free_list);
    std::string url = config.url;
    while (url.ends_with("/")) url.pop_back();
    url += "/v1/" + message.kind;
    const auto set = [&](CURLoption option, auto value) { c->set(curl.get(), option, value); };
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTPHEADER, headers.get());
    set(CURLOPT_POSTFIELDS, message.body.data());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(message.body.size()));
    set(CURLOPT_WRITEFUNCTION, &swallow);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, 5L);
    set(CURLOPT_TIMEOUT, 20L);
    set(CURLOPT_USERAGENT, "firstwait-agent");
    if (c->perform(curl.get()) != CURLE_OK) return Delivery::retry;
    long status = 0;
    c->get(curl.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300) return Delivery::accepted;
    // As OTLP says: too many requests and trouble of the server pass, other answers do not. A wrong
    // address or a missing right may be mended, so the data waits for that too.
    const bool for_ever = status == 400 || status == 413 || status == 415 || status == 422;
    return for_ever ? Delivery::refused : Delivery::retry;
  };
}

Result<std::unique_ptr<Push>> Push::start(const PushConfig& config,
                                          std::function<std::shared_ptr<Sampler>()> sampler,
                                          Transport transport, Taken taken) {
  if (!config.url.starts_with("http://") && !config.url.starts_with("https://"))
    return Error{"'" + config.url + "' is no address to push to", "push.url",
                 "write http://host:4318"};
  auto spool = Spool::open(config.spool, config.spool_bytes);
  if (!spool) return spool.error();
  std::unique_ptr<Push> push(new Push(config, std::move(sampler), std::move(transport),
                                      std::move(*spool), std::move(taken)));
  push->thread_ = std::jthread([p = push.get()](const std::stop_token& stop) { p->run(stop); });
  return push;
}

Push::~Push() { stop(); }

Taken Push::stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
    collect();  // what is young is spooled, for the next start
  }
  return taken_;
}

void Push::collect() {
  const auto sampler = sampler_();
  if (!sampler) return;
  if (taken_.of.lock() != sampler) taken_ = {sampler, {}, 0, 0};
  const auto end = sampler->store().with([](SeriesTable& t) { return t.progress(); });
  // About a minute in one message.
  while (taken_.samples != end) {
    auto to =
        sampler->store().with([&](SeriesTable& t) { return t.next(taken_.samples, 60 * kSecond); });
    for (size_t i = 0; i < end.size(); ++i) to[i] = std::min(to[i], end[i]);
    const std::string message = otlp_metrics(*sampler, taken_.samples, to);
    if (!message.empty()) {
      const std::lock_guard lock(mutex_);
      spool_.put("metrics", gzip(message));
    }
    taken_.samples = std::move(to);
  }
  auto events = sampler->store().events();
  auto settings = sampler->store().settings();
  const uint64_t gone = sampler->store().events_dropped();
  const size_t first =
      taken_.events > gone ? std::min<size_t>(taken_.events - gone, events.size()) : 0;
  taken_.events = gone + events.size();
  events.erase(events.begin(), events.begin() + static_cast<ptrdiff_t>(first));
  const size_t old = std::min(taken_.settings, settings.size());
  taken_.settings = settings.size();
  settings.erase(settings.begin(), settings.begin() + static_cast<ptrdiff_t>(old));
  const std::string logs = otlp_logs(sampler->world().host, events, settings);
  if (logs.empty()) return;
  const std::lock_guard lock(mutex_);
  spool_.put("logs", gzip(logs));
}

bool Push::deliver(const std::stop_token& stop, Steady::time_point until) {
  while (!stop.stop_requested() && Steady::now() < until) {
    std::optional<SpoolMessage> message;
    {
      const std::lock_guard lock(mutex_);
      message = spool_.front();
    }
    if (!message) return true;
    const Delivery result = transport_(*message);
    const std::lock_guard lock(mutex_);
    if (result == Delivery::retry) {
      ++counts_.retries;
      return false;
    }
    ++(result == Delivery::accepted ? counts_.delivered : counts_.refused);
    spool_.remove(message->sequence);
  }
  return true;
}

void Push::run(const std::stop_token& stop) {
  std::mt19937 random(std::random_device{}());
  std::uniform_real_distribution<double> uniform(0, 1);
  std::mutex sleep;
  std::condition_variable_any wake;
  unsigned failures = 0;
  auto next_collect = Steady::now() + std::chrono::nanoseconds(config_.interval);
  auto next_try = next_collect;
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(sleep);
      wake.wait_until(lock, stop, std::min(next_collect, std::max(next_try, Steady::now())),
                      [] { return false; });
    }
    if (stop.stop_requested()) return;
    const auto now = Steady::now();
    if (now >= next_collect) {
      collect();
      next_collect = now + std::chrono::nanoseconds(config_.interval);
    }
    if (now < next_try) continue;
    failures = deliver(stop, next_collect) ? 0 : failures + 1;
    next_try = failures == 0 ? next_collect
                             : Steady::now() +
                                   std::chrono::nanoseconds(retry_pause(failures, uniform(random)));
  }
}

PushCounts Push::counts() const {
  const std::lock_guard lock(mutex_);
  PushCounts out = counts_;
  out.spool = spool_.counts();
  return out;
}

}  // namespace firstwait
