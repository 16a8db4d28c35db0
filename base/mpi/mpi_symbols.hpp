#pragma once

// Lists of words by their number, from which interposers define functions of the table.

#define TUTTI_MPI_PARAMETERS_0 void
#define TUTTI_MPI_PARAMETERS_1 Word a0
#define TUTTI_MPI_PARAMETERS_2 Word a0, Word a1
#define TUTTI_MPI_PARAMETERS_3 Word a0, Word a1, Word a2
#define TUTTI_MPI_PARAMETERS_4 Word a0, Word a1, Word a2, Word a3
#define TUTTI_MPI_PARAMETERS_5 Word a0, Word a1, Word a2, Word a3, Word a4
#define TUTTI_MPI_PARAMETERS_6 Word a0, Word a1, Word a2, Word a3, Word a4, Word a5
#define TUTTI_MPI_PARAMETERS_7 Word a0, Word a1, Word a2, Word a3, Word a4, Word a5, Word a6
#define TUTTI_MPI_PARAMETERS_8 Word a0, Word a1, Word a2, Word a3, Word a4, Word a5, Word a6, Word a7
#define TUTTI_MPI_PARAMETERS_9 Word a0, Word a1, Word a2, Word a3, Word a4, Word a5, Word a6, Word a7, Word a8
#define TUTTI_MPI_PARAMETERS_10 Word a0, Word a1, Word a2, Word a3, Word a4, Word a5, Word a6, Word a7, Word a8, Word a9
#define TUTTI_MPI_PARAMETERS_11 \
  Word a0, Word a1, Word a2, Word a3, Word a4, Word a5, Word a6, Word a7, Word a8, Word a9, Word a10
#define TUTTI_MPI_PARAMETERS_12 \
  Word a0, Word a1, Word a2, Word a3, Word a4, Word a5, Word a6, Word a7, Word a8, Word a9, Word a10, Word a11
#define TUTTI_MPI_PARAMETERS_13 \
  Word a0, Word a1, Word a2, Word a3, Word a4, Word a5, Word a6, Word a7, Word a8, Word a9, Word a10, Word a11, Word a12
#define TUTTI_MPI_PARAMETERS_14                                                                                 \
  Word a0, Word a1, Word a2, Word a3, Word a4, Word a5, Word a6, Word a7, Word a8, Word a9, Word a10, Word a11, \
      Word a12, Word a13
#define TUTTI_MPI_PARAMETERS_15                                                                                 \
  Word a0, Word a1, Word a2, Word a3, Word a4, Word a5, Word a6, Word a7, Word a8, Word a9, Word a10, Word a11, \
      Word a12, Word a13, Word a14
#define TUTTI_MPI_PARAMETERS_16                                                                                 \
  Word a0, Word a1, Word a2, Word a3, Word a4, Word a5, Word a6, Word a7, Word a8, Word a9, Word a10, Word a11, \
      Word a12, Word a13, Word a14, Word a15
#define TUTTI_MPI_PARAMETERS_17                                                                                 \
  Word a0, Word a1, Word a2, Word a3, Word a4, Word a5, Word a6, Word a7, Word a8, Word a9, Word a10, Word a11, \
      Word a12, Word a13, Word a14, Word a15, Word a16
#define TUTTI_MPI_TYPES_0
#define TUTTI_MPI_TYPES_1 Word
#define TUTTI_MPI_TYPES_2 Word, Word
#define TUTTI_MPI_TYPES_3 Word, Word, Word
#define TUTTI_MPI_TYPES_4 Word, Word, Word, Word
#define TUTTI_MPI_TYPES_5 Word, Word, Word, Word, Word
#define TUTTI_MPI_TYPES_6 Word, Word, Word, Word, Word, Word
#define TUTTI_MPI_TYPES_7 Word, Word, Word, Word, Word, Word, Word
#define TUTTI_MPI_TYPES_8 Word, Word, Word, Word, Word, Word, Word, Word
#define TUTTI_MPI_TYPES_9 Word, Word, Word, Word, Word, Word, Word, Word, Word
#define TUTTI_MPI_TYPES_10 Word, Word, Word, Word, Word, Word, Word, Word, Word, Word
#define TUTTI_MPI_TYPES_11 Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word
#define TUTTI_MPI_TYPES_12 Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word
#define TUTTI_MPI_TYPES_13 Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word
#define TUTTI_MPI_TYPES_14 Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word
#define TUTTI_MPI_TYPES_15 Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word
#define TUTTI_MPI_TYPES_16 \
  Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word
#define TUTTI_MPI_TYPES_17 \
  Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word
#define TUTTI_MPI_VALUES_0
#define TUTTI_MPI_VALUES_1 , a0
#define TUTTI_MPI_VALUES_2 , a0, a1
#define TUTTI_MPI_VALUES_3 , a0, a1, a2
#define TUTTI_MPI_VALUES_4 , a0, a1, a2, a3
#define TUTTI_MPI_VALUES_5 , a0, a1, a2, a3, a4
#define TUTTI_MPI_VALUES_6 , a0, a1, a2, a3, a4, a5
#define TUTTI_MPI_VALUES_7 , a0, a1, a2, a3, a4, a5, a6
#define TUTTI_MPI_VALUES_8 , a0, a1, a2, a3, a4, a5, a6, a7
#define TUTTI_MPI_VALUES_9 , a0, a1, a2, a3, a4, a5, a6, a7, a8
#define TUTTI_MPI_VALUES_10 , a0, a1, a2, a3, a4, a5, a6, a7, a8, a9
#define TUTTI_MPI_VALUES_11 , a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10
#define TUTTI_MPI_VALUES_12 , a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11
#define TUTTI_MPI_VALUES_13 , a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12
#define TUTTI_MPI_VALUES_14 , a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13
#define TUTTI_MPI_VALUES_15 , a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14
#define TUTTI_MPI_VALUES_16 , a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15
#define TUTTI_MPI_VALUES_17 , a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16

// Three words more than in C: ierror and the hidden lengths of up to two texts. Words that the caller did not pass are
// read from its registers or frame and passed on to a function that does not look at them.
#define TUTTI_MPI_FORTRAN_0 3
#define TUTTI_MPI_FORTRAN_1 4
#define TUTTI_MPI_FORTRAN_2 5
#define TUTTI_MPI_FORTRAN_3 6
#define TUTTI_MPI_FORTRAN_4 7
#define TUTTI_MPI_FORTRAN_5 8
#define TUTTI_MPI_FORTRAN_6 9
#define TUTTI_MPI_FORTRAN_7 10
#define TUTTI_MPI_FORTRAN_8 11
#define TUTTI_MPI_FORTRAN_9 12
#define TUTTI_MPI_FORTRAN_10 13
#define TUTTI_MPI_FORTRAN_11 14
#define TUTTI_MPI_FORTRAN_12 15
#define TUTTI_MPI_FORTRAN_13 16

#define TUTTI_MPI_JOIN(a, b) TUTTI_MPI_JOIN_(a, b)
#define TUTTI_MPI_JOIN_(a, b) a##b
#define TUTTI_MPI_EXPORT extern "C" [[gnu::visibility("default")]]
