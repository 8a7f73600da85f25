import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { durableFiles, toldCommands } from '@muster/agent/elsewhere';
import { makeDataDir, named } from '@muster/base';
import {
  type LocalPeers,
  type Nodes,
  type NodeView,
  type SshHosts,
  type SshNode,
  SshNodes,
  sshAspect,
} from '@muster/nodes';
import type { Auth, Identity } from '@muster/platform/auth';
import type { Base, Layer } from '@muster/platform/layers';
import type { Secrets, SecretUser } from '@muster/platform/secrets';
import { keyTrouble, Slots, SshConnections, type SshSecret } from '@muster/platform/ssh';
import { type NodeCommands, parseNodeConfiguration, z85Decode } from '@muster/wire';
import { MusterError } from '../errors.js';
import { type Asking, HostedNode, type Hosting, loginDiffers } from './hosted-node.js';
import { SSH_NODE_LIMITS } from './limits.js';
import { checkPolicy, configOf } from './settings.js';

export interface SshNodeHostsDeps {
  readonly nodes: Pick<Nodes, 'configure' | 'registry'>;
  readonly auth: Pick<Auth, 'changes' | 'listeners'>;
  readonly secrets: Pick<Secrets, 'usedBy' | 'value'>;
  readonly peers: LocalPeers;
  /** Who shows people what nodes allow. */
  readonly commands: { tells(node: NodeView, commands: NodeCommands | null): void };
}

export interface SshNodeHosts extends Required<Pick<Layer, 'load' | 'start' | 'stop'>> {
  readonly sshNodes: SshNodes;
  readonly hosts: SshHosts;
}

/** Nodes without an agent, composed: the server hosts an agent for each. Started after the nodes layer, stopped before it. */
export function createSshNodes(base: Base, { nodes, auth, secrets, peers, commands }: SshNodeHostsDeps): SshNodeHosts {
  const { store, clock, logger, config } = base;
  const { connections: most, interval } = config.ssh_nodes;
  const hosted = new Map<string, HostedNode>();
  const standing: SshHosts['standing'] = (node) => {
    const it = hosted.get(node.id);
    // What was changed a moment ago may not have come to it yet, and what it knows is of what was there before.
    if (it !== undefined && !whereDiffers(it.node, node) && !loginDiffers(it.node, node)) return it.standing();
    return { state: 'unknown', since: node.updatedAt, trouble: null, connected: false };
  };
  const sshNodes = new SshNodes({ store, auth, registry: nodes.registry, standing });
  /** Of one node, one thing after the other. */
  const turns = new Map<string, Promise<void>>();
  let running = false;

  const dir = join(config.data_dir, 'ssh-nodes');
  let key: Promise<KeyObject> | null = null;
  const hosting: Hosting = {
    clock,
    random: Math.random,
    logger,
    peers,
    connections: new SshConnections({ most, clock, waitMs: SSH_NODE_LIMITS.placeMs, setting: 'ssh_nodes.connections' }),
    looks: new Slots(SSH_NODE_LIMITS.looks),
    logins: new Slots(SSH_NODE_LIMITS.logins),
    rules: {
      lookMs: interval * 1000,
      retryFirstMs: SSH_NODE_LIMITS.retryFirstMs,
      retryLongestMs: SSH_NODE_LIMITS.retryLongestMs,
    },
    key() {
      key ??= hostingKey(dir);
      return key;
    },
    secret: (node) => secretOf(secrets, node),
    configure(node, asking) {
      // Who asks for its configuration is made known: one that was deleted would be again.
      if (sshNodes.get(node.org.id, node.name)?.id !== node.id)
        throw new MusterError('not_found', { kind: 'ssh node', name: node.name });
      return configurationOf(nodes, node, asking);
    },
    down({ org, name }) {
      const node = nodes.registry.get(org.id, name);
      if (node !== undefined) nodes.registry.unreached(node);
    },
    dir,
  };

  function host(node: SshNode, withinMs: number): void {
    const it = new HostedNode(node, hosting);
    hosted.set(node.id, it);
    it.start(withinMs);
  }

  function after(node: SshNode, work: () => Promise<void> | void): void {
    const turn = (turns.get(node.id) ?? Promise.resolve()).then(work).catch((error: unknown) => {
      logger.error({ err: error, node: node.name }, 'a node without an agent could not be changed');
    });
    turns.set(node.id, turn);
    void turn.then(() => {
      if (turns.get(node.id) === turn) turns.delete(node.id);
    });
  }

  /** Its policy is here, whether it is reached or not. */
  function tell({ org, name, policy }: SshNode): void {
    const node = nodes.registry.get(org.id, name);
    if (node !== undefined) commands.tells(node, toldCommands(configOf(policy)));
  }

  sshNodes.listen({
    set: (node, before) =>
      after(node, async () => {
        tell(node);
        if (!running) return;
        const it = hosted.get(node.id);
        const moved = before === null || whereDiffers(before, node);
        if (it !== undefined && !moved) return it.change(node);
        await it?.stop();
        host(node, 0);
      }),
    removed: (node) =>
      after(node, async () => {
        const it = hosted.get(node.id);
        hosted.delete(node.id);
        await it?.remove();
      }),
  });

  const hosts: SshHosts = {
    standing,
    test: async (node) => (await hosted.get(node.id)?.test()) ?? [],
    check: checkPolicy,
  };
  secrets.usedBy(loginsOf(sshNodes));
  nodes.registry.show(sshAspect((orgId, name) => sshNodes.get(orgId, name), hosts));

  return {
    sshNodes,
    hosts,
    load: () => sshNodes.load(),
    start() {
      running = true;
      const all = [...sshNodes.all()];
      // So many at once would only wait for each other.
      const withinMs = Math.min(all.length * STAGGER_MS, interval * 1000);
      for (const node of all) {
        host(node, withinMs);
        after(node, () => tell(node));
      }
    },
    async stop() {
      running = false;
      await Promise.all(turns.values());
      await Promise.all([...hosted.values()].map((it) => it.stop()));
      hosted.clear();
    },
  };
}

const STAGGER_MS = 10;

function whereDiffers(one: SshNode, other: SshNode): boolean {
  return one.host !== other.host || one.port !== other.port || one.user !== other.user;
}

/** The keys and passwords with which the server logs in. */
function loginsOf(sshNodes: SshNodes): SecretUser {
  return {
    needs(org, secret) {
      const users = sshNodes.of(org.id).filter((node) => [node.keySecret, node.passwordSecret].includes(secret));
      const [first] = users;
      if (first === undefined) return null;
      const flag = first.keySecret === secret ? '--key-secret' : '--password-secret';
      const ways = `muster ssh-node set ${first.name} ${flag} SECRET names another one, muster ssh-node rm ${first.name} forgets the node`;
      return `the server logs in with it on ${named(users.map(({ name }) => name))}: ${ways}`;
    },
    async check(org, secret, value) {
      const users = sshNodes.of(org.id).filter(({ keySecret }) => keySecret === secret);
      const node = users.find(({ passwordSecret }) => passwordSecret === null) ?? users[0];
      const trouble = node === undefined ? null : await keyTrouble(value);
      // Its passphrase may be the next that is changed.
      if (node === undefined || trouble === null || (trouble.locked && node.passwordSecret !== null)) return;
      const reason = `the server logs in with it on ${node.name}, and it ${trouble.text}`;
      throw new MusterError('invalid_field', { field: 'value', reason });
    },
  };
}

async function secretOf(secrets: Pick<Secrets, 'value'>, node: SshNode): Promise<SshSecret> {
  const { org, keySecret, passwordSecret } = node;
  const password = passwordSecret === null ? undefined : await secrets.value(org, passwordSecret);
  if (keySecret === null) return password === undefined ? {} : { password };
  const privateKey = await secrets.value(org, keySecret);
  return { privateKey, ...(password !== undefined && { passphrase: password, password }) };
}

/** The same over restarts of the server: another key would say that the node was made anew. */
async function hostingKey(dir: string): Promise<KeyObject> {
  makeDataDir(dir, 0o700);
  const file = join(dir, 'hosting.pem');
  const kept = await durableFiles.read(file);
  if (kept !== null) return createPrivateKey(kept);
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  await durableFiles.write(file, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  return privateKey;
}

function configurationOf(
  nodes: Pick<Nodes, 'configure'>,
  { id, org, name }: SshNode,
  { key, curvePublicKey, knownKey }: Asking,
) {
  const publicKey = createPublicKey(key);
  const caller: Identity = {
    principalId: id,
    type: 'node',
    name,
    serverAdmin: false,
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    parsedKey: publicKey,
  };
  const curveKey = z85Decode(curvePublicKey);
  const known = knownKey ?? undefined;
  const answer = nodes.configure({ org, node: name, caller, curveKey, version: '3.0', knownKey: known });
  return parseNodeConfiguration(JSON.parse(JSON.stringify(answer)));
}
