interface Branch<V> {
  value: V | undefined;
  /** By UTF-16 code unit. */
  readonly next: Map<number, Branch<V>>;
}

/** Values by prefix. Finding those of all prefixes of a text takes one step for each of its characters, at most. */
export class PrefixTree<V> {
  #root: Branch<V> = { value: undefined, next: new Map() };

  get(prefix: string): V | undefined {
    return this.#walk(prefix)?.value;
  }

  set(prefix: string, value: V): void {
    let branch = this.#root;
    for (let at = 0; at < prefix.length; at += 1) {
      const unit = prefix.charCodeAt(at);
      let next = branch.next.get(unit);
      if (next === undefined) {
        next = { value: undefined, next: new Map() };
        branch.next.set(unit, next);
      }
      branch = next;
    }
    branch.value = value;
  }

  /** Cuts off what leads nowhere any more. */
  delete(prefix: string): void {
    let keep = this.#root;
    let cut = 0;
    let branch = this.#root;
    for (let at = 0; at < prefix.length; at += 1) {
      if (branch.value !== undefined || branch.next.size > 1) [keep, cut] = [branch, at];
      const next = branch.next.get(prefix.charCodeAt(at));
      if (next === undefined) return;
      branch = next;
    }
    branch.value = undefined;
    if (branch.next.size === 0) keep.next.delete(prefix.charCodeAt(cut));
  }

  /** Visits the value of every prefix of the text, the text itself included, in order of length. */
  visit<Context>(text: string, context: Context, visit: (value: V, context: Context) => void): void {
    let branch: Branch<V> | undefined = this.#root;
    for (let at = 0; branch !== undefined; at += 1) {
      if (branch.value !== undefined) visit(branch.value, context);
      if (at === text.length) return;
      branch = branch.next.get(text.charCodeAt(at));
    }
  }

  #walk(prefix: string): Branch<V> | undefined {
    let branch: Branch<V> | undefined = this.#root;
    for (let at = 0; at < prefix.length && branch !== undefined; at += 1) {
      branch = branch.next.get(prefix.charCodeAt(at));
    }
    return branch;
  }
}
