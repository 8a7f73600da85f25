import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MUTATIONS } from '../../../scripts/mutate/mutations.mjs';

const ROOT = new URL('../../../', import.meta.url);

test.each(MUTATIONS.map((mutation) => [mutation.name, mutation] as const))(
  'the fault “%s” has one place in the code (scripts/mutate/mutations.mjs)',
  (_name, { file, from, to }) => {
    expect(readFileSync(new URL(file, ROOT), 'utf8').split(from)).toHaveLength(2);
    expect(to).not.toBe(from);
  },
);
