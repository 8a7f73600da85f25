/** How a job stands (sheet §2.1). */
export const STATUSES = [
  'ACCEPTED',
  'PENDING',
  'PROCESSING_INPUTS',
  'STAGING_INPUTS',
  'STAGED',
  'STAGING_JOB',
  'SUBMITTING',
  'QUEUED',
  'RUNNING',
  'CLEANING_UP',
  'ARCHIVING',
  'BLOCKED',
  'PAUSED',
  'FINISHED',
  'STOPPED',
  'FAILED',
] as const;

export type Status = (typeof STATUSES)[number];

/** The best guess at what the program did (sheet §1.1). */
export const REMOTE_OUTCOMES = ['FINISHED', 'FAILED', 'FAILED_SKIP_ARCHIVE'] as const;
export type RemoteOutcome = (typeof REMOTE_OUTCOMES)[number];

/** Those in which a worker has work to do. */
export type ActiveStatus = Exclude<Status, 'ACCEPTED' | 'BLOCKED' | 'PAUSED' | TerminalStatus>;
export type TerminalStatus = 'FINISHED' | 'STOPPED' | 'FAILED';

/** Of jobs that another system ran: they are only read (sheet §2.1). */
export const FOREIGN_STATUSES = ['ARCHIVING_FINISHED', 'ARCHIVING_FAILED', 'KILLED', 'HEARTBEAT'] as const;

const TERMINAL: ReadonlySet<string> = new Set<TerminalStatus>(['FINISHED', 'STOPPED', 'FAILED']);
const INACTIVE: ReadonlySet<string> = new Set<Status>(['ACCEPTED', 'BLOCKED', 'PAUSED']);

export function isStatus(text: string): text is Status {
  return (STATUSES as readonly string[]).includes(text);
}

export function isTerminal(status: Status): status is TerminalStatus {
  return TERMINAL.has(status);
}

export function isActive(status: Status): status is ActiveStatus {
  return !TERMINAL.has(status) && !INACTIVE.has(status);
}

/** Those of jobs that a worker works on, in the order in which jobs come to them. */
export const ACTIVE_STATUSES: readonly ActiveStatus[] = STATUSES.filter(isActive);

/** On the execution system. */
export function isExecuting(status: Status): boolean {
  return status === 'QUEUED' || status === 'RUNNING';
}

/** What history and webhooks say of a status where nothing more is known (sheet §2.1). */
export const DESCRIPTIONS: Readonly<Record<Status, string>> = {
  ACCEPTED: 'JOBS_ACCEPTED Job accepted for processing.',
  PENDING: 'Job processing beginning',
  PROCESSING_INPUTS: 'Identifying input files for staging',
  STAGING_INPUTS: 'Transferring job input data to execution system',
  STAGED: 'Job inputs staged to execution system',
  STAGING_JOB: 'Staging runtime assets to execution system',
  SUBMITTING: 'Submitting job to execution system',
  QUEUED: 'Job queued on execution system',
  RUNNING: 'Job running on execution system',
  CLEANING_UP: 'Job completed execution',
  ARCHIVING: 'Transferring job output to archive system',
  BLOCKED: 'Job recovering from a transient error condition',
  PAUSED: 'Job paused by request',
  FINISHED: 'Job complete',
  STOPPED: 'Job execution intentionally stopped',
  FAILED: 'Job failed',
};

/** Begins the message of a job after a change of which nothing more is known (sheet §2.5). */
export const TRANSITION = 'Transitioning from status ';

/** What people are told of a status: why, or else what it means. */
export function statusText(status: Status, message: string): string {
  return message.startsWith(TRANSITION) ? DESCRIPTIONS[status] : message;
}

/** The four groups of the work of a job (sheet §3.2). */
export type PhaseName = 'STAGING' | 'SUBMITTING' | 'MONITORING' | 'ARCHIVING';

export const PHASES: Readonly<Record<ActiveStatus, PhaseName>> = {
  PENDING: 'STAGING',
  PROCESSING_INPUTS: 'STAGING',
  STAGING_INPUTS: 'STAGING',
  STAGED: 'STAGING',
  STAGING_JOB: 'STAGING',
  SUBMITTING: 'SUBMITTING',
  QUEUED: 'MONITORING',
  RUNNING: 'MONITORING',
  CLEANING_UP: 'ARCHIVING',
  ARCHIVING: 'ARCHIVING',
};
