#pragma once
// /v1/quotas of the admin API (docs/admin-api.md): shows definitions, and sets, patches and removes
// overrides. Turns requests into calls of the QuotaDirectory and its results into answers, without
// sockets. For the control thread.

#include <string>
#include <string_view>

#include "admin/http_message.h"
#include "admin/request_target.h"
#include "admin/sources.h"

namespace weir::admin {

class QuotaApi {
  public:
    /// The directory must outlive it.
    explicit QuotaApi(QuotaDirectory& directory) : directory_(&directory) {}

    /// Answers for /v1/quotas: GET shows the quotas page by page, POST sets several of them
    /// together.
    [[nodiscard]] Response list(const AdminRequest& request, const RequestTarget& target) const;
    /// Answers for /v1/quotas/<name>: GET, PUT and DELETE. `name` is percent-decoded.
    [[nodiscard]] Response one(const AdminRequest& request, const RequestTarget& target,
                               std::string_view name) const;

  private:
    /// Sets several definitions, all of them or none.
    [[nodiscard]] Response put_together(const AdminRequest& request,
                                        const RequestTarget& target) const;
    /// `with_history`: shows also the changes of this name that were made by the API.
    [[nodiscard]] Response get(std::string_view name, bool with_history) const;
    /// Sets or hides the quota, or changes some of its fields: there is no method PATCH, a patch is
    /// a PUT whose body is a JSON merge patch (RFC 7396).
    [[nodiscard]] Response put(const AdminRequest& request, const RequestTarget& target,
                               std::string_view name) const;
    /// Removes the override, so that the definition of the files is in force again.
    [[nodiscard]] Response remove(const AdminRequest& request, const RequestTarget& target,
                                  std::string_view name) const;

    QuotaDirectory* directory_;
};

}  // namespace weir::admin
