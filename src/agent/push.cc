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
                                          Transport transport) {
  if (!config.url.starts_with("http://") && !config.url.starts_with("https://"))
    return Error{"'" + config.url + "' is no address to push to", "push.url",
                 "write http://host:4318"};
  auto spool = Spool::open(config.spool, config.spool_bytes);
  if (!spool) return spool.error();
  std::unique_ptr<Push> push(
      new Push(config, std::move(sampler), std::move(transport), std::move(*spool)));
  push->thread_ = std::jthread([p = push.get()](const std::stop_token& stop) { p->run(stop); });
  return push;
}

Push::~Push() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  collect(system_now());  // what is young is spooled, for the next start
}

void Push::collect(Ns now) {
  const auto sampler = sampler_();
  if (!sampler) return;
  // A clock that was set back: from its new time on. Beyond what the sampler keeps there is nothing
  // to take.
  constexpr Ns kKept = 4500 * kSecond;
  if (pushed_to_ == kNoTime || pushed_to_ > now) pushed_to_ = now - config_.interval;
  pushed_to_ = std::max(pushed_to_, now - kKept);
  // At most a minute in one message.
  for (Ns from = pushed_to_; from < now;) {
    const Ns to = std::min(now, from + 60 * kSecond);
    const std::string body = gzip(otlp_metrics(*sampler, from, to));
    if (!body.empty()) {
      const std::lock_guard lock(mutex_);
      spool_.put("metrics", body);
    }
    from = pushed_to_ = to;
  }
  auto events = sampler->store().events();
  auto settings = sampler->store().settings();
  if (seen_of_ != sampler.get()) events_seen_ = settings_seen_ = 0;
  seen_of_ = sampler.get();
  const uint64_t gone = sampler->store().events_dropped();
  const size_t first =
      events_seen_ > gone ? std::min<size_t>(events_seen_ - gone, events.size()) : 0;
  events_seen_ = gone + events.size();
  events.erase(events.begin(), events.begin() + static_cast<ptrdiff_t>(first));
  const size_t old = std::min(settings_seen_, settings.size());
  settings_seen_ = settings.size();
  settings.erase(settings.begin(), settings.begin() + static_cast<ptrdiff_t>(old));
  const std::string logs = otlp_logs(sampler->world().host, events, settings);
  if (logs.empty()) return;
  const std::lock_guard lock(mutex_);
  spool_.put("logs", gzip(logs));
}

bool Push::deliver(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
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
  auto next_collect = std::chrono::steady_clock::now() + std::chrono::nanoseconds(config_.interval);
  auto next_try = next_collect;
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(sleep);
      wake.wait_until(lock, stop,
                      std::min(next_collect, std::max(next_try, std::chrono::steady_clock::now())),
                      [] { return false; });
    }
    if (stop.stop_requested()) return;
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_collect) {
      collect(system_now());
      next_collect = now + std::chrono::nanoseconds(config_.interval);
    }
    if (now < next_try) continue;
    failures = deliver(stop) ? 0 : failures + 1;
    next_try = failures == 0 ? next_collect
                             : std::chrono::steady_clock::now() +
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
