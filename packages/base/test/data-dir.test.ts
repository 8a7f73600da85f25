import { mkdtempSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dataDirError, makeDataDir } from '../src/data-dir.js';
import { MusterError } from '../src/errors.js';
import { processUser } from '../src/process-user.js';

let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'muster-data-dir-'));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

const failure = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe('a data directory', () => {
  it('is made with those above it', () => {
    const path = join(place, 'a', 'b');
    makeDataDir(path, 0o700);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    makeDataDir(path, 0o700);
  });

  it('that is a file is refused', () => {
    const path = join(place, 'file');
    writeFileSync(path, '');
    const user = processUser();
    expect(() => makeDataDir(path, 0o700)).toThrow(
      `configuration: data_dir (--data-dir): the user ${user} cannot use ${path}: it is not a directory`,
    );
    expect(() => makeDataDir(join(path, 'below'), 0o700)).toThrow(/ENOTDIR/);
  });

  it.runIf(process.platform === 'linux')('where the system makes none is refused at once', () => {
    expect(failure(() => makeDataDir('/proc/x', 0o700))).toMatchObject({ code: 'data_dir_unusable', exit: 2 });
  });
});

describe('what the system says about a file', () => {
  it('in the data directory is told of the setting, also when the database says it', () => {
    const error = failure(() => openSync(join(place, 'none', 'key.pem'), 'r'));
    expect(dataDirError(place, error)).toMatchObject({ code: 'data_dir_unusable', details: { path: place } });
    const stored = new MusterError('database_unusable', { database: 'd', reason: 'x', hint: 'h' }, { cause: error });
    expect(dataDirError(place, stored)).toMatchObject({ code: 'data_dir_unusable', cause: error });
  });

  it('that another user made is told with the user of this process', () => {
    const path = join(place, 'client.pem');
    const error = Object.assign(new Error(`EACCES: permission denied, open '${path}'`), { code: 'EACCES', path });
    const user = processUser();
    expect(dataDirError(place, error)).toMatchObject({
      message: `configuration: data_dir (--data-dir): the user ${user} cannot use ${place}: EACCES: permission denied, open '${path}'`,
      fix: `Make it a directory that the user ${user} may write to, on a disk with space, or choose another --data-dir.`,
    });
  });

  it('elsewhere stays as it is, and so does every other error', () => {
    const error = failure(() => openSync(join(place, 'none'), 'r'));
    expect(dataDirError(join(place, 'other'), error)).toBe(error);
    const refused = new MusterError('invalid_configuration', { reason: 'x' }, { cause: error });
    expect(dataDirError(place, refused)).toBe(refused);
  });
});
