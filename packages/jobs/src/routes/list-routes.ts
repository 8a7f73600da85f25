import { type App, listedFields, onlyFields, readFields } from '@muster/platform/http';
import { Type } from 'typebox';
import { MusterError } from '../errors.js';
import { echo, refused } from '../request/refusal.js';
import { JOB_FIELDS } from '../search/fields.js';
import { searchJobs } from '../search/search.js';
import { addJobRoute, type Call, type JobRouteDeps } from './deps.js';
import type { Answer } from './envelope.js';
import type { ListQuery } from './query.js';
import { enveloped, JobAnswer, JobSummary } from './schemas.js';
import { jobSummary, jobView } from './view.js';

/** Pairs of field and value in a path (sheet §8.3). */
const MOST_PAIRS = 7;

const DESCRIPTION =
  'Those that one owns, that are shared with one, or all for `job:admin`; hidden ones only with `visible=false`. `FIELD=VALUE` and ' +
  '`FIELD.OPERATOR=VALUE` as Agave has them (docs/guide/jobs.md), `where` with a selector, `limit` (100, at most 250), `offset`, ' +
  '`order`, `orderBy`. With `filter` these fields, also of those that lists do not show; `fields` is the same of whole members, and refuses what there is not. ' +
  '`sort=lastUpdated`, or `-lastUpdated`, is the order that costs the least.';

/** Lists of jobs. */
export function listRoutes(app: App, deps: JobRouteDeps): void {
  const list = async (
    { organization, asker, query, links }: Call,
    more: readonly (readonly [string, string])[],
  ): Promise<Answer> => {
    const { fields, sort, conditions } = ownParameters(query.conditions);
    if (fields !== null && query.filter !== null)
      throw refused('ALOE_INVALID_PARAMETER', 'fields', 'give either fields or filter');
    const order = sort === null ? query.list : { ...query.list, ...orderOf(sort, query.list) };
    const search = { ...order, conditions: [...more, ...conditions], where: query.where };
    const jobs = await searchJobs(deps.read, organization.id, asker, search, deps.clock.now());
    if (fields !== null) return { result: jobs.map((job) => onlyFields(jobView(job, links), fields)) };
    const view = query.filter === null ? jobSummary : jobView;
    return { result: jobs.map((job) => view(job, links)) };
  };

  addJobRoute(app, deps, {
    method: 'GET',
    path: '/',
    operationId: 'listJobs',
    summary: 'List and search jobs',
    description: DESCRIPTION,
    result: enveloped(Type.Array(JobSummary)),
    handle: (call) => list(call, []),
  });

  addJobRoute(app, deps, {
    method: 'GET',
    path: '/search/*',
    operationId: 'searchJobs',
    summary: 'Search jobs by the path',
    description: `\`/search/FIELD/VALUE/…\`, up to ${MOST_PAIRS} pairs. ${DESCRIPTION}`,
    result: enveloped(Type.Array(JobSummary)),
    handle: (call) => list(call, pairsOf(call.request.raw.url ?? '')),
  });

  addJobRoute(app, deps, {
    method: 'GET',
    path: '/:attribute/:value',
    operationId: 'searchJobsByAttribute',
    summary: 'Search jobs by one field in the path',
    description: `As agavepy does: \`/FIELD/VALUE\`. ${DESCRIPTION}`,
    result: enveloped(Type.Array(JobSummary)),
    async handle(call) {
      const attribute = call.param('attribute');
      const [field = ''] = attribute.toLowerCase().split('.', 1);
      if (JOB_FIELDS.has(field)) return list(call, [[attribute, call.param('value')]]);
      throw new MusterError('route_not_found', { path: `/jobs/v2/${echo(attribute)}/…` });
    },
  });
}

const FIELDS = listedFields(JobAnswer);
const SORTS: Readonly<Record<string, Pick<ListQuery, 'order'>>> = {
  lastUpdated: { order: 'asc' },
  '-lastUpdated': { order: 'desc' },
};

/** What the lists of all layers take, beside the conditions that are searched for. @throws MusterError `job_invalid`, `invalid_field` */
function ownParameters(given: readonly (readonly [string, string])[]) {
  const one = (wanted: string): string | null => {
    const [first, second] = given.filter(([name]) => name === wanted);
    if (second !== undefined) throw refused('ALOE_INVALID_PARAMETER', wanted, 'it is given twice');
    return first?.[1] ?? null;
  };
  const fields = one('fields');
  return {
    fields: fields === null ? null : readFields(fields, FIELDS),
    sort: one('sort'),
    conditions: given.filter(([name]) => name !== 'fields' && name !== 'sort'),
  };
}

/** Of whatever else a list is sorted by (`orderBy`), all that is found is looked at. @throws MusterError `job_invalid` */
function orderOf(sort: string, { order, orderBy }: ListQuery): Pick<ListQuery, 'order' | 'orderBy'> {
  if (order !== null || orderBy !== null) {
    throw refused('ALOE_INVALID_PARAMETER', 'sort', 'give either sort or order and orderBy');
  }
  const known = Object.hasOwn(SORTS, sort) ? SORTS[sort] : undefined;
  if (known !== undefined) return { ...known, orderBy: null };
  throw refused('ALOE_INVALID_PARAMETER', 'sort', `must be one of ${Object.keys(SORTS).join(', ')}, or orderBy`);
}

/** Values may have slashes in them, as `%2F`. */
function pairsOf(url: string): readonly (readonly [string, string])[] {
  const [path = ''] = url.split('?', 1);
  const [, below = ''] = /\/jobs\/+v2\/+search\/+(.*)$/.exec(path) ?? [];
  const words = below.replace(/\/+$/, '').split(/\/+/).map(decodeURIComponent);
  if (words.length > 2 * MOST_PAIRS) {
    throw refused('ALOE_INVALID_PARAMETER', 'search', `has more than ${MOST_PAIRS} pairs of field and value`);
  }
  return Array.from({ length: Math.ceil(words.length / 2) }, (_, index) => {
    const [name = '', value] = words.slice(2 * index, 2 * index + 2);
    if (value === undefined) throw refused('ALOE_NULL_PARAMETER', name, 'it has no value: /search/FIELD/VALUE');
    return [name, value] as const;
  });
}
