import { expect, it } from 'vitest';
import { factText } from '../src/nodes/fact-text.js';

it.each([
  ['memory', 8_589_934_592, '8.0 GiB'],
  ['memory_free', 1024, '1.0 KiB when it was told'],
  ['uptime', 558, '9 min 18 s when it was told'],
  ['uptime', 'long', 'long when it was told'],
  ['cpus', 8, '8'],
  ['os', 'linux', 'linux'],
])('the fact %s with %j is said as %s', (name, value, said) => {
  expect(factText(name, value)).toBe(said);
});
