import type { ComponentChildren } from 'preact';
import type { Groups, NodeGroups } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { Command } from '../parts/command.jsx';
import { Shown } from '../parts/loaded.jsx';
import { plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { TOLD } from './told.js';

function Members({
  of,
}: {
  readonly of: {
    readonly users: readonly string[];
    readonly clients: readonly string[];
    readonly groups: readonly string[];
  };
}) {
  const all = [...of.users, ...of.clients.map((name) => `client:${name}`), ...of.groups.map((name) => `group:${name}`)];
  return <span class="quiet break">{all.length === 0 ? 'nobody' : safeText(all.join(', '))}</span>;
}

function List({ children }: { readonly children: ComponentChildren }) {
  return (
    <section class="card">
      <ul class="lines">{children}</ul>
    </section>
  );
}

/** Groups of people and services. */
export function GroupList() {
  const { api } = signedIn();
  const kept = useReading({ key: '', read: (signal) => api.get<Groups>('/groups', {}, signal), selector: TOLD });
  return (
    <>
      <Shown of={kept} what="groups">
        {(groups) => (
          <List>
            {groups.map((group) => (
              <li key={group.name}>
                <div class="line">
                  <strong class="grow break">{safeText(group.name)}</strong>
                  {group.exclusive && <span class="quiet">exclusive: admins hold it only as members</span>}
                </div>
                <Members of={group} />
              </li>
            ))}
          </List>
        )}
      </Shown>
      <Command text="muster group create push_job_writers --user alice" />
    </>
  );
}

/** Node groups, and whom commands on their nodes are for. */
export function NodeGroupList() {
  const { api } = signedIn();
  const { org } = api;
  const kept = useReading({
    key: '',
    read: (signal) => api.get<NodeGroups>('/node_groups', {}, signal),
    selector: TOLD,
  });
  return (
    <Shown of={kept} what="node groups">
      {(groups) =>
        groups.length === 0 ? (
          <section class="card">
            <div class="empty">
              <h2>No node group yet</h2>
              <p>A node group names nodes, or a search for them, and may say who runs commands on them.</p>
              <Command text="muster node-group create prod-db --query 'role:db AND env:prod'" />
              <Command text="muster node-group grant prod-db --group dba" />
            </div>
          </section>
        ) : (
          <List>
            {groups.map(({ name, nodes, query, execute }) => (
              <li key={name}>
                <div class="line">
                  <strong class="grow break">{safeText(name)}</strong>
                  {query === null ? (
                    <span class="quiet">{plural(nodes?.length ?? 0, 'node')} by name</span>
                  ) : (
                    <a class="mono cut" href={hrefOf(org, { name: 'nodes' }, { q: query })}>
                      {safeText(query)}
                    </a>
                  )}
                </div>
                <span>
                  <span class="quiet">commands are for </span>
                  {execute.users.length + execute.clients.length + execute.groups.length === 0 ? (
                    <span class="quiet">whoever has push:write</span>
                  ) : (
                    <Members of={execute} />
                  )}
                </span>
              </li>
            ))}
          </List>
        )
      }
    </Shown>
  );
}
