import { describe, expect, it } from 'vitest';
import { type AppArgument, fieldsOf, type JobForm, runWords, submissionOf } from '../src/jobs/app-fields.js';
import { faultsOf, startValues } from '../src/runbooks/parameters.js';

function argument(id: string, value: Partial<AppArgument['value']> = {}, maxCardinality = 1): AppArgument {
  return {
    id,
    value: { visible: true, required: false, order: 0, default: null, ...value },
    details: { label: id, description: '' },
    semantics: { maxCardinality },
  };
}

const FIELDS = fieldsOf({
  inputs: [argument('extras', { order: 2 }, -1), argument('scene', { required: true, order: 1 })],
  parameters: [
    argument('frames', { type: 'number', required: true, default: 10 }),
    argument('quality', { type: 'enumeration', enum_values: [{ low: 'Low' }, { high: 'High' }] }),
    argument('loud', { type: 'bool', default: false }),
    argument('secret', { visible: false, required: true }),
    argument('tag', { type: 'string' }),
  ],
});
const parameters = FIELDS.map(({ parameter }) => parameter);

function form(values: Readonly<Record<string, string>>, more: Partial<JobForm> = {}): JobForm {
  return {
    app: { id: 'render-2.1', name: 'render' },
    fields: FIELDS,
    values: { ...startValues(parameters), ...values },
    ...{ name: 'render', system: '', maxRunTime: '', archive: true },
    ...more,
  };
}

describe('the form of a job', () => {
  it('has a field for each input and parameter that may be given, inputs first, in the order of the app', () => {
    expect(parameters.map(({ name, type }) => [name, type])).toEqual([
      ['scene', 'string'],
      ['extras', 'file'],
      ['frames', 'number'],
      ['quality', 'choice'],
      ['loud', 'choice'],
      ['tag', 'string'],
    ]);
    expect([...faultsOf(parameters, startValues(parameters)).keys()]).toEqual(['scene']);
  });

  it('submits what is otherwise than the app has it, each by its type', () => {
    const filled = form({ scene: 'a.blend', extras: 'x.png\n\ny.png', frames: '25', loud: 'true', tag: '7' });
    expect(submissionOf(filled)).toEqual({
      ...{ name: 'render', appId: 'render-2.1', archive: true, archivePath: '' },
      inputs: { scene: 'a.blend', extras: ['x.png', 'y.png'] },
      parameters: { frames: 25, loud: true, tag: '7' },
    });
    const short = form({ scene: 'a.blend' }, { name: 'night', system: 'hpc', maxRunTime: '02:00:00', archive: false });
    expect(submissionOf(short)).toEqual({
      ...{ name: 'night', appId: 'render-2.1', archive: false, executionSystem: 'hpc', maxRunTime: '02:00:00' },
      ...{ inputs: { scene: 'a.blend' }, parameters: {} },
    });
  });

  it('says the command that does the same', () => {
    const words = runWords(
      form({ scene: 'a.blend', extras: 'x.png\ny.png', frames: '25', tag: '7' }, { archive: false }),
    );
    expect(words.slice(0, 3)).toEqual(['job', 'run', 'render-2.1']);
    expect(words.slice(3)).toEqual([
      ...['--input', 'scene=a.blend', '--input', 'extras=x.png', '--input', 'extras=y.png'],
      ...['--param', 'frames=25', '--param', 'tag="7"', '--no-archive'],
    ]);
  });
});
