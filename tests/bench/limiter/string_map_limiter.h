#pragma once
// What the limiter is compared with: the plain way, one string-keyed hash map of leaky buckets,
// three look-ups a request. Not thread-safe, no sharing between sidecars, no lots.

#include <string>
#include <string_view>
#include <unordered_map>

class StringMapLimiter {
  public:
    explicit StringMapLimiter(double rate) : rate_(rate) {}

    void reserve(std::size_t names) { buckets_.reserve(names); }
    /// Checks and charges three quotas; now in seconds.
    bool check(std::string_view leaf, std::string_view parent, std::string_view root, double now);
    std::size_t size() const { return buckets_.size(); }

  private:
    struct Bucket {
        double level = 0;
        double time = 0;
    };
    Bucket& bucket(std::string_view name);
    double level(Bucket& bucket, double now) const;

    double rate_;
    std::unordered_map<std::string, Bucket> buckets_;
};
