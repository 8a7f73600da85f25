import { randomBytes } from 'node:crypto';
import { curveKeyPair, Dealer } from 'zeromq';
import type { ApiClient } from './api-client.js';
import { expectDone, newKey } from './personas.js';

/** The server's CURVE key and command address are no secret to any member of the organization. */
interface Discovered {
  readonly curve_public_key: string;
  readonly push_jobs: { readonly heartbeat: { readonly command_addr: string } };
}

/** A node of the organization, known by its key, that turned hostile. */
export async function hostileNode(admin: ApiClient, name: string): Promise<ApiClient> {
  const { publicKey, privateKey } = newKey();
  expectDone(await admin.post('nodes', { name, public_key: publicKey }));
  return admin.as({ name, privateKey });
}

/** A peer that asks for a configuration in this node's name, with the CURVE key it connects with (`admit`) or another one. */
export async function hostilePeer(node: ApiClient, admit: boolean): Promise<Dealer> {
  const curve = curveKeyPair();
  const asked = admit ? curve.publicKey : curveKeyPair().publicKey;
  const reply = await node.get(`pushy/config/${node.persona.name}?version=2.0&ccpk=${encodeURIComponent(asked)}`);
  const { curve_public_key: curveServerKey, push_jobs } = reply.json as Discovered;
  const dealer = new Dealer({
    linger: 0,
    sendTimeout: 50,
    curveServerKey,
    curvePublicKey: curve.publicKey,
    curveSecretKey: curve.secretKey,
  });
  dealer.connect(push_jobs.heartbeat.command_addr);
  return dealer;
}

/** Messages that nobody should take; `a` is a node of the organization. */
export function malformedMessages(): (string | Uint8Array)[][] {
  const header = 'Version:2.0;SigningMethod:hmac_sha256;Signature:AAAA';
  const claim = JSON.stringify({ org: 'default', node: 'a', type: 'nack_commit', job_id: null });
  return [
    [''],
    ['', ''],
    [header],
    [header, 'not json'],
    [header, '[]'],
    [header, 'null'],
    [header, claim],
    ['Version:9.9;Signature:', claim],
    ['Version:3.0;SigningMethod:hmac_sha256;Sequence:1;Signature:AAAA', claim],
    [header, '{"org":"nowhere","node":"a"}'],
    [header, '{"org":"default","node":"nobody"}'],
    [header, '{"org":{"a":1},"node":[]}'],
    ['x'.repeat(3000), claim],
    [header, 'x'.repeat(70_000)],
    [header, claim, 'one frame too many'],
    [randomBytes(100), randomBytes(1000)],
  ];
}

/** What `/metrics` says: the sum over all labels of a metric. */
export async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith(name) && /^[ {]/.test(line.slice(name.length)))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
