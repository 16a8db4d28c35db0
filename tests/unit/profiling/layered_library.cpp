// A library whose function the test program stands in front of.
extern "C" __attribute__((visibility("default"))) int tutti_test_layered() { return 2; }
