#include "node/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "config/parse.h"

namespace weir::node {
namespace {

namespace fs = std::filesystem;

bool is_quota_file(const fs::path& path) {
    constexpr std::array<std::string_view, 3> kEndings = {".yaml", ".yml", ".json"};
    const std::string name = path.filename().string();
    const bool fits = std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) {
        return name.size() > ending.size() &&
               name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
    });
    return fits && name.front() != '.';
}

std::vector<std::string> files_of(const std::string& directory, config::Diagnostics& diagnostics) {
    std::vector<std::string> files;
    std::error_code failure;
    for (fs::directory_iterator at(directory, failure), end; !failure && at != end;
         at.increment(failure)) {
        std::error_code ignored;
        if (is_quota_file(at->path()) && fs::is_regular_file(at->path(), ignored)) {
            files.push_back(at->path().string());
        }
    }
    if (failure) {
        report_file(directory, failure.message(), diagnostics);
    }
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

void report_file(const std::string& file, const std::string& what,
                 config::Diagnostics& diagnostics) {
    diagnostics.add({config::Severity::error, file, {}, {}, what, {}});
}

Result<std::string> read_file(const std::string& path) {
    std::error_code failure;
    if (fs::is_directory(path, failure)) {
        return error(ErrorCode::io, "is a directory, not a file");
    }
    errno = 0;
    std::ifstream stream(path, std::ios::binary);
    if (!stream) {
        return error(ErrorCode::not_found, std::strerror(errno != 0 ? errno : ENOENT));
    }
    // One byte more than the parser accepts, so that the parser reports files that are too large.
    const std::size_t limit = config::ParseLimits{}.json_bytes + 1;
    std::string text;
    if (const auto size = fs::file_size(path, failure); !failure) {
        text.reserve(std::min<std::uintmax_t>(size, limit));
    }
    std::array<char, 64 * 1024> block{};
    while (stream && text.size() < limit) {
        stream.read(block.data(), static_cast<std::streamsize>(block.size()));
        text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
    }
    if (stream.bad()) {
        return error(ErrorCode::io, "reading failed");
    }
    return text;
}

std::vector<std::string> expand_quota_paths(const std::vector<std::string>& paths,
                                            config::Diagnostics& diagnostics) {
    std::vector<std::string> files;
    for (const std::string& path : paths) {
        std::error_code failure;
        if (fs::is_directory(path, failure)) {
            const std::size_t errors = diagnostics.error_count();
            const std::vector<std::string> found = files_of(path, diagnostics);
            if (found.empty() && diagnostics.error_count() == errors) {
                diagnostics.add({config::Severity::warning,
                                 path,
                                 {},
                                 {},
                                 "the folder holds no quota document (*.yaml, *.yml or *.json)",
                                 {}});
            }
            files.insert(files.end(), found.begin(), found.end());
        } else {
            files.push_back(path);
        }
    }
    return files;
}

std::function<std::size_t(std::span<char>)> read_in_pieces(const std::string& path) {
    // Shared, because a std::function can be copied.
    auto stream = std::make_shared<std::ifstream>(path, std::ios::binary);
    return [stream](std::span<char> buffer) {
        stream->read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
        return static_cast<std::size_t>(stream->gcount());
    };
}

std::vector<config::SourceText> read_sources(const std::vector<std::string>& files,
                                             config::Diagnostics& diagnostics) {
    std::vector<config::SourceText> sources;
    for (const std::string& file : files) {
        auto text = read_file(file);
        if (text) {
            sources.push_back({file, std::move(*text)});
        } else {
            report_file(file, text.error().message, diagnostics);
        }
    }
    return sources;
}

}  // namespace weir::node
