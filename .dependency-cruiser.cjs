/** Lowest first. A package imports only packages before it. */
const LAYERS = [
  'base',
  'selector',
  'signing',
  'wire',
  'store',
  'broker',
  'fabric',
  'platform',
  'nodes',
  'push',
  'tasks',
  'jobs',
  'rules',
  'plugin',
  'agent',
  'server',
  'cli',
  'sim',
  'console',
];

/** The folders of the platform, lowest first. */
const PLATFORM = [
  'schema',
  'upkeep',
  'ssh',
  'metrics',
  'config',
  'log',
  'auth',
  'http',
  'feeds',
  'output',
  'directory',
  'secrets',
  'events',
  'layers',
  'notifications',
];

/** The folders of the event fabric, lowest first. */
const FABRIC = [
  'stomp', // the codec
  'event', // what is published, and who may publish and follow it
  'transport', // connections
  'protocol', // what both ends of a connection must agree on, beyond STOMP
  'outbound', // what waits for a client to read it
  'hub', // whom an event is for
  'session', // one connected client, of a root or a relay
  'root', // the broker with the log
  'relay', // a broker without one, below another
  'client', // the library for programs
];

/** A rule for each folder: it may not import those after it. Imports of types count. */
const ordered = (name, root, folders, end) =>
  folders.slice(0, -1).map((folder, index) => ({
    name: `${name}-${folder}`,
    severity: 'error',
    comment: `${folder} may not import ${folders.slice(index + 1).join(', ')}`,
    from: { path: `${root}/${folder}${end}` },
    to: { path: `${root}/(${folders.slice(index + 1).join('|')})${end}` },
  }));

const apart = (folder, allowed) => ({
  name: `sim-${folder}`,
  severity: 'error',
  from: { path: `^packages/sim/src/${folder}/` },
  to: { path: `^packages/sim/src/(?!(${allowed})/)` },
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
    ...ordered('layers', '^packages', LAYERS, '/(src|dist)/'),
    ...ordered('platform', '^packages/platform/src', PLATFORM, '/'),
    ...ordered('fabric', '^packages/fabric/src', FABRIC, '/'),
    {
      name: 'fabric-limits-log-and-metrics-know-nothing',
      severity: 'error',
      from: { path: '^packages/fabric/src/(limits|log|metrics)\\.ts$' },
      to: { path: '^packages/fabric/src/' },
    },
    {
      name: 'fabric-relay-is-no-root',
      severity: 'error',
      comment: 'a relay keeps no events',
      from: { path: '^packages/fabric/src/relay/' },
      to: { path: '^packages/fabric/src/root/' },
    },
    {
      name: 'fabric-client-is-no-broker',
      severity: 'error',
      comment: 'programs and browsers load it',
      from: { path: '^packages/fabric/src/client/' },
      to: { path: '^packages/fabric/src/(outbound|hub|session|root|relay)/' },
    },
    {
      name: 'fabric-stands-on-base-and-selector',
      severity: 'error',
      comment: 'a program that only publishes and follows events installs no ZeroMQ and no database',
      from: { path: '^packages/fabric/src/' },
      to: { path: '^packages/(?!(base|selector|fabric)/)' },
    },
    {
      name: 'agents-know-no-server',
      severity: 'error',
      comment: 'what runs on nodes shares only the wire and the fabric with the server',
      from: { path: '^packages/agent/src' },
      to: { path: '^packages/(store|platform|nodes|push|tasks|jobs)/' },
    },
    {
      name: 'plugins-know-the-wire-only',
      severity: 'error',
      comment: 'whoever writes a plugin installs neither a server nor an agent',
      from: { path: '^packages/plugin/src' },
      to: { path: '^packages/(?!(base|wire|plugin)/)' },
    },
    {
      name: 'console-stands-on-what-browsers-load',
      severity: 'error',
      comment:
        'a page that browsers load: the event client, the filter language and how CSV is written, nothing of the server',
      from: { path: '^packages/console/src/' },
      to: { path: '^packages/(?!(selector|fabric|console)/|base/(src|dist)/csv\\.)' },
    },
    {
      name: 'console-takes-the-client-of-the-fabric',
      severity: 'error',
      from: { path: '^packages/console/src/' },
      to: { path: '^packages/fabric/(src|dist)/(?!client/)' },
    },
    // The simulator's kernel knows no scenario, and no scenario another; the load generator stands alone.
    apart('kernel', 'kernel'),
    apart('push', 'kernel|push'),
    apart('fabric', 'kernel|fabric'),
    apart('store', 'kernel|store'),
    apart('tasks', 'kernel|tasks'),
    apart('load', 'load'),
    {
      name: 'machines-are-pure',
      severity: 'error',
      comment: 'a machine knows no clock, store, socket or randomness: only types and other pure code',
      from: { path: '(machine|machine/stage|/job-node-[^/.]+)\\.ts$' },
      to: {
        pathNot:
          '(types|status|errors|machine|machine/stage|/job-node-[^/]+|messages|limits|shares?)\\.ts$|/(base|wire)/(src|dist)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'routes-have-no-machines',
      severity: 'error',
      from: { path: '/routes(\\.ts$|/)' },
      to: { path: 'machine\\.ts$' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    // Other packages are seen as what they export: an arrow to their `dist`, which is not followed.
    doNotFollow: { path: '(node_modules|/dist/)' },
    exclude: { path: '/node_modules/(?!@muster)' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['types', 'import', 'default'] },
  },
};
