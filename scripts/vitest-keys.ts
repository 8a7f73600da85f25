import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory for the keys that tests of one run share (`packages/signing/test/support/made-keys.ts`). */
export function setup(): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'muster-test-keys-'));
  process.env.MUSTER_TEST_KEYS = directory;
  return () => rmSync(directory, { recursive: true });
}
