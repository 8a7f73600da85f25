import type { NodeReport } from '@muster/nodes';
import type { ServerMessage } from '@muster/wire';
import type { JobNodeEvent, Report } from '../machine/job-node.js';
import type { PushMessage } from '../ownership/types.js';
import type { LiveJob } from './live-job.js';
import type { Order } from './turn.js';

/** Between the wire's vocabulary and the machines'. */

/** Added to what an agent may have to wait for its start, so that it never gives up first. */
const WAIT_MARGIN_SECONDS = 60;

export function orderFor(job: LiveJob, order: Order): ServerMessage {
  switch (order) {
    case 'prepare':
      return {
        type: 'prepare',
        jobId: job.id,
        command: job.spec.command,
        capture: job.spec.capture,
        options: job.spec.options,
        waitSeconds:
          Math.ceil((job.spec.waitTimeout ?? 0) + job.spec.votingTimeout + job.spec.runTimeout) + WAIT_MARGIN_SECONDS,
        ...(job.spec.nodeTimeout === null ? {} : { timeoutSeconds: job.spec.nodeTimeout }),
      };
    case 'start':
      return { type: 'start', jobId: job.id };
    case 'abort':
      return { type: 'abort' };
  }
}

/** What a message means to the machine; null: nothing. Output is not its business. */
export function nodeEvent(job: LiveJob, message: Exclude<PushMessage, { type: 'output' }>): JobNodeEvent | null {
  switch (message.type) {
    case 'ready':
      return null;
    case 'crashed':
      return { type: 'agent_crashed' };
    case 'aborted':
      // An answer to an abort of before this job (§5.5.3 warns of leftovers).
      return message.jobId === job.id ? { type: 'aborted', from: message.from, settled: message.settled } : null;
    case 'ack':
    case 'nack':
    case 'started':
    case 'finished':
    case 'error':
      break;
  }
  if (message.jobId !== job.id) {
    return {
      type: 'misbehaved',
      reason: `sent ${message.type} for ${message.jobId === null ? 'no job' : 'another job'}`,
    };
  }
  switch (message.type) {
    case 'ack':
    case 'started':
      return { type: message.type };
    case 'nack':
    case 'error':
      return { type: message.type, reason: message.reason };
    case 'finished':
      return { type: 'finished', result: message };
  }
}

/** What a heartbeat says about this job. */
export function reportOn(jobId: string, report: NodeReport): Report {
  if (report.jobId === jobId) {
    if (report.state === 'waiting') return 'waiting';
    if (report.state === 'running' || report.state === 'terminating') return 'running';
  }
  return report.last?.jobId === jobId ? 'ended' : 'absent';
}
