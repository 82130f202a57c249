// SPDX-License-Identifier: Apache-2.0
#include "fabric/host/address_book.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "fabric/process_identity.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::host {
namespace {

struct address_book {
  explicit address_book(int size) : entries(static_cast<std::size_t>(size)) {}
  std::mutex mutex;
  std::vector<std::shared_ptr<void>> entries;
};

/// Books by the ticket of their group's rank 0: unique in the process, so two groups never share a book.
class library {
 public:
  static library& of_process() {
    static library all;
    return all;
  }
  std::uint64_t new_ticket() { return tickets_.fetch_add(1, std::memory_order_relaxed); }
  std::shared_ptr<address_book> open(std::uint64_t ticket, int size) {
    const std::lock_guard lock(mutex_);
    std::erase_if(books_, [](const auto& book) { return book.second.expired(); });
    auto& kept = books_[ticket];
    auto book = kept.lock();
    if (!book) kept = book = std::make_shared<address_book>(size);
    return book;
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<address_book>> books_;
  std::atomic<std::uint64_t> tickets_{1};
};

struct place {
  process_identity process;
  std::uint64_t ticket = 0;
};

}  // namespace

std::vector<std::shared_ptr<void>> exchange_addresses(comm_backend& backend, std::shared_ptr<void> mine,
                                                      std::chrono::nanoseconds timeout) {
  const place here{identity_of_process(), library::of_process().new_ticket()};
  std::vector<place> all(static_cast<std::size_t>(backend.size()));
  backend.allgather(std::as_bytes(std::span(&here, 1)), std::as_writable_bytes(std::span(all)), timeout);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].process == all[0].process) continue;
    throw unsupported("host fabric: rank " + std::to_string(rank) +
                      " is another process than rank 0, must be a thread of one");
  }
  const auto book = library::of_process().open(all[0].ticket, backend.size());
  {
    const std::lock_guard lock(book->mutex);
    book->entries[static_cast<std::size_t>(backend.rank())] = std::move(mine);
  }
  backend.barrier(timeout);
  const std::lock_guard lock(book->mutex);
  return book->entries;
}

}  // namespace switchyard::host
