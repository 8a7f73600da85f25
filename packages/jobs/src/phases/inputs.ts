import type { App } from '../apps/types.js';
import type { Job } from '../types.js';
import { distinct, segment } from './paths.js';
import { type Source, sourceOf } from './sources.js';

/** One value of an input, and what it is called in the work directory. */
export interface StagedInput {
  readonly id: string;
  readonly value: string;
  readonly source: Source;
  readonly name: string;
}

/** The same for the same job, whenever it is asked for. @throws Failed for a value that is no place */
export function stagedInputs({ inputs }: Pick<Job, 'inputs'>, app: Pick<App, 'inputs'>): readonly StagedInput[] {
  const order = new Map(app.inputs.map(({ id }, index) => [id, index]));
  const place = (id: string): number => order.get(id) ?? order.size;
  const ids = Object.keys(inputs).sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
  const found = ids.flatMap((id) =>
    [inputs[id] ?? []]
      .flat()
      .filter((value) => value !== '')
      .map((value) => ({ id, value, source: sourceOf(value) })),
  );
  const names = distinct(found.map(({ source }) => segment(source.name)));
  return found.map((input, index) => ({ ...input, name: names[index] ?? input.id }));
}
