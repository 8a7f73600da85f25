import { expect, it } from 'vitest';
import { MOST_SELECTED, selectionOf, toggled } from '../src/nodes/selection.js';

it('a node is selected, and is not any more', () => {
  const one = toggled(selectionOf('web1'), 'web2');
  expect([...one]).toEqual(['web1', 'web2']);
  expect([...toggled(one, 'web1')]).toEqual(['web2']);
  expect(selectionOf('').size).toBe(0);
});

it('no more are selected than fit into an address', () => {
  const names = Array.from({ length: MOST_SELECTED + 1 }, (_, n) => `n${n}`);
  const full = selectionOf(names.join(','));
  expect(full.size).toBe(MOST_SELECTED);
  expect(toggled(full, 'more').size).toBe(MOST_SELECTED);
  expect(toggled(full, 'n0').size).toBe(MOST_SELECTED - 1);
});
