import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '@muster/platform/config';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { freePorts } from './support/ports.js';
import { StartedProcess } from './support/started-process.js';

// What deploy/container says; scripts/packages/try-image.sh builds the image of it, and runs that.

const CONTAINER = new URL('../deploy/container/', import.meta.url);
const MUSTER = fileURLToPath(new URL('../packages/cli/bin/muster.js', import.meta.url));
const text = (path: string): string => readFileSync(new URL(path, CONTAINER), 'utf8');
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};
const containerfile = text('Containerfile');

/** `NAME=VALUE` lines, as compose and kustomize read them. */
function variables(path: string): Record<string, string> {
  const lines = text(path).split('\n');
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value]];
    }),
  );
}

describe('the image', () => {
  it('runs as a user that is a number, as Kubernetes asks for, and not as root', () => {
    expect(containerfile).toMatch(/^USER 10001:10001$/m);
    expect(containerfile).not.toMatch(/^USER (?!10001)/m);
  });

  describe('its health check', () => {
    let directory: string;
    let server: StartedProcess;
    let port: number;
    beforeAll(async () => {
      directory = mkdtempSync(join(tmpdir(), 'muster-container-'));
      const [http = 0, heartbeat, command, stomp] = await freePorts(4);
      port = http;
      const nodes = ['--heartbeat', `tcp://127.0.0.1:${heartbeat}`, '--command', `tcp://127.0.0.1:${command}`];
      const args = ['--data-dir', directory, '--http', `127.0.0.1:${http}`, '--stomp', `127.0.0.1:${stomp}`, ...nodes];
      server = new StartedProcess('server', process.execPath, [MUSTER, 'server', ...args], {
        cwd: directory,
        env: { PATH: process.env.PATH },
      });
    });
    afterAll(async () => {
      await server.kill('SIGKILL');
      rmSync(directory, { recursive: true });
    });

    /** What it ends with when a server listens here. */
    const check = () => {
      const [, words = ''] = /^HEALTHCHECK .*CMD (\[.*\])$/ms.exec(containerfile.replaceAll('\\\n', '')) ?? [];
      const [shell = '', ...args] = JSON.parse(words) as string[];
      expect(args.at(-1)).toContain('/127.0.0.1/8080 ');
      const here = args.map((word) => word.replace('/8080 ', `/${port} `));
      return new Promise<number | null>((resolve) => {
        spawn(shell, here, { stdio: 'ignore' }).on('close', resolve);
      });
    };

    it('passes while the server answers and stores, and fails when it is gone', async () => {
      await expect.poll(check).toBe(0);
      await server.kill('SIGTERM');
      expect(await check()).toBe(1);
    });
  });
});

describe.each(['server.env', 'worker.env'])('%s', (file) => {
  it('has nothing but settings that there are, and values that are taken', () => {
    const settings = variables(file);
    expect(Object.keys(settings).length).toBeGreaterThan(1);
    // Where the database is stands where the servers are: it has a password.
    const env = { ...settings, MUSTER_DATABASE_URL: 'postgres://muster@database/muster' };
    const { data_dir, secrets } = loadConfig({ env, flags: {} });
    expect(data_dir).toBe('/var/lib/muster');
    expect(secrets.key_command).toEqual(['/bin/cat', '/run/secrets/job-secrets.key']);
  });
});

interface Service {
  readonly image: string;
  readonly command: readonly string[];
  readonly env_file: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly secrets?: readonly string[];
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly healthcheck?: object;
  readonly deploy?: { readonly replicas: number };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

describe('the compose file', () => {
  const compose = parse(text('compose.yaml'), { merge: true }) as {
    readonly services: Readonly<Record<string, Service>>;
    readonly volumes: Readonly<Record<string, object>>;
    readonly secrets: Readonly<Record<string, object>>;
  };
  const { services } = compose;
  const service = (name: string): Service => services[name] as Service;
  const ours = Object.entries(services).filter(([, { image }]) => image.includes('MUSTER_IMAGE'));

  it('has two servers, workers and agents, PostgreSQL, RabbitMQ and a balancer', () => {
    expect(Object.keys(services).sort()).toEqual(
      ['agent', 'muster', 'postgres', 'rabbitmq', 'server-1', 'server-2', 'worker'].sort(),
    );
    expect(ours.map(([name]) => name)).toEqual(['server-1', 'server-2', 'worker', 'agent']);
    for (const name of ['worker', 'agent']) expect(service(name).deploy?.replicas).toBeGreaterThan(1);
  });

  it.each(ours)('%s has no more rights than it needs, and a root that nobody changes', (_, its) => {
    expect(its.read_only).toBe(true);
    expect(its.cap_drop).toEqual(['ALL']);
    expect(its.security_opt).toEqual(['no-new-privileges:true']);
    // Without `exec` no native module could be loaded.
    expect(its.tmpfs).toEqual([expect.stringMatching(/^\/tmp:exec,/)]);
    expect(its.image).toBe(`\${MUSTER_IMAGE:-muster:${version}}`);
  });

  it('has servers that differ in name and volume alone, the second after the first', () => {
    const [one, two] = [service('server-1'), service('server-2')];
    expect({ ...two, volumes: one.volumes, depends_on: one.depends_on }).toEqual({
      ...one,
      environment: { ...one.environment, MUSTER_NAME: 'server-2' },
    });
    expect(one.env_file).toEqual(['server.env']);
    expect(two.volumes).not.toEqual(one.volumes);
    expect(two.depends_on).toMatchObject({ 'server-1': { condition: 'service_healthy' } });
  });

  it('leaves the health check of the image to servers, and to nobody else', () => {
    for (const [name, { healthcheck }] of ours) {
      expect({ name, healthcheck }).toEqual({
        name,
        healthcheck: name.startsWith('server-') ? undefined : { disable: true },
      });
    }
  });

  it('names volumes, secrets and services that it has', () => {
    for (const { volumes = [], secrets = [], depends_on = {} } of Object.values(services)) {
      for (const name of volumes.map((volume) => volume.split(':')[0] ?? '')) {
        if (!/^[./]/.test(name)) expect(compose.volumes).toHaveProperty([name]);
      }
      for (const name of secrets) expect(compose.secrets).toHaveProperty([name]);
      for (const name of Object.keys(depends_on)) expect(services).toHaveProperty([name]);
    }
  });

  it('has every server behind the balancer, for requests and for events', () => {
    const config = text('haproxy.cfg');
    for (const [backend, port] of [
      ['servers', 8080],
      ['roots', 61613],
    ]) {
      const [, section = ''] = new RegExp(`^backend ${backend}\\n((?: .*\\n)+)`, 'm').exec(config) ?? [];
      const found = [...section.matchAll(/^ {2}server (\S+) (\S+)$/gm)].map(([, name, address]) => [name, address]);
      expect(found).toEqual(['server-1', 'server-2'].map((name) => [name, `${name}:${port}`]));
    }
  });
});

interface Container {
  readonly name: string;
  readonly image: string;
  readonly ports?: readonly { readonly name: string }[];
  readonly securityContext: object;
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly resources: { readonly limits: { readonly memory?: string } };
  readonly startupProbe?: object;
  readonly livenessProbe?: object;
  readonly readinessProbe?: object;
}
interface Labels {
  readonly matchLabels: Readonly<Record<string, string>>;
}
interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas: number;
    readonly selector: Labels;
    readonly serviceName?: string;
    readonly maxUnavailable?: number;
    readonly ports?: readonly { readonly targetPort?: string }[];
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly template: {
      readonly metadata: { readonly labels: Labels['matchLabels'] };
      readonly spec: {
        readonly automountServiceAccountToken: boolean;
        readonly enableServiceLinks: boolean;
        readonly securityContext: object;
        readonly containers: readonly Container[];
        readonly volumes: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[];
      };
    };
  };
}

describe('what Kubernetes gets', () => {
  const names = readdirSync(new URL('kubernetes/', CONTAINER)).map((name) => `kubernetes/${name}`);
  const documents = names.flatMap((name) => parseAllDocuments(text(name)));
  const resources = documents.map((document) => document.toJS() as Resource);
  const kustomization = parse(text('kustomization.yaml')) as {
    readonly resources: readonly string[];
    readonly images: readonly { readonly name: string; readonly newTag: string }[];
    readonly configMapGenerator: readonly { readonly name: string }[];
  };
  const of = (kind: string) => resources.filter((resource) => resource.kind === kind);
  const workloads = [...of('StatefulSet'), ...of('Deployment')];
  const generated = kustomization.configMapGenerator.map(({ name }) => name);
  const named = workloads.map((workload) => [workload.metadata.name, workload] as const);

  it('is YAML, and all of it is in kustomization.yaml, the agents as a comment', () => {
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    const commented = [...text('kustomization.yaml').matchAll(/^# {2}- (kubernetes\/\S+)$/gm)].map(([, name]) => name);
    expect([...kustomization.resources, ...commented].sort()).toEqual(names.sort());
    expect(commented).toEqual(['kubernetes/agents.yaml']);
    expect(kustomization.images).toEqual([{ name: 'muster', newTag: version }]);
  });

  it.each(named)('%s runs without root, rights and a root that can be written', (_, { spec }) => {
    const pod = spec.template.spec;
    // MUSTER_PORT and others, which Kubernetes would add for a service `muster`, are no settings.
    expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 10001,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const container of pod.containers) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.image).toBe('muster');
      expect(container.resources.limits.memory).toBeDefined();
      const volumes = [...pod.volumes, ...(spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata)];
      expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(volumes.map(({ name }) => name).sort());
      expect(container.volumeMounts).toContainEqual({ name: 'tmp', mountPath: '/tmp' });
      for (const { configMapRef } of container.envFrom ?? []) expect(generated).toContain(configMapRef.name);
    }
    for (const { configMap } of pod.volumes) if (configMap !== undefined) expect(generated).toContain(configMap.name);
  });

  it.each(named)('%s has several replicas, of which one at most is taken away at a time', (_, { spec }) => {
    expect(spec.replicas).toBeGreaterThan(1);
    expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
    const budgets = of('PodDisruptionBudget').filter(
      (budget) => JSON.stringify(budget.spec.selector) === JSON.stringify(spec.selector),
    );
    expect(budgets.map((budget) => budget.spec.maxUnavailable)).toEqual([1]);
  });

  it('asks servers whether they have begun, live and are ready', () => {
    const server = workloads.find(({ metadata }) => metadata.name === 'muster-server');
    const [container] = server?.spec.template.spec.containers ?? [];
    for (const probe of [container?.startupProbe, container?.livenessProbe, container?.readinessProbe]) {
      expect(probe).toMatchObject({ httpGet: { path: '/_status', port: 'http' } });
    }
  });

  it('has services whose pods and ports there are', () => {
    for (const { spec } of of('Service')) {
      const selector = spec.selector as unknown as Labels['matchLabels'];
      const pods = workloads.filter(
        (workload) => JSON.stringify(workload.spec.selector.matchLabels) === JSON.stringify(selector),
      );
      expect(pods).toHaveLength(1);
      const ports = pods[0]?.spec.template.spec.containers.flatMap((container) => container.ports ?? []) ?? [];
      for (const { targetPort } of spec.ports ?? []) {
        if (targetPort !== undefined) expect(ports.map(({ name }) => name)).toContain(targetPort);
      }
    }
    for (const { spec } of of('StatefulSet')) {
      expect(of('Service').map(({ metadata }) => metadata.name)).toContain(spec.serviceName);
    }
  });
});
