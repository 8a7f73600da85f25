import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Fleet } from './support/fleet.js';

/** Acceptance list, reference sheet §9.8: captured output, with Push Jobs 2.0 nodes. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start();
});
afterEach(() => fleet.stopNodes());
afterAll(() => fleet.stop());

const NAMES = ['DONKEY', 'FARQUAD', 'FIONA'] as const;

describe('captured output', () => {
  const output = async (id: string, node: string) => {
    const accept = { accept: 'application/octet-stream' };
    const [stdout, stderr] = [
      await fleet.api.get(`pushy/jobs/${id}/output/${node}/stdout`, accept),
      await fleet.api.get(`pushy/jobs/${id}/output/${node}/stderr`, accept),
    ];
    return { statuses: [stdout.status, stderr.status], texts: [stdout.text, stderr.text] };
  };

  async function captured(command: string, capture: boolean) {
    const donkey = await fleet.node('DONKEY');
    const id = await fleet.startJob({ command, nodes: ['DONKEY'], capture_output: capture });
    await fleet.jobIs(id, 'complete');
    return { id, result: donkey.sent.filter(({ type }) => type === 'succeeded' || type === 'failed').at(-1) };
  }

  test('E2E-36 capture off: the result has no extra fields', async () => {
    const { result } = await captured('capture_test', false);
    expect(result).not.toHaveProperty('stdout');
    expect(result).not.toHaveProperty('stderr');
  });

  test('E2E-37 capture on, no output: the result has both, empty', async () => {
    const { result } = await captured('capture_test_empty', true);
    expect(result).toMatchObject({ stdout: '', stderr: '' });
  });

  test.each([
    ['E2E-38', 'capture_test', 'testout\n', 'testerr\n'],
    ['E2E-39', 'capture_test_fail', 'testout\n', 'testerr\n'],
    ['E2E-41', 'capture_test_empty', '', ''],
    ['E2E-42', 'capture_test_no_err', 'testout\n', ''],
    ['E2E-43', 'capture_test_no_out', '', 'testerr\n'],
  ])('%s capture on, %s', async (_, command, stdout, stderr) => {
    const { id } = await captured(command, true);
    expect(await output(id, 'DONKEY')).toEqual({ statuses: [200, 200], texts: [stdout, stderr] });
  });

  test('E2E-40 capture off: both are not found', async () => {
    const { id } = await captured('capture_test', false);
    expect((await output(id, 'DONKEY')).statuses).toEqual([404, 404]);
  });

  test('E2E-60 capture on three nodes', async () => {
    await Promise.all(NAMES.map((name) => fleet.node(name)));
    const id = await fleet.startJob({ command: 'capture_test', nodes: NAMES, capture_output: true });
    await fleet.jobIs(id, 'complete');
    for (const name of NAMES) {
      expect(await output(id, name)).toEqual({ statuses: [200, 200], texts: ['testout\n', 'testerr\n'] });
    }
  });
});
