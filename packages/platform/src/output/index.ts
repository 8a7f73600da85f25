export { answerOutput } from './answer.js';
export { clearOutput, storeOutput } from './chunks.js';
export type { OutputFollowers } from './followers.js';
export { OutputKeeper } from './keeper.js';
export { storedOutput } from './reading.js';
export { OCTETS, OUTPUT_DESCRIPTION, OutputAnswer, OutputQuery } from './schemas.js';
export type { OutputSource, OutputStream, SourceStanding } from './types.js';
