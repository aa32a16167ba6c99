// SPDX-License-Identifier: Apache-2.0
// Files that are written where a person named them: none is overwritten by mistake. Thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/safe_file.h"

namespace tutti {

/// Why a word is taken for a forgotten name ("--", "--summary"), or empty where it names a file.
/// `dash`: "-" stands for a stream.
std::string output_name_problem(std::string_view name, bool dash);

/// Both names lead to one file that exists, also through links.
bool same_file(const std::string& a, const std::string& b);

/// Why `output` must not be written: it is one of `inputs`, which are read; or empty.
std::string overwrites_input(const std::string& output, const std::vector<std::string>& inputs);

/// What Tutti writes, each known by how it begins.
enum class Written : uint8_t { kTrace, kSummary, kReportPage, kReportJson, kReportText };

/// Whether a file of some content lies there that none of `kinds` begins like, blanks aside:
/// whoever named it meant another.
bool holds_something_else(const std::string& output, std::initializer_list<Written> kinds);

/// The same as a sentence for a person; empty: it may be written.
std::string overwrites_other(const std::string& output, std::initializer_list<Written> kinds);

/// Makes the folder that the file is to lie in, with the usual modes, where it can be made.
void make_folder_for(const std::string& path);

/// What happens to what a file holds already. kStays: whoever opens it cuts it off.
enum class Content : uint8_t { kIsReplaced, kIsAppendedTo, kStays };
/// Whether a pipe is written, whose reader may keep us waiting: no application should wait for
/// that, a command of a person's may.
enum class Waiting : uint8_t { kRefused, kAccepted };

/// Opens a file that a person named, which is made with the usual modes. Errors say what is wrong
/// without its name.
Result<Descriptor> open_output(const std::string& path, Content content,
                               Waiting waiting = Waiting::kRefused);
/// Replaces what the file holds.
Status write_output(const std::string& path, std::string_view content,
                    Waiting waiting = Waiting::kRefused);

}  // namespace tutti
