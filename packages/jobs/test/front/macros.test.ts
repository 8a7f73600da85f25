import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultArchivePath, jobFolder, MACRO_NAMES, resolveMacros, unknownMacros } from '../../src/request/macros.js';
import { slug } from '../../src/request/slug.js';

const job = {
  appId: 'wc-1.0',
  archiveSystem: 'storage',
  created: Date.UTC(2020, 7, 6, 17, 23, 8, 139),
  memoryMb: 1536,
  name: 'My Job',
  nodeCount: 2,
  owner: 'jdoe',
  processorsPerNode: 16,
  remoteQueue: 'normal',
  systemId: 'hpc1',
  tenant: 'portals',
  uuid: 'b5c4014b-31e7-47a0-954f-c9d404320904-007',
};

describe('slugs (sheet §1.5)', () => {
  it.each([
    ['qgis-3.48_2020-08-06T17:21:32-dcvserver', 'qgis-3-48_2020-08-06t17-21-32-dcvserver'],
    ['  Müller\'s "run"  ', 'mullers-run'],
    ['a + b', 'a-+-b'],
    ['../../etc', 'etc'],
    ['日本', ''],
    ['--x--', 'x'],
  ])('%s becomes %s', (name, expected) => expect(slug(name)).toBe(expected));

  it('are safe in a path, whatever the name is, and stay as they are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        const made = slug(name);
        expect(made).toMatch(/^[a-z0-9_+-]*$/);
        expect(slug(made)).toBe(made);
      }),
    );
  });
});

describe('macros (sheet §1.5)', () => {
  it.each([
    ['APP_ID', 'wc-1.0'],
    ['EXECUTION_SYSTEM', 'hpc1'],
    ['BATCH_QUEUE', 'normal'],
    ['JOB_NAME', 'my-job'],
    ['JOB_ID', job.uuid],
    ['JOB_NODE_COUNT', '2'],
    ['JOB_PROCESSORS_PER_NODE', '16'],
    ['JOB_MEMORY_PER_NODE', '1.5'],
    ['JOB_CREATED_TIME', '2020-08-06T17:23:08.139Z'],
    ['JOB_OWNER', 'jdoe'],
    ['ARCHIVE_SYSTEM', 'storage'],
    ['TENANT_ID', 'portals'],
  ])('%s is %s', (name, value) => {
    expect(resolveMacros(`a/\${${name}}/b`, job)).toBe(`a/${value}/b`);
    expect(MACRO_NAMES).toContain(name);
  });

  it('that are not set are empty', () => {
    const bare = { ...job, remoteQueue: null, created: null, archiveSystem: null };
    // biome-ignore lint/suspicious/noTemplateCurlyInString: macros look like that
    expect(resolveMacros('[${BATCH_QUEUE}${JOB_CREATED_TIME}${ARCHIVE_SYSTEM}]', bare)).toBe('[]');
  });

  it('that there are not stay, and are named', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: macros look like that
    const text = '${JOB_ID}/${NOPE}/${constructor}';
    expect(resolveMacros(text, job)).toBe(`${job.uuid}/\${NOPE}/\${constructor}`);
    expect(unknownMacros(text)).toEqual(['NOPE', 'constructor']);
  });

  it('are not looked for in values', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: macros look like that
    expect(resolveMacros('${BATCH_QUEUE}', { ...job, remoteQueue: '${JOB_ID}' })).toBe('${JOB_ID}');
  });
});

describe('folders of jobs', () => {
  it('have the id and the slug', () => {
    expect(jobFolder(job)).toBe(`job-${job.uuid}-my-job`);
    expect(jobFolder({ ...job, name: '日本' })).toBe(`job-${job.uuid}`);
    expect(defaultArchivePath(job)).toBe(`jdoe/archive/jobs/job-${job.uuid}-my-job`);
  });
});
