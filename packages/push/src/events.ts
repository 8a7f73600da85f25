import { textOf } from '@muster/fabric';
import type { EventContent, FeedContent, Recordable } from '@muster/platform/log';
import { encodeEvent, ownEvent } from '@muster/platform/log';
import type { LiveJob } from './controller/live-job.js';
import type { PushEvent, PushEventName } from './ports.js';

/** What push jobs tell: events that their feeds show, and further ones for those who follow everything. */

const PREFIX = 'push.';
/** Subjects in the event log: what a feed shows is found by them. Other layers have prefixes of their own. */
export const SUBJECT = 'push/';

export function subjectOf(jobId: string): string {
  return SUBJECT + jobId;
}

/** The push job that the events of this subject are about; null: they are another layer's. */
export function jobOfSubject(subject: string | null): string | null {
  return subject?.startsWith(SUBJECT) ? subject.slice(SUBJECT.length) : null;
}

type Job = Pick<LiveJob, 'org' | 'id'>;

/** An event of the job's feed; `data` is what the feed shows. */
export function feedEvent(
  { org, id }: Job,
  seq: number,
  name: PushEventName,
  data: Readonly<Record<string, unknown>>,
): Recordable {
  const { node, status } = data;
  const attributes = name === 'start' ? { job: id, seq, user: data.user } : { job: id, seq, node, status };
  return encodeEvent(PREFIX + name, org, attributes, data, subjectOf(id));
}

/** The job is in another phase, and nothing in its feed says so. */
export function jobChanged({ org, id, state }: Pick<LiveJob, 'org' | 'id' | 'state'>): Recordable {
  const { status, phase, reason } = state;
  return ownEvent('push.job', org, { job: id, status, phase }, { reason });
}

/** The same of one of its nodes. */
export function jobNodeChanged(
  { org, id }: Job,
  node: string,
  { status, reason }: { readonly status: string; readonly reason: string | null },
): Recordable {
  return ownEvent('push.job_node', org, { job: id, node, status }, { reason });
}

/** Name of an event of a feed. */
export function feedEventName({ bytes, linesStart }: EventContent): PushEventName {
  const start = linesStart + TYPE_LINE;
  return textOf(bytes, start, bytes.indexOf(LF, start), true) as PushEventName;
}

const TYPE_LINE = `type:${PREFIX}`.length;
const LF = 10;
const SEQ = '\nseq:';

/** An event of a feed, as it was told. */
export function readPushEvent({ position, at, event }: FeedContent): PushEvent {
  const { bytes, linesStart, linesEnd, bodyStart, bodyEnd } = event;
  const lines = textOf(bytes, linesStart, linesEnd);
  const seq = Number.parseInt(lines.slice(lines.indexOf(SEQ) + SEQ.length), 10);
  return { position, seq, name: feedEventName(event), at, data: JSON.parse(textOf(bytes, bodyStart, bodyEnd)) };
}
