import type { ApprovalView } from '@muster/push';
import { expect, test } from 'vitest';
import { decided } from '../src/decided.js';
import type { RuleRun } from '../src/types.js';

/** What is shown of a run that had to be asked for. */

const RUN: RuleRun = {
  ...{ position: 1, at: 0, event: 'x', outcome: 'asked', kind: 'runbook', run: 'a1' },
  ...{ reason: 'it waits', held_until: null },
};
const approval = (about: Partial<ApprovalView>) =>
  ({ id: 'a1', status: 'pending', decided_by: null, reason: null, job: null, ...about }) as ApprovalView;

test.each<[string, ApprovalView | undefined, Partial<RuleRun>]>([
  ['that nobody has decided waits', approval({}), { outcome: 'asked', run: 'a1', reason: 'it waits' }],
  [
    'that was granted is its job',
    approval({ status: 'started', decided_by: 'bob', job: 'j1' }),
    { outcome: 'started', run: 'j1', reason: 'granted by bob (approval a1)' },
  ],
  [
    'that was denied says by whom',
    approval({ status: 'denied', decided_by: 'bob' }),
    { outcome: 'denied', run: 'a1', reason: 'denied by bob' },
  ],
  ['of which nobody decided in time', approval({ status: 'expired' }), { outcome: 'expired' }],
  [
    'whose approval is kept no longer does not wait',
    undefined,
    { reason: 'it was decided; the approval is kept no longer' },
  ],
])('one %s', (_what, given, shown) => {
  expect(decided(RUN, given)).toMatchObject(shown);
});
