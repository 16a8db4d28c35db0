// The C interface of the engine, in a job of one rank.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>

#include "tutti/horovod.h"

namespace {

tutti_horovod_tensor tensor_of(tutti_horovod_operation operation, const char* name, std::span<const float> in,
                               std::span<float> out) {
  tutti_horovod_tensor tensor = TUTTI_HOROVOD_TENSOR_INIT;
  tensor.operation = operation;
  tensor.name = name;
  tensor.in = in.data();
  tensor.in_count = in.size();
  tensor.out = out.data();
  tensor.out_count = out.size();
  tensor.op = TUTTI_HOROVOD_SUM;
  return tensor;
}

/// Waits for the tensors and frees them.
void finish(std::span<const tutti_horovod_handle_t> handles) {
  for (tutti_horovod_handle_t handle : handles) {
    EXPECT_EQ(TUTTI_OK, tutti_horovod_wait(handle)) << tutti_last_error();
    EXPECT_EQ(1, tutti_horovod_poll(handle));
    tutti_horovod_free(handle);
  }
}

class HorovodC : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(TUTTI_OK, tutti_horovod_init()) << tutti_last_error(); }
  void TearDown() override { EXPECT_EQ(TUTTI_OK, tutti_horovod_shutdown()); }
};

TEST_F(HorovodC, ProcessesGroups) {
  const std::array<float, 4> in = {1, 2, 3, 4};
  for (const auto operation : {TUTTI_HOROVOD_ALLREDUCE, TUTTI_HOROVOD_ALLGATHER, TUTTI_HOROVOD_REDUCESCATTER}) {
    std::array<std::array<float, 4>, 2> out = {};
    const std::array group = {tensor_of(operation, "a", in, out[0]), tensor_of(operation, "b", in, out[1])};
    std::array<tutti_horovod_handle_t, 2> handles = {};
    ASSERT_EQ(TUTTI_OK, tutti_horovod_enqueue_group(group.data(), 2, handles.data())) << tutti_last_error();
    finish(handles);
    EXPECT_EQ(out[0], in);
    EXPECT_EQ(out[1], in);
  }
}

TEST_F(HorovodC, RefusesGroupsThatAreNone) {
  const std::array<float, 4> in = {1, 2, 3, 4};
  std::array<float, 4> out = {};
  std::array group = {tensor_of(TUTTI_HOROVOD_ALLREDUCE, "a", in, out),
                      tensor_of(TUTTI_HOROVOD_ALLGATHER, "b", in, out)};
  std::array<tutti_horovod_handle_t, 2> handles = {};
  EXPECT_EQ(TUTTI_INVALID_ARGUMENT, tutti_horovod_enqueue_group(group.data(), 2, handles.data()));
  EXPECT_NE(std::string(tutti_last_error()).find("the tensors of a group have different operations"),
            std::string::npos);
  group[0].operation = group[1].operation = TUTTI_HOROVOD_BROADCAST;
  EXPECT_EQ(TUTTI_INVALID_ARGUMENT, tutti_horovod_enqueue_group(group.data(), 2, handles.data()));
  group[0].operation = group[1].operation = TUTTI_HOROVOD_ALLREDUCE;
  group[1].name = nullptr;
  EXPECT_EQ(TUTTI_INVALID_ARGUMENT, tutti_horovod_enqueue_group(group.data(), 2, handles.data()));
  EXPECT_EQ(TUTTI_INVALID_ARGUMENT, tutti_horovod_enqueue_group(group.data(), -1, handles.data()));
  EXPECT_EQ(TUTTI_OK, tutti_horovod_enqueue_group(nullptr, 0, nullptr));
}

TEST_F(HorovodC, KnowsItsPlaceInProcessSets) {
  EXPECT_EQ(0, tutti_horovod_process_set_rank(0));
  EXPECT_EQ(1, tutti_horovod_process_set_size(0));
  EXPECT_EQ(1, tutti_horovod_process_set_included(0));
  EXPECT_EQ(-1, tutti_horovod_process_set_size(7));
  EXPECT_EQ(-1, tutti_horovod_process_set_included(7));
}

TEST(HorovodCApi, HasNoPlaceBeforeTheStart) {
  EXPECT_EQ(0, tutti_horovod_is_initialized());
  EXPECT_EQ(-1, tutti_horovod_rank());
  EXPECT_EQ(-1, tutti_horovod_process_set_rank(0));
  EXPECT_EQ(-1, tutti_horovod_process_set_size(0));
}

}  // namespace
