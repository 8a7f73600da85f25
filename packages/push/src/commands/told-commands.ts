import type { NodeListener, NodeMessage, NodeRegistry, NodeView } from '@muster/nodes';
import type { Schema, Store } from '@muster/store';
import type { NodeCommands } from '@muster/wire';
import type { Transaction } from 'kysely';
import { COMMANDS } from '../limits.js';
import { commandsAspect } from './aspect.js';
import { commandsEvent } from './events.js';
import { deleteCommands, loadCommands, saveCommands } from './repository.js';

export interface ToldCommandsDeps {
  readonly store: Store;
  readonly nodes: NodeRegistry;
}

/**
 * What each node says that its owner allows. It is for people, who see what they can run: the node itself decides, each time it is
 * asked. Nodes with the same list share it.
 */
export class ToldCommands implements Partial<NodeListener> {
  readonly #deps: ToldCommandsDeps;
  readonly #told = new Map<NodeView, NodeCommands>();
  readonly #shared = new Map<string, NodeCommands>();

  constructor(deps: ToldCommandsDeps) {
    this.#deps = deps;
    deps.nodes.show(commandsAspect(this));
    deps.nodes.listen(this);
  }

  /** Null: it does not say. */
  of(node: NodeView): NodeCommands | null {
    return this.#told.get(node) ?? null;
  }

  /** After the nodes were loaded. */
  async load(): Promise<void> {
    const rows = await loadCommands(this.#deps.store);
    for (const node of this.#deps.nodes.all()) {
      const text = rows.get(`${node.org.id}/${node.name}`);
      if (text !== undefined) this.#set(node, JSON.parse(text) as NodeCommands | null);
    }
  }

  message(node: NodeView, message: NodeMessage): void {
    if (message.type === 'commands') this.tells(node, message.commands);
  }

  /** Also of a node that the server hosts: what it allows is known before it is reached. */
  tells(node: NodeView, commands: NodeCommands | null): void {
    const before = this.of(node);
    if (JSON.stringify(before) === JSON.stringify(commands)) return;
    this.#set(node, commands);
    const { nodes } = this.#deps;
    void nodes.persist(node, [saveCommands(node, commands)], [commandsEvent(node, before, commands)]);
  }

  removing(node: NodeView, trx: Transaction<Schema>): Promise<void> {
    return deleteCommands(trx, node);
  }

  kept(node: NodeView): void {
    const commands = this.of(node);
    if (commands !== null) void this.#deps.nodes.persist(node, [saveCommands(node, commands)], []);
  }

  removed(node: NodeView): void {
    this.#told.delete(node);
  }

  #set(node: NodeView, commands: NodeCommands | null): void {
    if (commands === null) {
      this.#told.delete(node);
      return;
    }
    const text = JSON.stringify(commands);
    const shared = this.#shared.get(text) ?? commands;
    // Lists that nobody has any more go with those that are still in use, which are found again when they are told.
    if (!this.#shared.has(text) && this.#shared.size >= COMMANDS.shared) this.#shared.clear();
    this.#shared.set(text, shared);
    this.#told.set(node, shared);
  }
}
