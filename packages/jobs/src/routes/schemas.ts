import { OUTBOUND_LIMITS, RETRY_STRATEGIES } from '@muster/platform/outbound';
import { type TObject, type TSchema, Type } from 'typebox';
import { type Status as JobStatus, REMOTE_OUTCOMES, type RemoteOutcome, STATUSES } from '../status.js';
import type { InputValues, ParameterValues } from '../types.js';

/** Shapes of requests and answers, for /openapi.json. Requests are read by `request/`, where each refusal has its code. */

const text = (description = '') => Type.String({ description });
/** What it is stands where clients look for it: at the whole. */
const nullable = <S extends TSchema>(schema: S, description = '') =>
  Type.Union([schema, Type.Null()], description === '' ? {} : { description });
const time = (description: string) => Type.String({ description: `${description}; ISO 8601`, format: 'date-time' });
const maybeTime = (description: string) => nullable(Type.String({ format: 'date-time' }), `${description}; ISO 8601`);
const Link = Type.Object({ href: text('Absolute') });
const Values = Type.Object({}, { additionalProperties: true, description: 'By the ids of the app' });
/** Of jobs that were taken over from Agave they are whatever they were there. */
const Inputs = Type.Unsafe<InputValues>(Values);
const Parameters = Type.Unsafe<ParameterValues>(Values);
export const Status = Type.Unsafe<JobStatus>(
  Type.String({ enum: [...STATUSES], description: 'How it stands, as docs/guide/jobs.md tells' }),
);

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
  created: maybeTime('When a worker took it first'),
  status: Status,
  remoteStarted: maybeTime('When its program began'),
  ended: maybeTime('When it ended'),
};

export const JobSummary = Type.Object({
  ...SUMMARY,
  _links: Type.Object({ self: Link, archiveData: Link }),
});

const RemoteEnd = Type.Unsafe<RemoteOutcome>(Type.String({ enum: [...REMOTE_OUTCOMES] }));

export const JobAnswer = Type.Object({
  ...SUMMARY,
  tenantId: text('Organization'),
  tenantQueue: text('Submission queue, whole'),
  lastStatusMessage: text(),
  accepted: time('When it was accepted'),
  lastUpdated: time('When it was changed last'),
  roles: nullable(Type.String(), 'Of its owner, as the token said'),
  appUuid: text(),
  workPath: nullable(Type.String(), 'Where it works'),
  archive: Type.Boolean({ description: 'Whether what it writes is kept' }),
  archiveOnAppError: Type.Boolean({ description: 'Also when its program fails' }),
  archivePath: nullable(Type.String(), 'With macros until it starts'),
  archiveSystem: nullable(Type.String()),
  nodeCount: Type.Integer(),
  processorsPerNode: Type.Integer(),
  memoryPerNode: Type.Number({ description: 'GB' }),
  maxHours: Type.Number({ description: 'How long its program may run' }),
  inputs: Inputs,
  parameters: Parameters,
  remoteJobId: nullable(Type.String()),
  schedulerJobId: nullable(Type.String()),
  remoteQueue: nullable(Type.String(), 'Batch queue'),
  remoteSubmitted: maybeTime('When the system took it'),
  remoteEnded: maybeTime('When its program ended'),
  remoteOutcome: nullable(RemoteEnd, 'How its program ended'),
  exitCode: nullable(Type.Integer(), 'Of its program'),
  condition: nullable(Type.String(), 'Why it ended, or what it waits for'),
  submitRetries: Type.Integer({ description: 'Times that it was submitted again' }),
  remoteStatusChecks: Type.Integer({ description: 'Times that its system was asked' }),
  failedStatusChecks: Type.Integer({ description: 'Those of them that were not answered' }),
  lastStatusCheck: maybeTime('When its system was asked last'),
  blockedCount: Type.Integer({ description: 'Times that it was blocked' }),
  visible: Type.Boolean({ description: 'false: it is hidden from lists' }),
  _links: Type.Object({
    self: Link,
    app: Link,
    executionSystem: Link,
    archiveSystem: Type.Optional(Link),
    archiveData: Link,
    permissions: Link,
    history: Link,
    notifications: Link,
  }),
});

export const StatusAnswer = Type.Object({ id: text(), status: Status, _links: Type.Object({ self: Link }) });

export const HistoryAnswer = Type.Array(
  Type.Object({
    id: text('Unique in the history of its job'),
    status: text('A status, or what else happened to it, such as PERMISSION_GRANT'),
    created: time('When it happened'),
    createdBy: text('Who did it'),
    description: text('The same for people'),
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
