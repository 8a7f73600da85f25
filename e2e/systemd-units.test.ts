import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** Of `systemd-analyze security`, from 0 (nothing is exposed) to 10. */
const MOST_EXPOSED = 4;

const unit = (name: string) => fileURLToPath(new URL(`../deploy/systemd/${name}.service`, import.meta.url));

test.each(['muster-server', 'muster-worker@', 'muster-agent', 'muster-relay'])(
  `the unit %s exposes at most ${MOST_EXPOSED.toFixed(1)}`,
  (name) => {
    const report = execFileSync('systemd-analyze', ['security', '--offline=true', '--no-pager', unit(name)], {
      encoding: 'utf8',
    });
    const exposure = /Overall exposure level for \S+: ([\d.]+)/.exec(report)?.[1];
    console.log(`${name}: ${exposure}`);
    expect(Number(exposure)).toBeLessThanOrEqual(MOST_EXPOSED);
  },
);

test('the agent may divide its own control group, and its token is no argument', () => {
  const text = readFileSync(unit('muster-agent'), 'utf8');
  expect(text).toMatch(/^Delegate=yes$/m);
  expect(text).toMatch(/^ExecStart=.+ --enroll-file \S+$/m);
});

test.each(['muster-server', 'muster-worker@', 'muster-agent'])(
  '%s leaves what runs of jobs and tasks alone when it stops',
  (name) => {
    expect(readFileSync(unit(name), 'utf8')).toMatch(/^KillMode=process$/m);
  },
);
