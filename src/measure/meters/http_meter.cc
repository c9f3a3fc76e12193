#include <curl/curl.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/secrets.h"
#include "measure/meters/energy_log.h"
#include "measure/meters/external.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

constexpr std::size_t longest_body = 1 << 16;
constexpr double between_looks_s = 0.2;
/// Plugs renew their figure about once a second; taken where it does not change while it is watched.
constexpr double usual_period_s = 1;
/// A plug that does not answer for so long is lost; shorter gaps are a wireless network's.
constexpr double most_silence_s = 10;

using Curl = Handle<CURL*, curl_easy_cleanup>;

std::size_t keep(char* data, std::size_t size, std::size_t count, void* body) {
  auto& text = *static_cast<std::string*>(body);
  if (text.size() + size * count > longest_body) return 0;  // Ends the transfer.
  text.append(data, size * count);
  return size * count;
}

void allow_http_only(CURL* curl) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
}

/// The first number among these places in the document.
const Json* find_power(const Json& json) {
  for (const char* place :
       {"/apower", "/meters/0/power", "/power", "/StatusSNS/ENERGY/Power", "/ENERGY/Power", "/switch:0/apower"}) {
    const Json::json_pointer pointer(place);
    if (json.contains(pointer) && json.at(pointer).is_number()) return &json.at(pointer);
  }
  return nullptr;
}

class HttpMeter : public EnergyMeter {
 public:
  HttpMeter(std::string url, double watch_s)
      : url_(std::move(url)), shown_(without_secrets(url_)), curl_(curl_easy_init()) {
    set_up();
    watch(watch_s);
    thread_ = std::thread([this] { poll(); });
  }
  HttpMeter(const HttpMeter&) = delete;
  HttpMeter& operator=(const HttpMeter&) = delete;
  ~HttpMeter() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stop_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  const EnergyMeterFacts& facts() const override { return facts_; }
  double missed_j() const override { return log_.missed_j(); }
  double read_j() override {
    try {
      return log_.read_j(now_s(), most_silence_s);
    } catch (const Error& e) {
      fail_lacking("{}: {}", shown_, e.what());
    }
  }

 private:
  void set_up() {
    if (!curl_) fail_lacking("libcurl: could not be initialised");
    // Without a scheme libcurl would guess one, and what stands before an @ could not be told from a host.
    if (!url_.starts_with("http://") && !url_.starts_with("https://"))
      fail_user("--meter-url: is no http address: it does not begin with http:// or https://");
    CURL* const curl = curl_.get();
    allow_http_only(curl);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 3000L);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");  // A plug stands in the local network.
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
    if (curl_easy_setopt(curl, CURLOPT_URL, url_.c_str()) != CURLE_OK) fail_user("{}: is no address", shown_);
  }

  PlugReading ask() {
    std::string body;
    curl_easy_setopt(curl_.get(), CURLOPT_WRITEDATA, &body);
    const CURLcode code = curl_easy_perform(curl_.get());
    if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT) fail_user("{}: is no http address", shown_);
    if (code != CURLE_OK) fail_lacking("{}: {}", shown_, curl_easy_strerror(code));
    return parse_plug(body, shown_);
  }

  void look() {
    const PlugReading reading = ask();
    step_w_ = std::min(step_w_, step_of(reading.figure));
    log_.add_watts(now_s(), reading.watts);
    if (last_w_ && *last_w_ != reading.watts) changes_s_.push_back(now_s());
    last_w_ = reading.watts;
  }

  void watch(double watch_s) {
    const double begin_s = now_s();
    look();
    while (changes_s_.size() < 4 && now_s() - begin_s < watch_s) {
      sleep_s(std::min(between_looks_s, watch_s / 20));
      look();
    }
    std::vector<double> periods_s;
    for (std::size_t i = 1; i < changes_s_.size(); ++i) periods_s.push_back(changes_s_[i] - changes_s_[i - 1]);
    facts_ = {.name = "url", .scope = "what is plugged in", .update_period_s = usual_period_s};
    if (!periods_s.empty()) facts_.update_period_s = std::max(median(periods_s), between_looks_s);
    log_.set_period(std::max(facts_.update_period_s, between_looks_s));
    facts_.source = shown_;
    facts_.unit = "W, integrated";
    facts_.power_step_w = step_w_;
    facts_.reach = EnergyReach::machine;
  }

  void poll() {
    std::unique_lock lock(mutex_);
    while (!stop_.wait_for(lock, std::chrono::duration<double>(between_looks_s), [this] { return stopping_; })) {
      lock.unlock();
      try {
        const PlugReading reading = ask();
        log_.add_watts(now_s(), reading.watts);
      } catch (const Error&) {
        // read_j() throws once the silence has lasted too long.
      }
      lock.lock();
    }
  }

  std::string url_;
  std::string shown_;  ///< Without a password, for records and errors.
  Curl curl_;
  EnergyLog log_;
  EnergyMeterFacts facts_;
  double step_w_ = 1;
  std::optional<double> last_w_;
  std::vector<double> changes_s_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

PlugReading parse_plug(const std::string& body, const std::string& source) {
  try {
    const Json json = parse_json(body, source);
    const Json* power = find_power(json);
    if (power != nullptr) {
      const double watts = power->get<double>();
      if (!std::isfinite(watts)) fail_lacking("{}: its power is no number", source);
      return {std::abs(watts), power->dump()};  // A plug that is mounted the other way round counts backward.
    }
  } catch (const Error& e) {
    fail_lacking("{}", e.what());
  }
  fail_lacking("{}: answers no power that a Shelly or Tasmota plug would: {}", source, printable(body, 60));
}

std::unique_ptr<EnergyMeter> make_http_meter(const std::string& url, double watch_s) {
  return std::make_unique<HttpMeter>(url, watch_s);
}

}  // namespace assay
