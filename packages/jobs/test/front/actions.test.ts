import { jobTopic, MISSED, namesOf, organizationTopology } from '@muster/broker';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { App, AppInput } from '../../src/apps/types.js';
import type { Status } from '../../src/status.js';
import type { Job } from '../../src/types.js';
import { type FrontServer, SUBMISSION, startFront, wc } from '../support/front-server.js';

let front: FrontServer;
beforeAll(async () => {
  front = await startFront();
});
afterAll(() => front.close());

const WAY: readonly Status[] = ['PENDING', 'PROCESSING_INPUTS', 'STAGING_JOB', 'SUBMITTING', 'RUNNING', 'CLEANING_UP'];

/** A job that a worker has brought so far. */
async function jobThatIs(status: Status, given: Readonly<Record<string, unknown>> = {}): Promise<Job> {
  const { id } = await front.submit(given);
  let job = (await front.jobs.find(id)) as Job;
  if (status === 'ACCEPTED') return job;
  const end = status === 'FINISHED' ? WAY.length : Math.max(1, WAY.indexOf(status) + 1);
  for (const to of WAY.slice(0, end)) job = await front.jobs.change(job, { to });
  return job.status === status ? job : front.jobs.change(job, { to: status });
}

const post = (path: string, body?: unknown, as = 'jdoe', headers = {}) =>
  front.send({ method: 'POST', path, as, headers, ...(body !== undefined && { body }) });

describe('stopping (sheet §8.4)', () => {
  it.each(['cancel', 'kill', 'stop'])('%s ends a job at once that nobody has begun', async (name) => {
    const { uuid } = await jobThatIs('ACCEPTED');
    const { status, result, message } = await post(`/${uuid}/${name}`, {});
    expect([status, result.status, result.id]).toEqual([200, 'STOPPED', uuid]);
    expect(message).toMatch(/^JOBS_JOB_CANCEL_ACCEPTED /);
    expect((await front.get(`/${uuid}/history`)).map((entry: { status: string }) => entry.status)).toEqual([
      'ACCEPTED',
      'STOPPED',
    ]);
  });

  it('of a job that a worker has is stored, and then told to its topic and to recovery', async () => {
    const { uuid } = await jobThatIs('RUNNING');
    await front.broker.declare(organizationTopology('default'));
    const heard: string[] = [];
    let listening = () => {};
    const ready = new Promise<void>((resolve) => {
      listening = resolve;
    });
    const told = new Promise<void>((resolve) => {
      const subscription = front.broker.subscribe(jobTopic('default', uuid), (message) => {
        // From now on nothing is missed.
        if (message === MISSED) return listening();
        heard.push(JSON.parse(message.body.toString()).msgType);
        void subscription.stop().then(resolve);
      });
    });
    const recovered = new Promise<unknown>((resolve) => {
      const consumer = front.broker.consume(namesOf('default').recoveryQueue, { slots: 1 }, async (delivery) => {
        await delivery.ack();
        const message = JSON.parse(delivery.body.toString());
        if (message.jobUuid === uuid) void consumer.stop().then(() => resolve(message));
      });
    });
    await ready;
    const { status, result } = await post(`/${uuid}/cancel`);
    expect([status, result.status]).toEqual([200, 'RUNNING']);
    expect((await front.jobs.find(uuid))?.wanted).toBe('stop');
    await told;
    expect(heard).toEqual(['JOB_CANCEL']);
    expect(await recovered).toMatchObject({ msgType: 'CANCEL_RECOVER', tenantId: 'default', newStatus: 'STOPPED' });
  });

  it.each(['FINISHED', 'FAILED', 'STOPPED'] as const)('a job that is %s is a conflict', async (ended) => {
    const { uuid } = await jobThatIs(ended);
    const { status, message } = await post(`/${uuid}/cancel`);
    expect(status).toBe(409);
    expect(message).toBe(`JOBS_JOB_IN_TERMINAL_STATE Job ${uuid} has ended already: it is ${ended}.`);
  });

  it('works while the broker is away: what is wanted is stored', async () => {
    const job = await jobThatIs('RUNNING');
    await post(`/${job.uuid}/cancel`);
    expect((await post(`/${job.uuid}/cancel`)).status).toBe(200);
    expect((await front.jobs.find(job.uuid))?.wanted).toBe('stop');
  });
});

describe('pausing and resuming', () => {
  it('is stored for whoever has the job', async () => {
    const { uuid } = await jobThatIs('RUNNING');
    expect((await post(`/${uuid}/pause`)).status).toBe(200);
    expect((await front.jobs.find(uuid))?.wanted).toBe('pause');
    expect((await post(`/${uuid}/resume`)).message).toBe(
      `JOBS_JOB_NOT_PAUSED Job ${uuid} is not paused: it is RUNNING.`,
    );
  });

  it('resumes one that is paused, and not one that is to be stopped', async () => {
    const { uuid } = await jobThatIs('PAUSED');
    expect((await post(`/${uuid}/resume`)).status).toBe(200);
    expect((await front.jobs.find(uuid))?.wanted).toBe('resume');
    expect((await post(`/${uuid}/stop`)).status).toBe(200);
    expect((await front.jobs.find(uuid))?.wanted).toBe('stop');
    expect((await post(`/${uuid}/resume`)).status).toBe(200);
    expect((await front.jobs.find(uuid))?.wanted).toBe('stop');
  });

  it('refuses one that has ended', async () => {
    const { uuid } = await jobThatIs('FINISHED');
    expect((await post(`/${uuid}/pause`)).status).toBe(409);
  });
});

describe('hiding (sheet §8.4)', () => {
  it('takes a job that has ended from lists, and gives it back', async () => {
    const { uuid } = await jobThatIs('FINISHED', { name: 'hidden' });
    const list = async (as = 'jdoe') => (await front.get('/?name=hidden', as)).length;
    expect(await list()).toBe(1);
    const hidden = await post(`/${uuid}/hide`, {});
    expect([hidden.status, hidden.result.visible]).toEqual([200, false]);
    expect(hidden.message).toBe(`JOBS_JOB_CHANGED_VISBILITY Job ${uuid} is hidden.`);
    expect((await post(`/${uuid}/hide`)).message).toMatch(/^JOBS_JOB_VISBILITY /);
    expect(await list()).toBe(0);
    expect((await front.get('/?name=hidden&visible=false')).length).toBe(1);
    expect((await front.get(`/${uuid}`)).visible).toBe(false);
    expect((await post(`/${uuid}/unhide`)).result.visible).toBe(true);
    expect(await list()).toBe(1);
    const history = await front.get(`/${uuid}/history`);
    expect(history.map((entry: { status: string }) => entry.status).slice(-2)).toEqual(['DELETED', 'RESTORED']);
  });

  it('is a conflict while it runs, also by DELETE', async () => {
    const { uuid } = await jobThatIs('RUNNING');
    const refusal = `JOBS_JOB_NOT_IN_TERMINAL_STATE Job ${uuid} has not ended: it is RUNNING.`;
    for (const request of [
      { method: 'POST', path: `/${uuid}/hide` },
      { method: 'DELETE', path: `/${uuid}` },
    ]) {
      const { status, message } = await front.send(request);
      expect([status, message]).toEqual([409, refusal]);
    }
  });

  it('hides it also from those it is shared with', async () => {
    const { uuid } = await jobThatIs('FINISHED');
    await post(`/${uuid}/pems`, { username: 'anna', permission: 'READ' });
    expect((await front.send({ path: `/${uuid}`, as: 'anna' })).status).toBe(200);
    await front.send({ method: 'DELETE', path: `/${uuid}/` });
    expect((await front.send({ path: `/${uuid}`, as: 'anna' })).status).toBe(404);
  });
});

describe('submitting again (sheet §8.4)', () => {
  it('makes another job of the same owner from the request', async () => {
    const first = await jobThatIs('RUNNING', { parameters: { evalue: 3 } });
    const { status, result } = await post(`/${first.uuid}/resubmit`, undefined, 'admin');
    expect(status).toBe(201);
    expect(result.id).not.toBe(first.uuid);
    expect(result).toMatchObject({ status: 'ACCEPTED', owner: 'jdoe', name: 'demo', parameters: { evalue: 3 } });
  });

  it.each(['ACCEPTED', 'PENDING'] as const)('is a conflict while it is %s', async (status) => {
    const { uuid } = await jobThatIs(status);
    const answer = await post(`/${uuid}/resubmit`);
    expect(answer.status).toBe(409);
    expect(answer.message).toMatch(/^JOBS_JOB_INVALID_RESUBMIT_STATE /);
  });

  it('is not found for a job that another system ran', async () => {
    const { uuid } = await jobThatIs('FINISHED');
    await front.store.transact((trx) =>
      trx.updateTable('jobs').set({ foreign_job: 1 }).where('uuid', '=', uuid).execute(),
    );
    const answer = await post(`/${uuid}/resubmit`);
    expect(answer.status).toBe(404);
    expect(answer.message).toMatch(/^JOBS_JOBRESUBMIT_NOT_FOUND /);
  });
});

describe('actions of Agave (sheet §8.8)', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };

  it.each([
    ['a form', 'action=stop', form],
    ['JSON', { action: 'stop' }, {}],
  ])('stops by %s', async (_, body, headers) => {
    const { uuid } = await jobThatIs('ACCEPTED');
    const { status, result } = await post(`/${uuid}`, body, 'jdoe', headers);
    expect([status, result.status]).toEqual([200, 'STOPPED']);
  });

  it('submits again: 202, without its notifications when that is said', async () => {
    const notifications = [{ event: '*', url: 'jdoe@example.org' }];
    const { uuid } = await jobThatIs('FINISHED', { notifications });
    const kept = await post(`/${uuid}`, 'action=resubmit', 'jdoe', form);
    expect(kept.status).toBe(202);
    const dropped = await post(`/${uuid}`, { action: 'resubmit', preserveNotifications: false });
    const count = async (id: string) =>
      (await front.store.read.selectFrom('job_notifications').selectAll().where('uuid', '=', id).execute()).length;
    expect([await count(kept.result.id), await count(dropped.result.id)]).toEqual([1, 0]);
  });

  it('restores', async () => {
    const { uuid } = await jobThatIs('FINISHED');
    await post(`/${uuid}/hide`);
    expect((await post(`/${uuid}`, 'action=restore', 'jdoe', form)).result.visible).toBe(true);
  });

  it('resets for administrators only', async () => {
    const { uuid } = await jobThatIs('PAUSED');
    expect(await post(`/${uuid}`, { action: 'reset' })).toMatchObject({
      status: 403,
      message: `JOBS_JOB_ACTION_NOT_AUTHORIZED User jdoe is not authorized to reset job ${uuid}.`,
    });
    expect((await post(`/${uuid}`, { action: 'reset' }, 'admin')).status).toBe(200);
    expect((await front.jobs.find(uuid))?.wanted).toBe('resume');
  });

  it('resets nothing that goes on by itself, or has ended', async () => {
    const { uuid: runs } = await jobThatIs('RUNNING');
    expect(await post(`/${runs}`, { action: 'reset' }, 'admin')).toMatchObject({
      status: 200,
      message: `There is nothing to reset: job ${runs} is RUNNING, and goes on by itself.`,
    });
    const { uuid: ended } = await jobThatIs('FINISHED');
    expect(await post(`/${ended}`, { action: 'reset' }, 'admin')).toMatchObject({
      status: 409,
      message: expect.stringContaining('JOBS_JOB_IN_TERMINAL_STATE'),
    });
  });

  it.each([
    [{}, 'ALOE_NULL_PARAMETER action: No action specified'],
    [{ action: 'fly' }, 'ALOE_INVALID_PARAMETER action: Invalid action fly: stop, resubmit, restore or reset'],
    [{ action: 'constructor' }, /^ALOE_INVALID_PARAMETER action/],
  ])('refuses %j', async (body, expected) => {
    const { uuid } = await jobThatIs('ACCEPTED');
    const { status, message } = await post(`/${uuid}`, body);
    expect(status).toBe(400);
    expect(message).toMatch(expected);
  });
});

describe('an action with the type of JSON, and no byte of a body', () => {
  /** As clients send it that set the type of every request. */
  const bare = (path: string) => post(path, undefined, 'jdoe', { 'content-type': 'application/json' });

  it.each<[action: string, from: Status, status: number, becomes: object]>([
    ['cancel', 'ACCEPTED', 200, { status: 'STOPPED' }],
    ['kill', 'ACCEPTED', 200, { status: 'STOPPED' }],
    ['stop', 'ACCEPTED', 200, { status: 'STOPPED' }],
    ['pause', 'RUNNING', 200, { status: 'RUNNING' }],
    ['resume', 'PAUSED', 200, { status: 'PAUSED' }],
    ['hide', 'FINISHED', 200, { visible: false }],
    ['unhide', 'FINISHED', 200, { visible: true }],
    ['resubmit', 'FINISHED', 201, { status: 'ACCEPTED' }],
  ])('/%s', async (action, from, status, becomes) => {
    const { uuid } = await jobThatIs(from);
    const answer = await bare(`/${uuid}/${action}`);
    expect([answer.status, answer.body.status]).toEqual([status, 'success']);
    expect(answer.result).toMatchObject(becomes);
    expect(answer.result.id === uuid).toBe(action !== 'resubmit');
    const asked = { pause: 'pause', resume: 'resume' }[action] ?? null;
    expect((await front.jobs.find(uuid))?.wanted).toBe(asked);
  });

  it('of Agave names none: 400', async () => {
    const { uuid } = await jobThatIs('ACCEPTED');
    const { status, message } = await bare(`/${uuid}`);
    expect([status, message]).toEqual([400, 'ALOE_NULL_PARAMETER action: No action specified']);
  });
});

describe('submitting again what the app takes no more (sheet §8.8)', () => {
  const asBefore = wc();
  /** An input that it had at first. */
  const query2 = (given: Partial<AppInput> = {}): AppInput => ({
    ...(asBefore.inputs[0] ?? expect.fail('it has no input')),
    id: 'query2',
    default: [],
    required: false,
    minCardinality: 0,
    ...given,
  });
  afterEach(() => void front.apps.set('wc-1.0', asBefore));

  it.each<
    [
      flag: string,
      what: string,
      given: Readonly<Record<string, unknown>>,
      now: Partial<App>,
      gone: string,
      left: object,
    ]
  >([
    [
      'ignoreInputConflicts',
      'an input that is gone',
      { inputs: { query1: 'in/a.txt', query2: 'in/b.txt' } },
      { inputs: asBefore.inputs },
      'query2',
      { inputs: { query1: 'in/a.txt' } },
    ],
    [
      'ignoreParameterConflicts',
      'a parameter that is gone',
      { parameters: { evalue: 3, words: ['a'] } },
      { parameters: asBefore.parameters.filter(({ id }) => id !== 'words') },
      'words',
      { parameters: { evalue: 3 } },
    ],
    [
      'ignoreInputConflicts',
      'an input that is fixed now',
      { inputs: { query1: 'in/a.txt', query2: 'in/b.txt' } },
      { inputs: asBefore.inputs.concat(query2({ visible: false })) },
      'query2',
      { inputs: { query1: 'in/a.txt' } },
    ],
  ])('is refused without %s, and taken with it: %s', async (flag, _, given, now, gone, left) => {
    front.apps.set('wc-1.0', wc({ inputs: [...asBefore.inputs, query2()] }));
    const { uuid } = await jobThatIs('FINISHED', given);
    front.apps.set('wc-1.0', wc(now));
    const other = flag === 'ignoreInputConflicts' ? 'ignoreParameterConflicts' : 'ignoreInputConflicts';
    for (const without of [{}, { [flag]: false }, { [other]: true }]) {
      const { status, message } = await post(`/${uuid}`, { action: 'resubmit', ...without });
      expect(status).toBe(400);
      expect(message).toContain(gone);
    }
    for (const body of [{ action: 'resubmit', [flag]: true }, `action=resubmit&${flag}=true`]) {
      const headers = typeof body === 'string' ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
      const { status, result } = await post(`/${uuid}`, body, 'jdoe', headers);
      expect(status).toBe(202);
      expect(result).toMatchObject(left);
      expect({ ...result.inputs, ...result.parameters }).not.toHaveProperty(gone);
    }
  });
});

describe('who may', () => {
  it('is its owner and administrators: others are refused by name, action and job', async () => {
    const { uuid } = await jobThatIs('RUNNING');
    for (const action of ['cancel', 'hide', 'unhide', 'resubmit', 'pause', 'resume']) {
      const { status, message } = await post(`/${uuid}/${action}`, {}, 'anna');
      expect(status).toBe(403);
      expect(message).toBe(`JOBS_JOB_ACTION_NOT_AUTHORIZED User anna is not authorized to ${action} job ${uuid}.`);
    }
    expect((await post(`/${uuid}/cancel`, {}, 'admin')).status).toBe(200);
  });

  it('is told with the id that there is no such job', async () => {
    const id = 'b5c4014b-31e7-47a0-954f-c9d404320904-007';
    for (const path of [`/${id}`, `/${id}/status`, `/${id}/history`, `/${id}/pems`, `/${id}/outputs/listings`]) {
      const { status, message, body } = await front.send({ path });
      expect(status).toBe(404);
      expect(message).toBe(`JOBS_JOB_NOT_FOUND No job found with job id ${id} in tenant default.`);
      expect(body.status).toBe('error');
    }
  });

  it('is nobody without a login: 401, in the envelope', async () => {
    const response = await fetch(`${front.url}/organizations/default/jobs/v2/`);
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({ status: 'error', message: expect.any(String), version: '2.4.0' });
  });

  it('finds routes that there are not in the envelope, too', async () => {
    const { status, body } = await front.send({ path: '/x/y/z' });
    expect([status, body.status, body.version]).toEqual([404, 'error', '2.4.0']);
    const other = await front.send({ method: 'PUT', path: '/x' });
    expect([other.status, other.body.status]).toEqual([405, 'error']);
  });
});

describe('the audit', () => {
  it('says who submitted a job, and what was done with it by whom, but nothing of what was refused or changed nothing', async () => {
    const { uuid } = await jobThatIs('RUNNING');
    await post(`/${uuid}/cancel`, {}, 'anna');
    await post(`/${uuid}/pems`, { username: 'anna', permission: 'READ' });
    await front.send({ method: 'DELETE', path: `/${uuid}/pems/anna` });
    await post(`/${uuid}/pause`, {});
    await post(`/${uuid}/cancel`, {}, 'admin');
    await post(`/${uuid}/hide`, {});
    const ended = await jobThatIs('FINISHED');
    const again = await post(`/${ended.uuid}/resubmit`, {});
    await post(`/${ended.uuid}/cancel`, {});
    await post('', { action: 'hide' }, 'jdoe');
    await post(`/${ended.uuid}`, { action: 'hide' });
    await front.send({ method: 'DELETE', path: `/${ended.uuid}` });
    await post(`/${ended.uuid}/unhide`, {});
    const entries = await front.auth.audit.page({ orgId: front.org.id, limit: 20 });
    const told = entries.filter(
      ({ target, outcome }) => [uuid, ended.uuid, again.result.id].includes(target) && outcome === 'done',
    );
    expect(told.reverse().map(({ action, target, actor, detail }) => [action, target, actor.name, detail])).toEqual([
      ['job.submit', uuid, 'jdoe', { app: 'wc-1.0' }],
      ['job.share', uuid, 'jdoe', { user: 'anna', permission: 'READ' }],
      ['job.unshare', uuid, 'jdoe', { user: 'anna' }],
      ['job.pause', uuid, 'jdoe', {}],
      ['job.cancel', uuid, 'admin', {}],
      ['job.submit', ended.uuid, 'jdoe', { app: 'wc-1.0' }],
      ['job.resubmit', again.result.id, 'jdoe', { of: ended.uuid }],
      ['job.hide', ended.uuid, 'jdoe', {}],
      ['job.unhide', ended.uuid, 'jdoe', {}],
    ]);
  });
});

describe('repeating a request with a key', () => {
  const key = { 'idempotency-key': 'k-1' };

  it('makes one job of it, also at the same moment', async () => {
    const send = () => post('', SUBMISSION, 'jdoe', key);
    const answers = await Promise.all([send(), send(), send()]);
    answers.push(await send());
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ result }) => result.id)).size).toBe(1);
    const other = await post('', SUBMISSION, 'anna', key);
    expect(other.result.id).not.toBe(answers[0]?.result.id);
  });

  it('refuses another request with it', async () => {
    await post('', SUBMISSION, 'jdoe', { 'idempotency-key': 'k-2' });
    const { status, message } = await post('', { ...SUBMISSION, name: 'other' }, 'jdoe', { 'idempotency-key': 'k-2' });
    expect(status).toBe(409);
    expect(message).toMatch(/^JOBS_SUBMIT_ERROR Idempotency-Key/);
  });

  it('takes no key with blanks', async () => {
    expect((await post('', SUBMISSION, 'jdoe', { 'idempotency-key': 'a b' })).status).toBe(400);
  });
});
