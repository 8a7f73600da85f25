import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ME } from '../../../platform/test/support/personas.js';
import { TASK_LIMITS } from '../../src/limits.js';
import { clearTasks } from '../../src/repository/organization.js';
import { pastRuns } from '../../src/schedules/history.js';
import { LiveSchedule } from '../../src/schedules/live-schedule.js';
import { LATE_MS } from '../../src/schedules/machine.js';
import { openScheduleFixture, type ScheduleFixture } from '../support/schedule-fixture.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let fixture: ScheduleFixture;
let queue: string;
let start: number;

beforeEach(async () => {
  fixture = await openScheduleFixture();
  queue = await fixture.queue('resize');
  start = fixture.clock.now();
});
afterEach(() => fixture.close());

const tasks = (count: number) => expect.poll(() => fixture.taskIds()).toHaveLength(count);
/** The schedule stands so in memory, and so in the store. */
const due = async (at: number | null) => {
  await expect.poll(() => fixture.live().state.nextAt).toBe(at);
  expect(await fixture.row()).toMatchObject({ next_at: at });
};

/** On a node, until it is told to end. */
async function runTask(id: string): Promise<() => void> {
  const node = fixture.nodes.enter('n1');
  node.offer(1, ['p']);
  await expect.poll(() => node.tasks.has(id)).toBe(true);
  node.start(id);
  return () => node.finish(id);
}

describe('a schedule of tasks', () => {
  test('adds a task at each of its times, and is due at the next', async () => {
    await fixture.schedule(queue, {
      work: { kind: 'task', queueId: queue, params: { n: 1 }, options: { priority: 3 } },
    });
    fixture.clock.advance(HOUR - 1);
    await due(start + HOUR);
    expect(await fixture.taskIds()).toEqual([]);
    fixture.clock.advance(1);
    await tasks(1);
    await due(start + 2 * HOUR);
    fixture.clock.advance(HOUR);
    await tasks(2);
    const [first, second] = await fixture.taskIds();
    expect(await fixture.read.selectFrom('tasks').select(['params', 'requester', 'rank']).execute()).toEqual(
      [first, second].map(() => ({ params: '{"n":1}', requester: 'anna', rank: -3 })),
    );
    await due(start + 3 * HOUR);
    const row = { last_run: second, last_due_at: start + 2 * HOUR, last_started_at: start + 2 * HOUR, missed_at: null };
    expect(await fixture.row()).toMatchObject(row);
    expect(fixture.events()).toEqual(['created', 'ran', 'ran']);
    expect(fixture.told.filter(({ type }) => type === 'schedule.ran').at(-1)).toMatchObject({
      attributes: { name: 'nightly', task: second },
      data: { due_at: start + 2 * HOUR, late_ms: 0 },
    });
  });

  test('that fell due while no server was there runs once when one is, with the last of its times', async () => {
    await fixture.schedule(queue);
    await fixture.restart(5 * HOUR + 5 * MINUTE);
    await tasks(1);
    await due(start + 6 * HOUR);
    expect(await fixture.row()).toMatchObject({ last_due_at: start + 5 * HOUR, missed_at: start + 4 * HOUR });
    const missed = fixture.told.find(({ type }) => type === 'schedule.missed');
    expect(missed).toMatchObject({ attributes: { count: '4' }, data: { first_at: start + HOUR } });
  });

  test('is known with what became of its times, newest first, for 30 days, and until it is deleted', async () => {
    await fixture.schedule(queue);
    await fixture.restart(5 * HOUR + 5 * MINUTE);
    await tasks(1);
    const [run = ''] = await fixture.taskIds();
    const history = (limit = 250, offset = 0) => pastRuns(fixture.read, fixture.live().schedule, { limit, offset });
    const at = start + 5 * HOUR + 5 * MINUTE;
    const missed = { outcome: 'missed', kind: 'task', run: null, at, due_at: start + 4 * HOUR, count: 4 };
    const ran = { outcome: 'started', kind: 'task', run, at, due_at: start + 5 * HOUR, count: 1, reason: null };
    await expect.poll(history).toHaveLength(2);
    const both = await history();
    expect(both).toContainEqual(ran);
    expect(both).toContainEqual({ ...missed, reason: expect.any(String) });
    expect(await history(1, 1)).toEqual([both[1]]);
    fixture.clock.advance(HOUR);
    await tasks(2);
    expect((await history())[0]).toMatchObject({ outcome: 'started', due_at: start + 6 * HOUR });
    fixture.clock.advance(31 * 24 * HOUR);
    await expect
      .poll(async () => (await history()).filter((one) => one.at <= start + 6 * HOUR + 5 * MINUTE))
      .toEqual([]);
    const { schedule } = fixture.live();
    await fixture.schedules.administration.remove(fixture.live(), { identity: await fixture.identity('anna') });
    expect(await pastRuns(fixture.read, schedule, { limit: 250, offset: 0 })).toEqual([]);
  });

  test('that leaves out what it missed runs at its next time', async () => {
    await fixture.schedule(queue, { missed: 'skip' });
    await fixture.restart(5 * HOUR + LATE_MS + 1);
    await due(start + 6 * HOUR);
    expect(await fixture.taskIds()).toEqual([]);
    await fixture.restart(59 * MINUTE);
    // A server that is started again in the minute of its time has missed nothing.
    await tasks(1);
    expect(await fixture.row()).toMatchObject({ last_due_at: start + 6 * HOUR });
  });

  test('goes on after a restart with what it was', async () => {
    await fixture.schedule(queue);
    fixture.clock.advance(HOUR);
    await tasks(1);
    const before = fixture.live().state;
    await fixture.restart();
    expect(fixture.live().state).toEqual(before);
    fixture.clock.advance(HOUR);
    await tasks(2);
  });

  test('whose clock is set back does not run again what it has run', async () => {
    await fixture.schedule(queue);
    fixture.clock.advance(HOUR);
    await tasks(1);
    await due(start + 2 * HOUR);
    fixture.clock.set(-30 * MINUTE);
    fixture.clock.advance(45 * MINUTE);
    await fixture.restart();
    expect(await fixture.taskIds()).toHaveLength(1);
    fixture.clock.advance(45 * MINUTE);
    await tasks(2);
  });

  test('whose clock was set far forward runs once, and begins anew when it is set right', async () => {
    await fixture.schedule(queue);
    fixture.clock.set(400 * DAY);
    fixture.clock.advance(MINUTE);
    await tasks(1);
    fixture.clock.set(-400 * DAY);
    // As often as all schedules are looked at, whatever the clock says.
    fixture.clock.advance(MINUTE);
    await expect.poll(() => fixture.live().state.nextAt).toBe(start + HOUR);
    fixture.clock.advance(HOUR);
    await tasks(2);
  });

  test('of one time makes one task, also when the first attempt was stored and not remembered', async () => {
    const live = await fixture.schedule(queue);
    fixture.clock.advance(HOUR);
    await tasks(1);
    await due(start + 2 * HOUR);
    await fixture.stop();
    // As a database that was restored from shortly before.
    await fixture.store.transact((trx) =>
      trx
        .updateTable('schedules')
        .set({ next_at: start + HOUR, last_run: null })
        .where('id', '=', live.schedule.id)
        .execute(),
    );
    await fixture.start();
    await due(start + 2 * HOUR);
    const [task] = await fixture.taskIds();
    expect(await fixture.taskIds()).toEqual([task]);
    expect(await fixture.row()).toMatchObject({ last_run: task });
  });

  test('runs at once when somebody says so, for them, also while it is paused', async () => {
    await fixture.allow('task_writers', 'anna', 'bert');
    await fixture.schedule(queue, { paused: true });
    const record = (target: string) => {
      const actor = { name: 'bert', kind: 'user' } as const;
      return fixture.auth.audit.write({
        orgId: fixture.org.id,
        actor,
        action: 'schedule.run',
        target,
        outcome: 'done',
      });
    };
    const run = await fixture.schedules.administration.run(fixture.live(), await fixture.identity('bert'), record);
    expect(await fixture.auth.audit.page({ orgId: fixture.org.id, limit: 1 })).toMatchObject([{ target: run }]);
    expect(await fixture.taskIds()).toEqual([run]);
    expect(await fixture.read.selectFrom('tasks').select('requester').execute()).toEqual([{ requester: 'bert' }]);
    expect(fixture.live().state).toMatchObject({ status: 'paused', nextAt: null, last: { run } });
  });
});

describe('a run that is due while the one before it goes on', () => {
  test('is run beside it where that is allowed', async () => {
    await fixture.schedule(queue, { overlap: 'allow' });
    fixture.clock.advance(HOUR);
    await tasks(1);
    fixture.clock.advance(HOUR);
    await tasks(2);
  });

  test('is left out, and told', async () => {
    await fixture.schedule(queue, { overlap: 'skip' });
    fixture.clock.advance(HOUR);
    await tasks(1);
    const [first = ''] = await fixture.taskIds();
    await due(start + 2 * HOUR);
    fixture.clock.advance(HOUR);
    await due(start + 3 * HOUR);
    expect(await fixture.row()).toMatchObject({ last_run: first, missed_at: start + 2 * HOUR });
    expect(fixture.events().at(-1)).toBe('missed: the run before it goes on');
    const finish = await runTask(first);
    finish();
    await expect.poll(() => fixture.told.some(({ type }) => type === 'task.ended')).toBe(true);
    fixture.clock.advance(HOUR);
    await tasks(2);
  });

  test('waits for its end, and further ones are left out', async () => {
    await fixture.schedule(queue, { overlap: 'queue' });
    fixture.clock.advance(HOUR);
    await tasks(1);
    const [first = ''] = await fixture.taskIds();
    fixture.clock.advance(HOUR);
    await expect.poll(() => fixture.live().state.waitingAt).toBe(start + 2 * HOUR);
    fixture.clock.advance(HOUR);
    await due(start + 4 * HOUR);
    expect(fixture.events().at(-1)).toContain('another one waits');
    await fixture.restart();
    expect(fixture.live().state.waitingAt).toBe(start + 2 * HOUR);
    const finish = await runTask(first);
    finish();
    // At once, and not when it is next looked at.
    await tasks(2);
    expect(await fixture.row()).toMatchObject({ waiting_at: null, last_due_at: start + 2 * HOUR });
  });

  test('runs when the one before it was deleted', async () => {
    await fixture.schedule(queue, { overlap: 'queue' });
    fixture.clock.advance(HOUR);
    await tasks(1);
    const [first = ''] = await fixture.taskIds();
    fixture.clock.advance(HOUR);
    await expect.poll(() => fixture.live().state.waitingAt).toBe(start + 2 * HOUR);
    await fixture.tasks.controller.act(fixture.org, [first], 'remove', { identity: await fixture.identity('anna') });
    await expect.poll(() => fixture.live().state.last?.run).not.toBe(first);
    await tasks(1);
  });
});

describe('a schedule runs with the rights of whoever it is for', () => {
  test('and is held when they have none any more, until somebody who has resumes it', async () => {
    await fixture.schedule(queue);
    await fixture.allow('task_writers', 'bert');
    fixture.clock.advance(HOUR);
    await due(null);
    const reason = 'anna, for whom it runs, may not start it any more';
    expect(await fixture.row()).toMatchObject({ status: 'held', reason, last_run: null, missed_at: start + HOUR });
    expect(fixture.events()).toEqual(['created', `missed: ${reason}`, `held: ${reason}`]);
    expect(await fixture.taskIds()).toEqual([]);
    await fixture.schedules.administration.resume(fixture.live(), { identity: await fixture.identity('bert') });
    fixture.clock.advance(HOUR);
    await tasks(1);
    expect(await fixture.row()).toMatchObject({ status: 'active', owner_name: 'bert' });
  });

  test('and is held when they are gone', async () => {
    await fixture.schedule(queue);
    await fixture.auth.principals.removeUser('anna', ME);
    fixture.clock.advance(HOUR);
    await expect
      .poll(() => fixture.live().state.reason)
      .toBe('anna, for whom it runs, does not belong to the organization any more');
  });

  test('and is held when its queue is gone', async () => {
    await fixture.schedule(queue);
    const by = { identity: await fixture.identity('anna') };
    await fixture.tasks.controller.removeQueue(fixture.org, queue, { force: false, keepTasks: false }, by);
    fixture.clock.advance(HOUR);
    await expect.poll(() => fixture.live().state.status).toBe('held');
    expect(fixture.live().state.reason).toContain('queue');
  });

  test('and goes on when its queue takes nothing for a while', async () => {
    await fixture.schedule(queue);
    const by = { identity: await fixture.identity('anna') };
    await fixture.tasks.controller.changeQueue(fixture.org, queue, { state: 'draining' }, by);
    fixture.clock.advance(HOUR);
    await due(start + 2 * HOUR);
    expect(await fixture.row()).toMatchObject({ status: 'active', missed_reason: expect.stringContaining('drained') });
    await fixture.tasks.controller.changeQueue(fixture.org, queue, { state: 'open' }, by);
    fixture.clock.advance(HOUR);
    await tasks(1);
  });
});

describe('a schedule of push jobs', () => {
  const job = { command: 'uname -a', nodes: ['web1'] };
  const jobs = (count: number) => expect.poll(() => fixture.jobIds()).toHaveLength(count);

  test('waits while nodes are on their way back to a server that was started again; tasks do not', async () => {
    const awaits = vi.spyOn(fixture.push.owners, 'awaitsNodes', 'get').mockReturnValue(true);
    await fixture.schedule(queue, { name: 'push', work: { kind: 'push', command: job.command, job } });
    await fixture.schedule(queue, { name: 'task' });
    fixture.clock.advance(HOUR);
    await tasks(1);
    for (let second = 0; second < 10; second++) fixture.clock.advance(1000);
    expect(await fixture.jobIds()).toEqual([]);
    awaits.mockReturnValue(false);
    fixture.clock.advance(1000);
    await jobs(1);
    expect(await fixture.jobIds()).toHaveLength(1);
  });

  test('starts a job at each of its times, and of one time one', async () => {
    const live = await fixture.schedule(queue, { work: { kind: 'push', command: job.command, job } });
    fixture.clock.advance(HOUR);
    await jobs(1);
    await due(start + 2 * HOUR);
    const [first] = await fixture.jobIds();
    expect(await fixture.row()).toMatchObject({ last_run: first, last_due_at: start + HOUR });
    expect(fixture.told.find(({ type }) => type === 'schedule.ran')?.attributes).toMatchObject({ job: first });
    const found = await fixture.read.selectFrom('push_jobs').selectAll().executeTakeFirstOrThrow();
    expect(found).toMatchObject({ command: 'uname -a', requester: 'anna' });
    const audit = await fixture.auth.audit.page({ orgId: fixture.org.id, limit: 1, action: 'push.start' });
    expect(audit).toMatchObject([{ target: first, detail: { schedule: live.schedule.name } }]);
    await fixture.stop();
    await fixture.store.transact((trx) =>
      trx
        .updateTable('schedules')
        .set({ next_at: start + HOUR })
        .where('id', '=', live.schedule.id)
        .execute(),
    );
    await fixture.start();
    await due(start + 2 * HOUR);
    expect(await fixture.jobIds()).toEqual([first]);
    fixture.clock.advance(HOUR);
    await jobs(2);
  });

  test('that finds no nodes says so, and goes on', async () => {
    await fixture.schedule(queue, {
      work: { kind: 'push', command: 'uname', job: { command: 'uname', search: 'role:web' } },
    });
    fixture.clock.advance(HOUR);
    await due(start + 2 * HOUR);
    expect(await fixture.row()).toMatchObject({ status: 'active', missed_reason: 'no node matches role:web' });
  });

  test('knows when the job before it goes on', async () => {
    await fixture.schedule(queue, { overlap: 'skip', work: { kind: 'push', command: job.command, job } });
    fixture.clock.advance(HOUR);
    await jobs(1);
    await expect.poll(() => fixture.told.some(({ type }) => type === 'push.job_complete')).toBe(true);
    await fixture.store.transact((trx) => trx.updateTable('push_jobs').set({ phase: 'running' }).execute());
    fixture.clock.advance(HOUR);
    await due(start + 3 * HOUR);
    expect(fixture.events().at(-1)).toBe('missed: the run before it goes on');
  });

  test('is held when who it is for may start none any more', async () => {
    await fixture.schedule(queue, { work: { kind: 'push', command: job.command, job } });
    await fixture.allow('push_job_writers');
    fixture.clock.advance(HOUR);
    await expect.poll(() => fixture.live().state.status).toBe('held');
    expect(await fixture.jobIds()).toEqual([]);
  });
});

describe('a schedule that heeds a calendar', () => {
  /** Which lets nothing start for so many hours from now on. */
  const dark = async (hours: number) => {
    const text = (at: number) => new Date(at).toISOString().slice(0, 16);
    const entries = [{ dates: `${text(start)}..${text(start + hours * HOUR)}`, why: 'freeze' }];
    const known = fixture.schedules.calendars.of(fixture.org.id).length > 0;
    const { calendars } = fixture.schedules;
    if (known) await calendars.change(fixture.org, 'freeze', { entries }, ME);
    else await calendars.create(fixture.org, 'freeze', { description: '', timezone: 'UTC', entries }, ME);
  };
  const heeding = (blackout: 'skip' | 'wait') => fixture.schedule(queue, { notDuring: ['freeze'], blackout });

  test('runs nothing at its times, and says why', async () => {
    await dark(2.5);
    await heeding('skip');
    fixture.clock.advance(HOUR);
    await due(start + 2 * HOUR);
    fixture.clock.advance(HOUR);
    await due(start + 3 * HOUR);
    expect(await fixture.taskIds()).toEqual([]);
    const why = `calendar freeze (freeze) lets nothing start before ${new Date(start + 2.5 * HOUR).toISOString()}`;
    expect(fixture.events()).toEqual(['created', `missed: ${why}`, `missed: ${why}`]);
    fixture.clock.advance(HOUR);
    await tasks(1);
  });

  test('that waits runs once at the end, also when the server is killed meanwhile', async () => {
    await dark(2.5);
    await heeding('wait');
    fixture.clock.advance(HOUR);
    await due(start + 2 * HOUR);
    expect(await fixture.row()).toMatchObject({
      ...{ waiting_at: start + HOUR, blackout_until: start + 2.5 * HOUR, blackout_calendar: 'freeze' },
    });
    await fixture.restart(0.5 * HOUR);
    fixture.clock.advance(0.5 * HOUR);
    await due(start + 3 * HOUR);
    expect(await fixture.taskIds()).toEqual([]);
    fixture.clock.advance(0.5 * HOUR);
    await tasks(1);
    await expect.poll(async () => (await fixture.row()).last_due_at).toBe(start + HOUR);
    expect(await fixture.row()).toMatchObject({ waiting_at: null, blackout_until: null });
  });

  test('heeds it as it is then: one that ends earlier lets it run', async () => {
    await dark(10);
    await heeding('wait');
    fixture.clock.advance(HOUR);
    await due(start + 2 * HOUR);
    expect(await fixture.taskIds()).toEqual([]);
    await dark(1);
    await tasks(1);
  });

  test('keeps the calendar from being deleted', async () => {
    await dark(1);
    const live = await heeding('skip');
    const { calendars, administration } = fixture.schedules;
    await expect(calendars.remove(fixture.org, 'freeze', ME)).rejects.toMatchObject({
      ...{ code: 'calendar_heeded', details: { by: 'schedule nightly' } },
    });
    await administration.remove(live, { identity: await fixture.identity('anna') });
    await calendars.remove(fixture.org, 'freeze', ME);
    await fixture.restart();
    expect(fixture.schedules.calendars.of(fixture.org.id)).toEqual([]);
  });

  test('that is not there any more starts nothing by mistake', async () => {
    await heeding('skip');
    fixture.clock.advance(HOUR);
    await due(start + 2 * HOUR);
    expect(await fixture.taskIds()).toEqual([]);
  });
});

describe('schedules', () => {
  test('are so many at most in an organization', async () => {
    const { schedule, state } = await fixture.schedule(queue);
    for (let n = 1; n < TASK_LIMITS.schedules; n++) {
      fixture.schedules.controller.add(new LiveSchedule({ ...schedule, name: `s${n}` }, state, () => () => null));
    }
    await expect(fixture.schedule(queue, { name: 'more' })).rejects.toMatchObject({ code: 'too_many_schedules' });
    fixture.schedules.controller.remove(fixture.live('s1'));
    await fixture.schedule(queue, { name: 'more' });
  });

  test('have one name each', async () => {
    await fixture.schedule(queue);
    await expect(fixture.schedule(queue)).rejects.toMatchObject({ code: 'schedule_exists' });
    const both = await Promise.allSettled([1, 2].map(() => fixture.schedule(queue, { name: 'other' })));
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('that are changed run as they are now, for whoever changed them', async () => {
    await fixture.allow('task_writers', 'anna', 'bert');
    await fixture.schedule(queue);
    const by = { identity: await fixture.identity('bert') };
    await fixture.schedules.administration.change(fixture.live(), { cron: '30 * * * *' }, by);
    await due(start + HOUR / 2);
    fixture.clock.advance(HOUR / 2);
    await tasks(1);
    expect(await fixture.row()).toMatchObject({ cron: '30 * * * *', owner_name: 'bert' });
    expect(await fixture.read.selectFrom('tasks').select(['params', 'requester']).execute()).toEqual([
      { params: '{"what":"all"}', requester: 'bert' },
    ]);
  });

  test('that run push jobs instead of tasks know nothing of the last task', async () => {
    await fixture.schedule(queue, { overlap: 'skip' });
    fixture.clock.advance(HOUR);
    await tasks(1);
    const by = { identity: await fixture.identity('anna') };
    const work = { kind: 'push', command: 'uname -a', job: { command: 'uname -a', nodes: ['web1'] } } as const;
    await fixture.schedules.administration.change(fixture.live(), { work }, by);
    expect(await fixture.row()).toMatchObject({ kind: 'push', command: 'uname -a', queue_id: null, last_run: null });
    fixture.clock.advance(HOUR);
    await expect.poll(() => fixture.jobIds()).toHaveLength(1);
  });

  test('that are removed run no more', async () => {
    const live = await fixture.schedule(queue);
    const by = { identity: await fixture.identity('anna') };
    await fixture.schedules.administration.remove(live, by);
    await expect(fixture.schedules.administration.pause(live, by)).rejects.toMatchObject({ code: 'not_found' });
    await fixture.restart(2 * HOUR);
    expect(fixture.schedules.controller.of(fixture.org.id)).toEqual([]);
    expect(await fixture.taskIds()).toEqual([]);
    expect(fixture.events()).toEqual(['created', 'removed']);
  });

  test('of an organization that was deleted run no more', async () => {
    await fixture.schedule(queue);
    fixture.schedules.organizationRemoved?.(fixture.org.id);
    fixture.clock.advance(HOUR);
    expect(fixture.schedules.controller.of(fixture.org.id)).toEqual([]);
    expect(await fixture.taskIds()).toEqual([]);
    await fixture.store.transact((trx) => clearTasks(trx, fixture.org.id, 100));
    expect(await fixture.read.selectFrom('schedules').select('id').execute()).toEqual([]);
  });

  test('many that are due at one time all run', async () => {
    for (let n = 0; n < 30; n++) await fixture.schedule(queue, { name: `s${n}` });
    fixture.clock.advance(HOUR);
    await tasks(30);
  });
});
