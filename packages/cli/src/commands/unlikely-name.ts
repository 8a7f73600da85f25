import { RefusedError } from '../client.js';
import { MusterError } from '../errors.js';
import { confirm, isInteractive } from '../prompt.js';
import type { Call } from '../shell.js';

const UNLIKELY = 'group_name_unlikely';
const FIX = 'Use the name of the role. If a group is really to be called so, make it: muster group create NAME --force';

/**
 * Creates a group, whose name may be nearly that of a role and then is hardly meant: the server refuses it unless it is told
 * so. At a terminal that is asked; elsewhere it needs `--force`.
 * @throws MusterError `not_agreed`, and the refusal
 */
export async function asMeant<T>(
  call: Call<{ readonly force?: boolean }>,
  name: string,
  create: (force: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await create(call.options.force === true);
  } catch (error) {
    if (!isUnlikely(error)) throw error;
    if (!isInteractive(call.world)) throw forPeople(error);
    if (await confirm(call.world, `${error.message} Create '${name}' all the same?`)) return create(true);
    throw new MusterError('not_agreed');
  }
}

/** The refusal of such a name with what to type, instead of what to send. */
export function forPeople(error: unknown): unknown {
  if (!isUnlikely(error)) return error;
  return new RefusedError(error.code, { told: UNLIKELY, text: error.message, fix: FIX });
}

function isUnlikely(error: unknown): error is RefusedError {
  return error instanceof RefusedError && error.told === UNLIKELY;
}
