import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { programText, programVariables, words } from '../../src/phases/program.js';
import { filledTemplate } from '../../src/phases/template.js';
import type { ArgumentValue } from '../../src/phases/values.js';
import { environmentText } from '../../src/systems/wrapper.js';
import { newJob } from '../support/jobs.js';
import { newApp } from '../support/worker-fixture.js';

const run = promisify(execFile);
/** As a template has it; not a template string of ours. */
const Q = '$' + '{q}';

const value = (id: string, values: readonly string[], also: Partial<ArgumentValue> = {}): ArgumentValue => ({
  id,
  values,
  argument: '',
  repeat: false,
  enquote: false,
  ...also,
});

describe('a template', () => {
  test.each([
    [`wc ${Q}`, `wc ${Q}`, {}],
    [`wc ${Q}`, `wc "${Q}"`, { enquote: true }],
    [`wc ${Q}`, `wc --file "${Q}"`, { enquote: true, argument: '--file ' }],
    [`wc ${Q}`, `wc --file=${Q}`, { argument: '--file=' }],
    [`wc "${Q}"`, `wc "${Q}"`, { enquote: true }],
    [`awk '/${Q}/'`, `awk '/'"${Q}"'/'`, {}],
    [`echo \\' ${Q}`, `echo \\' ${Q}`, {}],
    [`# don't ${Q}\nwc ${Q}`, `# don't ${Q}\nwc "${Q}"`, { enquote: true }],
    ['wc $' + '{other} $q', 'wc $' + '{other} $q', {}],
  ])('%j becomes %j', (text, expected, also) => {
    expect(filledTemplate(text, [value('q', ['v'], also)])).toBe(expected);
  });

  test('what has no value goes; of several each has its argument when it is repeated', () => {
    expect(filledTemplate(`wc ${Q} x`, [value('q', [], { argument: '-f ' })])).toBe('wc  x');
    const several = value('q', ['a', 'b c'], { argument: '-f ', repeat: true });
    const each = (n: number): string => '-f "$' + `{MUSTER_VALUE_${n}_q}"`;
    expect(filledTemplate(`wc ${Q}`, [several])).toBe(`wc ${each(1)} ${each(2)}`);
  });

  describe('run by a shell', () => {
    let scratch: string;
    beforeAll(() => {
      scratch = mkdtempSync(join(tmpdir(), 'muster-template-'));
    });
    afterAll(() => rmSync(scratch, { recursive: true }));

    test('no value is ever a command, whatever it holds and whatever quotes stand around it', async () => {
      const shapes = [Q, `"${Q}"`, `'${Q}'`, `x${Q}y`, `'a'${Q}"b"`, `"'${Q}'"`, `it\\'s ${Q}`, `x # isn't\n: ${Q}`];
      const pieces = [
        '$(touch owned)',
        '`touch owned`',
        ';touch owned;',
        '&& touch owned',
        '"',
        "'",
        '\\',
        '\n',
        Q,
        '>owned',
      ];
      const evils = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
      const file = join(scratch, 'p.sh');
      let whole = 0;
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...shapes), evils, fc.boolean(), async (shape, evil, enquote) => {
          const values = [value('q', [evil], { enquote })];
          const app = newApp({ program: { kind: 'template', text: '' } });
          const program = programText(app, `printf '%s' ${shape} >/dev/null\n`, newJob('j1'), values);
          writeFileSync(file, `${environmentText(programVariables(newJob('j1'), values))}${program}`);
          await run('/bin/sh', [file], { cwd: scratch });
          whole += 1;
          const { stdout } = await run('ls', [scratch]);
          expect(stdout).toBe('p.sh\n');
        }),
        { numRuns: 80 },
      );
      expect(whole).toBe(80);
    });
  });
});

describe('a command', () => {
  const values = [
    value('q', ['a b', "c'd"], { argument: '--query ', repeat: true }),
    value('n', ['3'], { argument: '-n=' }),
    value('none', []),
    value('flag', ['-v']),
  ];
  const of = (...ids: string[]): string[] => ids.map((id) => '$' + `{${id}}`);

  test('has a word for each value, and none for what was not given', () => {
    const argv = ['wc', ...of('q', 'n', 'none', 'flag'), `out-${of('n')[0]}.txt`, ...of('JOB_ID', 'what')];
    expect(words(argv, newJob('j1'), values)).toEqual([
      ...['wc', '--query', 'a b', '--query', "c'd", '-n=3', '-v', 'out-3.txt', 'j1', ...of('what')],
    ]);
  });

  test('is quoted in one place', () => {
    const app = newApp({ program: { kind: 'command', argv: ['/bin/echo', Q] }, modules: ['load gcc/12', 'python'] });
    expect(programText(app, null, newJob('j1'), values)).toBe(
      `#!/bin/sh\nmodule load gcc/12\nmodule load python\nexec /bin/echo --query 'a b' --query 'c'\\''d'\n`,
    );
  });

  test('values are variables by their ids, macros by their names and by those of Agave', () => {
    const job = newJob('j1', { nodeCount: 2, maxSeconds: 3661 });
    expect(programVariables(job, values)).toMatchObject({
      q: "a b c'd",
      n: '3',
      JOB_ID: 'j1',
      AGAVE_JOB_ID: 'j1',
      AGAVE_JOB_NODE_COUNT: '2',
      AGAVE_JOB_MAX_RUNTIME: '01:01:01',
    });
  });
});
