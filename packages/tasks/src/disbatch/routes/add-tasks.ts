import { setImmediate } from 'node:timers/promises';
import type { Json } from '@muster/wire';
import { TASK_LIMITS } from '../../limits.js';
import type { NewTask, QueueView } from '../../ports.js';
import type { Params } from '../../types.js';
import { documentsOf } from '../collections.js';
import { insertManyResult } from '../envelopes.js';
import { readFilter } from '../filter/read.js';
import { answer, byWhom, type DisbatchAnswer, type DisbatchCall, type DisbatchDeps } from '../interface.js';
import { DISBATCH_LIMITS } from '../limits.js';
import { Refusal } from '../refusal.js';
import { substituted } from '../substitution.js';
import { isObject } from '../values.js';

/** Parameters of tasks, each an object with something in it. @throws Refusal; `what` is how the texts call the list. */
export function readTaskParams(list: Json, what: string): readonly Params[] {
  const text = `${what} must be a JSON array of task params objects`;
  if (!Array.isArray(list) || list.length === 0) throw new Refusal(text);
  if (list.length > DISBATCH_LIMITS.created) throw new Refusal(`at most ${DISBATCH_LIMITS.created} tasks at once`);
  return list.map((one: Json) => {
    if (!isObject(one)) throw new Refusal(text);
    if (Object.keys(one).length === 0) throw new Refusal(`${text} with key/value pairs`);
    return one;
  });
}

/** Adds them in portions; ids in the order given. */
export async function addTasks(
  deps: DisbatchDeps,
  call: DisbatchCall,
  queue: QueueView,
  params: AsyncIterable<Params> | Iterable<Params>,
): Promise<readonly string[]> {
  const ids: string[] = [];
  let portion: NewTask[] = [];
  const add = async (): Promise<void> => {
    const by = byWhom(deps, call, null);
    const added = await deps.controller.add(call.organization, queue.id, portion, by);
    ids.push(...added.map(({ id }) => id));
    portion = [];
    await setImmediate();
  };
  for await (const one of params) {
    portion.push({ params: one });
    if (portion.length === TASK_LIMITS.addedAtOnce) await add();
    if (ids.length > DISBATCH_LIMITS.created) throw new Refusal(`at most ${DISBATCH_LIMITS.created} tasks at once`);
  }
  if (portion.length > 0) await add();
  return ids;
}

/** One task for each document of a collection that a filter finds. @throws Refusal */
export function addFromCollection(
  deps: DisbatchDeps,
  call: DisbatchCall,
  queue: QueueView,
  from: { readonly collection: string; readonly filter: Json; readonly params: Params },
): Promise<readonly string[]> {
  const condition = readFilter(from.filter, new Map());
  const documents = documentsOf(deps.store.read, call.organization.id, from.collection, condition);
  return addTasks(deps, call, queue, made(documents, from.params));
}

async function* made(documents: AsyncIterable<Parameters<typeof substituted>[1]>, params: Params) {
  for await (const document of documents) yield substituted(params, document);
}

/** Nothing matched is an error to clients. */
export function insertedAnswer({ settings }: DisbatchDeps, ids: readonly string[]): DisbatchAnswer {
  const envelope = insertManyResult(settings.dialect, ids);
  if (ids.length === 0) throw new Refusal({ ...envelope, error: 'Unknown error' });
  return answer(envelope);
}
