import { afterEach, describe, expect, test } from 'vitest';
import { validate } from '../../src/phases/validate.js';
import type { Job } from '../../src/types.js';
import { PlayedContext } from '../support/phase-context.js';

describe('§1.6: the last check before anything is done', () => {
  let played: PlayedContext;
  afterEach(() => played.close());

  const begin = (given: Partial<Job> = {}): void => {
    played = new PlayedContext({ status: 'PENDING', workPath: null, ...given });
  };

  test.each<[field: keyof Job, value: string | number, wrong: string]>([
    ...(['name', 'owner', 'tenant', 'systemId', 'appId', 'queue'] as const).flatMap(
      (field): [keyof Job, string, string][] => [
        [field, '', 'is empty'],
        [field, ' \t', 'is empty'],
      ],
    ),
    ...(['nodeCount', 'processorsPerNode', 'memoryMb', 'maxSeconds'] as const).flatMap(
      (field): [keyof Job, number, string][] => [
        [field, 0, 'is less than 1'],
        [field, -1, 'is less than 1'],
      ],
    ),
  ])('%s %j is a JOBS_INVALID_JOB, and nothing is begun', async (field, value, wrong) => {
    begin({ [field]: value });
    await expect(validate(played.context)).rejects.toMatchObject({
      name: 'Failed',
      condition: 'JOB_INVALID_DEFINITION',
      message: `JOBS_INVALID_JOB ${field} ${wrong}`,
    });
    expect([played.changes, played.systems.opened]).toEqual([[], 0]);
  });

  test('one that is whole goes on', async () => {
    begin();
    await validate(played.context);
    expect(played.job).toMatchObject({ status: 'PROCESSING_INPUTS', workPath: expect.stringMatching(/job-j1-demo$/) });
  });
});
