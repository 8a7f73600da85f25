import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readApp } from '../../src/apps/definition.js';
import { WC } from '../support/apps.js';
import { type FrontServer, HERE, STORE, SUBMISSION, startFront, wc } from '../support/front-server.js';

let front: FrontServer;
beforeAll(async () => {
  front = await startFront();
});
beforeEach(() => {
  front.apps.clear();
  front.apps.set('wc-1.0', wc());
  front.systems.clear();
  front.systems.set('here', HERE);
  front.systems.set('store', STORE);
});
afterAll(() => front.close());

const send = (body: unknown, headers = {}, as = 'jdoe') => front.send({ method: 'POST', body, headers, as });

/** Refused with 400, and with a text that begins so. */
async function refused(given: Readonly<Record<string, unknown>>, begins: string): Promise<void> {
  const { status, message, body } = await send({ ...SUBMISSION, ...given });
  expect({ status, message }).toEqual({ status: 400, message: expect.stringContaining(begins) });
  expect(message.startsWith(begins.split(' ')[0] ?? '')).toBe(true);
  expect(body).toEqual({ status: 'error', message, version: '2.4.0' });
}

const long = (length: number) => 'a'.repeat(length);

describe('fields of a submission (sheet §1.2)', () => {
  it.each([
    ['ALOE_NULL_PARAMETER name', { name: undefined }],
    ['ALOE_INVALID_PARAMETER name', { name: '  ' }],
    ['ALOE_INVALID_PARAMETER_LEN name', { name: long(65) }],
    ['ALOE_JSON_VALIDATION_ERROR name', { name: 5 }],
    ['ALOE_NULL_PARAMETER appId', { appId: null }],
    ['ALOE_INVALID_PARAMETER_LEN appId', { appId: `${long(80)}-1` }],
    ['JOBS_INVALID_APPID appId', { appId: 'example' }],
    ['JOBS_INVALID_APPID appId', { appId: 'example-' }],
    ['JOBS_SUBMIT_ERROR appId', { appId: 'nope-1.0' }],
    ['ALOE_JSON_VALIDATION_ERROR archive', { archive: 'true' }],
    ['ALOE_JSON_VALIDATION_ERROR archiveOnAppError', { archiveOnAppError: 1 }],
    ['ALOE_NULL_PARAMETER archivePath', { archive: true }],
    ['ALOE_NULL_PARAMETER archivePath', { archive: undefined, archivePath: undefined }],
    ['ALOE_NULL_PARAMETER archivePath', { archive: null, archivePath: undefined }],
    ['ALOE_INVALID_PARAMETER_LEN archivePath', { archivePath: long(256) }],
    ['ALOE_INVALID_PARAMETER archivePath', { archivePath: 'a/../../b' }],
    ['ALOE_INVALID_PARAMETER archivePath', { archivePath: `\${JOB_NAM}` }],
    ['ALOE_INVALID_PARAMETER_LEN archiveSystem', { archiveSystem: long(65) }],
    ['JOBS_SUBMIT_ERROR archiveSystem', { archive: true, archivePath: '', archiveSystem: 'nope' }],
    ['ALOE_INVALID_PARAMETER_LEN batchQueue', { batchQueue: long(256) }],
    ['ALOE_JSON_VALIDATION_ERROR inputs', { inputs: [] }],
    ['ALOE_JSON_VALIDATION_ERROR parameters', { parameters: 'x' }],
    ['ALOE_JSON_VALIDATION_ERROR parameter', { parameters: { evalue: 1 }, parameter: { evalue: 2 } }],
    ['ALOE_JSON_VALIDATION_ERROR memoryPerNode', { memoryPerNode: -5 }],
    ['ALOE_JSON_VALIDATION_ERROR memoryPerNode', { memoryPerNode: true }],
    ['ALOE_JSON_VALIDATION_ERROR memoryPerNode', { memoryPerNode: `${'0'.repeat(32)}1GB` }],
    ['ALOE_JSON_VALIDATION_ERROR memoryPerNode', { memoryPerNode: '5 parsecs' }],
    ['ALOE_JSON_VALIDATION_ERROR nodeCount', { nodeCount: '2' }],
    ['ALOE_JSON_VALIDATION_ERROR nodeCount', { nodeCount: 0 }],
    ['ALOE_JSON_VALIDATION_ERROR processorsOnEachNode', { processorsOnEachNode: -1 }],
    ['ALOE_JSON_VALIDATION_ERROR processorsPerNode', { processorsPerNode: 1.5 }],
    ['ALOE_JSON_VALIDATION_ERROR maxRunTime', { maxRunTime: '2 hours' }],
    ['ALOE_JSON_VALIDATION_ERROR maxRunTime', { maxRunTime: '00:00:00' }],
    ['ALOE_JSON_VALIDATION_ERROR jobName', { jobName: 'x' }],
    ['ALOE_JSON_VALIDATION_ERROR dependencies', { dependencies: [] }],
    ['JOBS_SUBMIT_ERROR executionSystem', { executionSystem: 'other' }],
    ['ALOE_JSON_VALIDATION_ERROR notifications', { notifications: {} }],
    ['ALOE_JSON_VALIDATION_ERROR notifications', { notifications: Array(21).fill({ event: '*', url: 'a@b.org' }) }],
    ['ALOE_NULL_PARAMETER notifications.0.event', { notifications: [{ url: 'a@b.org' }] }],
    ['ALOE_INVALID_PARAMETER notifications.0.event', { notifications: [{ event: 'RUNING', url: 'a@b.org' }] }],
    ['ALOE_NULL_PARAMETER notifications.0.url', { notifications: [{ event: '*' }] }],
    ['ALOE_INVALID_PARAMETER notifications.0.url', { notifications: [{ event: '*', url: 'ftp://x/y' }] }],
    ['ALOE_INVALID_PARAMETER notifications.0.url', { notifications: [{ event: '*', url: `http://x/\${NOPE}` }] }],
    [
      'ALOE_INVALID_PARAMETER_LEN notifications.0.url',
      { notifications: [{ event: '*', url: `http://${long(1020)}` }] },
    ],
    [
      'ALOE_JSON_VALIDATION_ERROR notifications.0.persistent',
      { notifications: [{ event: '*', url: 'a@b.org', persistent: 'no' }] },
    ],
    ...(
      [
        ['retryStrategy', 'SOMETIMES'],
        ['retryLimit', 1441],
        ['retryRate', 86_401],
        ['retryDelay', -1],
        ['saveOnFailure', 'yes'],
        ['x', 1],
      ] as const
    ).map(([field, value]): [string, Readonly<Record<string, unknown>>] => [
      `ALOE_JSON_VALIDATION_ERROR notifications.0.policy.${field}`,
      { notifications: [{ event: '*', url: 'a@b.org', policy: { [field]: value } }] },
    ]),
    ['ALOE_JSON_VALIDATION_ERROR notifications.0.x', { notifications: [{ event: '*', url: 'a@b.org', x: 1 }] }],
  ])('%s', (begins, given) => refused(given, begins));

  it.each([
    ['a template with empty fields', { archive: true, archivePath: null, batchQueue: '', notifications: null }],
    ['an archivePath alone: it archives', { archive: undefined, archivePath: '' }],
    ['executionSystem of the app', { executionSystem: 'here' }],
    ['parameter, as some templates say', { parameter: { evalue: 1 } }],
    ['all that there is', { memoryPerNode: '200MB', nodeCount: 2, processorsOnEachNode: 4, maxRunTime: '01:00:00' }],
    ['memory as a number of GB, as samples of agavepy say it', { memoryPerNode: 1 }],
    ['an input on another system', { inputs: { query1: 'agave://store/in/a.txt' } }],
    ['macros', { archive: true, archivePath: `kept/\${JOB_NAME}-\${JOB_ID}` }],
  ])('takes %s', async (_, given) => {
    const { status, message } = await send({ ...SUBMISSION, ...given });
    expect({ status, message }).toEqual({ status: 201, message: 'null' });
  });

  it('reads a file of a form, as the command line of Agave sends it', async () => {
    const form = new FormData();
    form.set('fileToUpload', new Blob([JSON.stringify(SUBMISSION)]), 'job.json');
    const encoded = new Response(form);
    const type = encoded.headers.get('content-type') ?? '';
    const { status, result } = await send(await encoded.text(), { 'content-type': type });
    expect([status, result?.name]).toEqual([201, 'demo']);
  });

  it.each([
    ['{', 'application/json', 400, 'NET_INVALID_JSON_INPUT body'],
    ['[]', 'application/json', 400, 'ALOE_JSON_VALIDATION_ERROR body'],
    ['{"__proto__": {}}', 'application/json', 400, 'ALOE_JSON_PARSE_ERROR body'],
    ['name=x', 'application/x-www-form-urlencoded', 415, ''],
    ['--x\r\n', 'multipart/form-data; boundary=x', 400, 'NET_POST_PAYLOAD_ACCESS body'],
    ['--x--\r\n', 'multipart/form-data; boundary=x', 400, 'ALOE_NULL_PARAMETER fileToUpload'],
  ])('refuses the body %j as %s', async (body, type, expected, begins) => {
    const { status, message } = await send(body, { 'content-type': type });
    expect([status, message.startsWith(begins)]).toEqual([expected, true]);
  });

  it.each([
    ['longer than is read', long(1_000_001), 413, 'NET_POST_PAYLOAD_ACCESS JSON must be no more than 1000000 bytes.'],
    ['deeper than can be followed', `${'['.repeat(50_000)}${']'.repeat(50_000)}`, 400, 'ALOE_JSON_PARSE_ERROR body'],
  ])('refuses a body %s', async (_, body, expected, begins) => {
    const { status, message } = await send(body);
    expect([status, message.startsWith(begins)]).toEqual([expected, true]);
  });
});

describe('inputs and parameters (sheet §1.3)', () => {
  it.each([
    ['JOBS_PROHIBITED_ARG_VALUE', { parameters: { secret_mode: 'y' } }, 'parameters.secret_mode'],
    ['JOBS_UNDEFINED_ARG_VALUE', { parameters: { nope: 1 } }, 'parameters.nope'],
    ['JOBS_BAD_ARG_VALUE_ENTRY', { inputs: { query1: 5 } }, 'inputs.query1'],
    ['JOBS_ARG_VALUE_MIN_SIZE', { inputs: { query1: [] } }, 'inputs.query1'],
    ['JOBS_ARG_VALUE_MAX_SIZE', { inputs: { query1: ['a.txt', 'b.txt', 'c.txt'] } }, 'inputs.query1'],
    ['JOBS_ARG_VALUE_CONFORMANCE', { inputs: { query1: 'a.pdf' } }, 'inputs.query1'],
    ['JOBS_INPUT_URI_PARSE_ERROR', { inputs: { query1: '../a.txt' } }, 'inputs.query1'],
    ['JOBS_INPUT_UNSUPPORTED_SCHEME', { inputs: { query1: 'gridftp://x/a.txt' } }, 'inputs.query1'],
    ['JOBS_PARAMETER_TYPE_MISMATCH', { parameters: { evalue: '1' } }, 'parameters.evalue'],
    ['JOBS_PARAMETER_ENUM_NOT_FOUND', { parameters: { mode: 'odd' } }, 'parameters.mode'],
    ['JOBS_INVALID_PARAMETER_VALUE', { parameters: { words: ['a\0b'] } }, 'parameters.words'],
  ])('%s', async (code, given, field) => {
    const { status, message } = await send({ ...SUBMISSION, ...given });
    expect([status, message.split(' ')[0]]).toEqual([400, code]);
    expect(message).toContain(`(${field})`);
  });

  it('JOBS_MISSING_ARG_VALUE', async () => {
    const inputs = wc().inputs.map((input) => ({ ...input, default: [] }));
    front.apps.set('wc-1.0', wc({ inputs }));
    const { status, message } = await send({ ...SUBMISSION, inputs: {} });
    expect([status, message.split(' ')[0]]).toEqual([400, 'JOBS_MISSING_ARG_VALUE']);
    expect(message).toContain('(inputs.query1)');
  });

  it('have at most 16384 characters', async () => {
    await refused({ parameters: { words: Array(200).fill(long(100)) } }, 'ALOE_INVALID_PARAMETER_LEN parameters');
  });
});

describe('apps and systems', () => {
  it('a private app is for its owner and administrators', async () => {
    front.apps.set('wc-1.0', wc({ isPublic: false }));
    const { status, message } = await send(SUBMISSION);
    expect([status, message]).toEqual([
      403,
      'JOBS_SUBMIT_ERROR appId: user jdoe may not run app wc-1.0, which is private.',
    ]);
    expect((await send(SUBMISSION, {}, 'admin')).status).toBe(201);
  });

  it('an app that is disabled, or whose system is gone, runs nothing', async () => {
    front.apps.set('wc-1.0', wc({ enabled: false }));
    await refused({}, 'JOBS_SUBMIT_ERROR appId');
    front.apps.set('wc-1.0', wc({ executionSystem: 'gone' }));
    await refused({}, 'JOBS_SUBMIT_ERROR appId');
    front.apps.set('wc-1.0', wc({ executionSystem: null }));
    expect((await front.submit()).systemId).toBe('store');
    front.systems.delete('store');
    await refused({}, 'JOBS_SUBMIT_ERROR executionSystem');
    front.apps.set('wc-1.0', wc());
    const elsewhere = { inputs: { query1: 'https://example.org/a.txt' } };
    await refused({ ...elsewhere, archive: true, archivePath: '' }, 'JOBS_SUBMIT_ERROR archiveSystem');
  });

  it('an input on a system that there is not is not waited for', async () => {
    const there = { inputs: { query1: 'agave://gone/in/a.txt' } };
    await refused(there, "JOBS_SUBMIT_ERROR inputs.query1: there is no system 'gone'");
    front.systems.delete('store');
    await refused({ inputs: { query1: 'in/a.txt' } }, "JOBS_SUBMIT_ERROR inputs.query1: there is no system 'store'");
    front.apps.set('wc-1.0', wc({ deployment: null }));
    const reason = 'it names no system, and there is no default one';
    await refused({ inputs: { query1: 'in/a.txt' } }, `JOBS_SUBMIT_ERROR inputs.query1: ${reason}`);
    expect((await send({ ...SUBMISSION, inputs: { query1: 'https://example.org/a.txt' } })).status).toBe(201);
  });

  it('a system that is disabled is waited for: the job is taken', async () => {
    front.systems.set('here', { ...HERE, enabled: false });
    front.systems.set('store', { ...STORE, enabled: false });
    expect((await front.submit({ archive: true, archivePath: '' })).status).toBe('ACCEPTED');
  });
});

describe('resources (sheet §1.3)', () => {
  const bare = () => wc({ defaults: { ...wc().defaults, queue: null, memoryMb: null, maxSeconds: null } });

  it('are those of the request, else of the app, else the most of the queue, else 1', async () => {
    expect(await front.submit({ memoryPerNode: '2GB', maxRunTime: '00:30:00', nodeCount: 3 })).toMatchObject({
      nodeCount: 3,
      processorsPerNode: 2,
      memoryPerNode: 2,
      maxHours: 0.5,
    });
    front.apps.set('wc-1.0', bare());
    expect(await front.submit()).toMatchObject({ remoteQueue: 'normal', memoryPerNode: 64, maxHours: 24 });
    front.systems.set('here', { ...HERE, scheduler: 'fork', queues: [] });
    expect(await front.submit({ batchQueue: 'normal' })).toMatchObject({ remoteQueue: null, memoryPerNode: 1 });
  });

  it('count processors on each node; the old way counts them all', async () => {
    expect((await front.submit({ nodeCount: 2, processorsPerNode: 8 })).processorsPerNode).toBe(4);
    const both = { nodeCount: 2, processorsPerNode: 7, processorsOnEachNode: 3 };
    expect((await front.submit(both)).processorsPerNode).toBe(3);
    await refused({ nodeCount: 2, processorsPerNode: 7 }, 'JOBS_INVALID_PROCESSORS_PER_NODE processorsPerNode');
  });

  it('choose the queue: that of the request, the app, the default one, the first that fits', async () => {
    expect((await front.submit({ batchQueue: 'long', maxRunTime: '100:00:00' })).remoteQueue).toBe('long');
    expect((await front.submit()).remoteQueue).toBe('normal');
    front.apps.set('wc-1.0', bare());
    expect((await front.submit({ maxRunTime: '100:00:00' })).remoteQueue).toBe('long');
    expect((await front.submit({ nodeCount: 50 })).remoteQueue).toBe('wide');
  });

  it('are refused when no queue gives them', async () => {
    await refused({ batchQueue: 'nope' }, 'JOBS_UNKNOWN_REMOTE_QUEUE batchQueue');
    await refused({ batchQueue: 'normal', nodeCount: 5 }, 'JOBS_INVALID_REMOTE_QUEUE_ASSIGNMENT batchQueue');
    front.apps.set('wc-1.0', bare());
    const { message } = await send({ ...SUBMISSION, nodeCount: 101 });
    expect(message.startsWith('JOBS_NO_REMOTE_QUEUE batchQueue')).toBe(true);
    expect(message).toContain('JOBS_SYSQ_SKIP_MAX_NODES queue normal takes at most 4 nodes, not 101');
  });

  it.each([
    ['NODES', { nodeCount: 5 }],
    ['PROCS', { processorsOnEachNode: 17 }],
    ['MEM', { memoryPerNode: '65GB' }],
    ['HOURS', { maxRunTime: '24:00:01' }],
  ])('JOBS_SYSQ_SKIP_MAX_%s says what is too much', async (limit, given) => {
    const { status, message } = await send({ ...SUBMISSION, batchQueue: 'normal', ...given });
    expect([status, message]).toEqual([400, expect.stringContaining(`JOBS_SYSQ_SKIP_MAX_${limit} `)]);
  });

  it('take the default queue of the app only when the system has it', async () => {
    front.apps.set('wc-1.0', { ...wc(), ...readApp({ ...WC, defaultQueue: 'gone' }) });
    await refused({}, 'JOBS_UNKNOWN_REMOTE_QUEUE batchQueue');
  });
});

describe('whatever somebody sends', () => {
  const names = ['name', 'appId', 'archive', 'archivePath', 'inputs', 'parameters', 'nodeCount', 'maxRunTime'] as const;

  it('is accepted or refused, and never a failure of the server', async () => {
    const body = fc.record(
      Object.fromEntries(
        [...names, 'notifications', 'memoryPerNode', 'batchQueue'].map((name) => [name, fc.jsonValue()]),
      ),
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(body, fc.boolean(), async (given, whole) => {
        const { status } = await send(whole ? { ...SUBMISSION, ...given } : given);
        expect(status === 201 || status === 400).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  it('is so of paths and queries, too', async () => {
    const segment = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('search', 'status', 'pems', 'outputs', '%', '%00'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(segment, { maxLength: 4 }), fc.string(), fc.boolean(), async (parts, query, raw) => {
        const encode = (text: string) => (raw ? encodeURI(text).replaceAll('#', '') : encodeURIComponent(text));
        const path = `/${parts.map(encode).join('/')}?${encodeURI(query).replaceAll('#', '')}`;
        const { status } = await front.send({ path });
        expect(status).toBeLessThan(500);
      }),
      { numRuns: 150 },
    );
  });
});
