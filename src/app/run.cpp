#include "app/run.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "admin/access.h"
#include "app/access_log_writer.h"
#include "app/sidecar.h"
#include "app/validate.h"
#include "cluster/advertise.h"
#include "cluster/key_file.h"
#include "net/entropy.h"
#include "net/file_descriptor.h"
#include "net/listener.h"
#include "net/socket_address.h"
#include "node/files.h"

namespace weir::app {
namespace {

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

/// Raises the limit on descriptors. Each connection takes two, and the soft limit of 1,024 is meant
/// for programs with select().
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return;
    }
    constexpr rlim_t kEnough = 1'048'576;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? kEnough : limit.rlim_max;
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

/// Checks that the port is free. The proxy's listeners share their port (SO_REUSEPORT), so a second
/// weir would silently take half of the first one's clients. Binding without that option fails
/// then.
Result<void> check_free(const char* key, const Endpoint& endpoint, int type) {
    if (endpoint.port == 0) {
        return {};
    }
    const net::SocketAddress address = net::to_socket_address(endpoint);
    const net::FileDescriptor descriptor(::socket(address.family(), type | SOCK_CLOEXEC, 0));
    const int yes = 1;
    if (type == SOCK_STREAM) {
        ::setsockopt(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    }
    if (::bind(descriptor.get(), address.get(), address.length) != 0) {
        const std::string where = std::string(key) + ": cannot listen on " + to_string(endpoint);
        return net::system_error(where, errno);
    }
    return {};
}

/// Checks that a unix socket can be made here: makes it, as a listener does, and removes it.
Result<void> check_unix(const char* key, const std::string& path) {
    const auto listener = net::listen_on(net::to_unix_socket_address(path));
    if (!listener) {
        return error(listener.error().code, std::string(key) + ": cannot listen on unix:" + path +
                                                ": " + listener.error().message);
    }
    ::unlink(path.c_str());
    return {};
}

Result<void> check_free(const char* key, const config::ListenAddress& address) {
    return address.is_unix() ? check_unix(key, address.path)
                             : check_free(key, address.endpoint, SOCK_STREAM);
}

/// Checks that the access log can be written. A file that was not there is not left behind.
Result<void> check_access_log(const config::Settings& settings) {
    const std::string& path = settings.access_log_file;
    if (settings.access_log == config::AccessLogMode::off || path == "-") {
        return {};
    }
    const bool was_there = ::access(path.c_str(), F_OK) == 0;
    AccessLogWriter log(path);
    auto opened = log.open();
    log.close();
    if (opened && !was_there) {
        ::unlink(path.c_str());
    }
    return opened;
}

/// Checks what only a process with a proxy opens.
template <class Note>
void check_proxy(const config::Settings& settings, const Note& note) {
    if (settings.role == config::MemberRole::anchor) {
        return;
    }
    note(check_free("listen", settings.listen));
    if (settings.check) {
        note(check_free("check.listen", settings.check->listen));
    }
    note(check_access_log(settings));
}

std::vector<std::string> environment_errors(const config::Settings& settings) {
    std::vector<std::string> errors;
    const auto note = [&](const auto& result) {
        if (!result) {
            errors.push_back(result.error().message);
        }
    };
    check_proxy(settings, note);
    note(check_free("admin", settings.admin));
    note(check_free("status", settings.status));
    if (!settings.admin_token_file.empty()) {
        note(admin::read_token(settings.admin_token_file));
    }
    if (settings.cluster) {
        note(check_free("cluster.listen", settings.cluster->listen, SOCK_DGRAM));
        const char* pod_ip = std::getenv("POD_IP");
        note(cluster::choose_advertised({.configured = settings.cluster->advertise,
                                         .pod_ip = pod_ip == nullptr ? "" : pod_ip,
                                         .bound = settings.cluster->listen,
                                         .interfaces = cluster::interface_addresses()}));
        if (!settings.cluster->key_file.empty()) {
            note(cluster::read_key_file(settings.cluster->key_file));
        }
    }
    return errors;
}

/// Reads all files and prints their errors and warnings. True if they are good.
bool load_and_tell(const node::ConfigSource& source, bool strict, node::Loaded& loaded) {
    loaded = node::load(source);
    say(loaded.diagnostics.text());
    return tell_if_bad(loaded.diagnostics, strict);
}

/// Holds signals back while files are still being read, until there is a handler: a SIGHUP would
/// end the process, and a SIGTERM would be lost if it is the first process of a container.
class HeldSignals {
  public:
    HeldSignals() {
        sigemptyset(&signals_);
        for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
            sigaddset(&signals_, number);
        }
        ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    }
    /// From now on signals are delivered, to this thread; threads that were started meanwhile still
    /// block them.
    void release() const { ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr); }
    [[nodiscard]] static bool told_to_end() {
        sigset_t pending;
        ::sigpending(&pending);
        return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1;
    }

  private:
    sigset_t signals_{};
};

}  // namespace

int run(const node::ConfigSource& given, bool strict) {
    const HeldSignals signals;
    node::ConfigSource source = given;
    source.long_quotas_later = !strict;  // warnings about long files are not to be missed
    node::Loaded loaded;
    if (!load_and_tell(source, strict, loaded) && (strict || !loaded.settings_good)) {
        say("weir: not started\n");
        return 1;
    }
    if (HeldSignals::told_to_end()) {
        say("weir: told to end before it served\n");
        return 0;
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of write()
    raise_descriptor_limit();
    if (loaded.settings.role == config::MemberRole::sidecar) {
        if (const auto is_free = check_free("listen", loaded.settings.listen); !is_free) {
            say("weir: " + is_free.error().message + "\n");
            return 1;
        }
    }
    Sidecar sidecar(source, std::move(loaded), net::system_seed());
    if (const auto started = sidecar.start(strict); !started) {
        say("weir: " + started.error().message + "\n");
        return 1;
    }
    signals.release();
    sidecar.run();
    return 0;
}

int check(const node::ConfigSource& source, bool strict) {
    node::Loaded loaded;
    if (!load_and_tell(source, strict, loaded)) {
        say("weir: not started\n");
        return 1;
    }
    const std::vector<std::string> errors = environment_errors(loaded.settings);
    for (const std::string& error : errors) {
        say("weir: " + error + "\n");
    }
    if (errors.empty()) {
        std::puts("weir could start here");
    }
    return errors.empty() ? 0 : 1;
}

}  // namespace weir::app
