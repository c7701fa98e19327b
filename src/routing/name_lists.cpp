#include "routing/name_lists.h"

namespace weir::routing {

std::vector<std::vector<std::string>> name_lists(const RouteSettings& route) {
    if (!route.lists.empty()) {
        return route.lists;
    }
    if (!route.quotas.empty()) {
        return {route.quotas};
    }
    if (route.preset == "s3") {
        return {{"s3/{bucket}/{operation}", "s3/{bucket}/{access}", "s3/{bucket}", "s3"}};
    }
    return {};
}

}  // namespace weir::routing
