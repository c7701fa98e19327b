#include "string_map_limiter.h"

#include <algorithm>

StringMapLimiter::Bucket& StringMapLimiter::bucket(std::string_view name) {
    return buckets_[std::string(name)];
}

double StringMapLimiter::level(Bucket& bucket, double now) const {
    bucket.level = std::max(0.0, bucket.level - rate_ * (now - bucket.time));
    bucket.time = now;
    return bucket.level;
}

bool StringMapLimiter::check(std::string_view leaf, std::string_view parent, std::string_view root,
                             double now) {
    Bucket& first = bucket(leaf);
    Bucket& second = bucket(parent);
    Bucket& third = bucket(root);
    if (level(first, now) + 1 > 2 * rate_ || level(second, now) + 1 > 2 * rate_ ||
        level(third, now) + 1 > 2e6 * rate_) {
        return false;
    }
    first.level += 1;
    second.level += 1;
    third.level += 1;
    return true;
}
