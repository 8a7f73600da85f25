import { useSignal } from '@preact/signals';
import { send } from '../api/client.js';
import type { Cluster } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { Shown } from '../parts/loaded.jsx';
import { plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { Ago, At } from '../parts/time.jsx';
import type { Look } from '../statuses/look.js';

type Server = Cluster['servers'][number];

const ROLE_LOOKS: Readonly<Record<Server['role'], Look>> = {
  leader: { glyph: 'play', word: 'leads', tone: 'ok' },
  follower: { glyph: 'check', word: 'follows', tone: 'ok' },
  lost: { glyph: 'cross', word: 'lost', tone: 'bad' },
};
const DRAINED: Look = { glyph: 'stop', word: 'drained', tone: 'warn' };

/** The servers over one database: which of them leads, and which shall not. */
export function ServersScreen() {
  const kept = useReading({
    key: '',
    // What else it says changes without being told.
    read: async (signal) => {
      const { body, ...answer } = await send<Cluster>('GET', '/cluster', { signal });
      return { ...answer, body: { ...body, readAt: Date.now() } };
    },
    selector: "type LIKE 'auth.cluster.%'",
  });
  const asking = useSignal<Server | null>(null);
  const asked = asking.value;
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Servers</h1>
        </div>
      </div>
      <Shown of={kept} what="servers">
        {({ readAt, servers, epoch, nodes, work, database_ms, broker }) =>
          servers.length === 0 ? (
            <section class="card">
              <div class="empty">
                <h2>This server is alone</h2>
                <p>
                  {plural(nodes, 'node')} of all organizations up. Others can be set beside it, over one PostgreSQL:
                  when one is lost, another takes over within seconds.
                </p>
                <Command text="muster server --cluster --name a.example.com --database-url postgres://…" />
              </div>
            </section>
          ) : (
            <section class="card">
              <header>
                <h2>{plural(servers.length, 'server')}</h2>
                <span class="quiet">
                  {plural(nodes, 'node')} of all organizations up; epoch {epoch ?? '–'}
                </span>
              </header>
              <ul class="lines">
                {servers.map((server) => (
                  <ServerLine key={server.incarnation} server={server} act={() => (asking.value = server)} />
                ))}
                <li>
                  <div class="line wraps">
                    <span class="grow quiet">
                      <At at={readAt} />: {plural(work.push_jobs, 'push job')} not ended;{' '}
                      {plural(work.tasks_waiting, 'task')} waiting, {work.tasks_running} running; the database answered
                      in {database_ms ?? '–'} ms
                      {!broker.connected && (
                        <>
                          ; <strong>the broker of jobs takes no messages</strong>: {safeText(broker.why ?? '')}
                        </>
                      )}
                    </span>
                  </div>
                </li>
              </ul>
            </section>
          )
        }
      </Shown>
      <Command text={musterCommand('cluster', 'status')} />
      {asked !== null && (
        <Confirm
          title={asked.drained ? 'Undrain this server?' : 'Drain this server?'}
          action={asked.drained ? 'Undrain it' : 'Drain it'}
          tone={asked.drained ? 'main-action' : 'danger'}
          onConfirm={async () => {
            await send('POST', `/cluster/servers/${encodeURIComponent(asked.name)}/${actOf(asked)}`, { body: {} });
            kept.again();
          }}
          onClose={() => (asking.value = null)}
        >
          <p class="break">
            <strong>{safeText(asked.name)}</strong>:{' '}
            {asked.drained
              ? 'Nodes connect to it again, and it leads when there is need of it.'
              : 'Its nodes move to the others, little by little, and it does not lead until it is undrained. If it does now, another takes over, for which nobody is answered for a moment; what runs goes on.'}
          </p>
          <Command text={musterCommand('cluster', actOf(asked), asked.name)} />
        </Confirm>
      )}
    </>
  );
}

function actOf({ drained }: Server): 'drain' | 'undrain' {
  return drained ? 'undrain' : 'drain';
}

function ServerLine({ server, act }: { readonly server: Server; readonly act: () => void }) {
  const { name, url, version, role, drained, nodes, started_at, seen_at } = server;
  return (
    <li>
      <div class="line wraps">
        <span class="grow break">
          <strong>{safeText(name)}</strong>{' '}
          <span class="quiet">
            {safeText(url)}, version {safeText(version)}, for <Ago at={Date.parse(started_at)} />
            {role === 'lost' && (
              <>
                ; last heard of <Ago at={Date.parse(seen_at)} word=" ago" />
              </>
            )}
          </span>
        </span>
        <span class="number">{nodes === null ? 'takes no nodes' : plural(nodes, 'node')}</span>
        {drained && <Status look={DRAINED} />}
        <Status look={ROLE_LOOKS[role]} />
        <span class="actions">
          <Action small label={drained ? 'Undrain …' : 'Drain …'} onClick={act} />
        </span>
      </div>
    </li>
  );
}
