#pragma once

#include <optional>
#include <string>

#include "record/record_merger.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// The folder "FILE.parts" in which the ranks of a recorded job leave their parts. Every `tutti record` of a job uses
/// the same one: in front of a launcher there is one of them, inside there is one for each rank. The last one to leave
/// makes the record.
class RecordFolder {
 public:
  /// Creates the folder, or joins the processes that use it; parts that an earlier job left are removed. Throws
  /// Error{system}.
  explicit RecordFolder(const std::string& file);
  ~RecordFolder();
  RecordFolder(const RecordFolder&) = delete;
  RecordFolder& operator=(const RecordFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Leaves. The last process gets the merged record and removes the folder; the others get nothing. Throws as
  /// replay::merge_folder(), and keeps the folder then.
  [[nodiscard]] std::optional<replay::MergedRecord> leave();

 private:
  [[nodiscard]] spi::FileDescriptor lock() const;
  /// Whether another process that is alive uses the folder.
  [[nodiscard]] bool has_users() const;

  std::string path_;
  std::string mark_;  ///< file that says that this process uses the folder; empty after leave()
};

}  // namespace tutti::tools
