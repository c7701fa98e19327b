// Real sockets on loopback: the server in a thread, a blocking client here.

#include "admin/http_server.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "admin/admin_server.h"
#include "admin/connection_places.h"
#include "admin/status_server.h"

using namespace weir;
using namespace weir::admin;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

config::ListenAddress loopback() {
    return {.endpoint = parse_endpoint("127.0.0.1:0").value(), .path = ""};
}

/// Runs the control thread; run() executes something on it and waits.
class ControlThread {
  public:
    ControlThread() : guard_(asio::make_work_guard(io)), thread_([this] { io.run(); }) {}
    ~ControlThread() {
        guard_.reset();
        io.stop();
        thread_.join();
    }
    template <class Function>
    auto run(Function function) {
        std::packaged_task<decltype(function())()> task(std::move(function));
        auto result = task.get_future();
        asio::post(io, [&task] { task(); });
        return result.get();
    }
    asio::io_context io;

  private:
    asio::executor_work_guard<asio::io_context::executor_type> guard_;
    std::thread thread_;
};

class Client {
  public:
    explicit Client(const config::ListenAddress& address) : socket_(io_) {
        boost::system::error_code failure;
        if (address.is_unix()) {
            socket_.connect(asio::local::stream_protocol::endpoint(address.path), failure);
        } else {
            socket_.connect(
                asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), address.endpoint.port),
                failure);
        }
        REQUIRE_FALSE(failure);
        const timeval patience{.tv_sec = 8, .tv_usec = 0};
        ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
    void send(const std::string& text) {
        boost::system::error_code ignored;
        asio::write(socket_, asio::buffer(text), ignored);
    }
    /// Up to the end of the text given; all until the close if it never comes.
    std::string read_until(const std::string& end) {
        while (text_.find(end) == std::string::npos && read_some()) {
        }
        const auto at = text_.find(end);
        const auto size = at == std::string::npos ? text_.size() : at + end.size();
        std::string result = text_.substr(0, size);
        text_.erase(0, size);
        return result;
    }
    std::string read_all() { return read_until("\x01never\x01"); }
    std::string ask(const std::string& request) {
        send(request);
        return read_all();
    }

  private:
    bool read_some() {
        char chunk[4096];
        const auto count = ::recv(socket_.native_handle(), chunk, sizeof chunk, 0);
        if (count <= 0) {
            return false;
        }
        text_.append(chunk, static_cast<std::size_t>(count));
        return true;
    }
    asio::io_context io_;
    asio::generic::stream_protocol::socket socket_;
    std::string text_;
};

/// A server that answers with what it was asked.
class World {
  public:
    explicit World(HttpLimits limits = {}, config::ListenAddress address = loopback()) {
        control_.run([&] {
            server_.emplace(
                control_.io, std::move(address), limits, [](const AdminRequest& request) {
                    return Response{
                        .status = 200,
                        .content_type = "text/plain",
                        .body = request.method + " " + request.target + " [" + request.body + "]\n",
                        .fields = {{"X-Local", request.local_socket ? "yes" : "no"}}};
                });
            started = server_->start().has_value();
        });
    }
    ~World() {
        control_.run([&] { server_.reset(); });
    }
    config::ListenAddress address() {
        return control_.run([&] { return server_->bound(); });
    }
    HttpServerStatistics statistics() {
        return control_.run([&] { return server_->statistics(); });
    }
    void stop() {
        control_.run([&] { server_->stop(); });
    }
    /// Waits until the condition on the statistics holds.
    template <class Condition>
    bool eventually(Condition condition) {
        const auto end = std::chrono::steady_clock::now() + 5s;
        while (!condition(statistics())) {
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
            std::this_thread::yield();
        }
        return true;
    }

    bool started = false;

  private:
    ControlThread control_;
    std::optional<HttpServer> server_;
};

const std::string kHost = "Host: localhost\r\n";

std::string get(const std::string& target, const std::string& fields = "Connection: close\r\n") {
    return "GET " + target + " HTTP/1.1\r\n" + kHost + fields + "\r\n";
}

std::string status_line(const std::string& answer) { return answer.substr(0, answer.find('\r')); }

class TemporaryPath {
  public:
    TemporaryPath() {
        char pattern[] = "/tmp/weir-admin-XXXXXX";
        directory_ = ::mkdtemp(pattern);
        path = directory_ + "/admin.sock";
    }
    ~TemporaryPath() {
        ::unlink(path.c_str());
        ::rmdir(directory_.c_str());
    }
    std::string path;

  private:
    std::string directory_;
};

}  // namespace

TEST_CASE("a request is answered with its fields") {
    World world;
    REQUIRE(world.started);
    const auto answer = Client(world.address()).ask(get("/a?b=%20"));
    CHECK(status_line(answer) == "HTTP/1.1 200 OK");
    CHECK(answer.ends_with("GET /a?b=%20 []\n"));
    CHECK(answer.find("Cache-Control: no-store\r\n") != std::string::npos);
    CHECK(answer.find("X-Content-Type-Options: nosniff\r\n") != std::string::npos);
    CHECK(answer.find("X-Local: no\r\n") != std::string::npos);
}

TEST_CASE("a connection is kept for further requests, pipelined ones too") {
    World world;
    Client client(world.address());
    client.send(get("/1", ""));
    CHECK(client.read_until("GET /1 []\n").ends_with("GET /1 []\n"));
    client.send(get("/2", "") + get("/3", ""));
    CHECK(client.read_until("GET /2 []\n").ends_with("GET /2 []\n"));
    CHECK(client.read_until("GET /3 []\n").ends_with("GET /3 []\n"));
    client.send("PUT /4 HTTP/1.1\r\n" + kHost +
                "Content-Length: 5\r\nConnection: close\r\n\r\nhello");
    CHECK(client.read_all().ends_with("PUT /4 [hello]\n"));
    CHECK(world.statistics().accepted == 1);
    CHECK(world.statistics().requests == 4);
}

TEST_CASE("HTTP/1.0 closes, and chunked bodies are read") {
    World world;
    CHECK(Client(world.address())
              .ask("GET /old HTTP/1.0\r\n" + kHost + "\r\n")
              .ends_with("GET /old []\n"));
    CHECK(Client(world.address())
              .ask("PUT /c HTTP/1.1\r\n" + kHost +
                   "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                   "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
              .ends_with("PUT /c [abcde]\n"));
}

TEST_CASE("HEAD has the length and no body") {
    World world;
    const auto answer =
        Client(world.address()).ask("HEAD /x HTTP/1.1\r\n" + kHost + "Connection: close\r\n\r\n");
    CHECK(answer.find("Content-Length: 11\r\n") != std::string::npos);  // "HEAD /x []\n"
    CHECK(answer.ends_with("\r\n\r\n"));
}

TEST_CASE("a client that waits for 100 gets it") {
    World world;
    Client client(world.address());
    client.send("PUT /x HTTP/1.1\r\n" + kHost +
                "Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n");
    CHECK(status_line(client.read_until("\r\n\r\n")) == "HTTP/1.1 100 Continue");
    client.send("ok");
    CHECK(client.read_all().ends_with("PUT /x [ok]\n"));
}

TEST_CASE("what is too large or broken is refused and the connection closed") {
    World world({.connections = 8, .head_bytes = 1024, .body_bytes = 100});
    const auto refused = [&](const std::string& request) {
        const auto answer = Client(world.address()).ask(request);
        CHECK(answer.find("Connection: close\r\n") != std::string::npos);
        return status_line(answer).substr(0, 12);
    };
    CHECK(refused(get("/" + std::string(2000, 'x'))) == "HTTP/1.1 431");
    CHECK(refused(get("/", "X: " + std::string(2000, 'x') + "\r\n")) == "HTTP/1.1 431");
    CHECK(refused("PUT / HTTP/1.1\r\n" + kHost + "Content-Length: 101\r\n\r\n" +
                  std::string(101, 'x')) == "HTTP/1.1 413");
    CHECK(refused("PUT / HTTP/1.1\r\n" + kHost + "Transfer-Encoding: chunked\r\n\r\n80\r\n" +
                  std::string(128, 'x') + "\r\n0\r\n\r\n") == "HTTP/1.1 413");
    CHECK(refused("nonsense\r\n\r\n") == "HTTP/1.1 400");
    CHECK(refused("GET / HTTP/9.9\r\n" + kHost + "\r\n").substr(0, 9) == "HTTP/1.1 ");
    CHECK(refused("PUT / HTTP/1.1\r\n" + kHost +
                  "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") ==
          "HTTP/1.1 400");
    CHECK(refused("PUT / HTTP/1.1\r\n" + kHost +
                  "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n") ==
          "HTTP/1.1 400");
    CHECK(world.statistics().requests == 0);
    CHECK(world.statistics().bad_requests == 8);
}

TEST_CASE("a slow request and an idle connection end in time") {
    World world({.connections = 8,
                 .read_timeout = std::chrono::milliseconds(50),
                 .write_timeout = std::chrono::milliseconds(1000)});
    Client idle(world.address());
    Client slow(world.address());
    slow.send("GET / HT");
    CHECK(idle.read_all().empty());
    CHECK(slow.read_all().empty());
    CHECK(world.eventually([](const auto& s) { return s.timeouts == 2 && s.open == 0; }));
}

TEST_CASE("silent clients that have all places do not keep a probe out") {
    World world({.connections = 2});
    Client first(world.address());
    REQUIRE(world.eventually([](const auto& s) { return s.open == 1; }));
    Client second(world.address());
    REQUIRE(world.eventually([](const auto& s) { return s.open == 2; }));
    Client probe(world.address());
    CHECK(status_line(probe.ask(get("/"))) == "HTTP/1.1 200 OK");
    CHECK(first.read_all().empty());
    CHECK(world.statistics().evicted == 1);
    CHECK(world.statistics().turned_away == 0);
    CHECK(world.statistics().timeouts == 0);
    second.send(get("/"));  // who waited less long has its place still
    CHECK(status_line(second.read_all()) == "HTTP/1.1 200 OK");
}

TEST_CASE("who was answered last makes room last, who sends its head slowly does at its turn") {
    World world({.connections = 2});
    Client answered(world.address());
    REQUIRE(world.eventually([](const auto& s) { return s.open == 1; }));
    Client slow(world.address());
    REQUIRE(world.eventually([](const auto& s) { return s.open == 2; }));
    answered.send(get("/", ""));
    CHECK_FALSE(answered.read_until("[]\n").empty());
    slow.send("GET / HT");
    CHECK(status_line(Client(world.address()).ask(get("/"))) == "HTTP/1.1 200 OK");
    CHECK(slow.read_all().empty());
    answered.send(get("/again"));
    CHECK(status_line(answered.read_all()) == "HTTP/1.1 200 OK");
}

TEST_CASE("who makes room: first without a head, then without a body, never with an answer") {
    ConnectionPlaces<int> places;
    std::array<int, 4> connections{};
    for (int& connection : connections) {
        places.enter(connection);
    }
    places.wait(connections[0], Stage::answer);
    places.wait(connections[1], Stage::body);
    places.wait(connections[2], Stage::head);  // younger than the last one from here on
    CHECK(places.make_room() == &connections[3]);
    CHECK(places.make_room() == &connections[2]);
    CHECK(places.make_room() == &connections[1]);
    CHECK(places.make_room() == nullptr);
    CHECK(places.size() == 1);
    places.wait(connections[1], Stage::head);  // made room already
    places.leave(connections[1]);
    CHECK(places.size() == 1);
}

TEST_CASE("stopping closes open connections and accepts no more") {
    World world;
    Client client(world.address());
    client.send(get("/", ""));
    CHECK_FALSE(client.read_until("[]\n").empty());
    world.stop();
    CHECK(client.read_all().empty());
    CHECK(world.eventually([](const auto& s) { return s.open == 0; }));
}

TEST_CASE("a port in use is an error that names it") {
    World world;
    World second({}, world.address());
    CHECK(world.started);
    CHECK_FALSE(second.started);
}

TEST_CASE("a unix socket is for its owner, replaced when stale and removed at the end") {
    const TemporaryPath file;
    const config::ListenAddress address{.endpoint = {}, .path = file.path};
    {
        World world({}, address);
        REQUIRE(world.started);
        CHECK(Client(address).ask(get("/u")).find("X-Local: yes") != std::string::npos);
        struct stat status {};
        REQUIRE(::stat(file.path.c_str(), &status) == 0);
        CHECK((status.st_mode & 0777) == 0600);
        World second({}, address);  // the first one still answers
        CHECK_FALSE(second.started);
        CHECK(Client(address).ask(get("/u")).find("X-Local: yes") != std::string::npos);
    }
    CHECK(::access(file.path.c_str(), F_OK) != 0);
    {
        // What a killed process leaves behind.
        asio::io_context io;
        asio::local::stream_protocol::acceptor stale(
            io, asio::local::stream_protocol::endpoint(file.path));
    }
    REQUIRE(::access(file.path.c_str(), F_OK) == 0);
    World world({}, address);
    CHECK(world.started);
    CHECK(Client(address).ask(get("/u")).find("X-Local: yes") != std::string::npos);
}

TEST_CASE("an admin listener that others can reach does not start without a token") {
    asio::io_context io;
    AdminServer open(io, {.listen = {.endpoint = parse_endpoint("0.0.0.0:0").value(), .path = ""}},
                     AdminSources{});
    const auto refused = open.start();
    REQUIRE(refused.has_error());
    CHECK(refused.error().message.find("token") != std::string::npos);
    AdminServer missing(io, {.listen = loopback(), .token_file = "/nonexistent/token"},
                        AdminSources{});
    CHECK(missing.start().has_error());
    AdminServer local(io, {.listen = loopback()}, AdminSources{});
    CHECK(local.start().has_value());
    CHECK(local.bound().endpoint.port != 0);
}

TEST_CASE("the status listener answers over its socket") {
    ControlThread control;
    const Metrics metrics({}, [] { return Instant{}; });
    std::optional<StatusServer> server;
    const auto address = control.run([&] {
        server.emplace(
            control.io, loopback(), [] { return Health{.listening = true, .configured = true}; },
            metrics, nullptr);
        REQUIRE(server->start().has_value());
        return server->bound();
    });
    CHECK(status_line(Client(address).ask(get("/readyz"))) == "HTTP/1.1 200 OK");
    const auto scraped = Client(address).ask(get("/metrics"));
    CHECK(scraped.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n") !=
          std::string::npos);
    CHECK(scraped.find("weir_build_info") != std::string::npos);
    CHECK(status_line(Client(address).ask("POST /livez HTTP/1.1\r\n" + kHost +
                                          "Content-Length: 0\r\nConnection: close\r\n\r\n")) ==
          "HTTP/1.1 405 Method Not Allowed");
    control.run([&] { server.reset(); });
}
