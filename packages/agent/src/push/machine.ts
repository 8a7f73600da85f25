import { type AgentMessage, type AgentState, type CommandOptions, type CommandResult, NOT_WAITING } from '@muster/wire';
import type { OutputBytes } from '../execution/output.js';
import { REMEMBERED_JOBS, WAIT_MS } from '../limits.js';

/** The agent's command machine, Push Jobs §5.7 (sheet §6.5). Pure: time, processes and sockets are effects. */

/** A job as offered by prepare; kept until start, because start does not repeat the options. */
export interface PreparedJob {
  readonly jobId: string;
  readonly command: string;
  readonly capture: boolean;
  readonly options: CommandOptions;
  /** Execution limit; null means none. */
  readonly timeoutMs: number | null;
}

export type StartKind = 'clean' | 'crash' | 'first';

/** How the most recent command ended. */
export interface Ended {
  readonly result: CommandResult;
  readonly bytes: OutputBytes | null;
}

export type Phase =
  /** Nothing is known yet; ends when the previous end of the agent has been looked into. */
  | { readonly kind: 'startup' }
  /** Connected, but nothing heard from the server; ends with its first word. */
  | { readonly kind: 'pending'; readonly start: StartKind }
  /** Idle. */
  | { readonly kind: 'ready' }
  /** Has acked `job`; ends by start, abort, the waiting timeout or the loss of the server. */
  | { readonly kind: 'waiting'; readonly job: PreparedJob }
  /** The command of `job` was started and has not ended. */
  | { readonly kind: 'running'; readonly job: PreparedJob }
  /** The command is being killed; ends when its last process is gone. */
  | { readonly kind: 'terminating'; readonly job: PreparedJob };

export interface Machine {
  readonly phase: Phase;
  readonly last: Ended | null;
  /** Jobs whose command was started, newest last: none is ever started again. */
  readonly ran: readonly string[];
}

export const initialMachine: Machine = { phase: { kind: 'startup' }, last: null, ran: [] };

export type Event =
  /** How the previous run of the agent ended; `interrupted` is the job it was running when it crashed. */
  | {
      readonly type: 'looked_back';
      readonly start: StartKind;
      readonly interrupted: string | null;
      /** A job that goes on here: the agent before has handed over in the middle of its own upgrade. */
      readonly resumed?: PreparedJob | null;
    }
  /** The server's heartbeat, or any other verified word of it. */
  | { readonly type: 'server_heard' }
  /** The server is judged offline, or online again (§4.3). */
  | { readonly type: 'server_lost' }
  | { readonly type: 'server_back' }
  /** `refusal` is decided outside: allow-list, user, directory, file, lock. */
  | {
      readonly type: 'prepare';
      readonly job: PreparedJob;
      readonly waitMs: number | null;
      readonly refusal: string | null;
    }
  | { readonly type: 'start'; readonly jobId: string }
  | { readonly type: 'abort' }
  | { readonly type: 'wait_over'; readonly jobId: string }
  | { readonly type: 'limit_reached'; readonly jobId: string; readonly bytes: OutputBytes | null }
  /** The command ended by itself or could not be launched; in Terminating: its last process is gone. */
  | { readonly type: 'exited'; readonly result: CommandResult; readonly bytes: OutputBytes | null }
  /** The agent is being stopped. */
  | { readonly type: 'stop' };

export type Effect =
  | { readonly type: 'send'; readonly message: AgentMessage }
  /** Note durably that this job's command is about to run, before `run`. */
  | { readonly type: 'remember'; readonly job: PreparedJob }
  /** The command is over: the note may go. */
  | { readonly type: 'forget'; readonly jobId: string }
  | { readonly type: 'run'; readonly job: PreparedJob }
  | { readonly type: 'kill'; readonly jobId: string }
  | { readonly type: 'arm'; readonly timer: TimerName; readonly afterMs: number; readonly jobId: string }
  | { readonly type: 'cancel'; readonly timer: TimerName };

export type TimerName = 'wait' | 'limit';

export interface Step {
  readonly machine: Machine;
  readonly effects: readonly Effect[];
}

const send = (message: AgentMessage): Effect => ({ type: 'send', message });
const error = (jobId: string | null, reason: string): Effect => send({ type: 'error', jobId, reason });
const finished = ({ result, bytes }: Ended): Effect => send({ type: 'finished', ...result, output: null, bytes });
const aborted = (jobId: string | null, from: AgentState, settled: boolean): Effect =>
  send({ type: 'aborted', jobId, from, settled });
const nack = (jobId: string, reason: string, currentJobId: string | null): Effect =>
  send({ type: 'nack', jobId, reason, currentJobId });

const READY: Phase = { kind: 'ready' };

/** One event. Events that mean nothing in the present state change nothing. */
export function step(machine: Machine, event: Event): Step {
  const to = (phase: Phase, ...effects: Effect[]): Step => ({ machine: { ...machine, phase }, effects });
  const stay = (...effects: Effect[]): Step => ({ machine, effects });
  const { phase } = machine;

  switch (phase.kind) {
    case 'startup':
      if (event.type !== 'looked_back') return stay();
      if (event.resumed) {
        const job = event.resumed;
        return { machine: { ...machine, phase: { kind: 'running', job }, ran: [job.jobId] }, effects: [] };
      }
      return to(
        { kind: 'pending', start: event.start },
        // §5.7 Startup: a job that was running failed; a hard shutdown without one is told as well.
        ...(event.start === 'crash' || event.interrupted !== null
          ? [send({ type: 'crashed', jobId: event.interrupted })]
          : []),
      );

    case 'pending':
      // Nothing else is processed before the server has been heard (§5.7).
      return event.type === 'server_heard' ? to(READY, send({ type: 'ready', start: phase.start })) : stay();

    case 'ready':
      switch (event.type) {
        case 'prepare':
          return prepare(machine, event);
        case 'abort':
          return stay(aborted(null, 'ready', true));
        case 'start':
          return stay(notWaiting(machine, event.jobId));
        case 'server_back':
          return stay(send({ type: 'ready', start: null }));
        default:
          return stay();
      }

    case 'waiting':
      return waiting(machine, phase.job, event);

    case 'running':
      return running(machine, phase.job, event);

    case 'terminating': {
      const { jobId } = phase.job;
      switch (event.type) {
        case 'prepare':
          return stay(nack(event.job.jobId, 'busy', jobId));
        case 'abort':
          return stay(aborted(jobId, 'terminating', false));
        case 'start':
          return stay(notWaiting(machine, event.jobId));
        case 'exited':
          return to(READY, send({ type: 'ready', start: null }), { type: 'forget', jobId });
        default:
          return stay();
      }
    }
  }
}

function prepare(machine: Machine, event: Extract<Event, { type: 'prepare' }>): Step {
  const { job } = event;
  const refusal = event.refusal ?? (machine.ran.includes(job.jobId) ? 'this job already ran here' : null);
  if (refusal !== null) return { machine, effects: [nack(job.jobId, refusal, null)] };
  return {
    machine: { ...machine, phase: { kind: 'waiting', job } },
    effects: [
      { type: 'arm', timer: 'wait', afterMs: event.waitMs ?? WAIT_MS, jobId: job.jobId },
      send({ type: 'ack', jobId: job.jobId }),
    ],
  };
}

/** A start for a job that already ended is answered by how it ended, never by running it again (N12). */
function notWaiting(machine: Machine, jobId: string): Effect {
  if (machine.last?.result.jobId === jobId) return finished(machine.last);
  return error(jobId, machine.ran.includes(jobId) ? 'start failed: this job already ran' : NOT_WAITING);
}

function waiting(machine: Machine, job: PreparedJob, event: Event): Step {
  const { jobId } = job;
  const toReady = (...effects: Effect[]): Step => ({
    machine: { ...machine, phase: READY },
    effects: [{ type: 'cancel', timer: 'wait' }, ...effects],
  });
  const stay = (...effects: Effect[]): Step => ({ machine, effects });

  switch (event.type) {
    case 'prepare':
      if (event.job.jobId !== jobId) return stay(nack(event.job.jobId, 'busy', jobId));
      // Repeated: acked again, with the options of the first (N12).
      return stay(
        { type: 'arm', timer: 'wait', afterMs: event.waitMs ?? WAIT_MS, jobId },
        send({ type: 'ack', jobId }),
      );
    case 'abort':
      return toReady(aborted(jobId, 'waiting', true));
    case 'start':
      if (event.jobId !== jobId) return stay(notWaiting(machine, event.jobId));
      return {
        machine: {
          ...machine,
          phase: { kind: 'running', job },
          ran: [...machine.ran, jobId].slice(-REMEMBERED_JOBS),
        },
        effects: [
          { type: 'cancel', timer: 'wait' },
          { type: 'remember', job },
          send({ type: 'started', jobId }),
          { type: 'run', job },
          ...(job.timeoutMs === null
            ? []
            : [{ type: 'arm', timer: 'limit', afterMs: job.timeoutMs, jobId } satisfies Effect]),
        ],
      };
    case 'wait_over':
      return event.jobId === jobId ? toReady(error(jobId, 'timeout: no start came')) : stay();
    case 'server_lost':
      // §4.3: requests of the offline server that have not begun must be discarded.
      return toReady();
    case 'stop':
      return toReady(error(jobId, 'agent stopped'));
    default:
      return stay();
  }
}

function running(machine: Machine, job: PreparedJob, event: Event): Step {
  const { jobId } = job;
  const stay = (...effects: Effect[]): Step => ({ machine, effects });
  const end = (last: Ended): Step => ({
    machine: { ...machine, phase: { kind: 'terminating', job }, last },
    effects: [{ type: 'cancel', timer: 'limit' }, finished(last), { type: 'kill', jobId }],
  });
  const cut = { jobId, exitCode: null, signal: null };

  switch (event.type) {
    case 'prepare':
      // Repeated: answered as before (N12). It is not another job, so it is not nacked.
      if (event.job.jobId === jobId) return stay(send({ type: 'ack', jobId }));
      return stay(nack(event.job.jobId, 'busy', jobId));
    case 'abort':
      return {
        machine: { ...machine, phase: { kind: 'terminating', job } },
        effects: [{ type: 'cancel', timer: 'limit' }, aborted(jobId, 'running', false), { type: 'kill', jobId }],
      };
    case 'start':
      if (event.jobId === jobId) return stay(send({ type: 'started', jobId }));
      return stay(notWaiting(machine, event.jobId));
    case 'exited': {
      const last: Ended = { result: event.result, bytes: event.bytes };
      return {
        machine: { ...machine, phase: READY, last },
        effects: [{ type: 'cancel', timer: 'limit' }, finished(last), { type: 'forget', jobId }],
      };
    }
    case 'limit_reached':
      if (event.jobId !== jobId) return stay();
      return end({
        result: { ...cut, outcome: 'timed_out', reason: 'execution time limit exceeded' },
        bytes: event.bytes,
      });
    case 'stop':
      return end({ result: { ...cut, outcome: 'failed', reason: 'agent stopped' }, bytes: null });
    default:
      return stay();
  }
}

/** What heartbeats say. Before the server was heard the agent calls itself ready: there is nothing it does. */
export function reportedState(machine: Machine): { readonly state: AgentState; readonly jobId: string | null } {
  const { phase } = machine;
  switch (phase.kind) {
    case 'startup':
    case 'pending':
    case 'ready':
      return { state: 'ready', jobId: null };
    case 'waiting':
    case 'running':
    case 'terminating':
      return { state: phase.kind, jobId: phase.job.jobId };
  }
}
