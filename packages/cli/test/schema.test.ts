import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { commandsOf } from '../src/json/commands.js';
import { answersOfRoutes, jsonSchema, operations, PRINTED } from '../src/json/schema.js';
import { createProgram } from '../src/program.js';
import { run } from '../src/run.js';
import { pathOfCommand } from '../src/shell.js';
import { testWorld } from './support/world.js';

const program = await createProgram(
  { world: testWorld(), typed: [], words: undefined, exitCode: 0 },
  { serverFlags: true },
);
const names = commandsOf(program).map((command) => pathOfCommand(command).replace(/^muster /, ''));
const answers = answersOfRoutes();
const ajv = new Ajv2020({ strict: false, validateFormats: false });

async function muster(...args: string[]) {
  const world = testWorld();
  const code = await run(args, world);
  return { code, out: world.out(), err: world.err() };
}

test('every command that takes --json declares what it prints, and nothing else does', () => {
  expect(Object.keys(PRINTED).sort()).toEqual([...names].sort());
});

test('the schemas of routes that are kept are those that commands print', () => {
  expect(Object.keys(answers)).toEqual(operations());
});

test.each(Object.entries(PRINTED))('`muster schema %s` is a JSON Schema', (name, printed) => {
  const schema = jsonSchema(name, printed, answers);
  expect(ajv.validateSchema(schema), JSON.stringify(ajv.errors)).toBe(true);
  expect(() => ajv.compile(schema)).not.toThrow();
});

test('`muster schema` lists the commands', async () => {
  const { code, out } = await muster('schema');
  expect(code).toBe(0);
  for (const name of ['push list', 'task wait', 'event durable rm', 'whoami']) expect(out).toContain(name);
});

test('of a group the commands below it are named', async () => {
  const { code, err } = await muster('schema', 'secret');
  expect(code).not.toBe(0);
  expect(err).toMatch(/of those below it do .*secret list, .*secret show/);
  expect((await muster('schema', 'doctors')).err).toContain('prints JSON: muster schema lists those');
});

test('`muster schema --json` is as its own schema says', async () => {
  const schema = JSON.parse((await muster('schema', 'schema')).out) as object;
  const { code, out } = await muster('schema', '--json');
  expect(code).toBe(0);
  const listed = JSON.parse(out) as { command: string }[];
  expect(ajv.validate(schema, listed), JSON.stringify(ajv.errors)).toBe(true);
  expect(listed.map(({ command }) => command)).toContain('push start');
});

test('`muster schema push list` has the fields of a job, as the route describes them', async () => {
  const { code, out } = await muster('schema', 'push', 'list');
  expect(code).toBe(0);
  const schema = JSON.parse(out) as { title: string; items: { properties: object; required: string[] } };
  expect(schema.title).toBe('muster push list --json');
  expect(Object.keys(schema.items.properties)).toEqual(
    expect.arrayContaining(['id', 'status', 'created_by', 'counts']),
  );
  expect(schema.items.required).toEqual(expect.arrayContaining(['id', 'status']));
});

test('`muster` before the command is understood, too', async () => {
  expect((await muster('schema', 'muster', 'whoami')).out).toBe((await muster('schema', 'whoami')).out);
});

test('what a login keeps for itself is in no schema', async () => {
  const { out } = await muster('schema', 'login');
  const { properties } = JSON.parse(out) as { properties: object };
  expect(properties).not.toHaveProperty('token');
});

test('a command that there is not: usage, and where the names are', async () => {
  const { code, out, err } = await muster('schema', 'push', 'lits');
  expect(code).toBe(2);
  expect(out).toBe('');
  expect(err).toContain('muster schema lists those');
});
