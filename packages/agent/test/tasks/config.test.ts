import { describe, expect, it } from 'vitest';
import { parseAgentConfig } from '../../src/config.js';
import { offeredPlugins, offerOf } from '../../src/tasks/plugins.js';

const parse = (plugin: Record<string, unknown>) => parseAgentConfig({ tasks: { plugins: { p: plugin } } }).tasks;

describe('plugins in the configuration of an agent', () => {
  it('have times and sizes with units', () => {
    expect(parse({ program: '/p', timeout: '10m', limits: { memory: '1GiB' } })?.plugins.p).toMatchObject({
      timeout: 600,
      limits: { memory: 2 ** 30 },
    });
  });
  it.each([
    [{}, 'give one of program, module, perl'],
    [{ program: '/p', module: '/m' }, 'give one of program, module, perl'],
    [{ program: 'p' }, "'program' must be a full path, not 'p'"],
    [{ module: './m.mjs' }, "'module' must be a full path, not './m.mjs'"],
    [{ perl: 'A::B', lib: ['lib'] }, "'lib' must be full paths, not 'lib'"],
    [{ perl: 'A-B' }, "'A-B' is no name of a Perl class"],
    [{ program: '/p', type: 'mongo' }, "type 'mongo' needs MongoDB, which Muster does not have"],
    [{ program: '/p', type: 'handoff' }, "type 'handoff' needs MongoDB"],
    [{ program: '/p', type: 'other' }, "type 'other' is not default or nomongo"],
    [{ program: '/p', type: 'nomongo', config: '/c' }, "'config' is for type default"],
    [{ program: '/p', args: [], type: 'default' }, "'type' is for a program without 'args'"],
    [{ program: '/p', stdin: true }, "'stdin' is for a program with 'args'"],
    [{ program: '/p', args: ['{a b}'] }, "'args': '{a b}': '{a b}' names no parameter"],
    [{ program: '/p', processes: 2 }, "'processes' is for a plugin with module"],
    [{ module: '/m', limits: {} }, "'limits' is for a plugin with program or perl"],
  ])('%j is refused with what is wrong', (plugin, reason) => {
    expect(() => parse(plugin)).toThrow(`tasks.plugins.p: ${reason}`);
  });
  it('a time that cannot be is told with its key, whatever the name of the plugin', () => {
    const config = { tasks: { plugins: { '/a.b/c': { program: '/p', timeout: 'soon' } } } };
    expect(() => parseAgentConfig(config)).toThrow('tasks.plugins./a.b/c.timeout: expected a duration from');
  });
  it('are offered with their contracts; a node runs as many tasks as it has processors', () => {
    const config = parseAgentConfig({
      environment: { A: '1', B: '1' },
      tasks: {
        plugins: {
          a: { program: '/p', environment: { B: '2' } },
          b: { program: '/p', type: 'nomongo' },
          c: { program: '/p', args: [], concurrency: 3 },
          d: { module: '/m' },
          e: { perl: 'E' },
        },
      },
    });
    const offer = offerOf(config, 7);
    expect(offer.max).toBe(7);
    expect(offer.plugins.get('a')?.plugin.environment).toEqual({ A: '1', B: '2' });
    expect(offeredPlugins(offer).map(({ name, contract, concurrency }) => [name, contract, concurrency])).toEqual([
      ['a', 'default', null],
      ['b', 'nomongo', null],
      ['c', 'simple', 3],
      ['d', 'module', null],
      ['e', 'perl', null],
    ]);
    expect(offerOf(parseAgentConfig({}), 7)).toMatchObject({ max: 0 });
  });
});
