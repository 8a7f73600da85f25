/** Bounds of captured output that are not settings. */
export const OUTPUT_LIMITS = {
  /** Of one stored chunk, whatever a dialect sends at once. */
  chunkBytes: 65_536,
  /** Chunks of a stream in memory while it is read. */
  chunksRead: 16,
  /** Chunks deleted in one transaction, so that what runs is not held up. */
  chunksCleared: 100,
  /** Pieces of at least so much are answered at once: whoever sends them has more. */
  largeBytes: 16_384,
  /** Answers to smaller ones, but for the first of a stream, leave in rounds, so many in each; and none waits for longer. */
  answerRoundMs: 50,
  answersARound: 50,
  answerWaitsMs: 1000,
  /** Pieces that wait in memory for a reader of a whole subject, with what each costs besides its bytes; then it reads what is stored. */
  liveBytes: 4_194_304,
  livePieceBytes: 256,
  /** Longest reason told in a header. */
  reasonCharacters: 512,
} as const;
