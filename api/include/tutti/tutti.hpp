#pragma once

/// Everything a program needs.
#include "tutti/allocate.hpp"
#include "tutti/buffer.hpp"
#include "tutti/communicator.hpp"
#include "tutti/config.hpp"
#include "tutti/data_type.hpp"
#include "tutti/device.hpp"
#include "tutti/error.hpp"
#include "tutti/half.hpp"
#include "tutti/info.hpp"
#include "tutti/observer.hpp"
#include "tutti/operation.hpp"
#include "tutti/placement.hpp"
#include "tutti/reduction.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/stream.hpp"
#include "tutti/work.hpp"
