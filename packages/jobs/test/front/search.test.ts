import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { submissionOf } from '../../src/messages.js';
import { readSpan } from '../../src/search/dates.js';
import { JOB_FIELDS } from '../../src/search/fields.js';
import type { Job } from '../../src/types.js';
import { readSubmission } from '../../src/worker/messages.js';
import { type FrontServer, startFront } from '../support/front-server.js';
import { newJob } from '../support/jobs.js';

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 22, 18, 30);

let front: FrontServer;
const id = (name: string) => `${name}-0000-4000-8000-000000000000-007`;

async function put(name: string, given: Partial<Job>): Promise<void> {
  const at = given.accepted ?? NOW;
  const job = newJob(id(name), {
    orgId: front.org.id,
    tenant: 'default',
    accepted: at,
    lastUpdated: at,
    name,
    ...given,
  });
  await front.jobs.add(job, null);
}

beforeAll(async () => {
  front = await startFront();
  await put('one', {
    accepted: NOW - 48 * HOUR,
    status: 'RUNNING',
    created: NOW - 47 * HOUR,
    remoteStarted: NOW - 40 * HOUR,
    remoteSubmitted: NOW - 41 * HOUR,
    appId: 'blast-2.0',
    remoteQueue: 'normal',
    remoteJobId: '4711',
    schedulerJobId: 's-1',
    workPath: '/scratch/jdoe/one',
    nodeCount: 4,
    processorsPerNode: 16,
    memoryMb: 1536,
    maxSeconds: 9000,
    inputs: { query: 'agave://s/a.txt' },
    submitRetries: 2,
  });
  await put('two', {
    accepted: NOW - 24 * HOUR,
    status: 'FINISHED',
    created: NOW - 23 * HOUR,
    remoteStarted: NOW - 20 * HOUR,
    ended: NOW - 10 * HOUR,
    archive: true,
    archivePath: 'kept/two',
    archiveSystem: 'store',
    systemId: 'rack',
    parameters: { evalue: 5 },
    lastMessage: '100% done_now',
  });
  await put('three', {
    accepted: NOW - HOUR,
    owner: 'anna',
    status: 'BLOCKED',
    condition: 'DISK_FULL',
    resumeAt: 'QUEUED',
  });
});
afterAll(() => front.close());

const found = async (query: string, as = 'admin') =>
  (await front.get(`/?${query}`, as)).map((job: { name: string }) => job.name);

describe('searching by each field (sheet §8.5)', () => {
  it.each([
    ['appid=blast-2.0', ['one']],
    ['archive=true', ['two']],
    ['archive.neq=true', ['three', 'one']],
    ['archivepath=kept/two', ['two']],
    ['archivesystem=store', ['two']],
    ['remotequeue=normal', ['one']],
    ['accepted.before=2026-11-21', ['one']],
    ['created.after=2026-11-21', ['two']],
    ['ended.gt=2026-11-22', ['two']],
    ['laststatusmessage.like=*done*', ['two']],
    ['executionsystem=rack', ['two']],
    [`id=${id('one')}`, ['one']],
    ['inputs.like=*a.txt*', ['one']],
    ['lastmodified.gte=2026-11-22', ['three']],
    ['lastupdated.gte=2026-11-22', ['three']],
    ['remotejobid=4711', ['one']],
    ['schedulerjobid=s-1', ['one']],
    ['maxhours=02:30:00', ['one']],
    ['maxhours.gt=2.4', ['one']],
    ['memorypernode=1.5', ['one']],
    ['name=two', ['two']],
    ['nodecount.gte=4', ['one']],
    ['workpath.like=/scratch/*', ['one']],
    ['owner=anna', ['three']],
    ['parameters.like=*evalue*', ['two']],
    ['processorspernode=16', ['one']],
    ['submitretries.gt=1', ['one']],
    ['remotestarted.before=2026-11-21T12:00:00Z', ['one']],
    ['remotesubmitted.on=2026-11-21', ['one']],
    ['status=running', ['one']],
    ['visible=true&name=two', ['two']],
    ['runtime=36000', ['two']],
    ['runtime.lt=36001', ['two']],
    ['walltime.gte=46800', ['two']],
    ['batchqueue=normal', ['one']],
    ['starttime.before=2026-11-21T12:00:00Z', ['one']],
    ['endtime.after=2026-11-22', ['two']],
    ['submittime.on=2026-11-21', ['one']],
    ['localid=4711', ['one']],
    ['maxruntime=02:30:00', ['one']],
    ['outputpath=/scratch/jdoe/one', ['one']],
    ['retries=2', ['one']],
  ])('%s', async (query, names) => expect(await found(query)).toEqual(names));

  it('finds nothing that fails, by any field and operator', async () => {
    const operators = ['', '.eq', '.neq', '.lt', '.lte', '.gt', '.gte', '.in', '.nin', '.like', '.nlike', '.rlike'];
    const more = ['.between', '.on', '.before', '.after', '.nope', '.'];
    const name = fc.tuple(fc.constantFrom(...JOB_FIELDS.keys()), fc.constantFrom(...operators, ...more));
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('1', '1.5', 'yesterday', '*', 'true', '01:00:00', 'a,b'),
    );
    await fc.assert(
      fc.asyncProperty(name, value, async ([field, operator], text) => {
        const path = `/?${field}${operator}=${encodeURIComponent(text)}`;
        expect([200, 400]).toContain((await front.send({ path, as: 'admin' })).status);
      }),
      { numRuns: 300 },
    );
  });
});

describe('operators (sheet §8.5)', () => {
  it.each([
    ['STATUS.IN=RUNNING,blocked', ['three', 'one']],
    ['status.nin=RUNNING,BLOCKED', ['two']],
    ['status.like=FIN*', ['two']],
    ['status.nlike=FIN*', ['three', 'one']],
    ['name.neq=one', ['three', 'two']],
    ['name.like=T*', ['three', 'two']],
    ['name.like=t', []],
    ['name.nlike=t*', ['one']],
    ['name.rlike=^t.*e$', ['three']],
    ['name.rlike=w', ['two']],
    ['laststatusmessage.like=*%25 done_*', ['two']],
    ['laststatusmessage.like=*%25d*', []],
    ['archivesystem.nlike=st*', ['three', 'one']],
    ['nodecount.between=1,2', null],
    ['created.in=yesterday', null],
    ['remotestarted.between=1 week ago,yesterday', ['two', 'one']],
    ['accepted.between=November 19, 2026,November 20, 2026', ['one']],
    [`accepted=${NOW - HOUR}`, ['three']],
    ['starttime=2026-11-21', ['two', 'one']],
    ['starttime=2026-11-21T00:00:00Z', []],
    ['created=yesterday', ['two']],
    ['endtime.eq=today', ['two']],
    ['accepted.on=yesterday', ['two']],
    ['accepted.after=2 hours ago', ['three']],
    ['nodecount=4&status=RUNNING', ['one']],
    ['nodecount=4&status=FINISHED', []],
  ])('%s', async (query, names) => {
    if (names !== null) return expect(await found(query)).toEqual(names);
    return expect((await front.send({ path: `/?${query}`, as: 'admin' })).status).toBe(400);
  });

  it.each([
    ['nope=1', 'ALOE_INVALID_PARAMETER nope: there is no such field'],
    ['name.nope=1', 'ALOE_INVALID_PARAMETER name.nope: there is no such field'],
    [
      'created.between=yesterday',
      'ALOE_INVALID_PARAMETER created.between: Illegal date format for created.between: two dates, START,END',
    ],
    ['created=whenever', 'ALOE_INVALID_PARAMETER created: Illegal date format for created'],
    ['nodecount=few', 'ALOE_INVALID_PARAMETER nodecount: Illegal integer value for nodecount'],
    ['memorypernode=much', 'ALOE_INVALID_PARAMETER memorypernode: Illegal decimal value for memorypernode'],
    ['status=RUNING', 'ALOE_INVALID_PARAMETER status: Unknown job status RUNING'],
    ['archive=maybe', 'ALOE_INVALID_PARAMETER archive: Illegal boolean value'],
    ['name.rlike=(', 'ALOE_INVALID_PARAMETER name.rlike'],
    ['order=up', 'ALOE_INVALID_PARAMETER order'],
    ['orderBy=nope', 'ALOE_INVALID_PARAMETER orderBy'],
    ['limit=many', 'ALOE_INVALID_PARAMETER limit'],
    ['offset=1.5', 'ALOE_INVALID_PARAMETER offset'],
    ['limit=1&limit=2', 'ALOE_INVALID_PARAMETER limit: it is given twice'],
    ['pretty=perhaps', 'ALOE_INVALID_PARAMETER pretty'],
    ['where=status:RUNING', 'ALOE_INVALID_PARAMETER where'],
    ['where=nope:1', 'ALOE_INVALID_PARAMETER where'],
  ])('%s is refused', async (query, begins) => {
    const { status, message } = await front.send({ path: `/?${query}` });
    expect([status, message.slice(0, begins.length)]).toEqual([400, begins]);
  });
});

describe('pages and order', () => {
  it.each([
    ['', ['three', 'two', 'one']],
    ['order=asc', ['one', 'two', 'three']],
    ['orderBy=name&order=ASC', ['one', 'three', 'two']],
    ['orderBy=name&order=DESC', ['two', 'three', 'one']],
    ['orderBy=ended&order=asc', ['two', 'one', 'three']],
    ['orderBy=runtime&order=desc&limit=1', ['two']],
    ['limit=1', ['three']],
    ['limit=-1&offset=1', ['two']],
    ['limit=0', []],
    ['offset=3', []],
    ['name.rlike=.&limit=1&offset=1', ['two']],
  ])('%s', async (query, names) => expect(await found(query)).toEqual(names));
});

describe('the path as a search (sheet §8.3)', () => {
  it.each([
    ['/search/name/two', ['two']],
    ['/search/name.like/t*/owner/anna/', ['three']],
    ['/search/workpath/%2Fscratch%2Fjdoe%2Fone', ['one']],
    // As agavepy asks.
    ['/name/two', ['two']],
    ['/workPath/%2Fscratch%2Fjdoe%2Fone', ['one']],
    ['/Name.like/t*?owner=anna', ['three']],
  ])('%s', async (path, names) => {
    expect((await front.get(path, 'admin')).map((job: { name: string }) => job.name)).toEqual(names);
  });

  it.each([
    ['/search/name', 400],
    [`/search${'/name/x'.repeat(8)}`, 400],
    ['/status/HAPPY', 400],
    ['/happiness/great', 404],
  ])('%s is refused', async (path, status) => {
    expect((await front.send({ path })).status).toBe(status);
  });
});

describe('selectors', () => {
  it.each([
    ['status:BLOCKED AND owner:anna', ['three']],
    ["status = 'RUNNING' OR owner = 'anna'", ['three', 'one']],
    ['nodeCount > 2', ['one']],
    ['memoryPerNode = 1.5 AND app:blast-2.0', ['one']],
    ['condition IS NOT NULL', ['three']],
    ['t*', ['three', 'two']],
  ])('%s', async (where, names) => {
    expect(await found(`where=${encodeURIComponent(where)}`)).toEqual(names);
  });
});

describe('who sees what', () => {
  it('owners see theirs, others what is shared with them, administrators all', async () => {
    expect(await found('', 'jdoe')).toEqual(['two', 'one']);
    expect(await found('', 'bob')).toEqual([]);
    const body = { username: 'bob', permission: 'READ' };
    await front.send({ method: 'POST', path: `/${id('three')}/pems`, body, as: 'anna' });
    expect(await found('', 'bob')).toEqual(['three']);
    expect(await found('where=owner:anna', 'bob')).toEqual(['three']);
  });
});

describe('how answers look (sheet §8.1)', () => {
  it('compact unless pretty, in the envelope unless naked, only fields of the filter', async () => {
    const { text } = await front.send({ path: '/?name=two' });
    expect(text).not.toContain('\n');
    expect(text.startsWith('{"status":"success","message":null,"version":"2.4.0","result":[{')).toBe(true);
    expect((await front.send({ path: '/?name=two&pretty=true' })).text).toContain('\n  ');
    const naked = await front.send({ path: '/?name=two&naked=true&filter=id,maxHours,_links.self.href,nope' });
    const self = `${front.url}/organizations/default/jobs/v2/${id('two')}`;
    expect(naked.body).toEqual([{ id: id('two'), maxHours: 1, _links: { self: { href: self } } }]);
    const one = await front.send({ path: `/${id('two')}?filter=status` });
    expect(one.result).toEqual({ status: 'FINISHED' });
  });

  it('searches and orders history, too', async () => {
    const list = async (query: string) =>
      (await front.get(`/${id('three')}/history?${query}`, 'anna')).map((entry: { status: string }) => entry.status);
    expect(await list('order=desc')).toEqual(['PERMISSION_GRANT', 'ACCEPTED']);
    expect(await list('status=ACCEPTED')).toEqual(['ACCEPTED']);
    expect(await list('status.in=accepted,permission_grant')).toEqual(['ACCEPTED', 'PERMISSION_GRANT']);
    expect(await list('createdby=anna&limit=1')).toEqual(['ACCEPTED']);
    expect(await list('description.like=*granted*')).toEqual(['PERMISSION_GRANT']);
    expect(await list('id=0')).toEqual(['ACCEPTED']);
    expect(await list('description.rlike=gr.nted')).toEqual(['PERMISSION_GRANT']);
    expect(await list('id.rlike=^0$&createdby=anna')).toEqual(['ACCEPTED']);
    expect(await list('createdby.rlike=.&offset=1')).toEqual(['PERMISSION_GRANT']);
    expect(await list('created.before=2 hours ago')).toEqual([]);
  });

  it('searches history by where requests came from, for the owner and administrators', async () => {
    const { id: uuid } = await front.submit();
    await front.send({ method: 'POST', path: `/${uuid}/pems/bob`, body: { permission: 'READ' } });
    await front.send({ method: 'POST', path: `/${uuid}/stop` });
    await front.send({ method: 'POST', path: `/${uuid}/hide` });
    await front.send({ method: 'POST', path: `/${uuid}/unhide` });
    const list = async (query: string, as = 'jdoe') =>
      (await front.get(`/${uuid}/history?${query}`, as)).map((entry: { status: string }) => entry.status);
    const all = ['ACCEPTED', 'PERMISSION_GRANT', 'STOPPED', 'DELETED', 'RESTORED'];
    expect(await list('ipaddress=127.0.0.1')).toEqual(all);
    expect(await list('ipAddress.like=127.*', 'admin')).toEqual(all);
    expect(await list('ipaddress.neq=127.0.0.1')).toEqual([]);
    expect(await list('orderBy=ipaddress')).toEqual(all);
    expect(await list('ipaddress.rlike=^127\\.')).toEqual(all);
    expect(await list('ipaddress.rlike=^10\\.')).toEqual([]);
    for (const query of ['ipaddress=127.0.0.1', 'ipaddress.rlike=1', 'orderBy=ipaddress']) {
      expect((await front.send({ path: `/${uuid}/history?${query}`, as: 'bob' })).status).toBe(400);
    }
  });

  it('knows where a request came from whose job a worker has stored; what no request did is of nowhere', async () => {
    const given = newJob(id('four'), { orgId: front.org.id, tenant: 'default' });
    const address = `fe80::1%${'x'.repeat(100)}`;
    const sent = readSubmission(Buffer.from(submissionOf(given, null, address).body), front.org.id);
    if ('problem' in sent) throw new Error(sent.problem);
    await front.jobs.addUnlessRefused(sent.message.job, sent.message.idempotencyKey, sent.message.address);
    await front.jobs.change(given, { to: 'PENDING' });
    const list = async (query: string) =>
      (await front.get(`/${given.uuid}/history?${query}`)).map((entry: { status: string }) => entry.status);
    expect(await list(`ipaddress=${encodeURIComponent(address.slice(0, 64))}`)).toEqual(['ACCEPTED']);
    expect(await list('ipaddress=')).toEqual(['PENDING']);
  });
});

describe('dates', () => {
  it.each([
    ['2026', '2026-01-01T00:00:00.000Z'],
    ['2026-11', '2026-11-01T00:00:00.000Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2026-11-20T10:11', '2026-11-20T10:11:00.000Z'],
    ['2026-11-20 10:11:12.5Z', '2026-11-20T10:11:12.500Z'],
    ['2026-11-20T10:11:12+0200', '2026-11-20T08:11:12.000Z'],
    ['2026-11-20T10:11:12-05', '2026-11-20T15:11:12.000Z'],
    ['1763750000000', '2025-11-21T18:33:20.000Z'],
    ['yesterday', '2026-11-21T00:00:00.000Z'],
    ['today', '2026-11-22T00:00:00.000Z'],
    ['2 hours ago', '2026-11-22T16:30:00.000Z'],
    ['May 1, 2019', '2019-05-01T00:00:00.000Z'],
    ['', null],
    ['whenever', null],
    ['2026-13-01', null],
    ['see you yesterday', null],
    ['999999999999999', null],
  ])('%j is %s', (text, expected) => {
    const span = readSpan(text, NOW);
    expect(span === null ? null : new Date(span.first).toISOString()).toBe(expected);
  });
});
