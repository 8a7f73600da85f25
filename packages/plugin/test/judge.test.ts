import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classFault, judge, RESPONSE_DEPTH, type StartFault, unableToStart } from '../src/contract/index.js';

const CLEAN = { exitCode: 0, signal: null };
const EXIT_3 = { exitCode: 3, signal: null };
const KILLED = { exitCode: null, signal: 'SIGKILL' };
const SEEN = 'see stdout for status and any stdout or stderr it may have set';

const answered = (response: unknown, exit: { exitCode: number | null; signal: string | null } = CLEAN) =>
  judge({ text: JSON.stringify(response) }, exit);

describe('judging the answer of a plugin (sheet §3.5)', () => {
  it.each([1, 2, 44])('keeps status %i and both outputs after exit 0', (status) => {
    expect(answered({ status, stdout: 'out', stderr: 'err' })).toEqual({
      status,
      stdout: 'out',
      stderr: 'err',
      reason: null,
      ...CLEAN,
    });
  });

  it('keeps a status above 1 after another exit, and says so', () => {
    expect(answered({ status: 2, stdout: 'out' }, EXIT_3)).toEqual({
      status: 2,
      stdout: 'out',
      stderr: null,
      reason: 'plugin did not exit cleanly: exit status 3',
      ...EXIT_3,
    });
    expect(answered({ status: 44 }, KILLED)).toMatchObject({
      status: 44,
      reason: 'plugin did not exit cleanly: signal: killed',
      ...KILLED,
    });
  });

  it.each([EXIT_3, KILLED])('fails status 1 after %j', (exit) => {
    const stderr =
      'plugin returned status:1 but did not exit cleanly (see stdout for any stdout or stderr it may have set)';
    const stdout = '{"status":1,"stdout":"a","stderr":"b"}';
    expect(answered({ stderr: 'b', stdout: 'a', status: 1 }, exit)).toEqual({
      status: 2,
      stdout,
      stderr,
      reason: stderr,
      ...exit,
    });
  });

  it.each([
    ['{}', '{"status":null,"stdout":null,"stderr":null}'],
    ['{"status":"fizz","stdout":"a"}', '{"status":"fizz","stdout":"a","stderr":null}'],
    ['{"status":"1"}', '{"status":"1","stdout":null,"stderr":null}'],
    ['{"status":1.5}', '{"status":1.5,"stdout":null,"stderr":null}'],
    ['{"status":true,"other":1}', '{"status":true,"stdout":null,"stderr":null}'],
    ['{"status":2147483648}', '{"status":2147483648,"stdout":null,"stderr":null}'],
    ['{"status":[1]}', '{"status":[1],"stdout":null,"stderr":null}'],
  ])('fails %s, whose status is of an unknown type', (text, stdout) => {
    expect(judge({ text }, CLEAN)).toMatchObject({
      status: 2,
      stdout,
      stderr: `plugin returned unknown type for status (${SEEN})`,
    });
  });

  it.each([0, -1])('fails status %i', (status) => {
    expect(answered({ status, stdout: 'a' }, EXIT_3)).toMatchObject({
      status: 2,
      stdout: `{"status":${status},"stdout":"a","stderr":null}`,
      stderr: `plugin returned non-positive status (${SEEN})`,
      ...EXIT_3,
    });
  });

  it.each(['1.0', '1e0', '10e-1'])('takes %s as a whole number', (number) => {
    expect(judge({ text: `{"status":${number}}` }, CLEAN)).toMatchObject({ status: 1, reason: null });
  });

  it.each([CLEAN, EXIT_3])('fails when there is no response file, after %j', (exit) => {
    const error = 'open /t/x-response.json: no such file or directory';
    expect(judge({ error }, exit)).toMatchObject({
      status: 2,
      stdout: null,
      stderr: `could not read task plugin response file: ${error}`,
      ...exit,
    });
  });

  it.each([
    'this is not json',
    '',
    '{"status":1e999}',
    '{"status":1,"other":[-1e999]}',
    '[]',
    '1',
    'null',
    '{"status":1}x',
  ])('fails %j, which is no JSON object', (text) => {
    expect(judge({ text }, CLEAN)).toMatchObject({
      status: 2,
      stdout: text,
      stderr: 'plugin saved non-json in response file (see stdout for any content it may have set)',
    });
  });

  it('takes what is nested up to the limit, and nothing deeper', () => {
    const nested = (depth: number) => ({
      text: `{"status":1,"deep":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`,
    });
    expect(judge(nested(RESPONSE_DEPTH), CLEAN).status).toBe(1);
    expect(judge(nested(RESPONSE_DEPTH + 1), CLEAN).stderr).toContain('non-json');
  });

  it('keeps output that is no string as its JSON, and says so', () => {
    expect(answered({ status: 1, stdout: { a: 1 }, stderr: 7 })).toMatchObject({
      status: 1,
      stdout: '{"a":1}',
      stderr: '7',
      reason:
        'plugin returned stdout that is no string; its JSON is kept; plugin returned stderr that is no string; its JSON is kept',
    });
  });

  it('comes to a positive status, whatever the plugin answered', () => {
    const exits = fc.constantFrom(CLEAN, EXIT_3, KILLED);
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), exits, (text, exit) => {
        const { status, stdout } = judge({ text }, exit);
        return Number.isInteger(status) && status > 0 && (stdout === null || typeof stdout === 'string');
      }),
    );
  });
});

describe('a plugin that cannot be started (sheet §3.5, §3.1)', () => {
  it.each<[StartFault, string]>([
    [{ fault: 'no queue', queue: 'Q' }, 'queue ObjectID("Q") not found for task T'],
    [{ fault: 'no plugin', queue: 'Q' }, 'no plugin defined for task T in queue Q'],
    [{ fault: 'not a full path', plugin: 'P' }, "plugin value 'P' for task T must be a full path"],
    [{ fault: 'not executable', program: '/P' }, '/P not found or not executable for task T'],
    [{ fault: 'unknown type', plugin: '/P', type: 'mongo' }, "/P has unknown type 'mongo' for task T"],
    [
      { fault: 'not a class', plugin: 'a-b' },
      "plugin value 'a-b' must be a valid perl package name, matching /^[\\w:]+$/",
    ],
  ])('says of %j: %s', (fault, stderr) => {
    expect(unableToStart(fault, 'T')).toEqual({
      status: 2,
      stdout: 'Unable to start',
      stderr,
      reason: stderr,
      exitCode: null,
      signal: null,
    });
  });

  it('takes names of Perl classes and nothing else', () => {
    expect(classFault('Disbatch::Plugin::Demo')).toBeNull();
    expect(classFault('Demo; system("id")')).toEqual({ fault: 'not a class', plugin: 'Demo; system("id")' });
  });
});
