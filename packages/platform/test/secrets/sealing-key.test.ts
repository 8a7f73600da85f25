import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkKeyFiles, openFormerKey, openSealingKey, SealingKey } from '../../src/secrets/sealing-key.js';

const SECRET = { privateKey: '-----BEGIN KEY-----\nvery secret\n', password: 'ünsafe' };

describe('what a key seals', () => {
  let directory: string;
  let made = 0;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'muster-secrets-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));
  const keyFile = (): string => join(directory, `key-${made++}`);

  it('comes back for what it was sealed for, and hides what it holds', () => {
    const secrets = SealingKey.open(keyFile(), { make: true });
    const sealed = secrets.seal('system-1', SECRET);
    expect(secrets.unseal('system-1', sealed)).toEqual(SECRET);
    expect(sealed.toString('latin1')).not.toMatch(/secret|KEY|nsafe/);
    expect(secrets.seal('system-1', SECRET).equals(sealed)).toBe(false);
  });

  it('a key file is made once, for its owner alone', () => {
    const path = keyFile();
    const sealed = SealingKey.open(path, { make: true }).seal('s', SECRET);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(SealingKey.open(path, { make: true }).unseal('s', sealed)).toEqual(SECRET);
    expect(SealingKey.open(path, { make: false }).unseal('s', sealed)).toEqual(SECRET);
  });

  it('of something else, of another key, changed or cut, it is refused without a word of it', () => {
    const secrets = SealingKey.open(keyFile(), { make: true });
    const sealed = secrets.seal('system-1', SECRET);
    const refusals: [string, () => unknown][] = [
      ['something else', () => secrets.unseal('system-2', sealed)],
      ['another key', () => SealingKey.open(keyFile(), { make: true }).unseal('system-1', sealed)],
      ['no sealed secret', () => secrets.unseal('system-1', sealed.subarray(0, 20))],
      ['no sealed secret', () => secrets.unseal('system-1', Buffer.from('text'))],
    ];
    for (let at = 5; at < sealed.length; at += 7) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      refusals.push(['it was changed', () => secrets.unseal('system-1', changed)]);
    }
    for (const [reason, refused] of refusals) {
      expect(refused).toThrow(
        expect.objectContaining({ code: 'secret_unreadable', message: expect.stringContaining(reason) }),
      );
    }
  });

  it('a key file that others may read, that is none, or that is not there is refused', () => {
    const open = keyFile();
    SealingKey.open(open, { make: true });
    chmodSync(open, 0o640);
    const wrong = keyFile();
    writeFileSync(wrong, 'c2hvcnQ=\n', { mode: 0o600 });
    for (const path of [open, wrong, keyFile()]) {
      expect(() => SealingKey.open(path, { make: false })).toThrow(
        expect.objectContaining({ code: 'secret_key_unusable' }),
      );
    }
    expect(() => SealingKey.open(open, { make: true })).toThrow('run chmod 600 on it');
    expect(readFileSync(wrong, 'utf8')).toBe('c2hvcnQ=\n');
  });

  it('a key file that cannot be used is told with where it was looked for, and which setting names it', () => {
    const data_dir = directory;
    const here = process.cwd();
    const both = { data_dir, jobs: { secret_key_file: keyFile() }, secrets: { old_key_file: 'no-such.key' } };
    const former = `${here}/no-such.key (secrets.old_key_file): ENOENT`;
    expect(() => openFormerKey(both as never)).toThrow(former);
    expect(() => checkKeyFiles(both as never)).toThrow(former);
    const named = { data_dir, jobs: { secret_key_file: 'no-such.key' }, secrets: {} };
    expect(() => openSealingKey(named as never, { make: false })).toThrow(
      `${here}/no-such.key (jobs.secret_key_file): ENOENT`,
    );
    // The server makes it.
    expect(checkKeyFiles(named as never)).toBeUndefined();
    const wrong = keyFile();
    writeFileSync(wrong, 'short', { mode: 0o600 });
    const unusable = { ...named, jobs: { secret_key_file: wrong } };
    expect(() => checkKeyFiles(unusable as never)).toThrow(`${wrong} (jobs.secret_key_file): it holds no key`);
  });

  it('a program may print the key; what it prints instead is told nobody', () => {
    const key = Buffer.alloc(32, 7).toString('base64');
    const sealed = SealingKey.printedBy(['echo', key]).seal('s', SECRET);
    expect(SealingKey.of(Buffer.alloc(32, 7)).unseal('s', sealed)).toEqual(SECRET);
    for (const command of [['echo', 'hunter2'], ['false'], ['/nowhere/at-all']]) {
      expect(() => SealingKey.printedBy(command)).toThrow(
        expect.objectContaining({ code: 'secret_key_unusable', message: expect.not.stringContaining('hunter2') }),
      );
    }
  });
});
