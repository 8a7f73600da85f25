import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { App } from '../../src/apps/types.js';
import { stageApp } from '../../src/phases/staging-app.js';
import type { Job } from '../../src/types.js';
import { PlayedContext } from '../support/phase-context.js';
import { newApp } from '../support/worker-fixture.js';

describe('§2.7: JOB_UNABLE_TO_STAGE_JOB', () => {
  let played: PlayedContext;
  afterEach(() => played.close());

  const DEPLOYED: Partial<App> = { deployment: { system: 'store', path: 'apps/wc' } };

  const begin = (app: Partial<App>, given: Partial<Job> = {}): void => {
    played = new PlayedContext({ status: 'STAGING_JOB', ...given });
    played.app = newApp(app);
  };
  const put = (system: string, path: string, text = 'x'): void => {
    const whole = join(played.systems.get(system).system.root, path);
    mkdirSync(dirname(whole), { recursive: true });
    writeFileSync(whole, text);
  };
  const failed = async (says: string, context = played.context): Promise<void> => {
    await expect(stageApp(context)).rejects.toMatchObject({
      name: 'Failed',
      condition: 'JOB_UNABLE_TO_STAGE_JOB',
      message: expect.stringContaining(says),
    });
    expect(played.changes).toEqual([]);
  };

  test('the app is not deployed: there is nothing, or a file', async () => {
    begin(DEPLOYED);
    await failed('the app wc-1.0 is not deployed');
    put('store', 'apps/wc');
    await failed('is no directory');
  });

  test('nobody knows where its files are', async () => {
    begin({ deployment: { system: null, path: 'apps/wc' } });
    await failed(
      'names no system for its files, and there is no default one',
      played.with({ places: { ...played.context.places, defaultSystem: async () => null } }),
    );
  });

  test('an input and a file of the app have the same name', async () => {
    const [input] = [{ id: 'query', default: [], fileTypes: [] }] as unknown as App['inputs'];
    begin({ ...DEPLOYED, inputs: input === undefined ? [] : [input] }, { inputs: { query: 'agave://store/in/a.txt' } });
    put('store', 'apps/wc/a.txt');
    await failed("are both called 'a.txt': rename the input");
  });

  test('its wrapper is not in the deployment', async () => {
    begin({ ...DEPLOYED, program: { kind: 'deployed', templatePath: 'wrapper.sh' } });
    put('store', 'apps/wc/lib/data');
    await failed('what wc-1.0 needs cannot be put into the work directory');
  });

  test('the app has a deployed wrapper, and no deployment', async () => {
    begin({ program: { kind: 'deployed', templatePath: 'wrapper.sh' } });
    await failed('the app has a deployed wrapper, and no deployment');
  });

  test('something else has the name of its work directory', async () => {
    begin({});
    put('hpc1', 'work/jdoe/job-j1-demo');
    await failed('what wc-1.0 needs cannot be put into the work directory');
  });

  test('where all is there it goes on, with the files of the app in the work directory', async () => {
    begin({ ...DEPLOYED, program: { kind: 'deployed', templatePath: 'wrapper.sh' } });
    put('store', 'apps/wc/wrapper.sh', '#!/bin/sh\n');
    put('store', 'apps/wc/lib/data', 'words');
    await stageApp(played.context);
    expect(played.job.status).toBe('SUBMITTING');
    expect(readFileSync(join(played.job.workPath ?? '', 'lib/data'), 'utf8')).toBe('words');
    expect(existsSync(join(played.job.workPath ?? '', '.agave.archive'))).toBe(true);
  });
});
