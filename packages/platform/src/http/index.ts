export { createApp, createHttpServer } from './app.js';
export { baseUrl } from './base-url.js';
export { basicLogin } from './basic-login.js';
export { parseJson, parseJsonLine, readBody } from './body.js';
export { encodingsTaken } from './encodings.js';
export type { ErrorShape } from './errors.js';
export {
  fieldsParameter,
  listedFields,
  onlyFields,
  readFields,
  sortParameter,
} from './fields.js';
export { headerText } from './header-text.js';
export { HTTP_LIMITS } from './limits.js';
export { listen } from './listen.js';
export { type Admission, admissionOf } from './passage.js';
export { type App, FILE_ROUTE, type ListedFields } from './route.js';
export type { SeatLimits } from './seats.js';
export { type EventStream, EventStreams } from './sse.js';
export type { ClusterStatus } from './status.js';
export { serveUpgrades } from './upgrade.js';
export { describedBody } from './validation.js';
