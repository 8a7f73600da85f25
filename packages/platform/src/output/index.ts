export { answerOutput } from './answer.js';
export { clearOutput, extentOf, storeOutput } from './chunks.js';
export type { OutputFollowers } from './followers.js';
export { OutputKeeper } from './keeper.js';
export { type LiveEnd, type LivePiece, type LiveReaders, liveOutput } from './live.js';
export { type ByteRange, rangeWithin, readRange } from './range.js';
export { beginningOfOutput, storedOutput } from './reading.js';
export { OCTETS, OUTPUT_DESCRIPTION, OutputAnswer, OutputQuery } from './schemas.js';
export type { OutputSource, OutputStream, SourceStanding } from './types.js';
