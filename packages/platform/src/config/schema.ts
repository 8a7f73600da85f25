import { type Static, Type } from 'typebox';

const address = (description: string, fallback?: string) =>
  Type.String({ description, ...(fallback === undefined ? {} : { default: fallback }) });
const YEAR = 31_536_000;
const LARGEST_INTEGER = 2_147_483_647;
const TIB = 1_099_511_627_776;
const seconds = (description: string, fallback: number, minimum = 1, maximum = YEAR) =>
  Type.Number({ description, default: fallback, minimum, maximum, unit: 'seconds' });
const count = (description: string, fallback: number, minimum = 1) =>
  Type.Integer({ description, default: fallback, minimum, maximum: LARGEST_INTEGER });
const bytes = (description: string, fallback: number, minimum: number, maximum = TIB) =>
  Type.Integer({ description, default: fallback, minimum, maximum, unit: 'bytes' });
const strict = { additionalProperties: false, default: {} } as const;

/**
 * The server's settings. The reference page, `--check-config`, the environment variables (`MUSTER_` and the path in
 * upper case with `_`) and the flags are all made from this.
 */
export const ServerConfigSchema = Type.Object(
  {
    data_dir: Type.String({
      description: 'Where keys, the lock and the embedded database live',
      default: './muster-data',
    }),
    database_url: Type.Optional(Type.String({ description: 'postgres://… ; SQLite in data_dir when absent' })),
    broker_url: Type.Optional(
      Type.String({ description: 'amqp://… of RabbitMQ, for the queues of jobs; kept in the database when absent' }),
    ),
    cluster: Type.Boolean({
      description: 'One of several servers over one PostgreSQL: one leads, the others pass on to it and take over',
      default: false,
    }),
    cluster_url: Type.Optional(
      Type.String({
        description:
          'http(s)://HOST:PORT where the other servers of the cluster reach this one; made of name and http.listen when absent',
      }),
    ),
    cluster_weight: Type.Number({
      description:
        'How many nodes connect to this server of the cluster, relative to the others; 0: none, while there are others',
      default: 1,
      minimum: 0,
      maximum: 1000,
    }),
    name: Type.Optional(Type.String({ description: 'Host name advertised to nodes; the machine’s own when absent' })),
    log_level: Type.Union(
      (['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const).map((level) => Type.Literal(level)),
      { description: 'Least important line that is logged', default: 'info' },
    ),
    console: Type.Boolean({ description: 'Serve the web console, at /console/', default: true }),
    http: Type.Object(
      {
        listen: address('HOST:PORT of the REST API', '127.0.0.1:8080'),
        advertise: Type.Optional(
          Type.String({
            description: 'URL that workers elsewhere are told, and receivers of notifications, when it differs',
          }),
        ),
        tls_cert: Type.Optional(Type.String({ description: 'PEM file; turns HTTPS on' })),
        tls_key: Type.Optional(Type.String({ description: 'PEM file of the private key' })),
        insecure: Type.Boolean({ description: 'Allow plain HTTP beyond loopback', default: false }),
        trusted_proxies: Type.Array(Type.String(), {
          description:
            'Addresses or networks (10.0.0.0/8) whose X-Forwarded-For and -Proto are believed; nobody’s unless given',
          default: [],
        }),
        body_limit: bytes('Largest request body', 1_000_000, 1, LARGEST_INTEGER),
      },
      strict,
    ),
    auth: Type.Object(
      {
        min_signing: Type.Union(
          (['1.0', '1.1', '1.3'] as const).map((version) => Type.Literal(version)),
          {
            description:
              'Least version of request signing that is taken; 1.0 and 1.1 hash with SHA-1, 1.3 with SHA-256',
            default: '1.0',
          },
        ),
      },
      strict,
    ),
    heartbeat: Type.Object(
      {
        listen: address('Address the server’s heartbeat is published on', 'tcp://127.0.0.1:10000'),
        advertise: Type.Optional(Type.String({ description: 'Address nodes are told, when it differs' })),
        interval: seconds('Between heartbeats, both ways', 15, 0.05, 3600),
        offline_threshold: count('Missed intervals until the other end is down', 3),
        online_threshold: count('Intervals heard until it is up again', 2),
      },
      strict,
    ),
    command: Type.Object(
      {
        listen: address('Address of the command socket', 'tcp://127.0.0.1:10001'),
        advertise: Type.Optional(Type.String({ description: 'Address nodes are told, when it differs' })),
        max_body_size: bytes('Largest message body accepted from a node', 65_536, 1, LARGEST_INTEGER),
        max_skew: seconds('Clock difference accepted in messages', 300),
        admission: seconds('How long a CURVE key may connect after its configuration request', 60),
        rehab_interval: seconds('Between aborts to a node in rehab', 1, 0.05, 3600),
        config_lifetime: seconds('How long a node keeps its configuration', 3600),
      },
      strict,
    ),
    spec1: Type.Object(
      {
        heartbeat: Type.Optional(
          Type.String({ description: 'Unencrypted heartbeat address for spec 1.0 clients; off when absent' }),
        ),
        command: Type.Optional(
          Type.String({ description: 'Unencrypted command address for spec 1.0 clients; off when absent' }),
        ),
      },
      strict,
    ),
    push: Type.Object(
      {
        run_timeout: seconds('Default run_timeout of a job', 3600, 0),
        voting_timeout: seconds('Default voting timeout', 60),
        wait_timeout: seconds('How long jobs wait for busy nodes that are to (`when_busy`), unless they say', 3600),
        aborting_timeout: Type.Optional(
          seconds('How long an abort waits for nodes; default: node down detection plus 5s', 50),
        ),
        keep: seconds(
          'How long finished jobs are kept, with their nodes and output; 0: for ever',
          7_776_000,
          0,
          10 * YEAR,
        ),
        linger: seconds('How long a finished job’s event feed is replayed', 5, 0),
        keepalive: seconds('Between keepalive comments on event feeds', 15),
        org_feed_history: seconds('How long the organization feed keeps events', 60),
        max_nodes: count('Most nodes in one job; an organization may have set fewer', 20_000),
        max_running: count(
          'Most push jobs of one user that go on at one time, in one organization; an organization may have set fewer. 0: any number',
          1000,
          0,
        ),
        max_starts: count(
          'Most push jobs that one user starts within a minute, in one organization; a server that was started again counts anew. An organization may have set fewer. 0: any number',
          0,
          0,
        ),
        output_limit: bytes(
          'Most bytes kept per node and stream; the middle of more is dropped',
          10_485_760,
          1,
          LARGEST_INTEGER,
        ),
      },
      strict,
    ),
    limits: Type.Object(
      {
        requests_per_principal: count(
          'HTTP requests a second of one user, node or service, on the average of ten seconds; more are answered 429. 0: any number',
          5000,
          0,
        ),
        requests_per_address: count(
          'HTTP requests a second of one address, whoever asks, likewise; see http.trusted_proxies. 0: any number',
          10_000,
          0,
        ),
      },
      strict,
    ),
    files: Type.Object(
      {
        largest: bytes('Largest file that a push job takes to its nodes', 1_073_741_824, 1, 17_179_869_184),
        total: bytes('Most bytes of such files kept, of all organizations together', 10_737_418_240, 1),
        keep: seconds('How long such a file is kept after a push job last named it', 86_400, 60),
        rate: bytes('Bytes a second that go out to nodes, all together', 104_857_600, 1024),
        node_rate: bytes('Bytes a second that go out to one node', 20_971_520, 1024),
      },
      strict,
    ),
    ssh_nodes: Type.Object(
      {
        connections: count(
          'Most connections to nodes without an agent at one time; those that nobody uses make room',
          100,
        ),
        interval: seconds('How often it is seen whether the host of such a node still lets the server in', 30, 1, 3600),
      },
      strict,
    ),
    tasks: Type.Object(
      {
        plugins: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
          description: 'Plugins that queues may name before any node has them',
          default: [],
          maxItems: 1000,
        }),
        max_params: bytes('Longest parameters of a task, as JSON', 262_144, 2, 1_000_000),
        keep: seconds('How long ended tasks are kept, with their output; 0: for ever', 2_592_000, 0, 10 * YEAR),
        output_limit: bytes(
          'Most bytes kept of each stream of a task, unless its queue says otherwise; the middle of more is dropped',
          10_485_760,
          1,
          LARGEST_INTEGER,
        ),
      },
      strict,
    ),
    jobs: Type.Object(
      {
        slots: Type.Integer({
          description: 'Jobs that this server works on at once; 0 leaves them to `muster worker`',
          default: 20,
          minimum: 0,
          maximum: 10_000,
        }),
        starts: count(
          'Jobs that a worker begins, and programs that it starts on one host, within two seconds before each more waits for one to three',
          10,
        ),
        keep: seconds('How long ended jobs are kept, with their history; 0: for ever', YEAR, 0, 10 * YEAR),
        secret_key_file: Type.Optional(
          Type.String({
            description:
              'File of the key that seals secrets, and the keys of execution systems; `job-secrets.key` in data_dir when absent',
          }),
        ),
        support_mail: Type.Optional(
          Type.String({ description: 'Who is told of messages that could not be routed or were rejected' }),
        ),
      },
      strict,
    ),
    secrets: Type.Object(
      {
        key_command: Type.Optional(
          Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
            description:
              'Program and arguments that print the key that seals secrets (32 bytes, base64), run at each start; in the place of secret_key_file of jobs',
            minItems: 1,
            maxItems: 64,
          }),
        ),
        providers: Type.Optional(
          Type.String({
            description:
              'File (JSON or YAML) of the providers that keep values of secrets: a Vault, or a program (docs/guide/secrets.md)',
          }),
        ),
        old_key_file: Type.Optional(
          Type.String({
            description: 'File of a former key: what it sealed is sealed with the present one at the start',
          }),
        ),
      },
      strict,
    ),
    outbound: Type.Object(
      {
        private_targets: Type.Boolean({
          description: 'Let webhooks, inputs of jobs, keys of issuers and directories (LDAP) be at private addresses',
          default: false,
        }),
        smtp_url: Type.Optional(Type.String({ description: 'smtp://… for mail; logged when absent' })),
        mail_from: Type.String({ description: 'Sender of mail', default: 'muster@localhost' }),
      },
      strict,
    ),
    stomp: Type.Object(
      {
        listen: address('HOST:PORT where event clients and relays connect', '127.0.0.1:61613'),
        advertise: Type.Optional(Type.String({ description: 'HOST:PORT clients are told, when it differs' })),
        tls_cert: Type.Optional(Type.String({ description: 'PEM file; STOMP is then spoken over TLS only' })),
        tls_key: Type.Optional(Type.String({ description: 'PEM file of the private key' })),
        insecure: Type.Boolean({ description: 'Allow STOMP without TLS beyond loopback', default: false }),
        heartbeat: seconds('Offered to clients, both ways; a peer that is silent twice as long is cut', 30),
      },
      strict,
    ),
    events: Type.Object(
      {
        max_size: bytes('Largest event: type, attributes and body together', 4096, 256, 262_144),
        keep: seconds('How long events are kept for replay', 604_800),
        max_bytes: bytes('Most bytes of events kept for replay; the oldest go first', 1_073_741_824, 1_048_576),
        outlet_bytes: bytes('Unsent bytes of one client, beyond which it counts as slow', 8_388_608, 65_536),
        max_scheduled: count('Most future events of one organization', 10_000),
      },
      strict,
    ),
    disbatch: Type.Object(
      {
        listen: Type.Optional(address('HOST:PORT of the command interface for clients of Disbatch; off when absent')),
        org: Type.String({ description: 'The organization whose queues and tasks it shows', default: 'default' }),
        dialect: Type.Union(
          (['4.0', '4.4'] as const).map((dialect) => Type.Literal(dialect)),
          {
            description: 'Whose clients it speaks to: 4.0 (to 4.103) writes ids as {"$oid": …}, 4.4 as plain text',
            default: '4.0',
          },
        ),
        tls_cert: Type.Optional(Type.String({ description: 'PEM file; turns HTTPS on' })),
        tls_key: Type.Optional(Type.String({ description: 'PEM file of the private key' })),
        insecure: Type.Boolean({ description: 'Allow plain HTTP beyond loopback', default: false }),
        web_root: Type.Optional(Type.String({ description: 'Directory of a page and its files, served at the root' })),
        gfs: Type.Union(
          (['auto', 'true', 'false'] as const).map((gfs) => Type.Literal(gfs)),
          {
            description: 'Show output as the id of a file: when it is longer than 64KiB, always, or never',
            default: 'auto',
          },
        ),
        monitoring: Type.Boolean({ description: 'Let GET /monitoring look at nodes and balance', default: true }),
        balance: Type.Boolean({ description: 'Share out threads by the time of day (QueueBalance)', default: false }),
        balance_pretend: Type.Boolean({ description: 'Work out shares and log them, but set none', default: false }),
        indexes: Type.Array(Type.String({ minLength: 1, maxLength: 500 }), {
          description: 'Fields that GET /tasks finds tasks by, each a list with commas: queue,params.commands',
          default: [],
          maxItems: 100,
        }),
      },
      strict,
    ),
    commands: Type.Object(
      {
        allow: Type.Optional(
          Type.Array(Type.String(), {
            description: 'Organization policy: only these commands may be started; all when absent',
          }),
        ),
      },
      strict,
    ),
  },
  { additionalProperties: false },
);

export type ServerConfig = Static<typeof ServerConfigSchema>;
