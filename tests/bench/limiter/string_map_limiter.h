#pragma once
// The simple limiter with which weir's is compared: one hash map from strings to leaky buckets. A
// request looks its three quotas up by name (each look-up makes the std::string that the map
// needs), drains three buckets, compares, and adds to all three or to none.
// Not thread-safe, no sharing between sidecars, no lots, no rates, no bound on memory.

#include <string>
#include <string_view>
#include <unordered_map>

class StringMapLimiter {
  public:
    explicit StringMapLimiter(double rate) : rate_(rate) {}

    void reserve(std::size_t names) { buckets_.reserve(names); }
    /// Checks and charges three quotas; `now` is in seconds.
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
