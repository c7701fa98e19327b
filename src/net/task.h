#pragma once
// Coroutines of the proxy. A Task<T> is a subroutine: it begins when another coroutine awaits it,
// and gives it a T. A Flow is independent: it starts at once and destroys itself at its end. Only
// the coroutine frames are allocated, from a list of free blocks that each thread has. An exception
// that leaves a coroutine ends the process.
//
// Thread-safety: none; a coroutine stays on the thread of its event loop. Ownership: a Task owns
// its frame.

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

namespace weir::net {

/// Allocates coroutine frames and keeps freed ones for the same thread.
class FramePool {
  public:
    [[nodiscard]] static void* allocate(std::size_t bytes);
    static void release(void* frame, std::size_t bytes) noexcept;
};

struct PooledFrame {
    static void* operator new(std::size_t bytes) { return FramePool::allocate(bytes); }
    static void operator delete(void* frame, std::size_t bytes) noexcept {
        FramePool::release(frame, bytes);
    }
};

struct Flow {
    struct promise_type : PooledFrame {
        Flow get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        [[noreturn]] void unhandled_exception() { std::terminate(); }
    };
};

namespace detail {

/// At its end a task passes control to the coroutine that awaited it.
struct FinalAwaiter {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
        return handle.promise().continuation;
    }
    void await_resume() const noexcept {}
};

struct TaskPromiseBase : PooledFrame {
    std::coroutine_handle<> continuation;
    std::suspend_always initial_suspend() noexcept { return {}; }
    FinalAwaiter final_suspend() noexcept { return {}; }
    [[noreturn]] void unhandled_exception() { std::terminate(); }
};

template <class T>
struct TaskPromise : TaskPromiseBase {
    std::optional<T> value;
    std::coroutine_handle<TaskPromise> get_return_object() {
        return std::coroutine_handle<TaskPromise>::from_promise(*this);
    }
    void return_value(T result) { value.emplace(std::move(result)); }
    T take() { return std::move(*value); }
};

template <>
struct TaskPromise<void> : TaskPromiseBase {
    std::coroutine_handle<TaskPromise> get_return_object() {
        return std::coroutine_handle<TaskPromise>::from_promise(*this);
    }
    void return_void() {}
    void take() {}
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
  public:
    using promise_type = detail::TaskPromise<T>;
    using Handle = std::coroutine_handle<promise_type>;

    Task(Handle handle) : handle_(handle) {}  // NOLINT: made by the promise
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task() {
        if (handle_) {
            handle_.destroy();
        }
    }

    [[nodiscard]] bool await_ready() const { return false; }
    Handle await_suspend(std::coroutine_handle<> continuation) {
        handle_.promise().continuation = continuation;
        return handle_;
    }
    T await_resume() { return handle_.promise().take(); }

  private:
    Handle handle_;
};

}  // namespace weir::net
