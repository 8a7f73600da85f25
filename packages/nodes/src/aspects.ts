import type { TSchema } from 'typebox';
import type { Attributes, NodeAspect, NodeView, Standing } from './types.js';

/** What all layers above know of nodes, together. */
export class Aspects {
  readonly #aspects: NodeAspect[] = [];

  add(aspect: NodeAspect): void {
    this.#aspects.push(aspect);
  }

  get fields(): Readonly<Record<string, TSchema>> {
    return this.#merged((aspect) => aspect.fields);
  }

  get labels(): NodeAspect['labels'] {
    return this.#merged((aspect) => aspect.labels);
  }

  describe(node: NodeView): Readonly<Record<string, unknown>> {
    return this.#merged((aspect) => aspect.describe(node));
  }

  attributes(node: NodeView): Attributes {
    return this.#merged((aspect) => aspect.attributes(node));
  }

  changed(node: NodeView): Readonly<Record<string, string>> {
    return this.#merged((aspect) => aspect.changed(node));
  }

  /** Of a node that is up. */
  explain(node: NodeView, now: number): Standing {
    const standings = this.#aspects.map((aspect) => aspect.explain(node, now));
    return {
      available: standings.every(({ available }) => available),
      sentences: standings.length === 0 ? [`${node.name} is up.`] : standings.flatMap(({ sentences }) => sentences),
    };
  }

  /** Of a node that is down; null: no layer knows more than that. */
  explainDown(node: NodeView): readonly string[] | null {
    for (const aspect of this.#aspects) {
      const sentences = aspect.explainDown?.(node) ?? null;
      if (sentences !== null) return sentences;
    }
    return null;
  }

  /** @throws MusterError when a layer has a reason why it must not be deleted now. */
  assertRemovable(node: NodeView): void {
    for (const aspect of this.#aspects) aspect.assertRemovable(node);
  }

  #merged<T>(part: (aspect: NodeAspect) => Readonly<Record<string, T>>): Readonly<Record<string, T>> {
    return Object.assign({}, ...this.#aspects.map(part));
  }
}
