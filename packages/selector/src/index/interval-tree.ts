interface Node<V> {
  readonly low: number;
  readonly high: number;
  /** Nodes above have a higher one; being drawn by lot, it keeps the tree shallow whatever the order of arrival. */
  readonly rank: number;
  /** The highest end in the subtree. */
  highest: number;
  value: V;
  left: Node<V> | null;
  right: Node<V> | null;
}

/**
 * Values by interval of numbers, ends included, infinite ends allowed: a treap ordered by (low, high) that knows the
 * highest end below each node. Finding the k intervals that hold a number takes O(k log n), adding and removing O(log n).
 */
export class IntervalTree<V> {
  #root: Node<V> | null = null;
  #lot = 0x9e3779b9;

  get(low: number, high: number): V | undefined {
    let node = this.#root;
    while (node !== null) {
      const order = compare(low, high, node);
      if (order === 0) return node.value;
      node = order < 0 ? node.left : node.right;
    }
    return undefined;
  }

  /** The interval must not be there yet. */
  add(low: number, high: number, value: V): void {
    const node = { low, high, rank: this.#draw(), highest: high, value, left: null, right: null };
    this.#root = insert(this.#root, node);
  }

  delete(low: number, high: number): void {
    this.#root = remove(this.#root, low, high);
  }

  visit<Context>(number: number, context: Context, visit: (value: V, context: Context) => void): void {
    stab(this.#root, number, context, visit);
  }

  /** Xorshift: the same tree for the same history. */
  #draw(): number {
    this.#lot ^= this.#lot << 13;
    this.#lot ^= this.#lot >>> 17;
    this.#lot ^= this.#lot << 5;
    return this.#lot;
  }
}

function compare<V>(low: number, high: number, node: Node<V>): number {
  if (low !== node.low) return low < node.low ? -1 : 1;
  if (high === node.high) return 0;
  return high < node.high ? -1 : 1;
}

function insert<V>(tree: Node<V> | null, node: Node<V>): Node<V> {
  if (tree === null) return node;
  if (node.rank > tree.rank) {
    [node.left, node.right] = split(tree, node);
    return updated(node);
  }
  if (compare(node.low, node.high, tree) < 0) tree.left = insert(tree.left, node);
  else tree.right = insert(tree.right, node);
  return updated(tree);
}

/** What is below and what is above the node. */
function split<V>(tree: Node<V> | null, at: Node<V>): [Node<V> | null, Node<V> | null] {
  if (tree === null) return [null, null];
  if (compare(at.low, at.high, tree) < 0) {
    const [below, above] = split(tree.left, at);
    tree.left = above;
    return [below, updated(tree)];
  }
  const [below, above] = split(tree.right, at);
  tree.right = below;
  return [updated(tree), above];
}

function remove<V>(tree: Node<V> | null, low: number, high: number): Node<V> | null {
  if (tree === null) return null;
  const order = compare(low, high, tree);
  if (order === 0) return join(tree.left, tree.right);
  if (order < 0) tree.left = remove(tree.left, low, high);
  else tree.right = remove(tree.right, low, high);
  return updated(tree);
}

/** Everything in `left` is below everything in `right`. */
function join<V>(left: Node<V> | null, right: Node<V> | null): Node<V> | null {
  if (left === null || right === null) return left ?? right;
  if (left.rank > right.rank) {
    left.right = join(left.right, right);
    return updated(left);
  }
  right.left = join(left, right.left);
  return updated(right);
}

function updated<V>(node: Node<V>): Node<V> {
  node.highest = Math.max(node.high, node.left?.highest ?? -Infinity, node.right?.highest ?? -Infinity);
  return node;
}

function stab<V, Context>(
  tree: Node<V> | null,
  number: number,
  context: Context,
  visit: (value: V, context: Context) => void,
): void {
  let node = tree;
  while (node !== null && node.highest >= number) {
    stab(node.left, number, context, visit);
    if (node.low > number) return;
    if (node.high >= number) visit(node.value, context);
    node = node.right;
  }
}
