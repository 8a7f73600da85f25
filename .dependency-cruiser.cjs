/** The layers of the architecture: a layer imports only layers below it. */
const layer = (name, from, notTo) => ({
  name,
  severity: 'error',
  comment: `${from} may not import ${notTo}`,
  from: { path: from },
  to: { path: notTo },
});

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphans-of-tests',
      severity: 'error',
      comment: 'shipped code never imports tests',
      from: { path: '^packages/[^/]+/src' },
      to: { path: '/test/' },
    },
    {
      name: 'declared-dependencies-only',
      severity: 'error',
      from: { path: '^packages/[^/]+/src' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'] },
    },
    layer('selector-is-lowest', '^packages/selector/src', '^packages/(?!selector/)'),
    layer('wire', '^packages/wire/src', '^packages/(?!(wire|selector)/)'),
    layer('store', '^packages/store/src', '^packages/(?!(store|wire|selector)/)'),
    layer('fabric', '^packages/fabric/src', '^packages/(?!(fabric|wire|selector)/)'),
    layer('agent', '^packages/agent/src', '^packages/(?!(agent|fabric|wire|selector)/)'),
    layer('server', '^packages/server/src', '^packages/(?!(server|fabric|store|wire|selector)/)'),
    layer('cli', '^packages/cli/src', '^packages/(sim)/'),
    layer('config-below-auth', '^packages/server/src/config', '^packages/server/src/(auth|events|http|nodes|push)/'),
    layer('auth-below-http', '^packages/server/src/auth/(?!routes)', '^packages/server/src/(http|nodes|push)/'),
    layer('http-below-domains', '^packages/server/src/http', '^packages/server/src/(events|nodes|push)/'),
    layer('events-below-domains', '^packages/server/src/events', '^packages/server/src/(nodes|push)/'),
    layer('nodes-below-push', '^packages/server/src/nodes', '^packages/server/src/push/'),
    {
      name: 'machines-are-pure',
      severity: 'error',
      comment: 'a machine knows no clock, store, socket or randomness: only types and other pure code',
      from: { path: '(machine|/job-node-[^/]+)\\.ts$' },
      to: {
        pathNot: '(types|machine|/job-node-[^/]+|messages|limits|shares?)\\.ts$|/wire/(src|dist)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'routes-have-no-machines',
      severity: 'error',
      from: { path: '/routes\\.ts$' },
      to: { path: 'machine\\.ts$' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '/(dist|node_modules/(?!@muster))/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['types', 'import', 'default'] },
  },
};
