import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { manPages } from '../src/index.js';

const pages = await manPages('1.2.3');

it('has a page of each command, with all that can be run below it', () => {
  const start = pages.get('muster-push.1') ?? '';
  expect(start).toContain('.TH MUSTER\\-PUSH 1 "" "muster 1.2.3" "Muster"');
  expect(start).toContain('.SS muster push start\n');
  expect(start).toContain('.B \\-\\-quorum');
  expect(pages.get('muster.1')).toContain('.BR muster\\-push (1)\n');
  expect(pages.get('muster-agent.1')).toContain('\\-\\-enroll\\-file');
});

it.skipIf(!existsSync('/usr/bin/groff'))('is what groff reads without a warning', () => {
  const input = [...pages.values()].join('\n');
  const { stderr } = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-z'], { input, encoding: 'utf8' });
  expect(stderr).toBe('');
});
