import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readApp } from '../../src/apps/definition.js';
import { APP_LIMITS } from '../../src/apps/limits.js';
import { MusterError } from '../../src/errors.js';
import { WC } from '../support/apps.js';

const refusal = (change: object): string => {
  try {
    readApp({ ...WC, ...change });
  } catch (error) {
    if (error instanceof MusterError) return `${String(error.details.field)}: ${String(error.details.reason)}`;
    throw error;
  }
  return 'accepted';
};
const input = (value: object, id = 'query1', rest: object = {}) => ({ inputs: [{ id, value, ...rest }] });
const parameter = (value: object, rest: object = {}) => ({ parameters: [{ id: 'p', value, ...rest }] });

describe('an app in Agave’s form', () => {
  test('is read whole', () => {
    expect(readApp(WC)).toMatchObject({
      id: 'wc-1.0',
      program: { kind: 'deployed', templatePath: 'wrapper.sh' },
      deployment: { system: 'store', path: 'apps/wc-1.0' },
      defaults: { queue: 'normal', nodeCount: 1, processorsPerNode: 2, memoryMb: 1536, maxSeconds: 7200 },
      inputs: [
        {
          id: 'query1',
          default: ['in/a.txt'],
          required: true,
          minCardinality: 1,
          maxCardinality: 2,
          argument: '--file ',
        },
      ],
      parameters: [
        { id: 'printLongestLine', type: 'bool', default: [false], maxCardinality: 1 },
        { id: 'evalue', type: 'number', default: [0.5] },
        {
          id: 'mode',
          enumValues: [
            { value: 'fast', label: 'Fast' },
            { value: 'slow', label: 'slow' },
          ],
        },
        { id: 'secret_mode', visible: false, default: ['x'] },
        { id: 'words', minCardinality: 0, maxCardinality: null },
      ],
      isPublic: true,
      enabled: true,
    });
  });

  test('has a command in the place of a deployed wrapper', () => {
    const { deploymentPath, deploymentSystem, templatePath, ...rest } = WC;
    const command = ['wc', '-l', '${query1}'];
    expect(readApp({ ...rest, command }).program).toEqual({ kind: 'command', argv: command });
    expect(readApp({ ...rest, template: 'wc ${query1}\n' }).program).toEqual({
      kind: 'template',
      text: 'wc ${query1}\n',
    });
  });

  test('that was shown can be sent back', () => {
    const shown = { id: 'wc-1.0', uuid: 'x', revision: 3, lastModified: 'now', _links: {}, helpURI: null, icon: null };
    expect(refusal(shown)).toBe('accepted');
  });
});

describe('a definition is refused with the field’s path', () => {
  test.each([
    [{ name: undefined }, 'app.name: it is missing'],
    [{ name: 7 }, 'app.name: must be text'],
    [{ name: '../x' }, 'app.name: must be letters'],
    [{ version: '1-0' }, 'app.version: must be letters'],
    [{ version: 'x'.repeat(17) }, 'app.version: must have 1 to 16 characters'],
    [{ colour: 'red' }, 'app.colour: there is no such field'],
    [{ executionType: 'MAGIC' }, 'app.executionType: must be one of HPC, CONDOR, CLI'],
    [{ parallelism: 'BOTH' }, 'app.parallelism: must be one of'],
    [{ executionSystem: 'a b' }, 'app.executionSystem: must be the name of a system'],
    [{ deploymentPath: null }, 'app.deploymentPath: it is missing'],
    [{ deploymentPath: null, deploymentSystem: null }, 'app.deploymentPath: it is missing: templatePath is below it'],
    [{ deploymentPath: 'a/../../b' }, 'app.deploymentPath: must be a path without ..'],
    [{ templatePath: '../wrapper.sh' }, 'app.templatePath: must be a path without ..'],
    [{ templatePath: null }, 'app.command: it is missing'],
    [{ command: ['wc'] }, 'app.command: only one can be given'],
    [{ templatePath: null, command: 'wc -l' }, 'app.command: must be a list'],
    [{ templatePath: null, command: [] }, 'app.command.0: it is missing'],
    [{ templatePath: null, command: ['${query1}'] }, 'app.command.0: the program must be named here'],
    [{ templatePath: null, command: ['wc', 1] }, 'app.command.1: must be text'],
    [{ templatePath: null, command: ['wc', 'a\0b'] }, 'app.command.1: must be text without control characters'],
    [{ defaultNodeCount: '1' }, 'app.defaultNodeCount: must be a whole number'],
    [{ defaultNodeCount: 0 }, 'app.defaultNodeCount: must be a whole number from 1'],
    [{ defaultMemoryPerNode: 'lots' }, 'app.defaultMemoryPerNode: must be an amount of memory'],
    [{ defaultMaxRunTime: '2h' }, 'app.defaultMaxRunTime: must be a time in the form HH:mm:ss'],
    [{ modules: ['gcc; rm -rf /'] }, 'app.modules.0: must be the name of a module'],
    [{ inputs: {} }, 'app.inputs: must be a list'],
    [{ inputs: [7] }, 'app.inputs.0: must be a JSON object'],
    [{ inputs: [...WC.inputs, ...WC.inputs] }, "app.inputs.1.id: there is another 'query1'"],
    [{ parameters: [{ id: 'QUERY1' }] }, "app.parameters.0.id: there is another 'QUERY1'"],
    [input({ validator: '(' }), 'app.inputs.0.value.validator: must be a regular expression'],
    [input({ validator: '(?=a)b' }), 'app.inputs.0.value.validator: must be a regular expression without look-around'],
    [input({ validator: '(a?){1000}' }), 'app.inputs.0.value.validator: is too large'],
    [input({ validator: 'x', default: 'y' }), 'app.inputs.0.value.default: does not match its own validator'],
    [input({ colour: 1 }), 'app.inputs.0.value.colour: there is no such field'],
    [input({ required: 'yes' }), 'app.inputs.0.value.required: must be true or false'],
    [input({ visible: false, required: true }), 'app.inputs.0.value.default: has too few values'],
    [
      input({}, 'q', { semantics: { minCardinality: 2, maxCardinality: 1 } }),
      'app.inputs.0.semantics.maxCardinality: must be',
    ],
    [input({ default: ['a', 'b'] }), 'app.inputs.0.value.default: has 2 values, and maxCardinality is 1'],
    [parameter({ type: 'date' }), 'app.parameters.0.value.type: must be one of string, number'],
    [parameter({ type: 'number', default: 'many' }), 'app.parameters.0.value.default: must be a number'],
    [parameter({ type: 'bool', default: 'maybe' }), 'app.parameters.0.value.default: must be true or false'],
    [parameter({ type: 'enumeration' }), 'app.parameters.0.value.enum_values: it is missing'],
    [
      parameter({ type: 'enumeration', enum_values: ['a'], default: 'b' }),
      'app.parameters.0.value.default: must be one of',
    ],
    [
      parameter({ type: 'flag' }, { semantics: { maxCardinality: 2 } }),
      'app.parameters.0.semantics.maxCardinality: a flag',
    ],
  ])('%j', (change, expected) => {
    expect(refusal(change)).toContain(expected);
  });

  test.each([
    'PATH',
    'path',
    'BASH_ENV',
    'LD_PRELOAD',
    'IFS',
    'ENV',
    'PYTHONPATH',
    'PERL5OPT',
    'NODE_OPTIONS',
    'SLURM_CONF',
    'GIT_SSH',
  ])('an id %s, which would change how programs run', (id) => {
    expect(refusal(input({}, id))).toContain(`a variable '${id}' would change how programs run`);
  });

  test.each(['a-b', '1a', 'a.b', 'a b', '', 'ä', 'a=b', 'x'.repeat(65)])('an id %j, which is no variable', (id) => {
    expect(refusal(input({}, id))).toContain('app.inputs.0.id: must');
  });

  test('an id that stands for something of the job in templates', () => {
    expect(refusal(input({}, 'JOB_ID'))).toContain("'JOB_ID' stands for something of the job");
  });

  test('more inputs than the limit', () => {
    const inputs = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `q${at}` }));
    expect(refusal({ inputs: inputs(APP_LIMITS.arguments) })).toBe('accepted');
    expect(refusal({ inputs: inputs(APP_LIMITS.arguments + 1) })).toBe('app.inputs: must have at most 200 entries');
  });

  test('whatever else it is, by a declared error', () => {
    const scrambled = fc.dictionary(fc.constantFrom(...Object.keys(WC), 'x'), fc.jsonValue());
    fc.assert(
      fc.property(
        fc.oneof(
          fc.jsonValue(),
          scrambled.map((change) => ({ ...WC, ...change })),
        ),
        (body) => {
          try {
            readApp(body);
          } catch (error) {
            if (!(error instanceof MusterError)) throw error;
            expect(error.status).toBe(400);
          }
        },
      ),
    );
  });
});
