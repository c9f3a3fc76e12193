#include "measure/meters/external.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <functional>
#include <thread>

#include "base/clock.h"
#include "base/comes_true_testing.h"
#include "base/error.h"
#include "base/secrets.h"
#include "base/testing.h"
#include "measure/meters/energy_log.h"

namespace assay {
namespace {

std::string message_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

/// `meter` counts so many watts for `seconds`, to within `bound_j`, read between two looks at the clock each time: who
/// is kept waiting between reading and looking is not at fault.
void expect_joules_of(double watts, EnergyMeter& meter, double seconds, double bound_j) {
  const double before_begin_s = now_s();
  const double begin_j = meter.read_j();
  const double begin_s = now_s();
  sleep_s(seconds);
  const double end_s = now_s();
  const double joules = meter.read_j() - begin_j;
  EXPECT_GE(joules, watts * (end_s - begin_s) - bound_j);
  EXPECT_LE(joules, watts * (now_s() - before_begin_s) + bound_j);
}

TEST(CommandMeter, IntegratesWattsOverTheCommandsOwnSeconds) {
  const auto meter = make_command_meter(
      "t=100000; while :; do t=$((t+20)); printf '%d.%03d 25.0\\n' $((t/1000)) $((t%1000)); sleep 0.02; done",
      MeterUnit::watts);
  EXPECT_EQ(meter->facts().name, "command");
  EXPECT_EQ(meter->facts().unit, "W, integrated");
  EXPECT_NEAR(meter->facts().update_period_s, 0.02, 1e-9);
  EXPECT_DOUBLE_EQ(meter->facts().power_step_w, 0.1);
  // A constant power is exact, whatever the pace of the lines.
  expect_joules_of(25, *meter, 0.5, 1e-3);
}

TEST(CommandMeter, TakesJoulesAsACounterByItsHeader) {
  const auto meter =
      make_command_meter("echo '# seconds joules'; t=0; while :; do t=$((t+1)); echo \"$t $((t*3))\"; sleep 0.01; done",
                         MeterUnit::by_header);
  EXPECT_EQ(meter->facts().unit, "J");
  EXPECT_DOUBLE_EQ(meter->facts().resolution_j, 1);
  const double begin_j = meter->read_j();
  double joules = 0;
  EXPECT_TRUE(comes_true([&] { return (joules = meter->read_j() - begin_j) > 0; }));
  EXPECT_EQ(std::fmod(joules, 3), 0) << "a counter is not stretched between its figures";
}

TEST(CommandMeter, SaysWhatIsWrongWithTheCommand) {
  const auto fault = [](const std::string& command, MeterUnit unit) {
    return message_of([&] { make_command_meter(command, unit, 5); });
  };
  EXPECT_NE(fault("echo '1 2'; sleep 9", MeterUnit::by_header).find("tell which with --meter-unit"), std::string::npos);
  EXPECT_NE(fault("exit 0", MeterUnit::watts).find("ended"), std::string::npos);
  EXPECT_NE(fault("no-such-program-anywhere 2>/dev/null", MeterUnit::watts).find("ended"), std::string::npos);
  EXPECT_NE(fault("echo hello; sleep 9", MeterUnit::watts).find("line 'hello'"), std::string::npos);
  EXPECT_NE(fault("echo '1 nan'; sleep 9", MeterUnit::watts).find("two numbers"), std::string::npos);
  EXPECT_NE(fault("echo '1 -5'; sleep 9", MeterUnit::watts).find("two numbers"), std::string::npos);
  EXPECT_NE(fault("echo '2 5'; echo '1 5'; sleep 9", MeterUnit::watts).find("do not go forward"), std::string::npos);
  EXPECT_NE(fault("head -c 100000 /dev/zero; sleep 9", MeterUnit::watts).find("longer than"), std::string::npos);
  EXPECT_NE(fault("printf '1 9\\n2 8\\n3 9\\n'; sleep 9", MeterUnit::joules).find("stepped back"), std::string::npos);
  EXPECT_NE(message_of([] { make_command_meter("sleep 9", MeterUnit::watts, 0.2); }).find("fewer than 3 lines"),
            std::string::npos);
}

TEST(CommandMeter, ThatEndsLaterIsALackingError) {
  const TemporaryFolder folder;
  const std::string may_end = (folder.path() / "may end").string();
  const auto meter = make_command_meter(
      "for t in 1 2 3 4; do echo \"$t 5\"; done; until [ -e '" + may_end + "' ]; do sleep 0.01; done",
      MeterUnit::watts);
  meter->read_j();
  std::ofstream(may_end) << "now";
  EXPECT_TRUE(comes_true([&] { return message_of([&] { meter->read_j(); }).find("ended") != std::string::npos; }));
}

TEST(CommandMeter, LeavesNoProcessBehind) {
  const std::string file = testing::TempDir() + "/assay-meter-pid";
  pid_t child = 0;
  {
    const auto meter = make_command_meter(
        "sleep 77 & echo $! >" + file + "; t=0; while :; do t=$((t+1)); echo \"$t 1\"; sleep 0.01; done",
        MeterUnit::watts);
    std::ifstream(file) >> child;
    ASSERT_GT(child, 0);
    EXPECT_EQ(::kill(child, 0), 0);
  }
  EXPECT_TRUE(comes_true([&] {
    std::string stat;
    std::getline(std::ifstream("/proc/" + std::to_string(child) + "/stat") >> std::ws, stat);
    return ::kill(child, 0) != 0 || stat.find(") Z ") != std::string::npos;  // Nobody may reap it here.
  }));
}

TEST(EnergyLog, NeverFallsThoughTheHeldPowerDoes) {
  EnergyLog log;
  log.add_watts(0, 100);
  log.add_watts(1, 100);
  const double held_j = log.read_j(2, 10);
  EXPECT_DOUBLE_EQ(held_j, 200);
  log.add_watts(2, 0);  // The straight line says 150.
  EXPECT_DOUBLE_EQ(log.read_j(2, 10), 200);
  EXPECT_DOUBLE_EQ(log.missed_j(), 50);
  EXPECT_THROW(log.read_j(20, 10), Error) << "silence";
}

TEST(EnergyLog, SilenceBeyondThePeriodIsMissed) {
  EnergyLog log;
  log.set_period(1);
  log.add_watts(0, 100);
  log.add_watts(1, 100);
  log.read_j(2, 10);
  EXPECT_DOUBLE_EQ(log.missed_j(), 0);
  log.read_j(4, 10);
  log.read_j(5, 10);
  EXPECT_DOUBLE_EQ(log.missed_j(), 300) << "from the second that no figure came in";
  log.add_watts(5, 100);
  log.read_j(6, 10);
  EXPECT_DOUBLE_EQ(log.missed_j(), 300);
  EnergyLog counter;
  counter.set_period(1);
  counter.add_joules(0, 7);
  counter.add_joules(2, 27);
  counter.read_j(6, 10);
  EXPECT_DOUBLE_EQ(counter.missed_j(), 30) << "three seconds at the mean so far";
}

TEST(StepOf, IsTheLastDecimal) {
  EXPECT_DOUBLE_EQ(step_of("12.30"), 0.01);
  EXPECT_DOUBLE_EQ(step_of("7"), 1);
  EXPECT_DOUBLE_EQ(step_of("7."), 1);
  EXPECT_DOUBLE_EQ(step_of("0.5e3"), 0.1);
}

TEST(ParsePlug, KnowsTheAnswersOfCommonPlugs) {
  const auto watts = [](const std::string& body) { return parse_plug(body, "plug").watts; };
  EXPECT_DOUBLE_EQ(watts(R"({"id":0,"source":"init","output":true,"apower":41.7,"voltage":230.1,
                             "aenergy":{"total":19.7,"by_minute":[0,0,0],"minute_ts":1}})"),
                   41.7);
  EXPECT_DOUBLE_EQ(watts(R"({"relays":[{"ison":true}],"meters":[{"power":23.45,"is_valid":true,"total":12}]})"), 23.45);
  EXPECT_DOUBLE_EQ(watts(R"({"power":9.5,"is_valid":true,"counters":[1,2,3],"total":5})"), 9.5);
  EXPECT_DOUBLE_EQ(
      watts(R"({"StatusSNS":{"Time":"2024-01-01T00:00:00","ENERGY":{"Total":1.2,"Power":88,"Factor":1}}})"), 88);
  EXPECT_DOUBLE_EQ(watts(R"({"apower":-41.7})"), 41.7);
}

TEST(ParsePlug, SaysWhatElseWasAnswered) {
  for (const char* body : {"", "{", "[]", "{\"apower\":\"12\"}", "{\"meters\":[]}", "{\"meters\":[{\"power\":null}]}",
                           "{\"StatusSNS\":3}", "<html>404</html>"}) {
    EXPECT_TRUE(message_of([&] { parse_plug(body, "the plug"); }).starts_with("the plug: ")) << body;
  }
}

/// Answers every connection on a port of this machine with what `body` gives.
class TinyServer {
 public:
  explicit TinyServer(std::function<std::string()> body) : body_(std::move(body)) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool bound = ::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(socket_, 8) == 0;
    if (!bound || ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) std::abort();
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  TinyServer(const TinyServer&) = delete;
  TinyServer& operator=(const TinyServer&) = delete;
  ~TinyServer() { stop(); }

  void stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/rpc/Switch.GetStatus?id=0"; }

 private:
  void serve() {
    while (!stopping_) {
      const int connection = ::accept(socket_, nullptr, nullptr);
      if (connection < 0) return;
      char request[2048];
      if (::recv(connection, request, sizeof request, 0) > 0) {
        const std::string body = body_();
        const std::string answer =
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
            body;
        ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
      ::close(connection);
    }
  }

  std::function<std::string()> body_;
  int socket_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

TEST(HttpMeter, IntegratesWhatAPlugAnswers) {
  TinyServer server([] { return std::string(R"({"id":0,"apower":60.5})"); });
  const auto meter = make_http_meter(server.url(), 0.3);
  EXPECT_EQ(meter->facts().name, "url");
  EXPECT_EQ(meter->facts().reach, EnergyReach::machine);
  EXPECT_DOUBLE_EQ(meter->facts().power_step_w, 0.1);
  EXPECT_DOUBLE_EQ(meter->facts().update_period_s, 1) << "a figure that stands still tells no period";
  expect_joules_of(60.5, *meter, 0.6, 0.05);
}

TEST(HttpMeter, MeasuresHowOftenTheFigureChanges) {
  const double begin_s = now_s();
  TinyServer server(
      [begin_s] { return "{\"apower\":" + std::to_string(static_cast<int>((now_s() - begin_s) / 0.5)) + ".5}"; });
  EXPECT_NEAR(make_http_meter(server.url(), 4)->facts().update_period_s, 0.5, 0.45);
}

TEST(HttpMeter, KeepsThePasswordToItself) {
  TinyServer server([] { return std::string(R"({"id":0,"apower":60.5})"); });
  std::string url = server.url();
  url.insert(url.find("//") + 2, "admin:s3cret@");
  EXPECT_EQ(make_http_meter(url, 0.1)->facts().source, without_secrets(url));
  EXPECT_EQ(without_secrets(url).find("s3cret"), std::string::npos);
}

TEST(HttpMeter, NamesTheAddressThatFails) {
  std::string url;
  {
    const TinyServer server([] { return std::string("no json"); });
    url = server.url();
    EXPECT_TRUE(message_of([&] { make_http_meter(url, 0.1); }).starts_with(without_secrets(url) + ": "));
  }
  EXPECT_TRUE(message_of([&] { make_http_meter(url, 0.1); }).starts_with(without_secrets(url) + ": "))
      << "nobody answers there";
  EXPECT_NE(message_of([] { make_http_meter("file:///etc/passwd", 0.1); }).find("no http address"), std::string::npos);
  EXPECT_NE(message_of([] { make_http_meter("", 0.1); }).find("no http address"), std::string::npos);
}

TEST(HttpMeter, AnAnswerWithoutEndIsCutOff) {
  const TinyServer server([] { return std::string(1 << 20, '['); });
  EXPECT_NE(message_of([&] { make_http_meter(server.url(), 0.1); }), "");
}

}  // namespace
}  // namespace assay
