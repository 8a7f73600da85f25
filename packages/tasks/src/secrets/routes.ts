import { type Auth, actorOf, type Organization } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import { given, type Secrets } from '@muster/platform/secrets';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { Type } from 'typebox';
import { MusterError } from '../errors.js';
import { isId } from '../ids.js';
import type { TaskController } from '../ports.js';
import { STATUS } from '../status.js';
import type { TaskOptions } from '../types.js';
import { assertPlace, type SecretUse, taskSecrets } from './use.js';

export interface SecretRouteDeps {
  readonly read: Kysely<Schema>;
  readonly controller: Pick<TaskController, 'queue'>;
  readonly secrets: Pick<Secrets, 'boxed' | 'usable'>;
  readonly auth: Pick<Auth, 'audit' | 'repository'>;
  readonly log: Pick<LayerLog, 'warn'>;
}

const text = (description: string) => Type.String({ description });

/** Secrets of a task, for the node that has it. */
export function secretRoutes(app: App, { read, controller, secrets, auth, log }: SecretRouteDeps): void {
  app.route({
    method: 'POST',
    url: '/organizations/:org/tasks/:id/secrets',
    config: { permission: 'task:secrets', empowers: false },
    schema: {
      tags: ['tasks'],
      operationId: 'fetchTaskSecrets',
      summary: 'The secrets of a task, for the node that has it',
      description:
        'Those that its queue and the task itself name, with the rights of whoever named them, as they are now. Sealed as `fetchPushJobSecrets` does it.',
      params: Type.Object({ org: Type.String(), id: Type.String() }),
      body: Type.Object(
        {
          key: text('X25519, made for this request; 32 bytes in base64url'),
          attempt: Type.Integer({ minimum: 1, description: 'That the node was given' }),
        },
        { additionalProperties: false },
      ),
      response: {
        200: Type.Object({
          key: text('X25519, made for this answer; 32 bytes in base64url'),
          nonce: text('base64'),
          tag: text('base64'),
          sealed: text('base64'),
        }),
      },
    },
    handler: async ({ organization, params, caller, body }) => {
      const { id } = params;
      const uses = await usesOf(organization, id, body.attempt, caller.name);
      if (uses.length === 0) throw new MusterError('not_found', { kind: 'task with secrets', name: id.slice(0, 64) });
      for (const { named, by } of uses) await taskSecrets(secrets, auth).assertUsable(organization, named, by);
      const files = Object.assign({}, ...uses.map(({ named }) => named)) as Readonly<Record<string, string>>;
      const names = [...new Set(Object.values(files))];
      const about = `task secrets ${id} ${body.attempt} ${caller.name}`;
      const detail = { task: id, attempt: body.attempt };
      return given({ audit: auth.audit, log }, { orgId: organization.id, actor: actorOf(caller), names, detail }, () =>
        secrets.boxed(organization, names, { key: body.key, about, files }),
      );
    },
  });

  /** Of its queue first. None: this node does not have this attempt, or it names none. */
  async function usesOf(
    organization: Organization,
    id: string,
    attempt: number,
    node: string,
  ): Promise<readonly SecretUse[]> {
    if (!isId(id)) return [];
    const row = await read
      .selectFrom('tasks')
      .select(['queue_id', 'options'])
      .where('id', '=', id)
      .where('org_id', '=', organization.id)
      .where('node', '=', node)
      .where('attempt', '=', attempt)
      .where('status', 'in', [STATUS.claimed, STATUS.running])
      .executeTakeFirst();
    if (row === undefined) return [];
    const { secrets: own = null } = (row.options === null ? {} : JSON.parse(row.options)) as Partial<TaskOptions>;
    const queue = controller.queue(organization.id, row.queue_id);
    if (queue !== undefined && own !== null) assertPlace(queue, own.place);
    return [queue?.rules.secrets ?? null, own].filter(
      (use): use is SecretUse => use !== null && Object.keys(use.named).length > 0,
    );
  }
}
