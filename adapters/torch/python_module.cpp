// The Python module tutti_torch._C.
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "process_group.hpp"
#include "report.hpp"
#include "tutti/error.hpp"

namespace {

using tutti::torch_adapter::C10dBase;
using tutti::torch_adapter::ProcessGroup;

/// Ends without the lock of the interpreter, which callbacks of pending calls may need.
class PythonProcessGroup final : public ProcessGroup {
 public:
  using ProcessGroup::ProcessGroup;
  ~PythonProcessGroup() override {
    if (Py_IsInitialized() != 0 && PyGILState_Check() != 0) {
      const pybind11::gil_scoped_release release;
      close();
    }
  }
};

c10::intrusive_ptr<C10dBase> create(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                    std::chrono::milliseconds timeout, const std::string& name) {
  tutti::torch_adapter::begin_report();
  return c10::make_intrusive<PythonProcessGroup>(*store, rank, size, timeout, name);
}

std::string engine_of(const c10::intrusive_ptr<C10dBase>& group) {
  const auto* const ours = dynamic_cast<const ProcessGroup*>(group.get());
  if (ours == nullptr)
    throw tutti::Error(tutti::ErrorCode::invalid_argument, "the process group is not one of the backend tutti");
  return ours->engine();
}

}  // namespace

PYBIND11_MODULE(_C, module) {
  module.def("create", &create, pybind11::arg("store"), pybind11::arg("rank"), pybind11::arg("size"),
             pybind11::arg("timeout"), pybind11::arg("name"), pybind11::call_guard<pybind11::gil_scoped_release>());
  module.def("engine", &engine_of, pybind11::arg("group"));
}
