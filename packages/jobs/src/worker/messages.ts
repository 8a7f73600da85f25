import type { Job } from '../types.js';

/** What a worker is sent (sheet §5.5). Bodies are JSON objects with a `msgType`. */
export type Read<T> = { readonly message: T } | { readonly problem: string };

export interface Submission {
  readonly job: Job;
  readonly idempotencyKey: string | null;
  /** Where its request came from. */
  readonly address: string | null;
}

export type JobCommand = 'JOB_CANCEL' | 'JOB_PAUSE' | 'JOB_STATUS';
export type WorkerCommand = 'WKR_STATUS' | 'WKR_SHUTDOWN' | 'WKR_SHUTDOWN_QUIESCE' | 'WKR_SUSPEND' | 'WKR_RESUME';

export interface Command<T extends string> {
  readonly msgType: T;
  readonly correlationId: string;
  readonly senderId: string;
  /** The worker that is meant; null: any that hears it. */
  readonly workerUuid: string | null;
}

const TEXTS = [
  'uuid',
  'orgId',
  'tenant',
  'name',
  'owner',
  'queue',
  'appId',
  'appUuid',
  'systemId',
  'lastMessage',
] as const;
const NUMBERS = ['nodeCount', 'processorsPerNode', 'memoryMb', 'maxSeconds', 'accepted', 'lastUpdated'] as const;

/** @param orgId Of the organization whose queue it came from: it holds no job of another. */
export function readSubmission(body: Buffer, orgId: string): Read<Submission> {
  const fields = objectOf(body);
  if (fields === null) return { problem: 'it is no JSON object' };
  if (fields.msgType !== 'SUBMIT_JOB') return { problem: `its msgType is '${text(fields.msgType)}'` };
  const job = fields.job as Readonly<Record<string, unknown>> | null | undefined;
  if (typeof job !== 'object' || job === null) return { problem: 'it has no job' };
  for (const name of TEXTS) if (typeof job[name] !== 'string') return { problem: `job.${name} is no text` };
  for (const name of NUMBERS) if (!Number.isSafeInteger(job[name])) return { problem: `job.${name} is no number` };
  if (job.orgId !== orgId) return { problem: 'JOBS_MISMATCHED_TENANT it is of another organization' };
  const { idempotencyKey, address, ...rest } = job;
  return {
    message: {
      job: rest as unknown as Job,
      idempotencyKey: textOrNull(idempotencyKey),
      address: textOrNull(address),
    },
  };
}

const JOB_COMMANDS: ReadonlySet<string> = new Set<JobCommand>(['JOB_CANCEL', 'JOB_PAUSE', 'JOB_STATUS']);
const WORKER_COMMANDS: ReadonlySet<string> = new Set<WorkerCommand>([
  'WKR_STATUS',
  'WKR_SHUTDOWN',
  'WKR_SHUTDOWN_QUIESCE',
  'WKR_SUSPEND',
  'WKR_RESUME',
]);

export const readJobCommand = (body: Buffer): Read<Command<JobCommand>> => command(body, JOB_COMMANDS);
export const readWorkerCommand = (body: Buffer): Read<Command<WorkerCommand>> => command(body, WORKER_COMMANDS);

function command<T extends string>(body: Buffer, known: ReadonlySet<string>): Read<Command<T>> {
  const fields = objectOf(body);
  if (fields === null) return { problem: 'it is no JSON object' };
  const { msgType, correlationId, senderId, workerUuid } = fields;
  if (typeof msgType !== 'string' || !known.has(msgType)) return { problem: `its msgType is '${text(msgType)}'` };
  return {
    message: {
      msgType: msgType as T,
      correlationId: text(correlationId),
      senderId: text(senderId),
      workerUuid: textOrNull(workerUuid),
    },
  };
}

function objectOf(body: Buffer): Readonly<Record<string, unknown>> | null {
  try {
    const read: unknown = JSON.parse(body.toString('utf8'));
    return typeof read === 'object' && read !== null && !Array.isArray(read)
      ? (read as Readonly<Record<string, unknown>>)
      : null;
  } catch {
    return null;
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 200) : '';
}
