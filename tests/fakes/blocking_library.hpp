#pragma once

/// Stand-in for a library whose calls block for ever: each function returns when `*released` becomes true.
extern "C" {
/// Spins, as libraries do that poll their network.
int blocking_spin(const volatile bool* released);
/// Gives the core away while it spins.
int blocking_yield(const volatile bool* released);
/// Sleeps in the system for a millisecond at a time.
int blocking_sleep(const volatile bool* released);
/// Spins in a function that must not throw, called by one that must not throw either.
int blocking_noexcept(const volatile bool* released);
/// Spins while an object lives whose destructor would say so.
int blocking_with_guard(const volatile bool* released);
/// Number of those objects.
int guards_alive();
/// Spins with all registers in use.
int blocking_with_registers(const volatile bool* released);
/// Waits at a condition variable.
int blocking_condition(const volatile bool* released);
/// Waits in read() of a pipe, in fgets() of one, or in the constructor of a library that it opens; to be woken when
/// `*released` has become true.
int blocking_read(const volatile bool* released);
int blocking_fgets(const volatile bool* released);
int blocking_open(const volatile bool* released);
/// Whether a thread is in such a call and holds the lock of the file or of the dynamic loader.
bool blocking_holds_lock();
/// Wakes calls of the three functions above.
void blocking_wake();
/// For the constructor of the opened library.
void blocking_in_constructor();
}
