import { declaredErrors, errorRow } from '@muster/base';
import { expect, test } from 'vitest';
import '../src/index.js';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

/** What an error says to do is told in a header, which holds ASCII only: anything else would be a question mark there. */

test('every error, and what it says to do, is ASCII', () => {
  const texts = [...declaredErrors()].flatMap(([code, { message, fix }]) => [`${code}: ${message}`, `${code}: ${fix}`]);
  for (const code of ['rate_limited', 'push_jobs_running', 'job_permission_not_found', 'node_name_mismatch']) {
    expect(declaredErrors().has(code)).toBe(true);
  }
  expect(texts.filter((text) => /[^\x20-\x7e]/.test(text))).toEqual([]);
});

test('flags by which a key for secrets is given are those of the commands that are named', async () => {
  const named = [...errorRow('secret_key_unusable').fix.matchAll(/`muster ([a-z ]+) (--[a-z-]+) FILE`/g)];
  expect(named.map(([, command]) => command)).toEqual(['server', 'worker run']);
  for (const [, command = '', flag] of named) {
    const here = testWorld();
    await run([...command.split(' '), '--help'], here);
    expect(here.out()).toMatch(new RegExp(`^ +${flag} <`, 'm'));
  }
});
