import { type Kysely, sql } from 'kysely';
import { sizeOfEvent, sizeOfRun, writeRun } from '../event-chunk.js';

interface Tables {
  jobs: { id: string; org_id: string; created_at: number };
  job_events: JobEvent & { job_id: string };
  event_log: {
    first: number;
    last: number;
    floor: number;
    at_first: number;
    at_last: number;
    org_id: string;
    subject: string;
    bytes: number;
    frames: Uint8Array;
  };
}

interface JobEvent {
  seq: number;
  name: string;
  /** JSON */
  data: string;
  at: number;
}

/** Events of one row. */
const PAGE = 1000;

/** What the feeds of push jobs showed is in the log from now on, job after job in the order in which they began. */
export async function moveJobEvents(connection: Kysely<unknown>): Promise<void> {
  const db = connection as Kysely<Tables>;
  const jobs = await db.selectFrom('jobs').select(['id', 'org_id']).orderBy('created_at').orderBy('id').execute();
  let position = 1;
  for (const { id, org_id: orgId } of jobs) {
    for (let seq = 0; ; ) {
      const events = await eventsAfter(db, id, seq);
      const last = events.at(-1);
      if (last === undefined) break;
      const frames = framesOf(id, events, position);
      const times = events.map(({ at }) => at);
      await db
        .insertInto('event_log')
        .values({
          first: position,
          last: position + events.length - 1,
          floor: position,
          at_first: Math.min(...times),
          at_last: Math.max(...times),
          org_id: orgId,
          subject: id,
          bytes: frames.length,
          frames,
        })
        .execute();
      position += events.length;
      seq = last.seq;
    }
  }
  await sql`drop table job_events`.execute(db);
}

function eventsAfter(db: Kysely<Tables>, jobId: string, seq: number): Promise<JobEvent[]> {
  return db
    .selectFrom('job_events')
    .select(['seq', 'name', 'data', 'at'])
    .where('job_id', '=', jobId)
    .where('seq', '>', seq)
    .orderBy('seq')
    .limit(PAGE)
    .execute();
}

function framesOf(jobId: string, events: readonly JobEvent[], first: number): Buffer {
  const contents = events.map((event) => contentOf(jobId, event));
  const bytes = contents.reduce((size, content) => size + sizeOfRun(SOURCE) + sizeOfEvent(content), 0);
  const frames = Buffer.alloc(bytes);
  let offset = 0;
  for (const [index, { at }] of events.entries()) {
    const content = contents[index];
    if (content === undefined) continue;
    offset = writeRun(frames, offset, { position: first + index, at, source: SOURCE }, [content]);
  }
  return frames;
}

const SOURCE = 'muster';

function contentOf(jobId: string, { seq, name, data }: JobEvent) {
  const { user, node, status } = JSON.parse(data) as Readonly<Record<string, string | undefined>>;
  const about = name === 'start' ? { user } : { node, status };
  let lines = `type:push.${name}\njob:${jobId}\nseq:${seq}\n`;
  for (const [key, value] of Object.entries(about)) if (value !== undefined) lines += `${key}:${escaped(value)}\n`;
  lines += 'content-type:application/json\n';
  const bytes = Buffer.from(lines + data);
  const linesEnd = Buffer.byteLength(lines);
  return { bytes, linesStart: 0, linesEnd, bodyStart: linesEnd, bodyEnd: bytes.length };
}

/** As STOMP 1.2 has header values. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll(':', '\\c');
}
