import { execFileSync } from 'node:child_process';
import { MusterError } from '@muster/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAgentConfig } from '../../src/config.js';
import { CHEF_CLIENT_LOCK, commandPolicy } from '../../src/execution/command-policy.js';
import { COMMAND_BYTES, PATTERN_LENGTH } from '../../src/limits.js';

const policy = (commands: Record<string, unknown>, allowAny = false) =>
  commandPolicy(parseAgentConfig({ commands, allow_any: allowAny }));

function planOf(commands: Record<string, unknown>, command: string, allowAny = false) {
  const decision = policy(commands, allowAny).decide(command);
  if ('refused' in decision || decision.allowed.kind !== 'program') throw new Error('not a program');
  return [decision.allowed.file, ...decision.allowed.args];
}

describe('which commands run (N16)', () => {
  it('an exact key runs its command line, split into words, without a shell', () => {
    expect(planOf({ hello: 'echo "hello world"  $HOME \'a b\' c\\ d' }, 'hello')).toEqual([
      'echo',
      'hello world',
      '$HOME',
      'a b',
      'c d',
    ]);
  });
  it('a list is program and arguments as they are', () => {
    expect(planOf({ hello: ['echo', 'a b', '"c"'] }, 'hello')).toEqual(['echo', 'a b', '"c"']);
  });
  it('a shell entry is run by /bin/sh -c', () => {
    expect(planOf({ hello: { shell: 'echo a | wc -l' } }, 'hello')).toEqual([
      '/bin/sh',
      '-c',
      'echo a | wc -l',
      '/bin/sh',
    ]);
  });
  it('what is not listed is refused', () => {
    expect(policy({ hello: 'echo' }).decide('hello world')).toHaveProperty('refused');
  });
  it('allow_any runs what was typed with /bin/sh -c', () => {
    expect(planOf({}, 'echo a; echo b', true)).toEqual(['/bin/sh', '-c', 'echo a; echo b']);
  });
  it('allow_any runs a command that comes in words without a shell', () => {
    const decide = (commands: Record<string, unknown>, words: readonly string[]) =>
      policy(commands, true).decide("echo 'a; reboot'", words);
    const variables = expect.anything();
    const plan = { kind: 'program', file: 'echo', args: ['a; reboot'], lock: null, variables };
    expect(decide({}, ['echo', 'a; reboot'])).toEqual({ allowed: plan });
    expect(decide({}, [])).toHaveProperty('refused');
    // What the owner of the node lists is judged by its text, as ever.
    const listed = { "/echo '([^']*)'/": ['printf', '$1'] };
    expect(decide(listed, ['echo', 'a; reboot'])).toEqual({ allowed: { ...plan, file: 'printf' } });
    expect(policy({}, false).decide('echo a', ['echo', 'a'])).toHaveProperty('refused');
  });
  it('an exact key wins over a pattern, and a pattern over allow_any', () => {
    const commands = { '/run .*/': 'pattern', 'run x': 'exact' };
    expect(planOf(commands, 'run x', true)).toEqual(['exact']);
    expect(planOf(commands, 'run y', true)).toEqual(['pattern']);
  });
  it('patterns are tried in their order', () => {
    expect(planOf({ '/a(.*)/': 'first', '/ab(.*)/': 'second' }, 'abc')).toEqual(['first']);
  });
  it('a pattern must match the whole command', () => {
    const { decide } = policy({ '/restart (\\w+)/': 'systemctl restart $1' });
    expect(decide('restart web; reboot')).toHaveProperty('refused');
    expect(decide('please restart web')).toHaveProperty('refused');
    expect(decide('restart web\nreboot')).toHaveProperty('refused');
  });
  it('an entry may carry its pattern beside a name', () => {
    const commands = { restart: { match: 'restart (\\w+)', command_line: 'systemctl restart $1.service' } };
    expect(planOf(commands, 'restart web')).toEqual(['systemctl', 'restart', 'web.service']);
  });
  it('sleep, dummy_job, facts and ohai are built in and cannot be given out of range', () => {
    const { decide } = policy({});
    expect(decide('sleep 2.5')).toMatchObject({ allowed: { builtin: { name: 'sleep', seconds: 2.5 } } });
    expect(decide('dummy_job 0.5 3')).toHaveProperty('allowed.builtin.failProbability', 0.5);
    expect(decide('ohai')).toEqual(decide('facts'));
    for (const command of ['sleep -1', 'sleep 1e9', 'sleep 99999999', 'dummy_job 2 1', 'sleep 1; reboot', 'sleep']) {
      expect(decide(command), command).toHaveProperty('refused');
    }
  });
  it('a command longer than the limit is refused, even with allow_any', () => {
    const { decide } = policy({}, true);
    expect(decide('x'.repeat(COMMAND_BYTES))).toHaveProperty('allowed');
    expect(decide('x'.repeat(COMMAND_BYTES + 1))).toHaveProperty('refused');
    expect(decide('a\0b')).toHaveProperty('refused');
  });
  it('lock true is the lock of chef-client, a string is a path of its own', () => {
    const lockOf = (lock: unknown) => {
      const decision = policy({ x: { command_line: 'x', lock } }).decide('x');
      return 'allowed' in decision && decision.allowed.kind === 'program' ? decision.allowed.lock : undefined;
    };
    expect([lockOf(true), lockOf('/run/x'), lockOf(false)]).toEqual([CHEF_CLIENT_LOCK, '/run/x', null]);
  });
});

describe('captures never become code', () => {
  const nasty = [
    '; rm -rf /',
    '$(touch /tmp/x)',
    '`id`',
    '" || true "',
    "' ; id '",
    'a\nb',
    '*',
    '$1',
    '-rf',
    'a b  c',
    '\\',
  ];

  it('stand as one argument, whatever they hold', () => {
    for (const capture of nasty) {
      expect(planOf({ '/say ([^]*)/': 'echo $1 "<$1>" x$1' }, `say ${capture}`)).toEqual([
        'echo',
        capture,
        `<${capture}>`,
        `x${capture}`,
      ]);
    }
  });
  it('are positional parameters of a shell entry, printed back unharmed by a real shell', () => {
    for (const capture of nasty) {
      const [file = '', ...args] = planOf({ '/say ([^]*)/': { shell: 'printf %s "$1"' } }, `say ${capture}`);
      expect(execFileSync(file, args, { encoding: 'utf8' })).toBe(capture);
    }
  });
  it('any text comes back from a real shell as it went in', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 }).filter((each) => !each.includes('\0'));
    fc.assert(
      fc.property(text, (capture) => {
        const [file = '', ...args] = planOf({ '/say ([^]*)/': { shell: 'printf %s "$1"' } }, `say ${capture}`);
        expect(execFileSync(file, args, { encoding: 'utf8' })).toBe(Buffer.from(capture).toString());
      }),
      { numRuns: 30 },
    );
  });
  it('an optional group that did not match gives no argument', () => {
    const commands = { '/chef-client(?: (\\w+))?/': 'chef-client $1 end' };
    expect(planOf(commands, 'chef-client')).toEqual(['chef-client', 'end']);
    expect(planOf(commands, 'chef-client now')).toEqual(['chef-client', 'now', 'end']);
  });
  it("$$ and \\$ are a dollar, and '…' is literal", () => {
    expect(planOf({ '/x(.)/': "echo $$1 \\$1 '$1' $0" }, 'xy')).toEqual(['echo', '$1', '$1', '$1', 'xy']);
  });
});

describe('a mistaken allow-list is refused at the door, naming the entry', () => {
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ['a pattern that is none', { '/(/': 'x' }, /commands\.\/\(\/: .*regular expression/i],
    ['a placeholder without capture', { '/a (.)/': 'echo $2' }, /asks for \$2, but there are 1 captures/],
    ['a placeholder in an exact entry', { a: 'echo $1' }, /asks for \$1/],
    ['a program out of a capture', { '/(.*)/': '$1 x' }, /program itself/],
    ['an open quote', { a: 'echo "b' }, /commands\.a: the " is not closed/],
    ['a backslash at the end', { a: 'echo \\' }, /backslash/],
    ['an empty line', { a: '  ' }, /names no program/],
    ['an unknown key in an entry', { a: { shel: 'x' } }, /commands\.a/],
    ['a pattern beyond the limit', { [`/${'x'.repeat(PATTERN_LENGTH + 1)}/`]: 'x' }, /longer than/],
  ];
  for (const [what, commands, message] of cases) {
    it(what, () => {
      expect(() => policy(commands)).toThrow(MusterError);
      expect(() => policy(commands)).toThrow(message);
    });
  }
  it('shell syntax in a line that runs without a shell is remarked on', () => {
    expect(policy({ a: 'echo b | wc' }).notes).toEqual([expect.stringContaining('commands.a')]);
  });
});
