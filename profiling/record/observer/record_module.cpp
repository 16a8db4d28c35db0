// The observer module "record": TUTTI_OBSERVERS=record, and TUTTI_RECORD names the folder.
#include "record/observer/record_observer.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/observer_module.hpp"

namespace tutti::replay {

namespace {

/// Never destroyed: static communicators may report until the process ends.
struct Recording {
  explicit Recording(const std::string& folder) : observer(folder) {}
  RecordObserver observer;
  ObserverHandle handle;
};
Recording* recording = nullptr;

void start(const Config& config) {
  const std::string& folder = config.text("TUTTI_RECORD");
  if (folder.empty()) throw Error(ErrorCode::config, "TUTTI_RECORD names no folder for the record; use tutti record");
  recording = new Recording(folder);
  recording->handle = add_observer(recording->observer);
}

void stop() noexcept {
  recording->observer.finish();
  recording->handle.reset();
}

constexpr spi::ObserverModule kModule = {.name = "record",
                                         .description = "writes what each rank communicates, for tutti replay",
                                         .start = start,
                                         .stop = stop};

}  // namespace

}  // namespace tutti::replay

extern "C" TUTTI_API const tutti::spi::ObserverModule* tutti_observer_module() { return &tutti::replay::kModule; }
