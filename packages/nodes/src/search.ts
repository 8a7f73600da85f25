import { compile, parseSelector, SelectorError } from '@muster/selector';
import { MusterError } from './errors.js';
import type { NodeRegistry, NodeView } from './types.js';

/**
 * Those of the nodes that match, in their order. Facts and labels are searched with SQL-92 conditions or `role:web`.
 * @throws MusterError `invalid_selector`.
 */
export function searchNodes<Node extends NodeView>(
  registry: Pick<NodeRegistry, 'attributes'>,
  nodes: readonly Node[],
  query: string,
): readonly Node[] {
  const matches = compileSearch(query);
  return nodes.filter((node) => matches(registry.attributes(node)));
}

/** For who searches again and again. @throws MusterError `invalid_selector`. */
export function compileSearch(query: string): ReturnType<typeof compile> {
  try {
    return compile(parseSelector(query, { sugar: true }));
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    const { position, reason, hint } = error;
    throw new MusterError('invalid_selector', { position, reason, hint }, { cause: error });
  }
}
