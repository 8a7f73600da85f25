import { expect, it } from 'vitest';
import { decidersOf } from '../src/runbooks/subject.js';

const need = (...by: readonly string[]) => ({ why: 'policy prod', grants: 1, by });

it.each([
  [[need('group:leads', 'alice')], 'group:leads, alice'],
  [[need('group:leads'), need('group:leads', 'bob')], 'group:leads, bob'],
  [[need('group:leads'), need()], 'group:leads, who has push:write'],
])('of an approval are those whom each who asks for it names, or who has push:write', (needs, text) => {
  expect(decidersOf({ needs })).toBe(text);
});
