import { OUTBOUND_LIMITS, RETRY_STRATEGIES } from '@muster/platform/outbound';
import { type TObject, Type } from 'typebox';
import { STATUSES } from '../status.js';

/** Shapes of requests and answers, for /openapi.json. Requests are read by `request/`, where each refusal has its code. */

const text = (description = '') => Type.String({ description });
const nullable = (schema: ReturnType<typeof Type.String | typeof Type.Integer | typeof Type.Number>) =>
  Type.Union([schema, Type.Null()]);
const time = (description: string) => nullable(Type.String({ description: `${description}; ISO 8601` }));
const Link = Type.Object({ href: text('Absolute') });
const Values = Type.Object({}, { additionalProperties: true, description: 'By the ids of the app' });
export const Status = Type.String({ description: `One of ${STATUSES.join(', ')}` });

/** What every answer is in (sheet §8.1); with `naked=true` the result alone. */
export function enveloped(result: TObject | ReturnType<typeof Type.Array> | ReturnType<typeof Type.Null>) {
  return Type.Object({
    status: Type.Literal('success'),
    message: nullable(Type.String()),
    version: text('Of the interface'),
    result,
  });
}

const SUMMARY = {
  id: text('`UUID-007`'),
  name: text(),
  owner: text(),
  systemId: text('Execution system'),
  appId: text('`NAME-VERSION`'),
  created: time('When a worker took it first'),
  status: Status,
  remoteStarted: time('When its program began'),
  ended: time('When it ended'),
};

export const JobSummary = Type.Object({
  ...SUMMARY,
  _links: Type.Object({ self: Link, archiveData: Link }),
});

export const JobAnswer = Type.Object({
  ...SUMMARY,
  tenantId: text('Organization'),
  tenantQueue: text('Submission queue, whole'),
  lastStatusMessage: text(),
  accepted: time('When it was accepted'),
  lastUpdated: time(''),
  roles: nullable(text('Of its owner, as the token said')),
  appUuid: text(),
  workPath: nullable(text('Where it works')),
  archive: Type.Boolean(),
  archiveOnAppError: Type.Boolean(),
  archivePath: nullable(text('With macros until it starts')),
  archiveSystem: nullable(text()),
  nodeCount: Type.Integer(),
  processorsPerNode: Type.Integer(),
  memoryPerNode: Type.Number({ description: 'GB' }),
  maxHours: Type.Number(),
  inputs: Values,
  parameters: Values,
  remoteJobId: nullable(text()),
  schedulerJobId: nullable(text()),
  remoteQueue: nullable(text('Batch queue')),
  remoteSubmitted: time('When the system took it'),
  remoteEnded: time('When its program ended'),
  remoteOutcome: nullable(text('FINISHED, FAILED or FAILED_SKIP_ARCHIVE')),
  exitCode: nullable(Type.Integer()),
  condition: nullable(text('Why it ended, or what it waits for')),
  submitRetries: Type.Integer(),
  remoteStatusChecks: Type.Integer(),
  failedStatusChecks: Type.Integer(),
  lastStatusCheck: time(''),
  blockedCount: Type.Integer(),
  visible: Type.Boolean(),
  _links: Type.Record(Type.String(), Link),
});

export const StatusAnswer = Type.Object({ id: text(), status: Status, _links: Type.Object({ self: Link }) });

export const HistoryAnswer = Type.Array(
  Type.Object({
    id: text('Unique in the history of its job'),
    status: text(),
    created: time(''),
    createdBy: text(),
    description: text(),
  }),
);

const optional = Type.Optional;
export const RetryPolicyFields = {
  retryStrategy: Type.String({ description: `One of ${RETRY_STRATEGIES.join(', ')}` }),
  retryLimit: Type.Integer({ minimum: 0, maximum: OUTBOUND_LIMITS.retries }),
  retryRate: Type.Integer({
    minimum: 0,
    maximum: OUTBOUND_LIMITS.retrySeconds,
    description: 'Seconds between two',
  }),
  retryDelay: Type.Integer({
    minimum: 0,
    maximum: OUTBOUND_LIMITS.retrySeconds,
    description: 'Seconds before the first',
  }),
  saveOnFailure: Type.Boolean({ description: 'Keep in the log what is given up' }),
};

export const SubscriptionBody = Type.Object({
  event: Type.String({ maxLength: 32, description: 'A status, `*`, or such as CREATED' }),
  url: Type.String({ maxLength: 1024, description: 'http(s) or e-mail address; variables as Agave has them' }),
  persistent: optional(Type.Boolean({ default: false, description: 'Every time, not only the first' })),
  policy: optional(Type.Partial(Type.Object(RetryPolicyFields), { description: 'How it is tried again' })),
});

export const SubmissionBody = Type.Object(
  {
    appId: Type.String({ maxLength: 80, description: '`NAME-VERSION`' }),
    name: Type.String({ minLength: 1, maxLength: 64 }),
    archive: optional(Type.Boolean({ default: true, description: 'Keep what it writes' })),
    archiveOnAppError: optional(Type.Boolean({ default: false, description: 'Also when its program fails' })),
    archivePath: optional(
      nullable(Type.String({ maxLength: 255, description: 'Needed when it archives; empty or null: the usual place' })),
    ),
    archiveSystem: optional(Type.String({ maxLength: 64, description: 'The default system unless given' })),
    batchQueue: optional(Type.String({ maxLength: 255 })),
    executionSystem: optional(Type.String({ maxLength: 64, description: "The app's, if the app names one" })),
    inputs: optional(Values),
    parameters: optional(Values),
    memoryPerNode: optional(Type.String({ maxLength: 32, description: '`200MB`, `1.5GB`, `5`: GB unless said' })),
    nodeCount: optional(Type.Integer({ minimum: 1 })),
    processorsOnEachNode: optional(Type.Integer({ minimum: 1 })),
    processorsPerNode: optional(Type.Integer({ minimum: 1, description: 'Old: of all nodes together' })),
    maxRunTime: optional(Type.String({ maxLength: 20, description: '`HH:mm:ss`' })),
    notifications: optional(Type.Array(SubscriptionBody)),
  },
  { description: 'JSON, or a form with it in the part `fileToUpload`', additionalProperties: false },
);

export const EventStreamAnswer = { content: { 'text/event-stream': { schema: Type.String() } } };
