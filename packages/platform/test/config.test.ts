import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MusterError } from '@muster/base';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeConfig, loadConfig, redactConfig } from '../src/config/index.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-config-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

interface Given {
  readonly json?: unknown;
  readonly yaml?: string;
  readonly env?: Record<string, string>;
  readonly flags?: Record<string, unknown>;
}

function load({ json, yaml, env = {}, flags = {} }: Given) {
  let file: string | undefined;
  if (json !== undefined) {
    file = join(directory, 'server.json');
    writeFileSync(file, JSON.stringify(json));
  } else if (yaml !== undefined) {
    file = join(directory, 'server.yaml');
    writeFileSync(file, yaml);
  }
  return loadConfig({ file, env, flags });
}

function refusal(given: Given): MusterError {
  try {
    load(given);
  } catch (error) {
    if (error instanceof MusterError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

const reason = (given: Given): string => {
  const error = refusal(given);
  expect(error.code).toBe('invalid_configuration');
  return String(error.details.reason).replaceAll(`${directory}/`, '');
};

describe('sources', () => {
  test('without any, everything has its default', () => {
    expect(load({})).toMatchObject({
      data_dir: './muster-data',
      log_level: 'info',
      http: { listen: '127.0.0.1:8080', insecure: false },
      heartbeat: { interval: 15, offline_threshold: 3, online_threshold: 2 },
      spec1: {},
      commands: {},
    });
  });

  test('a file may be JSON', () => {
    expect(load({ json: { http: { listen: 'localhost:1' } } }).http.listen).toBe('localhost:1');
  });

  test('a file may be YAML', () => {
    expect(load({ yaml: 'http:\n  listen: localhost:1\n' }).http.listen).toBe('localhost:1');
  });

  test('an empty file, group or value is the same as none', () => {
    expect(load({ yaml: '' })).toEqual(load({}));
    expect(load({ yaml: 'http:\ndatabase_url:\n' })).toEqual(load({}));
  });

  test('the environment overrides the file, flags override both', () => {
    const json = { http: { listen: 'localhost:1' }, heartbeat: { interval: 1 }, log_level: 'debug' };
    const env = { MUSTER_HTTP_LISTEN: 'localhost:2', MUSTER_HEARTBEAT_INTERVAL: '2' };
    const config = load({ json, env, flags: { http: 'localhost:3' } });
    expect([config.log_level, config.heartbeat.interval, config.http.listen]).toEqual(['debug', 2, 'localhost:3']);
  });

  test('an empty variable is the same as none', () => {
    expect(load({ env: { MUSTER_DATABASE_URL: '' } }).database_url).toBeUndefined();
  });

  test('variables of the CLI, the agent and the tests are left alone', () => {
    const env = {
      MUSTER_URL: 'x',
      MUSTER_ORG: 'x',
      MUSTER_USER: 'x',
      MUSTER_KEY: 'x',
      MUSTER_TOKEN: 'x',
      MUSTER_CA: 'x',
    };
    const more = { MUSTER_CONFIG: 'x', MUSTER_TEST_DATABASE_URL: 'x', MUSTER_AGENT_NAME: 'x', HOME: '/' };
    expect(load({ env: { ...env, ...more } })).toEqual(load({}));
  });

  test('flags are taken as typed and as commander names them', () => {
    for (const name of ['data-dir', '--data-dir', 'dataDir']) {
      expect(load({ flags: { [name]: '/srv' } }).data_dir).toBe('/srv');
    }
  });

  test('flags that were not given are left alone', () => {
    expect(load({ flags: { dataDir: undefined } })).toEqual(load({}));
  });

  test('an abort waits as long as it takes to notice that a node is down, plus 5 s', () => {
    expect(load({}).push.aborting_timeout).toBe(50);
    expect(load({ flags: { heartbeatInterval: '0.25' } }).push.aborting_timeout).toBe(6);
    expect(load({ json: { push: { aborting_timeout: 7 } } }).push.aborting_timeout).toBe(7);
  });
});

describe('text is converted by the type of the setting', () => {
  test.each([
    ['15', 15],
    ['0.25', 0.25],
    ['1e2', 100],
  ])('number %s', (text, value) => {
    expect(load({ env: { MUSTER_HEARTBEAT_INTERVAL: text } }).heartbeat.interval).toBe(value);
  });

  test.each([
    ['true', true],
    ['Yes', true],
    ['1', true],
    ['off', false],
    ['0', false],
  ])('boolean %s', (text, value) => {
    expect(load({ env: { MUSTER_HTTP_INSECURE: text } }).http.insecure).toBe(value);
  });

  test.each([
    ['a, b', ['a', 'b']],
    ['["a,b", "c"]', ['a,b', 'c']],
  ])('list %s', (text, value) => {
    expect(load({ flags: { commandsAllow: text } }).commands.allow).toEqual(value);
  });

  test('text stays text', () => {
    expect(load({ env: { MUSTER_DATA_DIR: '42' } }).data_dir).toBe('42');
  });
});

describe('durations and sizes may have a unit', () => {
  const week = { events: { keep: 604_800, max_bytes: 67_108_864 } };

  test.each<[string, Given]>([
    ['JSON', { json: { events: { keep: '7d', max_bytes: '64MiB' } } }],
    ['YAML', { yaml: 'events: { keep: 7d, max_bytes: 64MiB }' }],
    ['the environment', { env: { MUSTER_EVENTS_KEEP: '7d', MUSTER_EVENTS_MAX_BYTES: '64MiB' } }],
    ['flags', { flags: { eventsKeep: '7d', eventsMaxBytes: '64MiB' } }],
  ])('in %s', (_source, given) => {
    expect(load(given)).toMatchObject(week);
  });

  test('numbers are seconds and bytes, as text, too', () => {
    expect(load({ json: week })).toMatchObject(week);
    expect(load({ env: { MUSTER_EVENTS_KEEP: '604800', MUSTER_EVENTS_MAX_BYTES: '67108864' } })).toMatchObject(week);
    expect(load({ json: { events: { keep: '604800' } } }).events.keep).toBe(604_800);
  });

  test('a heartbeat may be a part of a second, and what follows from it is computed from that', () => {
    const config = load({ yaml: 'heartbeat: { interval: 250ms }' });
    expect([config.heartbeat.interval, config.push.aborting_timeout]).toEqual([0.25, 6]);
  });

  test('every default that is shown is taken back as the same', () => {
    const flags = Object.fromEntries(
      describeConfig()
        .filter(({ type }) => type === 'duration' || type === 'size')
        .map(({ flag, default: shown }) => [flag, shown]),
    );
    expect(Object.keys(flags).length).toBeGreaterThan(15);
    expect(load({ flags })).toEqual(load({}));
  });
});

describe('errors name the setting and what it may be', () => {
  test.each<[string, Given, string]>([
    ['an unknown key', { json: { htpt: {} } }, 'unknown key htpt in server.json (did you mean http?)'],
    [
      'an unknown key in a group',
      { yaml: 'http: { lisen: x }' },
      'unknown key http.lisen in server.yaml (did you mean http.listen?)',
    ],
    [
      'a key in the wrong place',
      { json: { tls_cert: 'x' } },
      'unknown key tls_cert in server.json (did you mean http.tls_cert?)',
    ],
    ['a key like none', { json: { quetzalcoatl: 1 } }, 'unknown key quetzalcoatl in server.json'],
    ['a group that is a value', { json: { http: 80 } }, 'http in server.json: expected a map of settings'],
    ['a file that is a list', { yaml: '- a' }, 'server.yaml: expected a map of settings'],
    [
      'an unknown variable',
      { env: { MUSTER_HTTP_LISTN: 'x' } },
      'unknown variable MUSTER_HTTP_LISTN (did you mean MUSTER_HTTP_LISTEN?)',
    ],
    ['an unknown flag', { flags: { datadir: 'x' } }, 'unknown flag --datadir (did you mean --data-dir?)'],
    [
      'a word for an integer',
      { env: { MUSTER_PUSH_MAX_NODES: 'many' } },
      "MUSTER_PUSH_MAX_NODES: expected an integer from 1 to 2147483647, got 'many'",
    ],
    [
      'a fraction for an integer',
      { flags: { pushMaxNodes: '1.5' } },
      "--push-max-nodes: expected an integer from 1 to 2147483647, got '1.5'",
    ],
    [
      'a number out of range',
      { json: { heartbeat: { interval: 0 } } },
      'heartbeat.interval in server.json: expected a duration from 50ms to 1h (such as 500ms, 30s, 10m, 2h or 7d, or a number of seconds), got 0',
    ],
    [
      'text in a file where a number belongs',
      { json: { push: { max_nodes: '15' } } },
      "push.max_nodes in server.json: expected an integer from 1 to 2147483647, got '15'",
    ],
    [
      'text that is no duration',
      { yaml: 'heartbeat: { interval: soon }' },
      "heartbeat.interval in server.yaml: expected a duration from 50ms to 1h (such as 500ms, 30s, 10m, 2h or 7d, or a number of seconds), got 'soon'",
    ],
    [
      'a duration that is too short',
      { flags: { heartbeatInterval: '20ms' } },
      "--heartbeat-interval: expected a duration from 50ms to 1h (such as 500ms, 30s, 10m, 2h or 7d, or a number of seconds), got '20ms'",
    ],
    [
      'a size that may mean this or that',
      { env: { MUSTER_EVENTS_OUTLET_BYTES: '64K' } },
      "MUSTER_EVENTS_OUTLET_BYTES: expected a size from 64KiB to 1TiB (such as 64KiB, 10MB or 1GiB, or a number of bytes), got '64K'",
    ],
    [
      'a size that is too large',
      { json: { events: { max_size: '1MiB' } } },
      "events.max_size in server.json: expected a size from 256B to 256KiB (such as 64KiB, 10MB or 1GiB, or a number of bytes), got '1MiB'",
    ],
    [
      'neither true nor false',
      { env: { MUSTER_HTTP_INSECURE: 'maybe' } },
      "MUSTER_HTTP_INSECURE: expected true or false, got 'maybe'",
    ],
    [
      'an unknown choice',
      { flags: { logLevel: 'loud' } },
      "--log-level: expected one of trace, debug, info, warn, error, silent, got 'loud'",
    ],
    [
      'a list of other things',
      { json: { commands: { allow: [1] } } },
      'commands.allow in server.json: expected a list of strings, got a list',
    ],
    ['an address without port', { flags: { http: 'localhost' } }, '--http: expected HOST:PORT, got localhost'],
    ['a port beyond 65535', { flags: { http: 'localhost:65536' } }, '--http: expected HOST:PORT, got localhost:65536'],
    [
      'a socket without tcp://',
      { flags: { heartbeat: '127.0.0.1:1' } },
      '--heartbeat: expected tcp://HOST:PORT, got 127.0.0.1:1',
    ],
    [
      'an advertised address that nobody can connect to',
      { flags: { commandAdvertise: 'tcp://*:1' } },
      '--command-advertise: expected tcp://HOST:PORT that a node can connect to, got tcp://*:1',
    ],
    [
      'an advertised URL that is none',
      { flags: { httpAdvertise: 'muster.example.com' } },
      '--http-advertise: expected http://HOST:PORT or https://, got muster.example.com',
    ],
    [
      'one port for two listeners',
      { flags: { heartbeat: 'tcp://127.0.0.1:5', command: 'tcp://127.0.0.1:5' } },
      'heartbeat.listen and command.listen cannot both listen on 127.0.0.1:5',
    ],
    [
      'a certificate without its key',
      { flags: { tlsCert: 'cert.pem' } },
      'http.tls_cert and http.tls_key (--tls-cert, --tls-key) need each other',
    ],
    [
      'a key for STOMP without its certificate',
      { flags: { stompTlsKey: 'key.pem' } },
      'stomp.tls_cert and stomp.tls_key (--stomp-tls-cert, --stomp-tls-key) need each other',
    ],
    [
      'STOMP told to be where nobody can connect',
      { flags: { stompAdvertise: '*:61613' } },
      '--stomp-advertise: expected HOST:PORT that a client can connect to, got *:61613',
    ],
    ['STOMP on an address without port', { flags: { stomp: 'here' } }, '--stomp: expected HOST:PORT, got here'],
    [
      'half of what spec 1.0 clients need',
      { flags: { spec1Command: 'tcp://127.0.0.1:5' } },
      'spec1.heartbeat and spec1.command (--spec1-heartbeat, --spec1-command) need each other',
    ],
    ['a name that is no host name', { flags: { name: 'a b' } }, '--name: expected a host name, got a b'],
    ['an empty data directory', { json: { data_dir: '' } }, 'data_dir in server.json: expected a directory'],
  ])('%s', (_case, given, text) => {
    expect(reason(given)).toBe(text);
  });

  test('everything that is wrong is told at once', () => {
    const given = { json: { foo: 1, http: { body_limit: 0 } }, env: { MUSTER_LOG_LEVEL: 'x' } };
    expect(reason(given).split('; ')).toHaveLength(3);
  });

  test('but no more than ten things', () => {
    const json = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`unknown_${index}`, 1]));
    expect(reason({ json })).toMatch(/; and 5 more$/);
  });

  test('a file that is missing', () => {
    const load = () => loadConfig({ file: join(directory, 'none.yaml'), env: {}, flags: {} });
    expect(load).toThrow(/none\.yaml: ENOENT/);
  });

  test('a file that is neither JSON nor YAML', () => {
    expect(reason({ yaml: 'a: [' })).toMatch(/^server\.yaml: /);
  });

  test('a password is not repeated', () => {
    expect(reason({ flags: { databaseUrl: 'mysql://me:secret@db/x' } })).not.toContain('secret');
  });
});

describe('listening beyond loopback', () => {
  test.each(['0.0.0.0:80', '[::]:80', '10.0.0.1:80', 'example.com:80', '*:80', '127.evil.example:80'])(
    'plain HTTP on %s is refused',
    (listen) => {
      const error = refusal({ flags: { http: listen } });
      expect([error.code, error.details.address]).toEqual(['insecure_listen', listen]);
    },
  );

  test.each(['127.0.0.1:80', '127.9.9.9:80', 'localhost:80', '[::1]:80'])('plain HTTP on %s is fine', (listen) => {
    expect(load({ flags: { http: listen } }).http.listen).toBe(listen);
  });

  test('is allowed with TLS', () => {
    expect(load({ flags: { http: '0.0.0.0:80', tlsCert: 'c', tlsKey: 'k' } }).http.tls_key).toBe('k');
  });

  test('is allowed when asked for', () => {
    expect(load({ flags: { http: '0.0.0.0:80', insecureHttp: true } }).http.insecure).toBe(true);
  });

  test('STOMP without TLS is refused', () => {
    const error = refusal({ flags: { stomp: '0.0.0.0:61613' } });
    expect([error.code, error.details.address]).toEqual(['insecure_stomp', '0.0.0.0:61613']);
  });

  test('STOMP is allowed with TLS, or when asked for', () => {
    const tls = { stompTlsCert: 'c', stompTlsKey: 'k' };
    expect(load({ flags: { stomp: '0.0.0.0:61613', ...tls } }).stomp.tls_key).toBe('k');
    expect(load({ flags: { stomp: '0.0.0.0:61613', insecureStomp: true } }).stomp.insecure).toBe(true);
  });

  test('the command interface without TLS is refused, and allowed with TLS or when asked for', () => {
    const error = refusal({ flags: { disbatch: '0.0.0.0:8081' } });
    expect([error.code, error.details.address]).toEqual(['insecure_disbatch', '0.0.0.0:8081']);
    const tls = { disbatchTlsCert: 'c', disbatchTlsKey: 'k' };
    expect(load({ flags: { disbatch: '0.0.0.0:8081', ...tls } }).disbatch.tls_key).toBe('k');
    expect(load({ flags: { disbatch: '0.0.0.0:8081', insecureDisbatch: true } }).disbatch.insecure).toBe(true);
    expect(refusal({ flags: { disbatch: '127.0.0.1:8081', disbatchTlsCert: 'c' } }).message).toContain(
      'need each other',
    );
    expect(refusal({ flags: { disbatch: '127.0.0.1:8080' } }).message).toContain('cannot both listen');
    expect(load({ flags: {} }).disbatch).toMatchObject({ org: 'default', dialect: '4.0', gfs: 'auto' });
  });
});

describe('the description', () => {
  const rows = describeConfig();

  test('gives each setting a path, a variable and a flag of its own', () => {
    for (const name of ['path', 'env', 'flag'] as const) {
      expect(new Set(rows.map((row) => row[name])).size).toBe(rows.length);
    }
    expect(rows.every((row) => row.description !== '')).toBe(true);
  });

  test.each([
    ['data_dir', 'MUSTER_DATA_DIR', '--data-dir', 'string', './muster-data'],
    ['database_url', 'MUSTER_DATABASE_URL', '--database-url', 'string', undefined],
    ['log_level', 'MUSTER_LOG_LEVEL', '--log-level', 'trace|debug|info|warn|error|silent', 'info'],
    ['http.listen', 'MUSTER_HTTP_LISTEN', '--http', 'string', '127.0.0.1:8080'],
    ['http.tls_cert', 'MUSTER_HTTP_TLS_CERT', '--tls-cert', 'string', undefined],
    ['http.tls_key', 'MUSTER_HTTP_TLS_KEY', '--tls-key', 'string', undefined],
    ['http.insecure', 'MUSTER_HTTP_INSECURE', '--insecure-http', 'boolean', 'false'],
    ['heartbeat.listen', 'MUSTER_HEARTBEAT_LISTEN', '--heartbeat', 'string', 'tcp://127.0.0.1:10000'],
    ['heartbeat.interval', 'MUSTER_HEARTBEAT_INTERVAL', '--heartbeat-interval', 'duration', '15s'],
    ['command.listen', 'MUSTER_COMMAND_LISTEN', '--command', 'string', 'tcp://127.0.0.1:10001'],
    ['stomp.listen', 'MUSTER_STOMP_LISTEN', '--stomp', 'string', '127.0.0.1:61613'],
    ['stomp.insecure', 'MUSTER_STOMP_INSECURE', '--insecure-stomp', 'boolean', 'false'],
    ['events.max_size', 'MUSTER_EVENTS_MAX_SIZE', '--events-max-size', 'size', '4KiB'],
    ['events.keep', 'MUSTER_EVENTS_KEEP', '--events-keep', 'duration', '7d'],
    ['events.max_bytes', 'MUSTER_EVENTS_MAX_BYTES', '--events-max-bytes', 'size', '1GiB'],
    ['push.max_nodes', 'MUSTER_PUSH_MAX_NODES', '--push-max-nodes', 'integer', '20000'],
    ['commands.allow', 'MUSTER_COMMANDS_ALLOW', '--commands-allow', 'list', undefined],
  ])('of %s', (path, env, flag, type, fallback) => {
    expect(rows.find((row) => row.path === path)).toMatchObject({ env, flag, type, default: fallback });
  });
});

describe('redaction', () => {
  test.each([
    ['postgres://me:secret@db:5432/muster', 'postgres://me:***@db:5432/muster'],
    ['postgres://me@db/muster?password=secret', 'postgres://me@db/muster?password=***'],
    ['postgres://me@db/muster', 'postgres://me@db/muster'],
  ])('of %s', (url, shown) => {
    expect(redactConfig(load({ flags: { databaseUrl: url } })).database_url).toBe(shown);
  });

  test('of the broker and of the mail server', () => {
    const config = load({
      flags: { brokerUrl: 'amqp://me:secret@mq:5672/x', outboundSmtpUrl: 'smtps://me:secret@mail' },
    });
    expect(redactConfig(config)).toMatchObject({
      broker_url: 'amqp://me:***@mq:5672/x',
      outbound: { smtp_url: 'smtps://me:***@mail' },
    });
  });

  test.each([
    [{ brokerUrl: 'http://mq:secret@x' }, 'expected amqp://'],
    [{ brokerUrl: 'amqp://[' }, 'expected amqp://'],
    [{ outboundSmtpUrl: 'mail:secret' }, 'expected smtp://'],
  ])('is not needed of a message about %j', (flags, expected) => {
    expect(() => load({ flags })).toThrow(expected);
    expect(() => load({ flags })).not.toThrow('secret');
  });

  test('changes nothing else', () => {
    expect(redactConfig(load({}))).toEqual(load({}));
  });
});
