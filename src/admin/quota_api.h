#pragma once
// /v1/quotas: list, show, set, patch and remove definitions. Turns requests into calls of the
// QuotaDirectory and its results into answers; knows no socket. Control thread.

#include <string>
#include <string_view>

#include "admin/http_message.h"
#include "admin/sources.h"
#include "admin/target.h"

namespace weir::admin {

class QuotaApi {
  public:
    /// The directory must outlive it.
    explicit QuotaApi(QuotaDirectory& directory) : directory_(&directory) {}

    /// /v1/quotas: shown page by page, or several set together
    [[nodiscard]] Response list(const Request& request, const Target& target) const;
    /// /v1/quotas/<name>, the name decoded
    [[nodiscard]] Response one(const Request& request, const Target& target,
                               std::string_view name) const;

  private:
    [[nodiscard]] Response put_together(const Request& request, const Target& target) const;
    [[nodiscard]] Response get(std::string_view name, bool with_history) const;
    [[nodiscard]] Response put(const Request& request, const Target& target,
                               std::string_view name) const;
    [[nodiscard]] Response remove(const Request& request, const Target& target,
                                  std::string_view name) const;

    QuotaDirectory* directory_;
};

}  // namespace weir::admin
