#pragma once
// The names of the benchmark's quotas: "s3/<bucket>/read", their parents "s3/<bucket>" and the root
// "s3".

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

struct Name {
    std::array<char, 40> text;
    std::uint8_t size = 0;

    [[nodiscard]] std::string_view leaf() const { return {text.data(), size}; }
    [[nodiscard]] std::string_view parent() const { return {text.data(), size - std::size_t{5}}; }
    [[nodiscard]] std::string_view bucket() const { return parent().substr(3); }
};

/// Names have a fixed width, so that all cost the same: "s3/eu-west-bucket-0000123/read" has 30
/// bytes.
inline Name name_of(std::size_t index, std::string_view prefix) {
    Name name;
    const auto append = [&](std::string_view text) {
        std::memcpy(name.text.data() + name.size, text.data(), text.size());
        name.size = static_cast<std::uint8_t>(name.size + text.size());
    };
    append("s3/");
    append(prefix);
    for (std::size_t divisor = 1'000'000; divisor > 0; divisor /= 10) {
        const char digit = static_cast<char>('0' + index / divisor % 10);
        append({&digit, 1});
    }
    append("/read");
    return name;
}
