import { quantityName, quantityText, type Unit } from '@muster/base';
import { ServerConfigSchema } from './schema.js';

/** The part of JSON Schema that the settings use. */
export interface SettingSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly anyOf?: readonly SettingSchema[];
  readonly items?: SettingSchema;
  readonly properties?: Readonly<Record<string, SettingSchema>>;
  readonly minimum?: number;
  readonly maximum?: number;
  /** A duration or a size, which may also be given as text with a unit. */
  readonly unit?: Unit;
}

/** One setting and its three names. */
export interface Setting {
  /** As in a file, with dots: `http.listen`. */
  readonly path: string;
  /** `MUSTER_HTTP_LISTEN` */
  readonly env: string;
  /** `--http` */
  readonly flag: string;
  /** `string`, `integer`, `duration`, `size`, `boolean`, `list`, or the values it may have: `debug|info`. */
  readonly type: string;
  /** As text: `7d`, `64KiB`; undefined when there is none. */
  readonly default: string | undefined;
  readonly description: string;
}

/** Flags that are shorter than their path. */
const FLAGS: Readonly<Record<string, string>> = {
  'http.listen': '--http',
  'http.tls_cert': '--tls-cert',
  'http.tls_key': '--tls-key',
  'http.insecure': '--insecure-http',
  'heartbeat.listen': '--heartbeat',
  'command.listen': '--command',
  'stomp.listen': '--stomp',
  'stomp.insecure': '--insecure-stomp',
  'disbatch.listen': '--disbatch',
  'disbatch.insecure': '--insecure-disbatch',
};

const ROOT: SettingSchema = ServerConfigSchema;

function typeOf(schema: SettingSchema): string {
  if (schema.unit !== undefined) return quantityName(schema.unit);
  if (schema.anyOf !== undefined) return schema.anyOf.map((choice) => String(choice.const)).join('|');
  return schema.type === 'array' ? 'list' : (schema.type ?? 'string');
}

function defaultText({ unit, default: value }: SettingSchema): string | undefined {
  if (value === undefined) return undefined;
  return unit !== undefined && typeof value === 'number' ? quantityText(unit, value) : String(value);
}

function settingOf(path: string, schema: SettingSchema): Setting {
  return {
    path,
    env: `MUSTER_${path.toUpperCase().replaceAll('.', '_')}`,
    flag: FLAGS[path] ?? `--${path.replaceAll(/[._]/g, '-')}`,
    type: typeOf(schema),
    default: defaultText(schema),
    description: schema.description ?? '',
  };
}

function leaves(schema: SettingSchema, prefix: string): [string, SettingSchema][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) =>
    child.properties === undefined ? [[`${prefix}${name}`, child] as const] : leaves(child, `${prefix}${name}.`),
  ) as [string, SettingSchema][];
}

const SCHEMAS: ReadonlyMap<string, SettingSchema> = new Map(leaves(ROOT, ''));

/** Groups of settings: `http`, `heartbeat`, … */
export const GROUPS: ReadonlyMap<string, SettingSchema> = new Map(
  Object.entries(ROOT.properties ?? {}).filter(([, schema]) => schema.properties !== undefined),
);

export const SETTINGS: readonly Setting[] = [...SCHEMAS].map(([path, schema]) => settingOf(path, schema));

export function schemaOf(path: string): SettingSchema | undefined {
  return SCHEMAS.get(path);
}

/** Every setting, for the reference page and the flags of `muster server`. */
export function describeConfig(): readonly Setting[] {
  return SETTINGS;
}
