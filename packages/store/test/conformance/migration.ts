import { readEvents, type Store } from '@muster/store';
import { describe, expect, test } from 'vitest';
import type { Suite } from './suite.js';

/** A database as version 1 left it. */
const VERSION_1 = `
  drop table event_log; drop table event_marks; drop table event_grants; drop table event_cursors; drop table event_nonces;
  drop table scheduled_events; drop table deleted_jobs; drop index jobs_lookup; delete from schema_version where version = 2;
  create table job_events (job_id text not null, name text not null, data text not null, seq bigint not null,
    at bigint not null, primary key (job_id, seq));`;

const job = (id: string, createdAt: number) => `
  insert into jobs (id, org_id, command, spec, requester, status, phase, server, node_count, created_at, updated_at,
    event_seq) values ('${id}', 'o', 'c', '{}', 'r', 'running', 'running', 's', 1, ${createdAt}, 1, 0);`;

const event = (jobId: string, seq: number, name: string, data: object, at: number) =>
  `insert into job_events values ('${jobId}', '${name}', '${JSON.stringify(data)}', ${seq}, ${at});`;

async function logged(store: Store) {
  const rows = await store.read.selectFrom('event_log').selectAll().orderBy('first').execute();
  return rows.flatMap(({ frames, subject, org_id: org }) =>
    readEvents(frames).map(({ position, at, source, bytes, linesStart, linesEnd, bodyStart, bodyEnd }) => ({
      ...{ position, at, source, subject, org },
      lines: Buffer.from(bytes).toString('utf8', linesStart, linesEnd),
      body: Buffer.from(bytes).toString('utf8', bodyStart, bodyEnd),
    })),
  );
}

export function migrationSuite(suite: Suite): void {
  const { openStore } = suite;

  async function openVersion1(...texts: readonly string[]): Promise<Store> {
    await (await openStore()).close();
    await suite.harness.raw(`begin; ${VERSION_1} ${texts.join('')} commit;`);
    return openStore();
  }

  describe('migration 2', () => {
    test('moves the events of jobs into the log, in the order in which the jobs began', async () => {
      const store = await openVersion1(
        job('b', 5),
        job('a', 9),
        job('none', 1),
        event('a', 1, 'start', { command: 'x', user: 'ann:1' }, 9),
        event('b', 1, 'start', { command: 'y', user: 'ann' }, 5),
        event('b', 2, 'quorum_vote', { node: 'wéb', status: 'success' }, 10),
      );
      const json = 'content-type:application/json\n';
      const about = { source: 'muster', org: 'o' };
      expect(await logged(store)).toEqual([
        {
          ...{ position: 1, at: 5, subject: 'b', ...about },
          ...{ lines: `type:push.start\njob:b\nseq:1\nuser:ann\n${json}`, body: '{"command":"y","user":"ann"}' },
        },
        {
          ...{ position: 2, at: 10, subject: 'b', ...about },
          lines: `type:push.quorum_vote\njob:b\nseq:2\nnode:wéb\nstatus:success\n${json}`,
          body: '{"node":"wéb","status":"success"}',
        },
        {
          ...{ position: 3, at: 9, subject: 'a', ...about },
          ...{ lines: `type:push.start\njob:a\nseq:1\nuser:ann\\c1\n${json}`, body: '{"command":"x","user":"ann:1"}' },
        },
      ]);
      expect(
        (await store.read.selectFrom('event_log').select(['floor', 'at_first', 'at_last']).execute()).sort(),
      ).toEqual([
        { floor: 1, at_first: 5, at_last: 10 },
        { floor: 3, at_first: 9, at_last: 9 },
      ]);
    });

    test('moves jobs of any length', async () => {
      const texts = Array.from({ length: 2500 }, (_, index) => event('a', index + 1, 'rehab', { node: 'n' }, index));
      const store = await openVersion1(job('a', 1), ...texts);
      const events = await logged(store);
      expect(events.map(({ position, at }) => [position, at])).toEqual(texts.map((_, index) => [index + 1, index]));
    });
  });
}
