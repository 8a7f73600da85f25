import { LIMITS } from '@muster/wire';
import { expect, test } from 'vitest';
import { parseAgentConfig } from '../../src/config.js';
import { toldCommands } from '../../src/execution/told-commands.js';

/** What an agent tells of what its owner allows. */

const told = (config: object) => toldCommands(parseAgentConfig(config));

test('names as they are typed, and patterns with what they must match', () => {
  const commands = {
    'chef-client': 'chef-client --once',
    '/deploy (\\w+)/': 'deploy $1',
    'restart a service': { match: 'restart (nginx|redis)', shell: 'systemctl restart "$1"' },
  };
  expect(told({ commands })).toEqual({
    list: [
      { name: 'chef-client', pattern: null },
      { name: '/deploy (\\w+)/', pattern: 'deploy (\\w+)' },
      { name: 'restart a service', pattern: 'restart (nginx|redis)' },
    ],
    omitted: 0,
    any: false,
    scripts: 'none',
    uploads: false,
    fetches: false,
  });
});

test('also that it runs anything, scripts, and whether files may come and go', () => {
  const config = { allow_any: true, allow_scripts: true, allow_upload: ['/srv/*'], allow_fetch: ['/var/log/*'] };
  expect(told(config)).toMatchObject({ list: [], any: true, scripts: 'any', uploads: true, fetches: true });
  expect(told({ allow_scripts: [{ name: 'ann', key: 'PEM' }] })).toMatchObject({ scripts: 'signed' });
});

test('that its agent may be upgraded', () => {
  const upgrade = { key: `RW${'A'.repeat(54)}` };
  const list = [{ name: 'muster-agent-upgrade VERSION', pattern: 'muster-agent-upgrade \\S+' }];
  expect(told({ upgrade })).toMatchObject({ list, omitted: 0, uploads: false });
});

test('nothing when the owner does not want it', () => {
  expect(told({ tell_commands: false, commands: { a: 'true' } })).toBeNull();
});

test('no more than one message takes; how much was left out is told', () => {
  const many = Object.fromEntries(Array.from({ length: LIMITS.commands + 3 }, (_, i) => [`c${i}`, 'true']));
  expect(told({ commands: many })).toMatchObject({ omitted: 3 });
  const long = told({ commands: { ['x'.repeat(LIMITS.commandNameBytes + 1)]: 'true', y: 'true' } });
  expect(long).toMatchObject({ list: [{ name: 'y' }], omitted: 1 });
  const large = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`${i}${'x'.repeat(1000)}`, 'true']));
  const { list = [], omitted } = told({ commands: large }) ?? {};
  expect(list.length + (omitted ?? 0)).toBe(60);
  expect(Buffer.byteLength(JSON.stringify(list))).toBeLessThan(LIMITS.commandsBytes + 100);
});
