#include "engine/schedule.hpp"

#include <algorithm>
#include <utility>

namespace tutti::horovod {

Job& Schedule::add(Response response, bool overtakes) {
  auto place = jobs_.end();
  if (overtakes) {
    place = std::ranges::find_if(jobs_, [&](const Job& job) { return job.response.priority < response.priority; });
  }
  Job& job = *jobs_.emplace(place);
  job.response = std::move(response);
  return job;
}

std::vector<EntryPointer> Schedule::clear() {
  std::vector<EntryPointer> begun;
  for (Job& job : jobs_) {
    if (!job.has_begun || !job.entries) continue;
    for (EntryPointer& entry : *job.entries) begun.push_back(std::move(entry));
  }
  jobs_.clear();
  return begun;
}

}  // namespace tutti::horovod
