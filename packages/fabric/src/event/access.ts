/**
 * Which event types somebody may publish or follow. A pattern is a type (`temp.high`), a prefix (`temp.*`) or `*`.
 * A type is allowed when a pattern of `granted` fits it, or one of `open` does and none of `restricted`.
 */
export interface TypeRules {
  readonly granted: readonly string[];
  readonly restricted: readonly string[];
  readonly open: readonly string[];
  /** What is allowed besides, event by event. Absent: nothing. */
  readonly owned?: readonly OwnedTypes[];
}

/** Of types that are not allowed as such: the events that say in an attribute whose they are. */
export interface OwnedTypes {
  readonly pattern: string;
  readonly attribute: string;
  readonly value: string;
  /** None of these types. */
  readonly restricted: readonly string[];
}

export const PRINCIPAL_KINDS = ['user', 'node', 'service'] as const;

/** A user may have the name of a node or a service. */
export type PrincipalKind = (typeof PRINCIPAL_KINDS)[number];

/** Who publishes events: somebody who logged in, or the server itself. */
export type SourceKind = PrincipalKind | 'server';

export function isPrincipalKind(value: unknown): value is PrincipalKind {
  return PRINCIPAL_KINDS.some((kind) => kind === value);
}

/** What a login may do; relays get it from above and keep it as long as the connection lasts. */
export interface EventAccess {
  /** Name of the organization: nobody sees events of another. */
  readonly org: string;
  /** `ORG/NAME`: the source of what it publishes. */
  readonly principal: string;
  /** Tells a user from a node of the same name: each has its own durable subscriptions. */
  readonly kind: PrincipalKind;
  /** May speak for others of its organization (`on-behalf`), whose own rights it has checked, and ask for logins. */
  readonly relay: boolean;
  readonly publish: TypeRules;
  readonly subscribe: TypeRules;
}

/** Who it is, for `muster event access grant`. @param principal `ORG/NAME` */
export function grantee(principal: string, kind: SourceKind): string {
  return `${kind === 'user' ? '--user' : '--client'} ${principal.slice(principal.indexOf('/') + 1)}`;
}

export const EVERY_TYPE: TypeRules = { granted: [], restricted: [], open: ['*'] };

export function fits(pattern: string, type: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : pattern === type;
}

export function allows(rules: TypeRules, type: string): boolean {
  const some = (patterns: readonly string[]) => patterns.some((pattern) => fits(pattern, type));
  return some(rules.granted) || (some(rules.open) && !some(rules.restricted));
}

/** Whether one event is allowed: its type, or what it says of whose it is. */
export function allowsEvent(rules: TypeRules, type: string, attribute: (name: string) => string | undefined): boolean {
  if (allows(rules, type)) return true;
  return (rules.owned ?? []).some((owned) => attribute(owned.attribute) === owned.value && allowsSome(owned, type));
}

/** Whether events of this type may be allowed: all, or those that are somebody's own. */
export function mayAllowType(rules: TypeRules, type: string): boolean {
  return allows(rules, type) || (rules.owned ?? []).some((owned) => allowsSome(owned, type));
}

function allowsSome({ pattern, restricted }: OwnedTypes, type: string): boolean {
  return fits(pattern, type) && !restricted.some((each) => fits(each, type));
}

/** Whether the two fit a type in common. */
export function overlap(one: string, other: string): boolean {
  return one.endsWith('*') ? reach([other], one.slice(0, -1)) : fits(other, one);
}

/** False: none of the types that begin so is allowed. */
export function mayAllow({ granted, restricted, open, owned = [] }: TypeRules, prefix: string): boolean {
  if (reach(granted, prefix) || (reach(open, prefix) && !cover(restricted, prefix))) return true;
  return owned.some((each) => reach([each.pattern], prefix) && !cover(each.restricted, prefix));
}

/** True: all types that begin so are allowed. */
export function allowsAll({ granted, restricted, open }: TypeRules, prefix: string): boolean {
  return cover(granted, prefix) || (cover(open, prefix) && !reach(restricted, prefix));
}

/** Does one of the patterns fit every type that begins so? */
function cover(patterns: readonly string[], prefix: string): boolean {
  return patterns.some((pattern) => pattern.endsWith('*') && prefix.startsWith(pattern.slice(0, -1)));
}

/** May one of them fit a type that begins so? */
function reach(patterns: readonly string[], prefix: string): boolean {
  return cover(patterns, prefix) || patterns.some((pattern) => pattern.startsWith(prefix));
}
