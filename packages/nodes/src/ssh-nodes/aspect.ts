import type { NodeAspect, NodeView } from '../types.js';
import { whereOf } from './directory.js';
import type { SshHosts, SshNode } from './types.js';

/** What is shown of a node without an agent, wherever nodes are shown. */
export function sshAspect(
  find: (orgId: string, name: string) => SshNode | undefined,
  hosts: Pick<SshHosts, 'standing'>,
): NodeAspect {
  const of = ({ org, name }: NodeView) => find(org.id, name);
  return {
    fields: {},
    describe: () => ({}),
    labels: { via: (node) => node.via },
    attributes: () => ({}),
    changed: ({ via }): Readonly<Record<string, string>> => (via === 'ssh' ? { via } : {}),
    explain(node) {
      const it = of(node);
      if (it === undefined) return { available: true, sentences: [] };
      const { state, trouble } = hosts.standing(it);
      const where = `It has no agent: the server runs commands there as ${whereOf(it)}`;
      if (state !== 'unreachable') return { available: true, sentences: [`${where}.`] };
      // As for any node that falls silent, its heartbeats decide.
      return { available: true, sentences: [`${where}, and does not reach its host now: ${sentenceOf(trouble)}`] };
    },
    explainDown(node) {
      const it = of(node);
      if (it === undefined) return null;
      const { state, trouble } = hosts.standing(it);
      const where = `${node.name} is down. It has no agent: the server runs commands there over ssh as ${whereOf(it)}`;
      if (state === 'unknown') return [`${where}, and has not asked its host yet.`];
      if (state === 'reached') return [`${where}. Its host is reached, and it is up within a few heartbeat intervals.`];
      return [
        `${where}, and does not reach its host: ${sentenceOf(trouble)}`,
        `Try each step: muster ssh-node test ${node.name}.`,
      ];
    },
    assertRemovable: () => undefined,
  };
}

function sentenceOf(trouble: string | null): string {
  return `${(trouble ?? '').replace(/\.$/, '')}.`;
}
