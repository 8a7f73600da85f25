import { IDENTITY } from './printed-identity.js';
import { JOBS } from './printed-jobs.js';
import { NODES } from './printed-nodes.js';
import { PUSH } from './printed-push.js';
import { TASKS } from './printed-tasks.js';
import { document, either, listOf, object, orNull, other, own, type Printed, text } from './shapes.js';

/**
 * What each command prints with `--json`, by its name without `muster`. Loaded by `muster schema`, by the generator of
 * docs/reference/cli-json.md and by tests only.
 */
export const PRINTED: Readonly<Record<string, Printed>> = {
  ...PUSH,
  ...TASKS,
  ...JOBS,
  ...NODES,
  ...IDENTITY,
  schema: document(
    either(
      listOf(object({ command: text(), as: own({ enum: ['document', 'lines', 'other'] }), note: orNull(text()) })),
      own({ type: 'object' }),
    ),
    'Without a command the list of them; with one its schema, also without --json.',
  ),
  completion: other('The script, with --json or without.'),
};
