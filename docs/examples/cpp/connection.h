#pragma once
// Just enough HTTP for an example: GET over one kept-alive connection, answers with Content-Length.

#include <string>

class Connection {
  public:
    Connection(std::string host, std::string port);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// The status code; 0 when the request failed.
    int get(const std::string& path);

  private:
    bool connect();
    void close();
    bool send(const std::string& text) const;
    int receive();

    std::string host_;
    std::string port_;
    int socket_ = -1;
};
