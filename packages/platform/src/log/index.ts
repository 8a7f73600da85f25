export { type EventContent, readEvents } from './event-chunk.js';
export { createEvents, type Events } from './events.js';
export {
  contentsOf as feedContents,
  type FeedContent,
  newestOfSubject,
  readSubject,
  subjectsSince,
} from './log-reads.js';
export type { Recordable } from './log-rows.js';
export {
  type EventFamily,
  type EventSchema,
  type EventSchemas,
  OwnEvents,
  readOwnEvent,
  typeOfOwn,
} from './own-events.js';
export { Recorder } from './recorder.js';
export type { OpenSubjects } from './retention.js';
export type { StoredEvent } from './stored-event.js';
