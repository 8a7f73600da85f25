import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ownProgram, withoutName } from '../src/own-parts.js';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-parts-'));
});
afterEach(() => vi.unstubAllEnvs());
afterAll(() => rmSync(dir, { recursive: true }));

describe('a program that is no JavaScript', () => {
  it('has a path', () => {
    expect(ownProgram(pathToFileURL('/bin/true'))).toBe('/bin/true');
  });
  it('has none when it was not built', () => {
    const file = join(dir, 'empty');
    writeFileSync(file, '');
    expect(ownProgram(pathToFileURL(file))).toBeNull();
  });
});

describe('a file without a name', () => {
  it('can be read and run by its path, and is in no directory', () => {
    vi.stubEnv('TMPDIR', dir);
    const before = readdirSync(dir);
    const content = readFileSync('/bin/echo');
    const path = withoutName(content, (found) => {
      expect(readFileSync(found)).toEqual(content);
      return found;
    });
    expect(execFileSync(path, ['said'], { encoding: 'utf8' })).toBe('said\n');
    expect(readdirSync(dir)).toEqual(before);
  });
  it('is tried in other directories when it cannot be used in one, and what was wrong with each is told', () => {
    let tried = 0;
    const path = withoutName(Buffer.from('x'), (found) => {
      tried += 1;
      if (tried === 1) throw new Error('not here');
      return found;
    });
    expect(readFileSync(path, 'utf8')).toBe('x');
    const refuse = () => {
      throw new Error('nowhere');
    };
    expect(() => withoutName(Buffer.from('x'), refuse)).toThrow(
      /^TMPDIR must be writable and not mounted noexec \(.+: nowhere; .+: nowhere/,
    );
  });
});
